/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#include "clu_lend_plan.h"
#include "clu_plan.h"
#include "cmd_load.h"
#include "exp_lend_plan.h"
#include "fab_size.h"
#include "table_csv.h"
#include "table_file.h"

/* ---- Printing --------------------------------------------------------- */

/* Adds @plan to @table and prints it. Returns the exit status. */
static int plan_print(Table *table, const ExpLendPlan *plan)
{
    g_autoptr(GString) text = g_string_new(NULL);
    GError *error = NULL;
    bool fits;

    if (!exp_lend_plan_append(text, plan, table, &fits, &error)) {
        return cmd_complain("plan", error);
    }
    fputs(text->str, stdout);
    return fits ? CMD_OK : CMD_DIFFERENT;
}

/* Prints the DMA windows that the machines of @description give to its loans,
 * if it can be emulated, and adds them to @table. Returns the exit status. */
static int print_machines(const TopoDescription *description, Table *table)
{
    static const TableColumn columns[] = {
        {"adapter", TABLE_TEXT, 0},
        {"window", TABLE_TEXT, 0},
        {"DMA window", TABLE_TEXT, 0},
        {"note", TABLE_TEXT, 0},
    };
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(CluPlan) plan = clu_plan_new(description, errors);
    g_autoptr(GArray) rows = plan ? clu_lend_plan_new(plan) : NULL;
    g_autoptr(Table) shown = table_new();
    unsigned first = table_n_rows(table);
    int status = CMD_OK;

    if (!rows || rows->len == 0) {
        return CMD_OK;
    }
    table_add_columns(shown, columns, G_N_ELEMENTS(columns));
    for (unsigned i = 0; i < rows->len; i++) {
        const CluLendPlan *row = &g_array_index(rows, CluLendPlan, i);
        g_autofree char *space = fab_size_text(row->space_bytes);
        g_autofree char *window = fab_size_text(row->window_bytes);
        g_autofree char *note = clu_lend_plan_note(row);
        const char *adapter = row->adapter->device->path;

        table_add_row(table);
        table_set_text(table, first + i, EXP_LEND_PLAN_ADAPTER, adapter);
        table_set_text(table, first + i, EXP_LEND_PLAN_TERM,
                       "machine_dma_window");
        table_set_number(table, first + i, EXP_LEND_PLAN_BYTES,
                         MIN(row->window_bytes, G_MAXINT64));
        table_set_text(table, first + i, EXP_LEND_PLAN_NOTE, note);
        table_add_row(shown);
        table_set_text(shown, i, 0, adapter);
        table_set_text(shown, i, 1, space);
        table_set_text(shown, i, 2, window);
        table_set_text(shown, i, 3, note);
        status = row->window_bytes ? status : CMD_DIFFERENT;
    }
    puts("\nMachines (farside cluster up), if all devices are added before the "
         "first is borrowed:");
    cmd_print_table(shown);
    return status;
}

/* ---- Options ---------------------------------------------------------- */

typedef struct Options {
    char **sets;
    char *csv;
    ExpLendPlanWords words;
} Options;

/* ---- Running ---------------------------------------------------------- */

static int plan_options(const Options *options, Table *table)
{
    g_autoptr(ExpLendPlan) plan = exp_lend_plan_new("");
    GError *error = NULL;
    int status;

    if (!options->words.window) {
        return cmd_usage("plan", "name a scenario, or give the size of a "
                                 "window with --window");
    }
    if (exp_lend_plan_parse(plan, &options->words, &error)) {
        return plan_print(table, plan);
    }
    if (error->domain == TABLE_ERROR) {
        status = cmd_usage("plan", "%s", error->message);
        g_error_free(error);
        return status;
    }
    return cmd_complain("plan", error);
}

static int plan_scenario(const Options *options, const char *file, Table *table)
{
    g_autoptr(TopoDescription) description =
        cmd_load_with("plan", file, options->sets, CMD_LOAD_ANY);
    g_autoptr(GPtrArray) plans = NULL;
    g_autoptr(ExpFabric) fabric = NULL;
    GError *error = NULL;
    int status = CMD_OK, machines;

    if (!description) {
        return CMD_USAGE;
    }
    fabric = exp_fabric_new(description, &error);
    if (!fabric) {
        return cmd_complain("plan", error);
    }
    plans = exp_lend_plans(fabric, description);
    if (plans->len == 0) {
        printf("%s lends nothing.\n", file);
    }
    for (unsigned i = 0; i < plans->len; i++) {
        int one = plan_print(table, plans->pdata[i]);

        status = MAX(status, one);
        if (i + 1 < plans->len) {
            putchar('\n');
        }
    }
    machines = print_machines(description, table);
    return MAX(status, machines);
}

static int run_verb(const CmdVerb *verb, int argc, char **argv)
{
    Options options = {
        .words = {.entries = 128, .reserved = 12, .nodes = 2, .borrowers = 1}};
    const GOptionEntry entries[] = {
        {"window", 'w', 0, G_OPTION_ARG_STRING, &options.words.window,
         "Prefetchable size of the adapter", "SIZE"},
        {"entries", 'e', 0, G_OPTION_ARG_INT, &options.words.entries,
         "Mapping entries that it is divided into (default: 128)", "N"},
        {"reserved", 'r', 0, G_OPTION_ARG_INT, &options.words.reserved,
         "Entries reserved for each remote node (default: 12)", "N"},
        {"nodes", 'n', 0, G_OPTION_ARG_INT, &options.words.nodes,
         "Nodes of the cluster, this one included (default: 2)", "N"},
        {"borrowers", 'b', 0, G_OPTION_ARG_INT, &options.words.borrowers,
         "Borrowers; each takes an entry for MSI (default: 1)", "N"},
        {"bars", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.words.bars,
         "BARs of N mapped devices; repeatable", "[Nx]SIZE,..."},
        {"devices", 'd', 0, G_OPTION_ARG_INT, &options.words.devices,
         "Number of devices lent with an automatic DMA window", "N"},
        {"dma", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.words.dma,
         "DMA window of a lent device, set by hand; repeatable", "SIZE"},
        {"ram", 0, 0, G_OPTION_ARG_STRING, &options.words.ram,
         "RAM of a borrower; no window is larger", "SIZE"},
        {"iommu-off", 0, 0, G_OPTION_ARG_NONE, &options.words.iommu_off,
         "The borrowers' IOMMUs are off: windows cover their RAM", NULL},
        CMD_LOAD_SET(&options.sets),
        {"csv", 0, 0, G_OPTION_ARG_FILENAME, &options.csv,
         "Also write the table to FILE", "FILE"},
        G_OPTION_ENTRY_NULL,
    };
    g_autoptr(Table) table = exp_lend_plan_table_new();
    g_auto(CmdArgs) args = {.words = NULL};
    GError *error = NULL;
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    if (args.words[0] && options.words.window) {
        return cmd_usage("plan", "give a scenario or --window, not both");
    }
    status = args.words[0] ? plan_scenario(&options, args.words[0], table)
                           : plan_options(&options, table);
    if (status != CMD_USAGE && options.csv &&
        !table_write(table, options.csv, &error)) {
        return cmd_complain("plan", error);
    }
    return status;
}

const CmdVerb cmd_plan = {
    .name = "plan",
    .summary = "compute an NTB's mapping entries and DMA windows",
    .synopsis = "[SCENARIO]",
    .words = {0, 1},
    .run = run_verb};
