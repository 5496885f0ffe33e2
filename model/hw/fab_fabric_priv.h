/* SPDX-License-Identifier: MIT */
#ifndef FAB_FABRIC_PRIV_H
#define FAB_FABRIC_PRIV_H

#include "fab_attachment.h"
#include "fab_fabric.h"
#include "fab_port_priv.h"

/* The cables between hosts; see fab_route.c. */
typedef struct FabRoutes FabRoutes;
void fab_routes_free(FabRoutes *routes);

struct FabFabric {
    SimEngine *engine;
    FabTlp *pool;     /* free TLPs */
    GPtrArray *slabs; /* where TLPs come from */
    uint64_t alive;
    uint64_t hops;
    uint64_t unsupported;
    uint32_t trace_categories;
    FabTraceFn trace_fn;
    void *trace_data;
    uint64_t seed;
    GPtrArray *components; /* owned; by name after realize */
    GHashTable *by_name;
    bool realized;
    uint32_t ranks;             /* taken by components and ports */
    FabRoutes *routes;          /* made when first needed */
    FabAttachment *attachments; /* owned, the latest first */
};

/* A zeroed TLP of @type. The pool grows in slabs, and never shrinks. */
FabTlp *fab_tlp_new(FabFabric *fabric, FabTlpType type);
void fab_tlp_free(FabFabric *fabric, FabTlp *tlp);
/* Gives all TLPs of @fifo back to the pool. */
void fab_fifo_clear(FabFabric *fabric, FabFifo *fifo);

/*
 * Answers the read @request, which came in at a port and is consumed: with
 * completions of @source of that port, of at most @most bytes (and MPS) each,
 * of which every one but the last ends on a multiple of @rcb_bytes (PCIe 5.0
 * s2.3.1.1). @most is at least @rcb_bytes.
 */
void fab_tlp_answer(FabTlp *request, unsigned source, FabBdf completer_id,
                    uint32_t most, uint32_t rcb_bytes, bool ecrc);

/*
 * Consumes @request, which nothing claims, and counts it. Returns the
 * completion with @status for a non-posted request, which the caller sends, and
 * NULL for a posted one (PCIe 5.0 s2.3.1).
 */
FabTlp *fab_tlp_refuse(FabFabric *fabric, FabTlp *request, FabStatus status,
                       FabBdf completer_id);

/* Bus numbers, BARs and bridge ranges of the hierarchy below @root, a
 * FAB_KIND_ROOT component. Fails with FAB_ERROR_ADDRESS, naming what did not
 * fit. */
bool fab_enumerate(FabComponent *root, GError **error);

#endif
