/* SPDX-License-Identifier: MIT */
#include "fab_root_priv.h"

/*
 * The CPU as devices see it: it writes and reads by MMIO, one write after the
 * other, and a few reads at a time. Its own memory it reaches without a link.
 */

/* Tags of the CPU's reads come after those of forwarded ones. */
static inline unsigned first_tag(const FabRoot *root)
{
    return root->params.forwarded_reads;
}

static void write_send(FabRoot *root, FabTlp *tlp)
{
    FabPort *port;

    if (fab_memory_contains(root->memory, tlp->addr, tlp->payload_bytes)) {
        SimTime time = fab_memory_write(
            root->memory, sim_engine_now(root->component.engine),
            tlp->payload_bytes);

        (void)time; /* visible to the CPU that wrote it at once */
        fab_memory_notify(root->memory, tlp->addr, tlp->payload_bytes,
                          tlp->data);
        fab_tlp_free(root->component.fabric, tlp);
        return;
    }
    port = fab_root_route(root, tlp->addr);
    if (!port) {
        fab_tlp_refuse(root->component.fabric, tlp, FAB_STATUS_UR,
                       root->component.bdf);
        return;
    }
    fab_port_send(port, root_host_source(root), tlp);
}

static void write_event(SimEvent *event)
{
    FabRoot *root = SIM_CONTAINER_OF(event, FabRoot, write_event);
    FabTlp *tlp = fab_fifo_pop(&root->core_writes);

    if (root->core_writes.head) {
        sim_event_schedule(event, root->core_writes.head->ready_at);
    }
    write_send(root, tlp);
}

void fab_root_write(FabRoot *root, FabBusAddr addr, uint32_t size_bytes,
                    uint64_t data, uint32_t flow)
{
    SimTime now = sim_engine_now(root->component.engine);
    FabTlp *tlp = fab_tlp_new(root->component.fabric, FAB_TLP_MWR);

    g_assert(size_bytes >= 1 && size_bytes <= 64);
    tlp->addr = addr;
    tlp->payload_bytes = size_bytes;
    tlp->data = data;
    tlp->requester_id = root->component.bdf;
    tlp->flow = flow;
    root->core_busy_until =
        MAX(root->core_busy_until, now) + root->params.core.mmio_write;
    tlp->ready_at = root->core_busy_until;
    fab_fifo_push(&root->core_writes, tlp);
    if (root->core_writes.head == tlp) {
        sim_event_schedule(&root->write_event, tlp->ready_at);
    }
}

static void read_send(FabRoot *root, uint16_t number)
{
    CoreRead *read = &root->core_reads[number];
    SimTime now = sim_engine_now(root->component.engine);
    FabTlp *tlp;
    FabPort *port;

    if (fab_memory_contains(root->memory, read->addr, read->size_bytes)) {
        read->due = fab_memory_read(root->memory, now, read->size_bytes);
    } else if ((port = fab_root_route(root, read->addr))) {
        tlp = fab_tlp_new(root->component.fabric, FAB_TLP_MRD);
        tlp->addr = read->addr;
        tlp->request_bytes = read->size_bytes;
        tlp->requester_id = root->component.bdf;
        tlp->tag = first_tag(root) + number;
        tlp->flow = read->flow;
        read->due = SIM_TIME_NONE;
        fab_port_send(port, root_host_source(root), tlp);
        return;
    } else {
        root->component.fabric->unsupported++;
        read->due = now;
    }
    if (!sim_event_is_pending(&root->core_memory_event) ||
        root->core_memory_event.time > read->due) {
        sim_event_reschedule(&root->core_memory_event, read->due);
    }
}

static void read_start(FabRoot *root, const CoreRead *wanted)
{
    uint16_t number = root->free_core_read;
    CoreRead *read = &root->core_reads[number];

    root->free_core_read = read->next_free;
    *read = *wanted;
    read->in_use = true;
    read_send(root, number);
}

static void read_done(FabRoot *root, uint16_t number, FabStatus status)
{
    CoreRead *read = &root->core_reads[number];
    CoreRead done = *read;

    read->in_use = false;
    read->next_free = root->free_core_read;
    root->free_core_read = number;
    if (root->core_read_next < root->core_read_wait->len) {
        CoreRead next = g_array_index(root->core_read_wait, CoreRead,
                                      root->core_read_next);

        if (++root->core_read_next == root->core_read_wait->len) {
            g_array_set_size(root->core_read_wait, 0);
            root->core_read_next = 0;
        }
        read_start(root, &next);
    }
    done.fn(done.owner, status);
}

/* Reads of own memory, and of what nothing claims, are over. */
static void core_memory_event(SimEvent *event)
{
    FabRoot *root = SIM_CONTAINER_OF(event, FabRoot, core_memory_event);
    SimTime now = event->time, next = SIM_TIME_NONE;

    for (unsigned i = 0; i < root->params.core.mmio_reads; i++) {
        CoreRead *read = &root->core_reads[i];

        if (read->in_use && read->due <= now) {
            bool ok = fab_memory_contains(root->memory, read->addr,
                                          read->size_bytes);

            read_done(root, i, ok ? FAB_STATUS_SC : FAB_STATUS_UR);
        }
    }
    for (unsigned i = 0; i < root->params.core.mmio_reads; i++) {
        CoreRead *read = &root->core_reads[i];

        if (read->in_use) {
            next = MIN(next, read->due);
        }
    }
    if (next != SIM_TIME_NONE) {
        sim_event_reschedule(event, MAX(next, now));
    }
}

void fab_root_read(FabRoot *root, FabBusAddr addr, uint32_t size_bytes,
                   FabReadFn fn, void *owner, uint32_t flow)
{
    CoreRead read = {.fn = fn,
                     .owner = owner,
                     .addr = addr,
                     .size_bytes = size_bytes,
                     .flow = flow};

    g_assert(size_bytes >= 1 && size_bytes <= 64);
    if (root->free_core_read == NO_TAG) {
        g_array_append_val(root->core_read_wait, read);
    } else {
        read_start(root, &read);
    }
}

void fab_root_core_completion(FabRoot *root, FabTlp *tlp)
{
    unsigned number = tlp->tag - first_tag(root);
    bool last = fab_tlp_is_last_completion(tlp);
    FabStatus status = tlp->status;

    if (number >= root->params.core.mmio_reads ||
        !root->core_reads[number].in_use) {
        fab_tlp_refuse(root->component.fabric, tlp, FAB_STATUS_UR,
                       root->component.bdf);
        return;
    }
    fab_port_consume(tlp, sim_engine_now(root->component.engine));
    if (last) {
        read_done(root, number, status);
    }
}

void fab_root_core_init(FabRoot *root)
{
    unsigned count = root->params.core.mmio_reads;
    SimEngine *engine = root->component.engine;

    g_assert(count >= 1 && count < 1024);
    root->core_reads = g_new0(CoreRead, count);
    for (unsigned i = 0; i < count; i++) {
        root->core_reads[i].next_free = i + 1 < count ? i + 1 : NO_TAG;
    }
    root->core_read_wait = g_array_new(FALSE, FALSE, sizeof(CoreRead));
    sim_event_init(&root->write_event, engine, write_event,
                   SIM_PRIORITY_NORMAL, root->component.rank + 3);
    sim_event_init(&root->core_memory_event, engine, core_memory_event,
                   SIM_PRIORITY_NORMAL, root->component.rank + 3);
}

void fab_root_core_free(FabRoot *root)
{
    while (root->core_writes.head) {
        fab_tlp_free(root->component.fabric, fab_fifo_pop(&root->core_writes));
    }
    sim_event_cancel(&root->write_event);
    sim_event_cancel(&root->core_memory_event);
    if (root->core_read_wait) {
        g_array_unref(root->core_read_wait);
    }
    g_free(root->core_reads);
}
