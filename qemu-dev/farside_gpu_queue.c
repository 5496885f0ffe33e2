/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/host-utils.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "hw/pci/msi.h"
#include "hw/pci/msix.h"
#include "farside_drain.h"
#include "farside_gpu_queue.h"
#include "farside_time.h"

/* Bytes that a queue moves before it is the next queue's turn */
#define TURN (256u << 10)
/* Bytes that are moved at once */
#define PIECE (32u << 10)
/*
 * A turn also ends after this long. A peer whose IOMMU sends no notices takes
 * milliseconds for a piece, and the CPUs of this machine wait for the big lock
 * meanwhile. So a pause as long as all turns together follows, or this one.
 */
#define TURN_NS SCALE_MS
#define PAUSE_MAX_NS (20 * SCALE_MS)

QEMU_BUILD_BUG_ON(sizeof(struct gpu_command) != 32);

typedef struct {
    uint64_t base;
    uint32_t entries;
    uint32_t control;
    uint32_t head;
    uint32_t tail;
    uint64_t fence;
    uint64_t sum;
    uint32_t error;

    /* The command under way */
    bool is_loaded;
    struct gpu_command command; /* in the machine's byte order */
    uint32_t done;              /* bytes of it that are done */
    uint64_t total;             /* SUM: of the bytes that are done */
} Queue;

struct FarsideGpuQueues {
    PCIDevice *pci;
    MemoryRegion *memory;
    uint64_t size;
    unsigned address_bits;
    Queue queue[GPU_QUEUE_COUNT];
    QEMUBH *bh;
    QEMUTimer *pause; /* NULL in virtual time, where no real time counts */
    uint8_t piece[PIECE];
};

static bool is_ready(const Queue *q)
{
    return (q->control & GPU_QUEUE_ENABLE) && !q->error && q->head != q->tail;
}

static void interrupt(FarsideGpuQueues *s, const Queue *q)
{
    /* A disabled MSI-X would keep the interrupt and deliver it later. */
    if ((q->control & GPU_QUEUE_INTERRUPTS) && msix_enabled(s->pci)) {
        msix_notify(s->pci, q - s->queue);
    }
    if ((q->control & GPU_QUEUE_INTERRUPTS) && msi_enabled(s->pci)) {
        msi_notify(s->pci, q - s->queue);
    }
}

static void fail(FarsideGpuQueues *s, Queue *q, uint32_t error)
{
    q->error = error;
    interrupt(s, q);
}

/* Addresses */

/* True if the bytes are in the memory, or @address is one on the bus. */
static bool is_inside(const FarsideGpuQueues *s, uint64_t address,
                      uint64_t length)
{
    uint64_t offset = address & ~GPU_LOCAL;

    return !(address & GPU_LOCAL) ||
           (offset < s->size && length <= s->size - offset);
}

/* True if the device has lines for all bits of these addresses on the bus. */
static bool is_reached(const FarsideGpuQueues *s, uint64_t address,
                       uint32_t size)
{
    return (address + size - 1) >> s->address_bits == 0;
}

/* Both return false if the DMA failed. The bytes of a local address exist. */
static bool get(FarsideGpuQueues *s, uint64_t address, void *bytes,
                uint32_t size)
{
    if (address & GPU_LOCAL) {
        uint8_t *ram = memory_region_get_ram_ptr(s->memory);

        memcpy(bytes, ram + (address & ~GPU_LOCAL), size);
        return true;
    }
    return is_reached(s, address, size) &&
           pci_dma_read(s->pci, address, bytes, size) == MEMTX_OK;
}

static bool put(FarsideGpuQueues *s, uint64_t address, const void *bytes,
                uint32_t size)
{
    if (address & GPU_LOCAL) {
        uint8_t *ram = memory_region_get_ram_ptr(s->memory);

        memcpy(ram + (address & ~GPU_LOCAL), bytes, size);
        memory_region_set_dirty(s->memory, address & ~GPU_LOCAL, size);
        return true;
    }
    return is_reached(s, address, size) &&
           pci_dma_write(s->pci, address, bytes, size) == MEMTX_OK;
}

/* Commands */

static uint32_t check_addresses(const FarsideGpuQueues *s,
                                const struct gpu_command *c)
{
    bool has_source = c->operation == GPU_COPY || c->operation == GPU_SUM_OF;
    bool has_result =
        c->operation == GPU_SUM_OF || c->operation == GPU_FENCE_OP;
    uint64_t written = has_result ? 8 : c->length;

    if (has_source && !is_inside(s, c->source, c->length)) {
        return GPU_ERROR_LOCAL;
    }
    if (has_result && c->destination == GPU_NOWHERE) {
        return GPU_ERROR_NONE;
    }
    return is_inside(s, c->destination, written) ? GPU_ERROR_NONE
                                                 : GPU_ERROR_LOCAL;
}

static uint32_t check(const FarsideGpuQueues *s, const struct gpu_command *c)
{
    if (c->operation < GPU_COPY || c->operation > GPU_FENCE_OP) {
        return GPU_ERROR_OPERATION;
    }
    if (c->zero || c->zero2 || (c->flags & ~GPU_FLAG_INTERRUPT)) {
        return GPU_ERROR_ZERO;
    }
    if (c->operation == GPU_FENCE_OP ? c->length != 0
                                     : c->length == 0 ||
                                           c->length > GPU_LENGTH_MAX) {
        return GPU_ERROR_LENGTH;
    }
    if ((c->operation == GPU_FILL && ((c->length | c->destination) & 7)) ||
        (c->operation == GPU_SUM_OF && ((c->length | c->source) & 7))) {
        return GPU_ERROR_ALIGNMENT;
    }
    return check_addresses(s, c);
}

/* Reads and checks the command at HEAD. */
static uint32_t load(FarsideGpuQueues *s, Queue *q)
{
    struct gpu_command *c = &q->command;
    uint64_t place = q->base + q->head * sizeof(*c);

    if (!is_inside(s, place, sizeof(*c)) || !get(s, place, c, sizeof(*c))) {
        return GPU_ERROR_RING;
    }
    c->zero = le16_to_cpu(c->zero);
    c->length = le32_to_cpu(c->length);
    c->source = le64_to_cpu(c->source);
    c->destination = le64_to_cpu(c->destination);
    q->done = 0;
    q->total = 0;
    q->is_loaded = true;
    return check(s, c);
}

/* Does @size bytes of the command. False if DMA failed. */
static bool do_piece(FarsideGpuQueues *s, Queue *q, uint32_t size)
{
    const struct gpu_command *c = &q->command;
    uint32_t i;

    switch (c->operation) {
    case GPU_COPY:
        return get(s, c->source + q->done, s->piece, size) &&
               put(s, c->destination + q->done, s->piece, size);
    case GPU_FILL:
        for (i = 0; i < size; i += 8) {
            stq_le_p(s->piece + i, c->source);
        }
        return put(s, c->destination + q->done, s->piece, size);
    case GPU_SUM_OF:
        if (!get(s, c->source + q->done, s->piece, size)) {
            return false;
        }
        for (i = 0; i < size; i += 8) {
            q->total += ldq_le_p(s->piece + i);
        }
        return true;
    default:
        return true;
    }
}

/* Writes the result of a command whose bytes are done. False if DMA failed. */
static bool finish(FarsideGpuQueues *s, Queue *q)
{
    const struct gpu_command *c = &q->command;
    uint64_t value = cpu_to_le64(
        c->operation == GPU_FENCE_OP ? c->source : q->total);

    if (c->operation != GPU_SUM_OF && c->operation != GPU_FENCE_OP) {
        return true;
    }
    if (c->destination != GPU_NOWHERE && !put(s, c->destination, &value, 8)) {
        return false;
    }
    if (c->operation == GPU_FENCE_OP) {
        q->fence = c->source;
    } else {
        q->sum = q->total;
    }
    return true;
}

static void next(Queue *q)
{
    q->head = (q->head + 1) & (q->entries - 1);
    q->is_loaded = false;
}

/* One step of a queue. Returns its cost in bytes. */
static uint32_t step(FarsideGpuQueues *s, Queue *q)
{
    uint32_t size, error;

    if (!q->is_loaded) {
        error = load(s, q);
        if (error) {
            fail(s, q, error);
        }
        return sizeof(q->command);
    }
    size = MIN(PIECE, q->command.length - q->done);
    if (!do_piece(s, q, size)) {
        fail(s, q, GPU_ERROR_DMA);
        return size;
    }
    q->done += size;
    if (q->done < q->command.length) {
        return size;
    }
    if (!finish(s, q)) {
        fail(s, q, GPU_ERROR_DMA);
        return size;
    }
    next(q);
    if (q->command.flags & GPU_FLAG_INTERRUPT) {
        interrupt(s, q);
    }
    return size;
}

/* Bit n: queue n has something to do. */
static uint32_t ready_queues(const FarsideGpuQueues *s)
{
    uint32_t ready = 0;
    unsigned i;

    for (i = 0; i < GPU_QUEUE_COUNT; i++) {
        ready |= is_ready(&s->queue[i]) ? 1u << i : 0;
    }
    return ready;
}

/* Real time, or 0 in virtual time */
static int64_t now(const FarsideGpuQueues *s)
{
    return s->pause ? qemu_clock_get_ns(QEMU_CLOCK_REALTIME) : 0;
}

static void turn(FarsideGpuQueues *s, Queue *q)
{
    int64_t start = now(s);
    uint32_t used = 0;

    while (is_ready(q) && used < TURN && now(s) - start < TURN_NS) {
        used += step(s, q);
    }
}

static void run(void *opaque)
{
    FarsideGpuQueues *s = opaque;
    int64_t start = now(s), taken;
    unsigned i;

    if (farside_drain_is_on() && s->pause) {
        /* Otherwise the drain would last until all commands are done. */
        timer_mod(s->pause, start + TURN_NS);
        return;
    }
    for (i = 0; i < GPU_QUEUE_COUNT; i++) {
        turn(s, &s->queue[i]);
    }
    taken = now(s) - start;
    if (ready_queues(s) && taken < TURN_NS) {
        qemu_bh_schedule(s->bh);
    } else if (ready_queues(s)) {
        timer_mod(s->pause, start + taken + MIN(taken, PAUSE_MAX_NS));
    }
}

/* Starts the queues, unless they are about to start. */
static void wake(void *opaque)
{
    FarsideGpuQueues *s = opaque;

    if (!s->pause || !timer_pending(s->pause)) {
        qemu_bh_schedule(s->bh);
    }
}

/* Registers */

uint32_t farside_gpu_queues_status(const FarsideGpuQueues *s)
{
    uint32_t status = ready_queues(s);
    unsigned i;

    for (i = 0; i < GPU_QUEUE_COUNT; i++) {
        status |= s->queue[i].error ? 0x100u << i : 0;
    }
    return status;
}

uint32_t farside_gpu_queues_read(const FarsideGpuQueues *s, unsigned queue,
                                 unsigned offset)
{
    const Queue *q = &s->queue[queue];
    unsigned shift = offset & 4 ? 32 : 0;

    switch (offset) {
    case GPU_BASE:
    case GPU_BASE + 4:
        return q->base >> shift;
    case GPU_ENTRIES:
        return q->entries;
    case GPU_QUEUE_CONTROL:
        return q->control;
    case GPU_HEAD:
        return q->head;
    case GPU_FENCE:
    case GPU_FENCE + 4:
        return q->fence >> shift;
    case GPU_SUM:
    case GPU_SUM + 4:
        return q->sum >> shift;
    case GPU_ERROR:
        return q->error;
    default:
        return 0;
    }
}

static void write_control(Queue *q, uint32_t value)
{
    bool was_on = q->control & GPU_QUEUE_ENABLE;

    value &= GPU_QUEUE_ENABLE | GPU_QUEUE_INTERRUPTS;
    if ((value & GPU_QUEUE_ENABLE) && !was_on) {
        if (q->entries < GPU_ENTRIES_MIN || q->entries > GPU_ENTRIES_MAX ||
            !is_power_of_2(q->entries)) {
            value &= ~GPU_QUEUE_ENABLE;
        }
        q->head = 0;
        q->tail = 0;
        q->error = GPU_ERROR_NONE;
        q->is_loaded = false;
    }
    q->control = value;
}

void farside_gpu_queues_write(FarsideGpuQueues *s, unsigned queue,
                              unsigned offset, uint32_t value)
{
    Queue *q = &s->queue[queue];
    bool is_on = q->control & GPU_QUEUE_ENABLE;

    switch (offset) {
    case GPU_BASE:
        if (!is_on) {
            q->base = deposit64(q->base, 0, 32, value & ~31u);
        }
        break;
    case GPU_BASE + 4:
        if (!is_on) {
            q->base = deposit64(q->base, 32, 32, value);
        }
        break;
    case GPU_ENTRIES:
        if (!is_on) {
            q->entries = value & (2 * GPU_ENTRIES_MAX - 1);
        }
        break;
    case GPU_QUEUE_CONTROL:
        write_control(q, value);
        break;
    case GPU_TAIL:
        if (is_on && !q->error) {
            if (value < q->entries) {
                q->tail = value;
            } else {
                fail(s, q, GPU_ERROR_TAIL);
            }
        }
        break;
    case GPU_RESUME:
        if (is_on && q->error && (value & 1)) {
            if (q->error != GPU_ERROR_TAIL) {
                next(q);
            }
            q->error = GPU_ERROR_NONE;
        }
        break;
    }
    if (is_ready(q)) {
        wake(s);
    }
}

/* Life */

void farside_gpu_queues_reset(FarsideGpuQueues *s)
{
    memset(s->queue, 0, sizeof(s->queue));
}

FarsideGpuQueues *farside_gpu_queues_new(PCIDevice *pci, MemoryRegion *memory,
                                         uint64_t size, unsigned address_bits)
{
    FarsideGpuQueues *s = g_new0(FarsideGpuQueues, 1);

    s->pci = pci;
    s->memory = memory;
    s->size = size;
    s->address_bits = address_bits;
    /* DMA to the own registers is refused, as QEMU does for its devices. */
    s->bh = qemu_bh_new_guarded(run, s, &DEVICE(pci)->mem_reentrancy_guard);
    if (!farside_time()) {
        s->pause = timer_new_ns(QEMU_CLOCK_REALTIME, wake, s);
    }
    return s;
}

void farside_gpu_queues_free(FarsideGpuQueues *s)
{
    if (s) {
        timer_free(s->pause);
        qemu_bh_delete(s->bh);
        g_free(s);
    }
}
