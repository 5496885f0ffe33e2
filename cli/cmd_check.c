/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>

#include "cmd_load.h"
#include "stu_check.h"
#include "topo_schema.h"

static bool check_file(const char *file, const GPtrArray *changes)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(GString) notes = g_string_new(NULL);
    g_autofree char *size = stu_check(file, changes, notes, errors);

    if (!size) {
        cmd_print_errors("check", errors);
        return false;
    }
    printf("%s: %s: no errors\n%s", file, size, notes->str);
    return true;
}

static int run_verb(const CmdVerb *verb, int argc, char **argv)
{
    char **sets = NULL;
    gboolean keys = FALSE;
    const GOptionEntry entries[] = {
        CMD_LOAD_SET(&sets),
        {"keys", 0, 0, G_OPTION_ARG_NONE, &keys,
         "Print all keys of a description as tables instead", NULL},
        G_OPTION_ENTRY_NULL,
    };
    g_autoptr(GPtrArray) changes = NULL;
    g_auto(CmdArgs) args = {.words = NULL};
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    if (keys) {
        g_autoptr(GString) tables = g_string_new(NULL);

        topo_schema_write_markdown(tables);
        fputs(tables->str, stdout);
        return CMD_OK;
    }
    if (!args.words[0]) {
        return cmd_usage("check", "a scenario is missing");
    }
    changes = cmd_changes("check", sets);
    if (!changes) {
        return CMD_USAGE;
    }
    status = CMD_OK;
    for (char **file = args.words; *file; file++) {
        if (!check_file(*file, changes)) {
            status = CMD_USAGE;
        }
    }
    return status;
}

const CmdVerb cmd_check = {.name = "check",
                           .summary = "report all errors in descriptions",
                           .synopsis = "SCENARIO...",
                           .words = {0, CMD_ANY_NUMBER},
                           .run = run_verb};
