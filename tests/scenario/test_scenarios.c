/* SPDX-License-Identifier: MIT */
/*
 * Invariants: every description in scenarios/ passes `farside check`. The
 * scenario of each file in results/baseline/ gives the same rows as that file,
 * digit by digit. It runs with two threads; test_cmd_run shows that their
 * number changes no byte.
 *
 * FARSIDE is the program, FARSIDE_SOURCE the top of the source tree.
 */
#include <check.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"

#define BASELINE     "results/baseline"
#define N_CHECK_MIN  9 /* fewer files: the test does not find them */
#define N_BASE_MIN   8
#define SECONDS_MOST 300

/* Scenarios that take long: the test runs only their first points. */
static const struct {
    const char *name, *limit;
} long_files[] = {
    {"fig10.csv", "transfer=1MiB"},
    {"fig12.csv", "transfer=1MiB"},
    {"fig16.csv", "transfer=1MiB"},
    {"devmem-pairs.csv", "pairs=1"},
    {"compared-move.csv", "reads=32"},
    {"compared-api-bulk.csv", "connections=1"},
};

static const char *source_root(void)
{
    const char *root = g_getenv("FARSIDE_SOURCE");

    return root ? root : ".";
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Adds the files below @folder of the source tree whose names end in @suffix.
 * Leaves out profiles of parts, which are not complete descriptions. */
static void list_files(GPtrArray *names, const char *folder, const char *suffix)
{
    g_autofree char *path = g_build_filename(source_root(), folder, NULL);
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *inner = g_build_filename(folder, name, NULL);
        g_autofree char *full = g_build_filename(path, name, NULL);

        if (g_file_test(full, G_FILE_TEST_IS_DIR)) {
            if (strcmp(name, "parts") != 0) {
                list_files(names, inner, suffix);
            }
        } else if (g_str_has_suffix(name, suffix)) {
            g_ptr_array_add(names, g_steal_pointer(&inner));
        }
    }
}

static GPtrArray *find_files(const char *folder, const char *suffix)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);

    list_files(names, folder, suffix);
    g_ptr_array_sort(names, compare_names);
    return names;
}

/* Runs farside with the arguments @words (NULL-terminated) at the top of the
 * source tree. */
static void run_farside(const char *const *words)
{
    g_autoptr(GPtrArray) argv = g_ptr_array_new();
    g_autofree char *out = NULL, *err = NULL;
    g_autoptr(GError) error = NULL;
    int status;

    g_ptr_array_add(argv, (char *)g_getenv("FARSIDE"));
    ck_assert_ptr_nonnull(argv->pdata[0]);
    for (; *words; words++) {
        g_ptr_array_add(argv, (char *)*words);
    }
    g_ptr_array_add(argv, NULL);
    ck_assert(g_spawn_sync(source_root(), (char **)argv->pdata, NULL,
                           G_SPAWN_DEFAULT, NULL, NULL, &out, &err, &status,
                           &error));
    ck_assert_msg(g_spawn_check_wait_status(status, NULL), "%s%s", out, err);
}

static char *read_file(const char *folder, const char *name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    char *text = NULL;

    ck_assert_msg(g_file_get_contents(path, &text, NULL, NULL), "no %s", path);
    return text;
}

/* The lines of @text after its head: column names and rows. */
static GPtrArray *rows_of(char *text)
{
    GPtrArray *rows = g_ptr_array_new();
    char *line;

    while ((line = strsep(&text, "\n"))) {
        if (*line != '#' && *line != '\0') {
            g_ptr_array_add(rows, line);
        }
    }
    return rows;
}

static char *scenario_of(const char *text)
{
    static const char key[] = "# scenario: ";
    const char *begin = strstr(text, key);

    ck_assert_ptr_nonnull(begin);
    begin += strlen(key);
    return g_strndup(begin, strcspn(begin, "\n"));
}

/* NULL: the test runs all points of the scenario of the baseline @name. */
static const char *limit_of(const char *name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(long_files); i++) {
        if (strcmp(long_files[i].name, name) == 0) {
            return long_files[i].limit;
        }
    }
    return NULL;
}

/* Returns the CSV that running @scenario writes; @limit is nullable. */
static char *run_scenario(const char *scenario, const char *name,
                          const char *limit)
{
    g_autofree char *folder = g_dir_make_tmp("farside-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, name, NULL);
    const char *words[] = {"run",     scenario,    "-o",
                           folder,    "-j",        "2",
                           "--quiet", "--no-plot", limit ? "--limit" : NULL,
                           limit,     NULL};
    char *text;

    ck_assert_ptr_nonnull(folder);
    run_farside(words);
    text = read_file(folder, name);
    ck_assert_int_eq(g_unlink(path), 0);
    ck_assert_int_eq(g_rmdir(folder), 0);
    return text;
}

/* Checks that the lines @few are also in @all, in the same order; among them
 * the first line (the column names) and at least one more. */
static void check_rows(const GPtrArray *few, const GPtrArray *all, bool is_long)
{
    unsigned next = 0;

    ck_assert_uint_gt(few->len, 1);
    if (!is_long) {
        ck_assert_uint_eq(few->len, all->len);
    }
    ck_assert_str_eq(few->pdata[0], all->pdata[0]);
    for (unsigned i = 0; i < few->len; i++) {
        while (next < all->len &&
               strcmp(few->pdata[i], all->pdata[next]) != 0) {
            ck_assert_msg(is_long, "%s is now %s", (char *)all->pdata[next],
                          (char *)few->pdata[i]);
            next++;
        }
        ck_assert_msg(next < all->len, "not in the baseline: %s",
                      (char *)few->pdata[i]);
        next++;
    }
}

START_TEST(same_rows_as_the_baseline)
{
    g_autoptr(GPtrArray) names = find_files(BASELINE, ".csv");
    g_autofree char *name = g_path_get_basename(names->pdata[_i]);
    const char *limit = limit_of(name);
    g_autofree char *baseline = read_file(source_root(), names->pdata[_i]);
    g_autofree char *scenario = scenario_of(baseline);
    g_autofree char *fresh = run_scenario(scenario, name, limit);
    g_autoptr(GPtrArray) all = rows_of(baseline), few = rows_of(fresh);

    check_rows(few, all, limit);
}
END_TEST

START_TEST(description_passes_check)
{
    g_autoptr(GPtrArray) names = find_files("scenarios", ".yaml");
    const char *words[] = {"check", names->pdata[_i], NULL};

    run_farside(words);
}
END_TEST

START_TEST(all_files_are_found)
{
    g_autoptr(GPtrArray) scenarios = find_files("scenarios", ".yaml");
    g_autoptr(GPtrArray) baselines = find_files(BASELINE, ".csv");

    ck_assert_uint_ge(scenarios->len, N_CHECK_MIN);
    ck_assert_uint_ge(baselines->len, N_BASE_MIN);
}
END_TEST

int main(void)
{
    g_autoptr(GPtrArray) scenarios = find_files("scenarios", ".yaml");
    g_autoptr(GPtrArray) baselines = find_files(BASELINE, ".csv");
    Suite *suite = suite_create("scenarios");
    TCase *tcase = tcase_create("scenarios");

    tcase_set_timeout(tcase, SECONDS_MOST);
    tcase_add_test(tcase, all_files_are_found);
    tcase_add_loop_test(tcase, description_passes_check, 0,
                        (int)scenarios->len);
    tcase_add_loop_test(tcase, same_rows_as_the_baseline, 0,
                        (int)baselines->len);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
