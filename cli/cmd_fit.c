/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>

#include "cmd_load.h"
#include "exp_fit.h"
#include "table_file.h"
#include "topo_home.h"

#define THREADS_MOST 1024
#define STARTS_MOST  1000

/* The options of the command line. */
typedef struct Options {
    char **params;
    char **rows;
    char **sets;
    int starts, threads;
    gboolean all;
} Options;

/* Returns the parameters of the command line; NULL after an error. */
static GPtrArray *parse_params(char **texts, GError **error)
{
    g_autoptr(GPtrArray) params =
        g_ptr_array_new_with_free_func(exp_fit_param_free);

    for (; texts && *texts; texts++) {
        ExpFitParam *param = exp_fit_param_parse(*texts, error);

        if (!param) {
            return NULL;
        }
        g_ptr_array_add(params, param);
    }
    return g_steal_pointer(&params);
}

static int fit_files(const Options *options, char **files)
{
    GError *error = NULL;
    g_autoptr(GPtrArray) changes = cmd_changes("fit", options->sets);
    g_autoptr(GPtrArray) params = parse_params(options->params, &error);
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(ExpFit) fit = NULL;

    if (!changes) {
        g_clear_error(&error);
        return CMD_USAGE;
    }
    if (!params) {
        return cmd_complain("fit", error);
    }
    for (char **file = files; *file; file++) {
        char *path = topo_home_resolve(*file);
        TopoDescription *description =
            cmd_load("fit", path, changes, CMD_LOAD_WORKLOAD);

        g_free(*file);
        *file = path;
        if (!description) {
            return CMD_USAGE;
        }
        topo_description_free(description);
    }
    fit = exp_fit_run(files,
                      &(ExpFitOptions){
                          .params = params,
                          .changes = changes,
                          .rows = (const char *const *)options->rows,
                          .starts = (unsigned)options->starts,
                          .threads = (unsigned)options->threads,
                      },
                      &error);
    if (!fit) {
        bool is_input = error->domain == TABLE_ERROR;

        cmd_complain("fit", error);
        return is_input ? CMD_USAGE : CMD_DIFFERENT;
    }
    exp_fit_append(text, fit, options->all);
    fputs(text->str, stdout);
    return CMD_OK;
}

static int run_verb(const CmdVerb *verb, int argc, char **argv)
{
    Options options = {.starts = 3, .threads = 1};
    const GOptionEntry entries[] = {
        {"param", 'p', 0, G_OPTION_ARG_STRING_ARRAY, &options.params,
         "A number to fit, and its bounds; repeatable", "PATH=LOW..HIGH"},
        {"rows", 'r', 0, G_OPTION_ARG_STRING_ARRAY, &options.rows,
         "Published values to fit to; repeatable", "COLUMN=TEXT;..."},
        {"starts", 0, 0, G_OPTION_ARG_INT, &options.starts,
         "Starting points (default: 3)", "N"},
        {"threads", 'j', 0, G_OPTION_ARG_INT, &options.threads,
         "Simulate in N threads (default: 1)", "N"},
        {"values", 0, 0, G_OPTION_ARG_NONE, &options.all,
         "Show the error of each value", NULL},
        CMD_LOAD_SET(&options.sets),
        G_OPTION_ENTRY_NULL,
    };
    g_auto(CmdArgs) args = {.words = NULL};
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    if (!options.params) {
        return cmd_usage("fit", "a --param is missing");
    }
    if (options.threads < 1 || options.threads > THREADS_MOST) {
        return cmd_usage("fit", "--threads %d: it is 1 to %d", options.threads,
                         THREADS_MOST);
    }
    if (options.starts < 1 || options.starts > STARTS_MOST) {
        return cmd_usage("fit", "--starts %d: it is 1 to %d", options.starts,
                         STARTS_MOST);
    }
    return fit_files(&options, args.words);
}

const CmdVerb cmd_fit = {.name = "fit",
                         .summary = "fit numbers of parts to published values",
                         .synopsis = "SCENARIO...",
                         .words = {1, CMD_ANY_NUMBER},
                         .run = run_verb};
