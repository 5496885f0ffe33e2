/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#include "inv_import.h"
#include "table_file.h"
#include "topo_file.h"

typedef struct Options {
    char *host;
    char *output;
} Options;

/* Returns whether @text is a name of a description. */
static bool is_name(const char *text)
{
    if (!g_ascii_isalnum(*text)) {
        return false;
    }
    while (g_ascii_isalnum(*text) || *text == '_' || *text == '-') {
        text++;
    }
    return *text == '\0';
}

static void print_report(const char *report)
{
    g_auto(GStrv) lines = g_strsplit(report, "\n", -1);

    for (unsigned i = 0; lines[i]; i++) {
        fprintf(stderr, "farside import: %s\n", lines[i]);
    }
}

static int run_verb(const CmdVerb *verb, int argc, char **argv)
{
    Options options = {0};
    const GOptionEntry entries[] = {
        {"host", 0, 0, G_OPTION_ARG_STRING, &options.host,
         "Name of the host (default: host)", "NAME"},
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output,
         "Write the description to this file", "FILE"},
        G_OPTION_ENTRY_NULL,
    };
    const char *host;
    g_auto(CmdArgs) args = {.words = NULL};
    g_autofree char *text = NULL;
    g_autofree char *yaml = NULL;
    g_autofree char *report = NULL;
    GError *error = NULL;
    size_t length;
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    host = options.host ? options.host : "host";
    if (!is_name(host)) {
        return cmd_usage("import",
                         "'%s' is no name; use letters, digits, _ and -", host);
    }
    text = topo_file_text(args.words[0], &length, &error);
    if (!text) {
        return cmd_complain("import", error);
    }
    yaml = inv_import(args.words[0], text, length, host, NULL, &report, &error);
    if (!yaml || (options.output && !table_file_write(options.output, yaml,
                                                      strlen(yaml), &error))) {
        return cmd_complain("import", error);
    }
    if (!options.output) {
        fputs(yaml, stdout);
    }
    print_report(report);
    return CMD_OK;
}

const CmdVerb cmd_import = {
    .name = "import",
    .summary = "make a description from lspci, hwloc, NCCL or nvidia-smi",
    .synopsis = "DUMP",
    .words = {1, 1},
    .run = run_verb};
