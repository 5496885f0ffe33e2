/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory requests that cross the link: those of our windows that do not lead to
 * the peer's RAM, and those of the peer, which are issued here with this
 * device's requester ID.
 *
 * A read waits for its completion under the big lock. Meanwhile all peers are
 * served: otherwise hosts that read from each other would wait for each other,
 * which PCI Express forbids. One kind of request cannot be served then: to a
 * device that is itself in the middle of an access (it is why we wait), for
 * QEMU would refuse it. That one is put off, with all posted requests behind
 * it, until the device is done. A read of memory passes them, unless it is of
 * what they write: were it to wait, two devices that each read from the other
 * host's memory would wait for each other.
 *
 * Writes that follow each other in address, as a device's DMA does in pieces of
 * 8 bytes, are sent as one. It is sent before anything else is, and when it is
 * full; otherwise from the main loop, which is where DMA ends.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "block/aio.h"
#include "exec/address-spaces.h"
#include "hw/core/cpu.h"
#include "farside_ntb.h"

/*
 * Bytes of requests put off, until the peer is not read from any more. More
 * than a device can cause in one access of its own, for then both ends might
 * wait for each other to read: one pass of an NVMe controller over a queue of
 * 65536 entries writes 1 MiB of them, and as many interrupts.
 */
#define DEFERRED_MAX (16u << 20)

/* So many adjacent writes in a row are taken for the start of a long one. */
#define BURST_START 3

/*
 * Requests inside requests: a window may lead to a window that leads back. Each
 * level takes a frame of the stack on both hosts, whichever link it came by.
 */
#define DEPTH_MAX 4

static unsigned depth;

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
    return qemu_clock_get_ns(QEMU_CLOCK_REALTIME) +
           (int64_t)s->timeout_ms * SCALE_MS;
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

    if (depth >= DEPTH_MAX || !s->link_up) {
        return value;
    }
    depth++;
    QLIST_INSERT_HEAD(&s->reads, &r, next);
    farside_tlp_send_burst(s);
    farside_trace_read(s, near, &m);
    farside_link_send(s, FARSIDE_WIRE_READ, &m, sizeof(m), NULL, 0, NULL, 0);
    while (!r.done && s->link_up &&
           qemu_clock_get_ns(QEMU_CLOCK_REALTIME) < deadline) {
        farside_link_serve(deadline);
    }
    QLIST_REMOVE(&r, next);
    depth--;
    if (!r.done) {
        qemu_log_mask(LOG_UNIMP, "%s: read of 0x%" PRIx64 " timed out\n",
                      TYPE_FARSIDE_NTB, address);
    }
    if (r.ok && size) {
        value = ldn_le_p(r.data, size);
    }
    return value;
}

void farside_tlp_flush(FarsideNtb *s)
{
    farside_tlp_read(s, NULL, 0, 0);
}

bool farside_tlp_wait_for_room(FarsideNtb *s)
{
    int64_t deadline;

    if (!farside_link_is_full(s)) {
        s->stalled = false;
        return true;
    }
    /*
     * Posted, but not without end: while the peer does not read, as while a
     * real link has no credits. After one time-out nobody waits again until it
     * reads.
     */
    if (depth < DEPTH_MAX) {
        deadline = deadline_from_now(s);
        depth++;
        while (farside_link_is_full(s) && s->link_up && !s->stalled) {
            farside_link_serve(deadline);
            s->stalled = qemu_clock_get_ns(QEMU_CLOCK_REALTIME) >= deadline;
        }
        depth--;
    }
    if (farside_link_is_full(s)) {
        return false;
    }
    s->stalled = false;
    return true;
}

/* Sends a write of what is in s->burst. */
static void burst_send(FarsideNtb *s)
{
    struct farside_wire_write m = {
        .address = s->burst.address,
        .length = s->burst.length,
        .requester_id = pci_requester_id(PCI_DEVICE(s)),
    };

    /* First of all: what is sent sends a burst that waits. */
    s->burst.length = 0;
    farside_trace_write(s, &s->burst.near, &m, s->burst.data);
    farside_link_send(s, FARSIDE_WIRE_WRITE, &m, sizeof(m), s->burst.data,
                      m.length, NULL, 0);
}

void farside_tlp_send_burst(FarsideNtb *s)
{
    if (s->burst.length) {
        burst_send(s);
    }
}

static void burst_run(void *opaque)
{
    farside_tlp_send_burst(opaque);
}

void farside_tlp_write(FarsideNtb *s, const FarsideNtbNear *near,
                       uint64_t address, uint64_t value, unsigned size)
{
    bool adjacent;

    if (!s->link_up || !farside_tlp_wait_for_room(s) || !s->link_up) {
        return;
    }
    /* Not before: while this one waited, others may have been made. */
    adjacent = address == s->burst.end;
    if (!adjacent || s->burst.length + size > s->max_payload) {
        farside_tlp_send_burst(s);
    }
    if (s->burst.length == 0) {
        s->burst.address = address;
        s->burst.near = *near;
    }
    stn_le_p(s->burst.data + s->burst.length, size, value);
    s->burst.length += size;
    s->burst.end = address + size;
    s->burst.run = adjacent ? s->burst.run + 1 : 1;
    /*
     * Alone, it goes at once: most writes of a CPU are to registers. So does
     * what ends where a TLP of the largest size would (PCIe 5.0 s2.2.7: none
     * may cross a boundary of 4 KiB).
     */
    if (s->burst.run < BURST_START || s->burst.end % s->max_payload == 0) {
        burst_send(s);
    } else {
        qemu_bh_schedule(s->burst_bh);
    }
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
static bool target_is_engaged(FarsideNtb *s, uint64_t address, uint64_t size,
                              bool is_write)
{
    AddressSpace *as = pci_get_address_space(PCI_DEVICE(s));
    hwaddr offset, length;
    MemoryRegion *mr;

    RCU_READ_LOCK_GUARD();
    for (; size > 0; address += length, size -= length) {
        length = size;
        mr = address_space_translate(as, address, &offset, &length, is_write,
                                     MEMTXATTRS_UNSPECIFIED);
        if (mr->dev && !mr->disable_reentrancy_guard &&
            !memory_region_is_ram(mr) &&
            mr->dev->mem_reentrancy_guard.engaged_in_io) {
            return true;
        }
        if (length == 0) {
            break;
        }
    }
    return false;
}

static bool target_is_memory(FarsideNtb *s, uint64_t address, uint64_t size)
{
    hwaddr offset, length = size;
    MemoryRegion *mr;

    RCU_READ_LOCK_GUARD();
    mr = address_space_translate(pci_get_address_space(PCI_DEVICE(s)), address,
                                 &offset, &length, false,
                                 MEMTXATTRS_UNSPECIFIED);
    return memory_region_is_ram(mr) && length == size;
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
    farside_tlp_send_burst(s);
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
    CPUState *cpu = current_cpu;

    /*
     * Also where a CPU of ours waits: the request is not the CPU's, and must
     * not meet what only the CPU sees, as its local APIC.
     */
    current_cpu = NULL;
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
    current_cpu = cpu;
}

/* Whether a read would have to see what a write that was put off brings. */
static bool read_meets_deferred(FarsideNtb *s,
                                const struct farside_wire_read *read)
{
    const struct farside_wire_write *write;
    GList *l;

    for (l = s->deferred.head; l; l = l->next) {
        const Deferred *d = l->data;

        write = (const void *)d->body;
        if (d->type == FARSIDE_WIRE_WRITE &&
            read->address < write->address + write->length &&
            write->address < read->address + read->length) {
            return true;
        }
    }
    return false;
}

/* What may not be served now, and what may not overtake that. */
static bool has_to_wait(FarsideNtb *s, unsigned type, const void *body)
{
    const struct farside_wire_read *read = body;
    const struct farside_wire_write *write = body;
    bool behind = !g_queue_is_empty(&s->deferred);

    switch (type) {
    case FARSIDE_WIRE_READ:
        /* One of nothing is there to wait for the writes before it. */
        if (behind && (read->length == 0 ||
                       !target_is_memory(s, read->address, read->length) ||
                       read_meets_deferred(s, read))) {
            return true;
        }
        return target_is_engaged(s, read->address, read->length, false);
    case FARSIDE_WIRE_WRITE:
        return behind ||
               target_is_engaged(s, write->address, write->length, true);
    default:
        return behind;
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
    s->deferred_bytes += sizeof(*d) + size;
    qemu_bh_schedule(s->deferred_bh);
    return true;
}

bool farside_tlp_is_full(FarsideNtb *s)
{
    return s->deferred_bytes >= DEFERRED_MAX;
}

static Deferred *deferred_pop(FarsideNtb *s)
{
    Deferred *d = g_queue_pop_head(&s->deferred);

    if (d) {
        s->deferred_bytes -= sizeof(*d) + d->size;
    }
    return d;
}

/*
 * From the main loop, where no device is in the middle of anything, but for one
 * that gave the big lock away: then it is tried again.
 */
static void deferred_run(void *opaque)
{
    FarsideNtb *s = opaque;
    const struct farside_wire_read *read;
    const struct farside_wire_write *write;
    Deferred *d;

    while ((d = g_queue_peek_head(&s->deferred))) {
        read = (const void *)d->body;
        write = (const void *)d->body;
        if ((d->type == FARSIDE_WIRE_READ &&
             target_is_engaged(s, read->address, read->length, false)) ||
            (d->type == FARSIDE_WIRE_WRITE &&
             target_is_engaged(s, write->address, write->length, true))) {
            qemu_bh_schedule(s->deferred_bh);
            break;
        }
        deferred_pop(s);
        perform(s, d->type, d->body);
        g_free(d);
    }
    farside_link_resume(s);
}

void farside_tlp_peer_gone(FarsideNtb *s)
{
    Deferred *d;

    while ((d = deferred_pop(s))) {
        g_free(d);
    }
    s->burst.length = 0;
    s->stalled = false;
}

void farside_tlp_realize(FarsideNtb *s)
{
    QLIST_INIT(&s->reads);
    g_queue_init(&s->deferred);
    /*
     * Of the main loop alone: other bottom halves also run inside a device that
     * waits for its disk.
     */
    s->deferred_bh = aio_bh_new(iohandler_get_aio_context(), deferred_run, s);
    s->burst_bh = qemu_bh_new(burst_run, s);
}

void farside_tlp_exit(FarsideNtb *s)
{
    farside_tlp_peer_gone(s);
    qemu_bh_delete(s->deferred_bh);
    qemu_bh_delete(s->burst_bh);
}
