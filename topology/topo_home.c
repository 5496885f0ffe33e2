/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "topo_home.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

/* Folders above the program that are looked at: LIBDIR may be
 * lib/x86_64-linux-gnu, and tests are two folders below the build folder. */
#define LEVELS_MAX 5

/* meson writes this file into the build folder. It holds the path of the source
 * tree. */
#define BUILD_MARK "farside-source"

/* Returns the folder of the program or library that holds this function; NULL
 * if it cannot be found. The caller frees it. */
static char *own_folder(void)
{
    struct link_map *map = NULL;
    Dl_info info;
    char *path = NULL;
    char *dir;

    if (dladdr1((void *)topo_home_find, &info, (void **)&map,
                RTLD_DL_LINKMAP) != 0 &&
        map && map->l_name && *map->l_name != '\0') {
        path = realpath(map->l_name, NULL);
    } else {
        /* The name of the program itself is empty there. */
        path = realpath("/proc/self/exe", NULL);
    }
    if (!path) {
        return NULL;
    }
    dir = g_path_get_dirname(path);
    free(path);
    return dir;
}

static TopoHome *home_new(bool is_installed, const char *prefix, char *data)
{
    TopoHome *home = g_new0(TopoHome, 1);

    home->is_installed = is_installed;
    home->prefix = g_strdup(prefix);
    home->data = data;
    home->scenarios = g_build_filename(data, "scenarios", NULL);
    return home;
}

TopoHome *topo_home_find_above(const char *dir)
{
    g_autofree char *at = g_strdup(dir);

    for (unsigned level = 0; level < LEVELS_MAX; level++) {
        g_autofree char *data = g_build_filename(at, "share", "farside", NULL);
        g_autofree char *parts =
            g_build_filename(data, "scenarios", "parts", NULL);
        g_autofree char *mark = g_build_filename(at, BUILD_MARK, NULL);
        char *source = NULL;
        char *above;

        if (g_file_test(parts, G_FILE_TEST_IS_DIR)) {
            return home_new(true, at, g_steal_pointer(&data));
        }
        if (g_file_get_contents(mark, &source, NULL, NULL)) {
            return home_new(false, at, g_strchomp(source));
        }
        above = g_path_get_dirname(at);
        g_free(at);
        at = above;
    }
    return NULL;
}

TopoHome *topo_home_find(void)
{
    g_autofree char *dir = own_folder();

    return dir ? topo_home_find_above(dir) : NULL;
}

void topo_home_free(TopoHome *home)
{
    if (!home) {
        return;
    }
    g_free(home->prefix);
    g_free(home->data);
    g_free(home->scenarios);
    g_free(home);
}

char *topo_home_resolve(const char *file)
{
    const char *name = file;
    g_autofree char *path = NULL;
    g_autoptr(TopoHome) home = NULL;

    if (g_path_is_absolute(file) || g_file_test(file, G_FILE_TEST_EXISTS)) {
        return g_strdup(file);
    }
    home = topo_home_find();
    if (home) {
        if (g_str_has_prefix(name, "scenarios/")) {
            name += strlen("scenarios/");
        }
        path = g_build_filename(home->scenarios, name, NULL);
        if (g_file_test(path, G_FILE_TEST_IS_REGULAR)) {
            return g_steal_pointer(&path);
        }
    }
    return g_strdup(file);
}

/* Adds the scenarios below @folder, by their names in @root. */
static void add_scenarios(const char *root, const char *folder,
                          GPtrArray *names)
{
    g_autofree char *path = g_build_filename(root, folder, NULL);
    GDir *dir = g_dir_open(path, 0, NULL);
    const char *entry;

    while (dir && (entry = g_dir_read_name(dir))) {
        char *name =
            *folder ? g_build_filename(folder, entry, NULL) : g_strdup(entry);
        g_autofree char *full = g_build_filename(root, name, NULL);
        bool is_folder = g_file_test(full, G_FILE_TEST_IS_DIR);

        if (is_folder && strcmp(name, "parts") != 0) {
            add_scenarios(root, name, names);
        }
        if (!is_folder && g_str_has_suffix(name, ".yaml")) {
            g_ptr_array_add(names, name);
        } else {
            g_free(name);
        }
    }
    g_clear_pointer(&dir, g_dir_close);
}

GPtrArray *topo_home_scenarios(const TopoHome *home)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);

    add_scenarios(home->scenarios, "", names);
    return names;
}
