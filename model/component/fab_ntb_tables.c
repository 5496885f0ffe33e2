/* SPDX-License-Identifier: MIT */
/*
 * The tables of an NTB as software sees them: the mapping entries of the
 * window, and the Requester IDs that may pass.
 */
#include "fab_ntb_priv.h"

#include "fab_root.h"
#include "fab_size.h"

uint64_t fab_ntb_entry_bytes(const FabNtb *ntb)
{
    return 1ull << ntb->entry_shift;
}

uint32_t fab_ntb_used_entries(const FabNtb *ntb)
{
    return ntb->used_entries;
}

/* The entries that a node whose adapter is @end needs less than
 * params.reserved. */
static uint64_t spared_entries(const FabNtb *ntb, const FabComponent *end)
{
    FabRoot *root = end && end->root ? fab_component_as_root(end->root) : NULL;
    const FabRootParams *params = root ? fab_root_params(root) : NULL;
    uint64_t needed;

    if (!params || params->iommu.enabled || !params->reserves_less) {
        return 0;
    }
    needed = (params->preallocated_bytes + fab_ntb_entry_bytes(ntb) - 1) >>
             ntb->entry_shift;
    return needed < ntb->params.reserved ? ntb->params.reserved - needed : 0;
}

uint32_t fab_ntb_reserved_entries(const FabNtb *ntb)
{
    uint64_t reserved =
        (uint64_t)ntb->params.reserved * fab_ntb_remote_nodes(ntb);

    for (unsigned way = 1; way < fab_ntb_ways(ntb); way++) {
        reserved -= spared_entries(ntb, fab_ntb_far_end(ntb, way));
    }
    return MIN(reserved, ntb->params.entries);
}

uint32_t fab_ntb_free_entries(const FabNtb *ntb)
{
    uint64_t taken = ntb->used_entries + fab_ntb_reserved_entries(ntb);

    return taken < ntb->params.entries ? ntb->params.entries - taken : 0;
}

/* The number of free entries among [@first, +@count) that a mapping to @target
 * through @cable would take; UINT32_MAX if an entry leads elsewhere. */
static uint32_t run_cost(const FabNtb *ntb, uint32_t first, uint32_t count,
                         unsigned cable, FabBusAddr target)
{
    uint32_t cost = 0;

    for (uint32_t i = 0; i < count; i++) {
        const FabNtbEntry *entry = &ntb->entries[first + i];

        if (!entry->cable) {
            cost++;
        } else if (entry->cable != cable ||
                   entry->target !=
                       target + ((FabBusAddr)i << ntb->entry_shift)) {
            return UINT32_MAX;
        }
    }
    return cost;
}

bool fab_ntb_map(FabNtb *ntb, unsigned cable, FabBusAddr target,
                 uint64_t size_bytes, FabBusAddr *ret_addr, GError **error)
{
    uint64_t entry_bytes = fab_ntb_entry_bytes(ntb);
    FabBusAddr base = target & ~(entry_bytes - 1);
    uint64_t count =
        (target + size_bytes - base + entry_bytes - 1) >> ntb->entry_shift;
    uint32_t best = 0, best_cost = UINT32_MAX;
    const FabNtbParams *params = &ntb->params;

    g_assert(cable >= 1 && cable < fab_ntb_ways(ntb) && size_bytes);
    for (uint32_t i = 0; count <= params->entries && best_cost > 0 &&
                         i + count <= params->entries;
         i++) {
        uint32_t cost = run_cost(ntb, i, count, cable, base);

        if (cost < best_cost) {
            best_cost = cost;
            best = i;
        }
    }
    if (best_cost == UINT32_MAX || best_cost > fab_ntb_free_entries(ntb)) {
        g_autofree char *size = fab_size_text(size_bytes);
        g_autofree char *entry = fab_size_text(entry_bytes);

        g_set_error(
            error, FAB_ERROR, FAB_ERROR_WINDOW,
            "%s: mapping %s takes %" G_GUINT64_FORMAT
            " consecutive mapping entries of %s; %u of %u are free (%u in use, %u reserved for "
            "connected nodes)",
            ntb->component.name, size, count, entry, fab_ntb_free_entries(ntb),
            params->entries, ntb->used_entries, fab_ntb_reserved_entries(ntb));
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        FabNtbEntry *entry = &ntb->entries[best + i];

        entry->cable = cable;
        entry->users++;
        entry->target = base + ((FabBusAddr)i << ntb->entry_shift);
    }
    ntb->used_entries += best_cost;
    *ret_addr = ntb->component.bars[FAB_NTB_WINDOW_BAR].addr +
                ((FabBusAddr)best << ntb->entry_shift) + (target - base);
    return true;
}

void fab_ntb_unmap(FabNtb *ntb, FabBusAddr addr, uint64_t size_bytes)
{
    FabBusAddr offset = addr - ntb->component.bars[FAB_NTB_WINDOW_BAR].addr;
    uint64_t first = offset >> ntb->entry_shift;
    uint64_t last = (offset + size_bytes - 1) >> ntb->entry_shift;

    g_assert(size_bytes && last < ntb->params.entries);
    for (uint64_t i = first; i <= last; i++) {
        FabNtbEntry *entry = &ntb->entries[i];

        g_assert(entry->users > 0);
        if (--entry->users == 0) {
            entry->cable = 0;
            ntb->used_entries--;
        }
    }
}

static FabNtbRequester *requester_find(const FabNtb *ntb, FabBdf bdf)
{
    for (unsigned i = 0; i < ntb->requesters->len; i++) {
        FabNtbRequester *requester =
            &g_array_index(ntb->requesters, FabNtbRequester, i);

        if (requester->bdf == bdf) {
            return requester;
        }
    }
    return NULL;
}

/* Sets whether requests of @requester may pass. */
static void known_set(FabNtb *ntb, const FabNtbRequester *requester, bool known)
{
    unsigned count = requester->is_ntb ? FAB_NTB_ALIASES : 1;
    unsigned first = requester->bdf & ~(count - 1);

    for (unsigned i = first; i < first + count; i++) {
        if (known) {
            ntb->known[i / 64] |= 1ull << (i % 64);
        } else {
            ntb->known[i / 64] &= ~(1ull << (i % 64));
        }
    }
}

bool fab_ntb_add_requester(FabNtb *ntb, FabBdf requester, bool is_ntb,
                           GError **error)
{
    FabNtbRequester *known = requester_find(ntb, requester);
    FabNtbRequester entry = {requester, 1, is_ntb};

    if (known) {
        known->users++;
        return true;
    }
    if (ntb->requesters->len >= ntb->params.requesters) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_WINDOW,
                    "%s: Requester ID %02x:%02x.%x does not fit: all %u "
                    "entries of the table are in use",
                    ntb->component.name, FAB_BDF_BUS(requester),
                    FAB_BDF_DEV(requester), FAB_BDF_FN(requester),
                    ntb->params.requesters);
        return false;
    }
    g_array_append_val(ntb->requesters, entry);
    known_set(ntb, &entry, true);
    return true;
}

void fab_ntb_remove_requester(FabNtb *ntb, FabBdf requester)
{
    FabNtbRequester *known = requester_find(ntb, requester);

    g_assert(known);
    if (--known->users == 0) {
        known_set(ntb, known, false);
        g_array_remove_index_fast(
            ntb->requesters,
            known - (FabNtbRequester *)(void *)ntb->requesters->data);
    }
}

uint32_t fab_ntb_used_requesters(const FabNtb *ntb)
{
    return ntb->requesters->len;
}
