/* SPDX-License-Identifier: MIT */
#ifndef EXP_LEND_PLAN_H
#define EXP_LEND_PLAN_H

#include "exp_fabric.h"
#include "fab_plan.h"
#include "table.h"

/* Sums of the mapping entries that loans need in each NTB adapter. */

/* The plan of one adapter. */
typedef struct ExpLendPlan {
    char *adapter;        /* "host.name" */
    FabPlanParams params; /* its arrays are `targets` and `windows` */
    GArray *targets;      /* of FabPlanTarget */
    GPtrArray *target_names;
    GArray *windows; /* of FabPlanWindow */
    GPtrArray *window_names;
    bool has_p2p; /* some targets are there for P2P */
} ExpLendPlan;

/* Makes a plan for @adapter without targets and windows. */
ExpLendPlan *exp_lend_plan_new(const char *adapter);
void exp_lend_plan_free(ExpLendPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExpLendPlan, exp_lend_plan_free)

/* Add a target or a window. They take ownership of @name. */
void exp_lend_plan_add_target(ExpLendPlan *plan, const FabPlanTarget *target,
                              char *name);
void exp_lend_plan_add_window(ExpLendPlan *plan, const FabPlanWindow *window,
                              char *name);

/* Returns a plan (of ExpLendPlan) for each adapter that `lend` or flows between
 * lent devices need, in the order of the description. No device may be lent in
 * @fabric yet. The caller frees the array. */
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

/* Returns an empty table for exp_lend_plan_add_rows(). The caller frees it. */
Table *exp_lend_plan_table_new(void);

/* Computes the sums of @plan, stores them in *ret_sums, and adds a row for each
 * term to @table. */
bool exp_lend_plan_add_rows(const ExpLendPlan *plan, Table *table,
                            FabPlan *ret_sums, GError **error);

/* Does the same, and appends the rows to @text, with readable sizes, equal
 * devices in one row, and the first term that does not fit. *ret_fits says if
 * all fits. */
bool exp_lend_plan_append(GString *text, const ExpLendPlan *plan, Table *table,
                          bool *ret_fits, GError **error);

/* One adapter in the words of a user. */
typedef struct ExpLendPlanWords {
    char **bars; /* nullable, ended by NULL: "[COUNTx]SIZE,SIZE" */
    char **dma;  /* nullable, ended by NULL: sizes of windows set by hand */
    char *window;
    char *ram; /* nullable: of a borrower */
    int entries, reserved, nodes, borrowers;
    int devices;        /* windows of automatic size */
    gboolean iommu_off; /* windows cover the RAM */
} ExpLendPlanWords;

/* Adds what @words say to @plan. False and @error if they are wrong: in the
 * domain TABLE_ERROR if an option is used wrongly. */
bool exp_lend_plan_parse(ExpLendPlan *plan, const ExpLendPlanWords *words,
                         GError **error);

#endif
