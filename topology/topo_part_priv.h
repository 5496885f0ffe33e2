/* SPDX-License-Identifier: MIT */
#ifndef TOPO_PART_PRIV_H
#define TOPO_PART_PRIV_H

#include "topo_reader_priv.h"

/* Makes a part from a copy of @values. @where is the place of the profile.
 * Errors, such as missing keys or values that do not fit together, are reported
 * at @place with @user as the element's name; the result is then NULL. */
TopoPart *topo_part_new(const char *name, TopoPartKind kind, TopoPlace where,
                        const TopoValues *values, const char *user,
                        TopoPlace place, TopoErrors *errors);

/* Sets the text that topo_part_description() returns, and the array that
 * topo_part_fitted() returns. Both are borrowed; @description is
 * nullable. */
void topo_part_describe(TopoPart *part, const char *description,
                        const GPtrArray *fitted);

/* Frees @part (nullable). */
void topo_part_free(TopoPart *part);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TopoPart, topo_part_free)

/* Returns the index of the root port called @name; -1 if there is none. */
int topo_part_find_root_port(const TopoPart *part, const char *name);

#endif
