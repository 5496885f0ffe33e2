/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include "cmd_load.h"
#include "cmd_run_terminal.h"
#include "cmd_workload.h"
#include "exp_metric.h"

/* Adds the change of --accuracy, if it is given. */
static bool accuracy_add(const char *share, GPtrArray *changes)
{
    g_autofree char *set =
        share ? g_strconcat("workload.accuracy=", share, NULL) : NULL;
    char *sets[] = {set, NULL};

    return cmd_changes_add("run", "--accuracy", sets, changes);
}

static int run_verb(const CmdVerb *verb, int argc, char **argv)
{
    static const int statuses[] = {[STU_DONE] = CMD_OK,
                                   [STU_FAILED] = CMD_DIFFERENT,
                                   [STU_INPUT] = CMD_USAGE};
    ExpRunWords words = {.threads = 1};
    char **sets = NULL, *workload = NULL, *accuracy = NULL;
    StuRun run = {.is_quiet = FALSE};
    const GOptionEntry entries[] = {
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &words.folder,
         "Write CSV and plots to DIR (default: results)", "DIR"},
        {"jobs", 'j', 0, G_OPTION_ARG_INT, &words.threads,
         "Simulate N points at a time; results do not depend on it", "N"},
        CMD_LOAD_SET(&sets),
        {"workload", 'w', 0, G_OPTION_ARG_FILENAME, &workload,
         "Repeat what TRACE, made by `farside cluster trace`, has recorded",
         "TRACE"},
        {"accuracy", 'a', 0, G_OPTION_ARG_STRING, &accuracy,
         "Simulate steady flows until their pace is known within SHARE, such "
         "as 0.5%; values come with their intervals",
         "SHARE"},
        {"limit", 'l', 0, G_OPTION_ARG_STRING_ARRAY, &words.limits,
         "Leave out points of AXIS beyond VALUE; repeatable", "AXIS=VALUE"},
        {"quiet", 'q', 0, G_OPTION_ARG_NONE, &run.is_quiet,
         "Print only one line for each scenario", NULL},
        {"no-plot", 0, 0, G_OPTION_ARG_NONE, &run.no_plot, "Draw nothing",
         NULL},
        {"bounds", 0, 0, G_OPTION_ARG_NONE, &run.bounds,
         "Fail if a published value is missed by more than its bound", NULL},
        {"explain", 'e', 0, G_OPTION_ARG_NONE, &words.explain,
         "Explain what limits each curve, and where the time goes", NULL},
        {"latencies", 0, 0, G_OPTION_ARG_NONE, &words.latencies,
         "Write and draw the distribution of latencies", NULL},
        {"point", 'p', 0, G_OPTION_ARG_STRING, &words.point,
         "Only points with TEXT in their label, such as \"Loc, transfer=4KiB\"",
         "TEXT"},
        {"resume", 'r', 0, G_OPTION_ARG_NONE, &words.resume,
         "Keep the points that an interrupted run has finished", NULL},
        {"keep-going", 'k', 0, G_OPTION_ARG_NONE, &words.keep_going,
         "Simulate the other points if one fails; list failures at the end",
         NULL},
        {"shard", 0, 0, G_OPTION_ARG_STRING, &words.shard,
         "Only the I-th of N parts of the points", "I/N"},
        {"trace", 't', 0, G_OPTION_ARG_INT, &words.trace_records,
         "Write the last N TLPs of each point to DIR/NAME.trace.csv", "N"},
        G_OPTION_ENTRY_NULL,
    };
    g_autoptr(GPtrArray) changes = NULL;
    g_autoptr(GPtrArray) descriptions = NULL;
    g_auto(ExpRunOptions) options = {0};
    g_auto(CmdArgs) args = {.words = NULL};
    GError *error = NULL;
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    if (!exp_run_parse(&words, &options, &error)) {
        return cmd_complain("run", error);
    }
    changes = cmd_workload_changes("run", workload);
    if (changes && accuracy_add(accuracy, changes) &&
        cmd_changes_add("run", "--set", sets, changes)) {
        descriptions = cmd_load_all("run", args.words, changes);
    }
    if (!descriptions) {
        return CMD_USAGE;
    }
    run.options = options;
    return statuses[stu_run(descriptions, &run,
                            cmd_run_terminal(!run.is_quiet))];
}

const CmdVerb cmd_run = {.name = "run",
                         .summary = "simulate scenarios and draw their plots",
                         .synopsis = "SCENARIO...",
                         .words = {1, CMD_ANY_NUMBER},
                         .help_list = exp_metric_help,
                         .run = run_verb};
