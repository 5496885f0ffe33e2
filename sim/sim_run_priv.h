/* SPDX-License-Identifier: MIT */
#ifndef SIM_RUN_PRIV_H
#define SIM_RUN_PRIV_H

#include "sim_engine.h"

/*
 * Sorted events, which the engine takes from the front. A cancelled event
 * leaves a gap that no longer points to it.
 */

/* Set in the slots of events that are in a run. */
#define SIM_RUN_SLOT 0x40000000u

typedef struct SimRunEntry {
    uint64_t time;
    uint64_t key;
    SimEvent *event;
} SimRunEntry;

typedef struct SimRun {
    SimRunEntry *entries;
    SimRunEntry *scratch; /* as many, for sorting */
    uint32_t head;
    uint32_t end;
    uint32_t count; /* of events, that is, without the gaps */
    uint32_t capacity;
} SimRun;

void sim_run_clear(SimRun *run);

/* Allocates room for @count more events. The caller stores them, in any order,
 * at the returned address, which is valid until sim_run_append(). */
SimEvent **sim_run_prepare(SimRun *run, uint32_t count);
/* Sorts the events that are stored there, and appends them to the run. None of
 * them may be due before those that are in it. */
void sim_run_append(SimRun *run, uint32_t count);

static inline void sim_run_remove(SimRun *run, SimEvent *event)
{
    run->entries[event->slot & ~SIM_RUN_SLOT].event = NULL;
    run->count--;
    event->slot = 0;
}

#endif
