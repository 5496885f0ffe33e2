/* SPDX-License-Identifier: MIT */
#ifndef EXP_LEND_H
#define EXP_LEND_H

#include "exp_fabric.h"
#include "fab_plan.h"

/*
 * Who borrows what: `lend:` of a description made true in a fabric, and the
 * sums of mapping entries that it comes to.
 */

/* Makes all borrows of @description, whose fabric @bld is. Fails at the place
 * of the member of `lend` that cannot be. */
bool exp_lend_all(ExpFabric *bld, const TopoDescription *description,
                  GError **error);

/* What one adapter is to hold. */
typedef struct ExpPlan {
    char *adapter;        /* "host.name" */
    FabPlanParams params; /* arrays are the plan's */
    GArray *targets;      /* of FabPlanTarget, with ... */
    GPtrArray *target_names;
    GArray *windows; /* of FabPlanWindow, with ... */
    GPtrArray *window_names;
    bool has_p2p; /* among the targets */
} ExpPlan;

/* The plans of all adapters of @bld, a fabric without lends, that `lend` and
 * the flows between lent devices need; of ExpPlan, by description. The caller
 * frees the array. */
GPtrArray *exp_lend_plans(const ExpFabric *bld,
                          const TopoDescription *description);

#endif
