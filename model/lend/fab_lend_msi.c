/* SPDX-License-Identifier: MIT */
/*
 * Interrupts of lent devices. If the borrower is not a guest, the device writes
 * its MSI to the borrower through the NTB. If it is a guest, the device writes
 * its MSI to the lender, whose CPU takes it and writes another MSI to the
 * borrower (section 5 of the paper); or to the borrower, too, at an address of
 * the guest's domain (section 8.4).
 */
#include "fab_lend_priv.h"

#define MSI_SIZE    4u
#define VECTOR_BITS 11
#define VECTOR_MASK (FAB_LEND_VECTORS - 1)

static SimTime interrupt_time(const FabRoot *root)
{
    return fab_root_params(root)->cpu.interrupt;
}

/* ---- Interrupts at a CPU ---------------------------------------------- */

static void stage_event(SimEvent *event)
{
    LendStage *stage = SIM_CONTAINER_OF(event, LendStage, event);
    LendPending first =
        g_array_index(stage->pending, LendPending, stage->head++);

    if (stage->head == stage->pending->len) {
        stage->head = 0;
        g_array_set_size(stage->pending, 0);
    } else {
        sim_event_schedule(
            event, g_array_index(stage->pending, LendPending, stage->head).due);
    }
    stage->fn(stage->lend, first.vector);
}

static void stage_push(LendStage *stage, unsigned vector, SimTime delay)
{
    SimTime now = sim_engine_now(stage->lend->lending->fabric->engine);
    LendPending pending = {now + delay, vector};

    g_array_append_val(stage->pending, pending);
    if (stage->pending->len == stage->head + 1) {
        sim_event_schedule(&stage->event, pending.due);
    }
}

static void stage_init(LendStage *stage, FabLend *lend,
                       void (*fn)(FabLend *lend, unsigned vector),
                       unsigned which)
{
    const FabFabric *fabric = lend->lending->fabric;

    stage->lend = lend;
    stage->fn = fn;
    stage->pending = g_array_new(FALSE, FALSE, sizeof(LendPending));
    sim_event_init(&stage->event, fabric->engine, stage_event,
                   SIM_PRIORITY_NORMAL, lend_component(lend)->rank + which);
}

static void stage_done(LendStage *stage)
{
    if (stage->pending) {
        sim_event_cancel(&stage->event);
        g_array_unref(stage->pending);
        stage->pending = NULL;
    }
}

/* ---- The way of an interrupt ------------------------------------------ */

static uint32_t msi_data(const FabLend *lend, unsigned vector)
{
    return lend->number << VECTOR_BITS | vector;
}

static bool is_own(const FabLend *lend, uint64_t data)
{
    return (uint32_t)data >> VECTOR_BITS == lend->number;
}

static void at_borrower_seen(void *owner, FabBusAddr addr, uint64_t data)
{
    FabLend *lend = owner;

    if (is_own(lend, data)) {
        stage_push(&lend->at_borrower, data & VECTOR_MASK,
                   interrupt_time(lend->borrower));
    }
}

static void at_borrower_runs(FabLend *lend, unsigned vector)
{
    lend->counters.interrupts++;
    lend->interrupt(lend->interrupt_owner, vector);
}

static void at_lender_seen(void *owner, FabBusAddr addr, uint64_t data)
{
    FabLend *lend = owner;

    if (is_own(lend, data)) {
        stage_push(&lend->at_lender, data & VECTOR_MASK,
                   interrupt_time(lend->lender));
    }
}

static void at_lender_runs(FabLend *lend, unsigned vector)
{
    fab_root_write(lend->lender, fab_mapping_addr(lend->msi), MSI_SIZE,
                   msi_data(lend, vector), 0);
}

/* ---- Set-up ----------------------------------------------------------- */

bool fab_lend_msi_open(FabLend *lend, GError **error)
{
    FabComponent *from =
        lend->vm ? fab_root_component(lend->lender) : lend_component(lend);

    lend->msi =
        fab_mapping_new(from, fab_root_component(lend->borrower), FAB_MSI_BASE,
                        FAB_LEND_MSI_BYTES, FAB_MAP_TO_DEVICE_ADDR, error);
    if (!lend->msi) {
        g_prefix_error(error, "the MSI window needs a mapping entry: ");
    }
    return lend->msi;
}

static uint64_t msi_page(const FabLend *lend)
{
    return MAX(fab_root_page_bytes(lend->lender), FAB_LEND_MSI_BYTES);
}

/* The guest's domain has the page of the window at an address that no BAR has.
 */
bool fab_lend_msi_show(FabLend *lend, GError **error)
{
    uint64_t page = msi_page(lend);
    FabBusAddr window = fab_mapping_addr(lend->msi), iova;

    if (!lend->vm || lend->forwards) {
        return true;
    }
    if (!fab_ranges_take(lend->domain->guest->mmio, page, page, &iova)) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_ADDRESS,
                    "the guest of %s has no addresses left for the interrupts "
                    "of %s",
                    fab_root_component(lend->borrower)->name,
                    lend_component(lend)->name);
        return false;
    }
    lend->msi_iova = iova + (window & (page - 1));
    return fab_root_iommu_map(lend->lender, lend->domain->number, iova,
                              window & ~(page - 1), page, error);
}

static void msi_hide(FabLend *lend)
{
    uint64_t page = msi_page(lend);
    FabBusAddr iova = lend->msi_iova & ~(page - 1);

    if (lend->msi_iova) {
        fab_root_iommu_unmap(lend->lender, lend->domain->number, iova, page);
        fab_ranges_give(lend->domain->guest->mmio, iova);
        lend->msi_iova = 0;
    }
}

void fab_lend_set_interrupt(FabLend *lend, FabInterruptFn fn, void *owner)
{
    bool is_first = !lend->interrupt;

    g_assert(fn);
    lend->interrupt = fn;
    lend->interrupt_owner = owner;
    if (!is_first) {
        return;
    }
    stage_init(&lend->at_borrower, lend, at_borrower_runs, 2);
    lend->borrower_watch = fab_root_watch(lend->borrower, FAB_MSI_BASE,
                                          MSI_SIZE, at_borrower_seen, lend);
    if (lend->forwards) {
        stage_init(&lend->at_lender, lend, at_lender_runs, 3);
        lend->lender_watch = fab_root_watch(lend->lender, FAB_MSI_BASE,
                                            MSI_SIZE, at_lender_seen, lend);
    }
}

void fab_lend_msi_close(FabLend *lend)
{
    if (lend->borrower_watch) {
        fab_root_unwatch(lend->borrower, lend->borrower_watch);
    }
    if (lend->lender_watch) {
        fab_root_unwatch(lend->lender, lend->lender_watch);
    }
    stage_done(&lend->at_borrower);
    stage_done(&lend->at_lender);
    msi_hide(lend);
    g_clear_pointer(&lend->msi, fab_mapping_free);
}

void fab_lend_msi(const FabLend *lend, unsigned vector, FabBusAddr *ret_addr,
                  uint32_t *ret_data)
{
    g_assert(vector < FAB_LEND_VECTORS);
    if (lend->vm) {
        *ret_addr = lend->forwards ? FAB_MSI_BASE : lend->msi_iova;
    } else {
        *ret_addr = fab_mapping_addr(lend->msi);
    }
    *ret_data = msi_data(lend, vector);
}
