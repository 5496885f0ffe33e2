/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>

#include "cmd_load.h"
#include "exp_lend_plan.h"
#include "stu_lend.h"
#include "table_csv.h"

typedef struct Options {
    char **sets;
    char *csv;
    ExpLendPlanWords words;
} Options;

/* Plans for the scenario @file, or for the options alone. Adds the plans to
 * @table and prints them. Returns the exit status. */
static int plan(const Options *options, const char *file, Table *table)
{
    g_autoptr(TopoDescription) description =
        file ? cmd_load_with("plan", file, options->sets, CMD_LOAD_ANY) : NULL;
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GPtrArray) plans = NULL;
    GError *error = NULL;
    bool fit = false;

    if (file && !description) {
        return CMD_USAGE;
    }
    plans = file ? exp_lend_plans_new(description, &error)
                 : exp_lend_plans_parse(&options->words, &error);
    if (plans && plans->len == 0) {
        printf("%s lends nothing.\n", file);
    }
    if (plans && exp_lend_plans_append(text, plans, table, &fit, &error) &&
        description) {
        fit = stu_lend_append(text, description, table) && fit;
    }
    fputs(text->str, stdout);
    return error ? cmd_complain("plan", error) : fit ? CMD_OK : CMD_DIFFERENT;
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
    status = plan(&options, args.words[0], table);
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
