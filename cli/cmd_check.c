/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>

#include "img_files.h"
#include "cmd_load.h"
#include "exp_plan.h"
#include "exp_point.h"
#include "rep_fidelity.h"
#include "rep_result.h"
#include "table_csv.h"
#include "topo_home.h"
#include "topo_plan.h"
#include "topo_schema.h"

/* Checks which published values count as predicted. */
static void check_published(const TopoDescription *description,
                            TopoErrors *errors)
{
    const TopoPlot *plot = description->plot;
    g_autoptr(RepFidelity) fidelity = NULL;
    g_autoptr(Table) published = NULL;
    g_autoptr(GError) error = NULL;

    if (!plot || !plot->published) {
        return;
    }
    published = table_read(plot->published, &error);
    if (published) {
        fidelity = rep_fidelity_new(description, NULL, published, NULL, &error);
    }
    if (!fidelity) {
        topo_errors_add(errors, plot->place, "published: %s", error->message);
    }
}

/* Checks that the plot of all points can be drawn. */
static void check_plot(const TopoDescription *description, TopoErrors *errors)
{
    const TopoPlace file = {description->file, 0, 0};
    const ExpPlanOptions options = {0};
    g_autoptr(GError) error = NULL;
    g_autoptr(Table) outline = exp_plan_outline(description, &options, &error);

    if (outline) {
        rep_result_check_plot(description, outline, errors);
    } else if (topo_errors_count(errors) == 0) {
        topo_errors_add(errors, file, "%s", error->message);
    }
}

static void print_count(unsigned count, const char *noun)
{
    printf(", %u %s%s", count, noun, count == 1 ? "" : "s");
}

/* Does with every point of @file all that `run` does before it simulates. A
 * part with errors does not keep errors of others from being shown. */
static bool check_file(const char *file, const GPtrArray *changes)
{
    g_autofree char *path = topo_home_resolve(file);
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(TopoDescription) description =
        topo_load_partly(path, changes, errors);
    g_autoptr(GPtrArray) points = NULL;

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
        check_plot(description, errors);
        check_published(description, errors);
    }
    if (topo_errors_count(errors) > 0) {
        cmd_print_errors("check", errors);
        return false;
    }
    points = topo_plan_points(description, errors);
    printf("%s: \"%s\"", file, description->name);
    print_count(description->hosts->len, "host");
    print_count(description->links->len, "link");
    print_count(description->workload ? description->workload->flows->len : 0,
                "flow");
    print_count(points->len, "point");
    puts(": no errors");
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
