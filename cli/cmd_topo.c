/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>

#include "cmd_load.h"
#include "exp_build.h"
#include "exp_dot.h"
#include "fab_enumerate.h"
#include "inv_tree.h"
#include "rep_graph.h"

typedef struct Options {
    char **sets;
    char *drawing;
    gboolean is_long;
    gboolean as_described;
    gboolean of_model;
} Options;

static void print_trees(const Options *options, const ExpFabric *fabric,
                        const TopoDescription *description)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (unsigned i = 0; i < description->hosts->len; i++) {
        const TopoHost *host = description->hosts->pdata[i];

        if (host->functions->len > 0 && !options->of_model) {
            if (description->hosts->len > 1) {
                g_string_append_printf(text, "%s\n", host->name);
            }
            inv_write_tree(host->functions, text);
            continue;
        }
        fab_write_tree(exp_host(fabric, host),
                       options->is_long ? FAB_TREE_LONG : FAB_TREE_SHORT, text);
    }
    topo_write_links(description, text);
    fputs(text->str, stdout);
}

static int run_verb(const CmdVerb *verb, int argc, char **argv)
{
    Options options = {0};
    const GOptionEntry entries[] = {
        {"verbose", 'v', 0, G_OPTION_ARG_NONE, &options.is_long,
         "Show the links, BARs and memory ranges of every function", NULL},
        {"draw", 'd', 0, G_OPTION_ARG_FILENAME, &options.drawing,
         "Draw the fabric to FILE (.svg, .png, .pdf or .dot)", "FILE"},
        {"described", 0, 0, G_OPTION_ARG_NONE, &options.as_described,
         "Draw the description, not the enumerated fabric", NULL},
        {"model", 0, 0, G_OPTION_ARG_NONE, &options.of_model,
         "Show the enumerated tree of imported hosts, too", NULL},
        CMD_LOAD_SET(&options.sets),
        G_OPTION_ENTRY_NULL,
    };
    g_autoptr(TopoDescription) description = NULL;
    g_autoptr(ExpFabric) fabric = NULL;
    g_autoptr(GString) dot = g_string_new(NULL);
    g_auto(CmdArgs) args = {.words = NULL};
    GError *error = NULL;
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    description =
        cmd_load_with("topo", args.words[0], options.sets, CMD_LOAD_ANY);
    if (!description) {
        return CMD_USAGE;
    }
    fabric = exp_build(description, &error);
    if (!fabric) {
        return cmd_complain("topo", error);
    }
    print_trees(&options, fabric, description);
    exp_dot(description, options.as_described ? NULL : fabric, dot);
    if (options.drawing &&
        !rep_graph_write(dot->str, options.drawing, &error)) {
        return cmd_complain("topo", error);
    }
    return CMD_OK;
}

const CmdVerb cmd_topo = {
    .name = "topo",
    .summary = "show the enumerated tree as text or as a drawing",
    .synopsis = "SCENARIO",
    .words = {1, 1},
    .run = run_verb};
