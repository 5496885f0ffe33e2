/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>

#include "clu_calls.h"
#include "clu_dir.h"
#include "cmd.h"
#include "cmd_cluster_common.h"
#include "cmd_load.h"
#include "img_start.h"
#include "timed_board.h"
#include "topo_units.h"

#define SECONDS_MAX 86400
#define PS_PER_NS   1000

/* The options of `up`. */
typedef struct Up {
    char **sets;
    char *name;
    int timeout_s, silence_s;
    gboolean is_foreground, is_quiet, is_timed;
    char *log;        /* nullable */
    char *log_path;   /* the same, absolute */
    char *steps;      /* nullable */
    char *steps_path; /* the same, absolute */
    char *slice;      /* nullable */
    int64_t slice_ns; /* the same; 0: none was given */
    int spins;        /* -1: none were given */
    char *limits;     /* of a timed cluster; NULL: not known yet */
    ImgTimed logs;    /* of a timed cluster */
} Up;

static void up_clear(Up *up)
{
    g_free(up->log_path);
    g_free(up->steps_path);
    g_free(up->limits);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Up, up_clear)

/* The options --slice and --spins */
static bool parse_pace(const char *verb, Up *up, int *ret_status)
{
    g_autoptr(GError) error = NULL;
    int64_t ps = 0;

    if ((up->slice || up->spins != -1) && !up->is_timed) {
        *ret_status = cmd_usage(verb, "--slice and --spins need --timed: they "
                                      "are the pace of virtual time");
        return false;
    }
    if (up->slice &&
        (!topo_units_parse(TOPO_UNIT_TIME, up->slice, &ps, &error) ||
         ps < PS_PER_NS || ps % PS_PER_NS != 0)) {
        *ret_status = cmd_usage(verb,
                                "--slice is a whole number of ns, such as "
                                "350ns, and not '%s'",
                                up->slice);
        return false;
    }
    up->slice_ns = ps / PS_PER_NS;
    if (up->spins < -1 || up->spins > TIMED_BOARD_SPINS) {
        *ret_status = cmd_usage(verb, "--spins is 0 to %d", TIMED_BOARD_SPINS);
        return false;
    }
    return true;
}

static bool parse(const CmdVerb *verb, int argc, char **argv, Up *up,
                  CmdArgs *ret_args, int *ret_status)
{
    const GOptionEntry entries[] = {
        {"set", 's', 0, G_OPTION_ARG_STRING_ARRAY, &up->sets,
         "Change the description first", "PATH=VALUE"},
        {"name", 'n', 0, G_OPTION_ARG_STRING, &up->name,
         "Name of the cluster (the description's)", "NAME"},
        {"timeout", 't', 0, G_OPTION_ARG_INT, &up->timeout_s,
         "Seconds that all hosts have to come up, and each one that is "
         "restarted (60; with --timed 300)",
         "S"},
        {"silence", 0, 0, G_OPTION_ARG_INT, &up->silence_s,
         "Seconds without an answer after which a host is hung (20); not with "
         "--timed",
         "S"},
        {"foreground", 'f', 0, G_OPTION_ARG_NONE, &up->is_foreground,
         "Do not return; Ctrl-C ends the cluster", NULL},
        {"quiet", 'q', 0, G_OPTION_ARG_NONE, &up->is_quiet,
         "Print nothing unless it fails", NULL},
        {"timed", 0, 0, G_OPTION_ARG_NONE, &up->is_timed,
         "Run the machines in virtual time (experimental)", NULL},
        {"log", 0, 0, G_OPTION_ARG_FILENAME, &up->log,
         "With --timed: log all that is given to the machines; `farside "
         "cluster replay` repeats the run",
         "FILE"},
        {"steps", 0, 0, G_OPTION_ARG_FILENAME, &up->steps,
         "With --timed: each machine writes what happens to it to "
         "DIR/HOST.steps; for developers",
         "DIR"},
        {"slice", 0, 0, G_OPTION_ARG_STRING, &up->slice,
         "With --timed: a CPU runs no longer than this in one piece (1ms), "
         "which changes no result; for developers",
         "TIME"},
        {"spins", 0, 0, G_OPTION_ARG_INT, &up->spins,
         "With --timed: how often a machine looks for others before it sleeps "
         "(2000), which changes no result; for developers",
         "N"},
        G_OPTION_ENTRY_NULL,
    };

    if (!cmd_parse(verb, argc, argv, entries, ret_args, ret_status)) {
        return false;
    }
    if (up->timeout_s == 0) {
        up->timeout_s = up->is_timed ? 300 : 60;
    }
    if (up->silence_s != 0 && up->is_timed) {
        *ret_status =
            cmd_usage(argv[0], "--silence does not go with --timed: a question "
                               "would reach a machine at any virtual time");
        return false;
    }
    if (up->silence_s == 0) {
        up->silence_s = 20;
    }
    if (up->log && !up->is_timed) {
        *ret_status = cmd_usage(argv[0], "--log needs --timed: machines in "
                                         "real time do not repeat");
        return false;
    }
    if (up->steps && !up->is_timed) {
        *ret_status = cmd_usage(argv[0], "--steps needs --timed: machines in "
                                         "real time do not repeat");
        return false;
    }
    if (!parse_pace(argv[0], up, ret_status)) {
        return false;
    }
    if (up->timeout_s < 1 || up->timeout_s > SECONDS_MAX || up->silence_s < 1 ||
        up->silence_s > SECONDS_MAX) {
        *ret_status =
            cmd_usage(argv[0], "--timeout and --silence are 1 to %d seconds",
                      SECONDS_MAX);
        return false;
    }
    return true;
}

/* Waits until all hosts and links are up, and then prints the table. */
static int bring_up(CluClient *client, const Up *up, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    CluClientMode mode = cmd_cluster_no_input;
    int status;

    mode.note = up->is_quiet ? NULL : cmd_cluster_print_note;
    status =
        clu_calls_bring_up(client, &mode, (unsigned)up->timeout_s, text, error);
    if (status == 0 && !up->is_quiet) {
        cmd_cluster_print_status(text->str);
        if (up->is_timed) {
            printf("\n%s", up->limits);
        }
        fflush(stdout);
    }
    return status;
}

/* Waits for a signal, or for the end of the cluster. */
static int stay(CluClient *client)
{
    int signal;

    fputs("The cluster runs until Ctrl-C, or `farside cluster down`.\n",
          stderr);
    signal = clu_client_wait(client);
    return signal == 0 || signal == SIGINT ? CMD_OK : 128 + signal;
}

/* Brings a started cluster up. Then waits for its end in the foreground, or
 * releases it. Frees @client and returns the exit status. */
static int run_started(const char *verb, CluClient *client, const char *dir,
                       const Up *up)
{
    static const char *const release[] = {"release", NULL};
    GError *error = NULL;
    int status = bring_up(client, up, &error);

    if (status == 0 && up->is_foreground) {
        status = stay(client);
    } else if (status == 0) {
        status = clu_client_run(client, release, &cmd_cluster_no_input, &error);
        if (status == 0) {
            clu_client_free(client);
            return CMD_OK;
        }
    }
    clu_client_free(client);
    clu_dir_wait_gone(dir, CLU_CALLS_GONE_MS);
    return cmd_cluster_finish(verb, status, error);
}

static int run(const CmdVerb *verb, int argc, char **argv)
{
    g_auto(Up) up = {.spins = -1};
    g_auto(CmdArgs) args = {.words = NULL};
    g_autoptr(GPtrArray) changes = NULL;
    g_autoptr(TopoDescription) description = NULL;
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(CluPlan) plan = NULL;
    CluClient *client = NULL;
    const char *name;
    g_autofree char *dir = NULL;
    GError *error = NULL;
    int status;

    if (!parse(verb, argc, argv, &up, &args, &status)) {
        return status;
    }
    changes = cmd_changes(argv[0], up.sets);
    if (!changes) {
        return CMD_USAGE;
    }
    description = cmd_load(argv[0], args.words[0], changes, CMD_LOAD_ANY);
    if (!description) {
        return CMD_USAGE;
    }
    up.limits = img_timed_limits(description);
    name = up.name ? up.name : description->name;
    dir = clu_dir_find(name);
    plan = clu_plan_new(description, errors);
    if (plan) {
        up.log_path = up.log ? g_canonicalize_filename(up.log, NULL) : NULL;
        up.steps_path =
            up.steps ? g_canonicalize_filename(up.steps, NULL) : NULL;
        up.logs = (ImgTimed){.log = up.log_path,
                             .steps = up.steps_path,
                             .slice_ns = up.slice_ns,
                             .spins = up.spins,
                             .sets = up.sets};
        client =
            img_start(plan, name,
                      &(ImgStart){.boot_ms = (unsigned)up.timeout_s * 1000,
                                  .silence_ms = (unsigned)up.silence_s * 1000,
                                  .timed = up.is_timed ? &up.logs : NULL,
                                  .notes = &cmd_cluster_notes},
                      errors, &error);
    }
    if (topo_errors_count(errors) > 0) {
        return cmd_print_errors(argv[0], errors);
    }
    return client ? run_started(argv[0], client, dir, &up)
                  : cmd_cluster_fail(argv[0], error);
}

const CmdVerb cmd_cluster_up = {
    .name = "up",
    .summary = "boot the hosts of a description, and join them",
    .synopsis = "FILE",
    .words = {1, 1},
    .run = run,
};
