/* SPDX-License-Identifier: MIT */
#ifndef INV_TREE_H
#define INV_TREE_H

#include "topo_description.h"

/* Appends the tree of @functions (of TopoFunction, sorted by address) as `lspci
 * -t` prints it. A function is below the bridge with the fewest bus numbers
 * that include its own, in its domain. Bus 0000:00 is shown even if it is
 * empty. */
void inv_write_tree(const GPtrArray *functions, GString *out);

#endif
