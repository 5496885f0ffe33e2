/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include <json-glib/json-glib.h>

#include "clu_accel.h"
#include "clu_client.h"
#include "clu_console.h"
#include "clu_dir.h"
#include "clu_error.h"
#include "clu_plan.h"
#include "clu_supervisor.h"
#include "cmd_load.h"

#define DOWN_MS 20000 /* that the processes of a cluster may take to end */

#define STATUS_HELP                                                            \
    "\n\nExit status: 0 all is well, 1 it failed, 2 wrong usage or bad input."

/* One line a verb of `farside cluster`. */
typedef struct Verb {
    const char *name;
    const char *help;
    int (*run)(int argc, char **argv);
} Verb;

static const CluClientMode quiet = {.input = CLU_CLIENT_NO_INPUT};

/* Which cluster */

static char *read_file_of(const char *dir)
{
    g_autofree char *path = g_build_filename(dir, CLU_DIR_FILE, NULL);
    char *text = NULL;

    g_file_get_contents(path, &text, NULL, NULL);
    return text;
}

/* The directory of the cluster @word: a name, a file, or NULL for the only one
 * there is. */
static char *find_dir(const char *word, GError **error)
{
    g_auto(GStrv) names = clu_dir_list();
    g_autofree char *all = g_strjoinv(", ", names);
    g_autofree char *real = NULL;

    if (!word) {
        if (g_strv_length(names) == 1) {
            return clu_dir_find(names[0]);
        }
        g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                    names[0] ? "several clusters run (%s); choose one with -c"
                             : "no cluster runs%s; start one: farside cluster "
                               "up FILE",
                    all);
        return NULL;
    }
    if (g_strv_contains((const char *const *)names, word)) {
        return clu_dir_find(word);
    }
    real = realpath(word, NULL);
    for (char **name = names; real && *name; name++) {
        g_autofree char *dir = clu_dir_find(*name);
        g_autofree char *file = read_file_of(dir);

        if (file && strcmp(file, real) == 0) {
            return g_steal_pointer(&dir);
        }
    }
    g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                "there is no cluster '%s'; %s%s", word,
                names[0] ? "there are " : "none runs", all);
    return NULL;
}

/* Prints @error, if there is one, and frees it. Returns @status. */
static int finish(const char *verb, int status, GError *error)
{
    if (error) {
        cmd_complain(verb, error);
    }
    return status;
}

static int fail(const char *verb, GError *error)
{
    bool is_usage = g_error_matches(error, CLU_ERROR, CLU_ERROR_USAGE);

    cmd_complain(verb, error);
    return is_usage ? CMD_USAGE : CMD_DIFFERENT;
}

/* Sends a request to the cluster @cluster (nullable) and works on it. */
static int ask(const char *verb, const char *cluster, const char *const *words,
               const CluClientMode *mode)
{
    g_autoptr(CluClient) client = NULL;
    g_autofree char *dir = NULL;
    GError *error = NULL;
    int status;

    dir = find_dir(cluster, &error);
    if (dir) {
        client = clu_client_connect(dir, &error);
    }
    if (!client) {
        return fail(verb, error);
    }
    status = clu_client_run(client, words, mode, &error);
    return finish(verb, status, error);
}

/* Whether a verb has from @min to @max words; if not, says what it takes. */
static bool check_words(const char *verb, char **words, const char *synopsis,
                        unsigned min, unsigned max, int *ret_status)
{
    unsigned n = g_strv_length(words);

    if (n >= min && n <= max) {
        return true;
    }
    fprintf(stderr, "farside %s: %s; it takes %s\nTry: farside %s --help\n",
            verb, n < min ? "something is missing" : "there are too many words",
            *synopsis ? synopsis : "none but options", verb);
    *ret_status = CMD_USAGE;
    return false;
}

/* Parses what a verb that talks to a running cluster has in common: -c and from
 * @min to @max words. Returns false if it is to return *ret_status. */
static bool parse(int argc, char **argv, const GOptionEntry *own,
                  const char *synopsis, const char *details, unsigned min,
                  unsigned max, char **ret_cluster, char ***ret_words,
                  int *ret_status)
{
    g_autofree char *cluster = NULL;
    const GOptionEntry common[] = {
        {"cluster", 'c', 0, G_OPTION_ARG_STRING, &cluster,
         "The cluster, by its name or its file; without it the only one",
         "NAME"},
        G_OPTION_ENTRY_NULL,
    };
    g_autoptr(GArray) entries = g_array_new(TRUE, TRUE, sizeof(GOptionEntry));
    g_auto(GStrv) words = NULL;

    g_array_append_val(entries, common[0]);
    for (; own && own->long_name; own++) {
        g_array_append_val(entries, *own);
    }
    if (!cmd_parse(argc, argv, (const GOptionEntry *)(void *)entries->data,
                   synopsis, details, &words, ret_status) ||
        !check_words(argv[0], words, synopsis, min, max, ret_status)) {
        return false;
    }
    *ret_cluster = g_steal_pointer(&cluster);
    *ret_words = g_steal_pointer(&words);
    return true;
}

/* status */

static const char *get_text(JsonObject *object, const char *name)
{
    return json_object_get_string_member_with_default(object, name, NULL);
}

static void print_host(JsonObject *host)
{
    JsonArray *devices = json_object_get_array_member(host, "devices");
    const char *cause = get_text(host, "cause");
    const char *qmp = get_text(host, "qmp");
    int64_t gdb = json_object_get_int_member(host, "gdb_port");

    printf("  %-16s %-9s %6" G_GINT64_FORMAT " MiB  %" G_GINT64_FORMAT
           " CPU%s  %s  %s\n",
           get_text(host, "name"), get_text(host, "state"),
           json_object_get_int_member(host, "memory_bytes") >> 20,
           json_object_get_int_member(host, "cpus"),
           json_object_get_int_member(host, "cpus") == 1 ? " " : "s",
           get_text(host, "accel"),
           get_text(host, "kernel") ? get_text(host, "kernel") : "");
    if (cause) {
        printf("    %s\n", cause);
    }
    for (unsigned i = 0; i < json_array_get_length(devices); i++) {
        JsonObject *device = json_array_get_object_element(devices, i);
        const char *link = get_text(device, "link");

        printf("    %-12s  %-14s %s%s%s\n", get_text(device, "address"),
               get_text(device, "name"), get_text(device, "device"),
               link ? ", link " : "", link ? link : "");
    }
    if (qmp) {
        printf("    monitor       %s\n", qmp);
    }
    if (gdb != 0) {
        printf("    gdb           target remote localhost:%" G_GINT64_FORMAT
               "\n",
               gdb);
    }
}

static void print_link(JsonObject *link)
{
    JsonArray *ends = json_object_get_array_member(link, "ends");
    bool is_enabled = json_object_get_boolean_member(link, "enabled");

    printf("  %-16s %-9s", get_text(link, "name"),
           is_enabled ? get_text(link, "state") : "unplugged");
    for (unsigned i = 0; i < json_array_get_length(ends); i++) {
        JsonObject *end = json_array_get_object_element(ends, i);

        printf("%s%s.%s (%s, %s)", i ? " - " : " ", get_text(end, "host"),
               get_text(end, "adapter"), get_text(end, "address"),
               get_text(end, "state"));
    }
    putchar('\n');
}

static void print_status(const char *json)
{
    g_autoptr(JsonParser) parser = json_parser_new();
    JsonObject *root;
    JsonArray *hosts, *links, *absent;

    if (!json_parser_load_from_data(parser, json, -1, NULL)) {
        fputs(json, stdout);
        return;
    }
    root = json_node_get_object(json_parser_get_root(parser));
    hosts = json_object_get_array_member(root, "hosts");
    links = json_object_get_array_member(root, "links");
    absent = json_object_get_array_member(root, "not_emulated");
    printf("cluster %s (%s)\n\nhosts\n", get_text(root, "name"),
           get_text(root, "file"));
    for (unsigned i = 0; i < json_array_get_length(hosts); i++) {
        print_host(json_array_get_object_element(hosts, i));
    }
    if (json_array_get_length(links) > 0) {
        puts("\nlinks");
    }
    for (unsigned i = 0; i < json_array_get_length(links); i++) {
        print_link(json_array_get_object_element(links, i));
    }
    if (json_array_get_length(absent) > 0) {
        printf("\nnot emulated:");
        for (unsigned i = 0; i < json_array_get_length(absent); i++) {
            printf("%s %s", i ? "," : "",
                   json_array_get_string_element(absent, i));
        }
        putchar('\n');
    }
}

static int run_status(int argc, char **argv)
{
    static const char *const words[] = {"status", NULL};
    gboolean is_json = FALSE;
    const GOptionEntry entries[] = {
        {"json", 0, 0, G_OPTION_ARG_NONE, &is_json, "Print it as JSON", NULL},
        G_OPTION_ENTRY_NULL,
    };
    g_autoptr(GString) text = g_string_new(NULL);
    CluClientMode mode = quiet;
    g_autofree char *cluster = NULL;
    g_auto(GStrv) rest = NULL;
    int status;

    if (!parse(
            argc, argv, entries, "",
            "Shows what state each host and each link is in.\n\n"
            "Hosts are booting, up, oops (part of the kernel has failed), "
            "hung, panicked,\noff (by themselves), or dead. A link is up "
            "when both hosts are and the drivers\non both of them say so." STATUS_HELP,
            0, 0, &cluster, &rest, &status)) {
        return status;
    }
    mode.output = text;
    status = ask(argv[0], cluster, words, &mode);
    if (status == 0 && is_json) {
        puts(text->str);
    } else if (status == 0) {
        print_status(text->str);
    }
    return status;
}

/* up */

static void print_note(const char *text)
{
    fprintf(stderr, "%s\n", text);
}

/* What is needed to start a host. */
typedef struct Files {
    char *qemu;
    char *plugin;
    char *kernel;
    char *initrd;
} Files;

static void files_clear(Files *files)
{
    g_free(files->qemu);
    g_free(files->plugin);
    g_free(files->kernel);
    g_free(files->initrd);
}

static bool check_file(const char *path, const char *what, GError **error)
{
    if (!g_file_test(path, G_FILE_TEST_IS_REGULAR)) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                    "%s is not there: %s; `make cluster` installs and builds "
                    "all that emulation needs",
                    what, path);
        return false;
    }
    return true;
}

/* The directory of an image with the kernel and modules that @vm names, made
 * or brought up to date in the user's cache; to be freed. */
static char *make_image(const TopoVm *vm, GError **error)
{
    g_autofree char *kernel = vm->kernel ? realpath(vm->kernel, NULL) : NULL;
    g_autofree char *modules = vm->modules ? realpath(vm->modules, NULL) : NULL;
    g_autofree char *key = NULL;
    g_autofree char *hash = NULL;
    g_autofree char *dir = NULL;
    g_autoptr(GPtrArray) argv = g_ptr_array_new();
    int status;

    if ((vm->kernel && !kernel) || (vm->modules && !modules)) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE, "%s is not there",
                    kernel ? vm->modules : vm->kernel);
        return NULL;
    }
    key =
        g_strdup_printf("%s\n%s", kernel ? kernel : "", modules ? modules : "");
    hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, key, -1);
    hash[16] = '\0';
    dir = g_build_filename(g_get_user_cache_dir(), "farside", hash, NULL);
    g_mkdir_with_parents(dir, 0700);
    g_ptr_array_add(argv, (char *)FARSIDE_GUEST_BUILD);
    g_ptr_array_add(argv, dir);
    if (kernel) {
        g_ptr_array_add(argv, (char *)"--kernel");
        g_ptr_array_add(argv, kernel);
    }
    if (modules) {
        g_ptr_array_add(argv, (char *)"--modules");
        g_ptr_array_add(argv, modules);
    }
    g_ptr_array_add(argv, NULL);
    if (!g_spawn_sync(NULL, (char **)argv->pdata, NULL,
                      G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL, NULL,
                      &status, error)) {
        return NULL;
    }
    if (!g_spawn_check_wait_status(status, NULL)) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                    "no image can be made of the kernel %s and the modules %s",
                    kernel ? kernel : "of Debian",
                    modules ? modules : "of Debian");
        return NULL;
    }
    return g_steal_pointer(&dir);
}

/* Finds what @vm's host needs; what is missing is an entry of @errors if the
 * description names it, and @error otherwise. */
static bool find_files(const TopoVm *vm, Files *files, TopoErrors *errors,
                       GError **error)
{
    const char *plugin = g_getenv("FARSIDE_QEMU_PLUGIN");
    const char *guest = g_getenv("FARSIDE_GUEST");
    g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *dir = g_path_get_dirname(program ? program : ".");
    g_autofree char *image = NULL;

    files->qemu = g_find_program_in_path("qemu-system-x86_64");
    if (!files->qemu) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                    "QEMU (qemu-system-x86_64) is not installed; `make "
                    "cluster` installs and builds all that emulation needs");
        return false;
    }
    files->plugin = plugin ? g_strdup(plugin)
                           : g_build_filename(dir, "..", "qemu-dev",
                                              "farside-qemu.so", NULL);
    if (!check_file(files->plugin, "the NTB device for QEMU", error)) {
        return false;
    }
    if (vm->kernel || vm->modules) {
        g_autoptr(GError) why = NULL;

        image = make_image(vm, &why);
        if (!image) {
            topo_errors_add(errors, vm->place, "%s", why->message);
            return false;
        }
    } else {
        image = g_strdup(guest ? guest : FARSIDE_GUEST_DIR);
    }
    files->kernel = g_build_filename(image, "vmlinuz", NULL);
    files->initrd = g_build_filename(image, "initramfs", NULL);
    return check_file(files->kernel, "the guests' kernel", error) &&
           check_file(files->initrd, "the guests' image", error);
}

/* Decides what each host is accelerated by. */
static bool choose_accel(const CluPlan *plan, bool *is_kvm, TopoErrors *errors)
{
    const char *reason;
    bool has_kvm = clu_accel_has_kvm(&reason);
    unsigned before = topo_errors_count(errors);

    for (unsigned i = 0; i < plan->hosts->len; i++) {
        const CluPlanHost *host = plan->hosts->pdata[i];
        TopoAccel accel = host->host->vm->accel;

        is_kvm[i] = has_kvm && accel != TOPO_ACCEL_TCG;
        if (accel == TOPO_ACCEL_KVM && !has_kvm) {
            topo_errors_add(errors, host->host->vm->place,
                            "host '%s' asks for KVM, and %s; write accel: auto",
                            host->host->name, reason);
        }
    }
    return topo_errors_count(errors) == before;
}

/* The longest path of a socket must fit where the system puts it. */
static bool check_paths(const CluPlan *plan, const char *dir, GError **error)
{
    size_t most = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;
    g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);

    g_ptr_array_add(paths, g_build_filename(dir, CLU_DIR_CONTROL, NULL));
    for (unsigned i = 0; i < plan->links->len; i++) {
        const CluPlanLink *link = plan->links->pdata[i];

        g_ptr_array_add(paths, clu_plan_link_path(dir, link->link));
    }
    for (unsigned i = 0; i < plan->regions->len; i++) {
        const CluPlanRegion *region = plan->regions->pdata[i];

        g_ptr_array_add(paths, clu_plan_region_path(dir, region->name));
    }
    for (unsigned i = 0; i < plan->hosts->len; i++) {
        const CluPlanHost *host = plan->hosts->pdata[i];

        g_ptr_array_add(paths, clu_plan_qmp_path(dir, host->host));
    }
    for (unsigned i = 0; i < paths->len; i++) {
        const char *path = paths->pdata[i];

        if (strlen(path) > most) {
            g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                        "%s is too long for a socket by %zu bytes; give a "
                        "shorter --name, or set XDG_RUNTIME_DIR to a shorter "
                        "path",
                        path, strlen(path) - most);
            return false;
        }
    }
    return true;
}

static void free_files(Files *files, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        files_clear(&files[i]);
    }
    g_free(files);
}

/* Starts the supervisor; -1, and @errors or @error, if that fails. */
static int start_supervisor(const CluPlan *plan, const char *name,
                            CluClusterSetup *setup, Files *files,
                            TopoErrors *errors, GError **error)
{
    g_autofree CluPaths *paths = g_new0(CluPaths, plan->hosts->len);
    g_autofree bool *is_kvm = g_new0(bool, plan->hosts->len);
    g_autofree char *path = clu_dir_find(name);
    g_autoptr(CluDir) dir = NULL;

    if (!choose_accel(plan, is_kvm, errors) ||
        !check_paths(plan, path, error)) {
        return -1;
    }
    for (unsigned i = 0; i < plan->hosts->len; i++) {
        const CluPlanHost *host = plan->hosts->pdata[i];

        if (!find_files(host->host->vm, &files[i], errors, error)) {
            return -1;
        }
        paths[i] = (CluPaths){.qemu = files[i].qemu,
                              .plugin = files[i].plugin,
                              .kernel = files[i].kernel,
                              .initrd = files[i].initrd,
                              .dir = path};
    }
    /* From the first file on there must be somebody who removes it. */
    clu_client_hold_signals();
    dir = clu_dir_new(name, error);
    if (!dir) {
        return -1;
    }
    setup->plan = plan;
    setup->dir = dir;
    setup->paths = paths;
    setup->is_kvm = is_kvm;
    return clu_supervisor_start(setup, error);
}

/* Starts the cluster; NULL, and @errors or @error, if that fails. */
static CluClient *start(const CluPlan *plan, const char *name,
                        CluClusterSetup *setup, TopoErrors *errors,
                        GError **error)
{
    Files *files = g_new0(Files, plan->hosts->len);
    int fd = start_supervisor(plan, name, setup, files, errors, error);

    free_files(files, plan->hosts->len);
    return fd < 0 ? NULL : clu_client_new(fd);
}

/* Until all is up; then prints the table. */
static int bring_up(CluClient *client, unsigned timeout_s, bool is_quiet,
                    GError **error)
{
    g_autofree char *seconds = g_strdup_printf("%u", timeout_s);
    const char *const wait[] = {"wait", seconds, NULL};
    static const char *const status_words[] = {"status", NULL};
    g_autoptr(GString) text = g_string_new(NULL);
    CluClientMode mode = quiet;
    int status;

    mode.note = is_quiet ? NULL : print_note;
    status = clu_client_run(client, wait, &mode, error);
    if (status != 0) {
        return status;
    }
    mode.output = text;
    status = clu_client_run(client, status_words, &mode, error);
    if (status == 0 && !is_quiet) {
        print_status(text->str);
        fflush(stdout);
    }
    return status;
}

static int stay(CluClient *client)
{
    int signal;

    fputs("The cluster runs until Ctrl-C, or `farside cluster down`.\n",
          stderr);
    signal = clu_client_wait(client);
    return signal == 0 || signal == SIGINT ? CMD_OK : 128 + signal;
}

static int run_up(int argc, char **argv)
{
    static const char *const release[] = {"release", NULL};
    g_auto(GStrv) sets = NULL;
    g_autofree char *name = NULL;
    int timeout_s = 60, silence_s = 20;
    gboolean is_foreground = FALSE, is_quiet = FALSE;
    const GOptionEntry entries[] = {
        {"set", 's', 0, G_OPTION_ARG_STRING_ARRAY, &sets,
         "Change the description first", "PATH=VALUE"},
        {"name", 'n', 0, G_OPTION_ARG_STRING, &name,
         "What the cluster is called; without it as the description", "NAME"},
        {"timeout", 't', 0, G_OPTION_ARG_INT, &timeout_s,
         "Seconds that all may take to come up, and later each host (60)", "S"},
        {"silence", 0, 0, G_OPTION_ARG_INT, &silence_s,
         "Seconds without an answer after which a host is hung (20)", "S"},
        {"foreground", 'f', 0, G_OPTION_ARG_NONE, &is_foreground,
         "Stay; the cluster ends with Ctrl-C", NULL},
        {"quiet", 'q', 0, G_OPTION_ARG_NONE, &is_quiet,
         "Print nothing unless it fails", NULL},
        G_OPTION_ENTRY_NULL,
    };
    g_autoptr(GPtrArray) changes = NULL;
    g_autoptr(TopoDescription) description = NULL;
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(CluPlan) plan = NULL;
    g_autoptr(CluClient) client = NULL;
    CluClusterSetup setup = {.plan = NULL};
    g_autofree char *dir = NULL;
    g_auto(GStrv) files = NULL;
    GError *error = NULL;
    int status;

    if (!cmd_parse(argc, argv, entries, "FILE",
                   "Boots a virtual machine for each host of FILE, joins them, "
                   "and returns when the\ndrivers on all of them have come and "
                   "the links are up. The cluster stays until\n`farside "
                   "cluster down`. If it does not come up, all of it ends, and "
                   "what the\nconsoles said last is printed." STATUS_HELP,
                   &files, &status) ||
        !check_words(argv[0], files, "FILE", 1, 1, &status)) {
        return status;
    }
    if (timeout_s < 1 || timeout_s > 86400 || silence_s < 1 ||
        silence_s > 86400) {
        fprintf(stderr,
                "farside cluster up: --timeout and --silence are 1 to 86400 "
                "seconds\nTry: farside cluster up --help\n");
        return CMD_USAGE;
    }
    changes = cmd_changes(argv[0], sets);
    if (!changes) {
        return CMD_USAGE;
    }
    description = cmd_load(argv[0], files[0], changes, CMD_LOAD_ANY);
    if (!description) {
        return CMD_USAGE;
    }
    plan = clu_plan_new(description, errors);
    if (!name) {
        name = g_strdup(description->name);
    }
    dir = clu_dir_find(name);
    if (plan) {
        setup.boot_ms = (unsigned)timeout_s * 1000;
        setup.silence_ms = (unsigned)silence_s * 1000;
        client = start(plan, name, &setup, errors, &error);
    }
    if (topo_errors_count(errors) > 0) {
        g_autofree char *text = topo_errors_to_string(errors);

        fprintf(stderr, "%sfarside cluster up: %u error%s\n", text,
                topo_errors_count(errors),
                topo_errors_count(errors) == 1 ? "" : "s");
        return CMD_USAGE;
    }
    if (!client) {
        return fail(argv[0], error);
    }
    status = bring_up(client, (unsigned)timeout_s, is_quiet, &error);
    if (status == 0 && is_foreground) {
        status = stay(client);
    } else if (status == 0) {
        status = clu_client_run(client, release, &quiet, &error);
        if (status == 0) {
            return CMD_OK;
        }
    }
    g_clear_pointer(&client, clu_client_free);
    clu_dir_wait_gone(dir, DOWN_MS);
    return finish(argv[0], status, error);
}

/* The other verbs */

static int run_down(int argc, char **argv)
{
    static const char *const words[] = {"down", NULL};
    g_autofree char *cluster = NULL;
    g_autoptr(CluClient) client = NULL;
    g_autofree char *dir = NULL;
    g_auto(GStrv) rest = NULL;
    GError *error = NULL;
    int status;

    if (!parse(
            argc, argv, NULL, "",
            "Ends a cluster, and returns when nothing of it is left." STATUS_HELP,
            0, 0, &cluster, &rest, &status)) {
        return status;
    }
    dir = find_dir(cluster, &error);
    if (dir) {
        client = clu_client_connect(dir, &error);
    }
    if (!client) {
        return fail(argv[0], error);
    }
    status = clu_client_run(client, words, &quiet, &error);
    g_clear_pointer(&client, clu_client_free);
    if (status == 0 && !clu_dir_wait_gone(dir, DOWN_MS)) {
        status = CMD_DIFFERENT;
        g_set_error(&error, CLU_ERROR, CLU_ERROR_FAILED,
                    "its processes have not ended in %d s", DOWN_MS / 1000);
    }
    return finish(argv[0], status, error);
}

static int run_exec(int argc, char **argv)
{
    g_autofree char *cluster = NULL;
    g_autoptr(GPtrArray) words = g_ptr_array_new();
    CluClientMode mode = {.input = CLU_CLIENT_COMMAND};
    g_auto(GStrv) rest = NULL;
    int own = 1;
    int status;

    /* What stands behind "--" has options of its own. */
    while (own < argc && strcmp(argv[own], "--") != 0) {
        own++;
    }
    if (!parse(own, argv, NULL, "HOST -- COMMAND...",
               "Runs a command on a host. Standard input, output and error, "
               "and signals such\nas Ctrl-C, are the command's.\n\n"
               "Exit status: the command's; 128 and the number of a signal "
               "that ended it; 255\nif it could not be run, or its host is "
               "gone.",
               1, own < argc ? 1 : G_MAXUINT, &cluster, &rest, &status)) {
        return status;
    }
    g_ptr_array_add(words, (char *)"exec");
    for (char **word = rest; *word; word++) {
        g_ptr_array_add(words, *word);
    }
    for (int i = own + 1; i < argc; i++) {
        g_ptr_array_add(words, argv[i]);
    }
    if (words->len < 3) {
        fputs("farside cluster exec: a command is missing\n"
              "Try: farside cluster exec --help\n",
              stderr);
        return CMD_USAGE;
    }
    g_ptr_array_add(words, NULL);
    return ask(argv[0], cluster, (const char *const *)words->pdata, &mode);
}

static int run_console(int argc, char **argv)
{
    const CluClientMode mode = {.input = CLU_CLIENT_CONSOLE};
    g_autofree char *cluster = NULL;
    g_auto(GStrv) rest = NULL;
    int status;

    if (!parse(argc, argv, NULL, "HOST",
               "The serial console of a host. Ctrl-] leaves, and so does ~. at "
               "the begin of a\nline. Several may look at once." STATUS_HELP,
               1, 1, &cluster, &rest, &status)) {
        return status;
    }
    return ask(argv[0], cluster,
               (const char *const[]){"console", rest[0], NULL}, &mode);
}

static int run_logs(int argc, char **argv)
{
    gboolean is_following = FALSE, has_times = FALSE;
    const GOptionEntry entries[] = {
        {"follow", 'f', 0, G_OPTION_ARG_NONE, &is_following,
         "Go on as it grows", NULL},
        {"times", 't', 0, G_OPTION_ARG_NONE, &has_times,
         "Show at what time of day each line came", NULL},
        G_OPTION_ENTRY_NULL,
    };
    CluClientMode mode = quiet;
    g_autofree char *cluster = NULL;
    g_auto(GStrv) rest = NULL;
    int status;

    if (!parse(argc, argv, entries, "HOST",
               "Prints all that has come from the serial console of a host, "
               "and in lines that\nbegin with -- when its machine began and "
               "ended." STATUS_HELP,
               1, 1, &cluster, &rest, &status)) {
        return status;
    }
    mode.skip = has_times ? 0 : CLU_CONSOLE_TIME_BYTES;
    return ask(argv[0], cluster,
               (const char *const[]){"logs", rest[0],
                                     is_following ? "follow" : "once", NULL},
               &mode);
}

static int run_link(int argc, char **argv)
{
    g_autofree char *cluster = NULL;
    g_auto(GStrv) rest = NULL;
    int status;

    if (!parse(argc, argv, NULL, "LINK up|down",
               "Unplugs a link, or plugs it in again, and returns when the "
               "drivers have noticed." STATUS_HELP,
               2, 2, &cluster, &rest, &status)) {
        return status;
    }
    return ask(argv[0], cluster,
               (const char *const[]){"link", rest[0], rest[1], NULL}, &quiet);
}

static int run_trace(int argc, char **argv)
{
    g_autofree char *cluster = NULL;
    g_autofree char *path = NULL;
    g_auto(GStrv) rest = NULL;
    bool is_off;
    int status;

    if (!parse(argc, argv, NULL, "LINK FILE|off",
               "Records what crosses a link, both ways, in a new FILE that "
               "`farside trace` prints;\nor stops that. Meanwhile accesses "
               "to the other host's memory are slow." STATUS_HELP,
               2, 2, &cluster, &rest, &status)) {
        return status;
    }
    is_off = strcmp(rest[1], "off") == 0;
    path = is_off ? g_strdup("off") : g_canonicalize_filename(rest[1], NULL);
    return ask(argv[0], cluster,
               (const char *const[]){"trace", rest[0], path, NULL}, &quiet);
}

static int run_kill(int argc, char **argv)
{
    g_autofree char *cluster = NULL;
    g_auto(GStrv) rest = NULL;
    int status;

    if (!parse(argc, argv, NULL, "HOST",
               "Ends a host as a power cut would. Its disks keep what was "
               "written." STATUS_HELP,
               1, 1, &cluster, &rest, &status)) {
        return status;
    }
    return ask(argv[0], cluster, (const char *const[]){"kill", rest[0], NULL},
               &quiet);
}

static int run_restart(int argc, char **argv)
{
    g_autofree char *cluster = NULL;
    CluClientMode mode = quiet;
    g_auto(GStrv) rest = NULL;
    int status;

    if (!parse(
            argc, argv, NULL, "HOST",
            "Starts a host anew; one that lives is killed first. Returns "
            "when it is up, and\nso are its links to hosts that are." STATUS_HELP,
            1, 1, &cluster, &rest, &status)) {
        return status;
    }
    mode.note = print_note;
    return ask(argv[0], cluster,
               (const char *const[]){"restart", rest[0], NULL}, &mode);
}

static int run_wait(int argc, char **argv)
{
    int timeout_s = 60;
    const GOptionEntry entries[] = {
        {"timeout", 't', 0, G_OPTION_ARG_INT, &timeout_s,
         "Seconds after which that is a failure (60)", "S"},
        G_OPTION_ENTRY_NULL,
    };
    g_autofree char *cluster = NULL;
    g_autofree char *seconds = NULL;
    g_auto(GStrv) rest = NULL;
    int status;

    if (!parse(argc, argv, entries, "[HOST]",
               "Waits until all hosts are up and so are their links, or one "
               "host and its links\nto hosts that are up." STATUS_HELP,
               0, 1, &cluster, &rest, &status)) {
        return status;
    }
    seconds = g_strdup_printf("%d", timeout_s);
    return ask(argv[0], cluster,
               (const char *const[]){"wait", seconds, rest[0], NULL}, &quiet);
}

static int run_list(int argc, char **argv)
{
    g_auto(GStrv) names = NULL;
    g_auto(GStrv) rest = NULL;
    const GOptionEntry none[] = {G_OPTION_ENTRY_NULL};
    int status;

    if (!cmd_parse(argc, argv, none, "",
                   "Names the clusters that run, with their files." STATUS_HELP,
                   &rest, &status) ||
        !check_words(argv[0], rest, "", 0, 0, &status)) {
        return status;
    }
    names = clu_dir_list();
    for (char **name = names; *name; name++) {
        g_autofree char *dir = clu_dir_find(*name);
        g_autofree char *file = read_file_of(dir);

        printf("%-20s %s\n", *name, file ? file : "");
    }
    return CMD_OK;
}

static const Verb verbs[] = {
    {"up", "boot the hosts of a description, and join them", run_up},
    {"down", "end a cluster", run_down},
    {"status", "show the state of hosts and links", run_status},
    {"list", "name the clusters that run", run_list},
    {"exec", "run a command on a host", run_exec},
    {"console", "use the serial console of a host", run_console},
    {"logs", "print what has come from the console of a host", run_logs},
    {"link", "unplug a link, or plug it in again", run_link},
    {"trace", "record what crosses a link", run_trace},
    {"kill", "end a host as a power cut would", run_kill},
    {"restart", "start a host anew", run_restart},
    {"wait", "wait until hosts and links are up", run_wait},
};

static void print_help(void)
{
    fputs("Usage:\n"
          "  farside cluster VERB [OPTION...] ARGUMENT...\n"
          "\n"
          "Runs the hosts of a description as virtual machines, joined by "
          "emulated NTBs.\n"
          "\n"
          "Verbs:\n",
          stdout);
    for (unsigned i = 0; i < G_N_ELEMENTS(verbs); i++) {
        printf("  %-8s %s\n", verbs[i].name, verbs[i].help);
    }
    fputs("\n"
          "  farside cluster VERB --help   says more about a verb\n"
          "\n"
          "All but up and list take -c NAME, which cluster; without it, the "
          "only one.\n",
          stdout);
}

int cmd_cluster(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";

    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
        strcmp(word, "help") == 0) {
        print_help();
        return CMD_OK;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(verbs); i++) {
        if (strcmp(word, verbs[i].name) == 0) {
            g_autofree char *name = g_strconcat("cluster ", word, NULL);

            argv[1] = name; /* what messages call it */
            return verbs[i].run(argc - 1, argv + 1);
        }
    }
    if (*word) {
        fprintf(stderr, "farside cluster: there is no verb \"%s\"\n", word);
    } else {
        fputs("farside cluster: a verb is missing\n", stderr);
    }
    fputs("Try: farside cluster --help\n", stderr);
    return CMD_USAGE;
}
