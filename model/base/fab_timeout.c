/* SPDX-License-Identifier: MIT */
#include "fab_fabric_priv.h"

SimTime fab_timeout_begin(const FabFabric *fabric, SimEvent *event)
{
    SimTime deadline;

    if (G_LIKELY(!fabric->completion_timeout)) {
        return SIM_TIME_NONE;
    }
    deadline = sim_engine_now(fabric->engine) + fabric->completion_timeout;
    if (!sim_event_is_pending(event)) {
        sim_event_schedule(event, deadline);
    }
    return deadline;
}

void fab_timeout_next(SimEvent *event, SimTime next)
{
    if (next != SIM_TIME_NONE &&
        (!sim_event_is_pending(event) || event->time > next)) {
        sim_event_reschedule(event, next);
    }
}
