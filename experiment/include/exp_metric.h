/* SPDX-License-Identifier: MIT */
#ifndef EXP_METRIC_H
#define EXP_METRIC_H

#include "exp_fabric.h"
#include "fab_flow.h"
#include "exp_path.h"

/*
 * Metrics of a simulated point, by name. A number is a fraction of integers,
 * so that nothing is rounded before it is printed.
 */
typedef struct ExpValue {
    __int128 num, den; /* den 0: there is no value */
    const char *text;  /* of a text; borrowed from the subject */
} ExpValue;

/* The kind of thing that a metric is of. */
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
    const TopoFlow *described; /* of a flow, whatever its kind */
    const FabFlow *flow;
    const ExpPath *path;
    FabComponent *component;
    TopoStatistic statistic;
} ExpSubject;

typedef struct ExpMetric ExpMetric;

/* The metric @name of @scope; NULL if there is none. */
const ExpMetric *exp_metric_find(ExpScope scope, const char *name);
bool exp_metric_is_text(const ExpMetric *metric);
/* Returns true if .mean, .p50 and so on may follow the name. */
bool exp_metric_is_distribution(const ExpMetric *metric);
ExpValue exp_metric_get(const ExpMetric *metric, const ExpSubject *subject);

/* All names of @scope, separated by ", "; to be freed. */
char *exp_metric_names(ExpScope scope);

/* All metrics with a line of help each; to be freed. */
char *exp_metric_help(void);

#endif
