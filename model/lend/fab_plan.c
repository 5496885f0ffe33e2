/* SPDX-License-Identifier: MIT */
#include "fab_plan.h"

#include "dl_window.h"
#include "fab_fabric.h"

/* The greatest number of entries in a sum. Larger sums are cut to this number,
 * which never fits. */
#define ENTRIES_MAX (UINT64_C(1) << 62)

const char *fab_plan_term_name(FabPlanTerm term)
{
    static const char *const names[] = {
        [FAB_PLAN_FITS] = "none",           [FAB_PLAN_RESERVED] = "reserved",
        [FAB_PLAN_MSI] = "prefetch_msi",    [FAB_PLAN_BARS] = "prefetch_BARs",
        [FAB_PLAN_WINDOWS] = "DMA windows",
    };

    return names[term];
}

static bool is_power(uint64_t value)
{
    return value && (value & (value - 1)) == 0;
}

static bool check_params(const FabPlanParams *params, GError **error)
{
    const char *wrong = NULL;

    if (!is_power(params->window_bytes)) {
        wrong = "the prefetchable size must be a power of two";
    } else if (!is_power(params->entries) ||
               params->entries > params->window_bytes) {
        wrong = "the number of mapping entries must be a power of two, and at "
                "most the prefetchable size";
    } else if (params->nodes < 1) {
        wrong = "a cluster must have at least one node";
    } else if (params->spared >
               (uint64_t)params->reserved * (params->nodes - 1)) {
        wrong = "no more entries can be spared than are reserved";
    }
    for (unsigned i = 0; !wrong && i < params->window_count; i++) {
        const FabPlanWindow *window = &params->windows[i];

        if (window->weight > DLEND_WEIGHT_MAX) {
            wrong = "the weight of a device must be at most 65536";
        } else if (window->covers_ram && !window->ram_bytes) {
            wrong = "a window that covers the borrower's RAM needs the size "
                    "of the RAM";
        }
    }
    if (wrong) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG, "%s", wrong);
    }
    return !wrong;
}

/* The state of the computation. */
typedef struct Sum {
    const FabPlanParams *params;
    FabPlan *plan;
    uint64_t left; /* entries that are still free */
} Sum;

static uint64_t entries_of(const Sum *sum, uint64_t bytes)
{
    uint64_t entry = sum->plan->entry_bytes;

    return bytes / entry + (bytes % entry != 0);
}

static uint64_t entries_add(uint64_t a, uint64_t b)
{
    return MIN(a + b, ENTRIES_MAX);
}

/* Takes @entries for @term. Returns their size in bytes. */
static uint64_t take(Sum *sum, FabPlanTerm term, uint64_t entries)
{
    FabPlan *plan = sum->plan;
    uint64_t most = UINT64_MAX / plan->entry_bytes;

    if (entries > sum->left) {
        if (!plan->broken) {
            plan->broken = term;
            plan->short_bytes =
                MIN(entries - sum->left, most) * plan->entry_bytes;
        }
        sum->left = 0;
    } else {
        sum->left -= entries;
    }
    return MIN(entries, most) * plan->entry_bytes;
}

static uint64_t bar_entries(const Sum *sum)
{
    uint64_t entries = 0;

    for (unsigned i = 0; i < sum->params->target_count; i++) {
        const FabPlanTarget *target = &sum->params->targets[i];
        uint64_t one = 0;

        for (unsigned j = 0; j < FAB_BARS; j++) {
            one = entries_add(one, entries_of(sum, target->bar_bytes[j]));
        }
        if (one > ENTRIES_MAX / MAX(target->count, 1)) {
            return ENTRIES_MAX;
        }
        entries = entries_add(entries, one * target->count);
    }
    return entries;
}

/* True if window @index covers its borrower's RAM and an earlier window covers
 * the same RAM. */
static bool is_shared(const FabPlanParams *params, unsigned index)
{
    const FabPlanWindow *window = &params->windows[index];

    for (unsigned i = 0; window->covers_ram && i < index; i++) {
        if (params->windows[i].covers_ram &&
            params->windows[i].borrower == window->borrower) {
            return true;
        }
    }
    return false;
}

static bool is_automatic(const FabPlanWindow *window)
{
    return !window->covers_ram && !window->bytes;
}

static uint32_t weight_of(const FabPlanWindow *window)
{
    return MAX(window->weight, 1);
}

/* Takes the entries of all windows. The windows of fixed size come first. Then
 * each automatic window takes its share of the rest, in the order in which the
 * devices are borrowed. */
static void take_windows(Sum *sum, uint64_t *ret_windows)
{
    const FabPlanParams *params = sum->params;
    uint64_t fixed = 0, weights = 0, shared = 0, left;
    uint32_t without = 0;

    for (unsigned i = 0; i < params->window_count; i++) {
        const FabPlanWindow *window = &params->windows[i];
        uint64_t entries = entries_of(
            sum, window->covers_ram ? window->ram_bytes : window->bytes);

        if (is_automatic(window)) {
            weights += weight_of(window);
            continue;
        }
        entries = is_shared(params, i) ? 0 : entries;
        ret_windows[i] = entries * sum->plan->entry_bytes;
        fixed = entries_add(fixed, entries);
    }
    left = fixed < sum->left ? sum->left - fixed : 0;
    for (unsigned i = 0; i < params->window_count; i++) {
        const FabPlanWindow *window = &params->windows[i];
        uint64_t entries;

        if (!is_automatic(window)) {
            continue;
        }
        entries = dlend_window_share(left, weight_of(window), weights,
                                     entries_of(sum, window->ram_bytes));
        without += entries == 0;
        weights -= weight_of(window);
        left -= entries;
        shared += entries;
        ret_windows[i] = entries * sum->plan->entry_bytes;
    }
    sum->plan->windows_bytes =
        take(sum, FAB_PLAN_WINDOWS, entries_add(fixed, shared));
    if (without && !sum->plan->broken) {
        /* Each automatic window needs at least one entry. */
        sum->plan->broken = FAB_PLAN_WINDOWS;
        sum->plan->short_bytes =
            (without - MIN(without, left)) * sum->plan->entry_bytes;
    }
}

bool fab_plan_compute(const FabPlanParams *params, FabPlan *ret_plan,
                      uint64_t *ret_windows, GError **error)
{
    FabPlan plan = {0};
    Sum sum = {.params = params, .plan = &plan, .left = params->entries};
    g_autofree uint64_t *windows = NULL;

    if (!check_params(params, error)) {
        return false;
    }
    windows = g_new0(uint64_t, params->window_count + 1);
    plan.entry_bytes = params->window_bytes / params->entries;
    plan.reserved_bytes =
        take(&sum, FAB_PLAN_RESERVED,
             (uint64_t)params->reserved * (params->nodes - 1) - params->spared);
    plan.ondemand_bytes = sum.left * plan.entry_bytes;
    plan.msi_bytes = take(&sum, FAB_PLAN_MSI, params->borrowers);
    plan.bars_bytes = take(&sum, FAB_PLAN_BARS, bar_entries(&sum));
    plan.free_bytes = sum.left * plan.entry_bytes;
    take_windows(&sum, windows);
    plan.left_bytes = sum.left * plan.entry_bytes;
    *ret_plan = plan;
    for (unsigned i = 0; ret_windows && i < params->window_count; i++) {
        ret_windows[i] = windows[i];
    }
    return true;
}
