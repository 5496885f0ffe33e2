/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#include "rep_history.h"
#include "table_file.h"

static const char details[] =
    "HISTORY is a CSV file to which results of versions are appended. With\n"
    "--add, the results are appended as a version; their order in the file is\n"
    "that of the versions. Without it, a row is printed for each number that\n"
    "left the band around its oldest value, or that has a new level. The band\n"
    "is held against the oldest version, not the last one, so a slow drift is\n"
    "found. A new level begins where the means before and after differ by\n"
    "more than the band and three standard deviations.\n"
    "\n"
    "  farside history all.csv --add v1.2 results/*.csv\n"
    "  farside history all.csv --band 1% --plot trend\n"
    "\n"
    "Exit status: 0 nothing left the band for the worse, 1 something did, 2 "
    "bad\n"
    "usage or input. A number with no good direction counts as worse.";

typedef struct Options {
    char *version;
    char *time;
    char *band;
    char *plot;
    gboolean all;
} Options;

static int add(const Options *options, char **args)
{
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autofree char *time = g_date_time_format(now, "%Y-%m-%dT%H:%M:%SZ");
    GError *error = NULL;

    if (!args[1]) {
        return cmd_usage("history", "--add needs the results to add");
    }
    if (!rep_history_append(args[0], options->version,
                            options->time ? options->time : time, args + 1,
                            &error)) {
        return cmd_complain("history", error);
    }
    return CMD_OK;
}

static bool parse_band(const char *text, int64_t *ret_mpct)
{
    g_autofree char *number = g_strdup(text ? text : "1%");
    size_t length = strlen(number);
    unsigned digits;
    int64_t value;

    if (length > 0 && number[length - 1] == '%') {
        number[length - 1] = '\0';
    }
    if (!table_number_parse(number, &value, &digits) || value < 0 ||
        digits > 3 || !table_number_scale(&value, 3 - digits)) {
        return false;
    }
    *ret_mpct = value;
    return true;
}

static int show(const Options *options, const char *path)
{
    unsigned worse;
    g_autoptr(RepHistory) history = NULL;
    g_autoptr(GString) text = g_string_new(NULL);
    GError *error = NULL;
    int64_t band;

    if (!parse_band(options->band, &band)) {
        return cmd_usage("history", "--band takes a number such as 1%% or "
                                    "0.5%%");
    }
    history = rep_history_read(path, band, &error);
    if (!history) {
        return cmd_complain("history", error);
    }
    worse = rep_history_show(history, options->all, text);
    fputs(text->str, stdout);
    if (options->plot && !rep_history_plot(history, options->plot, &error)) {
        bool is_input = g_error_matches(error, TABLE_ERROR, TABLE_ERROR_VALUE);

        cmd_complain("history", error);
        return is_input ? CMD_USAGE : CMD_DIFFERENT;
    }
    return worse > 0 ? CMD_DIFFERENT : CMD_OK;
}

static int run_verb(const CmdVerb *verb, int argc, char **argv)
{
    Options options = {0};
    const GOptionEntry entries[] = {
        {"add", 'a', 0, G_OPTION_ARG_STRING, &options.version,
         "Append the results as this version", "VERSION"},
        {"time", 0, 0, G_OPTION_ARG_STRING, &options.time,
         "Time of the version (default: now)", "TEXT"},
        {"band", 'b', 0, G_OPTION_ARG_STRING, &options.band,
         "Largest change from the oldest version (default: 1%)", "PERCENT"},
        {"all", 0, 0, G_OPTION_ARG_NONE, &options.all, "Print all numbers",
         NULL},
        {"plot", 0, 0, G_OPTION_ARG_FILENAME, &options.plot,
         "Draw the trends to PREFIX.svg and PREFIX.png", "PREFIX"},
        G_OPTION_ENTRY_NULL,
    };
    g_auto(CmdArgs) args = {.words = NULL};
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    if (options.version) {
        return add(&options, args.words);
    }
    if (args.words[1]) {
        return cmd_usage("history", "results are given with --add VERSION");
    }
    return show(&options, args.words[0]);
}

const CmdVerb cmd_history = {.name = "history",
                             .summary =
                                 "keep results by version, and find drifts",
                             .synopsis = "HISTORY [RESULT...]",
                             .words = {1, CMD_ANY_NUMBER},
                             .details = details,
                             .run = run_verb};
