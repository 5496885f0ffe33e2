/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "clu_files.h"
#include "clu_reload.h"
#include "cmd_cluster_common.h"

static int run(const CmdVerb *verb, int argc, char **argv)
{
    static const char *const wait[] = {"wait", "60", NULL};
    char *only = NULL;
    const GOptionEntry options[] = {
        {"host", 'H', 0, G_OPTION_ARG_STRING, &only,
         "Only on these hosts, by their names; without it on all",
         "HOST[,HOST...]"},
        G_OPTION_ENTRY_NULL,
    };
    g_auto(CmdArgs) args = {.words = NULL};
    g_auto(GStrv) hosts = NULL;
    const char *host;
    GError *error = NULL;
    int status;

    if (!cmd_parse(verb, argc, argv, options, &args, &status)) {
        return status;
    }
    if (!clu_reload_check(args.words, &error)) {
        return cmd_complain(argv[0], error);
    }
    hosts =
        only ? g_strsplit(only, ",", 0) : clu_files_hosts(args.cluster, &error);
    if (!hosts) {
        return cmd_cluster_finish(argv[0], CMD_USAGE, error);
    }
    status = clu_reload(args.cluster, hosts, args.words, &host, &error);
    cmd_cluster_finish(argv[0], status, error);
    if (host) {
        fprintf(stderr, "farside %s: this was host %s\n", argv[0], host);
    }
    return status == 0
               ? cmd_cluster_ask(argv[0], &args, wait, &cmd_cluster_no_input)
               : status;
}

const CmdVerb cmd_cluster_reload = {
    .name = "reload",
    .summary = "load modules again",
    .synopsis = "FILE.ko|MODULE...",
    .words = {1, G_MAXUINT},
    .has_cluster = true,
    .run = run,
};
