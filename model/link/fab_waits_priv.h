/* SPDX-License-Identifier: MIT */
#ifndef FAB_WAITS_PRIV_H
#define FAB_WAITS_PRIV_H

#include "fab_deadlock.h"
#include "fab_observe_priv.h"

/*
 * The graph of what waits for what, as fab_deadlock_find() builds it. Every TLP
 * in a receive buffer must be told, because one that is not told would not be
 * seen to hold the buffer up. A TLP goes on as soon as any one of those that it
 * waits for goes on.
 */

/* A TLP, or a request that a root has split. */
typedef struct FabWaitNode {
    FabWaitStep step;
    bool is_step;          /* it is a TLP */
    bool moves;            /* it will go on */
    unsigned first, count; /* the keys of what it waits for */
} FabWaitNode;

/*
 * A key leads to nodes: to those of a TLP by its address, to those in a receive
 * buffer by the address of the port plus the class, and to those of a request
 * by its number.
 */
typedef struct FabWaitKey {
    const void *place; /* NULL: the key is a number */
    uint32_t transaction;
} FabWaitKey;

struct FabWaits {
    GArray *nodes;                         /* of FabWaitNode */
    GArray *keys;                          /* of FabWaitKey */
    GHashTable *by_place, *by_transaction; /* to arrays of node indices */
};

/* Tells of @tlp, which will go on. */
void fab_waits_moves(FabWaits *waits, const FabTlp *tlp);
/* Tells of all TLPs of @fifo, which will go on. */
void fab_waits_moves_all(FabWaits *waits, const FabFifo *fifo);

/* Tells of @tlp, which waits for the reason @step; step.cls and step.flow are
 * taken from @tlp. The calls of fab_waits_for_*() that follow tell for what. */
void fab_waits_add(FabWaits *waits, const FabTlp *tlp, FabWaitStep step);
void fab_waits_for_tlp(FabWaits *waits, const FabTlp *tlp);
/* Any TLP of @cls in the receive buffer of @ingress. */
void fab_waits_for_buffer(FabWaits *waits, const FabPort *ingress,
                          FabClass cls);
/* The end of the non-posted request with this number. */
void fab_waits_for_transaction(FabWaits *waits, uint32_t transaction);

/* Tells that the request @transaction ends only after @part, another request,
 * which a root has made of it. */
void fab_waits_split(FabWaits *waits, uint32_t transaction, uint32_t part);

#endif
