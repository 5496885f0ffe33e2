/* SPDX-License-Identifier: MIT */
#ifndef FAB_ROOT_H
#define FAB_ROOT_H

#include "fab_fabric.h"
#include "fab_parts.h"

/*
 * A Root Complex: root ports, the path between them, memory, the IOMMU, and a
 * CPU that drives devices. Each host has one.
 */
typedef struct FabRoot FabRoot;

typedef struct FabMmioParams {
    FabBusAddr low_base; /* 32-bit addresses for BARs */
    uint64_t low_size;
    FabBusAddr high_base; /* above 4 GiB */
    uint64_t high_size;
    uint64_t above_4g_bytes; /* 64-bit prefetchable BARs of at least this size
                                go above 4 GiB, smaller ones below */
} FabMmioParams;

typedef struct FabCpuParams {
    SimTime mmio_write;  /* time between two writes */
    SimTime combine;     /* time between two lines of a longer write, which
                            write-combining buffers send; 0: it has none */
    uint32_t mmio_reads; /* largest number of outstanding reads */
    SimTime interrupt;   /* from the MSI at the root to the handler's start */
    SimTime poll;        /* mean time to notice a change in memory */
} FabCpuParams;

/* Nodes are sockets, or parts of an I/O die; fab_root_set_node() gives each
 * root port one. With all root ports in one node, none of this has an effect.
 */
typedef struct FabNodeParams {
    SimTime latency;            /* between nodes, added to
                                   FabRootParams.transit */
    uint64_t bandwidth_bytes_s; /* of the way of a node to memory and to the
                                   other nodes, and of the way back, counted in
                                   payload; 0: no limit */
    uint32_t write_bytes; /* of posted requests from one root port on their way
                             to another node; 0: no limit */
    SimTime acknowledge;  /* time for which a posted request stays on its way;
                             meanwhile its root port sends none to memory, or
                             to other nodes */
    uint32_t passes;      /* of posted requests that may pass one that waits for
                             acknowledgements, if RO or IDO allows it (PCIe 5.0
                             table 2-40, A2b) */
    bool shares; /* an egress arbitrates between its node and the others, then
                    between these, then between ports; otherwise between ports
                    alone */
} FabNodeParams;

/* The way from one node to another, where it is not as FabNodeParams has it. */
typedef struct FabNodeWay {
    SimTime latency;
    uint64_t bandwidth_bytes_s; /* of the way alone; 0: no limit */
    uint32_t write_bytes;
    SimTime acknowledge;
} FabNodeWay;

#define FAB_NODES 16u

/* The requests that a root forwards between its ports. Which, is left to the
 * root (PCIe 5.0 s1.3.1). */
typedef enum FabRootP2p {
    FAB_ROOT_P2P_ALL,
    FAB_ROOT_P2P_WRITES, /* posted requests alone */
    FAB_ROOT_P2P_NONE,
} FabRootP2p;

/* The ways in which the software of a host sets Max_Payload_Size. */
typedef enum FabMps {
    FAB_MPS_JOINED, /* one for all hosts that cables join */
    FAB_MPS_SAFE,   /* one for the tree below a root port, and what is joined to
                       it without the root (Linux: pci=pcie_bus_safe) */
    FAB_MPS_PEERS,  /* 128 bytes (Linux: pci=pcie_bus_peer2peer) */
    FAB_MPS_PERF,   /* each port as much as it can do, and the port above it;
                       devices read no more at a time (Linux: pci=pcie_bus_perf)
                     */
} FabMps;

typedef struct FabRootParams {
    FabMps mps;
    SimTime transit;  /* root port to root port, last byte in to first
                         byte out */
    bool id_ordering; /* completions of memory have IDO (IDO Completion Enable),
                         and writes between root ports keep their Requester ID,
                         by which IDO tells them apart */
    FabRootP2p p2p;
    bool p2p_aborts; /* what it does not forward is aborted (CA), and not
                        unsupported (UR) */
    uint32_t read_split_bytes;  /* the root splits a read between root ports
                                   into pieces of at most this size; 0: it
                                   does not split */
    uint32_t write_split_bytes; /* the same for writes */
    SimTime write_piece;        /* least time between two pieces of writes
                                   between root ports, of each node */
    uint32_t forwarded_reads;   /* largest number of outstanding pieces of
                                   reads that leave through one root port;
                                   each requester has one more */
    uint32_t rcb_bytes;         /* Read Completion Boundary: 64 or 128 */
    uint32_t completion_bytes;  /* largest completion of a memory read */
    FabMemoryParams memory;
    bool reserves_less; /* without its IOMMU, NTBs of others reserve entries for
                           no more than preallocated_bytes */
    uint64_t preallocated_bytes; /* memory that is set apart for segments */
    uint32_t ordered_bytes; /* of posted writes of one root port on their way
                               to memory, without those that have RO; 0: no
                               limit */
    SimTime ordered_time;   /* for which each of them is on its way */
    FabIommuParams iommu;
    FabMmioParams mmio;
    FabCpuParams cpu;
    FabNodeParams nodes;
} FabRootParams;

typedef struct FabRootCounters {
    uint64_t memory_read_bytes, memory_written_bytes;
    uint64_t forwarded_reads, forwarded_writes; /* in pieces */
    SimTime forward_wait_ps; /* time in which a read between root ports lacked
                                a tag */
    uint64_t ats_blocked; /* requests that claim a translation, or ask for one,
                             of devices without ATS */
    uint64_t invalidations; /* fab_root_invalidate() */
} FabRootCounters;

/* Makes a root named @name, such as "lender". @fabric owns it.
 * fab_root_add_port() adds its root ports. */
FabRoot *fab_root_new(FabFabric *fabric, const char *name,
                      const FabRootParams *params);
FabComponent *fab_root_component(FabRoot *root);
/* Casts @component to its root; NULL if it is not a root. */
FabRoot *fab_component_as_root(FabComponent *component);
const FabRootParams *fab_root_params(const FabRoot *root);
FabPort *fab_root_add_port(FabRoot *root, const char *name,
                           const FabPortParams *params);
/* Puts @port into @node, below FAB_NODES; without it node 0. Before realize. */
void fab_root_set_node(FabRoot *root, FabPort *port, unsigned node);
/* Sets the way from node @from to another node @to. Before realize. */
void fab_root_set_way(FabRoot *root, unsigned from, unsigned to,
                      const FabNodeWay *way);

/*
 * Reserves @size_bytes of the host's memory, aligned to @align_bytes (a power
 * of two). The range lies above 4 GiB if the host has memory there, like the
 * large buffers of real hosts. Returns false if it does not fit.
 */
bool fab_root_alloc(FabRoot *root, uint64_t size_bytes, uint64_t align_bytes,
                    FabBusAddr *ret_addr);

/* The same in @node, below FAB_NODES, after realize. Root ports of the node
 * reach the range without a way between nodes; others pay for the ways of both
 * nodes, and for params.nodes.latency in each direction. All other memory is
 * interleaved over the nodes. */
bool fab_root_alloc_in_node(FabRoot *root, unsigned node, uint64_t size_bytes,
                            uint64_t align_bytes, FabBusAddr *ret_addr);

/*
 * Maps [@addr, +@size_bytes) of the host's address space for the device with
 * the Requester ID @device, and those of its domain, and returns the address
 * that they must use. With the IOMMU off this is @addr. With the IOMMU on it is
 * a device address, mapped in pages of iommu.page_bytes.
 */
bool fab_root_map_dma(FabRoot *root, FabBdf device, FabBusAddr addr,
                      uint64_t size_bytes, FabBusAddr *ret_device_addr,
                      GError **error);

/* Removes the mapping made by fab_root_map_dma() that contains @device_addr. A
 * range that was mapped several times stays until it is unmapped as often. */
void fab_root_unmap_dma(FabRoot *root, FabBusAddr device_addr);

/* The address range of MSIs. An IOMMU does not translate it (Intel SDM 3A
 * s11.11). */
#define FAB_MSI_BASE  0xfee00000u
#define FAB_MSI_BYTES 0x100000u

typedef struct FabRange {
    FabBusAddr addr;
    uint64_t size_bytes; /* 0: not there */
} FabRange;

/* The address ranges of memory: below 4 GiB, and above 4 GiB. */
void fab_root_memory_ranges(const FabRoot *root, FabRange ranges[2]);

/*
 * Direct use of the IOMMU of a root whose iommu.enabled is set. Each domain has
 * its own device addresses. A device that is not attached to a domain uses
 * domain 0. fab_root_take_iova() reserves device addresses of domain 0, aligned
 * to @align_bytes (a power of two), that do not collide with those of
 * fab_root_map_dma().
 */
#define FAB_DOMAINS 256u

bool fab_root_take_iova(FabRoot *root, uint64_t size_bytes,
                        uint64_t align_bytes, FabBusAddr *ret_iova,
                        GError **error);
void fab_root_give_iova(FabRoot *root, FabBusAddr iova);

/* Mappings begin and end at multiples of this. */
uint64_t fab_root_page_bytes(const FabRoot *root);

/* Maps [@iova, +@size_bytes) of @domain to @addr of the host. Without
 * iommu.mixed all pages have one size: iommu.page_bytes if @iova, @addr and
 * @size_bytes are aligned to that, otherwise 2 MiB or 4 KiB. Fails with
 * FAB_ERROR_ADDRESS if a part of the range is mapped already. */
bool fab_root_iommu_map(FabRoot *root, unsigned domain, FabBusAddr iova,
                        FabBusAddr addr, uint64_t size_bytes, GError **error);
void fab_root_iommu_unmap(FabRoot *root, unsigned domain, FabBusAddr iova,
                          uint64_t size_bytes);
/* Mapped device addresses of all domains, in bytes. */
uint64_t fab_root_iommu_mapped(const FabRoot *root);

/* The two parts of fab_root_iommu_unmap(): the CPU removes the pages from the
 * tables, which takes no time here; then fab_root_invalidate() lets IOTLB and
 * ATCs forget them. */
void fab_root_iommu_clear(FabRoot *root, unsigned domain, FabBusAddr iova,
                          uint64_t size_bytes);

/* An invalidation. The caller owns it, and keeps it until @done is called. */
typedef struct FabInvalidation FabInvalidation;
typedef void (*FabInvalidatedFn)(FabInvalidation *invalidation);
struct FabInvalidation {
    unsigned domain;
    FabBusAddr iova;     /* a device address */
    uint64_t size_bytes; /* 0: all of the domain */
    FabInvalidatedFn done;
    void *owner;
    FabInvalidation *next; /* for the root alone, as the next one */
    uint32_t answers;      /* that devices owe */
};

/*
 * Gives @invalidation and a wait descriptor to the queue of the IOMMU (VT-d 3.3
 * s6.5.2), which works through one after the other: params.invalidate for each.
 * Then the IOTLB has dropped the range, and each device of the domain with ATS
 * gets an Invalidate Request. @done is called when all of them, and those for
 * the invalidations before, have answered, or have not answered for the
 * completion time-out. Invalidations of a root whose IOMMU is off end at once.
 */
void fab_root_invalidate(FabRoot *root, FabInvalidation *invalidation);

/* Puts the device with Requester ID @device into @domain. */
void fab_root_attach(FabRoot *root, FabBdf device, unsigned domain);

/* The CPU uses [@addr, +@size_bytes) of memory beforehand, which takes no time:
 * the cache holds as much of it as fits. */
void fab_root_warm(FabRoot *root, FabBusAddr addr, uint64_t size_bytes);

/* Watches [@addr, +@size_bytes) of the memory. Returns a handle, never 0. */
unsigned fab_root_watch(FabRoot *root, FabBusAddr addr, uint64_t size_bytes,
                        FabWatchFn fn, void *owner);
void fab_root_unwatch(FabRoot *root, unsigned handle);

/* A line of the CPU's caches and of its write-combining buffers. */
#define FAB_LINE_BYTES 64u

/* The CPU writes @size_bytes to @addr, in a BAR or in memory: at most 64, or
 * any number if params.cpu.combine is set. Then each line of 64 B is a write,
 * and the last one has @data. @flow is for observers. */
void fab_root_write(FabRoot *root, FabBusAddr addr, uint32_t size_bytes,
                    uint64_t data, uint32_t flow);

/* Called when a write has left the CPU. */
typedef void (*FabSentFn)(void *owner);

/*
 * Does the same as fab_root_write(), and calls @fn (nullable) when the write
 * has been handed to a root port, is in memory, or was refused because nothing
 * claims it. A root port accepts a few writes only; then the CPU stalls. A
 * caller that issues its next write from @fn therefore writes no faster than
 * the link.
 */
void fab_root_write_then(FabRoot *root, FabBusAddr addr, uint32_t size_bytes,
                         uint64_t data, uint32_t flow, FabSentFn fn,
                         void *owner);

/* Up to @cores further cores use fab_root_store() at a time. After realize. */
void fab_root_use_cores(FabRoot *root, uint32_t cores);
/* For observers: one of these cores begins its time of a store, or ends it. */
void fab_root_core_stores(FabRoot *root, bool begins);

/* A core writes, in BARs or memory: as fab_root_write_then(), without data. But
 * other cores do not take cpu.mmio_write of this one's time: the caller waits
 * for its own. */
void fab_root_store(FabRoot *root, FabBusAddr addr, uint32_t size_bytes,
                    uint32_t flow, FabSentFn fn, void *owner);

/* Called with the completion's status. */
typedef void (*FabReadFn)(void *owner, FabStatus status);

/* The CPU reads @size_bytes (at most 64) from @addr, and calls @fn when the
 * data have arrived. The read waits while cpu.mmio_reads reads are
 * outstanding. */
void fab_root_read(FabRoot *root, FabBusAddr addr, uint32_t size_bytes,
                   FabReadFn fn, void *owner, uint32_t flow);

/* Ends the CPU's reads with @flow that wait for completions, now and with UR:
 * the NTB that they went to does not wait for its peer any more. A completion
 * that comes later is an Unexpected Completion, so the fabric must have a
 * completion time-out. */
void fab_root_end_reads(FabRoot *root, uint32_t flow);

/* Called with the completion's status, and the value of the last write to the
 * watched range that was read; 0 if there is none. */
typedef void (*FabWordFn)(void *owner, FabStatus status, uint64_t data);

/* Does the same as fab_root_read(), and gets the value of a watched word. */
void fab_root_read_word(FabRoot *root, FabBusAddr addr, uint32_t size_bytes,
                        FabWordFn fn, void *owner, uint32_t flow);

const FabRootCounters *fab_root_counters(const FabRoot *root);
const FabIommuCounters *fab_root_iommu_counters(const FabRoot *root);

#endif
