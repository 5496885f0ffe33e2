/* SPDX-License-Identifier: MIT */
/*
 * Invariant: each file under bad/ is refused with exactly the errors that its
 * head expects, sorted by place: "# expect: LINE:COLUMN: message" for the file
 * itself, "# expect: FILE:LINE:COLUMN: message" for another.
 */
#include "topo_test.h"
#include "../suite.h"

#define BAD_DIR     TEST_FILE("tests/unit/bad")
#define EXPECT      "# expect: "
#define N_FILES_MIN 70 /* fewer: the test does not find the files */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static GPtrArray *list_files(void)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    GDir *dir = g_dir_open(BAD_DIR, 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
        if (g_str_has_suffix(name, ".yaml")) {
            g_ptr_array_add(names, g_strdup(name));
        }
    }
    g_clear_pointer(&dir, g_dir_close);
    g_ptr_array_sort(names, compare_names);
    return names;
}

/* Returns the messages in the head of the file, as the loader prints them. */
static char *read_expected(const char *name, const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    GString *out = g_string_new(NULL);
    unsigned i;

    for (i = 0; lines[i]; i++) {
        if (g_str_has_prefix(lines[i], EXPECT)) {
            const char *rest = lines[i] + strlen(EXPECT);

            if (g_ascii_isdigit(*rest)) {
                g_string_append_printf(out, "%s:", name);
            }
            g_string_append_printf(out, "%s\n", rest);
        }
    }
    return g_string_free(out, FALSE);
}

START_TEST(bad_file_gives_the_expected_errors)
{
    g_autoptr(GPtrArray) names = list_files();
    const char *name = g_ptr_array_index(names, _i);
    g_autofree char *path = g_build_filename(BAD_DIR, name, NULL);
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autofree char *text = NULL;
    g_autofree char *expected = NULL;
    g_autofree char *messages = NULL;
    g_auto(GStrv) pieces = NULL;
    g_autofree char *got = NULL;

    ck_assert(g_file_get_contents(path, &text, NULL, NULL));
    expected = read_expected(name, text);
    ck_assert_str_ne(expected, "");
    ck_assert_ptr_null(topo_load(path, NULL, errors));
    messages = topo_errors_to_string(errors);
    pieces = g_strsplit(messages, BAD_DIR "/", -1);
    got = g_strjoinv("", pieces);
    {
        /* A message that names the folder itself has no slash behind it. */
        g_auto(GStrv) rest = g_strsplit(got, BAD_DIR, -1);
        g_autofree char *relative = g_strjoinv(".", rest);

        ck_assert_str_eq(relative, expected);
    }
}
END_TEST

START_TEST(all_files_are_found)
{
    g_autoptr(GPtrArray) names = list_files();

    ck_assert_uint_ge(names->len, N_FILES_MIN);
}
END_TEST

int main(void)
{
    g_autoptr(GPtrArray) names = list_files();
    Suite *suite = suite_create("bad descriptions");
    TCase *tcase = tcase_create("bad");

    tcase_add_test(tcase, all_files_are_found);
    tcase_add_loop_test(tcase, bad_file_gives_the_expected_errors, 0,
                        (int)names->len);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
