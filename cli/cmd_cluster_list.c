/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "clu_dir.h"
#include "cmd.h"
#include "cmd_cluster_common.h"

static int run(const CmdVerb *verb, int argc, char **argv)
{
    g_auto(CmdArgs) args = {.words = NULL};
    g_auto(GStrv) names = NULL;
    int status;

    if (!cmd_parse(verb, argc, argv, NULL, &args, &status)) {
        return status;
    }
    names = clu_dir_list();
    for (char **name = names; *name; name++) {
        g_autofree char *dir = clu_dir_find(*name);
        g_autofree char *file = clu_dir_description(dir);

        printf("%-20s %s\n", *name, file ? file : "");
    }
    return CMD_OK;
}

const CmdVerb cmd_cluster_list = {
    .name = "list",
    .summary = "name the clusters that run",
    .synopsis = "",
    .details =
        "Names the clusters that run, with the files of their descriptions." CMD_CLUSTER_EXIT_STATUS,
    .run = run,
};
