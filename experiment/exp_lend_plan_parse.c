/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "exp_lend_plan.h"
#include "table_file.h"
#include "topo_units.h"

static bool parse_bytes(const char *option, const char *text,
                        uint64_t *ret_bytes, GError **error)
{
    int64_t value;

    if (!topo_units_parse(TOPO_UNIT_BYTES, text, &value, error)) {
        g_prefix_error(error, "%s: ", option);
        return false;
    }
    *ret_bytes = value;
    return true;
}

/* Parses "[COUNTx]SIZE,SIZE", the BARs of COUNT devices. */
static bool parse_bars(const char *text, FabPlanTarget *target, GError **error)
{
    const char *times = strchr(text, 'x');
    g_auto(GStrv) sizes = g_strsplit(times ? times + 1 : text, ",", -1);
    g_autofree char *count = times ? g_strndup(text, times - text) : NULL;
    int64_t number = 1;

    if (count && (!topo_units_parse(TOPO_UNIT_NONE, count, &number, NULL) ||
                  number < 1 || number > 65536)) {
        return topo_refuse_option(
            error,
            "--bars: \"%s\" is not a number of devices; write for "
            "example 2x64MiB,32GiB",
            count);
    }
    target->count = number;
    if (g_strv_length(sizes) < 1 || g_strv_length(sizes) > FAB_BARS) {
        return topo_refuse_option(error, "--bars: a device has 1 to 6 BARs");
    }
    for (unsigned i = 0; sizes[i]; i++) {
        if (!parse_bytes("--bars", sizes[i], &target->bar_bytes[i], error)) {
            return false;
        }
    }
    return true;
}

static void add_window(ExpLendPlan *plan, const ExpLendPlanWords *words,
                       uint64_t bytes, uint64_t ram, unsigned borrower)
{
    FabPlanWindow window = {
        .bytes = bytes,
        .ram_bytes = ram,
        .covers_ram = words->iommu_off,
        .borrower = borrower,
    };

    exp_lend_plan_add_window(plan, &window,
                             g_strdup_printf(words->iommu_off
                                                 ? "borrower %u, IOMMU off"
                                                 : "device %u",
                                             plan->windows->len + 1));
}

/* Adds the DMA windows of --dma and --devices. With --iommu-off adds one window
 * for each borrower, which all its devices share. */
static bool parse_windows(const ExpLendPlanWords *words, ExpLendPlan *plan,
                          GError **error)
{
    uint64_t ram = 0, bytes;

    if (words->ram && !parse_bytes("--ram", words->ram, &ram, error)) {
        return false;
    }
    if (words->iommu_off) {
        if (!ram || words->dma || words->devices) {
            return topo_refuse_option(
                error, "--iommu-off takes --ram, and neither --dma nor "
                       "--devices: windows cover the RAM of each borrower");
        }
        for (int i = 0; i < words->borrowers; i++) {
            add_window(plan, words, 0, ram, i);
        }
        return true;
    }
    for (unsigned i = 0; words->dma && words->dma[i]; i++) {
        if (!parse_bytes("--dma", words->dma[i], &bytes, error)) {
            return false;
        }
        if (!bytes) {
            return topo_refuse_option(
                error, "--dma: a window has at least 1B; --devices "
                       "counts those of automatic size");
        }
        add_window(plan, words, bytes, ram, 0);
    }
    for (int i = 0; i < words->devices; i++) {
        add_window(plan, words, 0, ram, 0);
    }
    return true;
}

static bool check_count(const char *option, int value, int least,
                        GError **error)
{
    if (value < least || value > 65536) {
        return topo_refuse_option(error, "%s is from %d to 65536", option,
                                  least);
    }
    return true;
}

static bool parse(ExpLendPlan *plan, const ExpLendPlanWords *words,
                  GError **error)
{
    FabPlanParams *params = &plan->params;

    if (!words->window) {
        return topo_refuse_option(
            error, "name a scenario, or give the size of a window with "
                   "--window");
    }
    if (!check_count("--entries", words->entries, 1, error) ||
        !check_count("--reserved", words->reserved, 0, error) ||
        !check_count("--nodes", words->nodes, 1, error) ||
        !check_count("--borrowers", words->borrowers, 0, error) ||
        !check_count("--devices", words->devices, 0, error) ||
        !parse_bytes("--window", words->window, &params->window_bytes, error)) {
        return false;
    }
    params->entries = words->entries;
    params->reserved = words->reserved;
    params->nodes = words->nodes;
    params->borrowers = words->borrowers;
    for (unsigned i = 0; words->bars && words->bars[i]; i++) {
        FabPlanTarget target = {.count = 0};

        if (!parse_bars(words->bars[i], &target, error)) {
            return false;
        }
        exp_lend_plan_add_target(plan, &target, g_strdup(words->bars[i]));
    }
    return parse_windows(words, plan, error);
}

GPtrArray *exp_lend_plans_parse(const ExpLendPlanWords *words, GError **error)
{
    g_autoptr(GPtrArray) plans =
        g_ptr_array_new_with_free_func((GDestroyNotify)exp_lend_plan_free);

    g_ptr_array_add(plans, exp_lend_plan_new(""));
    return parse(plans->pdata[0], words, error) ? g_steal_pointer(&plans)
                                                : NULL;
}
