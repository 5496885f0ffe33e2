/* SPDX-License-Identifier: MIT */
#ifndef TOPO_CHANGE_PRIV_H
#define TOPO_CHANGE_PRIV_H

#include "topo_change.h"
#include "topo_node_priv.h"

/* Makes a change of a copy of @value; @place is that of the path. */
TopoChange *topo_change_new(const char *path, const TopoNode *value,
                            TopoPlace place);

/* Returns whether @change is applied before `repeat:` is expanded: it names a
 * `repeat:` or an element in one. */
bool topo_change_is_early(const TopoChange *change);

/* Applies @change to @root, the tree of a description. @parts_dir (nullable)
 * tells which parts there are. Reports a path that leads nowhere. */
void topo_change_apply(const TopoChange *change, TopoNode *root,
                       const char *parts_dir, TopoErrors *errors);

/* Reports a path that leads nowhere, and leaves the tree alone. */
void topo_change_check(const TopoChange *change, const TopoNode *root,
                       const char *parts_dir, TopoErrors *errors);

#endif
