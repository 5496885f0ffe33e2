/* SPDX-License-Identifier: MIT */
#ifndef FAB_ENUMERATE_H
#define FAB_ENUMERATE_H

#include "fab_fabric.h"

/*
 * Writes the result of enumeration as text.
 */

typedef enum FabTreeFlags {
    FAB_TREE_SHORT = 0,
    FAB_TREE_LONG = 0x1, /* a paragraph for each function follows the tree */
} FabTreeFlags;

/*
 * Appends the hierarchy of @root to @out, drawn like the output of `lspci -tv`:
 * devices, functions, names, and the buses below each bridge. The name of the
 * host stands in place of the domain. To be called after realize. The same
 * fabric gives the same bytes.
 */
void fab_write_tree(FabComponent *root, FabTreeFlags flags, GString *out);

#endif
