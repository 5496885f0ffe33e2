/* SPDX-License-Identifier: MIT */
#include "clu_calls.h"
#include "cmd_cluster_common.h"
#include "cmd_cluster_start.h"
#include "cmd_load.h"
#include "img_up.h"

static int run(const CmdVerb *verb, int argc, char **argv)
{
    ImgUpWords words = {.spins = -1};
    gboolean is_foreground = FALSE, is_quiet = FALSE;
    char *name = NULL;
    const GOptionEntry entries[] = {
        {"set", 's', 0, G_OPTION_ARG_STRING_ARRAY, &words.sets,
         "Change the description first", "PATH=VALUE"},
        {"name", 'n', 0, G_OPTION_ARG_STRING, &name,
         "Name of the cluster (the description's)", "NAME"},
        {"timeout", 't', 0, G_OPTION_ARG_INT, &words.timeout_s,
         "Seconds that all hosts have to come up, and each one that is "
         "restarted (60; with --timed 300)",
         "S"},
        {"silence", 0, 0, G_OPTION_ARG_INT, &words.silence_s,
         "Seconds without an answer after which a host is hung (20); not with "
         "--timed",
         "S"},
        {"foreground", 'f', 0, G_OPTION_ARG_NONE, &is_foreground,
         "Do not return; Ctrl-C ends the cluster", NULL},
        {"quiet", 'q', 0, G_OPTION_ARG_NONE, &is_quiet,
         "Print nothing unless it fails", NULL},
        {"timed", 0, 0, G_OPTION_ARG_NONE, &words.is_timed,
         "Run the machines in virtual time (experimental)", NULL},
        {"log", 0, 0, G_OPTION_ARG_FILENAME, &words.log,
         "With --timed: log all that is given to the machines; `farside "
         "cluster replay` repeats the run",
         "FILE"},
        {"steps", 0, 0, G_OPTION_ARG_FILENAME, &words.steps,
         "With --timed: each machine writes what happens to it to "
         "DIR/HOST.steps; for developers",
         "DIR"},
        {"slice", 0, 0, G_OPTION_ARG_STRING, &words.slice,
         "With --timed: a CPU runs no longer than this in one piece (1ms), "
         "which changes no result; for developers",
         "TIME"},
        {"spins", 0, 0, G_OPTION_ARG_INT, &words.spins,
         "With --timed: how often a machine looks for others before it sleeps "
         "(2000), which changes no result; for developers",
         "N"},
        G_OPTION_ENTRY_NULL,
    };
    g_autofree char *limits = NULL, *dir = NULL;
    g_autoptr(TopoDescription) description = NULL;
    g_auto(CmdArgs) args = {.words = NULL};
    g_auto(ImgUp) up = {.log = NULL};
    CluClient *client;
    GError *error = NULL;
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    if (!img_up_parse(&words, &up, &error)) {
        return cmd_complain(argv[0], error);
    }
    description =
        cmd_load_with(argv[0], args.words[0], words.sets, CMD_LOAD_ANY);
    if (!description) {
        return CMD_USAGE;
    }
    client =
        cmd_cluster_start(argv[0], description, name, &up.start, &dir, &status);
    if (!client) {
        return status;
    }
    limits = up.start.timed ? img_timed_limits(description) : NULL;
    status = cmd_cluster_bring_up(client, &up.start, is_quiet, limits, &error);
    if (status == 0 && is_foreground) {
        status = cmd_cluster_stay(client);
        clu_calls_leave(client, dir);
    } else {
        status = clu_calls_release(client, dir, status, &error);
    }
    return cmd_cluster_finish(argv[0], status, error);
}

const CmdVerb cmd_cluster_up = {
    .name = "up",
    .summary = "boot the hosts of a description, and join them",
    .synopsis = "FILE",
    .words = {1, 1},
    .run = run,
};
