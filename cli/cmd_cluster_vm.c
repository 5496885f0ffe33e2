/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "clu_inner.h"
#include "cmd_cluster_common.h"

static int run(const CmdVerb *verb, int argc, char **argv)
{
    g_auto(CmdArgs) args = {.words = NULL};
    g_autoptr(Table) machines = NULL;
    GError *error = NULL;
    int status;

    if (!cmd_parse(verb, argc, argv, NULL, &args, &status)) {
        return status;
    }
    if (!clu_inner_check(args.words, &error)) {
        return cmd_complain(argv[0], error);
    }
    if (strcmp(args.words[0], "list") != 0) {
        status = clu_inner_order(args.cluster, args.words, &error);
        return cmd_cluster_finish(argv[0], status, error);
    }
    machines = clu_inner_list(args.cluster, &error);
    if (!machines) {
        return cmd_cluster_finish(argv[0], CMD_USAGE, error);
    }
    cmd_print_table(machines);
    return CMD_OK;
}

const CmdVerb cmd_cluster_vm = {
    .name = "vm",
    .summary = "start, stop, move and change machines inside hosts",
    .synopsis = "list | start|wait|shutdown|stop MACHINE | plug|unplug MACHINE "
                "ID | move MACHINE HOST",
    .words = {1, 3},
    .has_cluster = true,
    .run = run,
};
