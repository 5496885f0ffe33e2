/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#include "cmd_load.h"
#include "exp_path.h"
#include "topo_plan.h"
#include "topo_units.h"

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
        cmd_complain("path", error);
        return CMD_DIFFERENT;
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

/* The options of the command line. */
typedef struct Options {
    char **sets;
    char *via;
    char *variant;
    char *size;
    gboolean is_read;
} Options;

static bool parse_target(const TopoDescription *description, const char *text,
                         TopoTarget *ret_target)
{
    GError *error = NULL;

    if (text && !topo_find_target(description, text, ret_target, &error)) {
        cmd_complain("path", error);
        return false;
    }
    return true;
}

static int print_between(const Options *options,
                         const TopoDescription *description, char **args)
{
    ExpPathRequest request = {
        .is_read = options->is_read,
    };
    GError *error = NULL;
    int64_t size = 4;
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(ExpPath) path = NULL;

    if (options->size &&
        !topo_units_parse(TOPO_UNIT_BYTES, options->size, &size, &error)) {
        return cmd_complain("path", error);
    }
    if (size < 1 || size > 4096) {
        return cmd_usage("path", "--size is from 1B to 4096B");
    }
    if (options->via && options->is_read) {
        return cmd_usage("path", "--via writes, then reads: leave --read out");
    }
    request.size_bytes = size;
    if (!parse_target(description, args[1], &request.from) ||
        !parse_target(description, args[2], &request.to) ||
        !parse_target(description, options->via, &request.via)) {
        return CMD_USAGE;
    }
    if (options->via && request.via.kind != TOPO_TARGET_RAM) {
        return cmd_usage("path", "--via takes HOST.ram");
    }
    path = exp_path_new(description, &request, &error);
    if (!path) {
        cmd_complain("path", error);
        return CMD_DIFFERENT;
    }
    exp_path_append(text, path);
    fputs(text->str, stdout);
    return CMD_OK;
}

static int run_verb(const CmdVerb *verb, int argc, char **argv)
{
    Options options = {0};
    const GOptionEntry entries[] = {
        {"read", 'r', 0, G_OPTION_ARG_NONE, &options.is_read,
         "FROM reads from TO; without it, FROM writes", NULL},
        {"via", 0, 0, G_OPTION_ARG_STRING, &options.via,
         "FROM writes to this memory, TO reads from it", "HOST.ram"},
        {"size", 0, 0, G_OPTION_ARG_STRING, &options.size,
         "Size of the data, up to 4096B (default: 4B)", "SIZE"},
        {"variant", 0, 0, G_OPTION_ARG_STRING, &options.variant,
         "Apply the changes of this variant of SCENARIO", "NAME"},
        CMD_LOAD_SET(&options.sets),
        G_OPTION_ENTRY_NULL,
    };
    g_autoptr(GPtrArray) changes = NULL;
    g_autoptr(TopoDescription) description = NULL;
    g_auto(CmdArgs) args = {.words = NULL};
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    if (g_strv_length(args.words) == 2) {
        return cmd_usage("path", "FROM is given without TO");
    }
    changes = cmd_changes("path", options.sets);
    if (!changes) {
        return CMD_USAGE;
    }
    description = cmd_load("path", args.words[0], changes, CMD_LOAD_ANY);
    if (description && options.variant) {
        GPtrArray *both =
            topo_plan_variant(description, options.variant, changes);

        if (!both) {
            fprintf(stderr, "farside path: there is no variant \"%s\"\n",
                    options.variant);
        }
        g_ptr_array_unref(changes);
        changes = both;
        g_clear_pointer(&description, topo_description_free);
        if (changes) {
            description =
                cmd_load("path", args.words[0], changes, CMD_LOAD_ANY);
        }
    }
    if (!description) {
        return CMD_USAGE;
    }
    return args.words[1] ? print_between(&options, description, args.words)
                         : print_flows(args.words[0], description);
}

const CmdVerb cmd_path = {
    .name = "path",
    .summary = "show every element that a TLP crosses, with hops and times",
    .synopsis = "SCENARIO [FROM TO]",
    .words = {1, 3},
    .run = run_verb};
