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
} FabSpeed;

/* "8.0GT/s" and so on. */
const char *fab_speed_name(FabSpeed speed);

/* A credit count that stands for "infinite" (advertised as 0 at
 * initialisation, PCIe 5.0 s2.6.1). */
#define FAB_CREDITS_INFINITE UINT32_MAX

/* The credits that a receive buffer advertises: PH PD NPH NPD CPLH CPLD. */
typedef struct FabCredits {
    uint32_t header[FAB_CLASSES];
    uint32_t data[FAB_CLASSES]; /* units of 16 bytes */
} FabCredits;

/*
 * The least time that a port needs for a TLP, even on a faster wire:
 * (ceil((header + payload) / beat_bytes) + gap_beats) * beat_ps.
 * All zero: the wire alone decides.
 */
typedef struct FabService {
    uint32_t beat_bytes;
    uint32_t gap_beats;
    SimTime beat_ps;
    uint32_t width; /* of the link that has this beat; on another the beat
                       changes in proportion. 0: it never does */
} FabService;

/* When a receiver sends an Ack or UpdateFC DLLP for what it has received. */
typedef enum FabDllpPolicy {
    FAB_DLLP_SPEC, /* after the bytes that PCIe 5.0 s3.6.3.1 and s2.6.1.2 allow
                    */
    FAB_DLLP_EACH, /* after every TLP */
    FAB_DLLP_FREE, /* they take no bandwidth (for closed formulas) */
} FabDllpPolicy;

typedef enum FabArbitration {
    FAB_ARBITRATION_ROUND_ROBIN,
    FAB_ARBITRATION_WEIGHTED, /* bytes in proportion to ingress link rates */
    FAB_ARBITRATION_OLDEST,   /* by arrival at the component */
} FabArbitration;

typedef enum FabForwarding {
    FAB_FORWARDING_CUT_THROUGH,
    FAB_FORWARDING_STORE,
} FabForwarding;

/* The abilities of a port, and the behaviour of its receive side. */
typedef struct FabPortParams {
    FabSpeed max_speed;
    uint32_t max_width; /* lanes */
    uint32_t mps_bytes; /* Max_Payload_Size supported */
    FabCredits credits; /* its receive buffer */
    SimTime
        credit_latency; /* from a place free there to the UpdateFC's start */
    FabService service;
    FabDllpPolicy dllp;
    FabForwarding forwarding;
    FabArbitration arbitration;
    SimTime latency; /* from the first byte in (cut-through) or the last (store)
                        until the owner acts on the TLP */
} FabPortParams;

#endif
