/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>

#include "rep_compare_files.h"
#include "rep_tolerance.h"
#include "table_file.h"

static const char details[] =
    "BASELINE and NEW are two CSV files, or two folders. For folders, all CSV\n"
    "files of the same name are compared. Rows are joined by their key. Every\n"
    "other cell is a point. A point that only one side has is a difference.\n"
    "Explanations and traces in NEW are left out unless BASELINE has them,\n"
    "too.\n"
    "\n"
    "The key is a list of columns. --key gives it, or a line \"# key:\n"
    "COLUMN,COLUMN\" in the head of BASELINE. Otherwise it is all columns\n"
    "before the first decimal one; in a file without decimals it is the\n"
    "leading text columns. While two rows of BASELINE have the same key, the\n"
    "next column is added, up to the last but one. Columns that BASELINE does\n"
    "not have are ignored.\n"
    "\n"
    "A tolerance is a part of BASELINE's value (1%) or an amount (+-0.02),\n"
    "for one column (COLUMN=1%) or for all. If a column has several, one must\n"
    "be met. Tolerances for one column go before those for all, and the\n"
    "command line goes before lines \"# tolerance: COLUMN 1%\" in the head of\n"
    "BASELINE. Without a tolerance numbers must be equal. Texts must always\n"
    "be equal.\n"
    "\n"
    "With --one-sided a number may be better than BASELINE's by any amount.\n"
    "Lines \"# better: COLUMN higher\" (or lower) in the heads say what is\n"
    "better; the key `better` of a column in a scenario makes them.\n"
    "\n"
    "A curve is a set of points that differ only in the x column. That is the\n"
    "last key column of numbers, or else the first key column. Errors are in\n"
    "percent of BASELINE: the mean of their magnitudes, the bias (their mean\n"
    "with signs) and the largest one.\n"
    "\n"
    "Exit status: 0 all points are within tolerance, 1 there are differences,\n"
    "2 bad usage or input.";

typedef struct Options {
    char *key;
    char *x;
    char **tolerance_texts;
    char *plot;
    char *junit;
    int n_worst;
    gboolean only_failures;
    gboolean markdown;
    gboolean one_sided;
    gboolean subset;
} Options;

/* Prints the comparison. False and @error if there is none. */
static bool compare(const Options *options, char *const *paths,
                    bool *ret_different, GError **error)
{
    g_auto(GStrv) keys =
        options->key ? g_strsplit(options->key, ",", -1) : NULL;
    g_autoptr(GPtrArray) tolerances =
        g_ptr_array_new_with_free_func((GDestroyNotify)rep_tolerance_free);
    const RepCompareFiles how = {.options = {.keys = (const char *const *)keys,
                                             .x = options->x,
                                             .tolerances = tolerances,
                                             .one_sided = options->one_sided,
                                             .subset = options->subset},
                                 .plot = options->plot,
                                 .junit = options->junit,
                                 .n_worst = (unsigned)options->n_worst,
                                 .only_failures = options->only_failures,
                                 .markdown = options->markdown};
    g_autoptr(GString) text = g_string_new(NULL);
    bool is_done;

    for (char **word = options->tolerance_texts; word && *word; word++) {
        RepTolerance *tolerance = rep_tolerance_parse(*word, error);

        if (!tolerance) {
            return false;
        }
        g_ptr_array_add(tolerances, tolerance);
    }
    if (options->n_worst < 0) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "--worst %d: it is a number of points", options->n_worst);
        return false;
    }
    is_done =
        rep_compare_files(&how, paths[0], paths[1], text, ret_different, error);
    fputs(text->str, stdout);
    return is_done;
}

static int run_verb(const CmdVerb *verb, int argc, char **argv)
{
    Options options = {.n_worst = 10};
    const GOptionEntry entries[] = {
        {"key", 0, 0, G_OPTION_ARG_STRING, &options.key,
         "Columns that tell the rows apart", "COLUMN,..."},
        {"x", 0, 0, G_OPTION_ARG_STRING, &options.x, "Key column along a curve",
         "COLUMN"},
        {"tolerance", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.tolerance_texts,
         "How far a number may be from the baseline; repeatable",
         "[COLUMN=]1%|+-0.02"},
        {"worst", 0, 0, G_OPTION_ARG_INT, &options.n_worst,
         "Show the N worst points of a file (default: 10)", "N"},
        {"plot", 0, 0, G_OPTION_ARG_FILENAME, &options.plot,
         "Draw NEW over BASELINE to PREFIX.svg and PREFIX.png, and the "
         "differences to PREFIX.delta.svg and .png",
         "PREFIX"},
        {"only-failures", 'f', 0, G_OPTION_ARG_NONE, &options.only_failures,
         "Print only files and points that differ, and the total", NULL},
        {"markdown", 'm', 0, G_OPTION_ARG_NONE, &options.markdown,
         "Print Markdown, for a comment on a pull request", NULL},
        {"one-sided", 0, 0, G_OPTION_ARG_NONE, &options.one_sided,
         "Accept any change in the good direction of a column", NULL},
        {"subset", 0, 0, G_OPTION_ARG_NONE, &options.subset,
         "Leave out points that NEW does not have", NULL},
        {"junit", 0, 0, G_OPTION_ARG_FILENAME, &options.junit,
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
    .details = details,
    .run = run_verb};
