/* SPDX-License-Identifier: MIT */
#ifndef SIM_LIST_H
#define SIM_LIST_H

#include "sim_engine.h"

/*
 * A few events in order. The engine takes them from the front. A new event goes
 * in from the back, because it is mostly due after nearly all others: the
 * events of a fabric of some hosts pass 0 to 5 others, and a heap of as many
 * would compare more.
 */

/* Set in the slots of events that are in a list. */
#define SIM_LIST_SLOT 0x20000000u

/* The most events that a list may have, and the room in which it moves on. */
#define SIM_LIST_MOST   32u
#define SIM_LIST_PLACES 256u

typedef struct SimListEntry {
    SimTime time;
    SimEvent *event;
} SimListEntry;

typedef struct SimList {
    uint32_t head;
    uint32_t end;
    /* The time of the entry before the head is -1, earlier than any event. */
    SimListEntry entries[SIM_LIST_PLACES];
} SimList;

void sim_list_init(SimList *list);
/* Removes all events without touching their slots: the caller sets them. */
void sim_list_empty(SimList *list);
/* Moves the events to the begin of the room. */
void sim_list_rewind(SimList *list);
void sim_list_remove(SimList *list, SimEvent *event);

static inline uint32_t sim_list_count(const SimList *list)
{
    return list->end - list->head;
}

/* The list must have fewer than SIM_LIST_MOST events. */
static inline void sim_list_add(SimList *list, SimEvent *event)
{
    SimTime time = event->time, before;
    SimListEntry *at;

    if (G_UNLIKELY(list->end == SIM_LIST_PLACES)) {
        sim_list_rewind(list);
    }
    at = &list->entries[list->end++];
    /* Member by member: the processor cannot forward two stores of 8 bytes to
     * one load of 16 bytes. */
    while ((before = at[-1].time) > time ||
           (before == time && at[-1].event->key > event->key)) {
        at->time = before;
        at->event = at[-1].event;
        at--;
    }
    at->time = time;
    at->event = event;
    event->slot = SIM_LIST_SLOT;
}

/* Takes the first event; returns NULL if there is none or if it is due after
 * @limit. */
static inline SimEvent *sim_list_take(SimList *list, uint64_t limit)
{
    SimListEntry *first = &list->entries[list->head];

    if (list->head == list->end || (uint64_t)first->time > limit) {
        return NULL;
    }
    first->time = -1;
    list->head++;
    first->event->slot = 0;
    return first->event;
}

#endif
