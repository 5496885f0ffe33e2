/* SPDX-License-Identifier: MIT */
#include "paper_files.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#define PAPER "scenarios/paper"

void paper_go_to_source(void)
{
    const char *root = g_getenv("FARSIDE_SOURCE");

    if (root && chdir(root) != 0) {
        g_error("cannot go to %s", root);
    }
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static gboolean has_baseline(const char *file)
{
    g_autofree char *name = g_path_get_basename(file);
    g_autofree char *stem = g_strndup(name, strlen(name) - strlen(".yaml"));
    g_autofree char *path =
        g_strconcat("results/baseline/", stem, ".csv", NULL);

    return g_file_test(path, G_FILE_TEST_IS_REGULAR);
}

static void list_folder(GPtrArray *files, const char *folder,
                        gboolean with_baseline)
{
    g_autofree char *path = g_build_filename(PAPER, folder, NULL);
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *file = g_build_filename(path, name, NULL);

        if (g_str_has_suffix(name, ".yaml") &&
            (!with_baseline || has_baseline(file))) {
            g_ptr_array_add(files, g_steal_pointer(&file));
        }
    }
}

GStrv paper_list(gboolean with_baseline)
{
    g_autoptr(GPtrArray) files = g_ptr_array_new();
    g_autoptr(GDir) dir = g_dir_open(PAPER, 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
        list_folder(files, name, with_baseline);
    }
    g_ptr_array_sort(files, compare_names);
    g_ptr_array_add(files, NULL);
    return (GStrv)g_ptr_array_free(g_steal_pointer(&files), FALSE);
}
