/* SPDX-License-Identifier: MIT */
#ifndef TOPO_PLAN_H
#define TOPO_PLAN_H

#include "topo_description.h"

/*
 * One point of a sweep: a variant and one value of each axis. To simulate
 * it, load the file again with `changes`.
 */
typedef struct TopoPoint {
    unsigned index;               /* index in the plan */
    const TopoVariant *variant;   /* NULL if the description has none */
    unsigned n_values;            /* number of axes */
    const TopoAxisValue **values; /* one for each axis */
    char *label; /* such as "Loc, transfer=4KiB"; empty without variants and
                    axes */
    GPtrArray *changes; /* of TopoChange: those of the description, then the
                           variant's, then the axes' */
} TopoPoint;

/*
 * Makes the points of the plan. Variants are the outermost loop, then follow
 * the axes in the order of the file; the last one changes fastest. A
 * description without variants and axes has one point. Returns an array of
 * TopoPoint, which owns them. They borrow from @description, which must
 * outlive the array. Returns NULL and adds an error to @errors if there are
 * more than TOPO_PLAN_MAX points, or if a change of the command line has no
 * effect on a point, because its variant or an axis makes it as well.
 */
GPtrArray *topo_plan_points(const TopoDescription *description,
                            TopoErrors *errors);

/* The same without the check of changes, for a caller that leaves points out
 * and then checks the changes for the others, @points. */
GPtrArray *topo_plan_all_points(const TopoDescription *description,
                                TopoErrors *errors);
bool topo_plan_check_changes(const TopoDescription *description,
                             const GPtrArray *points, TopoErrors *errors);

/* Returns how large @description is, which has a plan, such as "2 hosts, 1
 * link, 3 flows, 9 points"; to be freed. */
char *topo_plan_size_text(const TopoDescription *description);

#define TOPO_PLAN_MAX 1000000

/* The changes of the variant @name, and @changes behind them; NULL if there is
 * no such variant. */
GPtrArray *topo_plan_variant(const TopoDescription *description,
                             const char *name, const GPtrArray *changes);

#endif
