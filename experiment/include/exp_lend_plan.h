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
 * lent devices need, in the order of the description. NULL and @error if no
 * fabric can be made of it. The caller frees the array. */
GPtrArray *exp_lend_plans_new(const TopoDescription *description,
                              GError **error);

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

/* Does the same for each of @plans (of ExpLendPlan), and appends the rows to
 * @text, with readable sizes, equal devices in one row, and the first term that
 * does not fit. *ret_fit says if all fits in all of them. */
bool exp_lend_plans_append(GString *text, const GPtrArray *plans, Table *table,
                           bool *ret_fit, GError **error);

/* The DMA window of a loan between machines. */
typedef struct ExpLendMachine {
    const char *adapter; /* borrowed */
    char *note;
    uint64_t space_bytes; /* the adapter's window */
    uint64_t window_bytes;
} ExpLendMachine;

/* Appends @machines as a table for a terminal, and adds a row for each to
 * @table, an exp_lend_plan_table_new(). */
void exp_lend_machines_append(GString *text, Table *table,
                              const ExpLendMachine *machines, unsigned count);

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

/* Returns the plan (an array as above) that @words describe. NULL and @error if
 * they are wrong: in the domain G_OPTION_ERROR if an option is used wrongly. */
GPtrArray *exp_lend_plans_parse(const ExpLendPlanWords *words, GError **error);

#endif
