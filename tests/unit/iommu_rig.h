/* SPDX-License-Identifier: MIT */
#ifndef IOMMU_RIG_H
#define IOMMU_RIG_H

#include <check.h>

#include "fab_iommu.h"

/* An IOMMU, an engine, and TLPs that note what becomes of them. */

#define KIB4 (1ULL << 12)
#define MIB2 (1ULL << 21)
#define GIB1 (1ULL << 30)
#define RANK 7

#define assert_time_eq(a, b) ck_assert_int_eq((intmax_t)(a), (intmax_t)(b))

/* One access: what is asked for and what came of it. */
typedef struct Access {
    FabTlp tlp;
    SimTime time; /* of the request */
    SimTime done; /* -1: not yet */
    FabBusAddr phys;
    bool fault;
    bool inside; /* fab_iommu_translate() is running for it */
    uint32_t order;
} Access;

typedef struct Rig {
    SimEngine *engine;
    FabIommu *iommu;
    Access *accesses;
    uint32_t count;
    uint32_t ended;
    void (*more)(struct Rig *rig, Access *access); /* nullable */
    uint32_t next;                                 /* for `more` */
    uint64_t stride;
    uint32_t pages;
} Rig;

/* 64 entries, fully associative; a walk of 280 ns, 6 at a time; 4 KiB. */
extern const FabIommuParams rig_usual;

/* Room for @count accesses; realized. */
Rig *rig_new(const FabIommuParams *params, uint32_t count);
void rig_free(Rig *rig);

/* As fab_iommu_map(), and must succeed. */
void rig_map(Rig *rig, FabBusAddr iova, FabBusAddr phys, uint64_t size,
             uint64_t page);

/* The IOMMU calls this when a translation ends: it notes the result, then calls
 * rig->more. */
void rig_done(void *owner, FabTlp *tlp, FabBusAddr phys, bool fault);

/* Asks for access @at of @addr, now. */
FabTranslation rig_ask(Rig *rig, uint32_t at, FabBusAddr addr);

/* Asks, waits, and tells whether it was a hit. */
bool rig_touch(Rig *rig, FabBusAddr addr);

#endif
