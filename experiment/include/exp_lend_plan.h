/* SPDX-License-Identifier: MIT */
#ifndef EXP_LEND_PLAN_H
#define EXP_LEND_PLAN_H

#include "exp_fabric.h"
#include "fab_plan.h"
#include "table.h"

/* The mapping entries that the lends of a description need in each adapter. */

/* The contents of one adapter. */
typedef struct ExpLendPlan {
    char *adapter;        /* "host.name" */
    FabPlanParams params; /* its arrays are those below */
    GArray *targets;      /* of FabPlanTarget, */
    GPtrArray *target_names;
    GArray *windows; /* of FabPlanWindow, */
    GPtrArray *window_names;
    bool has_p2p; /* among the targets */
} ExpLendPlan;

/* Makes a plan without targets and windows for the adapter. */
ExpLendPlan *exp_lend_plan_new(const char *adapter);
void exp_lend_plan_free(ExpLendPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExpLendPlan, exp_lend_plan_free)

/* Adds one; takes @name. */
void exp_lend_plan_add_target(ExpLendPlan *plan, const FabPlanTarget *target,
                              char *name);
void exp_lend_plan_add_window(ExpLendPlan *plan, const FabPlanWindow *window,
                              char *name);

/* The plans of all adapters of @fabric, in which nothing is borrowed yet, that
 * `lend` and the flows between lent devices need; of ExpLendPlan, in the order
 * of the description. The caller frees the array. */
GPtrArray *exp_lend_plans(const ExpFabric *fabric,
                          const TopoDescription *description);

/* ---- Sums of plans as a table ----------------------------------------- */

enum {
    EXP_LEND_PLAN_ADAPTER,
    EXP_LEND_PLAN_TERM,
    EXP_LEND_PLAN_ENTRIES,
    EXP_LEND_PLAN_BYTES,
    EXP_LEND_PLAN_NOTE,
};

/* Returns a table without rows; the caller frees it. */
Table *exp_lend_plan_table_new(void);

/* Does the sums of @plan and adds a row for each term to @table. *ret_sums gets
 * the sums themselves. */
bool exp_lend_plan_add_rows(const ExpLendPlan *plan, Table *table,
                            FabPlan *ret_sums, GError **error);

#endif
