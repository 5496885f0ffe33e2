/* SPDX-License-Identifier: MIT */
#include "fab_error_report_priv.h"

#include "fab_account_priv.h"

/* The Root or Downstream Port that a message of @port, an Upstream Port or
 * endpoint, comes to; NULL if it is lost. */
static FabPort *port_above(const FabPort *port)
{
    return port->peer && !port->is_down && fab_port_is_downstream(port->peer)
               ? port->peer
               : NULL;
}

void fab_error_report(FabPort *port, FabSeverity severity)
{
    bool is_own = true;

    if (port->role == FAB_PORT_CABLE) {
        port = port->up; /* the function of an adapter is below this one */
    }
    if (!fab_port_is_downstream(port)) {
        port = port_above(port);
        is_own = false;
    }
    while (port && !fab_link_contains(port, severity, is_own)) {
        port = port->up ? port_above(port->up) : NULL;
        is_own = false;
    }
}

void fab_timeout_count(FabPort *port)
{
    port->counters.completion_timeouts++;
    fab_error_report(port, FAB_SEVERITY_NONFATAL);
}
