/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
/* `cp`, and what `reload` shares with it: files and scripts for hosts. */
#include "cmd_cluster_cp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <json-glib/json-glib.h>

#include "cmd.h"

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

static int complain(const char *verb, const char *path, int number)
{
    fprintf(stderr, "farside %s: %s: %s\n", verb, path, g_strerror(number));
    return CMD_USAGE;
}

/* Runs @script on @host. */
static int ask_mode(const char *verb, const CmdArgs *args, const char *host,
                    const char *script, const char *const *words,
                    const CluClientMode *mode)
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
    return cmd_cluster_ask(verb, args, (const char *const *)all->pdata, mode);
}

/* Runs @script with @fd in place of the standard input or output @which of this
 * process. What the script says otherwise is printed as text. */
static int ask_with(int fd, int which, const char *verb, const CmdArgs *args,
                    const char *host, const char *script,
                    const char *const *words)
{
    const CluClientMode mode = {.input = CLU_CLIENT_COMMAND,
                                .has_text = which != STDOUT_FILENO,
                                .has_text_errors = true};
    int old = dup(which);
    int status;

    dup2(fd, which);
    status = ask_mode(verb, args, host, script, words, &mode);
    dup2(old, which);
    close(old);
    return status;
}

int cmd_cluster_send(const char *verb, const CmdArgs *args, const char *host,
                     const char *path, const char *script,
                     const char *const *words)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int status;

    if (fd < 0) {
        return complain(verb, path, errno);
    }
    if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
        close(fd);
        return complain(verb, path, EISDIR);
    }
    status = ask_with(fd, STDIN_FILENO, verb, args, host, script, words);
    close(fd);
    return status;
}

int cmd_cluster_sh(const char *verb, const CmdArgs *args, const char *host,
                   const char *script, const char *const *words)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int status = ask_with(fd, STDIN_FILENO, verb, args, host, script, words);

    close(fd);
    return status;
}

int cmd_cluster_fetch(const char *verb, const CmdArgs *args, const char *host,
                      const char *script, GString *output)
{
    CluClientMode mode = cmd_cluster_no_input;

    mode.output = output;
    mode.timeout_ms = FETCH_MS;
    return ask_mode(verb, args, host, script, (const char *const[]){NULL},
                    &mode);
}

char **cmd_cluster_hosts(const char *verb, const CmdArgs *args)
{
    static const char *const words[] = {"status", NULL};
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(JsonParser) parser = json_parser_new();
    GPtrArray *names;
    CluClientMode mode = cmd_cluster_no_input;
    JsonArray *hosts;

    mode.output = text;
    if (cmd_cluster_ask(verb, args, words, &mode) != 0 ||
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

/* Copies the file @from to the path @to on @host. */
static int copy_to(const char *verb, const CmdArgs *args, const char *host,
                   const char *from, const char *to)
{
    g_autofree char *name = g_path_get_basename(from);
    struct stat info;
    char mode[8] = "644";

    if (stat(from, &info) == 0) {
        g_snprintf(mode, sizeof(mode), "%o", info.st_mode & 0777);
    }
    return cmd_cluster_send(verb, args, host, from, put_script,
                            (const char *const[]){to, mode, name, NULL});
}

/* The mode of a file here that has the mode @text on a host: its rights to read
 * and to run, as far as this user's umask has them. Nobody else may write. */
static mode_t local_mode(const char *text)
{
    mode_t mask = umask(0);

    umask(mask);
    return (mode_t)g_ascii_strtoull(text, NULL, 8) & 0755 & ~mask;
}

/* Copies the file @from on @host to the path @to. A file @to is replaced only
 * if all of @from has come; the parts are in a new file beside it, so that no
 * link that stands there leads elsewhere. */
static int copy_from(const char *verb, const CmdArgs *args, const char *host,
                     const char *from, const char *to)
{
    g_autofree char *name = g_path_get_basename(from);
    g_autofree char *path = g_file_test(to, G_FILE_TEST_IS_DIR)
                                ? g_build_filename(to, name, NULL)
                                : g_strdup(to);
    g_autofree char *part = g_strconcat(path, ".part-XXXXXX", NULL);
    g_autoptr(GString) text = g_string_new(NULL);
    CluClientMode mode = cmd_cluster_no_input;
    int fd, status;

    mode.output = text;
    mode.timeout_ms = FETCH_MS;
    status = ask_mode(verb, args, host, mode_script,
                      (const char *const[]){from, NULL}, &mode);
    if (status != 0) {
        return status;
    }
    fd = mkostemp(part, O_CLOEXEC);
    if (fd < 0) {
        return complain(verb, part, errno);
    }
    status = ask_with(fd, STDOUT_FILENO, verb, args, host,
                      "exec cat -- \"$1\" </dev/null",
                      (const char *const[]){from, NULL});
    if (status == 0 && fchmod(fd, local_mode(text->str)) < 0) {
        status = complain(verb, part, errno);
    }
    if (close(fd) < 0 && status == 0) {
        status = complain(verb, part, errno);
    }
    if (status == 0 && rename(part, path) < 0) {
        status = complain(verb, path, errno);
    }
    if (status != 0) {
        unlink(part);
    }
    return status;
}

/* Splits "HOST,HOST:PATH". Returns the names, to be freed with g_strfreev(),
 * and the path; NULL if @word is a path of this machine. */
static char **split(const char *word, const char **ret_path)
{
    const char *colon = strchr(word, ':');
    g_autofree char *names = NULL;

    if (!colon || colon == word || memchr(word, '/', (size_t)(colon - word))) {
        return NULL;
    }
    names = g_strndup(word, (size_t)(colon - word));
    *ret_path = colon[1] ? colon + 1 : "/root";
    return g_strsplit(names, ",", 0);
}

/* Fails unless @to is a folder: one file would replace the other. @hosts is
 * NULL if it is a path of this machine. */
static int check_folder(const char *verb, const CmdArgs *args,
                        char *const *hosts, const char *to)
{
    int status = 0;

    if (!hosts && !g_file_test(to, G_FILE_TEST_IS_DIR)) {
        return cmd_usage(verb, "%s is no folder for several files", to);
    }
    for (; hosts && *hosts && status == 0; hosts++) {
        status =
            ask_mode(verb, args, *hosts, folder_script,
                     (const char *const[]){to, NULL}, &cmd_cluster_no_input);
    }
    return status;
}

static int run(const CmdVerb *verb, int argc, char **argv)
{
    g_auto(CmdArgs) args = {.words = NULL};
    g_auto(GStrv) to_hosts = NULL;
    const char *to;
    unsigned count;
    int status;

    if (!cmd_parse(verb, argc, argv, NULL, &args, &status)) {
        return status;
    }
    status = 0;
    count = g_strv_length(args.words) - 1;
    to = args.words[count];
    to_hosts = split(to, &to);
    if (count > 1) {
        status = check_folder(argv[0], &args, to_hosts, to);
    }
    for (unsigned i = 0; i < count && status == 0; i++) {
        const char *from = args.words[i];
        g_auto(GStrv) from_hosts = split(from, &from);

        if (!from_hosts == !to_hosts) {
            return cmd_usage(argv[0], "write one side as HOST:PATH; %s",
                             to_hosts ? "both are" : "neither is");
        }
        if (from_hosts && from_hosts[1]) {
            return cmd_usage(argv[0], "files come from one host at a time");
        }
        if (from_hosts) {
            status = copy_from(argv[0], &args, from_hosts[0], from, to);
        }
        for (char **host = to_hosts; host && *host && status == 0; host++) {
            status = copy_to(argv[0], &args, *host, from, to);
        }
    }
    return status;
}

const CmdVerb cmd_cluster_cp = {
    .name = "cp",
    .summary = "copy files to or from hosts",
    .synopsis = "FILE... HOST[,HOST...]:[PATH] | HOST:FILE... PATH",
    .min_words = 2,
    .max_words = G_MAXUINT,
    .has_cluster = true,
    .details =
        "Copies files to one or several hosts, or from one host. PATH is a "
        "file or a folder;\non a host it is /root if it is left out. The mode "
        "of a file is kept, on this\ncomputer as far as your umask allows, and "
        "without write permission for others." CMD_CLUSTER_EXIT_STATUS,
    .run = run,
};
