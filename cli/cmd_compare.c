/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>

#include "rep_compare_files.h"
#include "rep_tolerance.h"

typedef struct Options {
    RepCompareFiles how;
    char *key;
    char **tolerances;
} Options;

/* Prints the comparison. False and @error if there is none. */
static bool compare(Options *options, char *const *paths, bool *ret_different,
                    GError **error)
{
    g_auto(GStrv) keys =
        options->key ? g_strsplit(options->key, ",", -1) : NULL;
    g_autoptr(GPtrArray) tolerances =
        rep_tolerances_parse(options->tolerances, error);
    g_autoptr(GString) text = g_string_new(NULL);
    bool is_done;

    options->how.options.keys = (const char *const *)keys;
    options->how.options.tolerances = tolerances;
    is_done = tolerances && rep_compare_files(&options->how, paths[0], paths[1],
                                              text, ret_different, error);
    fputs(text->str, stdout);
    return is_done;
}

static int run_verb(const CmdVerb *verb, int argc, char **argv)
{
    Options options = {.how.n_worst = 10};
    const GOptionEntry entries[] = {
        {"key", 0, 0, G_OPTION_ARG_STRING, &options.key,
         "Columns that tell the rows apart", "COLUMN,..."},
        {"x", 0, 0, G_OPTION_ARG_STRING, &options.how.options.x,
         "Key column along a curve", "COLUMN"},
        {"tolerance", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.tolerances,
         "How far a number may be from the baseline; repeatable",
         "[COLUMN=]1%|+-0.02"},
        {"worst", 0, 0, G_OPTION_ARG_INT, &options.how.n_worst,
         "Show the N worst points of a file (default: 10)", "N"},
        {"plot", 0, 0, G_OPTION_ARG_FILENAME, &options.how.plot,
         "Draw NEW over BASELINE to PREFIX.svg and PREFIX.png, and the "
         "differences to PREFIX.delta.svg and .png",
         "PREFIX"},
        {"only-failures", 'f', 0, G_OPTION_ARG_NONE, &options.how.only_failures,
         "Print only files and points that differ, and the total", NULL},
        {"markdown", 'm', 0, G_OPTION_ARG_NONE, &options.how.markdown,
         "Print Markdown, for a comment on a pull request", NULL},
        {"one-sided", 0, 0, G_OPTION_ARG_NONE, &options.how.options.one_sided,
         "Accept any change in the good direction of a column", NULL},
        {"subset", 0, 0, G_OPTION_ARG_NONE, &options.how.options.subset,
         "Leave out points that NEW does not have", NULL},
        {"junit", 0, 0, G_OPTION_ARG_FILENAME, &options.how.junit,
         "Write a JUnit report with a test case for each curve", "FILE"},
        G_OPTION_ENTRY_NULL,
    };
    g_auto(CmdArgs) args = {.words = NULL};
    bool is_different;
    GError *error = NULL;
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    if (!compare(&options, args.words, &is_different, &error)) {
        return cmd_complain(argv[0], error);
    }
    return is_different ? CMD_DIFFERENT : CMD_OK;
}

const CmdVerb cmd_compare = {
    .name = "compare",
    .summary = "compare two result files, or two folders of them",
    .synopsis = "BASELINE NEW",
    .words = {2, 2},
    .run = run_verb};
