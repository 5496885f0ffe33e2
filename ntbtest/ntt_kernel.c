/* SPDX-License-Identifier: MIT */
#include "ntt_kernel.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "clu_error.h"
#include "ntt_table.h"
#include "topo_error.h"

#define TEST_PATH "tools/testing/selftests/ntb/ntb_test.sh"
/* The parts of a tree that the guests' modules are built of */
#define NTB_PARTS "drivers/ntb, drivers/pci/switch and drivers/net/ntb_netdev.c"

static void add_key(NttKernel *kernel, const char *key, const char *value)
{
    g_ptr_array_add(kernel->keys, g_strdup_printf("%s=%s", key, value));
}

/* Runs the program @argv, ended by NULL. False and @error, with the last of
 * what it has said, if it fails. */
static bool run(const char *const *argv, GError **error)
{
    g_autofree char *said = NULL;
    int status;

    if (!g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL,
                      NULL, NULL, &said, &status, error)) {
        return false;
    }
    if (g_spawn_check_wait_status(status, NULL)) {
        return true;
    }
    g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE, "%s: %s", argv[0],
                g_strchomp(said));
    return false;
}

/* The folder in the user's cache for what is unpacked of @key; to be freed. */
static char *cache_dir(const char *key)
{
    g_autofree char *hash =
        g_compute_checksum_for_string(G_CHECKSUM_SHA256, key, -1);

    hash[16] = '\0';
    return g_build_filename(g_get_user_cache_dir(), "farside", hash, NULL);
}

/* ---- Packages ----------------------------------------------------------- */

/* A text that changes with the packages. */
static char *packages_key(char *const *packages, GError **error)
{
    g_autoptr(GString) key = g_string_new("kernel packages");

    for (; *packages; packages++) {
        g_autofree char *path = realpath(*packages, NULL);
        GStatBuf info;

        if (!path || g_stat(path, &info) < 0) {
            topo_refuse_option(
                error,
                "--kernel-package: %s does not exist; name a file of a "
                "package, such as linux-image-6.1.0_amd64.deb",
                *packages);
            return NULL;
        }
        g_string_append_printf(
            key, "\n%s %" G_GINT64_FORMAT " %" G_GINT64_FORMAT, path,
            (gint64)info.st_size, (gint64)info.st_mtime);
    }
    return g_string_free(g_steal_pointer(&key), FALSE);
}

/* The release of the kernel whose modules are in @dir; to be freed. NULL and
 * @error unless there is one. */
static char *find_release(const char *dir, GError **error)
{
    g_autofree char *folder = g_build_filename(dir, "lib", "modules", NULL);
    g_autoptr(GDir) entries = g_dir_open(folder, 0, NULL);
    g_autofree char *release = NULL;
    const char *name;

    while (entries && (name = g_dir_read_name(entries))) {
        g_autofree char *image =
            g_strdup_printf("%s/boot/vmlinuz-%s", dir, name);

        if (g_file_test(image, G_FILE_TEST_IS_REGULAR)) {
            g_free(release);
            release = g_strdup(name);
        }
    }
    if (!release) {
        topo_refuse_option(
            error, "--kernel-package: no package has both "
                   "/boot/vmlinuz-RELEASE and /lib/modules/RELEASE; name "
                   "that of the kernel's image");
    }
    return g_steal_pointer(&release);
}

/* The link of the modules to the headers leads to those of the package, if it
 * has them, and not to this computer's. */
static void use_headers(const char *dir, const char *release)
{
    g_autofree char *headers =
        g_strdup_printf("%s/usr/src/linux-headers-%s", dir, release);
    g_autofree char *link =
        g_strdup_printf("%s/lib/modules/%s/build", dir, release);

    if (g_file_test(headers, G_FILE_TEST_IS_DIR)) {
        g_unlink(link);
        if (symlink(headers, link) < 0) {
            /* Then the build of the modules says that headers are missing. */
        }
    }
}

/* Unpacks @packages into @dir. */
static bool unpack(char *const *packages, const char *dir, GError **error)
{
    for (; *packages; packages++) {
        const char *const argv[] = {"dpkg-deb", "-x", *packages, dir, NULL};

        if (!run(argv, error)) {
            return false;
        }
    }
    return true;
}

static bool use_packages(char *const *packages, const ImgNotes *notes,
                         NttKernel *kernel, GError **error)
{
    g_autofree char *key = packages_key(packages, error);
    g_autofree char *dir = key ? cache_dir(key) : NULL;
    g_autofree char *release = NULL;

    if (!dir) {
        return false;
    }
    g_mkdir_with_parents(dir, 0700);
    if (!unpack(packages, dir, error)) {
        return false;
    }
    release = find_release(dir, error);
    if (!release) {
        return false;
    }
    use_headers(dir, release);
    {
        /* A package's list of modules is made when it is installed. */
        const char *const argv[] = {"depmod", "-b", dir, release, NULL};

        if (!run(argv, error)) {
            return false;
        }
    }
    kernel->image.file = g_strdup_printf("%s/boot/vmlinuz-%s", dir, release);
    kernel->image.modules = g_steal_pointer(&dir);
    img_tell(notes,
             "the kernel is %s of the package; its NTB modules are its "
             "own, or are built for it if it has none",
             release);
    return true;
}

/* ---- Trees -------------------------------------------------------------- */

static bool use_tree(const NttKernelWords *words, const ImgNotes *notes,
                     NttKernel *kernel, GError **error)
{
    g_autofree char *drivers = NULL;
    g_autofree char *built = NULL;
    g_autofree char *image = NULL;

    kernel->tree = realpath(words->tree, NULL);
    drivers = kernel->tree
                  ? g_build_filename(kernel->tree, "drivers", "ntb", NULL)
                  : NULL;
    if (!drivers || !g_file_test(drivers, G_FILE_TEST_IS_DIR)) {
        return topo_refuse_option(
            error,
            "--kernel-tree: %s has no drivers/ntb; name the source "
            "of a kernel",
            words->tree);
    }
    built = g_build_filename(kernel->tree, "include", "config",
                             "kernel.release", NULL);
    image =
        g_build_filename(kernel->tree, "arch", "x86", "boot", "bzImage", NULL);
    if (!words->series && !words->packages &&
        g_file_test(built, G_FILE_TEST_EXISTS) &&
        g_file_test(image, G_FILE_TEST_EXISTS)) {
        kernel->image.file = g_steal_pointer(&image);
        kernel->image.modules = g_strdup(kernel->tree);
        img_tell(notes,
                 "%s was built: its kernel and its modules are used, "
                 "and nothing of it is built again",
                 kernel->tree);
    } else {
        kernel->image.source = g_strdup(kernel->tree);
        img_tell(notes,
                 "of %s, " NTB_PARTS
                 " are built, for %s kernel; the rest of the tree is not used",
                 kernel->tree,
                 words->packages ? "the package's"
                 : words->series ? "the installed"
                                 : "the usual");
    }
    return true;
}

/* The machines boot the image with the kernel, which need not be there yet. */
static bool use_image(NttKernel *kernel, GError **error)
{
    g_autofree char *image = NULL;

    if (!kernel->has_image) {
        return true;
    }
    image = img_make(&kernel->image, NULL, error);
    if (image) {
        add_key(kernel, "image", image);
    }
    return !!image;
}

bool ntt_kernel_make(const NttKernel *kernel, const ImgNotes *notes,
                     GError **error)
{
    g_autofree char *image =
        kernel->has_image ? img_make(&kernel->image, notes, error) : NULL;

    return image || !kernel->has_image;
}

/* True if @word is two numbers with a dot between them. */
static bool is_series(const char *word)
{
    return g_regex_match_simple("^[0-9]+\\.[0-9]+\\z", word, 0, 0);
}

bool ntt_kernel_find(const NttKernelWords *words, const ImgNotes *notes,
                     NttKernel *ret_kernel, GError **error)
{
    bool has_packages = words->packages && *words->packages;

    *ret_kernel = (NttKernel){.keys = g_ptr_array_new_with_free_func(g_free)};
    g_mutex_init(&ret_kernel->lock);
    if (!!words->series + has_packages + words->debug > 1) {
        return topo_refuse_option(
            error, "--kernel, --kernel-package and --debug each name "
                   "a kernel; leave all but one out");
    }
    if (words->series && !is_series(words->series)) {
        return topo_refuse_option(error,
                                  "--kernel: '%s' is not a series of kernels, "
                                  "such as 6.12",
                                  words->series);
    }
    if (words->debug && words->tree) {
        return topo_refuse_option(
            error, "--kernel-tree does not go with --debug: build the "
                   "debug kernel of the tree, and name its folder");
    }
    ret_kernel->image.series = g_strdup(words->series);
    ret_kernel->has_image = words->series || has_packages || words->tree;
    if (words->debug) {
        add_key(ret_kernel, "kernel", "debug");
        add_key(ret_kernel, "memory", "768MiB");
    }
    return (!has_packages ||
            use_packages(words->packages, notes, ret_kernel, error)) &&
           (!words->tree || use_tree(words, notes, ret_kernel, error)) &&
           use_image(ret_kernel, error);
}

void ntt_kernel_clear(NttKernel *kernel)
{
    g_clear_pointer(&kernel->keys, g_ptr_array_unref);
    g_clear_pointer(&kernel->image.series, g_free);
    g_clear_pointer(&kernel->image.file, g_free);
    g_clear_pointer(&kernel->image.modules, g_free);
    g_clear_pointer(&kernel->image.source, g_free);
    g_clear_pointer(&kernel->tree, g_free);
    g_mutex_clear(&kernel->lock);
}

/* ---- ntb_test.sh -------------------------------------------------------- */

/* Unpacks the script of Debian's source @archive into @dir. */
static bool unpack_test(const char *archive, const char *series,
                        const char *dir, const char *file, GError **error)
{
    g_autofree char *member =
        g_strdup_printf("linux-source-%s/" TEST_PATH, series);
    g_autofree char *last = g_strdup_printf("%s/ntb_test.sh", dir);
    const char *const argv[] = {
        "tar", "-C",    dir,    "--transform", "s|.*/||", "--occurrence=1",
        "-xf", archive, member, NULL};

    g_mkdir_with_parents(dir, 0700);
    if (!run(argv, error)) {
        return false;
    }
    if (g_rename(last, file) < 0) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED, "%s cannot be written",
                    file);
        return false;
    }
    return true;
}

/* True if @file is there, and is not older than @archive. */
static bool is_fresh(const char *file, const char *archive)
{
    GStatBuf mine, its;

    /* tar gives the script the time that it has in the archive, and the change
     * of its state the time of unpacking. */
    return g_stat(file, &mine) == 0 && g_stat(archive, &its) == 0 &&
           mine.st_ctime >= its.st_mtime;
}

/* The script of Debian's source of the kernel @release */
static char *packaged_test(const char *release, GError **error)
{
    unsigned series = ntt_series(release);
    g_autofree char *word =
        g_strdup_printf("%u.%u", series / 1000, series % 1000);
    g_autofree char *archive =
        g_strdup_printf("/usr/src/linux-source-%s.tar.xz", word);
    g_autofree char *dir = cache_dir(archive);
    g_autofree char *file = g_build_filename(dir, "test", NULL);

    if (!g_file_test(archive, G_FILE_TEST_EXISTS)) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                    "there is no " TEST_PATH " for Linux %s: install "
                    "linux-source-%s, or name a tree by --kernel-tree",
                    release, word);
        return NULL;
    }
    if (!is_fresh(file, archive) &&
        !unpack_test(archive, word, dir, file, error)) {
        return NULL;
    }
    return g_steal_pointer(&file);
}

char *ntt_kernel_test(NttKernel *kernel, const char *release, GError **error)
{
    char *file;

    if (kernel->tree) {
        file = g_build_filename(kernel->tree, TEST_PATH, NULL);
        if (g_file_test(file, G_FILE_TEST_IS_REGULAR)) {
            return file;
        }
        g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                    "%s does not exist; a whole source of a kernel has it",
                    file);
        g_free(file);
        return NULL;
    }
    g_mutex_lock(&kernel->lock);
    file = packaged_test(release, error);
    g_mutex_unlock(&kernel->lock);
    return file;
}
