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
 * most, but never earlier. A group that has gone while the wire was idle leaves
 * when the next DLLP is made: no TLP may wait for what was over long ago.
 */

static void due_set(FabPort *port)
{
    port->dllp_due = port->buffer.ack_waits
                         ? MIN(port->dllp_due_first, port->buffer.ack_due)
                         : port->dllp_due_first;
}

/* Removes the first group. Returns its number of DLLPs. */
static uint32_t group_take(FabPort *port)
{
    uint32_t count = port->dllps;

    port->dllps = port->dllps_later;
    port->dllp_due_first =
        port->dllps_later ? port->dllp_due_later : SIM_TIME_NONE;
    port->dllps_later = 0;
    port->dllp_due_later = 0;
    return count;
}

/* Counts @count DLLPs on the wire, of which the last is made at @last. */
static void dllps_count(FabPort *port, uint32_t count, SimTime last)
{
    uint64_t wire = fab_port_wire_time(port, FAB_DLLP_BYTES);
    uint64_t time = wire * count + port->time_carry;

    port->time_carry = time % FAB_PS_FRACTION;
    /* The others are on the wire while it would be idle. */
    port->busy_until = MAX(port->busy_until + (SimTime)(time / FAB_PS_FRACTION),
                           last + (SimTime)(wire / FAB_PS_FRACTION));
    port->counters.dllp_ps += time / FAB_PS_FRACTION;
    port->counters.busy_ps += time / FAB_PS_FRACTION;
}

void fab_port_pass_dllps(FabPort *port)
{
    SimTime now = sim_engine_now(port->owner->engine);
    SimTime dllp = fab_port_dllp_time(port) + 1;

    while (port->dllp_due_first <= now - dllp &&
           port->busy_until + (port->dllps + 1) * dllp <= now) {
        SimTime last = port->dllp_due_first;

        dllps_count(port, group_take(port), last);
    }
    due_set(port);
}

void fab_port_add_late_ack(FabPort *port, SimTime time)
{
    FabBuffer *buffer = &port->buffer;

    if (buffer->ack_waits) { /* no TLP has left since */
        fab_port_add_dllp(port, buffer->ack_due);
    } else {
        port->counters.dllps_sent++;
    }
    buffer->ack_waits = true;
    buffer->ack_due = time;
    port->dllp_due = MIN(port->dllp_due, time);
}

/* Sends the groups of which the last DLLP was made by @now, and a late Ack. */
static void dllps_send(FabPort *port, SimTime now)
{
    uint32_t count = 0;
    SimTime last = 0;

    if (port->dllp_due > now) {
        return;
    }
    while (port->dllp_due_first <= now) {
        last = port->dllp_due_first;
        count += group_take(port);
    }
    if (port->buffer.ack_waits && port->buffer.ack_due <= now) {
        port->buffer.ack_waits = false;
        last = MAX(last, port->buffer.ack_due);
        count++;
    }
    due_set(port);
    dllps_count(port, count, last);
}

void fab_port_send_due(FabPort *port, SimTime now)
{
    FabSkp *skp = &port->skp;

    if (G_UNLIKELY(now >= skp->next)) {
        /* Those before found the wire idle, because a TLP would have sent them
         * otherwise. */
        SimTime due =
            skp->next + (now - skp->next) / skp->interval * skp->interval;

        dllps_send(port, due - 1);
        port->busy_until = MAX(port->busy_until, due) + skp->time;
        skp->next = due + skp->interval;
    }
    dllps_send(port, now);
}

void fab_port_forget_dllps(FabPort *port)
{
    group_take(port);
    group_take(port);
    port->buffer.ack_waits = false;
    port->buffer.ack_due = 0;
    due_set(port);
}

SimTime fab_port_dllp_owed(const FabPort *port)
{
    SimTime now = sim_engine_now(port->owner->engine);
    uint64_t due = port->dllp_due_first <= now ? port->dllps : 0;

    due += port->buffer.ack_waits && port->buffer.ack_due <= now;
    if (port->dllps_later && port->dllp_due_later <= now) {
        due += port->dllps_later;
    }
    return fab_port_wire_time(port, FAB_DLLP_BYTES) * due / FAB_PS_FRACTION;
}
