/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>

#include "cmd_load.h"
#include "exp_plan.h"
#include "exp_point.h"
#include "img_files.h"
#include "rep_fidelity.h"
#include "rep_result.h"
#include "topo_home.h"
#include "topo_plan.h"
#include "topo_schema.h"

/* Does with every point of @file all that `run` does before it simulates. A
 * part with errors does not keep errors of others from being shown. */
static bool check_file(const char *file, const GPtrArray *changes)
{
    g_autofree char *path = topo_home_resolve(file);
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(TopoDescription) description =
        topo_load_partly(path, changes, errors);
    g_autoptr(Table) outline = NULL;
    g_autofree char *size = NULL;

    if (description && description->sound >= TOPO_SOUND_HARDWARE) {
        img_check_memory(description, errors);
    }
    if (description && description->workload) {
        exp_point_check_columns(description, errors);
    }
    if (description) {
        exp_plan_check(description, errors);
    }
    if (description && description->sound == TOPO_SOUND_ALL) {
        outline = exp_plan_outline_whole(description, errors);
        if (outline) {
            rep_result_check_plot(description, outline, errors);
        }
        rep_fidelity_check(description, errors);
    }
    if (topo_errors_count(errors) > 0) {
        cmd_print_errors("check", errors);
        return false;
    }
    size = topo_plan_size_text(description);
    printf("%s: \"%s\", %s: no errors\n", file, description->name, size);
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
