/* SPDX-License-Identifier: MIT */
/*
 * Guests and their domains. A guest's memory is contiguous behind the window of
 * a domain, although it lies in pieces in the memory of its host:
 *
 *   guest-physical address --lender's IOMMU--> window --NTB--> device address
 *   of the borrower --borrower's IOMMU--> memory of the host
 *
 * A real guest pins all of its memory when it boots. Here the pieces are bound
 * to guest addresses when a device first uses them.
 */
#include "fab_lend_priv.h"

/* The guest-physical layout of QEMU's q35: memory below 2 GiB, a hole, the rest
 * of the memory from 4 GiB on, and 64-bit BARs far above. */
#define GUEST_LOW_END   (UINT64_C(2) << 30)
#define GUEST_HIGH      (UINT64_C(4) << 30)
#define GUEST_LEGACY    (UINT64_C(1) << 20) /* buffers lie above this */
#define GUEST_MMIO      (UINT64_C(1) << 44)
#define GUEST_MMIO_SIZE (UINT64_C(1) << 46)

static uint64_t page_bytes_of(const FabRoot *root)
{
    return fab_root_page_bytes(root);
}

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) & ~(unit - 1);
}

static uint64_t low_bytes(const Guest *guest)
{
    return MIN(guest->memory_bytes, GUEST_LOW_END);
}

/* The offset of a guest-physical address in the window. */
static uint64_t row_offset(const Guest *guest, FabBusAddr guest_addr)
{
    return guest_addr < GUEST_LOW_END
               ? guest_addr
               : guest_addr - GUEST_HIGH + low_bytes(guest);
}

/* ---- Guests ----------------------------------------------------------- */

static Guest *guest_find(const Lending *lending, const FabRoot *host,
                         const char *name)
{
    for (unsigned i = 0; i < lending->guests->len; i++) {
        Guest *guest = lending->guests->pdata[i];

        if (guest->host == host && g_strcmp0(guest->name, name) == 0) {
            return guest;
        }
    }
    return NULL;
}

static Guest *guest_new(FabRoot *host, const char *name, uint64_t memory_bytes)
{
    Guest *guest = g_new0(Guest, 1);
    uint64_t page = page_bytes_of(host), low, begin;

    guest->host = host;
    guest->name = g_strdup(name);
    guest->memory_bytes = round_up(memory_bytes, page);
    low = low_bytes(guest);
    begin = MIN(round_up(GUEST_LEGACY, page), low);
    guest->low = fab_ranges_new(begin, low - begin, 0);
    guest->high = fab_ranges_new(GUEST_HIGH, guest->memory_bytes - low, 0);
    guest->mmio = fab_ranges_new(GUEST_MMIO, GUEST_MMIO_SIZE, 0);
    guest->ranges = g_array_new(FALSE, FALSE, sizeof(GuestRange));
    guest->bars = g_array_new(FALSE, FALSE, sizeof(GuestBars));
    return guest;
}

static void guest_unref(Lending *lending, Guest *guest)
{
    if (--guest->users > 0) {
        return;
    }
    fab_ranges_free(guest->low);
    fab_ranges_free(guest->high);
    fab_ranges_free(guest->mmio);
    g_array_unref(guest->ranges);
    g_array_unref(guest->bars);
    g_free(guest->name);
    g_ptr_array_remove_fast(lending->guests, guest);
    g_free(guest);
}

/* The memory of all guests of @host. */
static uint64_t guests_bytes(const Lending *lending, const FabRoot *host)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < lending->guests->len; i++) {
        const Guest *guest = lending->guests->pdata[i];

        bytes += guest->host == host ? guest->memory_bytes : 0;
    }
    return bytes;
}

/* Returns a reference to the guest @guest_name (nullable) on @lend's borrower.
 * If there is none, makes it with @window_bytes of memory (0: automatic). */
static Guest *guest_ref(FabLend *lend, const char *guest_name,
                        uint64_t window_bytes, GError **error)
{
    Guest *guest = guest_find(lend->lending, lend->borrower, guest_name);
    const char *name = fab_root_component(lend->borrower)->name;

    if (guest && window_bytes &&
        round_up(window_bytes, page_bytes_of(lend->borrower)) !=
            guest->memory_bytes) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "the DMA window is all of the guest's memory, and the "
                    "guest of %s has %" G_GUINT64_FORMAT
                    " bytes, not %" G_GUINT64_FORMAT,
                    name, guest->memory_bytes, window_bytes);
        return NULL;
    }
    if (!guest) {
        uint64_t ram = fab_root_params(lend->borrower)->memory.size_bytes;
        uint64_t others = guests_bytes(lend->lending, lend->borrower);
        uint64_t bytes = window_bytes ? window_bytes : ram / 2;

        if (others && bytes > ram - MIN(others, ram)) {
            g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                        "the other guests of %s have %" G_GUINT64_FORMAT
                        " bytes of its %" G_GUINT64_FORMAT
                        " bytes of RAM, so another one cannot have "
                        "%" G_GUINT64_FORMAT,
                        name, others, ram, bytes);
            return NULL;
        }
        if (window_bytes > ram) {
            g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                        "the DMA window is all of the guest's memory, and %s "
                        "has %" G_GUINT64_FORMAT
                        " bytes of RAM, less than %" G_GUINT64_FORMAT,
                        name, ram, window_bytes);
            return NULL;
        }
        guest = guest_new(lend->borrower, guest_name, bytes);
        g_ptr_array_add(lend->lending->guests, guest);
    }
    guest->users++;
    return guest;
}

/* Binds whole pages of the host's memory to a guest-physical address. Pages
 * that are bound already keep their address. */
static bool guest_bind(Guest *guest, FabBusAddr addr, uint64_t size_bytes,
                       FabBusAddr *ret_guest_addr)
{
    GuestRange range = {.addr = addr, .size_bytes = size_bytes, .users = 1};
    uint64_t page = page_bytes_of(guest->host);

    for (unsigned i = 0; i < guest->ranges->len; i++) {
        GuestRange *known = &g_array_index(guest->ranges, GuestRange, i);

        if (addr == known->addr && size_bytes == known->size_bytes) {
            known->users++;
            *ret_guest_addr = known->guest_addr;
            return true;
        }
    }
    if (!fab_ranges_take(guest->high, size_bytes, page, &range.guest_addr) &&
        !fab_ranges_take(guest->low, size_bytes, page, &range.guest_addr)) {
        return false;
    }
    g_array_append_val(guest->ranges, range);
    *ret_guest_addr = range.guest_addr;
    return true;
}

static void guest_unbind(Guest *guest, FabBusAddr guest_addr)
{
    for (unsigned i = 0; i < guest->ranges->len; i++) {
        GuestRange *range = &g_array_index(guest->ranges, GuestRange, i);

        if (range->guest_addr != guest_addr) {
            continue;
        }
        if (--range->users == 0) {
            fab_ranges_give(guest_addr < GUEST_LOW_END ? guest->low
                                                       : guest->high,
                            guest_addr);
            g_array_remove_index_fast(guest->ranges, i);
        }
        return;
    }
}

/* Returns the guest's addresses of the BARs of @component, and counts one more
 * user of them. */
static const GuestBars *
guest_bars_ref(Guest *guest, const FabComponent *component, GError **error)
{
    GuestBars bars = {.component = component, .users = 1};

    for (unsigned i = 0; i < guest->bars->len; i++) {
        GuestBars *known = &g_array_index(guest->bars, GuestBars, i);

        if (known->component == component) {
            known->users++;
            return known;
        }
    }
    for (unsigned i = 0; i < FAB_BARS; i++) {
        const FabBar *bar = &component->bars[i];
        /* 1 GiB is the largest page of an IOMMU, so this fits the pages of both
         * hosts. */
        uint64_t align = MAX(bar->size_bytes, UINT64_C(1) << 30);

        if (bar->size_bytes &&
            !fab_ranges_take(guest->mmio, align, align, &bars.addr[i])) {
            for (unsigned j = 0; j < i; j++) {
                if (component->bars[j].size_bytes) {
                    fab_ranges_give(guest->mmio, bars.addr[j]);
                }
            }
            g_set_error(error, FAB_ERROR, FAB_ERROR_ADDRESS,
                        "the guest of %s has no addresses left for the BARs "
                        "of %s",
                        fab_root_component(guest->host)->name, component->name);
            return NULL;
        }
    }
    g_array_append_val(guest->bars, bars);
    return &g_array_index(guest->bars, GuestBars, guest->bars->len - 1);
}

static void guest_bars_unref(Guest *guest, const FabComponent *component)
{
    for (unsigned i = 0; i < guest->bars->len; i++) {
        GuestBars *bars = &g_array_index(guest->bars, GuestBars, i);

        if (bars->component != component) {
            continue;
        }
        if (--bars->users == 0) {
            for (unsigned j = 0; j < FAB_BARS; j++) {
                if (component->bars[j].size_bytes) {
                    fab_ranges_give(guest->mmio, bars->addr[j]);
                }
            }
            g_array_remove_index_fast(guest->bars, i);
        }
        return;
    }
}

/* ---- Domains ---------------------------------------------------------- */

static Domain *domain_find(const Lending *lending, const FabRoot *lender,
                           const Guest *guest)
{
    for (unsigned i = 0; i < lending->domains->len; i++) {
        Domain *domain = lending->domains->pdata[i];

        if (domain->lender == lender && domain->guest == guest) {
            return domain;
        }
    }
    return NULL;
}

/* The lowest number that no other domain of @lender has; 0: all are taken. */
static unsigned domain_number(const Lending *lending, const FabRoot *lender)
{
    bool taken[FAB_DOMAINS] = {true};

    for (unsigned i = 0; i < lending->domains->len; i++) {
        const Domain *domain = lending->domains->pdata[i];

        if (domain->lender == lender) {
            taken[domain->number] = true;
        }
    }
    for (unsigned i = 0; i < lending->lends->len; i++) {
        const FabLend *lend = lending->lends->pdata[i];

        if (lend->lender == lender) {
            taken[lend->own_domain] = true;
        }
    }
    for (unsigned i = 1; i < FAB_DOMAINS; i++) {
        if (!taken[i]) {
            return i;
        }
    }
    return 0;
}

/* Makes the window: maps guest-physical addresses to a window of the NTB, and
 * that window to device addresses of the borrower. */
static bool domain_open(FabLend *lend, Domain *domain, GError **error)
{
    const Guest *guest = domain->guest;
    uint64_t bytes = guest->memory_bytes, low = low_bytes(guest);
    FabBusAddr window;

    if (!fab_root_take_iova(guest->host, bytes,
                            fab_ntb_entry_bytes(lend->adapter), &domain->iova,
                            error)) {
        return false;
    }
    domain->mapping = fab_mapping_new(
        fab_root_component(domain->lender), fab_root_component(guest->host),
        domain->iova, bytes, FAB_MAP_TO_DEVICE_ADDR, error);
    if (!domain->mapping) {
        g_prefix_error(error,
                       "the DMA window must hold all of the guest's memory, "
                       "%" G_GUINT64_FORMAT " bytes: ",
                       bytes);
        fab_root_give_iova(guest->host, domain->iova);
        return false;
    }
    window = fab_mapping_addr(domain->mapping);
    if (!fab_root_iommu_map(domain->lender, domain->number, 0, window, low,
                            error) ||
        (bytes > low &&
         !fab_root_iommu_map(domain->lender, domain->number, GUEST_HIGH,
                             window + low, bytes - low, error))) {
        fab_root_iommu_unmap(domain->lender, domain->number, 0,
                             GUEST_HIGH + bytes);
        g_clear_pointer(&domain->mapping, fab_mapping_free);
        fab_root_give_iova(guest->host, domain->iova);
        return false;
    }
    return true;
}

static void domain_close(Domain *domain)
{
    if (domain->mapping) {
        fab_root_iommu_unmap(domain->lender, domain->number, 0,
                             GUEST_HIGH + domain->guest->memory_bytes);
        fab_mapping_free(domain->mapping);
        fab_root_give_iova(domain->guest->host, domain->iova);
    }
    g_array_unref(domain->bars);
    g_array_unref(domain->ranges);
}

void fab_lend_domain_unref(Lending *lending, Domain *domain)
{
    if (--domain->users == 0) {
        domain_close(domain);
        guest_unref(lending, domain->guest);
        g_ptr_array_remove_fast(lending->domains, domain);
        g_free(domain);
    }
}

static void no_domain(const FabLend *lend, GError **error)
{
    g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                "%s: all %u domains of the IOMMU are in use",
                fab_root_component(lend->lender)->name, FAB_DOMAINS);
}

bool fab_lend_own_domain_open(FabLend *lend, GError **error)
{
    const FabIommuParams *iommu = &fab_root_params(lend->lender)->iommu;

    if (lend->vm || !iommu->enabled || !iommu->loan_domains) {
        return true;
    }
    lend->own_domain = domain_number(lend->lending, lend->lender);
    if (!lend->own_domain) {
        no_domain(lend, error);
        return false;
    }
    fab_root_attach(lend->lender, lend_component(lend)->bdf, lend->own_domain);
    return true;
}

void fab_lend_own_domain_close(FabLend *lend)
{
    if (lend->own_domain) {
        fab_root_attach(lend->lender, lend_component(lend)->bdf, 0);
    }
}

Domain *fab_lend_domain_ref(FabLend *lend, const char *guest_name,
                            uint64_t window_bytes, GError **error)
{
    Lending *lending = lend->lending;
    Guest *guest = guest_ref(lend, guest_name, window_bytes, error);
    Domain *domain;
    unsigned number;

    if (!guest) {
        return NULL;
    }
    domain = domain_find(lending, lend->lender, guest);
    if (domain) {
        guest_unref(lending, guest); /* the domain holds a reference already */
        domain->users++;
        return domain;
    }
    number = domain_number(lending, lend->lender);
    if (!number) {
        guest_unref(lending, guest);
        no_domain(lend, error);
        return NULL;
    }
    domain = g_new0(Domain, 1);
    domain->lender = lend->lender;
    domain->guest = guest;
    domain->number = number;
    domain->bars = g_array_new(FALSE, FALSE, sizeof(DomainBar));
    domain->ranges = g_array_new(FALSE, FALSE, sizeof(DomainRange));
    domain->users = 1;
    g_ptr_array_add(lending->domains, domain);
    if (!domain_open(lend, domain, error)) {
        fab_lend_domain_unref(lending, domain);
        return NULL;
    }
    return domain;
}

/* ---- Memory of the guest ---------------------------------------------- */

static DomainRange *domain_range(const Domain *domain, FabBusAddr guest_addr,
                                 unsigned *ret_index)
{
    for (unsigned i = 0; i < domain->ranges->len; i++) {
        DomainRange *range = &g_array_index(domain->ranges, DomainRange, i);

        if (range->guest_addr == guest_addr) {
            *ret_index = i;
            return range;
        }
    }
    return NULL;
}

bool fab_lend_domain_map(Domain *domain, FabBusAddr addr, uint64_t size_bytes,
                         FabBusAddr *ret_guest_addr, GError **error)
{
    Guest *guest = domain->guest;
    DomainRange range = {.size_bytes = size_bytes, .users = 1};
    DomainRange *known;
    unsigned index;

    if (!guest_bind(guest, addr, size_bytes, &range.guest_addr)) {
        return false;
    }
    known = domain_range(domain, range.guest_addr, &index);
    if (known) {
        known->users++;
    } else {
        if (!fab_root_iommu_map(guest->host, 0,
                                domain->iova +
                                    row_offset(guest, range.guest_addr),
                                addr, size_bytes, error)) {
            guest_unbind(guest, range.guest_addr);
            return false;
        }
        g_array_append_val(domain->ranges, range);
    }
    *ret_guest_addr = range.guest_addr;
    return true;
}

void fab_lend_domain_unmap(Domain *domain, FabBusAddr guest_addr,
                           uint64_t size_bytes)
{
    Guest *guest = domain->guest;
    unsigned index;
    DomainRange *range = domain_range(domain, guest_addr, &index);

    g_assert(range);
    if (--range->users == 0) {
        fab_root_iommu_unmap(guest->host, 0,
                             domain->iova + row_offset(guest, guest_addr),
                             size_bytes);
        g_array_remove_index_fast(domain->ranges, index);
    }
    guest_unbind(guest, guest_addr);
}

/* ---- BARs of others --------------------------------------------------- */

static DomainBar *domain_bar(const Domain *domain, const FabComponent *target,
                             int bar, unsigned *ret_index)
{
    for (unsigned i = 0; i < domain->bars->len; i++) {
        DomainBar *known = &g_array_index(domain->bars, DomainBar, i);

        if (known->component == target && known->bar == bar) {
            *ret_index = i;
            return known;
        }
    }
    return NULL;
}

/* Maps the BAR of @made: its guest-physical address to the address at which the
 * lender reaches it. */
static bool domain_map_bar(Domain *domain, DomainBar *made,
                           FabComponent *target, FabBusAddr guest_addr,
                           FabBusAddr *ret_guest_addr, GError **error)
{
    const FabBar *bar = &target->bars[made->bar];
    uint64_t page = 4096;
    FabBusAddr host;

    made->mapping =
        fab_mapping_new(fab_root_component(domain->lender), target, bar->addr,
                        bar->size_bytes, FAB_MAP_FROM_HOST_ADDR, error);
    if (!made->mapping) {
        return false;
    }
    host = fab_mapping_addr(made->mapping);
    /* A BAR smaller than a page keeps its offset in the page. */
    *ret_guest_addr = guest_addr + (host & (page - 1));
    made->iova = guest_addr;
    made->size_bytes = round_up((host & (page - 1)) + bar->size_bytes, page);
    if (!fab_root_iommu_map(domain->lender, domain->number, made->iova,
                            host & ~(page - 1), made->size_bytes, error)) {
        g_clear_pointer(&made->mapping, fab_mapping_free);
        return false;
    }
    return true;
}

bool fab_lend_domain_add_bar(Domain *domain, FabComponent *target, int bar,
                             FabBusAddr *ret_guest_addr, GError **error)
{
    unsigned index;
    DomainBar *known = domain_bar(domain, target, bar, &index);
    DomainBar made = {.component = target, .bar = bar, .users = 1};
    const GuestBars *bars;

    if (known) {
        known->users++;
        *ret_guest_addr =
            known->iova + (fab_mapping_addr(known->mapping) & 4095);
        return true;
    }
    bars = guest_bars_ref(domain->guest, target, error);
    if (!bars) {
        return false;
    }
    if (!domain_map_bar(domain, &made, target, bars->addr[bar], ret_guest_addr,
                        error)) {
        guest_bars_unref(domain->guest, target);
        return false;
    }
    g_array_append_val(domain->bars, made);
    return true;
}

void fab_lend_domain_remove_bar(Domain *domain, const FabComponent *target,
                                int bar)
{
    unsigned index;
    DomainBar *known = domain_bar(domain, target, bar, &index);

    g_assert(known);
    if (--known->users == 0) {
        fab_root_iommu_unmap(domain->lender, domain->number, known->iova,
                             known->size_bytes);
        fab_mapping_free(known->mapping);
        g_array_remove_index_fast(domain->bars, index);
        guest_bars_unref(domain->guest, target);
    }
}
