/* SPDX-License-Identifier: MIT */
#ifndef IOMMU_RIG_H
#define IOMMU_RIG_H

#include <check.h>

#include "fab_iommu_priv.h"

/* An IOMMU with an engine, and TLPs that record how their translation ends. */

#define KIB4      (1ULL << 12)
#define MIB2      (1ULL << 21)
#define GIB1      (1ULL << 30)
#define RANK      7
#define RIG_PORTS 3 /* if params.per_port is set */

#define assert_time_eq(a, b) ck_assert_int_eq((intmax_t)(a), (intmax_t)(b))

/* One access: the request and its result. */
typedef struct Access {
    FabTlp tlp;      /* the IOMMU may change its address */
    FabBusAddr addr; /* of the request */
    SimTime time;
    SimTime done; /* end of the translation; -1: not yet */
    FabBusAddr phys;
    bool fault;
    bool inside;    /* fab_iommu_translate() is running for it */
    uint32_t order; /* number of accesses that ended before this one */
} Access;

typedef struct Rig {
    SimEngine *engine;
    FabIommu *iommu;
    Access *accesses;
    uint32_t count;
    uint32_t ended;
    void (*more)(struct Rig *rig, Access *access); /* nullable */
    uint32_t next;                                 /* used by `more` */
    uint64_t stride;
    uint32_t pages;
    FabPort *ingress;    /* of the accesses (nullable) */
    uint32_t read_bytes; /* the accesses are reads of this size; 0: writes */
} Rig;

/* IOTLB of 64 entries, fully associative; walks of 280 ns, 6 at a time; pages
 * of 4 KiB. */
extern const FabIommuParams rig_usual;

/* A rig with a realized IOMMU and room for @count accesses. */
Rig *rig_new(const FabIommuParams *params, uint32_t count);
void rig_free(Rig *rig);

/* Calls fab_iommu_map() and fails the test on an error. */
void rig_map(Rig *rig, FabBusAddr iova, FabBusAddr phys, uint64_t size,
             uint64_t page);

/* The callback of the IOMMU for the end of a translation. It records the result
 * in the access, then calls rig->more. */
void rig_done(void *owner, FabTlp *tlp, FabBusAddr phys, bool fault);

/* Requests the translation of @addr now and records it in access @at. */
FabTranslation rig_ask(Rig *rig, uint32_t at, FabBusAddr addr);

/* Translates @addr, runs the engine until no event is left, and returns whether
 * the IOTLB was hit. Uses access 0. */
bool rig_touch(Rig *rig, FabBusAddr addr);

#endif
