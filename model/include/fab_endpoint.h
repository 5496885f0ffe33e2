/* SPDX-License-Identifier: MIT */
#ifndef FAB_ENDPOINT_H
#define FAB_ENDPOINT_H

#include "fab_fabric.h"
#include "fab_root.h"

/*
 * An endpoint: a DMA engine that writes and reads, and memory or registers
 * behind BARs that others write and read. GPUs, NICs and drives are endpoints
 * with a workload that drives them.
 */
typedef struct FabEndpoint FabEndpoint;

typedef struct FabEndpointParams {
    FabBar bars[FAB_BARS];
    /* DMA engine. */
    uint32_t write_bytes;  /* payload of a write, at most MPS */
    uint32_t read_bytes;   /* of a read request, at most MRRS */
    uint32_t reads;        /* outstanding; at most the tags it has */
    uint32_t tags;         /* 32, 256 or 768 */
    SimTime read_latency;  /* from the last completion to a free tag */
    SimTime write_latency; /* from the order to write until the first TLP */
    bool relaxed_ordering; /* RO on what it sends */
    bool id_ordering;      /* IDO */
    bool ecrc;             /* a digest on every TLP */
    /* The memory or registers behind its BARs. */
    SimTime completer_latency;            /* of a read */
    uint64_t completer_bandwidth_bytes_s; /* 0: no limit */
    uint32_t completion_bytes;            /* largest completion; 0: MPS */
} FabEndpointParams;

typedef struct FabEndpointCounters {
    uint64_t read_bytes, written_bytes; /* by its DMA engine */
    uint64_t served_bytes;              /* from behind its BARs */
    uint64_t failed_reads;              /* completed with UR or CA */
    SimTime tag_wait_ps; /* reads were ordered, and there was no tag */
} FabEndpointCounters;

/* An endpoint of @fabric (owned by it). */
FabEndpoint *fab_endpoint_new(FabFabric *fabric, const char *name,
                              const FabPortParams *port,
                              const FabEndpointParams *params);
FabComponent *fab_endpoint_component(FabEndpoint *endpoint);
/* The endpoint that @component is; NULL if it is none. */
FabEndpoint *fab_component_as_endpoint(FabComponent *component);
const FabEndpointParams *fab_endpoint_params(const FabEndpoint *endpoint);

/*
 * An order to the DMA engine. The caller owns it, and must keep it until it is
 * done. Orders of one direction are carried out one after the other; a read
 * begins without waiting for the end of the one before.
 */
typedef struct FabDma FabDma;
typedef void (*FabDmaFn)(FabDma *dma);
struct FabDma {
    /* Set by the caller. */
    FabTlpType type; /* FAB_TLP_MWR or FAB_TLP_MRD */
    FabBusAddr addr; /* as the endpoint sees it */
    uint64_t size_bytes;
    uint64_t data; /* of a write of at most 8 bytes; after a read of a watched
                      word, its value */
    uint32_t flow;
    FabDmaFn
        done; /* write: the last TLP is on the wire; read: all data are in */
    void *owner;
    /* Result. */
    FabStatus status; /* of a read: the first one that is not SC */
    /* For the engine alone. */
    FabDma *next;
    uint64_t issued_bytes, finished_bytes;
    uint64_t last_order; /* of the last TLP of a write */
    SimTime not_before;
};

/* Gives @dma to the engine; after realize. An order for FAB_ADDR_UNMAPPED or
 * beyond fails at once, with FAB_STATUS_CA. */
void fab_endpoint_dma(FabEndpoint *endpoint, FabDma *dma);

/* Watches writes by others to [@addr, +@size_bytes) behind a BAR, an address in
 * the endpoint's host. Returns a handle, never 0. */
unsigned fab_endpoint_watch(FabEndpoint *endpoint, FabBusAddr addr,
                            uint64_t size_bytes, FabWatchFn fn, void *owner);
void fab_endpoint_unwatch(FabEndpoint *endpoint, unsigned handle);

const FabEndpointCounters *fab_endpoint_counters(const FabEndpoint *endpoint);

#endif
