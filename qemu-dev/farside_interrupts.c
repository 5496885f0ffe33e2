/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "qemu/main-loop.h"
#include "qapi/error.h"
#include "hw/pci/msi.h"
#include "hw/pci/msix.h"
#include "farside_interrupts.h"
#include "farside_qemu.h"
#include "farside_wait.h"

/* The addresses of interrupt messages, in MiB */
#define INTERRUPTS_MIB 0xfee

struct FarsideInterrupts {
    const FarsideConfig *config;
    PCIDevice *pci;
    uint64_t late; /* bit n: vector n is to be sent by late_bh */
    QEMUBH *late_bh;
};

static bool is_msi(const FarsideInterrupts *s)
{
    return s->config->shape.msi;
}

static bool is_harmless(FarsideInterrupts *s, unsigned vector)
{
    MSIMessage message;

    if (!farside_wait_of_device()) {
        return true;
    }
    message = is_msi(s) ? msi_get_message(s->pci, vector)
                        : msix_get_message(s->pci, vector);
    return message.address >> 20 == INTERRUPTS_MIB;
}

void farside_interrupts_raise(FarsideInterrupts *s, unsigned vector)
{
    /*
     * An interrupt before the driver enables MSI-X would stay pending, and
     * reach the driver later, when it expects none.
     */
    if (vector >= s->config->shape.vectors ||
        !(is_msi(s) ? msi_enabled(s->pci) : msix_enabled(s->pci))) {
        return;
    }
    if (is_harmless(s, vector)) {
        is_msi(s) ? msi_notify(s->pci, vector) : msix_notify(s->pci, vector);
    } else {
        s->late |= 1ull << vector;
        qemu_bh_schedule(s->late_bh);
    }
}

/* In the main loop no device waits. */
static void late_run(void *opaque)
{
    FarsideInterrupts *s = opaque;
    unsigned vector;

    while (s->late) {
        vector = ctz64(s->late);
        s->late &= ~(1ull << vector);
        farside_interrupts_raise(s, vector);
    }
}

bool farside_interrupts_start(FarsideInterrupts *s, MemoryRegion *bar,
                              Error **errp)
{
    const FarsideShape *shape = &s->config->shape;
    unsigned i;

    if (is_msi(s)) {
        return msi_init(s->pci, shape->msi, 1, true, false, errp) == 0;
    }
    if (msix_init(s->pci, shape->vectors, bar, 0, shape->msix_table, bar, 0,
                  shape->msix_pba, 0, errp) < 0) {
        return false;
    }
    for (i = 0; i < shape->vectors; i++) {
        msix_vector_use(s->pci, i);
    }
    return true;
}

void farside_interrupts_stop(FarsideInterrupts *s, MemoryRegion *bar)
{
    if (is_msi(s)) {
        msi_uninit(s->pci);
    } else {
        msix_unuse_all_vectors(s->pci);
        msix_uninit(s->pci, bar, bar);
    }
}

void farside_interrupts_reset(FarsideInterrupts *s)
{
    s->late = 0;
}

FarsideInterrupts *farside_interrupts_new(const FarsideConfig *config,
                                          PCIDevice *pci)
{
    FarsideInterrupts *s = g_new0(FarsideInterrupts, 1);

    s->config = config;
    s->pci = pci;
    /* Bottom halves of this context run only in the main loop. */
    s->late_bh = aio_bh_new(iohandler_get_aio_context(), late_run, s);
    return s;
}

void farside_interrupts_free(FarsideInterrupts *s)
{
    if (s) {
        qemu_bh_delete(s->late_bh);
    }
    g_free(s);
}
