/* SPDX-License-Identifier: MIT */
#include "fab_link_priv.h"

#include "fab_account_priv.h"

/* ---- Parts ------------------------------------------------------------ */

static void special_update(FabPort *port)
{
    port->special = false;
    for (const FabLinkPart *part = port->parts; part; part = part->next) {
        port->special |= part->is_special;
    }
}

void fab_link_add(FabPort *port, FabLinkPart *part, const FabLinkOps *ops,
                  bool is_special)
{
    g_assert(ops->free && !fab_link_find(port, ops));
    part->ops = ops;
    part->port = port;
    part->is_special = is_special;
    part->next = port->parts;
    port->parts = part;
    special_update(port);
}

void fab_link_remove(FabLinkPart *part)
{
    FabLinkPart **at = &part->port->parts;

    while (*at != part) {
        at = &(*at)->next;
    }
    *at = part->next;
    special_update(part->port);
}

FabLinkPart *fab_link_find(const FabPort *port, const FabLinkOps *ops)
{
    FabLinkPart *part = port->parts;

    while (part && part->ops != ops) {
        part = part->next;
    }
    return part;
}

void fab_link_set_special(FabLinkPart *part, bool is_special)
{
    part->is_special = is_special;
    special_update(part->port);
}

void fab_link_free(FabPort *port)
{
    while (port->parts) {
        port->parts->ops->free(port->parts);
    }
}

/* ---- Operations ------------------------------------------------------- */

bool fab_link_takes_wire(FabPort *port, SimTime now)
{
    for (FabLinkPart *part = port->parts; part; part = part->next) {
        if (part->ops->takes_wire && part->ops->takes_wire(part, now)) {
            return true;
        }
    }
    return false;
}

bool fab_link_is_pending(const FabPort *port)
{
    for (const FabLinkPart *part = port->parts; part; part = part->next) {
        if (part->ops->is_pending && part->ops->is_pending(part)) {
            return true;
        }
    }
    return false;
}

bool fab_link_discards(FabPort *port, FabTlp *tlp, SimTime end)
{
    for (FabLinkPart *part = port->parts; part; part = part->next) {
        if (part->ops->discards && part->ops->discards(part, tlp, end)) {
            return true;
        }
    }
    return false;
}

void fab_link_sends(FabPort *port, FabTlp *tlp)
{
    for (FabLinkPart *part = port->parts; part; part = part->next) {
        if (part->ops->sends) {
            part->ops->sends(part, tlp);
        }
    }
}

bool fab_link_carries(FabPort *port, FabTlp *tlp, SimTime start, SimTime end)
{
    for (FabLinkPart *part = port->parts; part; part = part->next) {
        if (part->ops->carries && part->ops->carries(part, tlp, start, end)) {
            return true;
        }
    }
    return false;
}

void fab_link_sends_dllp(FabPort *port)
{
    for (FabLinkPart *part = port->parts; part; part = part->next) {
        if (part->ops->sends_dllp) {
            part->ops->sends_dllp(part);
        }
    }
}

bool fab_link_drops(FabPort *ingress, FabTlp *tlp)
{
    for (FabLinkPart *part = ingress->parts; part; part = part->next) {
        if (part->ops->drops && part->ops->drops(part, tlp)) {
            return true;
        }
    }
    return false;
}

bool fab_link_loses_update(FabPort *ingress, FabClass cls,
                           FabCreditSum *credits, SimTime time)
{
    for (FabLinkPart *part = ingress->parts; part; part = part->next) {
        if (part->ops->loses_update &&
            part->ops->loses_update(part, cls, credits, time)) {
            return true;
        }
    }
    return false;
}

bool fab_link_contains(FabPort *port, FabSeverity severity, bool is_own)
{
    for (FabLinkPart *part = port->parts; part; part = part->next) {
        if (part->ops->contains &&
            part->ops->contains(part, severity, is_own)) {
            return true;
        }
    }
    return false;
}

void fab_link_forget(FabPort *port)
{
    for (FabLinkPart *part = port->parts; part; part = part->next) {
        if (part->ops->forget) {
            part->ops->forget(part);
        }
    }
}

void fab_link_pause(FabPort *port, SimTime end)
{
    for (FabLinkPart *part = port->parts; part; part = part->next) {
        if (part->ops->pause) {
            part->ops->pause(part, end);
        }
    }
}

void fab_link_waits(const FabPort *port, FabWaits *waits)
{
    for (const FabLinkPart *part = port->parts; part; part = part->next) {
        if (part->ops->waits) {
            part->ops->waits(part, waits);
        }
    }
}

void fab_link_waiters(const FabPort *port, const FabObserver *observer)
{
    for (const FabLinkPart *part = port->parts; part; part = part->next) {
        if (part->ops->waiters) {
            part->ops->waiters(part, observer);
        }
    }
}

FabStatus fab_link_status(const FabPort *port)
{
    FabStatus status = FAB_STATUS_UR;

    for (const FabLinkPart *part = port->parts; part; part = part->next) {
        if (part->ops->status) {
            status = part->ops->status(part);
        }
    }
    return status;
}

/* ---- Losses ------------------------------------------------------------ */

void fab_link_trace_lost(FabPort *port, const FabTlp *tlp)
{
    FabFabric *fabric = port->owner->fabric;
    SimTime now = sim_engine_now(fabric->engine);
    FabTraceRecord record = {FAB_TRACE_LOST, port, tlp, now, now, now};

    if (fabric->trace_categories & FAB_TRACE_LOST) {
        fabric->trace_fn(fabric->trace_data, &record);
    }
}

void fab_link_lose(FabPort *port, FabTlp *tlp)
{
    port->counters.lost_tlps++;
    fab_link_trace_lost(port, tlp);
    fab_account_lose(port->owner, tlp, FAB_LOSS_LINK_DOWN);
    fab_tlp_free(port->owner->fabric, tlp);
}
