/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#include "exp_lend.h"
#include "cmd_load.h"
#include "table.h"
#include "table_csv.h"
#include "table_format.h"
#include "topo_units.h"

static const char details[] =
    "Does the sums of the SmartIO manual for the mapping entries of an NTB\n"
    "adapter: what is reserved for remote nodes, what MSI and BARs take, and what\n"
    "is left for DMA windows. With SCENARIO for each adapter that its `lend` and\n"
    "its flows between lent devices use; without one for an adapter given by\n"
    "options. The manual's own example is\n"
    "\n"
    "  farside plan --window 128GiB --entries 128 --reserved 12 --nodes 3 \\\n"
    "    --borrowers 2 --bars 2x64MiB,32GiB,32MiB --devices 2\n"
    "\n"
    "--bars names the BARs of one device that is mapped through the adapter (for\n"
    "P2P, or because this node borrows it), or of several equal ones.\n"
    "\n"
    "Exit status: 0 it fits, 1 it does not, 2 bad usage or description.";

/* ---- Printing --------------------------------------------------------- */

/* Rows of all plans. */
typedef struct Sheet {
    Table *table;
    const char *adapter;
    uint64_t entry_bytes;
} Sheet;

enum {
    ADAPTER,
    TERM,
    ENTRIES,
    BYTES,
    NOTE
};

static Table *sheet_table(void)
{
    Table *table = table_new();

    table_add_column(table, "adapter", TABLE_TEXT, 0);
    table_add_column(table, "term", TABLE_TEXT, 0);
    table_add_column(table, "entries", TABLE_INTEGER, 0);
    table_add_column(table, "bytes", TABLE_INTEGER, 0);
    table_add_column(table, "note", TABLE_TEXT, 0);
    return table;
}

static char *bytes_text(uint64_t bytes)
{
    return topo_units_format(TOPO_UNIT_BYTES, MIN(bytes, G_MAXINT64));
}

G_GNUC_PRINTF(4, 5)
static void sheet_add(const Sheet *sheet, const char *term, uint64_t bytes,
                      const char *format, ...)
{
    unsigned row = table_add_row(sheet->table);
    g_autofree char *note = NULL;
    va_list args;

    va_start(args, format);
    note = g_strdup_vprintf(format, args);
    va_end(args);
    table_set_text(sheet->table, row, ADAPTER, sheet->adapter);
    table_set_text(sheet->table, row, TERM, term);
    table_set_number(sheet->table, row, ENTRIES, bytes / sheet->entry_bytes);
    table_set_number(sheet->table, row, BYTES, MIN(bytes, G_MAXINT64));
    table_set_text(sheet->table, row, NOTE, note);
}

static char *window_note(const ExpPlan *plan, unsigned index, uint64_t bytes)
{
    const FabPlanWindow *window = &plan->params.windows[index];
    const char *name = plan->window_names->pdata[index];
    const char *how = "automatic: a fair share";

    if (window->covers_ram) {
        how = bytes ? "covers all of the memory" : "the same window";
    } else if (window->bytes) {
        how = "set by hand";
    }
    return g_strdup_printf("%s (%s)", name, how);
}

static char *target_note(const ExpPlan *plan)
{
    g_autoptr(GString) note = g_string_new(NULL);

    for (unsigned i = 0; i < plan->target_names->len; i++) {
        g_string_append_printf(note, "%s%s", i ? ", " : "",
                               (char *)plan->target_names->pdata[i]);
    }
    return g_string_free(g_steal_pointer(&note), FALSE);
}

static void sheet_fill(Sheet *sheet, const ExpPlan *plan, const FabPlan *sums,
                       const uint64_t *windows)
{
    const FabPlanParams *params = &plan->params;
    g_autofree char *targets = target_note(plan);

    sheet->adapter = plan->adapter;
    sheet->entry_bytes = sums->entry_bytes;
    sheet_add(sheet, "prefetch_total", params->window_bytes, "%s",
              "the prefetchable size");
    sheet_add(sheet, "mapping_entry_size", sums->entry_bytes, "1/%u of it",
              params->entries);
    sheet_add(sheet, "reserved", sums->reserved_bytes,
              "ntb_lut2_switch_max_entries = %u, %u remote node%s",
              params->reserved, params->nodes - 1,
              params->nodes == 2 ? "" : "s");
    sheet_add(sheet, "prefetch_ondemand", sums->ondemand_bytes, "%s", "");
    sheet_add(sheet, "prefetch_msi", sums->msi_bytes, "%u borrower%s",
              params->borrowers, params->borrowers == 1 ? "" : "s");
    sheet_add(sheet, "prefetch_BARs", sums->bars_bytes, "%s", targets);
    sheet_add(sheet, "prefetch_free", sums->free_bytes, "%s", "");
    for (unsigned i = 0; i < params->window_count; i++) {
        g_autofree char *note = window_note(plan, i, windows[i]);

        sheet_add(sheet, "dma_window_size", windows[i], "%s", note);
    }
    sheet_add(sheet, "left", sums->left_bytes, "%s", "");
}

/* The sheet for a terminal: of one adapter, with sizes that can be read. */
static void print_sheet(const Table *table, const char *adapter, unsigned first)
{
    g_autoptr(Table) shown = table_new();
    g_autofree char *text = NULL;

    table_add_column(shown, "term", TABLE_TEXT, 0);
    table_add_column(shown, "entries", TABLE_INTEGER, 0);
    table_add_column(shown, "size", TABLE_TEXT, 0);
    table_add_column(shown, "note", TABLE_TEXT, 0);
    for (unsigned i = first; i < table_n_rows(table); i++) {
        unsigned row = table_add_row(shown);
        g_autofree char *size = bytes_text(table_number(table, i, BYTES));

        table_set_text(shown, row, 0, table_text(table, i, TERM));
        table_set_number(shown, row, 1, table_number(table, i, ENTRIES));
        table_set_text(shown, row, 2, size);
        table_set_text(shown, row, 3, table_text(table, i, NOTE));
    }
    text = table_format(shown);
    printf("%s%s%s", adapter, *adapter ? "\n" : "", text);
}

/* Says what does not fit. */
static void print_verdict(const ExpPlan *plan, const FabPlan *sums)
{
    bool automatic = false;

    for (unsigned i = 0; i < plan->params.window_count; i++) {
        const FabPlanWindow *window = &plan->params.windows[i];

        automatic = automatic || (!window->bytes && !window->covers_ram);
    }
    if (sums->broken) {
        g_autofree char *lacking = bytes_text(sums->short_bytes);

        printf("It does not fit: for %s %s (%" G_GUINT64_FORMAT
               " entries) are missing.\n",
               fab_plan_term_name(sums->broken), lacking,
               sums->short_bytes / sums->entry_bytes);
    } else if (automatic && plan->has_p2p) {
        puts("Borrowing with an automatic size does not count P2P, which comes "
             "later: set the\nwindows by hand to at most what stands here.");
    }
}

/* Adds @plan to @sheet and prints it. Returns the exit status. */
static int plan_print(Sheet *sheet, const ExpPlan *plan)
{
    g_autofree uint64_t *windows =
        g_new0(uint64_t, plan->params.window_count + 1);
    unsigned first = table_n_rows(sheet->table);
    GError *error = NULL;
    FabPlan sums;

    if (!fab_plan_compute(&plan->params, &sums, windows, &error)) {
        cmd_complain("plan", error);
        return CMD_USAGE;
    }
    sheet_fill(sheet, plan, &sums, windows);
    print_sheet(sheet->table, plan->adapter, first);
    print_verdict(plan, &sums);
    return sums.broken ? CMD_DIFFERENT : CMD_OK;
}

/* ---- Options ---------------------------------------------------------- */

typedef struct Options {
    char **sets;
    char **bars;
    char **dma;
    char *window;
    char *ram;
    char *csv;
    int entries, reserved, nodes, borrowers, devices;
    gboolean iommu_off;
} Options;

static void options_done(Options *options)
{
    g_strfreev(options->sets);
    g_strfreev(options->bars);
    g_strfreev(options->dma);
    g_free(options->window);
    g_free(options->ram);
    g_free(options->csv);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_done)

static bool parse_bytes(const char *option, const char *text,
                        uint64_t *ret_bytes)
{
    GError *error = NULL;
    int64_t value;

    if (!topo_units_parse(TOPO_UNIT_BYTES, text, &value, &error)) {
        g_prefix_error(&error, "%s: ", option);
        cmd_complain("plan", error);
        return false;
    }
    *ret_bytes = value;
    return true;
}

/* Reads "[COUNTx]SIZE,SIZE": the BARs of COUNT devices. */
static bool parse_bars(const char *text, FabPlanTarget *target)
{
    const char *times = strchr(text, 'x');
    g_auto(GStrv) sizes = g_strsplit(times ? times + 1 : text, ",", -1);
    g_autofree char *count = times ? g_strndup(text, times - text) : NULL;
    int64_t number = 1;

    if (count && (!topo_units_parse(TOPO_UNIT_NONE, count, &number, NULL) ||
                  number < 1 || number > 65536)) {
        fprintf(stderr,
                "farside plan: --bars: \"%s\" is no number of devices; write "
                "for example 2x64MiB,32GiB\n",
                count);
        return false;
    }
    target->count = number;
    if (g_strv_length(sizes) < 1 || g_strv_length(sizes) > FAB_BARS) {
        fputs("farside plan: --bars: a device has 1 to 6 BARs\n", stderr);
        return false;
    }
    for (unsigned i = 0; sizes[i]; i++) {
        if (!parse_bytes("--bars", sizes[i], &target->bar_bytes[i])) {
            return false;
        }
    }
    return true;
}

static void add_window(ExpPlan *plan, const Options *options, uint64_t bytes,
                       uint64_t ram, unsigned borrower)
{
    FabPlanWindow window = {
        .bytes = bytes,
        .ram_bytes = ram,
        .covers_ram = options->iommu_off,
        .borrower = borrower,
    };

    g_array_append_val(plan->windows, window);
    g_ptr_array_add(plan->window_names,
                    g_strdup_printf(options->iommu_off
                                        ? "borrower %u, IOMMU off"
                                        : "device %u",
                                    plan->windows->len));
}

/* DMA windows of --dma and --devices; with --iommu-off one for each borrower,
 * whose devices share it. */
static bool parse_windows(const Options *options, ExpPlan *plan)
{
    uint64_t ram = 0, bytes;

    if (options->ram && !parse_bytes("--ram", options->ram, &ram)) {
        return false;
    }
    if (options->iommu_off) {
        if (!ram || options->dma || options->devices) {
            fputs("farside plan: --iommu-off takes --ram, and neither --dma "
                  "nor --devices: windows cover the RAM of each borrower\n",
                  stderr);
            return false;
        }
        for (int i = 0; i < options->borrowers; i++) {
            add_window(plan, options, 0, ram, i);
        }
        return true;
    }
    for (unsigned i = 0; options->dma && options->dma[i]; i++) {
        if (!parse_bytes("--dma", options->dma[i], &bytes)) {
            return false;
        }
        if (!bytes) {
            fputs("farside plan: --dma: a window has at least 1B; --devices "
                  "counts those of automatic size\n",
                  stderr);
            return false;
        }
        add_window(plan, options, bytes, ram, 0);
    }
    for (int i = 0; i < options->devices; i++) {
        add_window(plan, options, 0, ram, 0);
    }
    return true;
}

static bool check_count(const char *option, int value, int least)
{
    if (value < least || value > 65536) {
        fprintf(stderr, "farside plan: %s is from %d to 65536\n", option,
                least);
        return false;
    }
    return true;
}

static bool parse_plan(const Options *options, ExpPlan *plan)
{
    FabPlanParams *params = &plan->params;

    if (!check_count("--entries", options->entries, 1) ||
        !check_count("--reserved", options->reserved, 0) ||
        !check_count("--nodes", options->nodes, 1) ||
        !check_count("--borrowers", options->borrowers, 0) ||
        !check_count("--devices", options->devices, 0) ||
        !parse_bytes("--window", options->window, &params->window_bytes)) {
        return false;
    }
    params->entries = options->entries;
    params->reserved = options->reserved;
    params->nodes = options->nodes;
    params->borrowers = options->borrowers;
    for (unsigned i = 0; options->bars && options->bars[i]; i++) {
        FabPlanTarget target = {.count = 0};

        if (!parse_bars(options->bars[i], &target)) {
            return false;
        }
        g_array_append_val(plan->targets, target);
        g_ptr_array_add(plan->target_names, g_strdup(options->bars[i]));
    }
    if (!parse_windows(options, plan)) {
        return false;
    }
    params->targets = (const FabPlanTarget *)(void *)plan->targets->data;
    params->target_count = plan->targets->len;
    params->windows = (const FabPlanWindow *)(void *)plan->windows->data;
    params->window_count = plan->windows->len;
    return true;
}

/* ---- Running ---------------------------------------------------------- */

static int plan_options(const Options *options, Sheet *sheet)
{
    ExpPlan plan = {
        .adapter = (char *)"",
        .targets = g_array_new(FALSE, FALSE, sizeof(FabPlanTarget)),
        .target_names = g_ptr_array_new_with_free_func(g_free),
        .windows = g_array_new(FALSE, FALSE, sizeof(FabPlanWindow)),
        .window_names = g_ptr_array_new_with_free_func(g_free),
    };
    int status = CMD_USAGE;

    if (!options->window) {
        fputs("farside plan: name a scenario, or the size of a window with "
              "--window\nTry: farside plan --help\n",
              stderr);
    } else if (parse_plan(options, &plan)) {
        status = plan_print(sheet, &plan);
    }
    g_array_unref(plan.targets);
    g_array_unref(plan.windows);
    g_ptr_array_unref(plan.target_names);
    g_ptr_array_unref(plan.window_names);
    return status;
}

static int plan_scenario(const Options *options, const char *file, Sheet *sheet)
{
    g_autoptr(GPtrArray) changes = cmd_changes("plan", options->sets);
    g_autoptr(TopoDescription) description = NULL;
    g_autoptr(GPtrArray) plans = NULL;
    g_autoptr(ExpFabric) bld = NULL;
    GError *error = NULL;
    int status = CMD_OK;

    if (!changes) {
        return CMD_USAGE;
    }
    description = cmd_load("plan", file, changes, CMD_LOAD_ANY);
    if (!description) {
        return CMD_USAGE;
    }
    bld = exp_fabric_new_unlent(description, &error);
    if (!bld) {
        cmd_complain("plan", error);
        return CMD_USAGE;
    }
    plans = exp_lend_plans(bld, description);
    if (plans->len == 0) {
        printf("%s lends nothing.\n", file);
    }
    for (unsigned i = 0; i < plans->len; i++) {
        int one = plan_print(sheet, plans->pdata[i]);

        status = MAX(status, one);
        if (i + 1 < plans->len) {
            putchar('\n');
        }
    }
    return status;
}

int cmd_plan(int argc, char **argv)
{
    g_auto(Options)
        options = {.entries = 128, .reserved = 12, .nodes = 2, .borrowers = 1};
    const GOptionEntry entries[] = {
        {"window", 'w', 0, G_OPTION_ARG_STRING, &options.window,
         "The adapter's prefetchable size", "SIZE"},
        {"entries", 'e', 0, G_OPTION_ARG_INT, &options.entries,
         "Mapping entries it is divided into (default: 128)", "N"},
        {"reserved", 'r', 0, G_OPTION_ARG_INT, &options.reserved,
         "Entries reserved for each remote node (default: 12)", "N"},
        {"nodes", 'n', 0, G_OPTION_ARG_INT, &options.nodes,
         "Nodes of the cluster, this one included (default: 2)", "N"},
        {"borrowers", 'b', 0, G_OPTION_ARG_INT, &options.borrowers,
         "Borrowers, with an entry for MSI each (default: 1)", "N"},
        {"bars", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.bars,
         "BARs of a device that is mapped; may be repeated", "[Nx]SIZE,..."},
        {"devices", 'd', 0, G_OPTION_ARG_INT, &options.devices,
         "Devices lent with an automatic DMA window", "N"},
        {"dma", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.dma,
         "A device lent with a window by hand; may be repeated", "SIZE"},
        {"ram", 0, 0, G_OPTION_ARG_STRING, &options.ram,
         "RAM of a borrower, more than which no window needs", "SIZE"},
        {"iommu-off", 0, 0, G_OPTION_ARG_NONE, &options.iommu_off,
         "Borrowers' IOMMUs are off: windows cover their RAM", NULL},
        {"set", 's', 0, G_OPTION_ARG_STRING_ARRAY, &options.sets,
         "Change the description before it is checked", "PATH=VALUE"},
        {"csv", 0, 0, G_OPTION_ARG_FILENAME, &options.csv,
         "Write the table to FILE, too", "FILE"},
        G_OPTION_ENTRY_NULL,
    };
    g_autoptr(Table) table = sheet_table();
    Sheet sheet = {.table = table};
    g_auto(GStrv) args = NULL;
    GError *error = NULL;
    int status;

    if (!cmd_parse(argc, argv, entries, "[SCENARIO]", details, &args,
                   &status)) {
        return status;
    }
    if (g_strv_length(args) > 1 || (args[0] && options.window)) {
        fputs("farside plan: name one scenario, or --window and no scenario\n"
              "Try: farside plan --help\n",
              stderr);
        return CMD_USAGE;
    }
    status = args[0] ? plan_scenario(&options, args[0], &sheet)
                     : plan_options(&options, &sheet);
    if (status != CMD_USAGE && options.csv &&
        !table_write(table, options.csv, &error)) {
        cmd_complain("plan", error);
        return CMD_USAGE;
    }
    return status;
}
