/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>

#include "img_files.h"
#include "cmd_load.h"
#include "exp_plan.h"
#include "rep_fidelity.h"
#include "rep_result.h"
#include "table_csv.h"
#include "topo_plan.h"
#include "topo_schema.h"

static const char details[] =
    "Does with every point of each SCENARIO what `run` does before it "
    "simulates:\n"
    "loads it, builds the fabric, makes loans and flows. Reports errors with "
    "file\n"
    "and line. A published value that a part was fitted on must not count as\n"
    "predicted. A host must have the memory that its guest's image needs, if\n"
    "that image is there.\n"
    "\n"
    "Exit status: 0 there are no errors, 2 there are some.";

/* Checks which published values count as predicted. */
static bool check_published(const TopoDescription *description, GError **error)
{
    const TopoPlot *plot = description->plot;
    g_autoptr(RepFidelity) fidelity = NULL;
    g_autoptr(Table) published = NULL;

    if (!plot || !plot->published) {
        return true;
    }
    published = table_read(plot->published, error);
    if (published) {
        fidelity = rep_fidelity_new(description, NULL, published, NULL, error);
    }
    return fidelity;
}

static void print_count(unsigned count, const char *noun)
{
    printf(", %u %s%s", count, noun, count == 1 ? "" : "s");
}

/* Does with every point of @file all that `run` does before it simulates. First
 * every point is loaded, so that all errors of a sweep are shown together. */
static bool check_file(const char *file, const GPtrArray *changes)
{
    g_autoptr(TopoDescription) description =
        cmd_load("check", file, changes, CMD_LOAD_ANY);
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(GPtrArray) points = NULL;
    const ExpPlanOptions options = {0};
    g_autoptr(Table) outline = NULL;
    GError *error = NULL;

    if (!description) {
        return false;
    }
    img_check_memory(description, errors);
    points = topo_plan_points(description, errors);
    for (unsigned i = 0; points && i < points->len; i++) {
        const TopoPoint *point = points->pdata[i];

        topo_description_free(
            topo_load_again(description, point->changes, errors));
    }
    if (topo_errors_count(errors) > 0) {
        cmd_print_errors("check", errors);
        return false;
    }
    outline = exp_plan_outline(description, &options, &error);
    if (!outline || !rep_result_check_plot(description, outline, &error) ||
        !exp_plan_check(description, &error) ||
        !check_published(description, &error)) {
        cmd_complain("check", error);
        return false;
    }
    printf("%s: \"%s\"", file, description->name);
    print_count(description->hosts->len, "host");
    print_count(description->links->len, "link");
    print_count(description->workload ? description->workload->flows->len : 0,
                "flow");
    print_count(points->len, "point");
    puts(": no errors");
    return true;
}

int cmd_check(int argc, char **argv)
{
    g_auto(GStrv) sets = NULL;
    gboolean keys = FALSE;
    const GOptionEntry entries[] = {
        CMD_LOAD_SET(&sets),
        {"keys", 0, 0, G_OPTION_ARG_NONE, &keys,
         "Print all keys of a description as tables instead", NULL},
        G_OPTION_ENTRY_NULL,
    };
    const CmdWords words = {"SCENARIO...", 0, CMD_ANY_NUMBER};
    g_autoptr(GPtrArray) changes = NULL;
    g_auto(GStrv) files = NULL;
    int status;

    if (!cmd_parse(argc, argv, entries, &words, details, &files, &status)) {
        return status;
    }
    if (keys) {
        g_autoptr(GString) tables = g_string_new(NULL);

        topo_schema_write_markdown(tables);
        fputs(tables->str, stdout);
        return CMD_OK;
    }
    if (!files[0]) {
        return cmd_usage("check", "a scenario is missing");
    }
    changes = cmd_changes("check", sets);
    if (!changes) {
        return CMD_USAGE;
    }
    status = CMD_OK;
    for (char **file = files; *file; file++) {
        if (!check_file(*file, changes)) {
            status = CMD_USAGE;
        }
    }
    return status;
}
