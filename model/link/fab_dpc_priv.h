/* SPDX-License-Identifier: MIT */
#ifndef FAB_DPC_PRIV_H
#define FAB_DPC_PRIV_H

#include "fab_port_priv.h"

/*
 * Downstream Port Containment (PCIe 5.0 s6.2.10): the part of a port that takes
 * its link down when it learns of an uncorrectable error which is severe
 * enough, until software releases it.
 */

/* Makes the state of @port if params.dpc asks for it. */
void fab_dpc_init(FabPort *port);

#endif
