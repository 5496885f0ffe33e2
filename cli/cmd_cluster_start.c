/* SPDX-License-Identifier: MIT */
#include "cmd_cluster_start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "clu_accel.h"
#include "clu_dir.h"
#include "clu_error.h"
#include "clu_memory.h"
#include "clu_share.h"
#include "clu_supervisor.h"
#include "cmd_cluster_log.h"
#include "topo_home.h"

/* The files that the QEMU process of a host uses. */
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

/* Tells how to get all that emulation needs. */
static const char *remedy(const TopoHome *home)
{
    return home->is_installed
               ? "the package farside-qemu installs all that emulation needs"
               : "`make cluster` installs and builds all that emulation needs";
}

static bool check_file(const char *path, const char *what, const TopoHome *home,
                       GError **error)
{
    if (!g_file_test(path, G_FILE_TEST_IS_REGULAR)) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                    "%s does not exist: %s; %s", what, path, remedy(home));
        return false;
    }
    return true;
}

/* Adds the option @name with @value, which it copies, of the key @key. Returns
 * false and sets @error if there is no file that @value names up to its first
 * colon. */
static bool add_option(GPtrArray *argv, const char *name, const char *key,
                       const char *value, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(value, ":", 2);
    g_autofree char *full = realpath(parts[0], NULL);

    if (!full) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                    "%s: %s does not exist; name a path that does", key,
                    parts[0]);
        return false;
    }
    g_ptr_array_add(argv, g_strdup(name));
    g_ptr_array_add(argv, parts[1] ? g_strconcat(full, ":", parts[1], NULL)
                                   : g_strdup(full));
    return true;
}

/* Adds the modules of Device Lending and the accelerator's, if this kernel can
 * have them, and their tools, to the arguments for an image. */
static void add_lending(const TopoHome *home, GPtrArray *argv)
{
    static const char *const tools[] = {"fgpu", "lendctl"};
    g_autofree char *modules = g_build_filename(home->data, "kmod", NULL);

    add_option(argv, "--try-module-dir", "module-dirs", modules, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(tools); i++) {
        g_autofree char *tool =
            home->is_installed
                ? g_build_filename(home->prefix, FARSIDE_BINDIR, tools[i], NULL)
                : g_build_filename(home->prefix, "kmod", tools[i], tools[i],
                                   NULL);

        add_option(argv, "--add", "files", tool, NULL);
    }
}

/* Adds what the description says of the image to @argv. Returns false and sets
 * @error if a file does not exist. */
static bool add_wishes(const TopoVm *vm, GPtrArray *argv, GError **error)
{
    if (vm->series) {
        g_ptr_array_add(argv, g_strdup("--kernel"));
        g_ptr_array_add(argv, g_strdup(vm->series));
    }
    if ((vm->kernel &&
         !add_option(argv, "--kernel", "kernel", vm->kernel, error)) ||
        (vm->modules &&
         !add_option(argv, "--modules", "modules", vm->modules, error)) ||
        (vm->source &&
         !add_option(argv, "--source", "source", vm->source, error))) {
        return false;
    }
    for (unsigned i = 0; i < vm->module_dirs->len; i++) {
        if (!add_option(argv, "--module-dir", "module-dirs",
                        vm->module_dirs->pdata[i], error)) {
            return false;
        }
    }
    for (unsigned i = 0; i < vm->files->len; i++) {
        if (!add_option(argv, "--add", "files", vm->files->pdata[i], error)) {
            return false;
        }
    }
    return true;
}

/* Says that making an image takes time, if @dir has none. */
static void tell_of_image(const char *dir)
{
    g_autofree char *stamp = g_build_filename(dir, "STAMP", NULL);

    if (!g_file_test(stamp, G_FILE_TEST_EXISTS)) {
        fprintf(stderr,
                "farside cluster up: making the guests' image in %s; this "
                "takes minutes, but once\n",
                dir);
    }
}

/* Makes a guest image with all that @vm names, in the user's cache, or updates
 * it. Returns the directory of the image, to be freed. Makes nothing if
 * @is_made is false: the directory may be missing then. */
static char *make_image(const TopoVm *vm, const TopoHome *home, bool is_made,
                        GError **error)
{
    g_autofree char *key = NULL;
    g_autofree char *hash = NULL;
    g_autofree char *dir = NULL;
    g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);
    int status;

    g_ptr_array_add(
        argv, g_build_filename(home->data, "cluster", "guest", "build", NULL));
    add_lending(home, argv);
    if (!add_wishes(vm, argv, error)) {
        return NULL;
    }
    g_ptr_array_add(argv, NULL);
    key = g_strjoinv("\n", (char **)argv->pdata);
    hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, key, -1);
    hash[16] = '\0';
    dir = g_build_filename(g_get_user_cache_dir(), "farside", hash, NULL);
    if (!is_made) {
        return g_steal_pointer(&dir);
    }
    g_mkdir_with_parents(dir, 0700);
    g_ptr_array_insert(argv, 1, g_strdup(dir));
    tell_of_image(dir);
    if (!g_spawn_sync(NULL, (char **)argv->pdata, NULL,
                      G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL, NULL,
                      &status, error)) {
        return NULL;
    }
    if (!g_spawn_check_wait_status(status, NULL)) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                    "the guest's image cannot be made, for the reason above");
        return NULL;
    }
    return g_steal_pointer(&dir);
}

/* Returns whether @vm asks for an image of its own. */
static bool has_wishes(const TopoVm *vm)
{
    return vm->series || vm->kernel || vm->modules || vm->source ||
           vm->module_dirs->len > 0 || vm->files->len > 0;
}

/* Returns the directory of the image for the host of @vm, to be freed. If the
 * description names the image or its parts, it is to blame for an @error: then
 * *ret_is_named is true. @is_made as for make_image(). */
static char *find_image(const TopoVm *vm, const TopoHome *home, bool is_made,
                        bool *ret_is_named, GError **error)
{
    const char *guest = g_getenv("FARSIDE_GUEST");

    *ret_is_named = vm->image || has_wishes(vm);
    if (vm->image) {
        g_autofree char *initrd =
            g_build_filename(vm->image, "initramfs", NULL);

        if (!g_file_test(initrd, G_FILE_TEST_EXISTS)) {
            g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                        "image: %s has no initramfs; name a folder that "
                        "cluster/guest/build has made",
                        vm->image);
            return NULL;
        }
        return g_strdup(vm->image);
    }
    if (g_strcmp0(vm->series, "debug") == 0) {
        g_autofree char *dir =
            g_build_filename(home->data, "build-kdebug", "guest", NULL);

        if (!g_file_test(dir, G_FILE_TEST_IS_DIR)) {
            g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                        "kernel: there is no %s; `make guest-debug` makes it "
                        "in ten minutes",
                        dir);
            return NULL;
        }
        return g_steal_pointer(&dir);
    }
    if (has_wishes(vm) || (!guest && home->is_installed)) {
        return make_image(vm, home, is_made, error);
    }
    return guest ? g_strdup(guest)
                 : g_build_filename(home->data, "build-guest", NULL);
}

/* Returns the path of the NTB device that came with Farside, to be freed. */
static char *own_plugin(const TopoHome *home)
{
    return home->is_installed
               ? g_build_filename(home->prefix, FARSIDE_LIBDIR, "farside",
                                  "farside-qemu.so", NULL)
               : g_build_filename(home->prefix, "qemu-dev", "farside-qemu.so",
                                  NULL);
}

void cmd_cluster_check_memory(const TopoDescription *description,
                              TopoErrors *errors)
{
    g_autoptr(TopoHome) home = topo_home_find();

    for (unsigned i = 0; home && i < description->hosts->len; i++) {
        const TopoHost *host = description->hosts->pdata[i];
        bool is_named;
        g_autofree char *image =
            find_image(host->vm, home, false, &is_named, NULL);

        if (image) {
            clu_memory_check(host, image, errors);
        }
    }
}

/* Finds the files for @host. If one is missing, or too large for the host's
 * memory, returns false and adds an entry to @errors if the description names
 * it, or sets @error otherwise. */
static bool find_files(const TopoHost *host, const TopoHome *home, Files *files,
                       TopoErrors *errors, GError **error)
{
    const TopoVm *vm = host->vm;
    const char *plugin = g_getenv("FARSIDE_QEMU_PLUGIN");
    g_autofree char *image = NULL;
    g_autoptr(GError) why = NULL;
    bool is_named;

    files->qemu = g_find_program_in_path("qemu-system-x86_64");
    if (!files->qemu) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                    "QEMU (qemu-system-x86_64) is not installed; %s",
                    remedy(home));
        return false;
    }
    files->plugin = plugin ? g_strdup(plugin) : own_plugin(home);
    if (!check_file(files->plugin, "the NTB device for QEMU", home, error)) {
        return false;
    }
    image = find_image(vm, home, true, &is_named, &why);
    if (!image) {
        if (is_named) {
            topo_errors_add(errors, vm->place, "%s", why->message);
        } else {
            g_propagate_error(error, g_steal_pointer(&why));
        }
        return false;
    }
    files->kernel = g_build_filename(image, "vmlinuz", NULL);
    files->initrd = g_build_filename(image, "initramfs", NULL);
    return check_file(files->kernel, "the guests' kernel", home, error) &&
           check_file(files->initrd, "the guests' image", home, error) &&
           clu_memory_check(host, image, errors);
}

/* Chooses KVM or TCG for each host. */
static bool choose_accel(const CluPlan *plan, bool is_timed, bool *is_kvm,
                         TopoErrors *errors)
{
    const char *reason;
    bool has_kvm = clu_accel_has_kvm(&reason);
    unsigned before = topo_errors_count(errors);

    for (unsigned i = 0; i < plan->hosts->len; i++) {
        const CluPlanHost *host = plan->hosts->pdata[i];
        TopoAccel accel = host->host->vm->accel;

        is_kvm[i] = has_kvm && !is_timed && accel != TOPO_ACCEL_TCG;
        if (accel == TOPO_ACCEL_KVM && !has_kvm) {
            topo_errors_add(errors, host->host->vm->place,
                            "host '%s' asks for KVM, but %s; write accel: auto",
                            host->host->name, reason);
        }
    }
    return topo_errors_count(errors) == before;
}

/*
 * With two CPUs, one of six such hosts ended in a panic or hung while its
 * machine booted (QEMU 7.2, which emulates SVM); none of nineteen did with one.
 */
static void warn_of_inner(const CluPlan *plan, const bool *is_kvm)
{
    for (unsigned i = 0; i < plan->hosts->len; i++) {
        const CluPlanHost *host = plan->hosts->pdata[i];
        const TopoVm *vm = host->host->vm;
        g_autofree char *place = topo_place_to_string(vm->place);

        if (!is_kvm[i] && vm->cpus > 1 && vm->inner->len > 0) {
            fprintf(stderr,
                    "%s: warning: without KVM a host that has virtual "
                    "machines of its own and more than one CPU may crash; "
                    "write cpus: 1\n",
                    place);
        }
    }
}

static void warn_of_shares(const CluPlan *plan)
{
    for (unsigned i = 0; i < plan->hosts->len; i++) {
        const CluPlanHost *host = plan->hosts->pdata[i];
        const TopoVm *vm = host->host->vm;

        if (vm->share && !clu_share_has_attributes(vm->share)) {
            g_autofree char *place = topo_place_to_string(vm->share_place);

            fprintf(stderr,
                    "%s: warning: files in %s cannot have extended attributes, "
                    "so QEMU makes folders .virtfs_metadata there, with the "
                    "modes and owners that the guest gives to its files\n",
                    place, vm->share);
        }
    }
}

/* Checks that the paths of all sockets fit into a sockaddr_un. */
static bool check_paths(const CluPlan *plan, const char *dir, GError **error)
{
    size_t most = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;
    g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);

    g_ptr_array_add(paths, g_build_filename(dir, CLU_DIR_CONTROL, NULL));
    for (unsigned i = 0; i < plan->links->len; i++) {
        const CluPlanLink *link = plan->links->pdata[i];

        g_ptr_array_add(paths, clu_dir_link_path(dir, link->link->name));
    }
    for (unsigned i = 0; i < plan->regions->len; i++) {
        const CluPlanRegion *region = plan->regions->pdata[i];

        g_ptr_array_add(paths, clu_dir_region_path(dir, region->name));
    }
    for (unsigned i = 0; i < plan->hosts->len; i++) {
        const CluPlanHost *host = plan->hosts->pdata[i];

        g_ptr_array_add(paths, clu_dir_qmp_path(dir, host->host->name));
        g_ptr_array_add(paths, clu_dir_gdb_path(dir, host->host->name));
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

static void fail_home(GError **error)
{
    g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                "the files of Farside are not found: there is no share/farside "
                "above this program; install it again");
}

/* Adds the hash of @file to @sum. Hosts have the same file mostly, and images
 * are large, so the hash is kept in @known. */
static bool add_file(GChecksum *sum, GHashTable *known, const char *file,
                     GError **error)
{
    const char *hash = g_hash_table_lookup(known, file);

    if (!hash) {
        char *made = cmd_cluster_log_hash(file, error);

        if (!made) {
            return false;
        }
        g_hash_table_insert(known, g_strdup(file), made);
        hash = made;
    }
    g_checksum_update(sum, (const guchar *)hash, -1);
    return true;
}

void cmd_cluster_hashes_clear(CmdClusterHashes *hashes)
{
    g_clear_pointer(&hashes->programs, g_free);
    g_clear_pointer(&hashes->kernels, g_free);
    g_clear_pointer(&hashes->images, g_free);
}

/* The programs of @files, which are the same for all hosts. */
static char *hash_programs(const Files *files, GError **error)
{
    g_autofree char *timed = cmd_cluster_timed_plugin(error);

    return timed
               ? cmd_cluster_log_programs(
                     &(CluPaths){.qemu = files->qemu, .plugin = files->plugin},
                     timed, error)
               : NULL;
}

bool cmd_cluster_hash(const CluPlan *plan, CmdClusterHashes *ret_hashes,
                      TopoErrors *errors, GError **error)
{
    g_autoptr(TopoHome) home = topo_home_find();
    g_autoptr(GChecksum) kernels = g_checksum_new(G_CHECKSUM_SHA256);
    g_autoptr(GChecksum) images = g_checksum_new(G_CHECKSUM_SHA256);
    g_autoptr(GHashTable) known =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_autofree char *programs = NULL;

    if (!home) {
        fail_home(error);
        return false;
    }
    for (unsigned i = 0; i < plan->hosts->len; i++) {
        const CluPlanHost *host = plan->hosts->pdata[i];
        Files files = {.qemu = NULL};
        bool is_good = find_files(host->host, home, &files, errors, error) &&
                       add_file(kernels, known, files.kernel, error) &&
                       add_file(images, known, files.initrd, error);

        if (is_good && !programs) {
            programs = hash_programs(&files, error);
            is_good = programs != NULL;
        }
        files_clear(&files);
        if (!is_good) {
            return false;
        }
    }
    ret_hashes->programs = g_steal_pointer(&programs);
    ret_hashes->kernels = g_strdup(g_checksum_get_string(kernels));
    ret_hashes->images = g_strdup(g_checksum_get_string(images));
    return true;
}

/* Starts the supervisor. Returns its connection; -1 and @errors or @error if
 * that fails. */
static int start_supervisor(const CluPlan *plan, const char *name,
                            CluClusterSetup *setup, const CmdClusterTimed *logs,
                            Files *files, TopoErrors *errors, GError **error)
{
    g_autofree CluPaths *paths = g_new0(CluPaths, plan->hosts->len);
    g_autofree bool *is_kvm = g_new0(bool, plan->hosts->len);
    g_autofree char *path = clu_dir_find(name);
    g_autoptr(TopoHome) home = topo_home_find();
    g_autoptr(CluDir) dir = NULL;
    g_autoptr(CluTimed) timed = NULL;

    if (!home) {
        fail_home(error);
        return -1;
    }
    if (!choose_accel(plan, logs != NULL, is_kvm, errors) ||
        !check_paths(plan, path, error)) {
        return -1;
    }
    warn_of_inner(plan, is_kvm);
    warn_of_shares(plan);
    for (unsigned i = 0; i < plan->hosts->len; i++) {
        const CluPlanHost *host = plan->hosts->pdata[i];

        if (!find_files(host->host, home, &files[i], errors, error)) {
            return -1;
        }
        paths[i] = (CluPaths){.qemu = files[i].qemu,
                              .plugin = files[i].plugin,
                              .kernel = files[i].kernel,
                              .initrd = files[i].initrd,
                              .dir = path};
    }
    if (logs) {
        timed = cmd_cluster_timed(plan, path, paths, logs, errors, error);
        if (!timed) {
            return -1;
        }
    }
    /* If a signal ended this process before the keeper of the directory runs,
     * files would be left behind. */
    clu_client_hold_signals();
    dir = clu_dir_new(name, error);
    if (!dir) {
        return -1;
    }
    setup->plan = plan;
    setup->dir = dir;
    setup->paths = paths;
    setup->is_kvm = is_kvm;
    setup->timed = timed;
    return clu_supervisor_start(setup, error);
}

CluClient *cmd_cluster_start(const CluPlan *plan, const char *name,
                             CluClusterSetup *setup,
                             const CmdClusterTimed *logs, TopoErrors *errors,
                             GError **error)
{
    Files *files = g_new0(Files, plan->hosts->len);
    int fd = start_supervisor(plan, name, setup, logs, files, errors, error);

    free_files(files, plan->hosts->len);
    return fd < 0 ? NULL : clu_client_new(fd);
}
