/* SPDX-License-Identifier: MIT */
#include "fab_dpc.h"
#include "fab_fabric_priv.h"
#include "fab_outage.h"

/* The Root or Downstream Port that a message of @port, an Upstream Port or
 * endpoint, comes to; NULL if it is lost. */
static FabPort *port_above(const FabPort *port)
{
    return port->peer && !fab_port_is_down(port) &&
                   fab_port_is_downstream(port->peer)
               ? port->peer
               : NULL;
}

void fab_error_report(FabPort *port, FabSeverity severity)
{
    bool is_own = true;

    if (port->owner->kind == FAB_KIND_NTB) {
        port = port->owner->ports[0]; /* its function is below this one */
    }
    if (!fab_port_is_downstream(port)) {
        port = port_above(port);
        is_own = false;
    }
    while (port && !fab_dpc_take(port, severity, is_own)) {
        port = port->owner->kind == FAB_KIND_SWITCH
                   ? port_above(port->owner->ports[0])
                   : NULL;
        is_own = false;
    }
}

void fab_timeout_count(FabPort *port)
{
    port->counters.completion_timeouts++;
    fab_error_report(port, FAB_SEVERITY_NONFATAL);
}
