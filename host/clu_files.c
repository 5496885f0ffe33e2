/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "clu_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <json-glib/json-glib.h>

#include "clu_client.h"
#include "clu_control.h"
#include "clu_dir.h"
#include "clu_error.h"
#include "table_file.h"

/* The time that a host has for an answer which takes it a second. */
#define FETCH_MS 120000

/* Stores its input in the file $1, or under the name $3 if $1 is a folder, with
 * the mode $2. A reader never finds half a file. */
static const char put_script[] =
    "[ ! -d \"$1\" ] || set -- \"$1/$3\" \"$2\"\n"
    "[ -d \"$(dirname \"$1\")\" ] || { echo \"cp: $(uname -n) has no folder "
    "$(dirname \"$1\"); make it first\" >&2; exit 2; }\n"
    "cat >\"$1.part\" && chmod \"$2\" \"$1.part\" && mv -f \"$1.part\" \"$1\"\n";

/* Prints the mode of the file $1. */
static const char mode_script[] =
    "[ ! -d \"$1\" ] || { echo \"$1 is a folder\" >&2; exit 2; }\n"
    "exec stat -L -c %a -- \"$1\"\n";

/* Fails unless $1 is a folder. */
static const char folder_script[] =
    "[ -d \"$1\" ] || { echo \"$1 is no folder for several files\" >&2; exit "
    "2; }\n";

static int complain(const char *path, int number, GError **error)
{
    g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE, "%s: %s", path,
                g_strerror(number));
    return CLU_CONTROL_USAGE;
}

static const CluClientMode no_input = {.input = CLU_CLIENT_NO_INPUT,
                                       .has_text_errors = true};

/* Sends the request @words, and serves it. Returns the exit status, perhaps
 * with @error. */
static int ask(const char *cluster, const char *const *words,
               const CluClientMode *mode, GError **error)
{
    g_autofree char *dir = clu_dir_choose(cluster, error);
    g_autoptr(CluClient) client = dir ? clu_client_connect(dir, error) : NULL;

    if (client) {
        return clu_client_run(client, words, mode, error);
    }
    return dir ? CLU_CONTROL_FAILED : CLU_CONTROL_USAGE;
}

/* Runs @script on @host. */
static int ask_mode(const char *cluster, const char *host, const char *script,
                    const char *const *words, const CluClientMode *mode,
                    GError **error)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new();

    g_ptr_array_add(all, (char *)(mode->input == CLU_CLIENT_COMMAND
                                      ? clu_client_exec(mode)
                                      : "exec"));
    g_ptr_array_add(all, (char *)host);
    g_ptr_array_add(all, (char *)"sh");
    g_ptr_array_add(all, (char *)"-c");
    g_ptr_array_add(all, (char *)script);
    g_ptr_array_add(all, (char *)"farside");
    for (; *words; words++) {
        g_ptr_array_add(all, (char *)*words);
    }
    g_ptr_array_add(all, NULL);
    return ask(cluster, (const char *const *)all->pdata, mode, error);
}

/* Runs @script with @fd in place of the standard input or output @which of this
 * process. What the script says otherwise is printed as text. */
static int ask_with(int fd, int which, const char *cluster, const char *host,
                    const char *script, const char *const *words,
                    GError **error)
{
    const CluClientMode mode = {.input = CLU_CLIENT_COMMAND,
                                .has_text = which != STDOUT_FILENO,
                                .has_text_errors = true};
    int old = dup(which);
    int status;

    dup2(fd, which);
    status = ask_mode(cluster, host, script, words, &mode, error);
    dup2(old, which);
    close(old);
    return status;
}

int clu_files_send(const char *cluster, const char *host, const char *path,
                   const char *script, const char *const *words, GError **error)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int status;

    if (fd < 0) {
        return complain(path, errno, error);
    }
    if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
        close(fd);
        return complain(path, EISDIR, error);
    }
    status = ask_with(fd, STDIN_FILENO, cluster, host, script, words, error);
    close(fd);
    return status;
}

int clu_files_sh(const char *cluster, const char *host, const char *script,
                 const char *const *words, GError **error)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int status =
        ask_with(fd, STDIN_FILENO, cluster, host, script, words, error);

    close(fd);
    return status;
}

int clu_files_fetch(const char *cluster, const char *host, const char *script,
                    GString *output, GError **error)
{
    CluClientMode mode = no_input;

    mode.output = output;
    mode.timeout_ms = FETCH_MS;
    return ask_mode(cluster, host, script, (const char *const[]){NULL}, &mode,
                    error);
}

char **clu_files_hosts(const char *cluster, GError **error)
{
    static const char *const words[] = {"status", NULL};
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(JsonParser) parser = json_parser_new();
    GPtrArray *names;
    CluClientMode mode = no_input;
    JsonArray *hosts;

    mode.output = text;
    if (ask(cluster, words, &mode, error) != 0 ||
        !json_parser_load_from_data(parser, text->str, -1, NULL)) {
        return NULL;
    }
    hosts = json_object_get_array_member(
        json_node_get_object(json_parser_get_root(parser)), "hosts");
    names = g_ptr_array_new();
    for (unsigned i = 0; i < json_array_get_length(hosts); i++) {
        JsonObject *host = json_array_get_object_element(hosts, i);

        g_ptr_array_add(names,
                        g_strdup(json_object_get_string_member(host, "name")));
    }
    g_ptr_array_add(names, NULL);
    return (char **)g_ptr_array_free(names, FALSE);
}

int clu_files_copy_to(const char *cluster, const char *host, const char *from,
                      const char *to, GError **error)
{
    g_autofree char *name = g_path_get_basename(from);
    struct stat info;
    char mode[8] = "644";

    if (stat(from, &info) == 0) {
        g_snprintf(mode, sizeof(mode), "%o", info.st_mode & 0777);
    }
    return clu_files_send(cluster, host, from, put_script,
                          (const char *const[]){to, mode, name, NULL}, error);
}

/* The mode of a file here that has the mode @text on a host: its rights to read
 * and to run, as far as this user's umask has them. Nobody else may write. */
static mode_t local_mode(const char *text)
{
    mode_t mask = umask(0);

    umask(mask);
    return (mode_t)g_ascii_strtoull(text, NULL, 8) & 0755 & ~mask;
}

static int fetch(int fd, const char *cluster, const char *host,
                 const char *from, GError **error)
{
    return ask_with(fd, STDOUT_FILENO, cluster, host,
                    "exec cat -- \"$1\" </dev/null",
                    (const char *const[]){from, NULL}, error);
}

static int fetch_special(const char *cluster, const char *host,
                         const char *from, const char *path, GError **error)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC), status;

    if (fd < 0) {
        return complain(path, errno, error);
    }
    status = fetch(fd, cluster, host, from, error);
    if (close(fd) < 0 && status == 0) {
        status = complain(path, errno, error);
    }
    return status;
}

int clu_files_copy_from(const char *cluster, const char *host, const char *from,
                        const char *to, GError **error)
{
    g_autofree char *name = g_path_get_basename(from);
    g_autofree char *path = g_file_test(to, G_FILE_TEST_IS_DIR)
                                ? g_build_filename(to, name, NULL)
                                : g_strdup(to);
    g_autofree char *part = g_strconcat(path, ".part-XXXXXX", NULL);
    g_autoptr(GString) text = g_string_new(NULL);
    CluClientMode mode = no_input;
    int fd, status;

    mode.output = text;
    mode.timeout_ms = FETCH_MS;
    status = ask_mode(cluster, host, mode_script,
                      (const char *const[]){from, NULL}, &mode, error);
    if (status != 0) {
        return status;
    }
    if (table_file_is_special(path)) {
        return fetch_special(cluster, host, from, path, error);
    }
    fd = mkostemp(part, O_CLOEXEC);
    if (fd < 0) {
        return complain(part, errno, error);
    }
    status = fetch(fd, cluster, host, from, error);
    if (status == 0 && fchmod(fd, local_mode(text->str)) < 0) {
        status = complain(part, errno, error);
    }
    if (close(fd) < 0 && status == 0) {
        status = complain(part, errno, error);
    }
    if (status == 0 && rename(part, path) < 0) {
        status = complain(path, errno, error);
    }
    if (status != 0) {
        unlink(part);
    }
    return status;
}

int clu_files_check_folder(const char *cluster, const char *host,
                           const char *path, GError **error)
{
    return ask_mode(cluster, host, folder_script,
                    (const char *const[]){path, NULL}, &no_input, error);
}
