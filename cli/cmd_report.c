/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#include "rep_markdown.h"
#include "rep_page.h"
#include "table_file.h"

typedef struct Options {
    char *page;
    char *fidelity;
    char *statements;
    char *title;
    char **scenarios;
} Options;

static bool write_text(const char *path, const char *text, GError **error)
{
    if (!text || !table_file_write(path, text, strlen(text), error)) {
        return false;
    }
    printf("%s: %zu bytes\n", path, strlen(text));
    return true;
}

static int make(const Options *options, const char *dir)
{
    GError *error = NULL;
    g_autoptr(RepReport) report =
        rep_report_read(dir, options->scenarios, &error);

    if (!report) {
        return cmd_complain("report", error);
    }
    if (options->page) {
        g_autofree char *page = rep_page(
            report, options->title ? options->title : "Farside: experiments",
            &error);

        if (!write_text(options->page, page, &error)) {
            return cmd_fail("report", error);
        }
    }
    if (options->fidelity) {
        g_autofree char *text =
            rep_report_to_markdown(report, options->statements, &error);

        if (!write_text(options->fidelity, text, &error)) {
            return cmd_fail("report", error);
        }
    }
    return CMD_OK;
}

static int run_verb(const CmdVerb *verb, int argc, char **argv)
{
    Options options = {0};
    const GOptionEntry entries[] = {
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options.page,
         "Write the page to FILE (HTML)", "FILE"},
        {"fidelity", 'f', 0, G_OPTION_ARG_FILENAME, &options.fidelity,
         "Write the errors of every point, and all parts, to FILE (markdown)",
         "FILE"},
        {"statements", 0, 0, G_OPTION_ARG_FILENAME, &options.statements,
         "Compare the sentences of FILE (CSV) with the results, for --fidelity",
         "FILE"},
        {"scenario", 's', 0, G_OPTION_ARG_FILENAME_ARRAY, &options.scenarios,
         "Only results of this scenario; repeatable", "FILE"},
        {"title", 't', 0, G_OPTION_ARG_STRING, &options.title,
         "Heading of the page", "TEXT"},
        G_OPTION_ENTRY_NULL,
    };
    g_auto(CmdArgs) args = {.words = NULL};
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    if (!options.page && !options.fidelity) {
        return cmd_usage("report", "there is nothing to write; give "
                                   "-o FILE.html or --fidelity FILE.md");
    }
    return make(&options, args.words[0]);
}

const CmdVerb cmd_report = {
    .name = "report",
    .summary = "make a page of results, or the list of fidelity",
    .synopsis = "DIR",
    .words = {1, 1},
    .run = run_verb};
