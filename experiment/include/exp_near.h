/* SPDX-License-Identifier: MIT */
#ifndef EXP_NEAR_H
#define EXP_NEAR_H

#include "topo_description.h"

/*
 * Ranks devices by how well they reach the memory of another device. Nothing is
 * computed from the shape of the fabric: each candidate's DMA engine writes to
 * and reads from that memory in the model, first alone, then while the flows of
 * the description run.
 */

typedef enum ExpNearGoal {
    EXP_NEAR_BANDWIDTH, /* the lower one of writing and reading under the flows
                           of the description, in percent of the best, most
                           first; then as EXP_NEAR_LATENCY */
    EXP_NEAR_LATENCY,   /* round trip of a read, then time of a write, least
                           first */
} ExpNearGoal;

typedef struct ExpNearRow {
    const TopoDevice *device;
    char *refusal; /* why it does not reach the memory; NULL: it does, and the
                      members below are valid */
    unsigned hops;
    unsigned roots;
    char *way;        /* such as "device switch gpu" */
    int64_t write_ps; /* time of one write of 256 B in an idle fabric */
    int64_t read_ps;  /* round trip of one read of 256 B in an idle fabric */
    /* Bytes a second: alone, and under the flows of the description. */
    int64_t write_alone, read_alone;
    int64_t write_shared, read_shared;
    char *limit; /* what limits the slower direction under the flows */
} ExpNearRow;

typedef struct ExpNear {
    GPtrArray *rows;  /* of ExpNearRow, best first. Rows that are equal for the
                         goal go by hops, then by the path of the device */
    unsigned n_flows; /* flows of the description that ran beside them */
} ExpNear;

/* Ranks @candidates (of TopoDevice) by how well they reach the largest BAR of
 * @near. All belong to @description, which must outlive the result. Flows of
 * kind path do not run. Fails if the fabric or a flow of the description cannot
 * be made. */
ExpNear *exp_near_new(const TopoDescription *description,
                      const TopoDevice *near, const GPtrArray *candidates,
                      ExpNearGoal goal, GError **error);

/* Frees @near (nullable). */
void exp_near_free(ExpNear *near);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExpNear, exp_near_free)

/* Appends a table of the candidates, and what limits each, or why it is none.
 */
void exp_near_append(GString *text, const ExpNear *near);

#endif
