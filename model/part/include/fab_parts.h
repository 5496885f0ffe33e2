/* SPDX-License-Identifier: MIT */
#ifndef FAB_PARTS_H
#define FAB_PARTS_H

#include "fab_fabric.h"

/* Memory, cache and IOMMU, which a root or an endpoint has. */

/* The last-level cache. */
typedef struct FabCacheParams {
    uint64_t size_bytes; /* 0: none */
    SimTime latency;     /* of a read by a device whose lines are all in it */
    uint32_t ways;       /* of a set */
    uint32_t io_ways; /* of them those into which devices write lines that are
                         not in the cache; 0: such writes go to memory */
} FabCacheParams;

typedef struct FabMemoryParams {
    uint64_t size_bytes;
    SimTime latency;            /* of a read, from its arrival to data ready */
    uint64_t bandwidth_bytes_s; /* shared by reads and writes */
    uint32_t reads;             /* largest number served at the same time */
    FabCacheParams cache;
} FabMemoryParams;

typedef struct FabIommuParams {
    bool enabled;
    uint32_t iotlb_entries;
    uint32_t iotlb_ways; /* 0: fully associative */
    SimTime hit;         /* latency of an IOTLB hit */
    bool per_port;       /* each root port has an IOTLB of this size */
    uint32_t l2_entries; /* second level, for all root ports; 0: none */
    uint32_t l2_ways;    /* 0: fully associative */
    SimTime l2_hit;      /* latency of a look-up there, hit or miss */
    SimTime walk;        /* latency of a page walk, without its reads */
    SimTime walk_read;   /* latency of the read of a table; 0: in `walk` */
    /* Entries of the paging-structure caches, by the level that they spare the
     * way to: tables of 4 KiB pages, of 2 MiB pages, and of 1 GiB pages. */
    uint32_t walk_cache[3];
    uint32_t walks; /* largest number of concurrent page walks */
    bool in_order;  /* no request overtakes another one; a miss that finds no
                       walker stops the look-up of those behind it */
    SimTime replay; /* a walker stays busy, after its walk, for each 64 B of
                       the read that it walked for */
    uint64_t page_bytes; /* page size of new mappings: 4 KiB, 2 MiB, 1 GiB */
    bool loan_domains;   /* each loan has a domain of its own */
    bool mixed;          /* page_bytes is the largest size: a mapping has each
                            part of it in the largest pages that fit there */
    bool ats;            /* answers Translation Requests; see fab_endpoint.h */
    /* For loads that map and unmap each buffer: see fab_mapper_priv.h. */
    SimTime map;        /* of a core, to map a buffer */
    SimTime unmap;      /* of a core, to unmap a buffer, without invalidation */
    SimTime invalidate; /* of the IOMMU, for an invalidation and its wait
                           descriptor, without the devices' answers */
    bool lazy;          /* an invalidation for many unmappings */
    uint32_t flush_queue; /* unmappings that wait for one invalidation */
    SimTime flush_time;   /* longest wait for it */
} FabIommuParams;

typedef struct FabIommuCounters {
    uint64_t hits, misses, walks, faults;
    uint64_t l2_hits; /* of `misses`, found in the second level */
    SimTime wait_ps;  /* sum of the waits for a walk to begin */
} FabIommuCounters;

/* Called when a write to a watched address has become visible in memory. */
typedef void (*FabWatchFn)(void *owner, FabBusAddr addr, uint64_t data);

#endif
