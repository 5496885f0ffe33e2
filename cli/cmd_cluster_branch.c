/* SPDX-License-Identifier: MIT */
#include "cmd.h"
#include "cmd_cluster_common.h"
#include "topo_file.h"

/* Adds the faults in @file, a list in YAML, as a change to @words. */
static bool add_file(GPtrArray *words, const char *file, GError **error)
{
    g_autofree char *text = topo_file_text(file, NULL, error);

    if (!text) {
        return false;
    }
    g_ptr_array_add(words, g_strconcat("faults=", text, NULL));
    return true;
}

static int branch(const char *verb, const CmdArgs *args, const char *file,
                  char **sets)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    GError *error = NULL;

    g_ptr_array_add(words, g_strdup("branch"));
    g_ptr_array_add(words, g_strdup(args->words[0]));
    if (file && !add_file(words, file, &error)) {
        return cmd_cluster_finish(verb, CMD_USAGE, error);
    }
    for (; sets && *sets; sets++) {
        g_ptr_array_add(words, g_strdup(*sets));
    }
    g_ptr_array_add(words, NULL);
    return cmd_cluster_ask(verb, args, (const char *const *)words->pdata,
                           &cmd_cluster_no_input);
}

static int run(const CmdVerb *verb, int argc, char **argv)
{
    char *file = NULL;
    char **sets = NULL;
    const GOptionEntry entries[] = {
        {"faults", 'f', 0, G_OPTION_ARG_FILENAME, &file,
         "The branch has the faults in FILE, a list as below `faults:` of a "
         "description",
         "FILE"},
        {"set", 's', 0, G_OPTION_ARG_STRING_ARRAY, &sets,
         "Set `faults` or a part of it; repeatable", "PATH=VALUE"},
        G_OPTION_ENTRY_NULL,
    };
    g_auto(CmdArgs) args = {.words = NULL};
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    return branch(argv[0], &args, file, sets);
}

const CmdVerb cmd_cluster_branch = {
    .name = "branch",
    .summary = "make a cluster that goes on from a checkpoint",
    .synopsis = "NAME",
    .words = {1, 1},
    .has_cluster = true,
    .run = run,
};
