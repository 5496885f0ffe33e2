/* SPDX-License-Identifier: MIT */
#ifndef SIM_DIAL_PRIV_H
#define SIM_DIAL_PRIV_H

#include "sim_engine.h"

/*
 * A few events in order. Those that are due soon lie around a dial: each step
 * of it stands for about a nanosecond, and has a chain of the events that are
 * due in it, mostly none or one. All later ones are in one more chain. Chains
 * are sorted. An event does not move to the dial when its time comes near: the
 * first event is that of the dial or that of the other chain.
 *
 * In a sorted list, a new event would pass five others on the way to its place,
 * more or less, and a processor cannot foresee how many.
 */

/* The slot of events that are in a dial. */
#define SIM_DIAL_SLOT 0x20000000u

/* The most events that a dial may have. */
#define SIM_DIAL_MOST 32u

#define SIM_DIAL_STEPS     64u
#define SIM_DIAL_STEP_BITS 10 /* a step takes 1024 ps */

/* The chain of the events that are due after the last step. */
#define SIM_DIAL_LATER SIM_DIAL_STEPS

typedef struct SimDial {
    uint64_t used; /* bit n is set: step n has events */
    uint32_t room; /* number of events that may be added */
    SimEvent *first[SIM_DIAL_STEPS + 1]; /* by chain */
    SimEvent end; /* of each chain: after any event, so that no search has to
                     look for NULL */
} SimDial;

/* Makes @dial empty, with room for @room events. Does not touch the slots of
 * its events: the caller sets them. */
void sim_dial_init(SimDial *dial, uint32_t room);
void sim_dial_remove(SimDial *dial, SimEvent *event);
/* Stores all events at @ret_events, chain by chain. They stay in the dial. */
void sim_dial_list(const SimDial *dial, SimEvent **ret_events);

/* Returns whether @a is due before @b. The time of the end, -1, is the latest
 * one here. */
static inline bool sim_dial_is_before(const SimEvent *a, const SimEvent *b)
{
    return (uint64_t)a->time < (uint64_t)b->time ||
           (a->time == b->time && a->key < b->key);
}

/* Adds @event, due at or after @now. There must be room. */
static inline void sim_dial_add(SimDial *dial, SimEvent *event, SimTime now)
{
    uint64_t step = (uint64_t)event->time >> SIM_DIAL_STEP_BITS;
    uint64_t step_now = (uint64_t)now >> SIM_DIAL_STEP_BITS;
    SimEvent **link = &dial->first[SIM_DIAL_LATER];

    if (G_LIKELY(step - step_now < SIM_DIAL_STEPS)) {
        link = &dial->first[step % SIM_DIAL_STEPS];
        dial->used |= UINT64_C(1) << step % SIM_DIAL_STEPS;
    }
    while (sim_dial_is_before(*link, event)) {
        link = &(*link)->next;
    }
    event->next = *link;
    *link = event;
    event->slot = SIM_DIAL_SLOT;
    dial->room--;
}

/* The chain of the first event, at @now or later. */
static inline unsigned sim_dial_first_chain(const SimDial *dial, SimTime now)
{
    unsigned turn = (uint64_t)now >> SIM_DIAL_STEP_BITS & (SIM_DIAL_STEPS - 1);
    uint64_t turned =
        dial->used >> turn | dial->used << (-turn & (SIM_DIAL_STEPS - 1));
    const SimEvent *later = dial->first[SIM_DIAL_LATER];
    unsigned step;

    if (!turned) {
        return SIM_DIAL_LATER;
    }
    step = (turn + (unsigned)__builtin_ctzll(turned)) % SIM_DIAL_STEPS;
    /* The times alone decide, nearly always. */
    return G_UNLIKELY((uint64_t)later->time <=
                      (uint64_t)dial->first[step]->time) &&
                   sim_dial_is_before(later, dial->first[step])
               ? SIM_DIAL_LATER
               : step;
}

/* The first event, at @now or later; one with a time of -1 if there is none. */
static inline const SimEvent *sim_dial_peek(const SimDial *dial, SimTime now)
{
    return dial->first[sim_dial_first_chain(dial, now)];
}

/* Takes the first event; returns NULL if there is none or if it is due after
 * @limit. */
static inline SimEvent *sim_dial_take(SimDial *dial, SimTime now,
                                      uint64_t limit)
{
    unsigned chain = sim_dial_first_chain(dial, now);
    SimEvent *event = dial->first[chain];

    if (G_UNLIKELY((uint64_t)event->time > limit)) {
        return NULL;
    }
    dial->first[chain] = event->next;
    if (G_LIKELY(chain != SIM_DIAL_LATER)) {
        /* No branch, because the processor could not foresee it. */
        dial->used ^= (uint64_t)(event->next == &dial->end) << chain;
    }
    dial->room++;
    event->slot = 0;
    return event;
}

#endif
