/* SPDX-License-Identifier: MIT */
#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "sim_time.h"

/*
 * The discrete-event engine. An engine has no global state: a process may have
 * any number of engines, and one thread at a time uses each of them.
 *
 * Event order is total: (time, priority, rank, sequence). The owner of an event
 * gives the rank, which it derives from the sorted names of the components. The
 * sequence counts scheduling calls. Events of equal time and priority run in
 * order of rank, and events of one rank in the order of their scheduling.
 */
typedef struct SimEngine SimEngine;
typedef struct SimEvent SimEvent;

/* Marks the functions that most events call. They lie together in the program,
 * so they do not displace each other from the processor's instruction cache. */
#define SIM_HOT __attribute__((hot))

/* The engine calls it with its time set to the event's. The event is no longer
 * pending: the function may schedule it again or free it. */
typedef void (*SimEventFn)(SimEvent *event);

/*
 * Prefetches into the processor's caches what the function of a pending event
 * will touch. It must not change anything, and the event may be cancelled
 * before its turn. While many events are pending, the engine calls it with each
 * @step from 0 to SIM_FETCH_STEPS - 1, a few events apart, so a step can follow
 * the pointers that the step before has fetched. The engine leaves steps out
 * near events that were cancelled, and all of them while few events are
 * pending.
 */
#define SIM_FETCH_STEPS 4u
#define SIM_FETCH_FNS   4u

typedef void (*SimFetchFn)(const SimEvent *event, unsigned step);

/* Lower runs first among events of equal time. */
typedef enum SimPriority {
    SIM_PRIORITY_FIRST = 0,
    SIM_PRIORITY_NORMAL = 4,
    SIM_PRIORITY_LAST = 7, /* e.g. samplers that want to see a settled state */
} SimPriority;

#define SIM_RANK_MAX ((1u << 20) - 1)

/*
 * An event is embedded in its owner, which SIM_CONTAINER_OF finds. It is its
 * own handle for cancelling and rescheduling. Only the engine uses the fields.
 */
struct SimEvent {
    SimEventFn fn;
    SimEngine *engine;
    SimEvent *next; /* in the engine's chain of a few events */
    SimTime time;   /* when pending: the time it is due */
    uint64_t key;   /* priority and rank, then the sequence of scheduling */
    uint32_t slot;  /* where the engine keeps it; 0 when not pending */
};

#define SIM_CONTAINER_OF(ptr, type, member)                                    \
    ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* Returns a new engine at time 0. */
SimEngine *sim_engine_new(void);

/* Frees @engine (nullable). Pending events do not run, and must not be
 * cancelled afterwards: free their owners first. */
void sim_engine_free(SimEngine *engine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SimEngine, sim_engine_free)

/* Prepares @event, not pending, to run @fn on @engine. @rank is at most
 * SIM_RANK_MAX. The owner keeps the memory, and must cancel the event before
 * freeing it while it is pending. */
void sim_event_init(SimEvent *event, SimEngine *engine, SimEventFn fn,
                    SimPriority priority, uint32_t rank);

/* Sets the prefetch function of all events of @engine whose function is @fn.
 * At most SIM_FETCH_FNS functions can have one. */
void sim_engine_set_fetch(SimEngine *engine, SimEventFn fn, SimFetchFn fetch);

/* The begin of an engine: the model asks for the time too often for a call. */
typedef struct SimClock {
    SimTime now;
} SimClock;

/* The current time of the simulation in ps. */
static inline SimTime sim_engine_now(const SimEngine *engine)
{
    return ((const SimClock *)(const void *)engine)->now;
}

/* Schedules @event, which must not be pending, at @time >= now. */
void sim_event_schedule(SimEvent *event, SimTime time);

/* Schedules @event at @time >= now, whether it is pending or not. A
 * rescheduled event gets a new sequence: it runs after the others of its
 * time, priority and rank. */
void sim_event_reschedule(SimEvent *event, SimTime time);

/* Cancels @event; does nothing when it is not pending. */
void sim_event_cancel(SimEvent *event);

static inline bool sim_event_is_pending(const SimEvent *event)
{
    return event->slot != 0;
}

/* Runs the earliest event. Returns false, and does nothing, if there is
 * none. */
bool sim_engine_step(SimEngine *engine);

/* Runs events until none is left or sim_engine_stop() is called. Returns the
 * number of events run. */
uint64_t sim_engine_run(SimEngine *engine);

/* Runs all events due at or before @time, then sets the clock to @time (unless
 * stopped). Returns the number of events run. */
uint64_t sim_engine_run_until(SimEngine *engine, SimTime time);

/* Makes the current run return after the current event. */
void sim_engine_stop(SimEngine *engine);

/* The time of the earliest event; SIM_TIME_NONE if none is pending. */
SimTime sim_engine_next(const SimEngine *engine);

/* Number of pending events, and of events run since the start. */
uint64_t sim_engine_pending(const SimEngine *engine);
uint64_t sim_engine_executed(const SimEngine *engine);

#endif
