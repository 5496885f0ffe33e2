/* SPDX-License-Identifier: MIT */
#ifndef BLD_METRIC_H
#define BLD_METRIC_H

#include "bld_fabric.h"
#include "bld_path.h"

/*
 * What can be asked of a simulated point, by name. A number is a fraction of
 * integers, so that nothing is rounded before it is printed.
 */
typedef struct BldValue {
    __int128 num, den; /* den 0: there is no value */
    const char *text;  /* of a text; borrowed from where it was asked */
} BldValue;

/* Who is asked. */
typedef enum BldScope {
    BLD_SCOPE_FLOW = 0x1,
    BLD_SCOPE_PATH = 0x2, /* a flow of kind path */
    BLD_SCOPE_FABRIC = 0x4,
    BLD_SCOPE_ROOT = 0x8,
    BLD_SCOPE_SWITCH = 0x10,
    BLD_SCOPE_NTB = 0x20,
    BLD_SCOPE_DEVICE = 0x40,
} BldScope;

typedef struct BldSubject {
    BldScope scope;
    const BldFabric *bld;
    const TopoFlow *described; /* of a flow, whatever its kind */
    const FabFlow *flow;
    const BldPath *path;
    FabComponent *component;
    TopoStatistic statistic;
} BldSubject;

typedef struct BldMetric BldMetric;

/* The metric @name of @scope; NULL if there is none. */
const BldMetric *bld_metric_find(BldScope scope, const char *name);
bool bld_metric_is_text(const BldMetric *metric);
/* Whether .mean, .p50 and so on may follow. */
bool bld_metric_is_distribution(const BldMetric *metric);
BldValue bld_metric_get(const BldMetric *metric, const BldSubject *subject);

/* All names of @scope, separated by ", "; to be freed. */
char *bld_metric_names(BldScope scope);

/* All metrics with a line of help each; to be freed. */
char *bld_metric_help(void);

#endif
