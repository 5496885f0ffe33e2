/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "farside_drain.h"
#include "farside_nic_priv.h"

/*
 * A turn ends after this long. A peer may take milliseconds for the DMA of a
 * frame, and the CPUs of this machine wait for the big lock meanwhile. So a
 * pause as long as the turn follows, or this one.
 */
#define TURN_NS      SCALE_MS
#define PAUSE_MAX_NS (20 * SCALE_MS)

static int64_t now(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_REALTIME);
}

static void settle(FarsideNicFunction *f)
{
    unsigned i;

    for (i = 0; i < f->queues; i++) {
        if (farside_nic_ring_is_stopping(&f->rx[i])) {
            farside_nic_ring_settle(f, &f->rx[i]);
        }
        if (farside_nic_ring_is_stopping(&f->tx[i])) {
            farside_nic_ring_settle(f, &f->tx[i]);
        }
    }
}

/* Received and sent frames take turns. Returns false if there are no more. */
static bool step(FarsideNicFunction *f)
{
    bool has_received = farside_nic_rx_step(f);

    return farside_nic_tx_step(f) || has_received;
}

static void turn(FarsideNicFunction *f)
{
    int64_t start = now(), taken = 0;
    bool was_full = f->slot_count == NIC_FRAMES, has_more = true;

    if (f->has_link_changed) {
        f->has_link_changed = false;
        farside_nic_event(f, NIC_EVENT_LINK);
    }
    settle(f);
    while (has_more && taken < TURN_NS) {
        has_more = step(f);
        taken = now() - start;
    }
    if (has_more) {
        timer_mod(f->pause, start + taken + MIN(taken, PAUSE_MAX_NS));
    }
    settle(f);
    if (was_full && f->slot_count < NIC_FRAMES && f->card && !f->is_virtual) {
        farside_nic_card_resume(f->card);
    }
}

static void run(void *opaque)
{
    FarsideNicFunction *f = opaque;
    PCIDevice *pci = f->pci;

    if (farside_drain_is_on()) {
        /* Otherwise the drain would last until all frames are gone. */
        timer_mod(f->pause, now() + TURN_NS);
        return;
    }
    /* DMA may unplug the function. */
    object_ref(OBJECT(pci));
    turn(f);
    object_unref(OBJECT(pci));
}

static void end_pause(void *opaque)
{
    FarsideNicFunction *f = opaque;

    qemu_bh_schedule(f->bh);
}

/* Life */

static void reset_ring(FarsideNicRing *q, bool is_rx)
{
    memset(q, 0, sizeof(*q));
    q->is_rx = is_rx;
    q->vector = NIC_NO_VECTOR;
    q->split_max = 0xffff;
}

void farside_nic_function_reset(FarsideNicFunction *f)
{
    unsigned i;

    f->generation++;
    for (i = 0; i < NIC_QUEUES_MAX; i++) {
        reset_ring(&f->rx[i], true);
        reset_ring(&f->tx[i], false);
    }
    f->frame = NIC_FRAME_RESET;
    f->accept = 0;
    f->event = 0;
    f->event_vector = NIC_NO_VECTOR;
    f->rss = 0;
    memset(f->key, 0, sizeof(f->key));
    memset(f->indir, 0, sizeof(f->indir));
    memset(f->rule, 0, sizeof(f->rule));
    memset(f->stat, 0, sizeof(f->stat));
    f->first_slot = 0;
    f->slot_count = 0;
    f->next_tx = 0;
    f->has_link_changed = false;
    if (f->card && !f->is_virtual) {
        farside_nic_card_reset_macs(f->card);
    }
}

FarsideNicFunction *farside_nic_function_new(PCIDevice *pci,
                                             FarsideNicCard *card,
                                             unsigned number)
{
    FarsideNicFunction *f = g_new0(FarsideNicFunction, 1);

    f->pci = pci;
    f->card = card;
    f->is_virtual = number > 0;
    f->queues = f->is_virtual ? NIC_VF_QUEUES : NIC_QUEUES_MAX;
    f->vectors = 2 * f->queues + 1;
    f->slot = g_new(FarsideNicSlot, NIC_FRAMES);
    /* DMA to the own registers is refused, as QEMU does for its devices. */
    f->bh = qemu_bh_new_guarded(run, f, &DEVICE(pci)->mem_reentrancy_guard);
    f->pause = timer_new_ns(QEMU_CLOCK_REALTIME, end_pause, f);
    farside_nic_card_join(card, number, f);
    farside_nic_function_reset(f);
    return f;
}

void farside_nic_function_stop(FarsideNicFunction *f)
{
    farside_nic_function_reset(f);
    if (f->card) {
        farside_nic_card_leave(f->card, f);
        f->card = NULL;
    }
    timer_del(f->pause);
    qemu_bh_cancel(f->bh);
}

void farside_nic_function_free(FarsideNicFunction *f)
{
    if (f) {
        timer_free(f->pause);
        qemu_bh_delete(f->bh);
        g_free(f->slot);
        g_free(f);
    }
}
