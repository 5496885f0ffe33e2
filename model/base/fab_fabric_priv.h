/* SPDX-License-Identifier: MIT */
#ifndef FAB_FABRIC_PRIV_H
#define FAB_FABRIC_PRIV_H

#include "fab_arena_priv.h"
#include "fab_attachment.h"
#include "fab_component_priv.h"
#include "fab_fabric.h"
#include "fab_fifo_priv.h"

/* The payload of a flow, in bytes. */
typedef struct FabAccount {
    struct FabMeter *meter;       /* counts the metered TLPs; nullable */
    uint64_t made, arrived, lost; /* of all other TLPs */
    uint64_t taken, given;        /* of TLPs that a root took to send them on in
                                     pieces, and of these pieces */
} FabAccount;

typedef struct FabAccounts {
    FabAccount *of;  /* owned; by the low bits of the number of the flow. The
                        first is that of TLPs without one. Others than those of
                        fab_account_open() may share one */
    uint32_t mask;   /* number of accounts less 1; a power of two less 1 */
    GArray *losses;  /* owned; of FabLoss; NULL: nothing was lost */
    unsigned latest; /* index of the latest loss */
    bool settles;    /* the engine stops when all metered bytes are settled */
} FabAccounts;

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

/* Part of a TLP that is set to 0 at once. */
typedef uint64_t FabTlpPart
    __attribute__((vector_size(16), aligned(8), may_alias));

/* The compiler would make one string instruction of an assignment, and of a
 * loop. That takes as long as 20 others. */
static inline void fab_tlp_clear(FabTlp *tlp)
{
    FabTlpPart *parts = (FabTlpPart *)tlp;
    const FabTlpPart none = {0, 0};

    G_STATIC_ASSERT(sizeof(*tlp) == 6 * sizeof(*parts));
    parts[0] = none;
    parts[1] = none;
    parts[2] = none;
    parts[3] = none;
    parts[4] = none;
    parts[5] = none;
}

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
    fab_tlp_clear(tlp);
    tlp->type = type;
    tlp->cls = fab_tlp_type_class(type);
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

/* True if a completion of @transaction comes too late for a request that
 * belongs to @expected. */
static inline bool fab_timeout_is_late(const FabFabric *fabric,
                                       uint32_t transaction, uint32_t expected)
{
    return fabric->completion_timeout && transaction != expected;
}

#endif
