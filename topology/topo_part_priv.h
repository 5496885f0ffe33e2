/* SPDX-License-Identifier: MIT */
#ifndef TOPO_PART_PRIV_H
#define TOPO_PART_PRIV_H

#include "topo_reader_priv.h"

/* Makes a part of @values, which it copies; reports, at @place, what @user
 * lacks, and what does not fit together. Returns NULL if it did. @where is
 * the place of the profile. */
TopoPart *topo_part_new(const char *name, TopoPartKind kind, TopoPlace where,
                        const TopoValues *values, const char *user,
                        TopoPlace place, TopoErrors *errors);

/* Says what topo_part_description() returns; @description (nullable) is
 * borrowed. */
void topo_part_describe(TopoPart *part, const char *description);

/* Frees @part (nullable). */
void topo_part_free(TopoPart *part);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TopoPart, topo_part_free)

/* The root port called @name; -1 if there is none. */
int topo_part_find_root_port(const TopoPart *part, const char *name);

#endif
