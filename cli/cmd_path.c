/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>

#include "cmd_load.h"
#include "exp_path.h"

/* Prints the flows of kind path at every point of the plan. */
static int print_flows(const char *file, const TopoDescription *plan)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(GString) text = g_string_new(NULL);
    GError *error = NULL;
    bool any, is_done;

    is_done = exp_path_append_flows(text, plan, errors, &any, &error);
    fputs(text->str, stdout);
    if (!is_done) {
        return cmd_fail("path", error);
    }
    if (topo_errors_count(errors) > 0) {
        g_autofree char *wrong = topo_errors_to_string(errors);

        fputs(wrong, stderr);
        return CMD_USAGE;
    }
    return any ? CMD_OK
               : cmd_usage("path",
                           "%s has no flow of kind path; give FROM and TO",
                           file);
}

static int print_between(const ExpPathWords *words,
                         const TopoDescription *description)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(ExpPath) path = NULL;
    ExpPathRequest request;
    GError *error = NULL;

    if (!exp_path_request_parse(description, words, &request, &error)) {
        return cmd_complain("path", error);
    }
    path = exp_path_new(description, &request, &error);
    if (!path) {
        return cmd_fail("path", error);
    }
    exp_path_append(text, path);
    fputs(text->str, stdout);
    return CMD_OK;
}

static int run_verb(const CmdVerb *verb, int argc, char **argv)
{
    ExpPathWords words = {0};
    char **sets = NULL;
    char *variant = NULL;
    const GOptionEntry entries[] = {
        {"read", 'r', 0, G_OPTION_ARG_NONE, &words.is_read,
         "FROM reads from TO; without it, FROM writes", NULL},
        {"via", 0, 0, G_OPTION_ARG_STRING, &words.via,
         "FROM writes to this memory, TO reads from it", "HOST.ram"},
        {"size", 0, 0, G_OPTION_ARG_STRING, &words.size,
         "Size of the data, up to 4096B (default: 4B)", "SIZE"},
        {"variant", 0, 0, G_OPTION_ARG_STRING, &variant,
         "Apply the changes of this variant of SCENARIO", "NAME"},
        CMD_LOAD_SET(&sets),
        G_OPTION_ENTRY_NULL,
    };
    g_autoptr(TopoDescription) description = NULL;
    g_auto(CmdArgs) args = {.words = NULL};
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    if (g_strv_length(args.words) == 2) {
        return cmd_usage("path", "FROM is given without TO");
    }
    description = cmd_load_variant("path", args.words[0], sets, variant);
    if (!description) {
        return CMD_USAGE;
    }
    if (!args.words[1]) {
        return print_flows(args.words[0], description);
    }
    words.from = args.words[1];
    words.to = args.words[2];
    return print_between(&words, description);
}

const CmdVerb cmd_path = {
    .name = "path",
    .summary = "show every element that a TLP crosses, with hops and times",
    .synopsis = "SCENARIO [FROM TO]",
    .words = {1, 3},
    .run = run_verb};
