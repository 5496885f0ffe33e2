/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The order of what happens to a machine at one virtual time: first its own
 * timers, then messages by (time, source, channel, sequence), then the CPU. A
 * message is delivered only when all promises have passed its time, so the
 * order does not depend on which machine was quicker.
 */
#include "timed.h"
#include "qapi/error.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "hw/core/cpu.h"
#include "hw/pci/pci.h"
#include "timed_qemu.h"
#include "farside_time.h"
#include "wire/farside_wire.h"

#define ROOM_US 10 /* between two looks for room in a ring */
/* Bytes that one peer may have on the way to this machine */
#define INBOUND_MAX (256u << 20)
/* The bytes of a packet that may be looked at before its size is checked */
#define PACKET_MIN 64

typedef struct Port {
    unsigned channel;
    uint32_t departures; /* of the peer that the device knows of */
    FarsideTimeReceive *receive;
    FarsideTimeBus *bus;
    void *opaque;
} Port;

static struct {
    TimedBoard *board;
    unsigned spins;
    int64_t slice_ns;
    int64_t horizon;
    int64_t report_by; /* what the board knows may be as old as at this time */
    unsigned channels;
    GQueue *inbound;    /* of TimedBoardMessage; indexed by channel */
    size_t *inbound_bytes;
    Port **ports;       /* indexed by the channel on which they send */
    const char *origin; /* the device whose DMA is sent now, or NULL */
    GHashTable *places; /* pages that the model knows to be in a BAR */
    uint32_t round;     /* the last one in which others were let act */
    const FarsideTimeWindows *windows;
} links = {.horizon = TIMED_BOARD_NEVER};

/* A delivery of the model may overtake messages that were sent directly. */
static int compare_messages(const TimedBoardMessage *x,
                            const TimedBoardMessage *y)
{
    if (x->arrival != y->arrival) {
        return x->arrival < y->arrival ? -1 : 1;
    }
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

/* Most messages come last. */
static void insert_message(GQueue *queue, TimedBoardMessage *m)
{
    GList *before = queue->tail;

    while (before && compare_messages(before->data, m) > 0) {
        before = before->prev;
    }
    g_queue_insert_after(queue, before, m);
}

/* Ends this machine: without the board it has no time. */
static void give_up(const char *why)
{
    error_report("virtual time: the memory that the machines share is of no "
                 "use any more, so this machine ends: %s",
                 why);
    _exit(1);
}

static void check_board(void)
{
    const char *why = timed_board_error(links.board);

    if (why) {
        give_up(why);
    }
}

/* A copy of @m in as much memory as it needs */
static TimedBoardMessage *keep(const TimedBoardMessage *m)
{
    size_t head = offsetof(TimedBoardMessage, bytes);
    TimedBoardMessage *kept = g_malloc0(head + MAX(m->size, PACKET_MIN));

    memcpy(kept, m, head + m->size);
    /* None arrives in the past, unless its sender is not to be trusted. */
    kept->arrival = MAX(m->arrival, timed_clock_now());
    return kept;
}

/* Takes what is on the board, to make room for others. */
static void pull(void)
{
    static TimedBoardMessage m;
    unsigned i;

    for (i = 0; i < links.channels; i++) {
        while (timed_board_is_inbound(links.board, i) &&
               timed_board_take(links.board, i, &m)) {
            links.inbound_bytes[i] += m.size;
            if (links.inbound_bytes[i] > INBOUND_MAX) {
                give_up("another machine has sent more than can be on the way");
            }
            insert_message(&links.inbound[i], keep(&m));
        }
    }
    check_board();
}

/*
 * The peer makes room at the end of its slice, and the model at once; but not
 * if it was stopped. @looks counts the calls.
 */
static void wait_for_room(unsigned *looks)
{
    const unsigned looks_of_try = TIMED_WAIT_MS * 1000 / ROOM_US;

    pull();
    g_usleep(ROOM_US);
    if (++*looks % looks_of_try == 0) {
        timed_gate_wait_in_vain(*looks / looks_of_try);
    }
}

/* The channel of the next message; -1 if there is none. */
static int next_channel(void)
{
    const TimedBoardMessage *best = NULL, *m;
    int channel = -1;
    unsigned i;

    for (i = 0; i < links.channels; i++) {
        m = g_queue_peek_head(&links.inbound[i]);
        if (m && (!best || m->arrival < best->arrival ||
                  (m->arrival == best->arrival &&
                   timed_board_source(links.board, i) <
                       timed_board_source(links.board, channel)))) {
            best = m;
            channel = i;
        }
    }
    return channel;
}

static int64_t next_arrival(void)
{
    int channel = next_channel();
    const TimedBoardMessage *m;

    if (channel < 0) {
        return TIMED_BOARD_NEVER;
    }
    m = g_queue_peek_head(&links.inbound[channel]);
    return m->arrival;
}

/* Crossings */

/*
 * A page of this machine, as the model must know it. A request has the address
 * that it has on the bus of the NTB device, which an IOMMU may translate.
 */
static const PCIDevice *find_device(AddressSpace *bus, uint64_t address,
                                    bool is_write, unsigned *ret_bar,
                                    uint64_t *ret_offset)
{
    IOMMUTLBEntry entry = address_space_get_iotlb_entry(bus, address, is_write,
                                                        MEMTXATTRS_UNSPECIFIED);
    MemoryRegionSection found;
    PCIDevice *pci;
    unsigned i;

    if (!entry.target_as) {
        return NULL;
    }
    address = entry.translated_addr | (address & entry.addr_mask);
    found = memory_region_find(entry.target_as->root, address, 1);
    if (!found.mr) {
        return NULL;
    }
    pci = (PCIDevice *)object_dynamic_cast(memory_region_owner(found.mr),
                                           TYPE_PCI_DEVICE);
    memory_region_unref(found.mr);
    for (i = 0; pci && i < PCI_NUM_REGIONS; i++) {
        const PCIIORegion *region = &pci->io_regions[i];

        if (region->size && region->addr != PCI_BAR_UNMAPPED &&
            address >= region->addr && address - region->addr < region->size) {
            *ret_bar = i;
            *ret_offset = address - region->addr;
            return pci;
        }
    }
    return NULL;
}

/*
 * Tells the model where a request went to that has just come in: its sender
 * cannot know. The model uses it from then on, so it takes the first request to
 * a page of a BAR for one to memory.
 */
static void tell_place(const Port *port, const void *packet)
{
    const struct farside_wire_head *head = packet;
    const struct farside_wire_read *request = (const void *)(head + 1);
    TimedCrossing place = {.kind = TIMED_CROSSING_PLACE};
    const PCIDevice *pci;
    uint64_t page, offset = 0;
    const char *id = NULL;
    unsigned bar = 0, looks = 0;

    if ((head->type != FARSIDE_WIRE_READ && head->type != FARSIDE_WIRE_WRITE) ||
        request->space != FARSIDE_WIRE_MEMORY ||
        !timed_board_is_crossing(links.board, port->channel)) {
        return;
    }
    page = request->address & ~(uint64_t)0xfff;
    pci = find_device(port->bus(port->opaque), page,
                      head->type == FARSIDE_WIRE_WRITE, &bar, &offset);
    if (pci) {
        id = DEVICE(pci)->id;
    }
    if (g_hash_table_lookup(links.places, GSIZE_TO_POINTER(page >> 12)) == id) {
        return;
    }
    g_hash_table_insert(links.places, GSIZE_TO_POINTER(page >> 12), (char *)id);
    links.report_by = 0;
    place.address = page;
    place.bar = bar;
    place.tag = offset;
    pstrcpy(place.device, sizeof(place.device), id ?: "");
    while (!timed_board_cross(links.board, port->channel, timed_clock_now(),
                              &place, NULL, 0)) {
        wait_for_room(&looks);
    }
}

static bool is_cpu_access(void)
{
    return qemu_cpu_is_self(qemu_get_cpu(0)) && current_cpu &&
           current_cpu->running;
}

/* The crossing that @packet makes. */
static TimedCrossing describe(const void *packet)
{
    const struct farside_wire_head *head = packet;
    const struct farside_wire_read *read = (const void *)(head + 1);
    const struct farside_wire_write *write = (const void *)(head + 1);
    const struct farside_wire_completion *completion = (const void *)(head + 1);
    TimedCrossing crossing = {.kind = TIMED_CROSSING_WRITE, .bytes = 4};
    const char *device = links.origin;

    switch (head->type) {
    case FARSIDE_WIRE_READ:
        crossing.kind = TIMED_CROSSING_READ;
        crossing.address = read->space ? 0 : read->address;
        crossing.bytes = read->length;
        crossing.tag = read->tag;
        break;
    case FARSIDE_WIRE_WRITE:
        if (write->space == FARSIDE_WIRE_REGISTERS_NP) {
            /* A request and a completion, as a read of one DW */
            crossing.kind = TIMED_CROSSING_READ;
            crossing.tag = write->tag;
            break;
        }
        crossing.address = write->space ? 0 : write->address;
        crossing.bytes = write->length;
        crossing.wants_accept = !device && is_cpu_access();
        break;
    case FARSIDE_WIRE_COMPLETION:
        crossing.kind = TIMED_CROSSING_COMPLETION;
        crossing.bytes = completion->length;
        crossing.tag = completion->tag;
        device = NULL;
        break;
    case FARSIDE_WIRE_DOORBELL:
    case FARSIDE_WIRE_MESSAGE:
        crossing.wants_accept = is_cpu_access();
        device = NULL;
        break;
    default:
        device = NULL;
        break;
    }
    pstrcpy(crossing.device, sizeof(crossing.device), device ?: "");
    return crossing;
}

bool timed_link_is_stalled(int64_t now)
{
    int64_t accepted = TIMED_BOARD_NEVER;

    if (links.board) {
        accepted = timed_board_accepted(links.board);
    }
    if (accepted >= 0 && accepted <= now) {
        timed_board_go_on(links.board);
        return false;
    }
    return accepted != TIMED_BOARD_NEVER;
}

/* The time at which the CPU's stall ends, if that is known */
static int64_t stall_end(void)
{
    int64_t accepted = timed_board_accepted(links.board);

    return accepted < 0 ? TIMED_BOARD_NEVER : accepted;
}

bool timed_link_deliver(int64_t now)
{
    TimedBoardMessage *m;
    bool any = false;
    Port *port;
    int channel;

    if (links.horizon <= now) {
        return false;
    }
    while ((channel = next_channel()) >= 0) {
        m = g_queue_peek_head(&links.inbound[channel]);
        if (m->arrival > now) {
            break;
        }
        g_queue_pop_head(&links.inbound[channel]);
        links.inbound_bytes[channel] -= m->size;
        port = links.ports[channel ^ 1];
        timed_steps_add("message %d %zu %" PRIx64, channel, m->size,
                        timed_steps_hash(m->bytes, m->size));
        if (port) {
            timed_fault_see(m->bytes);
            tell_place(port, m->bytes);
            port->receive(port->opaque, m->bytes, m->size);
        }
        g_free(m);
        any = true;
        /* A receiver may let time pass. The caller then begins anew. */
        if (timed_clock_now() != now) {
            break;
        }
    }
    return any;
}

/*
 * A CPU that accesses a device every few ns would report as often. Others then
 * fight for the board with this machine, and one that waits for it wakes up for
 * each of the reports. So it reports once it has gone a quarter of its way.
 */
static void put_off_report(int64_t now)
{
    int64_t way = MAX(links.horizon - now, 0);

    links.report_by = now + MIN(way / 4, links.slice_ns);
}

static void report(int64_t now, int64_t promise)
{
    pull();
    links.horizon =
        timed_board_report(links.board, now, MIN(promise, next_arrival()));
    pull();
    put_off_report(now);
}

/* Waits until the horizon is later than @want, or something has changed. */
static void wait_once(int64_t want, unsigned *tries)
{
    int64_t before = links.horizon;

    links.horizon =
        timed_board_wait(links.board, want, links.spins, TIMED_WAIT_MS);
    check_board();
    *tries = links.horizon == before ? *tries + 1 : 0;
    if (*tries > 0) {
        timed_gate_wait_in_vain(*tries);
    }
}

/* True if the CPU's thread must do something else than wait. */
static bool is_stopping(void)
{
    CPUState *cpu = qemu_get_cpu(0);

    return cpu->stop && !cpu->running;
}

bool timed_link_sync(int64_t now)
{
    unsigned tries = 0;

    if (!links.board) {
        return true;
    }
    if (links.horizon > now && links.report_by > now) {
        return true;
    }
    report(now, now);
    while (links.horizon <= now && !is_stopping()) {
        wait_once(now, &tries);
        pull();
        put_off_report(now);
    }
    return links.horizon > now;
}

int64_t timed_link_idle(int64_t now, int64_t want)
{
    unsigned tries = 0;
    int64_t until;

    if (!links.board) {
        return want;
    }
    timed_link_is_stalled(now);
    do {
        report(now, want);
        until = MIN(want, next_arrival());
        until = MIN(until, stall_end());
        if (links.horizon > until) {
            return until;
        }
        wait_once(until, &tries);
    } while (!is_stopping());
    return now;
}

/* While time stood still, machines may have been switched off. */
static void tell_departures(void)
{
    unsigned i;

    for (i = 0; i < links.channels; i++) {
        Port *port = links.ports[i];
        uint32_t departures;

        if (!port) {
            continue;
        }
        departures = timed_board_departures(links.board, i ^ 1);
        if (departures != port->departures) {
            port->departures = departures;
            port->receive(port->opaque, NULL, 0);
            timed_clock_wake();
        }
    }
}

int64_t timed_link_barrier(int64_t now)
{
    int64_t limit =
        links.board ? timed_board_limit(links.board) : TIMED_BOARD_NEVER;

    return limit >= now && limit != TIMED_BOARD_NEVER
               ? limit
               : QEMU_ALIGN_UP(now, TIMED_BARRIER_NS);
}

bool timed_link_stand(int64_t now)
{
    int64_t limit =
        links.board ? timed_board_limit(links.board) : TIMED_BOARD_NEVER;
    unsigned tries;
    uint32_t round;

    if (limit > now) {
        return limit != TIMED_BOARD_NEVER;
    }
    report(now, now);
    do {
        tries = 0;
        round = timed_board_round(links.board);
        /*
         * Others act only in here. Between two rounds the supervisor writes
         * what it has for this machine; QEMU then finds all of it at once.
         * Without a new round there is only what the guest has left unread.
         */
        if (round != links.round || timed_line_input() > 0) {
            timed_gate_turn();
            links.round = round;
        } else if (timed_gate_has_waiters()) {
            timed_gate_pass();
        }
        do {
            limit = timed_board_stand(links.board, now, round, TIMED_WAIT_MS);
            check_board();
            /*
             * The supervisor begins rounds, unless it was stopped, or waits for
             * a machine that was.
             */
            timed_gate_wait_in_vain(tries++);
        } while (limit <= now && timed_board_round(links.board) == round &&
                 !is_stopping());
    } while (limit <= now && !is_stopping());
    tell_departures();
    links.report_by = 0;
    timed_steps_add("input %zu", timed_line_input());
    timed_steps_add_cpu("stand");
    timed_steps_flush();
    return true;
}

int64_t timed_link_limit(int64_t now)
{
    return links.board ? MIN(links.horizon, next_arrival()) : TIMED_BOARD_NEVER;
}

/* The functions that the devices call */

static void *time_join(const char *path, FarsideTimeReceive *receive,
                       FarsideTimeBus *bus, void *opaque, Error **errp)
{
    int channel = links.board ? timed_board_find(links.board, path) : -1;
    Port *port;

    if (channel < 0) {
        error_setg(errp,
                   "property 'link': this machine has no link %s on the board",
                   path);
        return NULL;
    }
    if (links.ports[channel]) {
        error_setg(errp, "property 'link': %s has a device already", path);
        return NULL;
    }
    port = g_new0(Port, 1);
    port->channel = channel;
    port->receive = receive;
    port->bus = bus;
    port->opaque = opaque;
    port->departures = timed_board_returns(links.board, channel ^ 1);
    links.ports[channel] = port;
    return port;
}

static void time_leave(void *opaque)
{
    Port *port = opaque;

    links.ports[port->channel] = NULL;
    g_free(port);
}

static void time_send(void *opaque, const void *packet, size_t size)
{
    bool crosses;
    Port *port = opaque;
    TimedCrossing crossing;
    unsigned looks = 0;

    links.report_by = 0;
    timed_steps_add("send %u %zu %" PRIx64, port->channel, size,
                    timed_steps_hash(packet, size));
    crosses = timed_board_is_crossing(links.board, port->channel);
    if (crosses) {
        crossing = describe(packet);
    }
    while (crosses
               ? !timed_board_cross(links.board, port->channel,
                                    timed_clock_now(), &crossing, packet, size)
               : !timed_board_send(links.board, port->channel,
                                   timed_clock_now(), packet, size)) {
        wait_for_room(&looks);
    }
}

static void time_from(const char *device)
{
    timed_gate_set_device(device);
}

static bool time_is_cpu(const char **ret_device)
{
    *ret_device = timed_gate_device();
    timed_gate_set_device(NULL);
    return !*ret_device && is_cpu_access();
}

static void time_set_origin(const char *device)
{
    links.origin = device;
}

static void time_set_windows(const FarsideTimeWindows *windows)
{
    links.windows = windows;
}

const FarsideTimeWindows *timed_link_windows(void)
{
    return links.windows;
}

static void time_set_up(void *opaque, bool up)
{
    Port *port = opaque;

    links.report_by = 0;
    timed_board_set_up(links.board, port->channel, timed_clock_now(), up);
}

/*
 * Time stands still in the middle of an access. Other threads must not act on
 * the machine now: what has come in for them waits until the CPU goes on.
 */
static void stand_nested(int64_t now)
{
    uint32_t round = timed_board_round(links.board), before;
    unsigned tries = 0;

    report(now, now);
    timed_board_set_busy(links.board, true);
    while (timed_board_stand(links.board, now, round, TIMED_WAIT_MS) <= now) {
        check_board();
        before = round;
        round = timed_board_round(links.board);
        tries = round == before ? tries + 1 : 0;
        timed_gate_wait_in_vain(tries);
    }
    timed_board_set_busy(links.board, false);
    tell_departures();
    links.report_by = 0;
}

static void time_wait(int64_t deadline)
{
    unsigned wakes = timed_clock_wakes();
    int64_t now, until;

    for (;;) {
        timed_clock_run(true);
        now = timed_clock_now();
        if (timed_link_deliver(now) || now >= deadline ||
            timed_clock_wakes() != wakes) {
            return;
        }
        if (timed_board_limit(links.board) <= now) {
            stand_nested(now);
        }
        until = MIN(deadline, timed_board_limit(links.board));
        if (!timed_clock_is_running()) {
            until = MIN(until, timed_clock_next());
        }
        until = timed_link_idle(now, until);
        if (until > now) {
            timed_clock_advance(until - now);
        }
    }
}

static bool time_may_wait(void)
{
    return qemu_cpu_is_self(qemu_get_cpu(0));
}

static void time_class_init(ObjectClass *class, FarsideClassData *data)
{
    FarsideTimeClass *time = (FarsideTimeClass *)class;

    time->join = time_join;
    time->leave = time_leave;
    time->send = time_send;
    time->set_up = time_set_up;
    time->wait = time_wait;
    time->may_wait = time_may_wait;
    time->is_in_device = timed_clock_is_running;
    time->from = time_from;
    time->is_cpu = time_is_cpu;
    time->set_origin = time_set_origin;
    time->set_windows = time_set_windows;
}

static const TypeInfo time_info = {
    .name = TYPE_FARSIDE_TIME,
    .parent = TYPE_OBJECT,
    .abstract = true,
    .class_size = sizeof(FarsideTimeClass),
    .class_init = time_class_init,
};

void timed_link_init(const TimedOptions *options)
{
    type_register_static(&time_info);
    links.board = options->board;
    links.spins = options->spins;
    links.slice_ns = options->slice_ns;
    links.round = UINT32_MAX;
    if (links.board) {
        links.channels = timed_board_channels(links.board);
        links.inbound = g_new0(GQueue, links.channels);
        links.inbound_bytes = g_new0(size_t, links.channels);
        links.ports = g_new0(Port *, links.channels);
        links.places = g_hash_table_new(NULL, NULL);
    }
}
