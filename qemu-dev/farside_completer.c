/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "hw/core/cpu.h"
#include "hw/i386/x86-iommu.h"
#include "farside_access.h"
#include "farside_completer.h"
#include "farside_fetch.h"
#include "farside_qemu.h"
#include "farside_requester.h"
#include "farside_time.h"
#include "farside_wait.h"
#include "farside_windows.h"

/*
 * The link is held at this many bytes of deferred requests. A device must not
 * reach it within one access of its own, because then both ends might wait for
 * each other to read. For comparison: in one pass over a queue of 65536
 * entries, an NVMe controller writes 1 MiB of entries, and an interrupt for
 * each.
 */
#define DEFERRED_MAX (16u << 20)

/* Deferred requests are served for so long before the main loop goes on. */
#define SLICE_NS (10 * SCALE_MS)

/* Interrupt messages, and the size of the region that takes them */
#define INTERRUPTS      ((uint64_t)0xfee00000)
#define INTERRUPTS_SIZE ((uint64_t)0x100000)

/* The longest read of registers: a device that wants more fetches a block. */
#define REGISTER_BYTES 8

/*
 * The most register writes of the peer that wait for a flush. A host has one
 * for each CPU.
 */
#define PENDING_MAX 256

typedef struct {
    unsigned type;
    size_t size;
    uint8_t body[];
} Deferred;

/* A register write of the peer that has closed a window */
typedef struct {
    uint32_t flush;
    uint16_t tag;
} Pending;

struct FarsideCompleter {
    PCIDevice *pci;
    unsigned index; /* of the peer */
    FarsidePeer *peer;
    FarsideReach *reach;
    FarsideChip *chip;
    FarsideWindows *windows;
    GArray *pending; /* of Pending */
    uint64_t unsupported; /* see farside_completer_unsupported() */
    GQueue deferred; /* of Deferred */
    size_t deferred_bytes;
    unsigned deferred_posted; /* all of them but READs */
    QEMUBH *deferred_bh;
    Notifier idle;
    bool serves_deferred;
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

/* True if @mr takes interrupt messages, which end in some CPU's local APIC. */
static bool takes_interrupts(const MemoryRegion *mr)
{
    return memory_region_size((MemoryRegion *)mr) == INTERRUPTS_SIZE &&
           (object_dynamic_cast(mr->owner, "apic-common") ||
            object_dynamic_cast(mr->owner, TYPE_X86_IOMMU_DEVICE));
}

/*
 * The region that the request lies in, if it calls no device there that might
 * be in the middle of its code: an interrupt message, a request for a peer, a
 * read of an NTB device, or a controller's memory, which QEMU reads and writes
 * by a function that only copies. NULL if there is another region, or more than
 * one.
 */
static MemoryRegion *harmless_region(FarsideCompleter *s, uint64_t address,
                                     uint64_t size, bool is_write,
                                     hwaddr *ret_offset)
{
    hwaddr length = size;
    MemoryRegion *mr;

    mr = address_space_translate(pci_get_address_space(s->pci), address,
                                 ret_offset, &length, is_write,
                                 MEMTXATTRS_UNSPECIFIED);
    if (length != size) {
        return NULL;
    }
    if (address / INTERRUPTS_SIZE == INTERRUPTS / INTERRUPTS_SIZE) {
        return is_write && size == 4 && takes_interrupts(mr) ? mr : NULL;
    }
    /* No read of an NTB device's registers has an effect. */
    return farside_windows_forward(mr) ||
                   (!is_write && farside_registers_own(mr)) ||
                   !g_strcmp0(memory_region_name(mr), "nvme-cmb")
               ? mr
               : NULL;
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

/* Accesses that a region takes, of the sizes that it takes */
static MemTxResult access_region(MemoryRegion *mr, hwaddr offset,
                                 MemTxAttrs attrs, uint8_t *data, uint64_t size,
                                 bool is_write)
{
    MemTxResult result = MEMTX_OK;
    unsigned length;
    uint64_t value;

    for (; size > 0; data += length, offset += length, size -= length) {
        length = pow2floor(MIN(size, 8));
        while (offset & (length - 1)) {
            length /= 2;
        }
        if (is_write) {
            value = ldn_le_p(data, length);
            result |= memory_region_dispatch_write(
                mr, offset, value, size_memop(length) | MO_LE, attrs);
        } else {
            result |= memory_region_dispatch_read(
                mr, offset, &value, size_memop(length) | MO_LE, attrs);
            stn_le_p(data, length, value);
        }
    }
    return result;
}

/*
 * Issues a request on this machine. While a device waits, the check that it is
 * harmless must hold for the access itself: a guest may change the tables of
 * its IOMMU at any time. QEMU refuses an access with the attribute "memory" if
 * it does not lead to RAM.
 */
static bool issue(FarsideCompleter *s, uint64_t address, void *data,
                  uint64_t size, bool is_write)
{
    MemTxAttrs attrs = farside_wait_attrs(s->pci);
    MemoryRegion *mr;
    hwaddr offset;

    RCU_READ_LOCK_GUARD();
    if (farside_wait_of_device()) {
        mr = harmless_region(s, address, size, is_write, &offset);
        if (mr) {
            return access_region(mr, offset, attrs, data, size, is_write) ==
                   MEMTX_OK;
        }
        attrs.memory = 1;
    }
    return address_space_rw(pci_get_address_space(s->pci), address, attrs, data,
                            size, is_write) == MEMTX_OK;
}

static void serve_read(FarsideCompleter *s, const struct farside_wire_read *m)
{
    struct farside_wire_completion c = {.tag = m->tag, .length = m->length};
    uint8_t data[FARSIDE_WIRE_PAYLOAD];

    if (m->length > REGISTER_BYTES &&
        !target_is_memory(s, m->address, m->length, false)) {
        /* A block: a read of registers that nobody wants might change them. */
        c.status = FARSIDE_WIRE_CA;
        c.length = 0;
    } else if (m->length == 0 ||
               issue(s, m->address, data, m->length, false)) {
        c.status = FARSIDE_WIRE_SC;
    } else {
        c.status = FARSIDE_WIRE_UR;
        c.length = 0;
    }
    farside_peer_send_completion(s->peer, m, &c, data);
}

static void serve_write(FarsideCompleter *s, const struct farside_wire_write *m)
{
    if (!issue(s, m->address, (void *)(m + 1), m->length, true)) {
        qemu_log_mask(LOG_GUEST_ERROR,
                      "%s: the peer wrote to 0x%" PRIx64
                      ", where there is no memory and no device\n",
                      object_get_typename(OBJECT(s->pci)), m->address);
    }
}

/* Registers of this host */

static void serve_register_read(FarsideCompleter *s,
                                const struct farside_wire_read *m)
{
    struct farside_wire_completion c = {
        .tag = m->tag,
        .status = FARSIDE_WIRE_UR,
    };
    uint8_t data[8];
    uint64_t value;

    if (s->chip->class->serve_read(s->chip, s->index, m->address, m->length,
                                   &value)) {
        c.status = FARSIDE_WIRE_SC;
        c.length = m->length;
        stn_le_p(data, m->length, value);
    }
    farside_peer_send_completion(s->peer, m, &c, data);
}

static void complete_write(FarsideCompleter *s, uint16_t tag, unsigned status)
{
    struct farside_wire_read m = {.space = FARSIDE_WIRE_REGISTERS_NP};
    struct farside_wire_completion c = {.tag = tag, .status = status};

    farside_peer_send_completion(s->peer, &m, &c, NULL);
}

static void write_flushed(void *opaque, uint32_t number)
{
    FarsideCompleter *s = opaque;
    unsigned i;

    for (i = 0; i < s->pending->len; i++) {
        const Pending p = g_array_index(s->pending, Pending, i);

        if (p.flush == number) {
            g_array_remove_index(s->pending, i);
            complete_write(s, p.tag, FARSIDE_WIRE_SC);
            return;
        }
    }
}

static void serve_register_write(FarsideCompleter *s,
                                 const struct farside_wire_write *m)
{
    uint64_t value = ldn_le_p(m + 1, m->length);
    Pending p = {.tag = m->tag};
    bool ok;

    farside_windows_take_closed(s->windows);
    ok = s->chip->class->serve_write(s->chip, s->index, m->address, value,
                                     m->length);
    if (m->space != FARSIDE_WIRE_REGISTERS_NP) {
        return;
    }
    if (farside_windows_take_closed(s->windows)) {
        p.flush = farside_windows_flush(s->windows, write_flushed, s);
        g_array_append_val(s->pending, p);
    } else {
        complete_write(s, m->tag, ok ? FARSIDE_WIRE_SC : FARSIDE_WIRE_UR);
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
    farside_access_forget();
    /*
     * This thread may be a CPU that waits for the peer. The request is not the
     * CPU's, so it must not reach what only that CPU sees, such as its
     * local APIC.
     */
    current_cpu = NULL;
    switch (type) {
    case FARSIDE_WIRE_READ:
        hops = farside_requester_set_hops(read->hops + 1);
        read->space ? serve_register_read(s, read) : serve_read(s, read);
        farside_requester_set_hops(hops);
        break;
    case FARSIDE_WIRE_WRITE:
        hops = farside_requester_set_hops(write->hops + 1);
        write->space ? serve_register_write(s, write) : serve_write(s, write);
        farside_requester_set_hops(hops);
        break;
    case FARSIDE_WIRE_DOORBELL:
        s->chip->class->ring(s->chip, s->index, doorbell->bits);
        break;
    case FARSIDE_WIRE_MESSAGE:
        s->chip->class->message(s->chip, s->index, message->index,
                                message->value);
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
        if (d->type == FARSIDE_WIRE_WRITE && !write->space &&
            read->address < write->address + write->length &&
            write->address < read->address + read->length) {
            return true;
        }
    }
    return false;
}

/* True for a READ or a WRITE of registers. */
static bool is_of_registers(unsigned type, const void *body)
{
    const struct farside_wire_read *read = body;
    const struct farside_wire_write *write = body;

    return (type == FARSIDE_WIRE_READ && read->space) ||
           (type == FARSIDE_WIRE_WRITE && write->space);
}

/*
 * True if the request cannot be served now. A read of 0 bytes accesses nothing,
 * and neither does a block of registers.
 */
static bool is_held_up(FarsideCompleter *s, unsigned type, const void *body)
{
    const struct farside_wire_read *read = body;
    const struct farside_wire_write *write = body;
    bool is_write = type == FARSIDE_WIRE_WRITE;
    uint64_t address, size;
    hwaddr offset;

    if ((!is_write && type != FARSIDE_WIRE_READ) ||
        is_of_registers(type, body)) {
        return false;
    }
    address = is_write ? write->address : read->address;
    size = is_write ? write->length : read->length;
    if (target_is_engaged(s, address, size, is_write)) {
        return true;
    }
    if (!farside_wait_of_device() || size == 0 ||
        target_is_memory(s, address, size, is_write) ||
        (!is_write && size > REGISTER_BYTES)) {
        return false;
    }
    RCU_READ_LOCK_GUARD();
    return !harmless_region(s, address, size, is_write, &offset);
}

/*
 * True if the request cannot be served now, or must not pass a deferred one. No
 * request passes a posted one, but for a read of other memory. All may pass a
 * read: posted requests have to, so that nobody waits for each other (PCIe 5.0
 * s2.4.1).
 */
static bool has_to_wait(FarsideCompleter *s, unsigned type, const void *body)
{
    const struct farside_wire_read *read = body;
    bool behind = s->deferred_posted > 0;

    /* A read of 0 bytes waits for all earlier writes. */
    if (behind && (type != FARSIDE_WIRE_READ || read->length == 0 ||
                   read->space ||
                   !target_is_memory(s, read->address, read->length, false) ||
                   read_meets_deferred(s, read))) {
        return true;
    }
    return is_held_up(s, type, body);
}

/* Registers are read and written as a whole. */
static bool register_is_sane(uint64_t offset, unsigned size)
{
    return is_power_of_2(size) && size <= 8 && offset % size == 0;
}

static bool request_is_sane(FarsideCompleter *s, const FarsideLinkMessage *m)
{
    const struct farside_wire_read *read = m->body;
    const struct farside_wire_write *write = m->body;
    const struct farside_wire_message *message = m->body;

    switch (m->type) {
    case FARSIDE_WIRE_READ:
        return read->space == FARSIDE_WIRE_MEMORY
                   ? read->length <= FARSIDE_WIRE_PAYLOAD
                   : read->space == FARSIDE_WIRE_REGISTERS &&
                         register_is_sane(read->address, read->length);
    case FARSIDE_WIRE_WRITE:
        return write->length == m->size - sizeof(*write) &&
               write->space <= FARSIDE_WIRE_REGISTERS_NP &&
               (write->space == FARSIDE_WIRE_MEMORY ||
                register_is_sane(write->address, write->length)) &&
               (write->space != FARSIDE_WIRE_REGISTERS_NP ||
                s->pending->len < PENDING_MAX);
    case FARSIDE_WIRE_MESSAGE:
        return message->index < s->chip->class->messages;
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
                  object_get_typename(OBJECT(s->pci)),
                  is_read ? "read" : "write",
                  is_read ? read->length : write->length,
                  is_read ? read->address : write->address,
                  is_read ? read->hops : write->hops);
    if (is_read) {
        c.tag = read->tag;
        farside_peer_send_completion(s->peer, read, &c, NULL);
    } else if (write->space == FARSIDE_WIRE_REGISTERS_NP) {
        complete_write(s, write->tag, FARSIDE_WIRE_UR);
    }
}

/* PCIe 5.0 s2.3.1: the rules of request handling */
static bool is_supported(FarsideCompleter *s, unsigned type, const void *body)
{
    const struct farside_wire_read *read = body;
    const struct farside_wire_write *write = body;

    if (is_of_registers(type, body)) {
        return s->chip->class->serve_read;
    }
    switch (type) {
    case FARSIDE_WIRE_READ:
        /* A read of 0 bytes reads nothing, so it needs no window. */
        return read->length == 0 ||
               (read->hops < FARSIDE_WIRE_HOPS &&
                farside_reach_holds(s->reach, read->address, read->length));
    case FARSIDE_WIRE_WRITE:
        return write->hops < FARSIDE_WIRE_HOPS &&
               farside_reach_holds(s->reach, write->address, write->length);
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

    if (!request_is_sane(s, m)) {
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
    s->deferred_posted += d->type != FARSIDE_WIRE_READ;
    qemu_bh_schedule(s->deferred_bh);
    hold_link(s);
    return true;
}

static Deferred *deferred_pop(FarsideCompleter *s)
{
    Deferred *d = g_queue_pop_head(&s->deferred);

    if (d) {
        s->deferred_bytes -= sizeof(*d) + d->size;
        s->deferred_posted -= d->type != FARSIDE_WIRE_READ;
        hold_link(s);
    }
    return d;
}

/*
 * Serves deferred requests, in their order, for as long as a slice. True if
 * some are left.
 */
static bool serve_deferred(FarsideCompleter *s)
{
    int64_t end = qemu_clock_get_ns(QEMU_CLOCK_REALTIME) + SLICE_NS;
    Deferred *d;

    if (s->serves_deferred) {
        return false;
    }
    s->serves_deferred = true;
    while ((d = g_queue_peek_head(&s->deferred)) &&
           !is_held_up(s, d->type, d->body) &&
           (farside_time() || qemu_clock_get_ns(QEMU_CLOCK_REALTIME) < end)) {
        deferred_pop(s);
        perform(s, d->type, d->body);
        g_free(d);
    }
    s->serves_deferred = false;
    return d;
}

/*
 * Runs in the main loop. There no device is in the middle of its code, except
 * one that has released the big lock. A request to such a device is tried again
 * later.
 */
static void deferred_run(void *opaque)
{
    FarsideCompleter *s = opaque;
    bool is_left;

    farside_wait_set_top(true);
    is_left = serve_deferred(s);
    farside_wait_set_top(false);
    if (is_left) {
        qemu_bh_schedule(s->deferred_bh);
    }
}

/* A CPU waits for a peer, and no device does. */
static void deferred_idle(Notifier *notifier, void *data)
{
    FarsideCompleter *s = container_of(notifier, FarsideCompleter, idle);
    Deferred *d;
    bool *more = data;

    if (serve_deferred(s)) {
        d = g_queue_peek_head(&s->deferred);
        *more |= !is_held_up(s, d->type, d->body);
    }
}

void farside_completer_peer_gone(FarsideCompleter *s)
{
    Deferred *d;

    while ((d = deferred_pop(s))) {
        g_free(d);
    }
    g_array_set_size(s->pending, 0);
}

uint64_t farside_completer_unsupported(const FarsideCompleter *s)
{
    return s->unsupported;
}

FarsideCompleter *farside_completer_new(PCIDevice *pci,
                                        const FarsideParts *parts,
                                        unsigned peer)
{
    FarsideCompleter *s = g_new0(FarsideCompleter, 1);

    s->pci = pci;
    s->index = peer;
    s->peer = parts->far[peer].peer;
    s->reach = parts->far[peer].reach;
    s->chip = parts->chip;
    s->windows = parts->windows;
    s->pending = g_array_new(false, false, sizeof(Pending));
    g_queue_init(&s->deferred);
    /*
     * This context runs only in the main loop. Bottom halves of the default
     * context also run inside a device that waits for its disk.
     */
    s->deferred_bh = aio_bh_new(iohandler_get_aio_context(), deferred_run, s);
    s->idle.notify = deferred_idle;
    farside_wait_add_idle(&s->idle);
    return s;
}

void farside_completer_free(FarsideCompleter *s)
{
    if (s) {
        notifier_remove(&s->idle);
        qemu_bh_delete(s->deferred_bh);
        g_array_free(s->pending, true);
        g_free(s);
    }
}
