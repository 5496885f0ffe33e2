/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "block/aio.h"
#include "qemu/coroutine.h"
#include "hw/core/cpu.h"
#include "farside_completer.h"
#include "farside_fetch.h"
#include "farside_origin.h"
#include "farside_requester.h"
#include "farside_time.h"

/*
 * The link is held at this many bytes of deferred requests. A device must not
 * reach it within one access of its own, because then both ends might wait for
 * each other to read. For comparison: in one pass over a queue of 65536
 * entries, an NVMe controller writes 1 MiB of entries, and an interrupt for
 * each.
 */
#define DEFERRED_MAX (16u << 20)

/* The longest read of registers: a device that wants more fetches a block. */
#define REGISTER_BYTES 8

typedef struct {
    unsigned type;
    size_t size;
    uint8_t body[];
} Deferred;

struct FarsideCompleter {
    PCIDevice *pci;
    FarsidePeer *peer;
    FarsideCtrl *ctrl;
    FarsideRegs *regs;
    uint64_t unsupported; /* see farside_completer_unsupported() */
    GQueue deferred; /* of Deferred */
    size_t deferred_bytes;
    QEMUBH *deferred_bh;
};

/*
 * True if QEMU would refuse the access, because its device is in the
 * middle of another one.
 */
static bool target_is_engaged(FarsideCompleter *s, uint64_t address,
                              uint64_t size, bool is_write)
{
    AddressSpace *as = pci_get_address_space(s->pci);
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

static bool target_is_memory(FarsideCompleter *s, uint64_t address,
                             uint64_t size, bool is_write)
{
    hwaddr offset, length = size;
    MemoryRegion *mr;

    RCU_READ_LOCK_GUARD();
    mr =
        address_space_translate(pci_get_address_space(s->pci), address, &offset,
                                &length, is_write, MEMTXATTRS_UNSPECIFIED);
    return memory_region_is_ram(mr) && length == size;
}

static void serve_read(FarsideCompleter *s, const struct farside_wire_read *m)
{
    struct farside_wire_completion c = {.tag = m->tag, .length = m->length};
    MemTxAttrs attrs = {.requester_id = pci_requester_id(s->pci)};
    uint8_t data[FARSIDE_WIRE_PAYLOAD];

    if (m->length > REGISTER_BYTES &&
        !target_is_memory(s, m->address, m->length, false)) {
        /* A block: a read of registers that nobody wants might change them. */
        c.status = FARSIDE_WIRE_CA;
        c.length = 0;
    } else if (m->length == 0 ||
               address_space_read(pci_get_address_space(s->pci), m->address,
                                  attrs, data, m->length) == MEMTX_OK) {
        c.status = FARSIDE_WIRE_SC;
    } else {
        c.status = FARSIDE_WIRE_UR;
        c.length = 0;
    }
    farside_peer_send_completion(s->peer, m, &c, data);
}

static void serve_write(FarsideCompleter *s, const struct farside_wire_write *m)
{
    MemTxAttrs attrs = {.requester_id = pci_requester_id(s->pci)};

    if (address_space_write(pci_get_address_space(s->pci), m->address, attrs,
                            m + 1, m->length) != MEMTX_OK) {
        qemu_log_mask(LOG_GUEST_ERROR,
                      "%s: the peer wrote to 0x%" PRIx64
                      ", where there is no memory and no device\n",
                      TYPE_FARSIDE_NTB, m->address);
    }
}

static void perform(FarsideCompleter *s, unsigned type, const void *body)
{
    const struct farside_wire_doorbell *doorbell = body;
    const struct farside_wire_message *message = body;
    const struct farside_wire_read *read = body;
    const struct farside_wire_write *write = body;
    CPUState *cpu = current_cpu;
    unsigned hops;

    farside_fetch_expire();
    farside_origin_forget();
    /*
     * This thread may be a CPU that waits for the peer. The request is not the
     * CPU's, so it must not reach what only that CPU sees, such as its
     * local APIC.
     */
    current_cpu = NULL;
    switch (type) {
    case FARSIDE_WIRE_READ:
        hops = farside_requester_set_hops(read->hops + 1);
        serve_read(s, body);
        farside_requester_set_hops(hops);
        break;
    case FARSIDE_WIRE_WRITE:
        hops = farside_requester_set_hops(write->hops + 1);
        serve_write(s, body);
        farside_requester_set_hops(hops);
        break;
    case FARSIDE_WIRE_DOORBELL:
        farside_regs_ring(s->regs, doorbell->bits);
        break;
    case FARSIDE_WIRE_MESSAGE:
        farside_regs_message(s->regs, message->index, message->value);
        break;
    }
    current_cpu = cpu;
    farside_fetch_expire();
}

/* True if a deferred write and the read overlap. */
static bool read_meets_deferred(FarsideCompleter *s,
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

/*
 * True if a device of this machine waits for its DMA, in the middle of a timer,
 * a bottom half or a coroutine. A write to a device may wait for a drive, for
 * example when its controller is reset. If the drive is itself in the middle of
 * a request here, that wait would not end. And inside a coroutine QEMU does not
 * wait, but leaves the coroutine, and all that is under way in it.
 */
static bool machine_is_engaged(void)
{
    return qemu_in_coroutine() ||
           (farside_time() && farside_time()->is_in_device());
}

static bool write_is_engaged(FarsideCompleter *s,
                             const struct farside_wire_write *m)
{
    return target_is_engaged(s, m->address, m->length, true) ||
           (machine_is_engaged() &&
            !target_is_memory(s, m->address, m->length, true));
}

/* True if the request cannot be served now, or must not pass a deferred one. */
static bool has_to_wait(FarsideCompleter *s, unsigned type, const void *body)
{
    const struct farside_wire_read *read = body;
    const struct farside_wire_write *write = body;
    bool behind = !g_queue_is_empty(&s->deferred);

    switch (type) {
    case FARSIDE_WIRE_READ:
        /* A read of 0 bytes waits for all earlier writes. */
        if (behind && (read->length == 0 ||
                       !target_is_memory(s, read->address, read->length,
                                         false) ||
                       read_meets_deferred(s, read))) {
            return true;
        }
        return target_is_engaged(s, read->address, read->length, false);
    case FARSIDE_WIRE_WRITE:
        return behind || write_is_engaged(s, write);
    default:
        return behind;
    }
}

static bool request_is_sane(const FarsideLinkMessage *m)
{
    const struct farside_wire_read *read = m->body;
    const struct farside_wire_write *write = m->body;
    const struct farside_wire_message *message = m->body;

    switch (m->type) {
    case FARSIDE_WIRE_READ:
        return read->length <= FARSIDE_WIRE_PAYLOAD;
    case FARSIDE_WIRE_WRITE:
        return write->length == m->size - sizeof(*write);
    case FARSIDE_WIRE_MESSAGE:
        return message->index < SWITCHTEC_MSGS;
    default:
        return true;
    }
}

/* Answers a request that this device does not support. */
static void refuse(FarsideCompleter *s, unsigned type, const void *body)
{
    const struct farside_wire_read *read = body;
    const struct farside_wire_write *write = body;
    bool is_read = type == FARSIDE_WIRE_READ;
    struct farside_wire_completion c = {.status = FARSIDE_WIRE_UR};

    s->unsupported++;
    qemu_log_mask(LOG_GUEST_ERROR,
                  "%s: the peer's %s of %u bytes at 0x%" PRIx64 " after %u "
                  "links: no window of the peer leads there, or the request "
                  "has crossed too many links\n",
                  TYPE_FARSIDE_NTB, is_read ? "read" : "write",
                  is_read ? read->length : write->length,
                  is_read ? read->address : write->address,
                  is_read ? read->hops : write->hops);
    if (is_read) {
        c.tag = read->tag;
        farside_peer_send_completion(s->peer, read, &c, NULL);
    }
}

/* PCIe 5.0 s2.3.1: the rules of request handling */
static bool is_supported(FarsideCompleter *s, unsigned type, const void *body)
{
    const struct farside_wire_read *read = body;
    const struct farside_wire_write *write = body;

    switch (type) {
    case FARSIDE_WIRE_READ:
        /* A read of 0 bytes reads nothing, so it needs no window. */
        return read->length == 0 ||
               (read->hops < FARSIDE_WIRE_HOPS &&
                farside_ctrl_peer_reaches(s->ctrl, read->address,
                                          read->length));
    case FARSIDE_WIRE_WRITE:
        return write->hops < FARSIDE_WIRE_HOPS &&
               farside_ctrl_peer_reaches(s->ctrl, write->address,
                                         write->length);
    default:
        return true;
    }
}

/*
 * The message registers and the control blocks of both partitions are in the
 * switch: a link that is down does not keep them from each other. Linux's
 * driver says once, when it is loaded, that its partition was reset. If that
 * were lost, the other host would never open its window again.
 */
static bool crosses(FarsideCompleter *s, unsigned type)
{
    return farside_peer_link_is_up(s->peer) || type == FARSIDE_WIRE_MESSAGE;
}

static void hold_link(FarsideCompleter *s)
{
    farside_peer_hold(s->peer, s->deferred_bytes >= DEFERRED_MAX);
}

bool farside_completer_on_request(FarsideCompleter *s,
                                  const FarsideLinkMessage *m)
{
    Deferred *d;

    if (!request_is_sane(m)) {
        return false;
    }
    if (!crosses(s, m->type)) {
        return true;
    }
    if (!is_supported(s, m->type, m->body)) {
        refuse(s, m->type, m->body);
        return true;
    }
    if (!has_to_wait(s, m->type, m->body)) {
        perform(s, m->type, m->body);
        return true;
    }
    d = g_malloc(sizeof(*d) + m->size);
    d->type = m->type;
    d->size = m->size;
    memcpy(d->body, m->body, m->size);
    g_queue_push_tail(&s->deferred, d);
    s->deferred_bytes += sizeof(*d) + m->size;
    qemu_bh_schedule(s->deferred_bh);
    hold_link(s);
    return true;
}

static Deferred *deferred_pop(FarsideCompleter *s)
{
    Deferred *d = g_queue_pop_head(&s->deferred);

    if (d) {
        s->deferred_bytes -= sizeof(*d) + d->size;
        hold_link(s);
    }
    return d;
}

/*
 * Runs in the main loop. There no device is in the middle of an access, except
 * a device that has released the big lock. A request to such a device is tried
 * again later.
 */
static void deferred_run(void *opaque)
{
    FarsideCompleter *s = opaque;
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
}

void farside_completer_peer_gone(FarsideCompleter *s)
{
    Deferred *d;

    while ((d = deferred_pop(s))) {
        g_free(d);
    }
}

uint64_t farside_completer_unsupported(const FarsideCompleter *s)
{
    return s->unsupported;
}

FarsideCompleter *farside_completer_new(PCIDevice *pci, FarsidePeer *peer,
                                        FarsideCtrl *ctrl, FarsideRegs *regs)
{
    FarsideCompleter *s = g_new0(FarsideCompleter, 1);

    s->pci = pci;
    s->peer = peer;
    s->ctrl = ctrl;
    s->regs = regs;
    g_queue_init(&s->deferred);
    /*
     * This context runs only in the main loop. Bottom halves of the default
     * context also run inside a device that waits for its disk.
     */
    s->deferred_bh = aio_bh_new(iohandler_get_aio_context(), deferred_run, s);
    return s;
}

void farside_completer_free(FarsideCompleter *s)
{
    if (s) {
        qemu_bh_delete(s->deferred_bh);
        g_free(s);
    }
}
