/* SPDX-License-Identifier: MIT */
#ifndef FAB_TLP_H
#define FAB_TLP_H

#include <stdbool.h>
#include <stdint.h>

#include "sim_time.h"

typedef struct FabPort FabPort;
typedef struct FabTlp FabTlp;

/* The address in a TLP. It is a device address before the IOMMU, and a host
 * address after it. */
typedef uint64_t FabBusAddr;

/* The address of a buffer that could not be mapped. No BAR or memory is here or
 * above. */
#define FAB_ADDR_UNMAPPED (UINT64_C(1) << 63)

/* Bus, device and function number (PCIe 5.0 s2.2.6.2). */
typedef uint16_t FabBdf;

#define FAB_BDF(bus, dev, fn) ((FabBdf)((bus) << 8 | (dev) << 3 | (fn)))
#define FAB_BDF_BUS(bdf)      ((bdf) >> 8)
#define FAB_BDF_DEV(bdf)      ((bdf) >> 3 & 0x1f)
#define FAB_BDF_FN(bdf)       ((bdf)&0x7)

/* Flow-control classes (PCIe 5.0 s2.6.1). */
typedef enum FabClass {
    FAB_CLASS_P,
    FAB_CLASS_NP,
    FAB_CLASS_CPL,
    FAB_CLASSES,
} FabClass;

/* TLP types (PCIe 5.0 s2.2.1.1). The address decides between a header of 3 DW
 * and one of 4 DW. */
typedef enum FabTlpType {
    FAB_TLP_MRD,
    FAB_TLP_MWR,
    FAB_TLP_FETCHADD, /* AtomicOps: all three are non-posted with data, and */
    FAB_TLP_SWAP,     /* have the same timing and routing */
    FAB_TLP_CAS,
    FAB_TLP_CPL,
    FAB_TLP_CPLD,
    FAB_TLP_MSG, /* routed by ID, to completer_id (s2.2.8.3) */
    FAB_TLP_MSGD,
    FAB_TLP_TYPES,
} FabTlpType;

/* Completion Status (PCIe 5.0 s2.2.9). */
typedef enum FabStatus {
    FAB_STATUS_SC = 0,
    FAB_STATUS_UR = 1,
    FAB_STATUS_CA = 4,
    FAB_STATUS_TIMED_OUT = 8, /* of an operation, never in a TLP: the requester
                                 got no completion (s2.8) */
    FAB_STATUS_POISONED = 9,  /* the same: a completion was poisoned (s2.7.2) */
} FabStatus;

/* Address Type of a memory request (PCIe 5.0 s2.2.4.1). */
typedef enum FabAt {
    FAB_AT_UNTRANSLATED = 0,
    FAB_AT_REQUEST = 1, /* of an MRD: a Translation Request */
    FAB_AT_TRANSLATED = 2,
} FabAt;

/* Attr bits (PCIe 5.0 s2.2.6.3). */
#define FAB_ATTR_NS  0x1u /* No Snoop */
#define FAB_ATTR_RO  0x2u /* Relaxed Ordering */
#define FAB_ATTR_IDO 0x4u /* ID-Based Ordering */

/*
 * A Transaction Layer Packet. It carries sizes rather than contents. `data` is
 * the value of a small write, or the value that a small read got from a watched
 * word. TLPs come from the fabric's pool and have one owner at a time: a
 * component, a queue of a port, or a link.
 */
struct FabTlp {
    FabTlp *next; /* in the queue of its owner */

    /* For the present owner. */
    FabPort *ingress; /* port whose receive buffer it occupies (nullable) */
    SimTime tail_at;  /* when its last byte is in at @ingress and the latency of
                         the component is over */
    SimTime ready_at; /* earliest time at which an egress may send it */
    union {           /* set and read by the present owner only */
        SimTime arrive_at; /* link: when the far component acts on it */
        SimTime due_at;    /* completer: when a read has its data or a write is
                              visible; CPU: when it is at the root port */
    };
    union {                     /* set and read by the present owner only */
        uint64_t egress_order;  /* port: sequence number in its queues */
        uint64_t posted_before; /* root, until it is dispatched: number of
                                   posted requests that came in at the port
                                   before it */
        uint64_t path_order;    /* root, between two ports: sequence number of
                                   its dispatch */
    };

    /* The header. */
    FabBusAddr
        addr; /* CplD: address of the first byte (the wire carries 7 bits) */
    uint64_t data;
    uint32_t payload_bytes; /* payload of this TLP */
    uint32_t request_bytes; /* MRd: bytes requested; completion: Byte Count, the
                               bytes left of the request, this TLP included */
    FabBdf requester_id;
    FabBdf completer_id; /* message: ID of its receiver */
    uint16_t tag;
    uint8_t cls;          /* FabClass, follows from type */
    uint8_t link_epoch;   /* link_epoch of @ingress when it was sent */
    uint8_t type : 4;     /* FabTlpType */
    uint8_t at : 2;       /* FabAt of a memory request */
    uint8_t poisoned : 1; /* the EP bit: its data are bad (s2.7.2) */
    bool ecrc : 1;        /* carries a TLP digest */
    uint8_t attr : 3;     /* FAB_ATTR_ */
    uint8_t status : 4;   /* FabStatus of a completion */
    uint8_t metered : 1;  /* the flow's meter counts its payload, or that of the
                             completions of this request */

    /* Room on a link. fab_port_send() sets both, because each hop needs them
     * many times, and an address translation may change them. */
    uint16_t wire_bytes;   /* framing included */
    uint16_t data_credits; /* units of 16 bytes (PCIe 5.0 s2.6.1) */

    /* For observers: only `transaction` has another use. */
    uint16_t hops;        /* links crossed so far */
    uint32_t flow;        /* number of the flow it belongs to; 0: none */
    uint32_t transaction; /* the same in a non-posted request and its
                             completions; a root that forwards a request in
                             pieces gives each piece its own. A requester that
                             gives up tells late completions by it, as hardware
                             does that does not use their tag again too early.
                             The TLPs of a metered write have one in common */
};

static inline FabClass fab_tlp_type_class(FabTlpType type)
{
    switch (type) {
    case FAB_TLP_MWR:
    case FAB_TLP_MSG:
    case FAB_TLP_MSGD:
        return FAB_CLASS_P;
    case FAB_TLP_CPL:
    case FAB_TLP_CPLD:
        return FAB_CLASS_CPL;
    default:
        return FAB_CLASS_NP;
    }
}

static inline bool fab_tlp_is_completion(const FabTlp *tlp)
{
    return tlp->cls == FAB_CLASS_CPL;
}

/* Returns whether a completion ends its request (Byte Count, PCIe 5.0 s2.2.9).
 */
static inline bool fab_tlp_is_last_completion(const FabTlp *tlp)
{
    return tlp->status != FAB_STATUS_SC || tlp->type == FAB_TLP_CPL ||
           tlp->payload_bytes >= tlp->request_bytes;
}

/* Header size: 3 DW, or 4 DW for a request to an address of 4 GiB and above
 * (PCIe 5.0 s2.2.4.1). */
static inline uint32_t fab_tlp_header_bytes(const FabTlp *tlp)
{
    return !fab_tlp_is_completion(tlp) && tlp->addr >> 32 ? 16 : 12;
}

/* DWs of payload. A partly used first or last DW counts whole (s2.2.5). */
static inline uint32_t fab_tlp_payload_dw(const FabTlp *tlp)
{
    return tlp->payload_bytes
               ? ((uint32_t)(tlp->addr & 3) + tlp->payload_bytes + 3) / 4
               : 0;
}

/* Bytes of header, whole DWs of payload, and ECRC. */
static inline uint32_t fab_tlp_bytes(const FabTlp *tlp)
{
    return fab_tlp_header_bytes(tlp) + fab_tlp_payload_dw(tlp) * 4 +
           (tlp->ecrc ? 4 : 0);
}

/* Data credits that @tlp consumes, units of 16 bytes (PCIe 5.0 s2.6.1). */
static inline uint32_t fab_tlp_data_credits(const FabTlp *tlp)
{
    return (fab_tlp_payload_dw(tlp) + 3) / 4;
}

/* Returns whether a later TLP may overtake an earlier one for the same egress.
 */
typedef enum FabPass {
    FAB_PASS_NO,  /* "No": passing would break the producer-consumer model */
    FAB_PASS_MAY, /* "Y/N" */
    FAB_PASS_MUST /* "Yes": without passing, a blocked @earlier can deadlock */
} FabPass;

/* The ordering rules of PCIe 5.0 s2.4.1, table 2-40, for one Traffic Class. */
FabPass fab_tlp_may_pass(const FabTlp *later, const FabTlp *earlier);

#endif
