/* SPDX-License-Identifier: MIT */
#ifndef TOPO_HOME_H
#define TOPO_HOME_H

#include <stdbool.h>

#include <glib.h>

/*
 * The folders of Farside's files. They are found from the program or library
 * that runs, so an installation may be moved as a whole. A program in a
 * build folder uses the source tree.
 */
typedef struct TopoHome {
    bool is_installed;
    char *prefix;    /* installed: the prefix; else the build folder */
    char *data;      /* PREFIX/share/farside, or the source tree */
    char *scenarios; /* the scenarios; parts/ is in it */
} TopoHome;

/* Finds the files. Returns NULL if there are none above the folder of the
 * program or library that holds this function. The caller frees the result. */
TopoHome *topo_home_find(void);

/* The same for a program or library in the folder @dir. */
TopoHome *topo_home_find_above(const char *dir);

/* Frees @home (nullable). */
void topo_home_free(TopoHome *home);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TopoHome, topo_home_free)

/* Returns @file if it exists, or else the scenario of this name that came with
 * Farside, such as "paper/fig10/fig10.yaml", with or without "scenarios/"
 * before it. Returns a copy of @file if neither exists. The caller frees it. */
char *topo_home_resolve(const char *file);

/* The names of the scenarios that came with Farside, such as
 * "paper/fig10/fig10.yaml", in no order. */
GPtrArray *topo_home_scenarios(const TopoHome *home);

#endif
