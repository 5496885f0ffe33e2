/* SPDX-License-Identifier: MIT */
#include "dl_window.h"
#include "fab_lend_priv.h"

/* ---- Lends of a fabric ------------------------------------------------ */

static void lending_free(FabAttachment *attachment)
{
    Lending *lending = (Lending *)attachment;

    while (lending->lends->len > 0) {
        fab_lend_return(lending->lends->pdata[lending->lends->len - 1]);
    }
    g_ptr_array_unref(lending->lends);
    g_ptr_array_unref(lending->guests);
    g_ptr_array_unref(lending->domains);
    g_array_unref(lending->offers);
    g_free(lending);
}

static FabRouteAnswer refuse(const FabLend *lend, GError **error)
{
    g_set_error(error, FAB_ERROR, FAB_ERROR_LENT,
                "%s is lent to %s%s, and no other host may use it",
                lend_component(lend)->name, lend->vm ? "the guest of " : "",
                fab_root_component(lend->borrower)->name);
    return FAB_ROUTE_FAILED;
}

/* Maps an interrupt address of the borrower for the lent device. The device of
 * a guest cannot write there: see fab_lend_msi(). */
static FabRouteAnswer map_msi(const FabLend *lend, FabBusAddr addr,
                              FabBusAddr *ret_addr, GError **error)
{
    if (lend->vm) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "%s is lent to a guest, and the lender passes its "
                    "interrupts on",
                    lend_component(lend)->name);
        return FAB_ROUTE_FAILED;
    }
    *ret_addr = fab_mapping_addr(lend->msi) + (addr - FAB_MSI_BASE);
    return FAB_ROUTE_DONE;
}

/* Checks that somebody has ordered P2P from the lent device to @to. */
static bool check_order(const FabLend *lend, const FabComponent *to,
                        GError **error)
{
    FabBusAddr addr;

    for (int bar = 0; bar < FAB_BARS; bar++) {
        if (fab_lend_p2p_addr(lend, to, bar, &addr)) {
            return true;
        }
    }
    g_set_error(error, FAB_ERROR, FAB_ERROR_LENT,
                "%s may not reach %s; p2p: [%s] of its loan lets it",
                lend_component(lend)->name, to->name, to->name);
    return false;
}

/* Maps memory of the borrower, or a BAR of @to, for the lent device. */
static FabRouteAnswer map_from(FabLend *lend, FabComponent *to, FabBusAddr addr,
                               uint64_t size_bytes, FabBusAddr *ret_addr,
                               GError **error)
{
    FabRoot *root = fab_component_as_root(to);
    FabBusAddr base;
    int bar;

    if (root) {
        if (root != lend->borrower) {
            return refuse(lend, error);
        }
        if (addr - FAB_MSI_BASE < FAB_LEND_MSI_BYTES) {
            return map_msi(lend, addr, ret_addr, error);
        }
        return fab_lend_map(lend, addr, size_bytes, ret_addr, error)
                   ? FAB_ROUTE_DONE
                   : FAB_ROUTE_FAILED;
    }
    if (lend->lending->is_ordered ? !check_order(lend, to, error)
                                  : !fab_lend_enable_p2p(lend, to, error)) {
        return FAB_ROUTE_FAILED;
    }
    bar = fab_component_find_bar(to, addr);
    if (bar < 0 || !fab_lend_p2p_addr(lend, to, bar, &base) ||
        size_bytes > to->bars[bar].size_bytes - (addr - to->bars[bar].addr)) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_ADDRESS,
                    "%s has no BAR with %" G_GUINT64_FORMAT
                    " bytes at 0x%" G_GINT64_MODIFIER "x",
                    to->name, size_bytes, addr);
        return FAB_ROUTE_FAILED;
    }
    *ret_addr = base + (addr - to->bars[bar].addr);
    return FAB_ROUTE_DONE;
}

static FabRouteAnswer lending_route(FabAttachment *attachment,
                                    FabComponent *from, FabComponent *to,
                                    FabBusAddr addr, uint64_t size_bytes,
                                    FabBusAddr *ret_addr, GError **error)
{
    const Lending *lending = (const Lending *)attachment;
    FabLend *lend = lend_find(lending, from);
    FabRoot *root = fab_component_as_root(from);
    int bar;

    if (lend) {
        return map_from(lend, to, addr, size_bytes, ret_addr, error);
    }
    lend = lend_find(lending, to);
    if (!lend) {
        return FAB_ROUTE_ORDINARY;
    }
    if ((root ? from : from->root) != fab_root_component(lend->borrower)) {
        return refuse(lend, error);
    }
    if (!root && lend->no_p2p) {
        fab_lend_refuse_p2p(lend, error);
        return FAB_ROUTE_FAILED;
    }
    bar = fab_component_find_bar(to, addr);
    if (!root || bar < 0 ||
        size_bytes > to->bars[bar].size_bytes - (addr - to->bars[bar].addr)) {
        /* A device of the borrower takes the ordinary way. */
        return FAB_ROUTE_ORDINARY;
    }
    *ret_addr = fab_mapping_addr(lend->bar[bar]) + (addr - to->bars[bar].addr);
    return FAB_ROUTE_DONE;
}

static const FabAttachmentOps lending_ops = {
    .free = lending_free,
    .route = lending_route,
};

/* NULL if no device of @fabric was ever lent or offered. */
static Lending *lending_find(const FabFabric *fabric)
{
    return (Lending *)fab_fabric_attachment(fabric, &lending_ops);
}

static Lending *lending_of(FabFabric *fabric)
{
    Lending *lending = lending_find(fabric);

    g_assert(fabric->realized);
    if (!lending) {
        lending = g_new0(Lending, 1);
        lending->fabric = fabric;
        lending->lends = g_ptr_array_new();
        lending->guests = g_ptr_array_new();
        lending->domains = g_ptr_array_new();
        lending->offers = g_array_new(FALSE, FALSE, sizeof(LendOffer));
        fab_fabric_attach(fabric, &lending->attachment, &lending_ops);
    }
    return lending;
}

void fab_lend_offer(FabEndpoint *device, uint32_t weight)
{
    Lending *lending = lending_of(fab_endpoint_component(device)->fabric);
    LendOffer offer = {device, weight};

    g_assert(weight >= 1 && weight <= 65536);
    for (unsigned i = 0; i < lending->offers->len; i++) {
        LendOffer *known = &g_array_index(lending->offers, LendOffer, i);

        if (known->device == device) {
            known->weight = weight;
            return;
        }
    }
    g_array_append_val(lending->offers, offer);
}

FabLend *fab_lend_of(FabEndpoint *device)
{
    const FabComponent *component = fab_endpoint_component(device);

    return lend_find(lending_find(component->fabric), component);
}

/* ---- Borrowing -------------------------------------------------------- */

static bool check_params(const FabLendParams *params, GError **error)
{
    const FabComponent *device = fab_endpoint_component(params->device);
    const FabComponent *borrower = fab_root_component(params->borrower);
    const FabLend *lend = fab_lend_of(params->device);
    FabRoot *lender = device->root ? fab_component_as_root(device->root) : NULL;
    FabRoot *hosts[] = {lender, params->borrower};

    if (lend) {
        refuse(lend, error);
        return false;
    }
    if (!lender) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_WINDOW,
                    "%s is not connected to a host", device->name);
        return false;
    }
    if (lender == params->borrower) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "%s is a device of %s, which cannot borrow it",
                    device->name, borrower->name);
        return false;
    }
    for (unsigned i = 0; params->vm && i < G_N_ELEMENTS(hosts); i++) {
        if (!fab_root_params(hosts[i])->iommu.enabled) {
            g_set_error(
                error, FAB_ERROR, FAB_ERROR_CONFIG,
                "a VM can borrow only if the IOMMUs of both hosts are on, "
                "and that of %s is off",
                fab_root_component(hosts[i])->name);
            return false;
        }
    }
    return true;
}

/* The lowest number that no other lend has. */
static uint32_t free_number(const Lending *lending)
{
    uint32_t number = 0;

    for (unsigned i = 0; i < lending->lends->len; i++) {
        const FabLend *lend = lending->lends->pdata[i];

        if (lend->number == number) {
            number++;
            i = -1;
        }
    }
    return number;
}

static bool open_bars(FabLend *lend, GError **error)
{
    FabComponent *device = lend_component(lend);

    for (unsigned i = 0; i < FAB_BARS; i++) {
        const FabBar *bar = &device->bars[i];

        if (!bar->size_bytes) {
            continue;
        }
        lend->bar[i] =
            fab_mapping_new(fab_root_component(lend->borrower), device,
                            bar->addr, bar->size_bytes, 0, error);
        if (!lend->bar[i]) {
            g_prefix_error(error, "BAR %u: ", i);
            return false;
        }
    }
    return true;
}

static void lend_free(FabLend *lend)
{
    fab_lend_msi_close(lend);
    while (lend->targets->len > 0) {
        fab_lend_disable_p2p(
            lend, g_array_index(lend->targets, LendTarget, 0).component);
    }
    fab_lend_window_close(lend);
    for (unsigned i = 0; i < FAB_BARS; i++) {
        fab_mapping_free(lend->bar[i]);
    }
    fab_lend_own_domain_close(lend);
    g_array_unref(lend->maps);
    g_array_unref(lend->targets);
    g_free(lend);
}

FabLend *fab_lend_borrow(const FabLendParams *params, GError **error)
{
    FabComponent *device = fab_endpoint_component(params->device);
    Lending *lending = lending_of(device->fabric);
    const FabComponent *borrower = fab_root_component(params->borrower);
    FabLend *lend;

    g_assert(borrower->fabric == device->fabric);
    if (!check_params(params, error)) {
        return NULL;
    }
    lend = g_new0(FabLend, 1);
    lend->lending = lending;
    lend->device = params->device;
    lend->lender = fab_component_as_root(device->root);
    lend->borrower = params->borrower;
    lend->adapter =
        fab_route_adapter(device, fab_root_component(params->borrower));
    lend->number = free_number(lending);
    lend->vm = params->vm;
    lend->forwards = params->vm && !params->mapped_msi;
    lend->no_p2p = params->no_p2p;
    lend->iommu = fab_root_params(params->borrower)->iommu.enabled;
    lend->maps = g_array_new(FALSE, FALSE, sizeof(LendMap));
    lend->targets = g_array_new(FALSE, FALSE, sizeof(LendTarget));
    if (!fab_lend_own_domain_open(lend, error) || !open_bars(lend, error) ||
        !fab_lend_msi_open(lend, error) ||
        !fab_lend_window_open(lend, params, error) ||
        !fab_lend_msi_show(lend, error)) {
        lend_free(lend);
        g_prefix_error(error, "%s to %s: ", device->name, borrower->name);
        return NULL;
    }
    g_ptr_array_add(lending->lends, lend);
    return lend;
}

void fab_lend_return(FabLend *lend)
{
    if (lend) {
        Lending *lending = lend->lending;

        for (unsigned i = 0; i < lending->lends->len; i++) {
            fab_lend_disable_p2p(lending->lends->pdata[i],
                                 lend_component(lend));
        }
        g_ptr_array_remove(lending->lends, lend);
        lend_free(lend);
    }
}

bool fab_lend_is_vm(const FabLend *lend)
{
    return lend->vm;
}

FabRoot *fab_lend_borrower(const FabLend *lend)
{
    return lend->borrower;
}

uint64_t fab_lend_window_bytes(const FabLend *lend)
{
    return lend->window_bytes;
}

const FabLendCounters *fab_lend_counters(const FabLend *lend)
{
    return &lend->counters;
}
