/* SPDX-License-Identifier: MIT */
#include "fab_error_report_priv.h"
#include "fab_root_priv.h"
#include "fab_answer_priv.h"

/*
 * The CPU as devices see it. It sends one MMIO write after the other, and has a
 * few MMIO reads outstanding. The way to a root port takes params.transit, like
 * the way between two root ports. The CPU reaches its own memory without a
 * link.
 */

/* Initial size of the ring of CPU writes. */
#define CPU_WRITES 16

/* The port through which the write leaves; NULL if it goes to memory, or if
 * nothing claims it. */
static FabPort *write_port(FabRoot *root, const CpuWrite *write)
{
    return fab_memory_contains(root->completer.memory, write->addr,
                               write->size_bytes)
               ? NULL
               : fab_root_route(root, write->addr);
}

/* @tlp begins its way to a root port. It is queued there on arrival, not
 * earlier, because completions of memory leave from the same source and must
 * not wait for it. */
static void transit_begin(FabRoot *root, FabTlp *tlp)
{
    tlp->due_at = sim_engine_now(root->component.engine) + root->params.transit;
    fab_fifo_push(&root->cpu_transit, tlp);
    if (root->cpu_transit.head == tlp) {
        sim_event_schedule(&root->transit_event, tlp->due_at);
    }
}

/* Tries the first write again, which the port did not take before. */
static void stall_end(FabRoot *root)
{
    root->cpu_stall = NULL;
    sim_event_schedule(&root->write_event,
                       sim_engine_now(root->component.engine));
}

static void transit_event(SimEvent *event)
{
    FabRoot *root = SIM_CONTAINER_OF(event, FabRoot, transit_event);
    FabTlp *tlp = fab_fifo_pop(&root->cpu_transit);

    if (root->cpu_transit.head) {
        sim_event_schedule(event, root->cpu_transit.head->due_at);
    }
    if (root->cpu_stall) {
        stall_end(root);
    }
    fab_port_send(fab_root_route(root, tlp->addr), fab_root_host_source(root),
                  tlp);
}

static void write_send(FabRoot *root, FabPort *port, const CpuWrite *write)
{
    FabFabric *fabric = root->component.fabric;
    SimTime now = sim_engine_now(root->component.engine);
    FabTlp *tlp;

    if (!port && fab_memory_contains(root->completer.memory, write->addr,
                                     write->size_bytes)) {
        /* The write takes a slot of the memory, but it is visible at once,
         * because caches are coherent. */
        (void)fab_memory_write(root->completer.memory, now, write->size_bytes);
        fab_root_warm(root, write->addr, write->size_bytes);
        fab_memory_notify(root->completer.memory, write->addr,
                          write->size_bytes, write->data);
        return;
    }
    tlp = fab_tlp_new(fabric, FAB_TLP_MWR);
    tlp->addr = write->addr;
    tlp->payload_bytes = write->size_bytes;
    tlp->data = write->data;
    tlp->requester_id = root->component.bdf;
    tlp->flow = write->flow;
    tlp->metered = fab_account_meters_cpu(fabric, write->flow);
    tlp->transaction = tlp->metered ? fab_transaction_new(fabric) : 0;
    fab_account_made(&fabric->accounts, tlp);
    if (port) {
        transit_begin(root, tlp);
    } else {
        fab_tlp_refuse(&root->component, tlp, FAB_STATUS_UR,
                       root->component.bdf);
    }
}

static inline CpuWrite *write_first(FabRoot *root)
{
    return &root->cpu_writes[root->cpu_writes_head & root->cpu_writes_mask];
}

/* Schedules the end of the first write, its time after it could begin. */
static void write_schedule(FabRoot *root)
{
    const CpuWrite *first = write_first(root);

    sim_event_schedule(&root->write_event,
                       MAX(first->given_at, root->cpu_sent_at) + first->time);
}

static void write_event(SimEvent *event)
{
    FabRoot *root = SIM_CONTAINER_OF(event, FabRoot, write_event);
    CpuWrite write = *write_first(root);
    FabPort *port = write_port(root, &write);

    if (port && fab_port_queued(port, fab_root_host_source(root), FAB_CLASS_P) +
                        root->cpu_transit.count >=
                    root->cpu_queue) {
        root->cpu_stall = port;
        return;
    }
    root->cpu_sent_at = event->time;
    root->cpu_writes_head++;
    write_send(root, port, &write);
    if (root->cpu_writes_head != root->cpu_writes_tail &&
        !sim_event_is_pending(event)) {
        write_schedule(root);
    }
    if (write.fn) {
        write.fn(write.owner);
    }
}

void fab_root_cpu_drained(FabRoot *root, FabPort *port)
{
    if (root->cpu_stall == port) {
        stall_end(root);
    }
}

static void writes_grow(FabRoot *root)
{
    uint32_t old = root->cpu_writes_mask + 1;
    CpuWrite *ring = g_new(CpuWrite, 2 * old);

    for (uint32_t i = 0; i < old; i++) {
        ring[i] = root->cpu_writes[(root->cpu_writes_head + i) &
                                   root->cpu_writes_mask];
    }
    g_free(root->cpu_writes);
    root->cpu_writes = ring;
    root->cpu_writes_mask = 2 * old - 1;
    root->cpu_writes_head = 0;
    root->cpu_writes_tail = old;
}

/* Gives @wanted to the CPU. */
static void write_give(FabRoot *root, const CpuWrite *wanted)
{
    bool idle = root->cpu_writes_head == root->cpu_writes_tail;
    CpuWrite *write;

    g_assert(wanted->size_bytes >= 1 && wanted->size_bytes <= 64);
    if (root->cpu_writes_tail - root->cpu_writes_head ==
        root->cpu_writes_mask + 1) {
        writes_grow(root);
    }
    write = &root->cpu_writes[root->cpu_writes_tail++ & root->cpu_writes_mask];
    *write = *wanted;
    write->given_at = sim_engine_now(root->component.engine);
    if (idle) {
        write_schedule(root);
    }
}

void fab_root_write_then(FabRoot *root, FabBusAddr addr, uint32_t size_bytes,
                         uint64_t data, uint32_t flow, FabSentFn fn,
                         void *owner)
{
    CpuWrite write = {
        .addr = addr,
        .time = size_bytes > FAB_LINE_BYTES ? root->params.cpu.combine
                                            : root->params.cpu.mmio_write,
        .flow = flow,
    };

    while (size_bytes > FAB_LINE_BYTES) {
        write.size_bytes =
            FAB_LINE_BYTES - (uint32_t)(write.addr % FAB_LINE_BYTES);
        write_give(root, &write);
        write.addr += write.size_bytes;
        size_bytes -= write.size_bytes;
    }
    write.fn = fn;
    write.owner = owner;
    write.data = data;
    write.size_bytes = size_bytes;
    write_give(root, &write);
}

void fab_root_store(FabRoot *root, FabBusAddr addr, uint32_t size_bytes,
                    uint32_t flow, FabSentFn fn, void *owner)
{
    CpuWrite write = {
        .fn = fn,
        .owner = owner,
        .addr = addr,
        .size_bytes = size_bytes,
        .flow = flow,
    };

    write_give(root, &write);
}

void fab_root_write(FabRoot *root, FabBusAddr addr, uint32_t size_bytes,
                    uint64_t data, uint32_t flow)
{
    fab_root_write_then(root, addr, size_bytes, data, flow, NULL, NULL);
}

/* Schedules the end of @read, at read->due. */
static void read_schedule(FabRoot *root, const CpuRead *read)
{
    if (!sim_event_is_pending(&root->cpu_read_event) ||
        root->cpu_read_event.time > read->due) {
        sim_event_reschedule(&root->cpu_read_event, read->due);
    }
}

static void read_send(FabRoot *root, uint16_t number)
{
    CpuRead *read = &root->cpu_reads[number];
    SimTime now = sim_engine_now(root->component.engine);
    FabTlp *tlp;

    if (fab_memory_contains(root->completer.memory, read->addr,
                            read->size_bytes)) {
        read->due =
            fab_memory_read(root->completer.memory, now, read->size_bytes);
        read->data = fab_memory_peek(root->completer.memory, read->addr);
        read->status = FAB_STATUS_SC;
    } else if (fab_root_route(root, read->addr)) {
        tlp = fab_tlp_new(root->component.fabric, FAB_TLP_MRD);
        tlp->addr = read->addr;
        tlp->request_bytes = read->size_bytes;
        tlp->requester_id = root->component.bdf;
        tlp->tag = number;
        tlp->transaction = fab_transaction_new(root->component.fabric);
        tlp->flow = read->flow;
        tlp->metered =
            fab_account_meters_cpu(root->component.fabric, read->flow);
        read->due = SIM_TIME_NONE;
        read->transaction = tlp->transaction;
        read->deadline =
            fab_timeout_begin(root->component.fabric, &root->cpu_timeout_event);
        transit_begin(root, tlp);
        return;
    } else {
        root->component.fabric->unsupported++;
        fab_account_fail(&root->component, read->flow, true, read->addr,
                         FAB_LOSS_UNSUPPORTED);
        read->due = now;
        read->status = FAB_STATUS_UR;
    }
    read_schedule(root, read);
}

static void read_start(FabRoot *root, const CpuRead *wanted)
{
    uint16_t number = root->free_cpu_read;
    CpuRead *read = &root->cpu_reads[number];

    root->free_cpu_read = read->next_free;
    *read = *wanted;
    read->in_use = true;
    read_send(root, number);
}

static void read_done(FabRoot *root, uint16_t number, FabStatus status)
{
    CpuRead *read = &root->cpu_reads[number];
    CpuRead done = *read;

    read->in_use = false;
    read->next_free = root->free_cpu_read;
    root->free_cpu_read = number;
    if (root->cpu_read_next < root->cpu_read_wait->len) {
        CpuRead next =
            g_array_index(root->cpu_read_wait, CpuRead, root->cpu_read_next);

        if (++root->cpu_read_next == root->cpu_read_wait->len) {
            g_array_set_size(root->cpu_read_wait, 0);
            root->cpu_read_next = 0;
        }
        read_start(root, &next);
    }
    if (done.fn) {
        done.fn(done.owner, status);
    } else {
        done.word_fn(done.owner, status, done.data);
    }
}

static void cpu_read_event(SimEvent *event)
{
    FabRoot *root = SIM_CONTAINER_OF(event, FabRoot, cpu_read_event);
    SimTime now = event->time, next = SIM_TIME_NONE;

    for (unsigned i = 0; i < root->params.cpu.mmio_reads; i++) {
        CpuRead *read = &root->cpu_reads[i];

        if (read->in_use && read->due <= now) {
            read_done(root, i, read->status);
        }
    }
    for (unsigned i = 0; i < root->params.cpu.mmio_reads; i++) {
        CpuRead *read = &root->cpu_reads[i];

        if (read->in_use) {
            next = MIN(next, read->due);
        }
    }
    if (next != SIM_TIME_NONE) {
        sim_event_reschedule(event, MAX(next, now));
    }
}

/* Gives up the reads whose completions have not come in time. */
static void cpu_timeout_event(SimEvent *event)
{
    FabRoot *root = SIM_CONTAINER_OF(event, FabRoot, cpu_timeout_event);
    SimTime next = SIM_TIME_NONE;

    for (unsigned i = 0; i < root->params.cpu.mmio_reads; i++) {
        CpuRead *read = &root->cpu_reads[i];

        if (!read->in_use || read->due != SIM_TIME_NONE) {
            continue;
        }
        if (read->deadline > event->time) {
            next = MIN(next, read->deadline);
            continue;
        }
        fab_timeout_count(fab_root_route(root, read->addr));
        fab_account_fail(&root->component, read->flow, true, read->addr,
                         FAB_LOSS_TIMED_OUT);
        read->status = FAB_STATUS_TIMED_OUT;
        read->due = event->time;
        read_schedule(root, read);
    }
    fab_timeout_next(event, next);
}

void fab_root_end_reads(FabRoot *root, uint32_t flow)
{
    SimTime now = sim_engine_now(root->component.engine);

    for (unsigned i = 0; i < root->params.cpu.mmio_reads; i++) {
        CpuRead *read = &root->cpu_reads[i];

        if (read->in_use && read->flow == flow && read->due == SIM_TIME_NONE) {
            read->status = FAB_STATUS_UR;
            read->due = now;
            read_schedule(root, read);
        }
    }
}

/* Gives @read to the CPU. */
static void read_give(FabRoot *root, const CpuRead *read)
{
    g_assert(read->size_bytes >= 1 && read->size_bytes <= 64);
    if (root->free_cpu_read == NO_TAG) {
        g_array_append_vals(root->cpu_read_wait, read, 1);
    } else {
        read_start(root, read);
    }
}

void fab_root_read(FabRoot *root, FabBusAddr addr, uint32_t size_bytes,
                   FabReadFn fn, void *owner, uint32_t flow)
{
    CpuRead read = {.fn = fn,
                    .owner = owner,
                    .addr = addr,
                    .size_bytes = size_bytes,
                    .flow = flow};

    read_give(root, &read);
}

void fab_root_read_word(FabRoot *root, FabBusAddr addr, uint32_t size_bytes,
                        FabWordFn fn, void *owner, uint32_t flow)
{
    CpuRead read = {.word_fn = fn,
                    .owner = owner,
                    .addr = addr,
                    .size_bytes = size_bytes,
                    .flow = flow};

    read_give(root, &read);
}

void fab_root_cpu_completion(FabRoot *root, FabTlp *tlp)
{
    SimTime now = sim_engine_now(root->component.engine);
    unsigned number = tlp->tag;
    CpuRead *read =
        number < root->params.cpu.mmio_reads ? &root->cpu_reads[number] : NULL;

    if (!read || !read->in_use || read->due != SIM_TIME_NONE ||
        fab_timeout_is_late(root->component.fabric, tlp->transaction,
                            read->transaction)) {
        fab_tlp_refuse(&root->component, tlp, FAB_STATUS_UR,
                       root->component.bdf);
        return;
    }
    if (G_UNLIKELY(tlp->poisoned)) {
        read->status = FAB_STATUS_POISONED;
        fab_error_report(tlp->ingress, FAB_SEVERITY_NONFATAL);
        fab_account_lose(&root->component, tlp, FAB_LOSS_POISONED);
    } else {
        fab_account_arrived(&root->component.fabric->accounts, tlp, now);
    }
    if (fab_tlp_is_last_completion(tlp)) {
        if (read->status == FAB_STATUS_SC) {
            read->status = tlp->status;
        }
        read->data = tlp->data;
        /* Earlier writes of the device must be visible first (D2). */
        read->due = MAX(now + root->params.transit,
                        root->ingress[tlp->ingress->index].visible_at);
        read_schedule(root, read);
    }
    fab_port_discard(tlp, now);
}

void fab_root_use_cores(FabRoot *root, uint32_t cores)
{
    SimTime time = root->params.cpu.mmio_write;

    if (root->params.cpu.combine) {
        time = MIN(time, root->params.cpu.combine);
    }

    root->cores += cores;
    root->cpu_queue = ROOT_QUEUE_TLPS +
                      root->cores * root->params.transit / MAX(time, SIM_NS);
}

void fab_root_core_stores(FabRoot *root, bool begins)
{
    root->cores_storing += begins ? 1 : -1;
}

void fab_root_cpu_init(FabRoot *root)
{
    unsigned count = root->params.cpu.mmio_reads;
    SimEngine *engine = root->component.engine;

    fab_root_use_cores(root, 1);
    root->cpu_reads = g_new0(CpuRead, count);
    for (unsigned i = 0; i < count; i++) {
        root->cpu_reads[i].next_free = i + 1 < count ? i + 1 : NO_TAG;
    }
    root->cpu_writes_mask = CPU_WRITES - 1;
    root->cpu_writes = g_new(CpuWrite, CPU_WRITES);
    root->cpu_read_wait = g_array_new(FALSE, FALSE, sizeof(CpuRead));
    sim_event_init(&root->write_event, engine, write_event, SIM_PRIORITY_NORMAL,
                   root->component.rank + 3);
    sim_event_init(&root->transit_event, engine, transit_event,
                   SIM_PRIORITY_NORMAL, root->component.rank + 3);
    sim_event_init(&root->cpu_timeout_event, engine, cpu_timeout_event,
                   SIM_PRIORITY_NORMAL, root->component.rank + 3);
    sim_event_init(&root->cpu_read_event, engine, cpu_read_event,
                   SIM_PRIORITY_NORMAL, root->component.rank + 3);
}

void fab_root_cpu_free(FabRoot *root)
{
    fab_fifo_clear(root->component.fabric, &root->cpu_transit);
    sim_event_cancel(&root->transit_event);
    sim_event_cancel(&root->write_event);
    sim_event_cancel(&root->cpu_read_event);
    sim_event_cancel(&root->cpu_timeout_event);
    if (root->cpu_read_wait) {
        g_array_unref(root->cpu_read_wait);
    }
    g_free(root->cpu_writes);
    g_free(root->cpu_reads);
}

/* Reports a write or read for which there is no TLP yet. */
static void cpu_waiter(const FabObserver *observer, uint32_t flow,
                       uint32_t bytes, FabClass cls)
{
    observer->fn(observer->data, &(FabWaiter){
                                     .flow = flow,
                                     .cls = cls,
                                     .bytes = bytes,
                                     .place = FAB_PLACE_CPU,
                                     .component = observer->component,
                                 });
}

void fab_root_cpu_waiters(const FabRoot *root, const FabObserver *observer)
{
    for (uint32_t i = root->cpu_writes_head; i != root->cpu_writes_tail; i++) {
        const CpuWrite *write = &root->cpu_writes[i & root->cpu_writes_mask];

        cpu_waiter(observer, write->flow, write->size_bytes, FAB_CLASS_P);
    }
    for (unsigned i = 0; i < root->params.cpu.mmio_reads; i++) {
        const CpuRead *read = &root->cpu_reads[i];

        if (read->in_use && read->due != SIM_TIME_NONE) {
            cpu_waiter(observer, read->flow, read->size_bytes, FAB_CLASS_NP);
        }
    }
    for (unsigned i = root->cpu_read_next; i < root->cpu_read_wait->len; i++) {
        const CpuRead *read = &g_array_index(root->cpu_read_wait, CpuRead, i);

        cpu_waiter(observer, read->flow, read->size_bytes, FAB_CLASS_NP);
    }
}
