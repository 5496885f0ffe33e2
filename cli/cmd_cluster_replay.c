/* SPDX-License-Identifier: MIT */
#include "clu_calls.h"
#include "cmd.h"
#include "cmd_cluster_common.h"
#include "cmd_cluster_start.h"
#include "cmd_load.h"
#include "img_hash.h"

/* Nobody waits for the machines of a replay to be up in real time. */
#define BOOT_S 86400

static int replay(const char *verb, const char *file,
                  const CluTimedScript *script, const char *name)
{
    const char *path = clu_timed_script_get(script, IMG_HEAD_FILE);
    g_auto(GStrv) sets = clu_timed_script_get_all(script, IMG_HEAD_SET);
    const ImgTimed logs = {.script = script, .script_file = file, .spins = -1};
    ImgStart start = {
        .boot_ms = BOOT_S * 1000, .silence_ms = 1, .timed = &logs};
    g_autoptr(TopoDescription) description =
        cmd_load_with(verb, path ? path : "", sets, CMD_LOAD_ANY);
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *dir = NULL;
    CluClient *client;
    GError *error = NULL;
    int status = CMD_USAGE;

    client = description ? cmd_cluster_start(verb, description, name, &start,
                                             &dir, &status)
                         : NULL;
    if (!client) {
        return status;
    }
    status = clu_calls_replay(client, text, &error);
    status = clu_calls_release(client, dir, status, &error);
    if (status == 0) {
        cmd_cluster_print_status(text->str);
    }
    return cmd_cluster_finish(verb, status, error);
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
