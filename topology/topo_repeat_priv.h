/* SPDX-License-Identifier: MIT */
#ifndef TOPO_REPEAT_PRIV_H
#define TOPO_REPEAT_PRIV_H

#include "topo_node_priv.h"

/*
 * Returns @node (owned by the function from then on) with every list member
 * that has `repeat:` replaced by its copies. Expressions in braces are replaced
 * by their values. A copy keeps the place of its original. On errors returns
 * NULL and adds them to @errors.
 */
TopoNode *topo_repeat_expand(TopoNode *node, TopoErrors *errors);

#endif
