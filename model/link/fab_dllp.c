/* SPDX-License-Identifier: MIT */
#include "fab_link_priv.h"

/*
 * Acks, Naks and UpdateFCs on the wire. A port that is told of a DLLP notes
 * when it will be made, because no TLP may wait for a DLLP that does not exist
 * yet: an Ack exists when its TLP has come in, an UpdateFC when credits are
 * free. DLLPs cost no event. The next TLP finds on the wire what was made by
 * then.
 *
 * A list of all times would cost more than the rest of a DLLP. So there are two
 * groups, and a group is on the wire when the last of it has been made. The
 * first group takes no DLLPs that are made later than that; the second does,
 * until it becomes the first. So a DLLP goes a few TLPs later than it could at
 * most, but never earlier. A group that is over when the next DLLP is made ends
 * at once, as no TLP may wait for what was over long ago.
 *
 * All DLLPs that have been made since the last TLP take the wire together: it
 * is taken until their time has passed since it was free, or until the last of
 * them is on it, whichever is later.
 */

static void due_set(FabPort *port)
{
    port->dllps.due = port->buffer.ack_waits
                          ? MIN(port->dllps.last, port->buffer.ack_due)
                          : port->dllps.last;
}

/* Counts @count DLLPs on the wire, of which the last is made at @last. */
static void dllps_count(FabPort *port, uint32_t count, SimTime last)
{
    uint64_t time = fab_port_wire_time(port, FAB_DLLP_BYTES * count) +
                    port->dllps.time_carry;

    port->dllps.time_carry = time % FAB_PS_FRACTION;
    port->busy_until = MAX(port->busy_until + (SimTime)(time / FAB_PS_FRACTION),
                           last + port->dllp_time);
    port->counters.dllp_ps += time / FAB_PS_FRACTION;
    port->counters.busy_ps += time / FAB_PS_FRACTION;
}

SIM_HOT void fab_port_add_late_ack(FabPort *port, SimTime time, SimTime now)
{
    FabBuffer *buffer = &port->buffer;

    if (buffer->ack_waits) { /* no TLP has left since */
        fab_port_add_dllp(port, buffer->ack_due, now);
    } else { /* it is counted, and in no group */
        port->counters.dllps_sent++;
        port->dllps.sent++;
        port->dllps.made++;
        port->dllps.first++;
    }
    buffer->ack_waits = true;
    buffer->ack_due = time;
    port->dllps.due = MIN(port->dllps.due, time);
}

/* All DLLPs of the first group have been made. */
static inline void group_end(FabPort *port)
{
    FabDllps *dllps = &port->dllps;

    dllps->due = dllps->last;
    dllps->made = dllps->first;
    dllps->first = (uint32_t)port->counters.dllps_sent;
    dllps->last = dllps->later_last ? dllps->later_last : SIM_TIME_NONE;
    dllps->later_last = 0;
}

/* Sends the DLLPs that were made by @now, and a late Ack. */
static void dllps_send(FabPort *port, SimTime now)
{
    FabDllps *dllps = &port->dllps;
    SimTime last = dllps->due;
    uint32_t count;

    if (dllps->due > now) {
        return;
    }
    while (dllps->last <= now) {
        group_end(port);
        last = dllps->due;
    }
    count = dllps->made - dllps->sent;
    dllps->sent = dllps->made;
    if (port->buffer.ack_waits && port->buffer.ack_due <= now) {
        port->buffer.ack_waits = false;
        last = MAX(last, port->buffer.ack_due);
        count++;
    }
    due_set(port);
    dllps_count(port, count, last);
}

SIM_HOT void fab_port_send_due(FabPort *port, SimTime now)
{
    FabSkp *skp = &port->skp;
    SimTime due;

    if (G_LIKELY(now < skp->next)) {
        dllps_send(port, now);
        return;
    }
    /* Those before found the wire idle, because a TLP would have sent them
     * otherwise. */
    due = skp->next + (now - skp->next) / skp->interval * skp->interval;
    port->busy_until += skp->time;
    dllps_send(port, now);
    port->busy_until = MAX(port->busy_until, due + skp->time);
    skp->next = due + skp->interval;
}

void fab_port_forget_dllps(FabPort *port)
{
    FabDllps *dllps = &port->dllps;

    dllps->last = SIM_TIME_NONE;
    dllps->later_last = 0;
    dllps->sent = (uint32_t)port->counters.dllps_sent;
    dllps->made = dllps->sent;
    dllps->first = dllps->sent;
    port->buffer.ack_waits = false;
    port->buffer.ack_due = 0;
    due_set(port);
}

SimTime fab_port_dllp_owed(const FabPort *port)
{
    SimTime now = sim_engine_now(port->owner->engine);
    const FabDllps *dllps = &port->dllps;
    uint64_t due = dllps->made - dllps->sent;

    if (dllps->last <= now) {
        due += dllps->first - dllps->made;
    }
    if (dllps->later_last && dllps->later_last <= now) {
        due += (uint32_t)port->counters.dllps_sent - dllps->first;
    }
    due += port->buffer.ack_waits && port->buffer.ack_due <= now;
    return fab_port_wire_time(port, FAB_DLLP_BYTES) * due / FAB_PS_FRACTION;
}
