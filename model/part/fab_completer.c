/* SPDX-License-Identifier: MIT */
#include "fab_completer_priv.h"

#include "fab_account_priv.h"

static void read_event(SimEvent *event)
{
    FabCompleter *completer = SIM_CONTAINER_OF(event, FabCompleter, read_event);
    FabTlp *tlp = fab_fifo_pop(&completer->reading);

    if (completer->reading.head) {
        sim_event_schedule(event, completer->reading.head->due_at);
    }
    completer->answer(completer->owner, tlp);
}

static void visible_event(SimEvent *event)
{
    FabCompleter *completer =
        SIM_CONTAINER_OF(event, FabCompleter, visible_event);
    FabTlp *tlp = fab_fifo_pop(&completer->visible);
    FabBusAddr addr = tlp->addr;
    uint64_t data = tlp->data;
    uint32_t bytes = tlp->payload_bytes;

    if (completer->visible.head) {
        sim_event_schedule(event, completer->visible.head->due_at);
    }
    fab_port_consume(tlp, event->time);
    fab_memory_notify(completer->memory, addr, bytes, data);
}

SIM_HOT void fab_completer_read(FabCompleter *completer, FabTlp *tlp)
{
    SimTime now = sim_engine_now(completer->owner->engine);

    tlp->due_at = fab_memory_read(completer->memory, now, tlp->request_bytes);
    if (G_UNLIKELY(completer->cache) &&
        fab_cache_read(completer->cache, tlp->addr, tlp->request_bytes)) {
        const FabTlp *last = fab_fifo_last(&completer->reading);
        SimTime due = tlp->due_at - completer->hit_saves;

        /* Reads become ready in the order in which they came. */
        tlp->due_at = last ? MAX(due, last->due_at) : due;
    }
    tlp->data = fab_memory_peek(completer->memory, tlp->addr);
    fab_fifo_push(&completer->reading, tlp);
    if (completer->reading.head == tlp) {
        sim_event_schedule(&completer->read_event, tlp->due_at);
    }
}

SIM_HOT SimTime fab_completer_write(FabCompleter *completer, FabTlp *tlp,
                                    SimTime earliest)
{
    SimTime now = sim_engine_now(completer->owner->engine);
    SimTime time = fab_memory_write(completer->memory, now, tlp->payload_bytes);
    const FabTlp *last = fab_fifo_last(&completer->visible);

    time = MAX(time, earliest);
    if (G_UNLIKELY(completer->cache)) {
        fab_cache_write(completer->cache, tlp->addr, tlp->payload_bytes);
    }
    if (!fab_memory_watched_at(completer->memory, tlp->addr,
                               tlp->payload_bytes)) {
        fab_port_consume(tlp, time);
        return time;
    }
    /* Watchers see writes in one order, also those of several nodes. */
    tlp->due_at = last ? MAX(time, last->due_at) : time;
    fab_fifo_push(&completer->visible, tlp);
    if (completer->visible.head == tlp) {
        sim_event_schedule(&completer->visible_event, tlp->due_at);
    }
    return time;
}

bool fab_completer_is_busy(const FabCompleter *completer)
{
    return fab_memory_busy_until(completer->memory) >
           sim_engine_now(completer->owner->engine);
}

void fab_completer_waiters(const FabCompleter *completer,
                           const FabObserver *observer, FabPlaceKind place)
{
    fab_observer_fifo(observer, &completer->reading, place);
    fab_observer_fifo(observer, &completer->visible, place);
}

void fab_completer_waits(const FabCompleter *completer, FabWaits *waits)
{
    fab_waits_moves_all(waits, &completer->reading);
    fab_waits_moves_all(waits, &completer->visible);
}

/* ---- Life ------------------------------------------------------------ */

void fab_completer_init(FabCompleter *completer, FabComponent *component,
                        FabMemory *memory)
{
    completer->memory = memory;
    completer->owner = component;
}

void fab_completer_realize(FabCompleter *completer, uint32_t rank,
                           FabCompleterFn answer)
{
    SimEngine *engine = completer->owner->engine;

    completer->answer = answer;
    sim_event_init(&completer->read_event, engine, read_event,
                   SIM_PRIORITY_NORMAL, rank);
    sim_event_init(&completer->visible_event, engine, visible_event,
                   SIM_PRIORITY_NORMAL, rank + 1);
}

void fab_completer_done(FabCompleter *completer)
{
    fab_fifo_clear(completer->owner->fabric, &completer->reading);
    fab_fifo_clear(completer->owner->fabric, &completer->visible);
    sim_event_cancel(&completer->read_event);
    sim_event_cancel(&completer->visible_event);
    fab_memory_free(completer->memory);
    fab_cache_free(completer->cache);
}
