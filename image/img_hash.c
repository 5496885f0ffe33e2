/* SPDX-License-Identifier: MIT */
#include "img_hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clu_error.h"
#include "clu_image.h"

char *img_hash_file(const char *file, GError **error)
{
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    g_autofree uint8_t *buffer = g_malloc(1 << 20);
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    ssize_t n = -1;

    while (fd >= 0 && (n = read(fd, buffer, 1 << 20)) > 0) {
        g_checksum_update(sum, buffer, n);
    }
    if (n < 0) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED, "%s: %s", file,
                    g_strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
    return n == 0 ? g_strdup(g_checksum_get_string(sum)) : NULL;
}

/* Adds the SHA-256 of @file as "NAME HASH". */
static bool add_hash(CluTimedScript *head, const char *name, const char *file,
                     GError **error)
{
    g_autofree char *hash = img_hash_file(file, error);

    if (hash) {
        clu_timed_script_add(head, name, hash);
    }
    return hash;
}

/* The object that the loader @plugin loads lies beside it. */
static bool add_objects(CluTimedScript *head, const char *plugin,
                        const char *object, GError **error)
{
    g_autofree char *dir = g_path_get_dirname(plugin);
    g_autofree char *file = g_build_filename(dir, object, NULL);
    g_autofree char *loader = g_strconcat("loader-", object, NULL);

    return add_hash(head, loader, plugin, error) &&
           add_hash(head, object, file, error);
}

/* All files of the image of @device, which the user has named. */
static bool add_image(CluTimedScript *head, const CluPlanDevice *device,
                      GError **error)
{
    g_autoptr(GPtrArray) files = clu_image_files(device->name, error);

    for (unsigned i = 0; files && i < files->len; i++) {
        g_autofree char *name =
            i == 0 ? g_strconcat("disk-", device->device->path, NULL)
                   : g_strdup_printf("backing-%u-of-disk-%s", i,
                                     device->device->path);

        if (!add_hash(head, name, files->pdata[i], error)) {
            return false;
        }
    }
    return files;
}

static bool add_host(CluTimedScript *head, const CluPlanHost *host,
                     const CluPaths *paths, GError **error)
{
    g_autofree char *kernel = g_strconcat("kernel-of-", host->host->name, NULL);
    g_autofree char *initrd =
        g_strconcat("initramfs-of-", host->host->name, NULL);

    if (!add_hash(head, kernel, paths->kernel, error) ||
        !add_hash(head, initrd, paths->initrd, error)) {
        return false;
    }
    for (unsigned i = 0; i < host->devices->len; i++) {
        const CluPlanDevice *device = host->devices->pdata[i];

        if (device->backend == CLU_BACKEND_FILE &&
            !add_image(head, device, error)) {
            return false;
        }
    }
    return true;
}

/* The programs that make the course of a run. */
static bool add_programs(CluTimedScript *head, const CluPaths *paths,
                         const char *timed, GError **error)
{
    return add_hash(head, "farside", "/proc/self/exe", error) &&
           add_hash(head, "qemu", paths->qemu, error) &&
           add_objects(head, paths->plugin, "farside-devices.so", error) &&
           add_objects(head, timed, "farside-timed.so", error);
}

static char *hash_programs(const CluPaths *paths, const char *timed,
                           GError **error)
{
    g_autoptr(CluTimedScript) head = clu_timed_script_new();
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);

    if (!add_programs(head, paths, timed, error)) {
        return NULL;
    }
    for (unsigned i = 0; i < head->values->len; i++) {
        g_checksum_update(sum, head->values->pdata[i], -1);
    }
    return g_strdup(g_checksum_get_string(sum));
}

/* Adds the hash of @file to @sum. Hosts have the same file mostly, and images
 * are large, so the hash is kept in @known. */
static bool add_file(GChecksum *sum, GHashTable *known, const char *file,
                     GError **error)
{
    const char *hash = g_hash_table_lookup(known, file);

    if (!hash) {
        char *made = img_hash_file(file, error);

        if (!made) {
            return false;
        }
        g_hash_table_insert(known, g_strdup(file), made);
        hash = made;
    }
    g_checksum_update(sum, (const guchar *)hash, -1);
    return true;
}

void img_hashes_clear(ImgHashes *hashes)
{
    g_clear_pointer(&hashes->programs, g_free);
    g_clear_pointer(&hashes->kernels, g_free);
    g_clear_pointer(&hashes->images, g_free);
}

bool img_hash(const CluPlan *plan, const ImgNotes *notes, ImgHashes *ret_hashes,
              TopoErrors *errors, GError **error)
{
    g_autoptr(GChecksum) kernels = g_checksum_new(G_CHECKSUM_SHA256);
    g_autoptr(GChecksum) images = g_checksum_new(G_CHECKSUM_SHA256);
    g_autoptr(GHashTable) known =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_autofree char *programs = NULL;
    g_autofree char *timed = NULL;
    ImgFiles *files = img_find(plan, notes, errors, error);
    bool is_good = files;

    for (unsigned i = 0; is_good && i < plan->hosts->len; i++) {
        is_good = add_file(kernels, known, files[i].kernel, error) &&
                  add_file(images, known, files[i].initrd, error);
    }
    timed = is_good ? img_find_timed(error) : NULL;
    if (timed) {
        /* They are the same for all hosts. */
        programs = hash_programs(
            &(CluPaths){.qemu = files[0].qemu, .plugin = files[0].plugin},
            timed, error);
    }
    is_good = programs;
    if (is_good) {
        ret_hashes->programs = g_steal_pointer(&programs);
        ret_hashes->kernels = g_strdup(g_checksum_get_string(kernels));
        ret_hashes->images = g_strdup(g_checksum_get_string(images));
    }
    img_files_free(files, plan->hosts->len);
    return is_good;
}

/* ---- The head of a log ------------------------------------------------- */

CluTimedScript *img_head(const CluPlan *plan, const CluPaths *paths,
                         const char *timed, char *const *sets, GError **error)
{
    g_autoptr(CluTimedScript) head = clu_timed_script_new();
    g_autofree char *file = realpath(plan->description->file, NULL);

    clu_timed_script_add(head, IMG_HEAD_FILE, file ? file : "");
    for (; sets && *sets; sets++) {
        clu_timed_script_add(head, IMG_HEAD_SET, *sets);
    }
    clu_timed_script_add(head, "hash-of-description", plan->description->hash);
    if (!add_programs(head, &paths[0], timed, error)) {
        return NULL;
    }
    for (unsigned i = 0; i < plan->hosts->len; i++) {
        if (!add_host(head, plan->hosts->pdata[i], &paths[i], error)) {
            return NULL;
        }
    }
    return g_steal_pointer(&head);
}

bool img_head_fits(const char *path, const CluTimedScript *its,
                   const CluTimedScript *mine, GError **error)
{
    for (unsigned i = 0; i < mine->names->len; i++) {
        const char *name = mine->names->pdata[i];
        const char *value = clu_timed_script_get(its, name);

        /* The changes belong to the hash of the description. */
        if (strcmp(name, IMG_HEAD_SET) == 0 ||
            strcmp(name, IMG_HEAD_FILE) == 0) {
            continue;
        }
        if (!value || strcmp(value, mine->values->pdata[i]) != 0) {
            g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                        "%s was recorded with another '%s' (SHA-256 %s) than "
                        "this one (%s), and would take another course; use "
                        "what it was recorded with",
                        path, name, value ? value : "missing",
                        (const char *)mine->values->pdata[i]);
            return false;
        }
    }
    return true;
}
