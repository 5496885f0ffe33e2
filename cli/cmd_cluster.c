/* SPDX-License-Identifier: MIT */
#include "cmd.h"

static const CmdVerb *const verbs[] = {
    &cmd_cluster_up,      &cmd_cluster_down,    &cmd_cluster_status,
    &cmd_cluster_list,    &cmd_cluster_exec,    &cmd_cluster_console,
    &cmd_cluster_logs,    &cmd_cluster_link,    &cmd_cluster_trace,
    &cmd_cluster_kill,    &cmd_cluster_restart, &cmd_cluster_wait,
    &cmd_cluster_advance, &cmd_cluster_replay,  &cmd_cluster_checkpoint,
    &cmd_cluster_branch,  &cmd_cluster_explore, &cmd_cluster_cp,
    &cmd_cluster_reload,  &cmd_cluster_vm,      NULL};

const CmdVerb cmd_cluster = {
    .name = "cluster",
    .summary = "run the hosts as virtual machines",
    .run = cmd_verbs_run,
    .verbs = verbs,
    .about = "Runs the hosts of a description as virtual machines, joined by "
             "emulated NTBs.",
    .hints =
        "  farside cluster VERB --help   describes a verb\n"
        "\n"
        "If several clusters run, option -c NAME of all verbs but up and list "
        "chooses one.",
    .page_title = "run the hosts of a description as virtual machines",
    .page = ".B farside cluster\n\\fIVERB\\fR [\\fIOPTION\\fR...] "
            "\\fIARGUMENT\\fR...\n.SH DESCRIPTION\n"
            "Runs the hosts of a description as virtual machines, joined by\n"
            "emulated NTBs. If several clusters run, option\n.B \\-c\n"
            "\\fINAME\\fR of all verbs but up and list chooses one.",
    .page_end = ".SH SEE ALSO\n.BR farside (1)",
};
