/* SPDX-License-Identifier: MIT */
#ifndef EXP_METRIC_H
#define EXP_METRIC_H

#include "exp_fabric.h"
#include "fab_flow.h"
#include "exp_path.h"

/*
 * Metrics of a simulated point, found by name. A number is a fraction of
 * integers, so nothing is rounded before it is printed.
 */
typedef struct ExpValue {
    __int128 num, den; /* value num / den; den 0: there is no value */
    const char *text;  /* for a text metric; borrowed from the subject */
} ExpValue;

/* The kinds of things that have metrics. */
typedef enum ExpScope {
    EXP_SCOPE_FLOW = 0x1,
    EXP_SCOPE_PATH = 0x2, /* a flow of kind path */
    EXP_SCOPE_FABRIC = 0x4,
    EXP_SCOPE_ROOT = 0x8,
    EXP_SCOPE_SWITCH = 0x10,
    EXP_SCOPE_NTB = 0x20,
    EXP_SCOPE_DEVICE = 0x40,
} ExpScope;

typedef struct ExpSubject {
    ExpScope scope;
    const ExpFabric *fabric;
    const TopoFlow *described; /* for any flow */
    const FabFlow *flow;
    const GPtrArray *flows; /* of FabFlow: all of the point; NULL entries are
                               flows of kind path */
    const ExpPath *path;
    FabComponent *component;
    TopoStatistic statistic;
} ExpSubject;

typedef struct ExpMetric ExpMetric;

/* True if the value grows from the start of the simulation on, so that its
 * value at the end of the warm-up is to be subtracted. */
bool exp_metric_is_count(const ExpMetric *metric);

/* Returns the metric @name of @scope; NULL if there is none. */
const ExpMetric *exp_metric_find(ExpScope scope, const char *name);
bool exp_metric_is_text(const ExpMetric *metric);
/* Returns true if a statistic such as .mean or .p50 may follow the name. */
bool exp_metric_is_distribution(const ExpMetric *metric);
ExpValue exp_metric_get(const ExpMetric *metric, const ExpSubject *subject);
/* True if the metric measures a flow that has wholly failed, so that its value
 * tells nothing. */
bool exp_metric_has_failed(const ExpMetric *metric, const ExpSubject *subject);

/* Returns a hint for @name, which no metric of @scope has, as topo_suggest().
 * The caller frees it. */
char *exp_metric_suggest(ExpScope scope, const char *name);

/* Appends a table in markdown for each scope: all metrics, each with an example
 * of a column. The hosts and flows of the examples are those of
 * docs/reference/metrics.md. */
void exp_metric_write_markdown(GString *out);

/* Returns a text with a line for each metric. The caller frees it. */
char *exp_metric_help(void);

#endif
