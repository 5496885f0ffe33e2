/* SPDX-License-Identifier: MIT */
#ifndef TOPO_PLAN_H
#define TOPO_PLAN_H

#include "topo_description.h"

/*
 * One point of a sweep: a variant and a value of each axis. To simulate it,
 * load the file again with `changes`.
 */
typedef struct TopoPoint {
    unsigned index;               /* in the plan */
    const TopoVariant *variant;   /* NULL if the description has none */
    unsigned n_values;            /* number of axes */
    const TopoAxisValue **values; /* by axis */
    char *label;        /* "Loc, transfer=4KiB"; empty if there is nothing */
    GPtrArray *changes; /* of TopoChange: those the description was loaded
                           with, the variant's, the axes' */
} TopoPoint;

/*
 * The points of the plan in order: variants are the outermost loop, then axes
 * in the order of the file, the last one fastest. A description with neither
 * has one point. Returns an array of TopoPoint that owns them and borrows from
 * @description, which must outlive it; NULL and an entry in @errors if there
 * are more than TOPO_PLAN_MAX.
 */
GPtrArray *topo_plan_points(const TopoDescription *description,
                            TopoErrors *errors);

#define TOPO_PLAN_MAX 1000000

#endif
