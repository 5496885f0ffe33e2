/* SPDX-License-Identifier: MIT */
#ifndef FAB_ROOT_H
#define FAB_ROOT_H

#include "fab_fabric.h"

/*
 * A Root Complex: root ports, the path between them, memory, the IOMMU, and a
 * CPU that drives devices. One a host.
 */
typedef struct FabRoot FabRoot;

typedef struct FabMemoryParams {
    uint64_t size_bytes;
    SimTime latency;            /* of a read, first bit in to data ready */
    uint64_t bandwidth_bytes_s; /* reads and writes together */
    uint32_t reads;             /* served at once */
} FabMemoryParams;

typedef struct FabIommuParams {
    bool enabled;
    uint32_t iotlb_entries;
    uint32_t iotlb_ways; /* 0: fully associative */
    SimTime hit;         /* added by a translation that the IOTLB holds */
    SimTime walk;        /* a page walk */
    uint32_t walks;      /* page walks at a time */
    uint64_t
        page_bytes; /* of the mappings that are made: 4 KiB, 2 MiB, 1 GiB */
} FabIommuParams;

typedef struct FabMmioParams {
    FabBusAddr low_base; /* 32-bit addresses for BARs */
    uint64_t low_size;
    FabBusAddr high_base; /* above 4 GiB */
    uint64_t high_size;
    uint64_t above_4g_bytes; /* 64-bit prefetchable BARs from this size on are
                                put there, smaller ones below */
} FabMmioParams;

typedef struct FabCpuParams {
    SimTime mmio_write;  /* between two writes */
    uint32_t mmio_reads; /* outstanding at a time */
    SimTime interrupt;   /* from MSI at the root to the handler */
    SimTime poll;        /* mean time to notice a change in memory */
} FabCpuParams;

typedef struct FabRootParams {
    SimTime transit;            /* root port to root port, last byte in to first
                                   byte out */
    uint32_t read_split_bytes;  /* reads between root ports leave in pieces of
                                   at most this; 0: as they came */
    uint32_t write_split_bytes; /* and writes */
    uint32_t forwarded_reads;   /* pieces outstanding in the whole root */
    uint32_t rcb_bytes;         /* Read Completion Boundary: 64 or 128 */
    uint32_t completion_bytes;  /* largest completion of a memory read */
    FabMemoryParams memory;
    FabIommuParams iommu;
    FabMmioParams mmio;
    FabCpuParams cpu;
} FabRootParams;

typedef struct FabRootCounters {
    uint64_t memory_read_bytes, memory_written_bytes;
    uint64_t forwarded_reads, forwarded_writes; /* pieces */
    SimTime forward_wait_ps; /* a read between root ports lacked a tag */
} FabRootCounters;

typedef struct FabIommuCounters {
    uint64_t hits, misses, walks, faults;
    SimTime wait_ps; /* for a walk to begin */
} FabIommuCounters;

/* A root of @fabric (owned by it) named @name, such as "lender". Root ports
 * are added with fab_root_add_port(). */
FabRoot *fab_root_new(FabFabric *fabric, const char *name,
                      const FabRootParams *params);
FabComponent *fab_root_component(FabRoot *root);
/* The root that @component is; NULL if it is none. */
FabRoot *fab_component_as_root(FabComponent *component);
const FabRootParams *fab_root_params(const FabRoot *root);
FabPort *fab_root_add_port(FabRoot *root, const char *name,
                           const FabPortParams *params);

/*
 * Reserves @size_bytes of the host's memory, aligned to @align_bytes (a power
 * of two). Taken from above 4 GiB when memory reaches there, as for large
 * buffers on real hosts. Returns false if it does not fit.
 */
bool fab_root_alloc(FabRoot *root, uint64_t size_bytes, uint64_t align_bytes,
                    FabBusAddr *ret_addr);

/*
 * Maps [@addr, +@size_bytes) of the host's address space for its devices, and
 * returns the address that a device has to use: the same with the IOMMU off,
 * one mapped by pages of iommu.page_bytes with it on.
 */
bool fab_root_map_dma(FabRoot *root, FabBusAddr addr, uint64_t size_bytes,
                      FabBusAddr *ret_device_addr, GError **error);

/* Takes back the mapping of fab_root_map_dma() that holds this address. A range
 * that was mapped several times stays until it is taken back as often. */
void fab_root_unmap_dma(FabRoot *root, FabBusAddr device_addr);

/* The addresses of MSIs, which no IOMMU translates (Intel SDM 3A s11.11). */
#define FAB_MSI_BASE  0xfee00000u
#define FAB_MSI_BYTES 0x100000u

typedef struct FabRange {
    FabBusAddr addr;
    uint64_t size_bytes; /* 0: not there */
} FabRange;

/* The addresses of memory: below 4 GiB, and above. */
void fab_root_memory_ranges(const FabRoot *root, FabRange ranges[2]);

/*
 * Direct use of the IOMMU, of a root whose iommu.enabled is set. Each domain
 * has device addresses of its own. Domain 0 is for all devices that are not
 * attached to another. Its addresses are taken with fab_root_take_iova(),
 * aligned to
 * @align_bytes (a power of two), so that they do not collide with those that
 * fab_root_map_dma() gives out.
 */
#define FAB_DOMAINS 256u

bool fab_root_take_iova(FabRoot *root, uint64_t size_bytes,
                        uint64_t align_bytes, FabBusAddr *ret_iova,
                        GError **error);
void fab_root_give_iova(FabRoot *root, FabBusAddr iova);

/* Maps [@iova, +@size_bytes) of @domain to @addr of the host: in pages of
 * iommu.page_bytes if all three allow that, otherwise of 2 MiB or 4 KiB. Fails
 * with FAB_ERROR_ADDRESS if a part of it is mapped already. */
bool fab_root_iommu_map(FabRoot *root, unsigned domain, FabBusAddr iova,
                        FabBusAddr addr, uint64_t size_bytes, GError **error);
void fab_root_iommu_unmap(FabRoot *root, unsigned domain, FabBusAddr iova,
                          uint64_t size_bytes);
/* Bytes of device addresses mapped, in all domains. */
uint64_t fab_root_iommu_mapped(const FabRoot *root);

/* Puts the device of this Requester ID into @domain. */
void fab_root_attach(FabRoot *root, FabBdf device, unsigned domain);

/* Called when a write to a watched address has become visible in memory. */
typedef void (*FabWatchFn)(void *owner, FabBusAddr addr, uint64_t data);

/* Watches [@addr, +@size_bytes) of the memory. Returns a handle, never 0. */
unsigned fab_root_watch(FabRoot *root, FabBusAddr addr, uint64_t size_bytes,
                        FabWatchFn fn, void *owner);
void fab_root_unwatch(FabRoot *root, unsigned handle);

/* The CPU writes @size_bytes (at most 64) to @addr, which is a device's or
 * memory's. @flow is for observers. */
void fab_root_write(FabRoot *root, FabBusAddr addr, uint32_t size_bytes,
                    uint64_t data, uint32_t flow);

/* Called when a write of the CPU has left it. */
typedef void (*FabSentFn)(void *owner);

/*
 * As fab_root_write(), and calls @fn (nullable) when the write has been handed
 * to a root port, is in memory, or was refused because nothing claims it. A
 * root port takes a few writes only, and then the CPU stalls. So a caller that
 * gives the next write from @fn writes no faster than the link carries.
 */
void fab_root_write_then(FabRoot *root, FabBusAddr addr, uint32_t size_bytes,
                         uint64_t data, uint32_t flow, FabSentFn fn,
                         void *owner);

/* Called with the completion's status. */
typedef void (*FabReadFn)(void *owner, FabStatus status);

/* The CPU reads @size_bytes (at most 64) from @addr, and calls @fn when the
 * data are there. The read waits while cpu.mmio_reads are outstanding. */
void fab_root_read(FabRoot *root, FabBusAddr addr, uint32_t size_bytes,
                   FabReadFn fn, void *owner, uint32_t flow);

const FabRootCounters *fab_root_counters(const FabRoot *root);
const FabIommuCounters *fab_root_iommu_counters(const FabRoot *root);

#endif
