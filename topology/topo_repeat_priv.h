/* SPDX-License-Identifier: MIT */
#ifndef TOPO_REPEAT_PRIV_H
#define TOPO_REPEAT_PRIV_H

#include "topo_node_priv.h"

/*
 * Returns a copy of @node in which every list member with `repeat:` is
 * replaced by its copies. Expressions in braces are replaced by their
 * values. A copy keeps the place of its original. On errors returns NULL and
 * adds them to @errors.
 */
TopoNode *topo_repeat_expand(const TopoNode *node, TopoErrors *errors);

#endif
