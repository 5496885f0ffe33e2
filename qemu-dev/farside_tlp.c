/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory requests that cross the link: those of our windows that do not lead to
 * the peer's RAM, and those of the peer, which are issued here with this
 * device's requester ID.
 *
 * A read waits for its completion under the big lock. Meanwhile the peer is
 * served: otherwise two hosts that read from each other would wait for each
 * other, which PCI Express forbids. One kind of request cannot be served then:
 * to a device that is itself in the middle of an access (it is why we wait),
 * for QEMU would refuse it. That one is put off, with all posted requests
 * behind it, until the device is done.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "exec/address-spaces.h"
#include "farside_ntb.h"

#define DEFERRED_MAX 256

/*
 * Requests inside requests: a window may lead to a window that leads back. Each
 * level takes a frame of the stack on both hosts.
 */
#define DEPTH_MAX 4

struct FarsideNtbRead {
    uint16_t tag;
    bool done;
    bool ok;
    uint32_t length;
    uint8_t data[8];
    QLIST_ENTRY(FarsideNtbRead) next;
};

typedef struct {
    unsigned type;
    size_t size;
    uint8_t body[];
} Deferred;

/* What cannot wait longer than this is answered by the bridge. */
static int64_t deadline_from_now(FarsideNtb *s)
{
    return qemu_clock_get_ns(QEMU_CLOCK_REALTIME) + s->timeout_ms * SCALE_MS;
}

/* Own requests */

uint64_t farside_tlp_read(FarsideNtb *s, const FarsideNtbNear *near,
                          uint64_t address, unsigned size)
{
    FarsideNtbRead r = {.tag = s->next_tag++, .length = size};
    struct farside_wire_read m = {
        .address = address,
        .length = size,
        .tag = r.tag,
        .requester_id = pci_requester_id(PCI_DEVICE(s)),
    };
    int64_t deadline = deadline_from_now(s);
    uint64_t value = UINT64_MAX;

    if (s->depth >= DEPTH_MAX || !s->link_up) {
        return value;
    }
    s->depth++;
    QLIST_INSERT_HEAD(&s->reads, &r, next);
    farside_trace_read(s, near, &m);
    farside_link_send(s, FARSIDE_WIRE_READ, &m, sizeof(m), NULL, 0, NULL, 0);
    while (!r.done && s->link_up &&
           qemu_clock_get_ns(QEMU_CLOCK_REALTIME) < deadline) {
        farside_link_serve(s, deadline);
    }
    QLIST_REMOVE(&r, next);
    s->depth--;
    if (!r.done) {
        qemu_log_mask(LOG_UNIMP, "%s: read of 0x%" PRIx64 " timed out\n",
                      TYPE_FARSIDE_NTB, address);
    }
    if (r.ok) {
        value = ldn_le_p(r.data, size);
    }
    return value;
}

void farside_tlp_flush(FarsideNtb *s)
{
    farside_tlp_read(s, NULL, 0, 0);
}

void farside_tlp_write(FarsideNtb *s, const FarsideNtbNear *near,
                       uint64_t address, uint64_t value, unsigned size)
{
    struct farside_wire_write m = {
        .address = address,
        .length = size,
        .requester_id = pci_requester_id(PCI_DEVICE(s)),
    };
    int64_t deadline = deadline_from_now(s);
    uint8_t data[8];

    if (s->depth >= DEPTH_MAX || !s->link_up) {
        return;
    }
    /*
     * Posted, but not without end: while the peer does not read, as while a
     * real link has no credits. After one time-out nobody waits again until it
     * reads.
     */
    s->depth++;
    while (farside_link_is_full(s) && s->link_up && !s->stalled) {
        farside_link_serve(s, deadline);
        s->stalled = qemu_clock_get_ns(QEMU_CLOCK_REALTIME) >= deadline;
    }
    s->depth--;
    if (farside_link_is_full(s) || !s->link_up) {
        return;
    }
    s->stalled = false;
    stn_le_p(data, size, value);
    farside_trace_write(s, near, &m, data);
    farside_link_send(s, FARSIDE_WIRE_WRITE, &m, sizeof(m), data, size, NULL,
                      0);
}

static bool on_completion(FarsideNtb *s, const void *body, size_t size)
{
    const struct farside_wire_completion *m = body;
    FarsideNtbRead *r;

    if (size < sizeof(*m) || m->length != size - sizeof(*m) ||
        (m->length != 0 && m->status != FARSIDE_WIRE_SC)) {
        return false;
    }
    QLIST_FOREACH(r, &s->reads, next) {
        if (r->tag != m->tag || r->done) {
            continue;
        }
        r->done = true;
        if (m->status == FARSIDE_WIRE_SC && m->length == r->length) {
            memcpy(r->data, m + 1, r->length);
            r->ok = true;
        }
        return true;
    }
    /* Unexpected: it came after its time-out. */
    return true;
}

/* Requests of the peer */

/* Whether QEMU would refuse the access, since its device is in one already. */
static bool target_is_engaged(FarsideNtb *s, uint64_t address, bool is_write)
{
    hwaddr offset, length = 1;
    MemoryRegion *mr;

    RCU_READ_LOCK_GUARD();
    mr = address_space_translate(pci_get_address_space(PCI_DEVICE(s)), address,
                                 &offset, &length, is_write,
                                 MEMTXATTRS_UNSPECIFIED);
    return mr->dev && !mr->disable_reentrancy_guard &&
           !memory_region_is_ram(mr) &&
           mr->dev->mem_reentrancy_guard.engaged_in_io;
}

static void serve_read(FarsideNtb *s, const struct farside_wire_read *m)
{
    struct farside_wire_completion c = {.tag = m->tag, .length = m->length};
    MemTxAttrs attrs = {.requester_id = pci_requester_id(PCI_DEVICE(s))};
    uint8_t data[FARSIDE_WIRE_PAYLOAD];

    if (m->length == 0 ||
        address_space_read(pci_get_address_space(PCI_DEVICE(s)), m->address,
                           attrs, data, m->length) == MEMTX_OK) {
        c.status = FARSIDE_WIRE_SC;
    } else {
        c.status = FARSIDE_WIRE_UR;
        c.length = 0;
    }
    farside_trace_completion(s, m, &c, data);
    farside_link_send(s, FARSIDE_WIRE_COMPLETION, &c, sizeof(c), data,
                      c.length, NULL, 0);
}

static void serve_write(FarsideNtb *s, const struct farside_wire_write *m)
{
    MemTxAttrs attrs = {.requester_id = pci_requester_id(PCI_DEVICE(s))};

    if (address_space_write(pci_get_address_space(PCI_DEVICE(s)), m->address,
                            attrs, m + 1, m->length) != MEMTX_OK) {
        qemu_log_mask(LOG_GUEST_ERROR,
                      "%s: the peer wrote to 0x%" PRIx64 ": no such memory\n",
                      TYPE_FARSIDE_NTB, m->address);
    }
}

static void perform(FarsideNtb *s, unsigned type, const void *body)
{
    const struct farside_wire_doorbell *doorbell = body;
    const struct farside_wire_message *message = body;

    switch (type) {
    case FARSIDE_WIRE_READ:
        serve_read(s, body);
        break;
    case FARSIDE_WIRE_WRITE:
        serve_write(s, body);
        break;
    case FARSIDE_WIRE_DOORBELL:
        farside_regs_ring(s, doorbell->bits);
        break;
    case FARSIDE_WIRE_MESSAGE:
        farside_regs_message(s, message->index, message->value);
        break;
    }
}

/* What may not be served now, and what may not overtake that. */
static bool has_to_wait(FarsideNtb *s, unsigned type, const void *body)
{
    const struct farside_wire_read *read = body;
    const struct farside_wire_write *write = body;

    switch (type) {
    case FARSIDE_WIRE_READ:
        /* One of nothing is there to wait for the writes before it. */
        return read->length ? target_is_engaged(s, read->address, false)
                            : !g_queue_is_empty(&s->deferred);
    case FARSIDE_WIRE_WRITE:
        return !g_queue_is_empty(&s->deferred) ||
               target_is_engaged(s, write->address, true);
    default:
        return !g_queue_is_empty(&s->deferred);
    }
}

static bool request_is_sane(unsigned type, const void *body, size_t size)
{
    const struct farside_wire_read *read = body;
    const struct farside_wire_write *write = body;
    const struct farside_wire_message *message = body;

    switch (type) {
    case FARSIDE_WIRE_READ:
        return size == sizeof(*read) && read->length <= FARSIDE_WIRE_PAYLOAD;
    case FARSIDE_WIRE_WRITE:
        return size > sizeof(*write) &&
               write->length == size - sizeof(*write) &&
               write->length <= FARSIDE_WIRE_PAYLOAD;
    case FARSIDE_WIRE_MESSAGE:
        return message->index < SWITCHTEC_MSGS;
    default:
        return true;
    }
}

bool farside_tlp_on_message(FarsideNtb *s, unsigned type, const void *body,
                            size_t size)
{
    Deferred *d;

    if (type == FARSIDE_WIRE_COMPLETION) {
        return on_completion(s, body, size);
    }
    if (!request_is_sane(type, body, size)) {
        return false;
    }
    if (!s->link_up) {
        return true;
    }
    if (!has_to_wait(s, type, body)) {
        perform(s, type, body);
        return true;
    }
    d = g_malloc(sizeof(*d) + size);
    d->type = type;
    d->size = size;
    memcpy(d->body, body, size);
    g_queue_push_tail(&s->deferred, d);
    qemu_bh_schedule(s->deferred_bh);
    return true;
}

bool farside_tlp_is_full(FarsideNtb *s)
{
    return g_queue_get_length(&s->deferred) >= DEFERRED_MAX;
}

/*
 * From the main loop, where no device is in the middle of anything: whoever is
 * holds the big lock until it is done.
 */
static void deferred_run(void *opaque)
{
    FarsideNtb *s = opaque;
    Deferred *d;

    while ((d = g_queue_pop_head(&s->deferred))) {
        perform(s, d->type, d->body);
        g_free(d);
    }
    farside_link_resume(s);
}

void farside_tlp_peer_gone(FarsideNtb *s)
{
    Deferred *d;

    while ((d = g_queue_pop_head(&s->deferred))) {
        g_free(d);
    }
    s->stalled = false;
}

void farside_tlp_realize(FarsideNtb *s)
{
    QLIST_INIT(&s->reads);
    g_queue_init(&s->deferred);
    s->deferred_bh = qemu_bh_new(deferred_run, s);
}

void farside_tlp_exit(FarsideNtb *s)
{
    farside_tlp_peer_gone(s);
    qemu_bh_delete(s->deferred_bh);
}
