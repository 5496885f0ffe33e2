/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>

#include "cmd_load.h"
#include "exp_fit.h"
#include "table_file.h"

/* The options of the command line. */
typedef struct Options {
    ExpFitOptions fit;
    char **params, **sets;
    gboolean all;
} Options;

static int fit_files(Options *options, char **files)
{
    GError *error = NULL;
    g_autoptr(GPtrArray) changes = cmd_changes("fit", options->sets);
    g_autoptr(GPtrArray) params = NULL;
    g_autoptr(GPtrArray) descriptions = NULL;
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(ExpFit) fit = NULL;

    if (!changes) {
        return CMD_USAGE;
    }
    params = exp_fit_params_parse(options->params, &error);
    if (!params) {
        return cmd_complain("fit", error);
    }
    descriptions = cmd_load_all("fit", files, changes);
    if (!descriptions) {
        return CMD_USAGE;
    }
    options->fit.params = params;
    options->fit.changes = changes;
    fit = exp_fit_run(files, &options->fit, &error);
    if (!fit) {
        bool is_input =
            error->domain == TABLE_ERROR || error->domain == TOPO_ERROR;

        cmd_complain("fit", error);
        return is_input ? CMD_USAGE : CMD_DIFFERENT;
    }
    exp_fit_append(text, fit, options->all);
    fputs(text->str, stdout);
    return CMD_OK;
}

static int run_verb(const CmdVerb *verb, int argc, char **argv)
{
    Options options = {.fit = {.starts = 3, .threads = 1}};
    const GOptionEntry entries[] = {
        {"param", 'p', 0, G_OPTION_ARG_STRING_ARRAY, &options.params,
         "A number to fit, and its bounds; repeatable", "PATH=LOW..HIGH"},
        {"rows", 'r', 0, G_OPTION_ARG_STRING_ARRAY, &options.fit.rows,
         "Published values to fit to; repeatable", "COLUMN=TEXT;..."},
        {"starts", 0, 0, G_OPTION_ARG_INT, &options.fit.starts,
         "Starting points (default: 3)", "N"},
        {"threads", 'j', 0, G_OPTION_ARG_INT, &options.fit.threads,
         "Simulate in N threads (default: 1)", "N"},
        {"values", 0, 0, G_OPTION_ARG_NONE, &options.all,
         "Show the error of each value", NULL},
        CMD_LOAD_SET(&options.sets),
        G_OPTION_ENTRY_NULL,
    };
    g_auto(CmdArgs) args = {.words = NULL};
    GError *error = NULL;
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    if (!options.params) {
        return cmd_usage("fit", "a --param is missing");
    }
    return exp_fit_check(&options.fit, &error) ? fit_files(&options, args.words)
                                               : cmd_complain("fit", error);
}

const CmdVerb cmd_fit = {.name = "fit",
                         .summary = "fit numbers of parts to published values",
                         .synopsis = "SCENARIO...",
                         .words = {1, CMD_ANY_NUMBER},
                         .run = run_verb};
