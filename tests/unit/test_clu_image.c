/* SPDX-License-Identifier: MIT */
/*
 * The files of an image. Invariant: a qcow2 image (QEMU,
 * docs/interop/qcow2.txt) has its backing files, an image of another format has
 * none, and one whose data are not in files that can be found is refused.
 */
#include <string.h>

#include <check.h>
#include <glib/gstdio.h>

#include "clu_image.h"
#include "../suite.h"

static char *folder;

static void setup(void)
{
    folder = g_dir_make_tmp("farside-image-XXXXXX", NULL);
}

static void teardown(void)
{
    GDir *dir = g_dir_open(folder, 0, NULL);
    const char *name;

    while ((name = g_dir_read_name(dir))) {
        g_autofree char *path = g_build_filename(folder, name, NULL);

        g_unlink(path);
    }
    g_dir_close(dir);
    g_rmdir(folder);
    g_free(folder);
}

static char *place(const char *name)
{
    return g_build_filename(folder, name, NULL);
}

static void put_32(uint8_t *at, uint32_t value)
{
    value = GUINT32_TO_BE(value);
    memcpy(at, &value, sizeof(value));
}

#define IMAGE_BYTES  65536
#define NAME_AT      1000
#define EXTENSION_AT 104

/* An image of @version with a backing file (nullable) of @format (nullable).
 * The extension of the format follows one that nobody knows. */
static void put_image(const char *file, uint32_t version, uint32_t incompatible,
                      const char *backing, const char *format)
{
    g_autofree uint8_t *bytes = g_malloc0(IMAGE_BYTES);
    g_autofree char *path = place(file);
    uint8_t *at = bytes + (version == 2 ? 72 : EXTENSION_AT);

    memcpy(bytes, "QFI\xfb", 4);
    put_32(bytes + 4, version);
    if (version == 3) {
        put_32(bytes + 76, incompatible);
        put_32(bytes + 100, EXTENSION_AT);
    }
    if (backing) {
        put_32(bytes + 12, NAME_AT);
        put_32(bytes + 16, (uint32_t)strlen(backing));
        memcpy(bytes + NAME_AT, backing, strlen(backing));
    }
    if (format) {
        put_32(at, 0x6803f857);
        put_32(at + 4, 3);
        at += 16;
        put_32(at, 0xe2792aca);
        put_32(at + 4, (uint32_t)strlen(format));
        memcpy(at + 8, format, strlen(format));
    }
    ck_assert(g_file_set_contents(path, (char *)bytes, IMAGE_BYTES, NULL));
}

/* @names are separated by blanks. */
static void check_files(const char *file, const char *names)
{
    g_autofree char *path = place(file);
    GError *error = NULL;
    g_autoptr(GPtrArray) files = clu_image_files(path, &error);
    g_auto(GStrv) words = g_strsplit(names, " ", -1);

    ck_assert_msg(files, "%s", error ? error->message : "");
    ck_assert_uint_eq(files->len, g_strv_length(words));
    for (unsigned i = 0; i < files->len; i++) {
        g_autofree char *wanted = place(words[i]);

        ck_assert_str_eq(files->pdata[i], wanted);
    }
}

START_TEST(an_image_has_its_backing_files)
{
    g_autofree char *last = place("last");

    ck_assert(g_file_set_contents(last, "QFI", 3, NULL));
    put_image("alone.qcow2", 3, 0, NULL, NULL);
    check_files("alone.qcow2", "alone.qcow2");
    put_image("raw", 3, 0, "last", NULL); /* QEMU gets it as raw */
    check_files("raw", "raw");
    put_image("top.qcow2", 3, 0, "middle", "qcow2");
    put_image("middle", 2, 0, "low", NULL);
    put_image("low", 3, 0, last, "raw");
    check_files("top.qcow2", "top.qcow2 middle low last");
    /* A raw file has no backing file, whatever its bytes look like. */
    put_image("onto-raw.qcow2", 2, 0, "low", "raw");
    check_files("onto-raw.qcow2", "onto-raw.qcow2 low");
    /* QEMU finds out the format of a backing file that has no name of one. */
    put_image("probed.qcow2", 3, 0, "last", NULL);
    check_files("probed.qcow2", "probed.qcow2 last");
}
END_TEST

static void check_refused(const char *file, const char *reason)
{
    g_autofree char *path = place(file);
    GError *error = NULL;

    ck_assert_ptr_null(clu_image_files(path, &error));
    ck_assert_msg(strstr(error->message, reason), "%s", error->message);
    ck_assert_msg(strstr(error->message, folder), "%s", error->message);
    g_error_free(error);
}

START_TEST(what_cannot_be_found_is_refused)
{
    put_image("net.qcow2", 3, 0, "nbd:localhost:10809", NULL);
    check_refused("net.qcow2", "not named by a path");
    put_image("data.qcow2", 3, 4, NULL, NULL);
    check_refused("data.qcow2", "has its data in another file");
    put_image("vmdk.qcow2", 3, 0, "low", "vmdk");
    check_refused("vmdk.qcow2", "neither qcow2 nor raw");
    put_image("own.qcow2", 3, 0, "own.qcow2", "qcow2");
    check_refused("own.qcow2", "its own backing file");
    put_image("lost.qcow2", 3, 0, "nowhere", "qcow2");
    check_refused("lost.qcow2", "No such file");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("image");
    TCase *tcase = tcase_create("image");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, an_image_has_its_backing_files);
    tcase_add_test(tcase, what_cannot_be_found_is_refused);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
