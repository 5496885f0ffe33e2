/* SPDX-License-Identifier: MIT */
#ifndef TOPO_CHANGE_PRIV_H
#define TOPO_CHANGE_PRIV_H

#include "topo_change.h"
#include "topo_node_priv.h"
#include "topo_sources.h"

/* Makes a change of @path to a copy of @value. @place is where the path was
 * written. */
TopoChange *topo_change_new(const char *path, const TopoNode *value,
                            TopoPlace place);

/* Returns whether @change must be applied before `repeat:` is expanded: its
 * path has the word `repeat`, an expression in braces, or only one word. */
bool topo_change_is_early(const TopoChange *change);

/* Applies @change to @root, the tree of a description. @parts_dir (nullable) is
 * the directory of parts, from whose files @sources has some. Reports a path
 * that leads nowhere. */
void topo_change_apply(const TopoChange *change, TopoNode *root,
                       const char *parts_dir, TopoSources *sources,
                       TopoErrors *errors);

/* Reports a path that leads nowhere. Does not change the tree. */
void topo_change_check(const TopoChange *change, const TopoNode *root,
                       const char *parts_dir, TopoSources *sources,
                       TopoErrors *errors);

#endif
