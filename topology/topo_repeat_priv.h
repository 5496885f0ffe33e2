/* SPDX-License-Identifier: MIT */
#ifndef TOPO_REPEAT_PRIV_H
#define TOPO_REPEAT_PRIV_H

#include "topo_node_priv.h"

/*
 * A copy of @node in which every member of a list that has `repeat:` stands as
 * often as it says, with the expressions in braces in its texts replaced by
 * their values. Copies keep the place of their source. Returns NULL and
 * entries in @errors if anything is wrong.
 */
TopoNode *topo_repeat_expand(const TopoNode *node, TopoErrors *errors);

#endif
