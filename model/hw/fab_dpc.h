/* SPDX-License-Identifier: MIT */
#ifndef FAB_DPC_H
#define FAB_DPC_H

#include "fab_port_priv.h"

/*
 * Uncorrectable errors, and Downstream Port Containment (PCIe 5.0 s6.2.10). An
 * error is logged at a port. If the port lies below a Root or Downstream Port,
 * its component sends an ERR_FATAL or ERR_NONFATAL Message up, which takes no
 * time here. The first port with DPC on the way, for which the error is severe
 * enough, takes its link down, until software releases it.
 */
typedef struct FabDpc FabDpc;

/* The severities that AER has without software (s7.8.4.4). Errors that s6.2.3.2
 * makes Advisory Non-Fatal, such as UR with a completion, are not reported. */
typedef enum FabSeverity {
    FAB_SEVERITY_NONFATAL,
    FAB_SEVERITY_FATAL,
} FabSeverity;

/* Reports an uncorrectable error that is logged at @port. */
void fab_error_report(FabPort *port, FabSeverity severity);

/* Tells @port of an error, which it has found itself if @is_own. Returns true
 * if the message goes no further. */
bool fab_dpc_take(FabPort *port, FabSeverity severity, bool is_own);

/* Status of the completion of a request to the link of @port, which is down. */
FabStatus fab_dpc_status(const FabPort *port);

/* Makes the state of @port if params.dpc asks for it. */
void fab_dpc_init(FabPort *port);
void fab_dpc_free(FabPort *port);

#endif
