/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "cmd_cluster_common.h"

/* The supervisor waits a second for monitors that do not answer. */
#define ANSWER_MS 5000

static int run(const CmdVerb *verb, int argc, char **argv)
{
    static const char *const words[] = {"status", NULL};
    gboolean is_json = FALSE;
    const GOptionEntry entries[] = {
        {"json", 0, 0, G_OPTION_ARG_NONE, &is_json, "Print it as JSON", NULL},
        G_OPTION_ENTRY_NULL,
    };
    g_auto(CmdArgs) args = {.words = NULL};
    g_autoptr(GString) text = g_string_new(NULL);
    CluClientMode mode = cmd_cluster_no_input;
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    mode.output = text;
    mode.timeout_ms = ANSWER_MS;
    status = cmd_cluster_ask(argv[0], &args, words, &mode);
    if (status == 0 && is_json) {
        puts(text->str);
    } else if (status == 0) {
        cmd_cluster_print_status(text->str);
    }
    return status;
}

const CmdVerb cmd_cluster_status = {
    .name = "status",
    .summary = "show the state of hosts and links",
    .synopsis = "",
    .has_cluster = true,
    .details = "Shows the state of each host and each link.\n\n"
               "Hosts are booting, up, oops (part of the kernel has failed), "
               "hung, stopped (by\ngdb or the monitor), panicked, off (by "
               "themselves), or dead. A link is up when\nboth hosts are up "
               "and the drivers of the NTBs on both report it as up.\n"
               "ntb_netdev has a carrier only later, when its interfaces on "
               "both are up." CMD_CLUSTER_EXIT_STATUS,
    .run = run,
};
