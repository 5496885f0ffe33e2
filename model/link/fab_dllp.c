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
 * most, but never earlier.
 */

/* Removes the first group. Returns its number of DLLPs. */
static uint32_t group_take(FabPort *port)
{
    uint32_t count = port->dllps;

    port->dllps = port->dllps_later;
    port->dllp_due = port->dllps_later ? port->dllp_due_later : SIM_TIME_NONE;
    port->dllps_later = 0;
    port->dllp_due_later = 0;
    return count;
}

/* Sends the groups of which the last DLLP was made by @now. */
static void dllps_send(FabPort *port, SimTime now)
{
    uint64_t wire = fab_port_wire_time(port, FAB_DLLP_BYTES), time;
    uint32_t count = 0;
    SimTime last = 0;

    while (port->dllp_due <= now) {
        last = port->dllp_due;
        count += group_take(port);
    }
    if (count > 0) {
        time = wire * count + port->time_carry;
        port->time_carry = time % FAB_PS_FRACTION;
        /* The others are on the wire while it would be idle. */
        port->busy_until =
            MAX(port->busy_until + (SimTime)(time / FAB_PS_FRACTION),
                last + (SimTime)(wire / FAB_PS_FRACTION));
        port->counters.dllp_ps += time / FAB_PS_FRACTION;
        port->counters.busy_ps += time / FAB_PS_FRACTION;
    }
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
    port->buffer.ack_due = 0;
}

SimTime fab_port_dllp_owed(const FabPort *port)
{
    SimTime now = sim_engine_now(port->owner->engine);
    uint64_t due = port->dllp_due <= now ? port->dllps : 0;

    if (port->dllps_later && port->dllp_due_later <= now) {
        due += port->dllps_later;
    }
    return fab_port_wire_time(port, FAB_DLLP_BYTES) * due / FAB_PS_FRACTION;
}
