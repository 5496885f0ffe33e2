/* SPDX-License-Identifier: MIT */
/* The DMA window of a lend, and the mappings in it. */
#include "dl_window.h"
#include "fab_lend_priv.h"

/* The pages in which drivers map their buffers. */
#define DRIVER_PAGE_BYTES UINT64_C(4096)

static uint64_t page_bytes_of(const FabLend *lend)
{
    return fab_root_page_bytes(lend->borrower);
}

/* ---- The borrower's IOMMU is off -------------------------------------- */

static bool open_memory(FabLend *lend, uint64_t window_bytes, GError **error)
{
    uint64_t ram = fab_root_params(lend->borrower)->memory.size_bytes;
    const char *name = fab_root_component(lend->borrower)->name;

    if (window_bytes && window_bytes < ram) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "the IOMMU of %s is off, so the DMA window must cover its "
                    "RAM: %" G_GUINT64_FORMAT " bytes, not %" G_GUINT64_FORMAT,
                    name, ram, window_bytes);
        return false;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(lend->memory); i++) {
        const FabRange *range = &lend->memory[i];

        if (!range->size_bytes) {
            continue;
        }
        lend->dma[i] = fab_mapping_new(
            lend_component(lend), fab_root_component(lend->borrower),
            range->addr, range->size_bytes, 0, error);
        if (!lend->dma[i]) {
            g_prefix_error(error,
                           "the IOMMU of %s is off, so the DMA window must "
                           "cover its RAM, %" G_GUINT64_FORMAT " bytes: ",
                           name, ram);
            return false;
        }
    }
    lend->window_bytes = ram;
    return true;
}

/* ---- The borrower's IOMMU is on --------------------------------------- */

static bool open_bytes(FabLend *lend, uint64_t bytes, GError **error)
{
    uint64_t entry = fab_ntb_entry_bytes(lend->adapter);
    uint64_t unit = MAX(entry, page_bytes_of(lend));

    if (bytes > UINT64_MAX / 2) {
        bytes = UINT64_MAX / 2;
    }
    bytes = (bytes + unit - 1) & ~(unit - 1);
    if (!fab_root_take_iova(lend->borrower, bytes, unit, &lend->iova, error)) {
        return false;
    }
    lend->dma[0] = fab_mapping_new(
        lend_component(lend), fab_root_component(lend->borrower), lend->iova,
        bytes, FAB_MAP_TO_DEVICE_ADDR, error);
    if (!lend->dma[0]) {
        fab_root_give_iova(lend->borrower, lend->iova);
        return false;
    }
    lend->space = fab_ranges_new(0, bytes, 0);
    lend->window_bytes = bytes;
    return true;
}

/* The number of entries of the automatic window, if the free entries are
 * contiguous. */
static uint64_t automatic_entries(const FabLend *lend)
{
    const GArray *offers = lend->lending->offers;
    uint64_t entry = fab_ntb_entry_bytes(lend->adapter);
    uint64_t ram = fab_root_params(lend->borrower)->memory.size_bytes;
    uint64_t weight = DLEND_WEIGHT, total = 0;

    for (unsigned i = 0; i < offers->len; i++) {
        const LendOffer *offer = &g_array_index(offers, LendOffer, i);
        const FabComponent *component = fab_endpoint_component(offer->device);

        if (offer->device == lend->device) {
            weight = offer->weight;
        } else if (component->root != fab_root_component(lend->lender) ||
                   lend_find(lend->lending, component)) {
            continue;
        }
        total += offer->weight;
    }
    return dlend_window_share(fab_ntb_free_entries(lend->adapter), weight,
                              MAX(total, weight),
                              ram / entry + (ram % entry != 0));
}

static bool open_automatic(FabLend *lend, GError **error)
{
    uint64_t entry = fab_ntb_entry_bytes(lend->adapter);
    uint64_t entries = MAX(automatic_entries(lend), 1);

    for (;;) {
        g_autoptr(GError) own = NULL;

        if (open_bytes(lend, entries * entry, &own)) {
            return true;
        }
        if (entries == 1) {
            g_propagate_error(error, g_steal_pointer(&own));
            return false;
        }
        entries /= 2; /* the free entries may not be contiguous */
    }
}

/* ---- Guests, and all cases -------------------------------------------- */

static bool open_guest(FabLend *lend, const FabLendParams *params,
                       GError **error)
{
    lend->domain =
        fab_lend_domain_ref(lend, params->guest, params->window_bytes, error);
    if (!lend->domain) {
        return false;
    }
    /* This only enters the device's Requester ID in the NTB: the domain has
     * made the mapping entries. */
    lend->dma[0] = fab_mapping_new(
        lend_component(lend), fab_root_component(lend->borrower),
        lend->domain->iova, lend->domain->guest->memory_bytes,
        FAB_MAP_TO_DEVICE_ADDR | FAB_MAP_FROM_HOST_ADDR, error);
    if (!lend->dma[0]) {
        return false;
    }
    fab_root_attach(lend->lender, lend_component(lend)->bdf,
                    lend->domain->number);
    lend->window_bytes = lend->domain->guest->memory_bytes;
    return true;
}

bool fab_lend_window_open(FabLend *lend, const FabLendParams *params,
                          GError **error)
{
    uint64_t window_bytes = params->window_bytes;

    fab_root_memory_ranges(lend->borrower, lend->memory);
    if (lend->vm) {
        return open_guest(lend, params, error);
    }
    if (!lend->iommu) {
        return open_memory(lend, window_bytes, error);
    }
    return window_bytes ? open_bytes(lend, window_bytes, error)
                        : open_automatic(lend, error);
}

static void map_remove(FabLend *lend, unsigned index)
{
    LendMap map = g_array_index(lend->maps, LendMap, index);

    g_array_remove_index_fast(lend->maps, index);
    if (lend->vm) {
        fab_lend_domain_unmap(lend->domain, map.base, map.size_bytes);
    } else {
        fab_root_iommu_unmap(lend->borrower, 0, lend->iova + map.base,
                             map.size_bytes);
        fab_ranges_give(lend->space, map.base);
    }
    lend->counters.mapped_bytes -= map.size_bytes;
}

void fab_lend_window_close(FabLend *lend)
{
    while (lend->maps->len > 0) {
        map_remove(lend, lend->maps->len - 1);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(lend->dma); i++) {
        g_clear_pointer(&lend->dma[i], fab_mapping_free);
    }
    if (lend->space) {
        fab_root_give_iova(lend->borrower, lend->iova);
        g_clear_pointer(&lend->space, fab_ranges_free);
    }
    if (lend->domain) {
        fab_root_attach(lend->lender, lend_component(lend)->bdf, 0);
        fab_lend_domain_unref(lend->lending, lend->domain);
        lend->domain = NULL;
    }
}

/* ---- Mappings --------------------------------------------------------- */

static bool no_room(FabLend *lend, uint64_t size_bytes, GError **error)
{
    lend->counters.no_room++;
    g_set_error(error, FAB_ERROR, FAB_ERROR_NO_ROOM,
                "%s: " FAB_LEND_NO_ROOM ": %" G_GUINT64_FORMAT
                " bytes do not fit into the DMA window of %" G_GUINT64_FORMAT
                " bytes, of which %" G_GUINT64_FORMAT " are in use",
                lend_component(lend)->name, size_bytes, lend->window_bytes,
                lend->counters.mapped_bytes);
    return false;
}

/* Returns the index of the range of the borrower's memory that holds all of
 * [@addr, +@size_bytes); -1 if there is none. */
static int memory_range(const FabLend *lend, FabBusAddr addr,
                        uint64_t size_bytes)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(lend->memory); i++) {
        const FabRange *range = &lend->memory[i];

        if (size_bytes > 0 && addr >= range->addr &&
            addr - range->addr < range->size_bytes &&
            size_bytes <= range->size_bytes - (addr - range->addr)) {
            return i;
        }
    }
    return -1;
}

static void count_map(FabLendCounters *counters, uint64_t size_bytes)
{
    counters->maps++;
    counters->mapped_bytes += size_bytes;
    counters->most_bytes = MAX(counters->most_bytes, counters->mapped_bytes);
}

static bool map_pages(FabLend *lend, FabBusAddr addr, LendMap *map,
                      GError **error)
{
    g_autoptr(GError) own = NULL;

    if (lend->vm) {
        if (fab_lend_domain_map(lend->domain, addr, map->size_bytes, &map->base,
                                &own)) {
            map->device_addr = map->base;
            return true;
        }
    } else if (fab_ranges_take(lend->space, map->size_bytes,
                               page_bytes_of(lend), &map->base)) {
        if (fab_root_iommu_map(lend->borrower, 0, lend->iova + map->base, addr,
                               map->size_bytes, &own)) {
            map->device_addr = fab_mapping_addr(lend->dma[0]) + map->base;
            return true;
        }
        fab_ranges_give(lend->space, map->base);
    }
    if (own) {
        g_propagate_error(error, g_steal_pointer(&own));
        return false;
    }
    return no_room(lend, map->size_bytes, error);
}

bool fab_lend_map(FabLend *lend, FabBusAddr addr, uint64_t size_bytes,
                  FabBusAddr *ret_device_addr, GError **error)
{
    int range = memory_range(lend, addr, size_bytes);
    FabLendCounters *counters = &lend->counters;
    uint64_t page;
    FabBusAddr base;
    LendMap map;

    if (range < 0) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_ADDRESS,
                    "%s has no memory of %" G_GUINT64_FORMAT
                    " bytes at 0x%" G_GINT64_MODIFIER "x",
                    fab_root_component(lend->borrower)->name, size_bytes, addr);
        return false;
    }
    if (!lend->iommu) {
        counters->maps++;
        *ret_device_addr = fab_mapping_addr(lend->dma[range]) +
                           (addr - lend->memory[range].addr);
        return true;
    }
    page = page_bytes_of(lend);
    base = addr & ~(page - 1);
    map.size_bytes = ((addr + size_bytes + page - 1) & ~(page - 1)) - base;
    if (!map_pages(lend, base, &map, error)) {
        return false;
    }
    map.device_addr += addr - base;
    g_array_append_val(lend->maps, map);
    count_map(counters, map.size_bytes);
    *ret_device_addr = map.device_addr;
    return true;
}

/* ---- Mappings of drivers ---------------------------------------------- */

bool fab_lend_maps_each(const FabLend *lend)
{
    return !lend->vm && lend->iommu;
}

bool fab_lend_take(FabLend *lend, FabBusAddr addr, uint64_t size_bytes,
                   FabBusAddr *ret_iova, FabBusAddr *ret_device_addr)
{
    FabBusAddr base;

    g_assert(fab_lend_maps_each(lend));
    if (!fab_ranges_take(lend->space, size_bytes, DRIVER_PAGE_BYTES, &base)) {
        return no_room(lend, size_bytes, NULL);
    }
    if (!fab_root_iommu_map(lend->borrower, 0, lend->iova + base, addr,
                            size_bytes, NULL)) {
        fab_ranges_give(lend->space, base);
        return false;
    }
    count_map(&lend->counters, size_bytes);
    *ret_iova = lend->iova + base;
    *ret_device_addr = fab_mapping_addr(lend->dma[0]) + base;
    return true;
}

void fab_lend_give(FabLend *lend, FabBusAddr iova)
{
    FabLendWaiter *waiter = lend->waiters;
    uint64_t size_bytes = fab_ranges_give(lend->space, iova - lend->iova);

    g_assert(size_bytes > 0);
    lend->counters.mapped_bytes -= size_bytes;
    lend->waiters = NULL;
    while (waiter) {
        FabLendWaiter *next = waiter->next;

        waiter->fn(waiter);
        waiter = next;
    }
}

void fab_lend_wait(FabLend *lend, FabLendWaiter *waiter)
{
    FabLendWaiter **link = &lend->waiters;

    while (*link) {
        link = &(*link)->next;
    }
    waiter->next = NULL;
    *link = waiter;
    lend->counters.waits++;
}

void fab_lend_wait_end(FabLend *lend, FabLendWaiter *waiter)
{
    for (FabLendWaiter **link = &lend->waiters; *link; link = &(*link)->next) {
        if (*link == waiter) {
            *link = waiter->next;
            return;
        }
    }
}
