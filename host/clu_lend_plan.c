/* SPDX-License-Identifier: MIT */
/*
 * The sizes are those of dl_borrower: kmod/borrower/borrower_space.c, if the
 * borrower's IOMMU translates, and choose_linear() in
 * kmod/borrower/borrower_dma.c, if not.
 */
#include "clu_lend_plan.h"

#include <string.h>

#include "clu_plan_links.h"
#include "clu_plan_options.h"
#include "clu_property.h"
#include "dl_window.h"

#define MIB       ((uint64_t)1 << 20)
#define SPACE_MAX ((uint64_t)1 << 38) /* WINDOW_MAX of borrower_space.c */
#define RAM_UNIT  (4 * MIB)           /* of borrower_space.c */

static const CluPlanDevice *device_of(const CluPlan *plan,
                                      const TopoDevice *topo)
{
    for (unsigned i = 0; i < plan->hosts->len; i++) {
        const CluPlanHost *host = plan->hosts->pdata[i];

        for (unsigned j = 0; j < host->devices->len; j++) {
            const CluPlanDevice *device = host->devices->pdata[j];

            if (device->device == topo) {
                return device;
            }
        }
    }
    return NULL;
}

/* Returns the device of @lend, or that of its virtual function. */
static const CluPlanDevice *lent_device(const CluPlan *plan,
                                        const TopoLend *lend)
{
    const TopoDevice *device = lend->device;

    return device_of(plan, device->physical ? device->physical : device);
}

/* Returns the adapter of @from at the first cable that leads to @to, or NULL.
 */
static const CluPlanDevice *adapter_of(const CluPlan *plan,
                                       const TopoHost *from, const TopoHost *to)
{
    for (unsigned i = 0; i < plan->links->len; i++) {
        const CluPlanLink *link = plan->links->pdata[i];

        for (unsigned end = 0; end < 2; end++) {
            if (link->host[end] && link->host[!end] &&
                link->host[end]->host == from && link->host[!end]->host == to) {
                return link->device[end];
            }
        }
    }
    return NULL;
}

/* Returns the size of the adapter's direct window, which is its BAR 4. */
static uint64_t space_of(const CluPlanDevice *adapter)
{
    g_auto(GStrv) properties = g_strsplit(adapter->properties, ",", -1);
    uint64_t bytes = 0;

    for (unsigned i = 0; properties[i]; i++) {
        if (g_str_has_prefix(properties[i], "bar4-size=")) {
            clu_property_parse_size(strchr(properties[i], '=') + 1, &bytes);
        }
    }
    return bytes;
}

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* Returns the smallest power of two that holds all addresses of the memory. */
static uint64_t linear_bytes(const TopoHost *host)
{
    uint64_t end = clu_plan_memory_end(host), bytes = 1;

    while (bytes < end) {
        bytes *= 2;
    }
    return bytes;
}

static uint32_t weight_of(const CluPlanDevice *device)
{
    return strcmp(device->type, CLU_PLAN_GPU_TYPE) == 0
               ? DLEND_WEIGHT_ACCELERATOR
               : DLEND_WEIGHT;
}

/* Returns what is free for @row when the rows that have windows are borrowed.
 */
static uint64_t free_bytes(const GArray *rows, const CluLendPlan *row)
{
    uint64_t space = MIN(row->space_bytes, SPACE_MAX), used = 0;

    for (unsigned i = 0; i < rows->len; i++) {
        const CluLendPlan *other = &g_array_index(rows, CluLendPlan, i);

        if (other != row && other->adapter == row->adapter) {
            used += other->window_bytes;
        }
    }
    return space - MIN(space, used);
}

static void take_given(GArray *rows, CluLendPlan *row)
{
    uint64_t bytes = row->lend->window_bytes;

    row->window_bytes = bytes <= free_bytes(rows, row) ? bytes : 0;
}

/* @weights is that of the lender's devices that are not borrowed, this one
 * included. */
static void take_share(GArray *rows, CluLendPlan *row, uint64_t weights)
{
    uint64_t ram = round_up(row->lend->to->vm->memory_bytes, RAM_UNIT);
    uint64_t free_mib = free_bytes(rows, row) / MIB;
    uint64_t share =
        dlend_window_share(free_mib, row->weight, weights, ram / MIB);

    row->weights = weights;
    row->window_bytes = MIN(free_mib, MAX(1, share)) * MIB;
}

static uint64_t weights_from(const GArray *rows, unsigned first)
{
    const TopoHost *lender =
        g_array_index(rows, CluLendPlan, first).lend->device->host;
    uint64_t weights = 0;

    for (unsigned i = 0; i < rows->len; i++) {
        const CluLendPlan *row = &g_array_index(rows, CluLendPlan, i);
        bool is_borrowed =
            row->covers_ram || !row->lend->window_auto || i < first;

        if (row->lend->device->host == lender && !is_borrowed) {
            weights += row->weight;
        }
    }
    return weights;
}

static void take_windows(GArray *rows)
{
    for (unsigned i = 0; i < rows->len; i++) {
        CluLendPlan *row = &g_array_index(rows, CluLendPlan, i);

        if (row->covers_ram) {
            uint64_t bytes = linear_bytes(row->lend->to);

            row->window_bytes = bytes <= row->space_bytes ? bytes : 0;
        } else if (!row->lend->window_auto) {
            take_given(rows, row);
        }
    }
    for (unsigned i = 0; i < rows->len; i++) {
        CluLendPlan *row = &g_array_index(rows, CluLendPlan, i);

        if (!row->covers_ram && row->lend->window_auto) {
            take_share(rows, row, weights_from(rows, i));
        }
    }
}

GArray *clu_lend_plan_new(const CluPlan *plan)
{
    const GPtrArray *lends = plan->description->lends;
    GArray *rows = g_array_new(FALSE, TRUE, sizeof(CluLendPlan));

    for (unsigned i = 0; i < lends->len; i++) {
        const TopoLend *lend = lends->pdata[i];
        const CluPlanDevice *device = lent_device(plan, lend);
        CluLendPlan row = {
            .lend = lend,
            .adapter = adapter_of(plan, lend->device->host, lend->to),
            .covers_ram = !lend->to->iommu,
        };

        if (device && row.adapter && !lend->vm) {
            row.space_bytes = space_of(row.adapter);
            row.weight = weight_of(device);
            g_array_append_val(rows, row);
        }
    }
    take_windows(rows);
    return rows;
}

char *clu_lend_plan_note(const CluLendPlan *row)
{
    g_autofree char *share = g_strdup_printf(
        "a fair share: %u of %" G_GUINT64_FORMAT ", at most the borrower's RAM",
        row->weight, row->weights);

    return g_strdup_printf("%s to %s (%s)", row->lend->device->path,
                           row->lend->to->name,
                           !row->window_bytes ? "it does not fit"
                           : row->covers_ram  ? "IOMMU off: all of the memory"
                           : row->weights     ? share
                                              : "set by hand");
}
