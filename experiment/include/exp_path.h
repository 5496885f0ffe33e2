/* SPDX-License-Identifier: MIT */
#ifndef EXP_PATH_H
#define EXP_PATH_H

#include "exp_fabric.h"
#include "topo_flow.h"

/*
 * The way of one TLP through an idle fabric with warm IOTLBs. It is not
 * computed: a TLP is sent and watched.
 */

/* An element on the way. Its time runs from the first byte in to the first byte
 * out, and at the end of the way until the data are visible or used. */
typedef struct ExpStep {
    char *name;          /* "lender.sw0" */
    char *kind;          /* "switch", "root+ram" and so on */
    unsigned hop;        /* number as the paper counts; 0: an end */
    SimTime time_ps;     /* in the element */
    SimTime link_ps;     /* on the link that follows */
    bool is_last;        /* nothing follows */
    FabBusAddr addr;     /* in the TLP as it leaves */
    FabBdf requester_id; /* the same */
} ExpStep;

/* The way of a request, or of its completion. */
typedef struct ExpLeg {
    const char *what; /* "write", "read request", "completion" */
    GPtrArray *steps; /* of ExpStep */
    SimTime time_ps;  /* of the whole leg */
} ExpLeg;

typedef struct ExpPath {
    GPtrArray *legs; /* of ExpLeg, in order of time */
    unsigned hops;   /* elements between the ends; a root with its RAM counts
                        once, a link not at all */
    unsigned roots;
    char *text;            /* the data's way: "gpu switch ntb ntb root+ram" */
    SimTime time_ps;       /* from the order to the end of the last leg */
    SimTime round_trip_ps; /* of the read, if there is one; else 0 */
} ExpPath;

typedef struct ExpPathRequest {
    TopoTarget from; /* a device, or a CPU */
    TopoTarget to;   /* RAM or a device */
    TopoTarget via;  /* RAM in which the data rest, or NONE: then `from` writes
                        there and `to` reads it, as in the paper's RAM paths */
    bool is_read;    /* without via: `from` reads, and does not write */
    uint32_t size_bytes;
} ExpPathRequest;

/* Builds the fabric of @description and sends the TLPs. Fails if there is no
 * way, or if an end cannot be one. */
ExpPath *exp_path_new(const TopoDescription *description,
                      const ExpPathRequest *request, GError **error);
/* The same for @flow, of kind path. */
ExpPath *exp_path_of_flow(const TopoDescription *description,
                          const TopoFlow *flow, GError **error);
void exp_path_free(ExpPath *path);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExpPath, exp_path_free)

#endif
