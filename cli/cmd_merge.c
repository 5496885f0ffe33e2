/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#include "rep_shard.h"
#include "table_file.h"

static int run_verb(const CmdVerb *verb, int argc, char **argv)
{
    char *output = NULL;
    const GOptionEntry entries[] = {
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &output, "Write to FILE",
         "FILE"},
        G_OPTION_ENTRY_NULL,
    };
    g_auto(CmdArgs) args = {.words = NULL};
    g_autofree char *whole = NULL;
    GError *error = NULL;
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    if (!output) {
        return cmd_usage("merge", "give the file to write: -o FILE");
    }
    whole = rep_shard_merge(args.words, &error);
    if (!whole) {
        return cmd_complain("merge", error);
    }
    if (!table_file_write(output, whole, strlen(whole), &error)) {
        return cmd_fail("merge", error);
    }
    printf("%s: %zu bytes of %u shards\n", output, strlen(whole),
           g_strv_length(args.words));
    return CMD_OK;
}

const CmdVerb cmd_merge = {
    .name = "merge",
    .summary = "join the results of runs that simulated a part each",
    .synopsis = "SHARD...",
    .words = {1, CMD_ANY_NUMBER},
    .run = run_verb};
