/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "cmd.h"
#include "cmd_cluster_common.h"
#include "cmd_load.h"
#include "xpl_session.h"

static void tell_result(void *owner, const char *text)
{
    puts(text);
    fflush(stdout);
}

static int run(const CmdVerb *verb, int argc, char **argv)
{
    XplOptions options = {.seeds = 10,
                          .from = 1,
                          .jobs = 1,
                          .shrink_runs = 40,
                          .patience_s = 3600,
                          .limit = g_strdup("120s")};
    g_auto(CmdArgs) args = {.words = NULL};
    const GOptionEntry entries[] = {
        {"script", 0, 0, G_OPTION_ARG_FILENAME, &options.script,
         "The program that uses the cluster and checks what must hold",
         "SCRIPT"},
        {"seeds", 0, 0, G_OPTION_ARG_INT64, &options.seeds,
         "Number of schedules (10)", "N"},
        {"from", 0, 0, G_OPTION_ARG_INT64, &options.from, "The first seed (1)",
         "SEED"},
        {"only", 0, 0, G_OPTION_ARG_STRING, &options.only,
         "These seeds in place of --seeds and --from", "SEED,..."},
        {"times", 0, 0, G_OPTION_ARG_STRING, &options.times,
         "Faults with a time begin within these, not within the script's",
         "BEGIN,END"},
        {"schedule", 0, 0, G_OPTION_ARG_FILENAME, &options.schedule,
         "Run the faults of this file, and no others", "FILE"},
        {"out", 'o', 0, G_OPTION_ARG_FILENAME, &options.out,
         "Folder of the report (results/explore/NAME)", "DIR"},
        {"resume", 0, 0, G_OPTION_ARG_NONE, &options.resume,
         "Go on with the report that is there", NULL},
        {"jobs", 'j', 0, G_OPTION_ARG_INT, &options.jobs,
         "Clusters at the same time (1)", "N"},
        {"limit", 0, 0, G_OPTION_ARG_STRING, &options.limit,
         "Virtual time after which a script hangs (120s)", "TIME"},
        {"patience", 0, 0, G_OPTION_ARG_INT, &options.patience_s,
         "Seconds of real time that a schedule may take (3600)", "S"},
        {"shrink-runs", 0, 0, G_OPTION_ARG_INT, &options.shrink_runs,
         "Most runs to make a failure smaller (40); 0: do not", "N"},
        {"allow", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.allow,
         "Lines of a console that are no kernel's report; repeatable", "REGEX"},
        {"boot", 0, 0, G_OPTION_ARG_NONE, &options.boot,
         "Boot the machines for each schedule, with a log for `replay`", NULL},
        {"keep", 0, 0, G_OPTION_ARG_NONE, &options.keep,
         "Keep logs and consoles of schedules that pass", NULL},
        CMD_LOAD_SET(&options.sets),
        G_OPTION_ENTRY_NULL,
    };
    const XplTeller teller = {.verb = argv[0],
                              .out = {.tell = tell_result},
                              .notes = cmd_cluster_notes};
    GError *error = NULL;
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    status = xpl_session_run(&options, args.words[0], &teller, &error);
    return cmd_cluster_finish(argv[0], status, error);
}

const CmdVerb cmd_cluster_explore = {
    .name = "explore",
    .summary = "look for a schedule of faults that a script does not survive",
    .synopsis = "FILE",
    .words = {1, 1},
    .run = run,
};
