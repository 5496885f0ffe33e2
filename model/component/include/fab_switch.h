/* SPDX-License-Identifier: MIT */
#ifndef FAB_SWITCH_H
#define FAB_SWITCH_H

#include "fab_fabric.h"

/*
 * A switch: port 0 is the Upstream Port, the others are Downstream Ports.
 * The switch routes requests by address, through the bridge ranges that
 * enumeration has set, and completions by ID (PCIe 5.0 s1.3.3, s2.2.4). Each
 * egress arbitrates between the ingress ports.
 */

/* Makes a switch with @downstream Downstream Ports. @fabric owns it. @upstream
 * describes the Upstream Port, and @params the Downstream Ports; the latency of
 * these parameters is the latency of the switch. With @acs_redirect, requests
 * and completions from one Downstream Port to another go up to the root (ACS
 * P2P Request and Completion Redirect, PCIe 5.0 s6.12). */
FabComponent *fab_switch_new(FabFabric *fabric, const char *name,
                             unsigned downstream, const FabPortParams *upstream,
                             const FabPortParams *params, bool acs_redirect);

/* Exceptions from the redirect of ACS, for requests whose address is translated
 * (AT = 10b, PCIe 5.0 s6.12.1). */
typedef enum FabDirect {
    FAB_DIRECT_OFF,
    FAB_DIRECT_REQUESTS, /* ACS Direct Translated P2P is on */
    FAB_DIRECT_ON, /* it is on, and P2P Completion Redirect is off: completions
                      need no redirect, either */
} FabDirect;

/* Sets the exceptions of @sw, before realize; without it FAB_DIRECT_OFF. */
void fab_switch_set_direct(FabComponent *sw, FabDirect direct);

/*
 * Makes the switch @b a partition of the chip of the switch @a, before realize.
 * @b is in no other chip yet. Enumeration sees two switches. But requests and
 * completions from a Downstream Port of one partition to a device below another
 * go through the chip instead of the root, as through a single switch, unless
 * ACS redirects them. All partitions are in one host.
 */
void fab_switch_join(FabComponent *a, FabComponent *b);

/* The components of all partitions of the chip of @component; NULL if it is no
 * switch, or has a chip of its own. */
const GPtrArray *fab_switch_chip(const FabComponent *component);

/*
 * Sets the share of what comes in through port @index of @sw, at every egress
 * that has FAB_ARBITRATION_TABLE. Without it the share is 1. The phases of a
 * Port Arbitration Table are in proportion to the shares of the connected
 * ports; the egress itself has none. Realize fails if a table has fewer phases
 * than connected ports.
 */
void fab_switch_set_share(FabComponent *sw, unsigned index, uint32_t share);

#endif
