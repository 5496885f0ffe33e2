/* SPDX-License-Identifier: MIT */
#include "cmd_cluster_start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "clu_accel.h"
#include "clu_dir.h"
#include "clu_error.h"
#include "clu_supervisor.h"
#include "cmd_cluster_timed.h"
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

/* An installation has no image, because it depends on the kernels of the
 * machine. Adds the arguments for an image with Device Lending to @argv, which
 * owns its texts. */
static void add_lending(const TopoHome *home, GPtrArray *argv)
{
    g_ptr_array_add(argv, g_strdup("--module-dir"));
    g_ptr_array_add(argv, g_build_filename(home->data, "kmod", NULL));
    g_ptr_array_add(argv, g_strdup("--add"));
    g_ptr_array_add(
        argv, g_build_filename(home->prefix, FARSIDE_BINDIR, "lendctl", NULL));
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

/* Makes a guest image with the kernel and modules that @vm names, in the user's
 * cache, or updates it. Returns the directory of the image, to be freed. */
static char *make_image(const TopoVm *vm, const TopoHome *home, GError **error)
{
    g_autofree char *kernel = vm->kernel ? realpath(vm->kernel, NULL) : NULL;
    g_autofree char *modules = vm->modules ? realpath(vm->modules, NULL) : NULL;
    g_autofree char *key = NULL;
    g_autofree char *hash = NULL;
    g_autofree char *dir = NULL;
    g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);
    int status;

    if ((vm->kernel && !kernel) || (vm->modules && !modules)) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE, "%s does not exist",
                    vm->kernel && !kernel ? vm->kernel : vm->modules);
        return NULL;
    }
    key = g_strdup_printf("%s\n%s\n%s", kernel ? kernel : "",
                          modules ? modules : "", home->data);
    hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, key, -1);
    hash[16] = '\0';
    dir = g_build_filename(g_get_user_cache_dir(), "farside", hash, NULL);
    g_mkdir_with_parents(dir, 0700);
    g_ptr_array_add(
        argv, g_build_filename(home->data, "cluster", "guest", "build", NULL));
    g_ptr_array_add(argv, g_strdup(dir));
    if (kernel) {
        g_ptr_array_add(argv, g_strdup("--kernel"));
        g_ptr_array_add(argv, g_strdup(kernel));
    }
    if (modules) {
        g_ptr_array_add(argv, g_strdup("--modules"));
        g_ptr_array_add(argv, g_strdup(modules));
    }
    if (home->is_installed) {
        add_lending(home, argv);
        tell_of_image(dir);
    }
    g_ptr_array_add(argv, NULL);
    if (!g_spawn_sync(NULL, (char **)argv->pdata, NULL,
                      G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL, NULL,
                      &status, error)) {
        return NULL;
    }
    if (!g_spawn_check_wait_status(status, NULL)) {
        g_set_error(
            error, CLU_ERROR, CLU_ERROR_USAGE,
            "cannot make a guest image of the kernel %s and the modules %s",
            kernel ? kernel : "of Debian", modules ? modules : "of Debian");
        return NULL;
    }
    return g_steal_pointer(&dir);
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

/* Finds the files for the host of @vm. If one is missing, returns false and
 * adds an entry to @errors if the description names the file, or sets @error
 * otherwise. */
static bool find_files(const TopoVm *vm, const TopoHome *home, Files *files,
                       TopoErrors *errors, GError **error)
{
    const char *plugin = g_getenv("FARSIDE_QEMU_PLUGIN");
    const char *guest = g_getenv("FARSIDE_GUEST");
    g_autofree char *image = NULL;

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
    if (vm->kernel || vm->modules) {
        g_autoptr(GError) why = NULL;

        image = make_image(vm, home, &why);
        if (!image) {
            topo_errors_add(errors, vm->place, "%s", why->message);
            return false;
        }
    } else if (guest) {
        image = g_strdup(guest);
    } else {
        image = home->is_installed
                    ? make_image(vm, home, error)
                    : g_build_filename(home->data, "build-guest", NULL);
    }
    if (!image) {
        return false;
    }
    files->kernel = g_build_filename(image, "vmlinuz", NULL);
    files->initrd = g_build_filename(image, "initramfs", NULL);
    return check_file(files->kernel, "the guests' kernel", home, error) &&
           check_file(files->initrd, "the guests' image", home, error);
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

/* Starts the supervisor. Returns its connection; -1 and @errors or @error if
 * that fails. */
static int start_supervisor(const CluPlan *plan, const char *name,
                            CluClusterSetup *setup, bool is_timed, Files *files,
                            TopoErrors *errors, GError **error)
{
    g_autofree CluPaths *paths = g_new0(CluPaths, plan->hosts->len);
    g_autofree bool *is_kvm = g_new0(bool, plan->hosts->len);
    g_autofree char *path = clu_dir_find(name);
    g_autoptr(TopoHome) home = topo_home_find();
    g_autoptr(CluDir) dir = NULL;
    g_autoptr(CluTimed) timed = NULL;

    if (!home) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                    "the files of Farside are not found: there is no "
                    "share/farside above this program; install it again");
        return -1;
    }
    if (!choose_accel(plan, is_timed, is_kvm, errors) ||
        !check_paths(plan, path, error)) {
        return -1;
    }
    for (unsigned i = 0; i < plan->hosts->len; i++) {
        const CluPlanHost *host = plan->hosts->pdata[i];

        if (!find_files(host->host->vm, home, &files[i], errors, error)) {
            return -1;
        }
        paths[i] = (CluPaths){.qemu = files[i].qemu,
                              .plugin = files[i].plugin,
                              .kernel = files[i].kernel,
                              .initrd = files[i].initrd,
                              .dir = path};
    }
    if (is_timed) {
        timed = cmd_cluster_timed(plan, path, errors, error);
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
                             CluClusterSetup *setup, bool is_timed,
                             TopoErrors *errors, GError **error)
{
    Files *files = g_new0(Files, plan->hosts->len);
    int fd =
        start_supervisor(plan, name, setup, is_timed, files, errors, error);

    free_files(files, plan->hosts->len);
    return fd < 0 ? NULL : clu_client_new(fd);
}
