/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#include "rep_export.h"
#include "table_file.h"

static int run_verb(const CmdVerb *verb, int argc, char **argv)
{
    g_autofree char *format = NULL, *output = NULL, *text = NULL;
    const GOptionEntry entries[] = {
        {"format", 'f', 0, G_OPTION_ARG_STRING, &format,
         "Write this format: " REP_EXPORT_FORMATS, "FORMAT"},
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &output,
         "Write to FILE, not to standard output", "FILE"},
        G_OPTION_ENTRY_NULL,
    };
    g_auto(CmdArgs) args = {.words = NULL};
    GError *error = NULL;
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    if (!format) {
        return cmd_usage("export", "give a --format: " REP_EXPORT_FORMATS);
    }
    text = rep_export(format, args.words, &error);
    if (!text) {
        return cmd_complain("export", error);
    }
    if (!output) {
        fputs(text, stdout);
        return CMD_OK;
    }
    if (!table_file_write(output, text, strlen(text), &error)) {
        return cmd_fail("export", error);
    }
    return CMD_OK;
}

const CmdVerb cmd_export = {.name = "export",
                            .summary =
                                "write results in the format of another tool",
                            .synopsis = "RESULT...",
                            .words = {1, CMD_ANY_NUMBER},
                            .run = run_verb};
