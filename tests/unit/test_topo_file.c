/* SPDX-License-Identifier: MIT */
/*
 * Invariant: a file or a pipe is read whole or not at all. The error says why,
 * and an endless file gives one, too.
 */
#include <check.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "topo_file.h"
#include "../suite.h"

#define MOST ((size_t)1 << 20)

/* Writes @length bytes to a file, which has no name after the test. */
static char *make_file(size_t length)
{
    g_autofree char *data = g_strnfill(length, 'x');
    char *path = NULL;
    int fd = g_file_open_tmp("farside-file-XXXXXX", &path, NULL);

    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert(g_file_set_contents(path, data, (gssize)length, NULL));
    return path;
}

START_TEST(files_up_to_the_limit_are_read)
{
    static const size_t lengths[] = {0, 1, 65536, 65537, MOST - 1, MOST};
    g_autofree char *path = make_file(lengths[_i]);
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;
    size_t length = 77;

    ck_assert(topo_file_read(path, MOST, &text, &length, &error));
    ck_assert_ptr_null(error);
    ck_assert_uint_eq(length, lengths[_i]);
    ck_assert_uint_eq(strlen(text), length);
    ck_assert_uint_eq(strspn(text, "x"), length);
    g_unlink(path);
}
END_TEST

START_TEST(pipes_are_read_to_their_end)
{
    g_autofree char *path = NULL, *text = NULL;
    size_t length;
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(write(ends[1], "one", 3), 3);
    ck_assert_int_eq(write(ends[1], "two", 3), 3);
    close(ends[1]);
    path = g_strdup_printf("/proc/self/fd/%d", ends[0]);
    text = topo_file_text(path, &length, NULL);
    ck_assert_str_eq(text, "onetwo");
    ck_assert_uint_eq(length, 6);
    close(ends[0]);
}
END_TEST

START_TEST(errors_say_why)
{
    static const struct {
        const char *path, *message;
    } bad[] = {
        {"/", "cannot be read: Is a directory"},
        {"/no/such/file", "cannot be read: No such file or directory"},
        {"/dev/null/file", "cannot be read: Not a directory"},
        {"/dev/zero", "has more than 1 MiB; name a smaller file"},
    };
    g_autofree char *path = make_file(MOST + 1);
    g_autoptr(GError) error = NULL, named = NULL;
    size_t length = 77;
    char *text = path;

    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        ck_assert(!topo_file_read(bad[i].path, MOST, &text, &length, &error));
        ck_assert_str_eq(error->message, bad[i].message);
        g_clear_error(&error);
    }
    ck_assert(!topo_file_read(path, MOST, &text, &length, &error));
    ck_assert_str_eq(error->message, bad[3].message);
    ck_assert_ptr_eq(text, path); /* untouched */
    ck_assert_uint_eq(length, 77);
    g_unlink(path);
    ck_assert_ptr_null(topo_file_text("/no/file", &length, &named));
    ck_assert_str_eq(named->message,
                     "/no/file: cannot be read: No such file or directory");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("topo_file");
    TCase *tcase = tcase_create("read");

    tcase_add_loop_test(tcase, files_up_to_the_limit_are_read, 0, 6);
    tcase_add_test(tcase, pipes_are_read_to_their_end);
    tcase_add_test(tcase, errors_say_why);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
