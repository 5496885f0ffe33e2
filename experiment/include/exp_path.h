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
 * out. In the last element it runs until the data are visible or used. */
typedef struct ExpStep {
    char *name;          /* "lender.sw0" */
    char *kind;          /* such as "switch" or "root+ram" */
    unsigned hop;        /* number by the paper's rule; 0: an end, no hop */
    SimTime time_ps;     /* time in the element */
    SimTime link_ps;     /* time on the link that follows */
    bool is_last;        /* no link follows */
    FabBusAddr addr;     /* address in the TLP as it leaves the element */
    FabBdf requester_id; /* Requester ID in the TLP as it leaves the element */
} ExpStep;

/* The way of a request, or of its completion. */
typedef struct ExpLeg {
    const char *what; /* "write", "read request", "completion" */
    GPtrArray *steps; /* of ExpStep */
    SimTime time_ps;  /* of the whole leg */
} ExpLeg;

typedef struct ExpPath {
    GPtrArray *legs; /* of ExpLeg, in the order of time */
    unsigned hops;   /* elements between the ends; a root and its RAM are one */
    unsigned roots;
    char *text;      /* the way of the data: "gpu switch ntb ntb root+ram" */
    SimTime time_ps; /* time of all legs together */
    SimTime round_trip_ps; /* of the read; 0 if there is none */
} ExpPath;

typedef struct ExpPathRequest {
    TopoTarget from; /* a device or a CPU */
    TopoTarget to;   /* RAM or a device */
    TopoTarget via; /* RAM in which the data rest; may be NONE. `from` writes to
                       it and `to` reads from it, as in the paper's RAM paths */
    bool is_read;   /* `from` reads instead of writing; only without `via` */
    uint32_t size_bytes;
} ExpPathRequest;

/* A request in the words of a user. */
typedef struct ExpPathWords {
    const char *from, *to; /* HOST.cpu, HOST.ram, HOST.DEVICE ... */
    char *via;             /* nullable */
    char *size;            /* nullable: 4 B */
    gboolean is_read;
} ExpPathWords;

/* Parses @words. False and @error if they are wrong, a G_OPTION_ERROR if the
 * size is out of range, or if they do not go together. */
bool exp_path_request_parse(const TopoDescription *description,
                            const ExpPathWords *words,
                            ExpPathRequest *ret_request, GError **error);

/* Builds the fabric of @description and sends the TLPs. Fails if there is no
 * way between the ends, or if something cannot be an end. */
ExpPath *exp_path_new(const TopoDescription *description,
                      const ExpPathRequest *request, GError **error);
/* Like exp_path_new(), for @flow, which is of kind path. */
ExpPath *exp_path_of_flow(const TopoDescription *description,
                          const TopoFlow *flow, GError **error);
/* Sends a TLP as exp_path_new() does, without `via`. Returns the host whose
 * root does not forward it from port to port (`p2p` of its part); NULL if all
 * do, or if there is another reason why it does not arrive. */
const TopoHost *exp_path_refusing(const TopoDescription *description,
                                  const ExpPathRequest *request);
void exp_path_free(ExpPath *path);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExpPath, exp_path_free)

/* Appends a table of the elements of each leg, and a line about the whole. */
void exp_path_append(GString *text, const ExpPath *path);

/* Does so for each flow of kind path at every point of @plan, below its name.
 * *ret_any says if there are any. False and @error if a TLP finds no way;
 * @errors gets those of points. */
bool exp_path_append_flows(GString *text, const TopoDescription *plan,
                           TopoErrors *errors, bool *ret_any, GError **error);

#endif
