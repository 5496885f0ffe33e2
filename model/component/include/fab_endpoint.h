/* SPDX-License-Identifier: MIT */
#ifndef FAB_ENDPOINT_H
#define FAB_ENDPOINT_H

#include "fab_fabric.h"
#include "fab_root.h"

/*
 * An endpoint: a DMA engine that writes and reads, and memory or registers
 * behind BARs that other components write and read. GPUs, NICs and drives are
 * endpoints that a workload drives.
 */
typedef struct FabEndpoint FabEndpoint;

/* Address Translation Services of a device (PCIe 5.0 chapter 10). They are on
 * if the root answers Translation Requests (FabIommuParams.ats). */
typedef struct FabAtsParams {
    uint32_t entries;   /* of its Address Translation Cache; 0: it has none */
    uint32_t ways;      /* 0: fully associative */
    SimTime hit;        /* of a look-up */
    uint32_t requests;  /* outstanding Translation Requests */
    uint32_t writes;    /* posted requests that may wait for a translation */
    SimTime invalidate; /* from an Invalidate Request to its completion, if no
                           read is under way that uses the translation */
} FabAtsParams;

/* The MMU of a GPU, for the orders of threads. A miss of the first level is
 * looked up in the second one, and walks the tables if it misses that, too.
 * Both are fully associative, with true LRU. */
typedef struct FabMmuParams {
    uint64_t page_bytes; /* a power of two from 4 KiB on */
    uint32_t entries;    /* of the first level; 0: no MMU, and no time */
    uint32_t l2_entries; /* of the second level; 0: none */
    SimTime l2_hit;      /* of a look-up there, hit or miss */
    SimTime walk;
    uint32_t walks; /* at a time */
} FabMmuParams;

typedef struct FabEndpointParams {
    FabBar bars[FAB_BARS];
    /* DMA engine. */
    uint32_t write_bytes;  /* largest payload of a write; MPS also limits it */
    uint32_t read_bytes;   /* largest read request, at most MRRS */
    uint32_t reads;        /* outstanding read requests, at most tags */
    uint32_t tags;         /* number of tags: 32, 256, 768 or
                              15360 */
    SimTime read_latency;  /* from the last completion until the tag is free */
    SimTime write_latency; /* from the order to write until the first TLP */
    /* The engine works on a write in transfers of at most read_bytes. This is
     * the time from the end of one until the begin of the next, in the device
     * and at the port. */
    SimTime write_gap;
    uint32_t writes;       /* orders to write under way at a time, from their
                              begin until the last TLP leaves; 0: no limit */
    uint32_t queue;        /* TLPs of a class that it keeps ready at its port,
                              which takes the oldest first; 0: 2 */
    uint32_t flight_bytes; /* bytes of reads under way; 0: only tags limit */
    /* The engine moves the data of an order a second time inside the device,
     * one order of each direction after the other; beat_bytes = 0: no time. A
     * read takes its beats after all its data are in: those that its addresses
     * touch, and gap_beats for each request. A write takes its beats before
     * its first TLP, counted from its first byte, and gap_beats. */
    FabService read_move, write_move;
    /* A bus inside the device that both directions share: the move of each
     * order begins when the bus is free, and has it for the beats of its bytes
     * and gap_beats. Directions take turns. beat_bytes = 0: no such bus. */
    FabService move_bus;
    bool relaxed_ordering; /* sets RO in its requests */
    bool id_ordering;      /* sets IDO in its requests */
    bool ecrc;             /* adds a TLP digest to every TLP */
    FabAtsParams ats;
    FabMmuParams mmu;
    /* The memory or registers behind its BARs. */
    SimTime completer_latency;            /* of a read */
    uint64_t completer_bandwidth_bytes_s; /* 0: no limit */
    uint32_t completion_bytes;            /* largest completion; 0: MPS */
} FabEndpointParams;

/* Those of a device include its virtual functions. */
typedef struct FabEndpointCounters {
    uint64_t read_bytes;    /* that its DMA engine has requested */
    uint64_t written_bytes; /* that have left its port */
    uint64_t served_bytes;  /* from behind its BARs */
    uint64_t failed_reads;  /* completed with UR or CA */
    SimTime tag_wait_ps;    /* time in which an ordered read lacked a tag */
} FabEndpointCounters;

typedef struct FabAtcCounters {
    uint64_t hits, misses;  /* of requests */
    uint64_t requests;      /* Translation Requests sent */
    uint64_t invalidations; /* Invalidate Requests received */
} FabAtcCounters;

/* Makes an endpoint. @fabric owns it. */
FabEndpoint *fab_endpoint_new(FabFabric *fabric, const char *name,
                              const FabPortParams *port,
                              const FabEndpointParams *params);
/*
 * Makes a virtual function of @device (SR-IOV, PCIe 5.0 s9), to be called
 * before realize. It has BARs of its own with the sizes of the device's, and
 * the Routing ID that is @offset, from 1, after the device's. The
 * link, the DMA engine with its tags, and the memory behind the BARs are the
 * device's. The engine serves the functions that have orders in turn, request
 * by request. A virtual function does not translate addresses (ATS). @fabric
 * owns it.
 */
FabEndpoint *fab_endpoint_function_new(FabEndpoint *device, const char *name,
                                       unsigned offset);
/* The device of a virtual function; @endpoint itself if it is none. */
FabEndpoint *fab_endpoint_device(FabEndpoint *endpoint);
/* The virtual function that was made after @function, or the first one of a
 * device; NULL after the last. */
FabEndpoint *fab_endpoint_next_function(const FabEndpoint *function);
/* Its Routing ID, less that of its device; 0 for a device. */
unsigned fab_endpoint_function_offset(const FabEndpoint *endpoint);
FabComponent *fab_endpoint_component(FabEndpoint *endpoint);
/* Casts @component to its endpoint; NULL if it is not an endpoint. */
FabEndpoint *fab_component_as_endpoint(FabComponent *component);
const FabEndpointParams *fab_endpoint_params(const FabEndpoint *endpoint);

/*
 * An order to the DMA engine. The caller owns it, and must keep it until it is
 * done. The engine issues orders of one direction one after the other. A read
 * does not wait for the data of the read before it.
 */
typedef struct FabDma FabDma;

typedef void (*FabDmaFn)(FabDma *dma);
struct FabDma {
    /* Set by the caller. */
    FabTlpType type; /* FAB_TLP_MWR or FAB_TLP_MRD */
    FabBusAddr addr; /* as the endpoint sees it */
    uint64_t size_bytes;
    uint64_t data; /* value of a write of at most 8 bytes; after a read of a
                      watched word: the word's value */
    uint32_t flow;
    FabDmaFn done; /* called when the last TLP of a write is on the wire, or all
                      data of a read are in */
    void *owner;
    /* Nullable: called when @bytes of it are on their way, or for a read, in.
     * While requests remain to be made, the caller may make size_bytes
     * smaller. */
    void (*moved)(FabDma *dma, uint32_t bytes);
    uint8_t kind;   /* for the caller alone */
    bool metered;   /* the meter of its flow counts its data */
    bool is_fetch;  /* a read of a command: it goes before the other reads that
                       the engine has, because another unit makes it */
    bool is_direct; /* it comes from the device's own threads: the engine's
                       latencies and its data mover take no part */
    /* Result. */
    FabStatus status; /* SC, or the first other status of a completion */
    SimTime left_at;  /* of a write: when its last byte has left */
    /* The caller may use it while the engine does not have the order. */
    FabDma *next;
    /* For the engine alone. */
    uint64_t issued_bytes, finished_bytes;
    FabEndpoint *function; /* that has ordered it */
    uint64_t last_order;   /* egress_order of the last TLP of a write */
    SimTime not_before;
    uint32_t transaction; /* of the TLPs of a metered write */
};

/* Gives @dma to the engine. To be called after realize. An order to
 * FAB_ADDR_UNMAPPED or above fails at once with FAB_STATUS_CA. */
void fab_endpoint_dma(FabEndpoint *endpoint, FabDma *dma);

/* Watches writes by other components to [@addr, +@size_bytes) behind a BAR.
 * @addr is an address in the endpoint's host. Returns a handle, never 0. */
unsigned fab_endpoint_watch(FabEndpoint *endpoint, FabBusAddr addr,
                            uint64_t size_bytes, FabWatchFn fn, void *owner);
void fab_endpoint_unwatch(FabEndpoint *endpoint, unsigned handle);

/* The device reads @size_bytes of its own memory, behind its BARs, and has them
 * at the time that is returned. */
SimTime fab_endpoint_load(FabEndpoint *endpoint, uint32_t size_bytes);
/* The device writes @data to its own memory at @addr, as others would. Watchers
 * see it at once. */
void fab_endpoint_store(FabEndpoint *endpoint, FabBusAddr addr,
                        uint32_t size_bytes, uint64_t data);

const FabEndpointCounters *fab_endpoint_counters(const FabEndpoint *endpoint);
/* NULL if it does not translate addresses. Valid after realize. */
const FabAtcCounters *fab_endpoint_atc_counters(const FabEndpoint *endpoint);

#endif
