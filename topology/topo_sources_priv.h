/* SPDX-License-Identifier: MIT */
#ifndef TOPO_SOURCES_PRIV_H
#define TOPO_SOURCES_PRIV_H

#include "topo_node_priv.h"
#include "topo_sources.h"

/* One file. It lives as long as the sources, and never changes. */
typedef struct TopoSource {
    char *text;
    size_t length;
    TopoNode *tree; /* of a profile, after `repeat:`; NULL: not parsed yet, or
                       it has errors */
    void *made;     /* see topo_sources_keep(); NULL: nothing yet */
    GDestroyNotify free_made;
} TopoSource;

/* Returns the file @path as it was when it was first asked for. NULL with
 * @error if it cannot be read; it is then tried again the next time. */
const TopoSource *topo_sources_get(TopoSources *sources, const char *path,
                                   GError **error);

/* Returns whether @path is a file that was read, or that can be. */
bool topo_sources_has(TopoSources *sources, const char *path);

/* Returns what topo_sources_keep() has kept for the file @path; NULL if that is
 * nothing. It belongs to @sources. */
void *topo_sources_kept(TopoSources *sources, const char *path);

/* Keeps @made as long as @sources live; @free frees it then. It must depend on
 * nothing but the file @path, which was read, and other files of @sources.
 * Returns false if another thread was faster: @made stays the caller's. */
bool topo_sources_keep(TopoSources *sources, const char *path, void *made,
                       GDestroyNotify free);

/* Like topo_sources_get(), of a file with a profile. Its `tree` is NULL if it
 * has errors, which are added to @errors each time. */
const TopoSource *topo_sources_get_tree(TopoSources *sources, const char *path,
                                        TopoErrors *errors, GError **error);

#endif
