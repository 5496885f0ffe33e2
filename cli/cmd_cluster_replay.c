/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "clu_calls.h"
#include "clu_dir.h"
#include "clu_error.h"
#include "cmd.h"
#include "cmd_cluster_common.h"
#include "cmd_load.h"
#include "img_hash.h"
#include "img_start.h"

/* Nobody waits for the machines of a replay to be up in real time. */
#define BOOT_S 86400

/* The changes that @script names, as --set options; to be freed. */
static char **find_sets(const CluTimedScript *script)
{
    GPtrArray *sets = g_ptr_array_new();

    for (unsigned i = 0; i < script->names->len; i++) {
        if (strcmp(script->names->pdata[i], IMG_HEAD_SET) == 0) {
            g_ptr_array_add(sets, g_strdup(script->values->pdata[i]));
        }
    }
    g_ptr_array_add(sets, NULL);
    return (char **)g_ptr_array_free(sets, FALSE);
}

/* Waits for the end of the log, prints the state, and lets the cluster stand
 * there. Frees @client. */
static int run_started(const char *verb, CluClient *client, const char *dir)
{
    static const char *const requests[][2] = {
        {"replay"}, {"status"}, {"release"}};
    g_autoptr(GString) text = g_string_new(NULL);
    CluClientMode mode = cmd_cluster_no_input;
    GError *error = NULL;
    int status = 0;

    mode.output = text;
    for (unsigned i = 0; i < G_N_ELEMENTS(requests) && status == 0; i++) {
        status = clu_client_run(client, requests[i], &mode, &error);
    }
    clu_client_free(client);
    if (status == 0) {
        cmd_cluster_print_status(text->str);
        return CMD_OK;
    }
    clu_dir_wait_gone(dir, CLU_CALLS_GONE_MS);
    return cmd_cluster_finish(verb, status, error);
}

static int replay(const char *verb, const char *file,
                  const CluTimedScript *script, const char *name)
{
    const char *path = clu_timed_script_get(script, IMG_HEAD_FILE);
    g_auto(GStrv) sets = find_sets(script);
    const ImgTimed logs = {.script = script, .script_file = file, .spins = -1};
    const ImgStart start = {.boot_ms = BOOT_S * 1000,
                            .silence_ms = 1,
                            .timed = &logs,
                            .notes = &cmd_cluster_notes};
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(TopoDescription) description =
        cmd_load_with(verb, path ? path : "", sets, CMD_LOAD_ANY);
    g_autoptr(CluPlan) plan =
        description ? clu_plan_new(description, errors) : NULL;
    g_autofree char *dir = NULL;
    CluClient *client = NULL;
    GError *error = NULL;

    if (!description) {
        return CMD_USAGE;
    }
    name = name ? name : description->name;
    dir = clu_dir_find(name);
    if (plan) {
        client = img_start(plan, name, &start, errors, &error);
    }
    if (topo_errors_count(errors) > 0) {
        g_autofree char *text = topo_errors_to_string(errors);

        fputs(text, stderr);
        return CMD_USAGE;
    }
    return client ? run_started(verb, client, dir)
                  : cmd_cluster_fail(verb, error);
}

static int run(const CmdVerb *verb, int argc, char **argv)
{
    char *name = NULL;
    const GOptionEntry entries[] = {
        {"name", 'n', 0, G_OPTION_ARG_STRING, &name,
         "Name of the cluster (the description's)", "NAME"},
        G_OPTION_ENTRY_NULL,
    };
    g_auto(CmdArgs) args = {.words = NULL};
    g_autoptr(CluTimedScript) script = NULL;
    GError *error = NULL;
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    script = clu_timed_script_read(args.words[0], &error);
    return script ? replay(argv[0], args.words[0], script, name)
                  : cmd_cluster_fail(argv[0], error);
}

const CmdVerb cmd_cluster_replay = {
    .name = "replay",
    .summary = "repeat the run of a timed cluster from its log",
    .synopsis = "FILE",
    .words = {1, 1},
    .run = run,
};
