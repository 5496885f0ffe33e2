/* SPDX-License-Identifier: MIT */
#ifndef FAB_LINK_PARAMS_H
#define FAB_LINK_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "fab_tlp.h"

/* Link speeds by transfer rate. */
typedef enum FabSpeed {
    FAB_SPEED_2_5GT = 1,
    FAB_SPEED_5_0GT,
    FAB_SPEED_8_0GT,
    FAB_SPEED_16_0GT,
    FAB_SPEED_32_0GT,
    FAB_SPEED_64_0GT, /* always in FLIT mode */
} FabSpeed;

/* "8.0GT/s" and so on. */
const char *fab_speed_name(FabSpeed speed);

/* The credit count for "infinite" (advertised as 0 at initialisation, PCIe 5.0
 * s2.6.1). */
#define FAB_CREDITS_INFINITE UINT32_MAX

/* The credits that a receive buffer advertises: PH PD NPH NPD CPLH CPLD. */
typedef struct FabCredits {
    uint32_t header[FAB_CLASSES];
    uint32_t data[FAB_CLASSES]; /* units of 16 bytes */
} FabCredits;

/*
 * The minimum time that a port needs for a TLP, even on a faster wire:
 * (ceil((header + payload) / beat_bytes) + gap_beats) * beat_ps.
 * If all members are zero, only the wire limits the port.
 */
typedef struct FabService {
    uint32_t beat_bytes;
    uint32_t gap_beats;
    SimTime beat_ps;
    uint32_t width; /* link width for which beat_ps holds; at another width
                       the beat changes in proportion; 0: beat_ps holds for
                       every width */
} FabService;

/* When a receiver sends an Ack or UpdateFC DLLP for received TLPs. */
typedef enum FabDllpPolicy {
    FAB_DLLP_SPEC, /* after the limits of PCIe 5.0 s3.6.3.1 and s2.6.1.2 */
    FAB_DLLP_EACH, /* after every TLP */
    FAB_DLLP_FREE, /* DLLPs take no bandwidth (for closed formulas) */
} FabDllpPolicy;

typedef enum FabArbitration {
    FAB_ARBITRATION_ROUND_ROBIN,
    FAB_ARBITRATION_WEIGHTED, /* bytes in proportion to ingress link rates */
    FAB_ARBITRATION_OLDEST,   /* by arrival at the component */
    FAB_ARBITRATION_TABLE,    /* TLPs in the order of a Port Arbitration Table
                                 (PCIe 5.0 s6.3.3.3) */
    FAB_ARBITRATION_GROUPS,   /* round robin between groups of sources; a root
                                 sets it, no part does */
} FabArbitration;

typedef enum FabForwarding {
    FAB_FORWARDING_CUT_THROUGH,
    FAB_FORWARDING_STORE,
} FabForwarding;

/* The errors for which a Downstream Port contains what is below it (Downstream
 * Port Containment, PCIe 5.0 s6.2.10), besides those that it finds itself. */
typedef enum FabDpcTrigger {
    FAB_DPC_OFF,      /* it contains nothing */
    FAB_DPC_FATAL,    /* ERR_FATAL Messages */
    FAB_DPC_NONFATAL, /* ERR_FATAL and ERR_NONFATAL Messages */
} FabDpcTrigger;

typedef struct FabDpcParams {
    FabDpcTrigger trigger;
    bool completer_abort; /* it completes requests with CA instead of UR */
    SimTime release;      /* from the trigger until software releases the link;
                             0: never */
    SimTime training;     /* from the release until the link carries TLPs */
} FabDpcParams;

/* The abilities of a port, and the behaviour of its receive side. */
typedef struct FabPortParams {
    FabSpeed max_speed;
    uint32_t max_width;     /* lanes */
    uint32_t mps_bytes;     /* Max_Payload_Size supported */
    FabCredits credits;     /* size of its receive buffer */
    SimTime credit_latency; /* from freed space to the UpdateFC's start */
    uint32_t collect_bytes; /* under FAB_DLLP_SPEC: wire bytes of freed TLPs of
                               a class for which it sends one UpdateFC; 0: as
                               the specification allows */
    uint32_t replay_bytes;  /* size of its replay buffer; 0: it never limits */
    FabService service;
    FabDllpPolicy dllp;
    FabForwarding forwarding;
    FabArbitration arbitration;
    uint32_t phases; /* of the table, for FAB_ARBITRATION_TABLE: 32, 64, 128 or
                        256 */
    SimTime fec; /* in FLIT mode, from the end of a flit until it is decoded and
                    checked */
    SimTime latency; /* from the arrival of the first byte (cut-through) or last
                        byte (store) until the component acts on the TLP */
    FabDpcParams dpc; /* of Root Ports and Downstream Ports */
} FabPortParams;

#endif
