/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#include "cmd_load.h"
#include "exp_build.h"
#include "exp_functions.h"
#include "inv_export.h"
#include "table_file.h"

typedef struct Options {
    char **sets;
    char *host;
    char *format;
    char *output;
} Options;

static int export_host(const Options *options, const ExpFabric *fabric,
                       const TopoHost *host)
{
    g_autoptr(GPtrArray) functions = exp_functions_new(fabric, host);
    g_autoptr(GString) text = g_string_new(NULL);
    GError *error = NULL;

    if (strcmp(options->format, "hwloc") == 0) {
        inv_export_hwloc(functions, topo_part_bytes(host->cpu, "memory.size"),
                         text);
    } else {
        inv_export_nccl(host, functions, text);
    }
    if (!options->output) {
        fputs(text->str, stdout);
        return CMD_OK;
    }
    if (!table_file_write(options->output, text->str, text->len, &error)) {
        return cmd_complain("convert", error);
    }
    return CMD_OK;
}

static int run_verb(const CmdVerb *verb, int argc, char **argv)
{
    Options options = {0};
    const GOptionEntry entries[] = {
        {"to", 0, 0, G_OPTION_ARG_STRING, &options.format,
         "Format: nccl or hwloc", "FORMAT"},
        {"host", 0, 0, G_OPTION_ARG_STRING, &options.host,
         "Export this host; not needed if there is only one", "NAME"},
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output,
         "Write to this file", "FILE"},
        CMD_LOAD_SET(&options.sets),
        G_OPTION_ENTRY_NULL,
    };
    g_autoptr(TopoDescription) description = NULL;
    g_autoptr(ExpFabric) fabric = NULL;
    g_auto(CmdArgs) args = {.words = NULL};
    const TopoHost *host;
    GError *error = NULL;
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    if (!options.format || (strcmp(options.format, "nccl") != 0 &&
                            strcmp(options.format, "hwloc") != 0)) {
        return cmd_usage("convert", "give --to nccl or --to hwloc");
    }
    description =
        cmd_load_with("convert", args.words[0], options.sets, CMD_LOAD_ANY);
    if (!description) {
        return CMD_USAGE;
    }
    host = topo_choose_host(description, options.host, &error);
    fabric = host ? exp_fabric_new(description, &error) : NULL;
    if (!fabric) {
        return cmd_complain("convert", error);
    }
    return export_host(&options, fabric, host);
}

const CmdVerb cmd_convert = {.name = "convert",
                             .summary =
                                 "write a host's topology for NCCL or hwloc",
                             .synopsis = "SCENARIO",
                             .words = {1, 1},
                             .run = run_verb};
