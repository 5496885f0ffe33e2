/* SPDX-License-Identifier: MIT */
#ifndef FAB_FABRIC_PRIV_H
#define FAB_FABRIC_PRIV_H

#include "fab_account_priv.h"
#include "fab_attachment.h"
#include "fab_fabric.h"
#include "fab_port_priv.h"

struct FabFabric {
    SimEngine *engine;
    FabTlp *pool;     /* free TLPs */
    GPtrArray *slabs; /* of FAB_SLAB_TLPS TLPs each */
    FabArena arena;   /* of ports and TLPs */
    FabAccounts accounts;
    uint64_t alive;
    uint64_t unsupported;
    uint64_t dropped;      /* TLPs that overran a buffer, and poisoned writes */
    uint32_t transactions; /* number of the latest; FabTlp.transaction */
    SimTime completion_timeout; /* 0: none */
    uint32_t trace_categories;
    FabTraceFn trace_fn;
    void *trace_data;
    uint64_t seed;
    GPtrArray *components; /* owned; by name after realize */
    GHashTable *by_name;
    bool realized;
    uint32_t ranks;             /* number of ranks of components and ports */
    FabAttachment *attachments; /* owned; the latest first */
};

/* fab_tlp.c: the pool grows in slabs, and never shrinks. */
#define FAB_SLAB_TLPS 256
void fab_tlp_pool_grow(FabFabric *fabric);

/* Makes a TLP of @type; all other members are 0. */
static inline FabTlp *fab_tlp_new(FabFabric *fabric, FabTlpType type)
{
    FabTlp *tlp;

    if (G_UNLIKELY(!fabric->pool)) {
        fab_tlp_pool_grow(fabric);
    }
    tlp = fabric->pool;
    fab_arena_show(tlp, sizeof(*tlp));
    fabric->pool = tlp->next;
    fabric->alive++;
    *tlp = (FabTlp){.type = type, .cls = fab_tlp_type_class(type)};
    return tlp;
}

static inline void fab_tlp_free(FabFabric *fabric, FabTlp *tlp)
{
    tlp->next = fabric->pool;
    fabric->pool = tlp;
    fab_arena_hide(tlp, sizeof(*tlp));
    fabric->alive--;
}

/* The number of a new non-posted request or metered write, for
 * FabTlp.transaction; never 0. */
static inline uint32_t fab_transaction_new(FabFabric *fabric)
{
    if (++fabric->transactions == 0) {
        fabric->transactions = 1;
    }
    return fabric->transactions;
}

/* Returns when the requester of a new non-posted request gives up
 * (SIM_TIME_NONE: never). @event of the requester comes at this time or before,
 * if it has a request whose time has not come. */
SimTime fab_timeout_begin(const FabFabric *fabric, SimEvent *event);
/* Ends the function of such an event: @next is the least of the times that are
 * left, SIM_TIME_NONE if there is none. */
void fab_timeout_next(SimEvent *event, SimTime next);

/* Counts a request through @port that was given up, and reports the error. */
void fab_timeout_count(FabPort *port);

/* True if a completion of @transaction comes too late for a request that
 * belongs to @expected. */
static inline bool fab_timeout_is_late(const FabFabric *fabric,
                                       uint32_t transaction, uint32_t expected)
{
    return fabric->completion_timeout && transaction != expected;
}

/* Gives all TLPs of @fifo back to the pool. */
void fab_fifo_clear(FabFabric *fabric, FabFifo *fifo);

/*
 * Answers the read @request, and consumes it. The completions leave through the
 * port at which the request came in, from @source, not before
 * @request->ready_at. Each has at most @most bytes
 * (and at most MPS), and all but the last end on a multiple of @rcb_bytes (PCIe
 * 5.0 s2.3.1.1). @most is at least @rcb_bytes.
 */
void fab_tlp_answer(FabTlp *request, unsigned source, FabBdf completer_id,
                    uint32_t most, uint32_t rcb_bytes, bool ecrc);

/*
 * Ends the life of @request, which fails at @component, and counts it as
 * unsupported.
 * Returns the completion with @status for a non-posted request; the caller
 * sends it. Returns NULL for a posted request and for an Unexpected Completion
 * (PCIe 5.0 s2.3.1, s2.3.2).
 */
FabTlp *fab_tlp_refuse(const FabComponent *component, FabTlp *request,
                       FabStatus status, FabBdf completer_id);
/* The same for a cause that @status does not tell. */
FabTlp *fab_tlp_refuse_for(const FabComponent *component, FabTlp *request,
                           FabStatus status, FabBdf completer_id,
                           FabLossCause cause);

/* Assigns bus numbers, BARs and bridge ranges of the hierarchy below @root, a
 * FAB_KIND_ROOT component. See fab_enumerate_with() for the errors. */
bool fab_enumerate(FabComponent *root, GError **error);

#endif
