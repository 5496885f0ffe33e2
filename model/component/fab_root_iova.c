/* SPDX-License-Identifier: MIT */
#include "fab_root_priv.h"

#include "fab_size.h"

/*
 * Allocation of the device addresses of a host, and their mapping in the
 * domains of the IOMMU.
 */

/* Lowest device address that is allocated, above all memory and BARs. */
#define IOVA_BASE (1ull << 46)

#define IOVA_BYTES ((1ull << FAB_DEVICE_ADDR_BITS) - IOVA_BASE)

/* A range of the host's addresses, and its device address. */
typedef struct IovaMap {
    FabBusAddr addr;
    uint64_t size_bytes;
    FabBusAddr iova;
    unsigned domain;
    uint32_t users;
} IovaMap;

/* ---- What drivers map ------------------------------------------------- */

bool fab_root_map_dma(FabRoot *root, FabBdf device, FabBusAddr addr,
                      uint64_t size_bytes, FabBusAddr *ret_device_addr,
                      GError **error)
{
    unsigned domain = root->domain_of ? root->domain_of[device] : 0;
    uint64_t page = fab_root_page_bytes(root), align = page;
    FabBusAddr base, end;
    IovaMap map;

    if (!root->iommu) {
        *ret_device_addr = addr;
        return true;
    }
    base = addr & ~(page - 1);
    end = (addr + size_bytes + page - 1) & ~(page - 1);
    for (unsigned i = 0; i < root->iova_maps->len; i++) {
        IovaMap *known = &g_array_index(root->iova_maps, IovaMap, i);

        if (domain == known->domain && base >= known->addr &&
            end <= known->addr + known->size_bytes) {
            known->users++;
            *ret_device_addr = known->iova + (addr - known->addr);
            return true;
        }
    }
    map = (IovaMap){
        .addr = base, .size_bytes = end - base, .domain = domain, .users = 1};
    /* Aligned to its size, as in Linux, so that the device addresses touch no
     * more entries of an NTB's window than the range itself. */
    while (align < map.size_bytes && align < IOVA_BASE) {
        align *= 2;
    }
    if (!fab_root_take_iova(root, map.size_bytes, align, &map.iova, error)) {
        return false;
    }
    if (!fab_root_iommu_map(root, domain, map.iova, map.addr, map.size_bytes,
                            error)) {
        fab_root_give_iova(root, map.iova);
        return false;
    }
    g_array_append_val(root->iova_maps, map);
    *ret_device_addr = map.iova + (addr - base);
    return true;
}

void fab_root_unmap_dma(FabRoot *root, FabBusAddr device_addr)
{
    for (unsigned i = 0; root->iommu && i < root->iova_maps->len; i++) {
        IovaMap *map = &g_array_index(root->iova_maps, IovaMap, i);

        if (device_addr - map->iova >= map->size_bytes) {
            continue;
        }
        if (--map->users == 0) {
            fab_root_iommu_unmap(root, map->domain, map->iova, map->size_bytes);
            fab_root_give_iova(root, map->iova);
            g_array_remove_index(root->iova_maps, i);
        }
        return;
    }
}

bool fab_root_take_iova(FabRoot *root, uint64_t size_bytes,
                        uint64_t align_bytes, FabBusAddr *ret_iova,
                        GError **error)
{
    uint64_t page = fab_root_page_bytes(root);

    size_bytes = (size_bytes + page - 1) & ~(page - 1);
    if (!fab_ranges_take(root->iova, size_bytes, MAX(align_bytes, page),
                         ret_iova)) {
        g_autofree char *size = fab_size_text(size_bytes);

        g_set_error(error, FAB_ERROR, FAB_ERROR_ADDRESS,
                    "%s: no %s of device addresses are free",
                    root->component.name, size);
        return false;
    }
    return true;
}

void fab_root_give_iova(FabRoot *root, FabBusAddr iova)
{
    fab_ranges_give(root->iova, iova);
}

uint64_t fab_root_page_bytes(const FabRoot *root)
{
    return root->params.iommu.mixed ? 4096 : root->params.iommu.page_bytes;
}

/* The largest page that @where, the bits of addresses and perhaps sizes, and
 * @left_bytes allow. */
static uint64_t page_that_fits(const FabRoot *root, uint64_t where,
                               uint64_t left_bytes)
{
    static const uint64_t smaller[] = {2 << 20, 4 << 10};
    uint64_t page = root->params.iommu.page_bytes;

    for (unsigned i = 0; i < G_N_ELEMENTS(smaller) &&
                         ((where & (page - 1)) || page > left_bytes);
         i++) {
        page = MIN(page, smaller[i]);
    }
    return page;
}

/* The bytes of a mapping, @left_bytes from @iova and @addr on, that have pages
 * of one size: *@ret_page. */
static uint64_t run_bytes(const FabRoot *root, FabBusAddr iova, FabBusAddr addr,
                          uint64_t left_bytes, uint64_t *ret_page)
{
    uint64_t bytes, limit;

    if (!root->params.iommu.mixed) {
        *ret_page = page_that_fits(root, iova | addr | left_bytes, left_bytes);
        return left_bytes;
    }
    *ret_page = page_that_fits(root, iova | addr, left_bytes);
    bytes = left_bytes & ~(*ret_page - 1);
    /* Up to where larger pages may begin. */
    limit = *ret_page == 4 << 10 ? 2 << 20 : 1 << 30;
    if (*ret_page < root->params.iommu.page_bytes &&
        ((iova ^ addr) & (limit - 1)) == 0) {
        bytes = MIN(bytes, MAX(limit - (iova & (limit - 1)), *ret_page));
    }
    return bytes;
}

bool fab_root_iommu_map(FabRoot *root, unsigned domain, FabBusAddr iova,
                        FabBusAddr addr, uint64_t size_bytes, GError **error)
{
    FabBusAddr base = fab_root_domain_base(domain) + iova;
    uint64_t done = 0;

    g_assert(root->iommu && domain < FAB_DOMAINS);
    do {
        uint64_t page;
        uint64_t bytes =
            run_bytes(root, iova + done, addr + done, size_bytes - done, &page);

        if (!fab_iommu_map(root->iommu, base + done, addr + done, bytes, page,
                           error)) {
            if (done > 0) {
                fab_iommu_unmap(root->iommu, base, done);
            }
            g_prefix_error(error, "%s: ", root->component.name);
            return false;
        }
        done += bytes;
    } while (done < size_bytes);
    root->mapped_bytes += size_bytes;
    return true;
}

void fab_root_iommu_unmap(FabRoot *root, unsigned domain, FabBusAddr iova,
                          uint64_t size_bytes)
{
    fab_root_ats_drop(root, domain, iova, size_bytes);
    root->mapped_bytes -= fab_iommu_unmap(
        root->iommu, fab_root_domain_base(domain) + iova, size_bytes);
}

void fab_root_iommu_clear(FabRoot *root, unsigned domain, FabBusAddr iova,
                          uint64_t size_bytes)
{
    root->mapped_bytes -= fab_iommu_clear(
        root->iommu, fab_root_domain_base(domain) + iova, size_bytes);
}

uint64_t fab_root_iommu_mapped(const FabRoot *root)
{
    return root->mapped_bytes;
}

void fab_root_attach(FabRoot *root, FabBdf device, unsigned domain)
{
    g_assert(root->iommu && domain < FAB_DOMAINS);
    if (!root->domain_of) {
        root->domain_of = g_new0(uint8_t, 65536);
    }
    root->domain_of[device] = domain;
    fab_root_ats_forget(root, device);
}

/* ---- Life ------------------------------------------------------------ */

void fab_root_iova_init(FabRoot *root)
{
    root->iova_maps = g_array_new(FALSE, FALSE, sizeof(IovaMap));
    /* An access beyond the end of a mapping hits the free page after it. */
    root->iova =
        fab_ranges_new(IOVA_BASE, IOVA_BYTES, fab_root_page_bytes(root));
}

void fab_root_iova_free(FabRoot *root)
{
    g_array_unref(root->iova_maps);
    fab_ranges_free(root->iova);
    g_free(root->domain_of);
}
