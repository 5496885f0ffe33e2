/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#include "rep_shard.h"
#include "table_file.h"

static const char details[] =
    "Joins the files that `farside run --shard I/N` has written, of one\n"
    "scenario, to the file that a run without --shard writes. Every byte is "
    "the\n"
    "same. The order of the files does not matter. `farside plot` draws the "
    "result.\n"
    "\n"
    "Exit status: 0 written, 1 the file could not be written, 2 bad usage or\n"
    "files that do not make a whole.";

int cmd_merge(int argc, char **argv)
{
    g_autofree char *output = NULL;
    const GOptionEntry entries[] = {
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &output, "Write to FILE",
         "FILE"},
        G_OPTION_ENTRY_NULL,
    };
    const CmdWords words = {"SHARD...", 1, CMD_ANY_NUMBER};
    g_auto(GStrv) files = NULL;
    g_autofree char *whole = NULL;
    GError *error = NULL;
    int status;

    if (!cmd_parse(argc, argv, entries, &words, details, &files, &status)) {
        return status;
    }
    if (!output) {
        return cmd_usage("merge", "give the file to write: -o FILE");
    }
    whole = rep_shard_merge(files, &error);
    if (!whole) {
        cmd_complain("merge", error);
        return CMD_USAGE;
    }
    if (!table_file_write(output, whole, strlen(whole), &error)) {
        cmd_complain("merge", error);
        return CMD_DIFFERENT;
    }
    printf("%s: %zu bytes of %u shards\n", output, strlen(whole),
           g_strv_length(files));
    return CMD_OK;
}
