/* SPDX-License-Identifier: MIT */
#ifndef FAB_ENUMERATE_H
#define FAB_ENUMERATE_H

#include "fab_fabric.h"

/*
 * Writes the result of enumeration as text. All functions are valid after
 * realize, append to @out, and write the same bytes for the same fabric.
 */

typedef enum FabTreeFlags {
    FAB_TREE_SHORT = 0,
    FAB_TREE_LONG = 0x1, /* a paragraph a function follows the tree */
} FabTreeFlags;

/*
 * The hierarchy of @root, drawn as by `lspci -tv`: devices, functions, names
 * and the buses below each bridge. The domain is the name of the host.
 */
void fab_write_tree(FabComponent *root, FabTreeFlags flags, GString *out);

#endif
