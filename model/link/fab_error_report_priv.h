/* SPDX-License-Identifier: MIT */
#ifndef FAB_ERROR_REPORT_PRIV_H
#define FAB_ERROR_REPORT_PRIV_H

#include "fab_link_priv.h"

/*
 * Uncorrectable errors. An error is logged at a port. If the port lies below a
 * Root or Downstream Port, its component sends an ERR_FATAL or ERR_NONFATAL
 * Message up, which takes no time here. The first port on the way that contains
 * the error (FabLinkOps.contains) ends it.
 */

/* Reports an uncorrectable error that is logged at @port. */
void fab_error_report(FabPort *port, FabSeverity severity);

/* Counts a request through @port that was given up, and reports the error. */
void fab_timeout_count(FabPort *port);

#endif
