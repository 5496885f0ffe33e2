/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#include <gio/gio.h>

#include "exp_build.h"
#include "exp_fabric.h"
#include "cmd_load.h"
#include "fab_enumerate.h"
#include "table_file.h"

/* Draws @dot as @file by graphviz, in the format that its ending names. */
static bool draw(const GString *dot, const char *file, GError **error)
{
    const char *ending = strrchr(file, '.');
    g_autofree char *format = g_strdup_printf("-T%s", ending ? ending + 1 : "");
    g_autoptr(GSubprocess) process = NULL;
    g_autoptr(GBytes) input = g_bytes_new(dot->str, dot->len);
    g_autoptr(GBytes) output = NULL, complaint = NULL;

    if (!ending ||
        !(strcmp(ending, ".svg") == 0 || strcmp(ending, ".png") == 0 ||
          strcmp(ending, ".pdf") == 0 || strcmp(ending, ".dot") == 0)) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "%s: a drawing ends in .svg, .png, .pdf or .dot", file);
        return false;
    }
    if (strcmp(ending, ".dot") == 0) {
        return table_file_write(file, dot->str, dot->len, error);
    }
    process = g_subprocess_new(G_SUBPROCESS_FLAGS_STDIN_PIPE |
                                   G_SUBPROCESS_FLAGS_STDOUT_PIPE |
                                   G_SUBPROCESS_FLAGS_STDERR_PIPE,
                               error, "dot", format, NULL);
    if (!process) {
        g_prefix_error(error, "drawing takes graphviz (package graphviz): ");
        return false;
    }
    if (!g_subprocess_communicate(process, input, NULL, &output, &complaint,
                                  error)) {
        return false;
    }
    if (!g_subprocess_get_successful(process)) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_PROGRAM, "dot failed: %.*s",
                    (int)g_bytes_get_size(complaint),
                    (const char *)g_bytes_get_data(complaint, NULL));
        return false;
    }
    return table_file_write(file, g_bytes_get_data(output, NULL),
                            g_bytes_get_size(output), error);
}

static void print_trees(const ExpFabric *bld,
                        const TopoDescription *description, bool is_long)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (unsigned i = 0; i < description->hosts->len; i++) {
        const TopoHost *host = description->hosts->pdata[i];

        fab_write_tree(exp_host(bld, host),
                       is_long ? FAB_TREE_LONG : FAB_TREE_SHORT, text);
    }
    for (unsigned i = 0; i < description->links->len; i++) {
        const TopoLink *link = description->links->pdata[i];

        g_string_append_printf(text, "cable %s: %s - %s, %u.%uGT/s x%u\n",
                               link->name, link->end[0]->path,
                               link->end[1]->path, link->speed_mtps / 1000,
                               link->speed_mtps % 1000 / 100, link->width);
    }
    fputs(text->str, stdout);
}

int cmd_topo(int argc, char **argv)
{
    g_auto(GStrv) sets = NULL;
    g_autofree char *drawing = NULL;
    gboolean is_long = FALSE, as_described = FALSE;
    const GOptionEntry entries[] = {
        {"verbose", 'v', 0, G_OPTION_ARG_NONE, &is_long,
         "Every function with its links, BARs and windows", NULL},
        {"draw", 'd', 0, G_OPTION_ARG_FILENAME, &drawing,
         "Draw the fabric to FILE (.svg, .png, .pdf or .dot)", "FILE"},
        {"described", 0, 0, G_OPTION_ARG_NONE, &as_described,
         "Draw it as it is described, before enumeration", NULL},
        CMD_LOAD_SET(&sets),
        G_OPTION_ENTRY_NULL,
    };
    const CmdWords words = {"SCENARIO", 1, 1};
    g_autoptr(GPtrArray) changes = NULL;
    g_autoptr(TopoDescription) description = NULL;
    g_autoptr(ExpFabric) bld = NULL;
    g_auto(GStrv) files = NULL;
    GError *error = NULL;
    int status;

    if (!cmd_parse_words(
            argc, argv, entries, &words,
            "Prints the tree of every host as enumeration has found "
            "it, like `lspci -tv`:\nbuses, devices and functions, and "
            "with -v addresses and windows.\n\nExit status: 0 done, 2 "
            "bad usage or description.",
            &files, &status)) {
        return status;
    }
    changes = cmd_changes("topo", sets);
    if (!changes) {
        return CMD_USAGE;
    }
    description = cmd_load("topo", files[0], changes, CMD_LOAD_ANY);
    if (!description) {
        return CMD_USAGE;
    }
    bld = exp_build(description, &error);
    if (!bld) {
        cmd_complain("topo", error);
        return CMD_USAGE;
    }
    print_trees(bld, description, is_long);
    if (drawing) {
        g_autoptr(GString) dot = g_string_new(NULL);

        if (as_described) {
            topo_dot(description, dot);
        } else {
            fab_write_dot(exp_fabric(bld), dot);
        }
        if (!draw(dot, drawing, &error)) {
            cmd_complain("topo", error);
            return CMD_USAGE;
        }
    }
    return CMD_OK;
}
