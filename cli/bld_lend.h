/* SPDX-License-Identifier: MIT */
#ifndef BLD_LEND_H
#define BLD_LEND_H

#include "bld_fabric.h"
#include "fab_plan.h"

/*
 * Who borrows what: `lend:` of a description made true in a fabric, and the
 * sums of mapping entries that it comes to.
 */

/* Makes all borrows of @description, whose fabric @bld is. Fails at the place
 * of the member of `lend` that cannot be. */
bool bld_lend_all(BldFabric *bld, const TopoDescription *description,
                  GError **error);

/* What one adapter is to hold. */
typedef struct BldPlan {
    char *adapter;        /* "host.name" */
    FabPlanParams params; /* arrays are the plan's */
    GArray *targets;      /* of FabPlanTarget, with ... */
    GPtrArray *target_names;
    GArray *windows; /* of FabPlanWindow, with ... */
    GPtrArray *window_names;
    bool has_p2p; /* among the targets */
} BldPlan;

/* The plans of all adapters of @bld, a fabric without lends, that `lend` and
 * the flows between lent devices need; of BldPlan, by description. The caller
 * frees the array. */
GPtrArray *bld_lend_plans(const BldFabric *bld,
                          const TopoDescription *description);

#endif
