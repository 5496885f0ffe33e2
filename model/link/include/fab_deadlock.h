/* SPDX-License-Identifier: MIT */
#ifndef FAB_DEADLOCK_H
#define FAB_DEADLOCK_H

#include "fab_fabric.h"

/* The thing that a TLP waits for which can never leave its place. */
typedef enum FabWaitKind {
    FAB_WAIT_CREDITS, /* room in the receive buffer at the far end of port */
    FAB_WAIT_ORDER,   /* TLPs that it must not pass, at port (nullable) */
    FAB_WAIT_ROOM,    /* room in the queue of port */
    FAB_WAIT_FORWARD_TAG, /* a tag of the root for reads through port */
    FAB_WAIT_NTB_TAG,     /* a tag of the NTB */
} FabWaitKind;

/* A step of a cycle: TLPs of @cls wait in @component, until the TLPs of the
 * next step go on. */
typedef struct FabWaitStep {
    FabWaitKind kind;
    FabClass cls;
    const FabComponent *component;
    const FabPort *port;
    uint32_t flow;
} FabWaitStep;

/*
 * Searches @fabric, which is realized, for TLPs that wait for each other and
 * can never go on, whatever happens elsewhere. Returns the steps of a cycle of
 * waits, an array of FabWaitStep that the caller owns; NULL if there is none.
 * The search changes nothing. It misses a deadlock of which a part still seems
 * able to move, but never reports one that is none.
 */
GArray *fab_deadlock_find(const FabFabric *fabric);

/* A sentence for users that names the elements of the cycle @steps. */
char *fab_deadlock_text(const GArray *steps);

#endif
