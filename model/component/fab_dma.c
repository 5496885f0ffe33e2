/* SPDX-License-Identifier: MIT */
#include "fab_error_report_priv.h"
#include "fab_endpoint_priv.h"
#include "fab_outage_priv.h"
#include "fab_answer_priv.h"

#define PAGE_BYTES 4096

/* Of FabDma.last_order, until the last TLP of a write leaves the ATC: the other
 * bits are its number among the posted requests there. */
#define IN_ATC (UINT64_C(1) << 63)

/* Bytes of the next TLP, at most @most. No request crosses a 4 KiB boundary
 * (PCIe 5.0 s2.2.7). If @most is a power of two, every request after the first
 * one begins at a multiple of @most. */
static uint32_t tlp_bytes(const FabDma *dma, uint32_t most)
{
    FabBusAddr addr = dma->addr + dma->issued_bytes;
    uint64_t left = dma->size_bytes - dma->issued_bytes;
    uint32_t fits;

    if (most & (most - 1)) { /* not a power of two: no alignment */
        /* An unaligned first byte takes a whole DW. */
        fits = MIN(most, ((most + 3) & ~3u) - (uint32_t)(addr & 3));
        fits = MIN(fits, PAGE_BYTES - (uint32_t)(addr & (PAGE_BYTES - 1)));
    } else {
        fits = most - (uint32_t)(addr & (most - 1));
    }
    return MIN(left, fits);
}

static inline FabTlp *request_new(FabEndpoint *endpoint, const FabDma *dma)
{
    FabTlp *tlp = fab_tlp_new(endpoint->component.fabric, dma->type);

    tlp->addr = dma->addr + dma->issued_bytes;
    tlp->requester_id = dma->function->component.bdf;
    tlp->attr = endpoint->dma.attr;
    tlp->ecrc = endpoint->params.ecrc;
    tlp->flow = dma->flow;
    tlp->metered = dma->metered;
    return tlp;
}

static void queue_push_first(DmaQueue *queue, FabDma *dma)
{
    dma->next = queue->head;
    queue->head = dma;
    queue->tail = queue->tail && dma->next ? queue->tail : dma;
}

/* ---- Requests --------------------------------------------------------- */

/* Returns whether the engine may make another request of @cls. Those that wait
 * in the ATC do not keep reads back, because reads have tags. */
static inline bool has_room(const FabEndpoint *endpoint, FabClass cls)
{
    const FabPort *port = endpoint->component.ports[0];

    return fab_port_queued(port, ENDPOINT_SOURCE, cls) <
               endpoint->params.queue &&
           (G_LIKELY(!endpoint->atc) || cls != FAB_CLASS_P ||
            fab_atc_held(endpoint->atc, cls) < endpoint->params.ats.writes);
}

/* Returns whether the address of @dma is to be translated here. */
static inline bool is_for_atc(const FabEndpoint *endpoint, const FabDma *dma)
{
    return G_UNLIKELY(endpoint->atc) && dma->function == endpoint;
}

static inline void request_send(FabEndpoint *endpoint, const FabDma *dma,
                                FabTlp *tlp)
{
    if (is_for_atc(endpoint, dma)) {
        fab_atc_send(endpoint->atc, tlp);
    } else {
        fab_port_send(endpoint->component.ports[0], ENDPOINT_SOURCE, tlp);
    }
}

/* The queue whose first order makes the next request: @own of @lane if
 * @is_ready, or @threads, in turn. NULL: none. */
static DmaQueue *queue_next(DmaLane *lane, DmaQueue *own, bool is_ready,
                            DmaQueue *threads)
{
    if (is_ready && threads->head) {
        lane->is_threads_turn = !lane->is_threads_turn;
        return lane->is_threads_turn ? threads : own;
    }
    return is_ready ? own : threads->head ? threads : NULL;
}

/* When the next TLP of the write @dma can be made. SIM_TIME_NONE: when the last
 * TLP of the transfer before it has left the port. */
static inline SimTime write_ready_at(const FabEndpoint *device,
                                     const FabDma *dma)
{
    if (G_LIKELY(device->params.write_gap == 0) ||
        dma->issued_bytes % device->params.read_bytes != 0) {
        return dma->not_before;
    }
    return fab_port_queued(device->component.ports[0], ENDPOINT_SOURCE,
                           FAB_CLASS_P) > 0
               ? SIM_TIME_NONE
               : MAX(dma->not_before, device->dma.gap_until);
}

/* Returns whether the first write of @function can go on now. If it cannot
 * yet, an event comes when it can. */
static bool write_is_ready(FabEndpoint *function, SimTime now)
{
    SimEvent *event = &function->device->dma.start_event;
    const FabDma *dma = function->lane.writes.head;
    SimTime ready_at;

    if (!dma) {
        return false;
    }
    ready_at = write_ready_at(function->device, dma);
    if (ready_at > now) {
        bool is_other = function->next != function &&
                        sim_event_is_pending(event) && event->time < ready_at;

        if (!is_other && ready_at != SIM_TIME_NONE) {
            sim_event_reschedule(event, ready_at);
        }
        return false;
    }
    return true;
}

/* The queue with the next write, of the functions in turn; NULL: none. */
static DmaQueue *writes_next(FabEndpoint *endpoint, SimTime now)
{
    FabEndpoint *last = endpoint->dma.write_turn, *function = last;

    do {
        DmaLane *lane;
        DmaQueue *queue;

        function = function->next;
        lane = &function->lane;
        queue = queue_next(lane, &lane->writes, write_is_ready(function, now),
                           &lane->thread_writes);
        if (queue) {
            endpoint->dma.write_turn = function;
            return queue;
        }
    } while (function != last);
    return NULL;
}

static SIM_HOT void writes_issue(FabEndpoint *endpoint)
{
    FabPort *port = endpoint->component.ports[0];
    SimTime now = sim_engine_now(endpoint->component.engine);
    uint32_t most = MIN(endpoint->params.write_bytes, port->mps_bytes);
    DmaQueue *queue;

    while (has_room(endpoint, FAB_CLASS_P) &&
           (queue = writes_next(endpoint, now))) {
        FabDma *dma = queue->head;
        FabTlp *tlp = request_new(endpoint, dma);

        tlp->payload_bytes = tlp_bytes(dma, most);
        tlp->data = dma->data;
        dma->issued_bytes += tlp->payload_bytes;
        if (G_UNLIKELY(dma->moved)) {
            dma->moved(dma, tlp->payload_bytes);
        }
        tlp->transaction = dma->transaction;
        fab_account_made(&endpoint->component.fabric->accounts, tlp);
        if (dma->issued_bytes == dma->size_bytes) {
            fab_dma_queue_pop(queue);
            fab_dma_queue_push(&endpoint->dma.leaving, dma);
            dma->last_order =
                is_for_atc(endpoint, dma)
                    ? IN_ATC | fab_atc_posted_received(endpoint->atc)
                    : port->order;
        }
        request_send(endpoint, dma, tlp);
    }
}

static void note_tag_wait(FabEndpoint *endpoint, bool waits)
{
    DmaEngine *engine = &endpoint->dma;
    SimTime now = sim_engine_now(endpoint->component.engine);

    if (waits && !engine->tag_wait) {
        engine->tag_wait_since = now;
    } else if (!waits && engine->tag_wait) {
        endpoint->counters.tag_wait_ps += now - engine->tag_wait_since;
    }
    engine->tag_wait = waits;
}

/* The queue with the next read, of the functions in turn; NULL: none. */
static DmaQueue *reads_next(FabEndpoint *endpoint)
{
    FabEndpoint *last = endpoint->dma.read_turn, *function = last;

    do {
        DmaLane *lane;
        DmaQueue *queue;

        function = function->next;
        lane = &function->lane;
        queue =
            queue_next(lane, &lane->reads,
                       lane->reads.head && fab_dma_has_flight_room(endpoint),
                       &lane->thread_reads);
        if (queue) {
            endpoint->dma.read_turn = function;
            return queue;
        }
    } while (function != last);
    return NULL;
}

/* Issues reads until there is no free tag or the egress takes no more. */
static SIM_HOT void reads_issue(FabEndpoint *endpoint)
{
    DmaEngine *engine = &endpoint->dma;
    DmaQueue *queue;

    while (engine->tags_used < engine->tags_usable &&
           has_room(endpoint, FAB_CLASS_NP) && (queue = reads_next(endpoint))) {
        FabDma *dma = queue->head;
        FabTlp *tlp = request_new(endpoint, dma);
        DmaRead *read = &engine->tags[engine->free_tag];

        tlp->tag = engine->free_tag;
        tlp->transaction = fab_transaction_new(endpoint->component.fabric);
        tlp->request_bytes = tlp_bytes(dma, endpoint->params.read_bytes);
        engine->free_tag = read->next;
        engine->tags_used++;
        read->dma = dma;
        read->left_bytes = tlp->request_bytes;
        read->bytes = tlp->request_bytes;
        read->transaction = tlp->transaction;
        read->deadline = fab_timeout_begin(endpoint->component.fabric,
                                           &engine->timeout_event);
        engine->flight_bytes += dma->is_direct ? 0 : tlp->request_bytes;
        dma->issued_bytes += tlp->request_bytes;
        endpoint->counters.read_bytes += tlp->request_bytes;
        if (G_UNLIKELY(dma->function != endpoint)) {
            dma->function->counters.read_bytes += tlp->request_bytes;
        }
        if (dma->issued_bytes == dma->size_bytes) {
            fab_dma_queue_pop(queue);
        }
        request_send(endpoint, dma, tlp);
    }
    note_tag_wait(endpoint, fab_dma_has_reads(endpoint, false) &&
                                (engine->tags_used == engine->tags_usable ||
                                 (fab_dma_has_reads(endpoint, true) &&
                                  !fab_dma_has_flight_room(endpoint))));
}

static void start_event(SimEvent *event)
{
    writes_issue(SIM_CONTAINER_OF(event, FabEndpoint, dma.start_event));
}

/* ---- Ends ------------------------------------------------------------ */

void fab_dma_leaves(FabEndpoint *endpoint, const FabTlp *tlp)
{
    FabDma *dma = endpoint->dma.leaving.head;

    while (dma && dma->last_order != (IN_ATC | tlp->posted_before)) {
        dma = dma->next;
    }
    if (dma) {
        dma->last_order = endpoint->component.ports[0]->order;
    }
}

/* Begins the first write that params.writes has held back, of the functions in
 * turn. */
static void held_start(FabEndpoint *endpoint)
{
    FabEndpoint *last = endpoint->dma.start_turn, *function = last;

    do {
        FabDma *dma;

        function = function->next;
        dma = function->lane.held.head;
        if (dma) {
            fab_dma_queue_pop(&function->lane.held);
            fab_dma_write_begin(endpoint, dma);
            return;
        }
    } while (function != last);
}

/* A posted TLP has left. It may be the last TLP of a write. That is mostly the
 * oldest write, but RO lets TLPs pass others. */
static void write_left(FabEndpoint *endpoint, const FabTlp *tlp)
{
    DmaQueue *queue = &endpoint->dma.leaving;
    FabDma *before = NULL, *dma = queue->head;

    while (dma && dma->last_order != tlp->egress_order) {
        before = dma;
        dma = dma->next;
    }
    if (!dma) {
        return;
    }
    if (!before) {
        fab_dma_queue_pop(queue);
    } else {
        before->next = dma->next;
        if (queue->tail == dma) {
            queue->tail = before;
        }
    }
    if (!dma->is_direct) {
        endpoint->dma.writes_started--;
        held_start(endpoint);
    }
    dma->left_at = endpoint->component.ports[0]->busy_until;
    dma->done(dma);
}

/* The link is down, so @tlp of a write is discarded. The device knows, and the
 * write fails. */
static void write_lost(FabEndpoint *endpoint, const FabTlp *tlp)
{
    FabEndpoint *function =
        fab_endpoint_function_of(endpoint, tlp->requester_id);
    FabDma *dma = endpoint->dma.leaving.head;

    while (dma &&
           (dma->last_order < tlp->egress_order || dma->function != function)) {
        dma = dma->next;
    }
    dma = dma ? dma : function->lane.writes.head;
    dma = dma ? dma : function->lane.thread_writes.head;
    if (!dma) {
        return;
    }
    dma->status = FAB_STATUS_UR;
}

/* Counts the write @tlp, which has left, for the device and for the virtual
 * function that made it. */
static inline void count_written(FabEndpoint *endpoint, const FabTlp *tlp)
{
    endpoint->counters.written_bytes += tlp->payload_bytes;
    if (G_UNLIKELY(endpoint->next != endpoint)) {
        FabEndpoint *function =
            fab_endpoint_function_of(endpoint, tlp->requester_id);

        if (function != endpoint) {
            function->counters.written_bytes += tlp->payload_bytes;
        }
    }
}

SIM_HOT void fab_dma_drained(void *owner, FabPort *port, const FabTlp *tlp)
{
    FabEndpoint *endpoint = owner;
    bool is_write = tlp->type == FAB_TLP_MWR;

    if (is_write) {
        endpoint->dma.gap_until = port->busy_until + endpoint->params.write_gap;
    }
    if (G_UNLIKELY(port->special) && is_write && port->is_down) {
        write_lost(endpoint, tlp);
    } else {
        if (is_write) {
            count_written(endpoint, tlp);
        }
        if (tlp->metered) {
            fab_account_left(&endpoint->component.fabric->accounts, port, tlp,
                             sim_engine_now(endpoint->component.engine));
        }
    }
    if (is_write && endpoint->dma.leaving.head) {
        write_left(endpoint, tlp);
    }
    if (fab_dma_has_writes(endpoint)) {
        writes_issue(endpoint);
    }
    if (fab_dma_has_reads(endpoint, false)) {
        reads_issue(endpoint);
    }
}

static void read_finish(FabEndpoint *endpoint, uint16_t tag)
{
    DmaEngine *engine = &endpoint->dma;
    DmaRead *read = &engine->tags[tag];
    FabDma *dma = read->dma;

    read->dma = NULL;
    read->next = engine->free_tag;
    engine->free_tag = tag;
    engine->tags_used--;
    engine->flight_bytes -= dma->is_direct ? 0 : read->bytes;
    if (G_UNLIKELY(endpoint->atc)) {
        fab_atc_read_over(endpoint->atc, tag);
    }
    if (fab_dma_has_reads(endpoint, false)) {
        reads_issue(endpoint);
    }
    if (dma->finished_bytes == dma->size_bytes) {
        fab_dma_read_in(endpoint, dma);
    }
}

static void drain_event(SimEvent *event)
{
    FabEndpoint *endpoint =
        SIM_CONTAINER_OF(event, FabEndpoint, dma.drain_event);
    DmaEngine *engine = &endpoint->dma;
    uint16_t tag = engine->draining_head;

    engine->draining_head = engine->tags[tag].next;
    if (engine->draining_head == NO_TAG) {
        engine->draining_tail = NO_TAG;
    } else {
        sim_event_schedule(event, engine->tags[engine->draining_head].free_at);
    }
    engine->tags[tag].dma->finished_bytes += engine->tags[tag].left_bytes;
    read_finish(endpoint, tag);
}

/* All data of a read are in. Frees its tag after params.read_latency. */
static void read_drain(FabEndpoint *endpoint, uint16_t tag, SimTime now)
{
    DmaEngine *engine = &endpoint->dma;
    DmaRead *read = &engine->tags[tag];

    read->free_at = now + endpoint->params.read_latency;
    read->next = NO_TAG;
    read->deadline = SIM_TIME_NONE;
    if (engine->draining_tail == NO_TAG) {
        engine->draining_head = tag;
        sim_event_schedule(&engine->drain_event, read->free_at);
    } else {
        engine->tags[engine->draining_tail].next = tag;
    }
    engine->draining_tail = tag;
}

/* Gives up the read with @tag, whose completions have not all come. */
static void read_expire(FabEndpoint *endpoint, uint16_t tag)
{
    DmaRead *read = &endpoint->dma.tags[tag];

    endpoint->counters.failed_reads += read->failed != read->transaction;
    fab_timeout_count(endpoint->component.ports[0]);
    if (read->dma->status == FAB_STATUS_SC) {
        read->dma->status = FAB_STATUS_TIMED_OUT;
    }
    fab_account_fail(&endpoint->component, read->dma->flow, true,
                     read->dma->addr, FAB_LOSS_TIMED_OUT);
    read->dma->finished_bytes += read->left_bytes;
    read_finish(endpoint, tag);
}

static void timeout_event(SimEvent *event)
{
    FabEndpoint *endpoint =
        SIM_CONTAINER_OF(event, FabEndpoint, dma.timeout_event);
    SimTime now = event->time; /* a new read changes that of the event */
    SimTime next = SIM_TIME_NONE;

    for (uint32_t i = 0; i < endpoint->params.tags; i++) {
        const DmaRead *read = &endpoint->dma.tags[i];

        if (read->dma && read->deadline <= now) {
            read_expire(endpoint, i);
        }
        if (read->dma) {
            next = MIN(next, read->deadline);
        }
    }
    fab_timeout_next(event, next);
}

/* The completion @tlp of @read has an error. Returns the bytes that will not
 * come any more, or the payload if it is only poisoned. */
static uint32_t read_fail(FabEndpoint *endpoint, DmaRead *read,
                          const FabTlp *tlp)
{
    FabStatus status = tlp->poisoned ? FAB_STATUS_POISONED : tlp->status;

    if (tlp->poisoned) {
        fab_error_report(tlp->ingress, FAB_SEVERITY_NONFATAL);
        fab_account_lose(&endpoint->component, tlp, FAB_LOSS_POISONED);
    }
    if (read->failed != read->transaction) {
        read->failed = read->transaction;
        endpoint->counters.failed_reads++;
    }
    if (read->dma->status == FAB_STATUS_SC) {
        read->dma->status = status;
    }
    return tlp->poisoned ? MIN(read->left_bytes, tlp->payload_bytes)
                         : read->left_bytes;
}

SIM_HOT void fab_dma_completion(FabEndpoint *endpoint, FabTlp *tlp)
{
    DmaEngine *engine = &endpoint->dma;
    SimTime now = sim_engine_now(endpoint->component.engine);
    uint16_t tag = tlp->tag;
    DmaRead *read;
    uint32_t bytes;

    if (tag >= endpoint->params.tags || !engine->tags[tag].dma ||
        tlp->requester_id != engine->tags[tag].dma->function->component.bdf ||
        fab_timeout_is_late(endpoint->component.fabric, tlp->transaction,
                            engine->tags[tag].transaction)) {
        fab_tlp_refuse(&endpoint->component, tlp, FAB_STATUS_UR,
                       endpoint->component.bdf);
        return;
    }
    read = &engine->tags[tag];
    bytes = MIN(read->left_bytes, tlp->payload_bytes);
    if (G_UNLIKELY(tlp->status != FAB_STATUS_SC || tlp->poisoned)) {
        bytes = read_fail(endpoint, read, tlp);
    } else {
        fab_account_arrived(&endpoint->component.fabric->accounts, tlp, now);
        if (G_UNLIKELY(read->dma->moved)) {
            read->dma->moved(read->dma, bytes);
        }
    }
    read->dma->data = tlp->data;
    fab_port_discard(tlp, now);
    read->left_bytes -= bytes;
    if (read->left_bytes > 0 || !endpoint->params.read_latency ||
        read->dma->is_direct) {
        read->dma->finished_bytes += bytes;
        if (read->left_bytes == 0) {
            read_finish(endpoint, tag);
        }
        return;
    }
    /* The last bytes count when the tag is free. */
    read->left_bytes = bytes;
    read_drain(endpoint, tag, now);
}

/* ---- Orders ---------------------------------------------------------- */

/* Queues @dma, which has an address. */
void fab_dma_translated(FabEndpoint *endpoint, FabDma *dma)
{
    DmaEngine *engine = &endpoint->dma;
    DmaLane *lane = &dma->function->lane;
    bool writes = dma->type == FAB_TLP_MWR;
    DmaQueue *queue =
        writes           ? dma->is_direct ? &lane->thread_writes : &lane->writes
        : dma->is_direct ? &lane->thread_reads
                         : &lane->reads;

    if (writes) {
        dma->transaction =
            dma->metered ? fab_transaction_new(endpoint->component.fabric) : 0;
    }
    if (writes && !dma->is_direct) { /* those of threads begin at once */
        if (endpoint->params.writes &&
            engine->writes_started >= endpoint->params.writes) {
            fab_dma_queue_push(&lane->held, dma);
            return;
        }
        fab_dma_write_begin(endpoint, dma);
    } else if (dma->is_fetch) {
        queue_push_first(queue, dma);
    } else {
        fab_dma_queue_push(queue, dma);
    }
    if (queue->head != dma) {
        return;
    }
    if (writes) {
        writes_issue(endpoint);
    } else {
        reads_issue(endpoint);
    }
}

void fab_endpoint_dma(FabEndpoint *function, FabDma *dma)
{
    FabEndpoint *endpoint = function->device;

    dma->function = function;
    g_assert(dma->size_bytes > 0 && dma->done);
    g_assert(dma->type == FAB_TLP_MWR || dma->type == FAB_TLP_MRD);
    if (dma->addr >= FAB_ADDR_UNMAPPED) {
        /* The buffer could not be mapped, so it has no address. */
        dma->status = FAB_STATUS_CA;
        dma->left_at = 0;
        fab_account_fail(&function->component, dma->flow,
                         dma->type == FAB_TLP_MRD, dma->addr,
                         FAB_LOSS_NO_ADDRESS);
        dma->done(dma);
        return;
    }
    dma->status = FAB_STATUS_SC;
    dma->issued_bytes = 0;
    dma->finished_bytes = 0;
    dma->not_before = 0;
    dma->left_at = 0;
    /* A warp goes on behind a store, which waits by itself. */
    if (G_LIKELY(!endpoint->mmu) || !dma->is_direct ||
        dma->type != FAB_TLP_MRD || fab_mmu_translate(endpoint->mmu, dma)) {
        fab_dma_translated(endpoint, dma);
    }
}

void fab_dma_init(FabEndpoint *endpoint)
{
    DmaEngine *engine = &endpoint->dma;
    uint32_t count = endpoint->params.tags;

    engine->attr = (endpoint->params.relaxed_ordering ? FAB_ATTR_RO : 0) |
                   (endpoint->params.id_ordering ? FAB_ATTR_IDO : 0);
    engine->tags = g_new0(DmaRead, count);
    for (uint32_t i = 0; i < count; i++) {
        engine->tags[i].next = i + 1 < count ? i + 1 : NO_TAG;
    }
    engine->tags_usable = MIN(endpoint->params.reads, count);
    engine->draining_head = NO_TAG;
    engine->draining_tail = NO_TAG;
    engine->start_turn = endpoint;
    engine->write_turn = endpoint;
    engine->read_turn = endpoint;
    sim_event_init(&engine->start_event, endpoint->component.engine,
                   start_event, SIM_PRIORITY_NORMAL, endpoint->component.rank);
    sim_event_init(&engine->drain_event, endpoint->component.engine,
                   drain_event, SIM_PRIORITY_NORMAL,
                   endpoint->component.rank + 1);
    sim_event_init(&engine->timeout_event, endpoint->component.engine,
                   timeout_event, SIM_PRIORITY_NORMAL,
                   endpoint->component.rank + 1);
    fab_dma_move_init(endpoint);
}

void fab_dma_free(FabEndpoint *endpoint)
{
    sim_event_cancel(&endpoint->dma.start_event);
    sim_event_cancel(&endpoint->dma.drain_event);
    fab_dma_move_done(endpoint);
    sim_event_cancel(&endpoint->dma.timeout_event);
    g_free(endpoint->dma.tags);
}
