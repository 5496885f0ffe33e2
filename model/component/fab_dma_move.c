/* SPDX-License-Identifier: MIT */
/* A DMA engine moves the data of its orders inside the device. */
#include "fab_endpoint_priv.h"

static inline SimTime beats_time(const FabService *move, uint64_t beats)
{
    return (SimTime)beats * move->beat_ps;
}

/* Time to move the data of the read @dma. */
static SimTime read_move_time(const FabEndpointParams *params,
                              const FabDma *dma)
{
    const FabService *move = &params->read_move;
    FabBusAddr last = dma->addr + dma->size_bytes - 1;
    uint64_t beats, requests;

    if (!move->beat_bytes) {
        return 0;
    }
    beats = last / move->beat_bytes - dma->addr / move->beat_bytes + 1;
    requests = last / params->read_bytes - dma->addr / params->read_bytes + 1;
    return beats_time(move, beats + requests * move->gap_beats);
}

/* Time to move the data of @dma in beats from its first byte. */
static SimTime whole_move_time(const FabService *move, const FabDma *dma)
{
    uint64_t beats;

    if (!move->beat_bytes) {
        return 0;
    }
    beats = (dma->size_bytes + move->beat_bytes - 1) / move->beat_bytes;
    return beats_time(move, beats + move->gap_beats);
}

/* The gaps of @dma while its data are moved. */
static SimTime gaps_time(const FabEndpointParams *params, const FabDma *dma)
{
    uint64_t transfers = (dma->size_bytes - 1) / params->read_bytes + 1;

    return (SimTime)transfers * params->write_gap;
}

/* Moves the data of the write @dma, which then waits params.write_latency. */
static void write_move(FabEndpoint *endpoint, FabDma *dma)
{
    DmaMover *mover = &endpoint->dma.write_mover;
    SimTime now = sim_engine_now(endpoint->component.engine);
    SimTime moved_at = now;

    if (endpoint->params.write_move.beat_bytes) {
        moved_at = MAX(mover->free_at, now) +
                   whole_move_time(&endpoint->params.write_move, dma) +
                   gaps_time(&endpoint->params, dma);
    }
    mover->free_at = moved_at = MAX(moved_at, endpoint->dma.bus_free_at);
    dma->not_before = moved_at + endpoint->params.write_latency;
    fab_dma_queue_push(&dma->function->lane.writes, dma);
}

static void read_move(FabEndpoint *endpoint, FabDma *dma)
{
    DmaEngine *engine = &endpoint->dma;
    DmaMover *mover = &engine->read_mover;
    SimTime now = sim_engine_now(endpoint->component.engine);

    mover->free_at =
        MAX(MAX(mover->free_at, now) + read_move_time(&endpoint->params, dma),
            engine->bus_free_at);
    dma->not_before = mover->free_at;
    fab_dma_queue_push(&engine->moving, dma);
    if (engine->moving.head == dma) {
        sim_event_schedule(&engine->move_event, dma->not_before);
    }
}

/* ---- The bus --------------------------------------------------------- */

/* The mover that gets the bus at @now, when it is free; NULL: none. */
static DmaMover *bus_next(DmaEngine *engine, SimTime now)
{
    DmaMover *first = engine->bus_turn;
    DmaMover *second = first == &engine->read_mover ? &engine->write_mover
                                                    : &engine->read_mover;

    if (first->waiting.head && first->free_at <= now) {
        return first;
    }
    return second->waiting.head && second->free_at <= now ? second : NULL;
}

/* When a mover can have the bus next; SIM_TIME_NONE: nothing waits for it. */
static SimTime bus_next_time(const DmaEngine *engine)
{
    SimTime time = SIM_TIME_NONE;

    if (engine->read_mover.waiting.head) {
        time = engine->read_mover.free_at;
    }
    if (engine->write_mover.waiting.head) {
        time = MIN(time, engine->write_mover.free_at);
    }
    return time == SIM_TIME_NONE ? time : MAX(time, engine->bus_free_at);
}

/* Gives the bus to @mover, for its first order. */
static void bus_grant(FabEndpoint *endpoint, DmaMover *mover)
{
    DmaEngine *engine = &endpoint->dma;
    SimEvent *start = &engine->start_event;
    FabDma *dma = mover->waiting.head;

    fab_dma_queue_pop(&mover->waiting);
    engine->bus_free_at = sim_engine_now(endpoint->component.engine) +
                          whole_move_time(&endpoint->params.move_bus, dma);
    if (mover == &engine->read_mover) {
        engine->bus_turn = &engine->write_mover;
        read_move(endpoint, dma);
        return;
    }
    engine->bus_turn = &engine->read_mover;
    write_move(endpoint, dma);
    if (dma->function->lane.writes.head == dma &&
        (!sim_event_is_pending(start) || start->time > dma->not_before)) {
        sim_event_reschedule(start, dma->not_before);
    }
}

/* Gives the bus to an order, if it is free, and waits until it is. */
static void bus_advance(FabEndpoint *endpoint)
{
    DmaEngine *engine = &endpoint->dma;
    SimTime now = sim_engine_now(endpoint->component.engine);
    SimTime next;

    if (engine->bus_free_at <= now) {
        DmaMover *mover = bus_next(engine, now);

        if (mover) {
            bus_grant(endpoint, mover);
        }
    }
    next = bus_next_time(engine);
    if (next != SIM_TIME_NONE) {
        sim_event_reschedule(&engine->bus_event, next);
    }
}

static void bus_event(SimEvent *event)
{
    bus_advance(SIM_CONTAINER_OF(event, FabEndpoint, dma.bus_event));
}

/* ---- Orders ---------------------------------------------------------- */

void fab_dma_write_begin(FabEndpoint *endpoint, FabDma *dma)
{
    DmaEngine *engine = &endpoint->dma;

    engine->writes_started++;
    engine->start_turn = dma->function;
    if (endpoint->params.move_bus.beat_bytes) {
        fab_dma_queue_push(&engine->write_mover.waiting, dma);
        bus_advance(endpoint);
        return;
    }
    write_move(endpoint, dma);
}

void fab_dma_read_in(FabEndpoint *endpoint, FabDma *dma)
{
    const FabEndpointParams *params = &endpoint->params;

    if (dma->is_direct ||
        (!params->read_move.beat_bytes && !params->move_bus.beat_bytes)) {
        dma->done(dma);
        return;
    }
    if (params->move_bus.beat_bytes) {
        fab_dma_queue_push(&endpoint->dma.read_mover.waiting, dma);
        bus_advance(endpoint);
        return;
    }
    read_move(endpoint, dma);
}

/* The data of the first read in `moving` are moved. */
static void move_event(SimEvent *event)
{
    FabEndpoint *endpoint =
        SIM_CONTAINER_OF(event, FabEndpoint, dma.move_event);
    DmaQueue *queue = &endpoint->dma.moving;
    FabDma *dma = queue->head;

    fab_dma_queue_pop(queue);
    if (queue->head) {
        sim_event_schedule(event, queue->head->not_before);
    }
    dma->done(dma);
}

void fab_dma_move_init(FabEndpoint *endpoint)
{
    DmaEngine *engine = &endpoint->dma;

    engine->bus_turn = &engine->read_mover;
    sim_event_init(&engine->move_event, endpoint->component.engine, move_event,
                   SIM_PRIORITY_NORMAL, endpoint->component.rank + 1);
    sim_event_init(&engine->bus_event, endpoint->component.engine, bus_event,
                   SIM_PRIORITY_NORMAL, endpoint->component.rank + 1);
}

void fab_dma_move_done(FabEndpoint *endpoint)
{
    sim_event_cancel(&endpoint->dma.move_event);
    sim_event_cancel(&endpoint->dma.bus_event);
}
