/* SPDX-License-Identifier: MIT */
#ifndef TOPO_SOURCES_H
#define TOPO_SOURCES_H

#include <glib.h>

/*
 * The texts of the files that descriptions were made from. A file is read once,
 * so what is loaded later with the same sources does not see an edit meanwhile,
 * and profiles of parts are parsed once. Several threads may use one object.
 */
typedef struct TopoSources TopoSources;

TopoSources *topo_sources_new(void);
TopoSources *topo_sources_ref(TopoSources *sources);

/* Gives one reference back; @sources is nullable. */
void topo_sources_unref(TopoSources *sources);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TopoSources, topo_sources_unref)

#endif
