/* SPDX-License-Identifier: MIT */
#include "img_files.h"

#include <stdlib.h>

#include "clu_error.h"
#include "clu_memory.h"
#include "topo_home.h"

static void files_clear(ImgFiles *files)
{
    g_free(files->qemu);
    g_free(files->plugin);
    g_free(files->kernel);
    g_free(files->initrd);
}

/* The place of Farside's files. NULL and @error if it is not found. */
static TopoHome *find_home(GError **error)
{
    TopoHome *home = topo_home_find();

    if (!home) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                    "the files of Farside are not found: there is no "
                    "share/farside above this program; install it again");
    }
    return home;
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

/* Adds the kernel of the image to @argv. Returns false and sets @error if a
 * file does not exist. */
static bool add_kernel(const ImgKernel *kernel, GPtrArray *argv, GError **error)
{
    if (kernel->series) {
        g_ptr_array_add(argv, g_strdup("--kernel"));
        g_ptr_array_add(argv, g_strdup(kernel->series));
    }
    return (!kernel->file ||
            add_option(argv, "--kernel", "kernel", kernel->file, error)) &&
           (!kernel->modules ||
            add_option(argv, "--modules", "modules", kernel->modules, error)) &&
           (!kernel->source ||
            add_option(argv, "--source", "source", kernel->source, error));
}

/* Adds what the description says of the image to @argv. Returns false and sets
 * @error if a file does not exist. */
static bool add_wishes(const TopoVm *vm, GPtrArray *argv, GError **error)
{
    const ImgKernel kernel = {.series = vm->series,
                              .file = vm->kernel,
                              .modules = vm->modules,
                              .source = vm->source};

    if (!add_kernel(&kernel, argv, error)) {
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

/* The beginning of the arguments of the program that makes an image, which is
 * completed by make_image(); to be freed. */
static GPtrArray *image_argv(const TopoHome *home)
{
    GPtrArray *argv = g_ptr_array_new_with_free_func(g_free);

    g_ptr_array_add(
        argv, g_build_filename(home->data, "host", "guest", "build", NULL));
    return argv;
}

/* Says that making an image takes time, if @dir has none. */
static void tell_of_image(const ImgNotes *notes, const char *dir)
{
    g_autofree char *stamp = g_build_filename(dir, "STAMP", NULL);

    if (!g_file_test(stamp, G_FILE_TEST_EXISTS)) {
        img_tell(notes,
                 "farside: making the guests' image in %s; this takes minutes, "
                 "but once",
                 dir);
    }
}

/* Makes the guest image of @argv in the user's cache, or updates it. Returns
 * the directory of the image, to be freed. Makes nothing if @notes is NULL: the
 * directory may be missing then. */
static char *make_image(GPtrArray *argv, const ImgNotes *notes, GError **error)
{
    g_autofree char *key = NULL;
    g_autofree char *hash = NULL;
    g_autofree char *dir = NULL;
    int status;

    g_ptr_array_add(argv, NULL);
    key = g_strjoinv("\n", (char **)argv->pdata);
    hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, key, -1);
    hash[16] = '\0';
    dir = g_build_filename(g_get_user_cache_dir(), "farside", hash, NULL);
    if (!notes) {
        return g_steal_pointer(&dir);
    }
    g_mkdir_with_parents(dir, 0700);
    g_ptr_array_insert(argv, 1, g_strdup(dir));
    tell_of_image(notes, dir);
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

/* The image with all that @vm names, and with the modules of Device Lending, as
 * make_image() */
static char *make_wished(const TopoVm *vm, const TopoHome *home,
                         const ImgNotes *notes, GError **error)
{
    g_autoptr(GPtrArray) argv = image_argv(home);

    add_lending(home, argv);
    return add_wishes(vm, argv, error) ? make_image(argv, notes, error) : NULL;
}

char *img_make(const ImgKernel *kernel, const ImgNotes *notes, GError **error)
{
    g_autoptr(TopoHome) home = find_home(error);
    g_autoptr(GPtrArray) argv = home ? image_argv(home) : NULL;

    return argv && add_kernel(kernel, argv, error)
               ? make_image(argv, notes, error)
               : NULL;
}

/* Returns whether @vm asks for an image of its own. */
static bool has_wishes(const TopoVm *vm)
{
    return vm->series || vm->kernel || vm->modules || vm->source ||
           vm->module_dirs->len > 0 || vm->files->len > 0;
}

/* Returns the directory of the image for the host of @vm, to be freed. If the
 * description names the image or its parts, it is to blame for an @error: then
 * *ret_is_named is true. @notes as for make_image(). */
static char *find_image(const TopoVm *vm, const TopoHome *home,
                        const ImgNotes *notes, bool *ret_is_named,
                        GError **error)
{
    const char *guest = g_getenv("FARSIDE_GUEST");

    *ret_is_named = vm->image || has_wishes(vm);
    if (vm->image) {
        g_autofree char *initrd =
            g_build_filename(vm->image, "initramfs", NULL);

        if (!g_file_test(initrd, G_FILE_TEST_EXISTS)) {
            g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                        "image: %s has no initramfs; name a folder that "
                        "host/guest/build has made",
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
        return make_wished(vm, home, notes, error);
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

void img_check_memory(const TopoDescription *description, TopoErrors *errors)
{
    g_autoptr(TopoHome) home = topo_home_find();

    for (unsigned i = 0; home && i < description->hosts->len; i++) {
        const TopoHost *host = description->hosts->pdata[i];
        bool is_named;
        g_autofree char *image =
            find_image(host->vm, home, NULL, &is_named, NULL);

        if (image) {
            clu_memory_check(host, image, errors);
        }
    }
}

/* Finds the files for @host. If one is missing, or too large for the host's
 * memory, returns false and adds an entry to @errors if the description names
 * it, or sets @error otherwise. */
static bool find_files(const TopoHost *host, const TopoHome *home,
                       const ImgNotes *notes, ImgFiles *files,
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
    image = find_image(vm, home, notes, &is_named, &why);
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

void img_files_free(ImgFiles *files, unsigned count)
{
    for (unsigned i = 0; files && i < count; i++) {
        files_clear(&files[i]);
    }
    g_free(files);
}

ImgFiles *img_find(const CluPlan *plan, const ImgNotes *notes,
                   TopoErrors *errors, GError **error)
{
    g_autoptr(TopoHome) home = find_home(error);
    ImgFiles *files;

    if (!home) {
        return NULL;
    }
    files = g_new0(ImgFiles, plan->hosts->len);
    for (unsigned i = 0; i < plan->hosts->len; i++) {
        const CluPlanHost *host = plan->hosts->pdata[i];

        if (!find_files(host->host, home, notes, &files[i], errors, error)) {
            img_files_free(files, plan->hosts->len);
            return NULL;
        }
    }
    return files;
}

void img_tell(const ImgNotes *notes, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    notes->tell(notes->owner, text);
}

char *img_find_timed(GError **error)
{
    const char *given = g_getenv("FARSIDE_QEMU_TIMED");
    g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *dir = g_path_get_dirname(program ? program : ".");
    g_autofree char *plugin =
        given ? g_strdup(given)
              : g_build_filename(dir, "..", "qemu-timed",
                                 "farside-qemu-timed.so", NULL);

    if (!g_file_test(plugin, G_FILE_TEST_IS_REGULAR)) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                    "the object for virtual time does not exist: %s; `make "
                    "cluster` builds it",
                    plugin);
        return NULL;
    }
    return g_steal_pointer(&plugin);
}
