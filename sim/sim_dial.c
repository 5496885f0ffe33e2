/* SPDX-License-Identifier: MIT */
#include "sim_dial_priv.h"

void sim_dial_init(SimDial *dial, uint32_t room)
{
    dial->used = 0;
    dial->room = room;
    dial->end = (SimEvent){.time = -1, .key = UINT64_MAX};
    for (unsigned chain = 0; chain <= SIM_DIAL_LATER; chain++) {
        dial->first[chain] = &dial->end;
    }
}

/* The link to @event in @chain; NULL: it is not there. */
static SimEvent **link_find(SimDial *dial, unsigned chain,
                            const SimEvent *event)
{
    SimEvent **link = &dial->first[chain];

    while (*link != &dial->end && *link != event) {
        link = &(*link)->next;
    }
    return *link == event ? link : NULL;
}

void sim_dial_remove(SimDial *dial, SimEvent *event)
{
    unsigned step =
        (uint64_t)event->time >> SIM_DIAL_STEP_BITS & (SIM_DIAL_STEPS - 1);
    SimEvent **link = link_find(dial, step, event);

    if (!link) {
        link = link_find(dial, SIM_DIAL_LATER, event);
    }
    *link = event->next;
    if (dial->first[step] == &dial->end) {
        dial->used &= ~(UINT64_C(1) << step);
    }
    dial->room++;
    event->slot = 0;
}

void sim_dial_list(const SimDial *dial, SimEvent **ret_events)
{
    for (unsigned chain = 0; chain <= SIM_DIAL_LATER; chain++) {
        for (SimEvent *event = dial->first[chain]; event != &dial->end;
             event = event->next) {
            *ret_events++ = event;
        }
    }
}
