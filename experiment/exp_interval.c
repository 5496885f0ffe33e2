/* SPDX-License-Identifier: MIT */
#include "exp_interval.h"

#include <math.h>
#include <string.h>

#include "exp_metric_priv.h"
#include "fab_flow_pace.h"

/* The sum of the errors of all flows, which may stand one behind the other. */
static double all_halves(const ExpSubject *subject)
{
    double sum = 0;

    for (unsigned i = 0; i < subject->flows->len; i++) {
        FabFlowSkipped skipped;

        if (subject->flows->pdata[i]) {
            fab_flow_skipped(subject->flows->pdata[i], &skipped);
            sum += (double)skipped.half;
        }
    }
    return sum;
}

/* The error of the time of the subject's flow, as a share. */
static double time_share(const ExpSubject *subject)
{
    FabFlowSkipped skipped;
    FabFlowResult result;

    fab_flow_result(subject->flow, &result);
    fab_flow_skipped(subject->flow, &skipped);
    return result.data_time > 0
               ? (double)skipped.half / (double)result.data_time
               : 0;
}

/* The same of the time from the begin of any flow to the end of this one. */
static double work_share(const ExpSubject *subject)
{
    __int128 bytes;
    SimTime time = exp_flow_work_time(subject, &bytes);

    return time > 0 ? all_halves(subject) / (double)time : 0;
}

/* The error of the mean latency: of operations that were left out, or of parts
 * of operations. */
static double latency_share(const ExpSubject *subject)
{
    ExpValue mean = exp_flow_latency_mean(subject->flow);
    FabFlowSkipped skipped;
    FabFlowResult result;
    double value, all, half;

    if (mean.den == 0 || mean.num == 0) {
        return 0;
    }
    fab_flow_result(subject->flow, &result);
    fab_flow_skipped(subject->flow, &skipped);
    value = (double)mean.num / (double)mean.den;
    all = (double)result.operations;
    half = skipped.operations > 0
               ? skipped.half_latency + (double)skipped.half_inside / all
               : (double)skipped.half / all;
    return half / value;
}

static bool is_single(const ExpSubject *subject)
{
    return subject->statistic != TOPO_STATISTIC_NONE &&
           subject->statistic != TOPO_STATISTIC_MEAN;
}

/* Metrics of flows and of the fabric that hold when flows leave work out. */
static const struct {
    const char *name;
    enum {
        OWN,     /* of the time of the flow */
        ALL,     /* of the times of all flows */
        AMOUNT,  /* of what is done in the time, if that is given */
        LATENCY, /* of operations */
        NONE
    } error;
} known[] = {
    {"bandwidth", OWN},
    {"rate", OWN},
    {"time", OWN},
    {"work_rate", ALL},
    {"bytes", AMOUNT},
    {"operations", AMOUNT},
    {"latency", LATENCY},
    {"speed", LATENCY},
    {"failed", NONE},
    {"mode", NONE},
    {"flow_bandwidths", ALL},
};

static int error_of(const char *name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(known); i++) {
        if (strcmp(known[i].name, name) == 0) {
            return known[i].error;
        }
    }
    return -1;
}

bool exp_interval_has(ExpScope scope, const char *metric)
{
    return scope == EXP_SCOPE_PATH ||
           ((scope == EXP_SCOPE_FLOW || scope == EXP_SCOPE_FABRIC) &&
            error_of(metric) >= 0);
}

/* Metrics of the whole fabric. */
static double fabric_share(const ExpSubject *subject, const char *metric)
{
    double time = (double)sim_engine_now(exp_engine(subject->fabric)) +
                  (double)fab_flows_skipped(exp_fabric(subject->fabric));

    if (strcmp(metric, "time") == 0) {
        return time > 0 ? all_halves(subject) / time : 0;
    }
    /* A share of the sum is at most the largest share of a flow. */
    time = 0;
    for (unsigned i = 0; i < subject->flows->len; i++) {
        ExpSubject own = *subject;

        own.flow = subject->flows->pdata[i];
        time = own.flow ? MAX(time, time_share(&own)) : time;
    }
    return time;
}

double exp_interval_share(const ExpSubject *subject, const char *metric,
                          bool has_stop)
{
    if (subject->scope == EXP_SCOPE_PATH) {
        return 0;
    }
    if (subject->scope == EXP_SCOPE_FABRIC) {
        return fabric_share(subject, metric);
    }
    switch (error_of(metric)) {
    case OWN:
        return time_share(subject);
    case ALL:
        return work_share(subject);
    case AMOUNT:
        return has_stop ? time_share(subject) : 0;
    case LATENCY:
        return is_single(subject) ? 0 : latency_share(subject);
    default:
        return 0;
    }
}

uint64_t exp_interval_seen(const ExpSubject *subject, const char *metric)
{
    FabFlowSkipped skipped;
    FabFlowResult result;

    if (subject->scope != EXP_SCOPE_FLOW || error_of(metric) == NONE ||
        fab_flows_skipped(exp_fabric(subject->fabric)) == 0) {
        return 0;
    }
    fab_flow_result(subject->flow, &result);
    fab_flow_skipped(subject->flow, &skipped);
    /* A flow that left nothing out, among others that did, met what it would
     * not have met. */
    return error_of(metric) == LATENCY || skipped.time == 0
               ? result.operations - skipped.operations
               : 0;
}
