/* SPDX-License-Identifier: MIT */
#ifndef EXP_METRIC_PRIV_H
#define EXP_METRIC_PRIV_H

#include "exp_metric.h"

#define ELEMENT                                                                \
    (EXP_SCOPE_ROOT | EXP_SCOPE_SWITCH | EXP_SCOPE_NTB | EXP_SCOPE_DEVICE)

struct ExpMetric {
    const char *name;
    unsigned scopes; /* ExpScope bits */
    enum {
        NUMBER,
        MEASURE, /* a number that a flow has only if it has not failed */
        COUNT,   /* a number that grows from the start of the simulation on */
        TEXT,
        DISTRIBUTION
    } kind;
    ExpValue (*get)(const ExpSubject *subject);
    const char *help;
};

/* The mean latency of the operations of @flow, also of those that it left out.
 */
ExpValue exp_flow_latency_mean(const FabFlow *flow);

/* The time from the first operation of any flow to the end of the subject's,
 * and the bytes of all flows. */
SimTime exp_flow_work_time(const ExpSubject *subject, __int128 *ret_bytes);

/* exp_metric.c: all of them, those of a scope in the order of the help. */
extern const ExpMetric exp_metrics[];
extern const unsigned exp_metric_count;

#endif
