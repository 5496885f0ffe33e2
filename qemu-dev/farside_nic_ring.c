/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/host-utils.h"
#include "hw/pci/msix.h"
#include "farside_nic_priv.h"
#include "farside_qemu.h"

void farside_nic_wake(FarsideNicFunction *f)
{
    if (f->card && !timer_pending(f->pause)) {
        qemu_bh_schedule(f->bh);
    }
}

/* Interrupts */

void farside_nic_interrupt(FarsideNicFunction *f, uint32_t vector)
{
    /* A disabled MSI-X would keep the interrupt and deliver it later. */
    if (vector < f->vectors && msix_enabled(f->pci)) {
        f->stat[NIC_STAT_INTERRUPTS]++;
        msix_notify(f->pci, vector);
    }
}

void farside_nic_event(FarsideNicFunction *f, uint32_t bits)
{
    bool is_new = bits & ~f->event;

    f->event |= bits;
    if (is_new) {
        farside_nic_interrupt(f, f->event_vector);
    }
}

void farside_nic_ring_report(FarsideNicFunction *f, FarsideNicRing *q)
{
    if (q->is_armed) {
        q->is_armed = false;
        farside_nic_interrupt(f, q->vector);
    }
}

/* DMA */

/* @status: a bit of the Uncorrectable Error Status (PCIe 5.0 s7.8.4.2) */
static bool dma_ended(FarsideNicFunction *f, unsigned generation,
                      MemTxResult result, uint32_t status)
{
    if (f->generation != generation) {
        return false;
    }
    if (result == MEMTX_OK) {
        return true;
    }
    f->stat[NIC_STAT_DMA_ERRORS]++;
    if (f->pci->exp.aer_cap) {
        farside_qemu_report_error(f->pci, status);
    }
    return false;
}

bool farside_nic_read(FarsideNicFunction *f, uint64_t address, void *bytes,
                      unsigned size)
{
    unsigned generation = f->generation;

    return dma_ended(f, generation,
                     pci_dma_read(f->pci, address, bytes, size),
                     PCI_ERR_UNC_COMP_TIME);
}

bool farside_nic_write(FarsideNicFunction *f, FarsideNicRing *q,
                       FarsideNicLast place, uint64_t address,
                       const void *bytes, unsigned size)
{
    unsigned generation = f->generation;

    if (!dma_ended(f, generation,
                   pci_dma_write(f->pci, address, bytes, size),
                   PCI_ERR_UNC_INTN)) {
        return false;
    }
    q->last[place] = address + size - 1;
    q->has_last[place] = true;
    return true;
}

/* States */

bool farside_nic_ring_is_on(const FarsideNicRing *q)
{
    return (q->control & NIC_Q_ENABLE) && !q->error;
}

bool farside_nic_ring_is_stopping(const FarsideNicRing *q)
{
    return q->is_running && !farside_nic_ring_is_on(q);
}

/* A read pushes the writes before it (PCIe 5.0 s2.4.1), so they arrive. */
void farside_nic_ring_settle(FarsideNicFunction *f, FarsideNicRing *q)
{
    unsigned generation = f->generation, i;
    uint8_t byte;

    for (i = 0; i < NIC_LASTS; i++) {
        if (q->has_last[i] && !farside_nic_read(f, q->last[i], &byte, 1)) {
            if (f->generation != generation) {
                return;
            }
            q->is_unflushed = true;
        }
        q->has_last[i] = false;
    }
    q->is_running = false;
}

void farside_nic_ring_fail(FarsideNicFunction *f, FarsideNicRing *q,
                           uint32_t error)
{
    if (!farside_nic_ring_is_on(q)) {
        return;
    }
    q->error = error;
    farside_nic_event(f, NIC_EVENT_ERROR);
    farside_nic_interrupt(f, q->vector);
    farside_nic_wake(f);
}

/* Descriptors */

static unsigned descriptor_size(const FarsideNicRing *q)
{
    return q->is_rx ? sizeof(struct nic_rx_desc) : sizeof(struct nic_tx_desc);
}

static uint8_t *place_of(FarsideNicRing *q, unsigned index)
{
    return q->ahead + (q->taken + index) % NIC_AHEAD * descriptor_size(q);
}

/* Reads descriptors ahead, as many as one read can. At least one is there. */
static bool fetch(FarsideNicFunction *f, FarsideNicRing *q, unsigned there)
{
    uint8_t read[NIC_PREFETCH * sizeof(struct nic_rx_desc)];
    unsigned size = descriptor_size(q), count, first, i;

    first = (q->head + q->ahead_count) & (q->entries - 1);
    count = MIN(there - q->ahead_count, NIC_AHEAD - q->ahead_count);
    count = MIN(count, MIN(NIC_PREFETCH, q->entries - first));
    if (!farside_nic_read(f, q->base + (uint64_t)first * size, read,
                          count * size)) {
        farside_nic_ring_fail(f, q, NIC_ERROR_RING);
        return false;
    }
    for (i = 0; i < count; i++) {
        memcpy(place_of(q, q->ahead_count++), read + i * size, size);
    }
    f->stat[q->is_rx ? NIC_STAT_RX_DESCRIPTORS : NIC_STAT_TX_DESCRIPTORS] +=
        count;
    return true;
}

const void *farside_nic_ring_peek(FarsideNicFunction *f, FarsideNicRing *q,
                                  unsigned index)
{
    unsigned there = (q->tail - q->head) & (q->entries - 1);

    g_assert(index < NIC_AHEAD);
    if (index >= there) {
        return NULL;
    }
    while (index >= q->ahead_count) {
        if (!fetch(f, q, there)) {
            return NULL;
        }
    }
    return place_of(q, index);
}

void farside_nic_ring_take(FarsideNicRing *q, unsigned count)
{
    q->head = (q->head + count) & (q->entries - 1);
    q->taken += count;
    q->ahead_count -= count;
}

/* Registers */

uint32_t farside_nic_ring_read(const FarsideNicRing *q, unsigned offset)
{
    unsigned shift = offset & 4 ? 32 : 0;

    switch (offset) {
    case NIC_Q_BASE:
    case NIC_Q_BASE + 4:
        return q->base >> shift;
    case NIC_RX_COMPLETIONS:
    case NIC_RX_COMPLETIONS + 4:
        return q->second >> shift;
    case NIC_Q_ENTRIES:
        return q->entries;
    case NIC_Q_CONTROL:
        return q->control;
    case NIC_Q_STATUS:
        return (q->is_running ? NIC_Q_RUNNING : 0) |
               (q->is_unflushed ? NIC_Q_UNFLUSHED : 0);
    case NIC_Q_ERROR:
        return q->error;
    case NIC_Q_VECTOR:
        return q->vector;
    case NIC_Q_HEAD:
        return q->head;
    case NIC_Q_DONE:
        return q->done;
    case NIC_RX_SPLIT_MAX:
        return q->is_rx ? q->split_max : 0;
    case NIC_Q_PACKETS:
    case NIC_Q_PACKETS + 4:
        return q->packets >> shift;
    case NIC_Q_BYTES:
    case NIC_Q_BYTES + 4:
        return q->bytes >> shift;
    case NIC_RX_DROPS:
    case NIC_RX_DROPS + 4:
        return q->drops >> shift;
    default:
        return 0;
    }
}

static void start(FarsideNicRing *q)
{
    q->tail = 0;
    q->head = 0;
    q->done = 0;
    q->error = NIC_ERROR_NONE;
    q->is_running = true;
    q->is_unflushed = false;
    q->is_armed = false;
    q->is_odd = true;
    q->is_short = false;
    q->ahead_count = 0;
}

static void write_control(FarsideNicFunction *f, FarsideNicRing *q,
                          uint32_t value)
{
    uint32_t options = q->is_rx
                           ? NIC_RX_CONTROL_SPLIT | NIC_RX_CONTROL_FLUSH
                           : NIC_TX_CONTROL_WRITEBACK;
    bool is_right = q->entries >= NIC_ENTRIES_MIN &&
                    q->entries <= NIC_ENTRIES_MAX && is_power_of_2(q->entries);

    if (q->is_running || (q->control & NIC_Q_ENABLE)) {
        /* It goes on, or stops. It does not start before it has stopped. */
        q->control &= value | ~NIC_Q_ENABLE;
        if (farside_nic_ring_is_stopping(q)) {
            farside_nic_wake(f);
        }
        return;
    }
    q->control = value & (options | (is_right ? NIC_Q_ENABLE : 0));
    if (q->control & NIC_Q_ENABLE) {
        start(q);
    }
}

static void write_tail(FarsideNicFunction *f, FarsideNicRing *q, uint32_t value)
{
    if (!farside_nic_ring_is_on(q)) {
        return;
    }
    if (value >= q->entries) {
        farside_nic_ring_fail(f, q, NIC_ERROR_TAIL);
        return;
    }
    q->tail = value;
    /* No entry was read that is not the device's any more. */
    q->ahead_count = MIN(q->ahead_count, (value - q->head) & (q->entries - 1));
    q->is_short = false;
    if (!q->is_rx) {
        farside_nic_wake(f);
    }
}

static void write_setup(FarsideNicRing *q, unsigned offset, uint32_t value)
{
    uint32_t second_mask = q->is_rx ? ~15u : ~3u;

    switch (offset) {
    case NIC_Q_BASE:
        q->base = deposit64(q->base, 0, 32,
                            value & -(uint32_t)descriptor_size(q));
        break;
    case NIC_Q_BASE + 4:
        q->base = deposit64(q->base, 32, 32, value);
        break;
    case NIC_RX_COMPLETIONS:
        q->second = deposit64(q->second, 0, 32, value & second_mask);
        break;
    case NIC_RX_COMPLETIONS + 4:
        q->second = deposit64(q->second, 32, 32, value);
        break;
    case NIC_Q_ENTRIES:
        q->entries = value & (2 * NIC_ENTRIES_MAX - 1);
        break;
    case NIC_RX_SPLIT_MAX:
        q->split_max = value & 0xffff;
        break;
    }
}

void farside_nic_ring_write(FarsideNicFunction *f, FarsideNicRing *q,
                            unsigned offset, uint32_t value)
{
    switch (offset) {
    case NIC_Q_CONTROL:
        write_control(f, q, value);
        break;
    case NIC_Q_VECTOR:
        q->vector = value & 0xffff;
        break;
    case NIC_Q_TAIL:
        write_tail(f, q, value);
        break;
    case NIC_Q_ARM:
        if (farside_nic_ring_is_on(q)) {
            q->is_armed = true;
            if (q->done != value) {
                farside_nic_ring_report(f, q);
            }
        }
        break;
    default:
        if (!q->is_running && !(q->control & NIC_Q_ENABLE)) {
            write_setup(q, offset, value);
        }
    }
}
