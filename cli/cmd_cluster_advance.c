/* SPDX-License-Identifier: MIT */
#include "cmd.h"
#include "cmd_cluster_common.h"
#include "clu_timed.h"
#include "topo_units.h"

#define PS_PER_NS 1000
#define NS_PER_S  1000000000

static int run(const CmdVerb *verb, int argc, char **argv)
{
    g_auto(CmdArgs) args = {.words = NULL};
    g_autofree char *ns = NULL;
    g_autoptr(GError) error = NULL;
    int64_t ps;
    int status;

    if (!cmd_parse(verb, argc, argv, NULL, &args, &status)) {
        return status;
    }
    if (!topo_units_parse(TOPO_UNIT_TIME, args.words[0], &ps, &error)) {
        return cmd_usage(argv[0], "%s", error->message);
    }
    if (ps <= 0 || ps % (CLU_TIMED_BARRIER_NS * PS_PER_NS) != 0 ||
        ps / PS_PER_NS > CLU_TIMED_ADVANCE_MAX_NS) {
        return cmd_usage(argv[0],
                         "'%s' is no whole number of ms up to %" G_GINT64_FORMAT
                         "s; write such as 10ms",
                         args.words[0], CLU_TIMED_ADVANCE_MAX_NS / NS_PER_S);
    }
    ns = g_strdup_printf("%" G_GINT64_FORMAT, ps / PS_PER_NS);
    return cmd_cluster_ask(argv[0], &args,
                           (const char *const[]){"advance", ns, NULL},
                           &cmd_cluster_no_input);
}

const CmdVerb cmd_cluster_advance = {
    .name = "advance",
    .summary = "let virtual time pass in a timed cluster",
    .synopsis = "TIME",
    .words = {1, 1},
    .has_cluster = true,
    .run = run,
};
