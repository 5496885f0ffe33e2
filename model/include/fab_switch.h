/* SPDX-License-Identifier: MIT */
#ifndef FAB_SWITCH_H
#define FAB_SWITCH_H

#include "fab_fabric.h"

/*
 * A switch: port 0 is the Upstream Port, the others are Downstream Ports.
 * Requests are routed by address through the bridge ranges that enumeration has
 * set, completions by ID (PCIe 5.0 s1.3.3, s2.2.4). Each egress arbitrates
 * between the ingress ports.
 */

/* A switch of @fabric (owned by it) with @downstream Downstream Ports.
 * @upstream and @params say what the Upstream Port and the others can do; their
 * latency is that of the switch. With @acs_redirect requests and completions
 * from one Downstream Port to another go up to the root (ACS P2P Request and
 * Completion Redirect, PCIe 5.0 s6.12). */
FabComponent *fab_switch_new(FabFabric *fabric, const char *name,
                             unsigned downstream, const FabPortParams *upstream,
                             const FabPortParams *params, bool acs_redirect);

#endif
