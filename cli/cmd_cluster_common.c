/* SPDX-License-Identifier: MIT */
#include "cmd_cluster_common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clu_dir.h"
#include "clu_error.h"
#include "cmd.h"

const CluClientMode cmd_cluster_no_input = {.input = CLU_CLIENT_NO_INPUT,
                                            .has_text_errors = true};

void cmd_cluster_args_clear(CmdClusterArgs *args)
{
    g_clear_pointer(&args->cluster, g_free);
    g_clear_pointer(&args->words, g_strfreev);
}

void cmd_cluster_print_note(const char *text)
{
    fprintf(stderr, "%s\n", text);
}

static void tell(void *owner, const char *text)
{
    cmd_cluster_print_note(text);
}

const ImgNotes cmd_cluster_notes = {.tell = tell};

int cmd_cluster_finish(const char *verb, int status, GError *error)
{
    if (error) {
        cmd_complain(verb, error);
    }
    return status;
}

int cmd_cluster_fail(const char *verb, GError *error)
{
    bool is_usage = g_error_matches(error, CLU_ERROR, CLU_ERROR_USAGE);

    return cmd_cluster_finish(verb, is_usage ? CMD_USAGE : CMD_DIFFERENT,
                              error);
}

/* Which cluster */

/* Returns the directory of the cluster @word, to be freed. @word is a name, the
 * file of a description, or NULL for the only cluster that runs. */
static char *find_dir(const char *word, GError **error)
{
    g_auto(GStrv) names = clu_dir_list();
    g_autofree char *all = g_strjoinv(", ", names);
    g_autofree char *real = NULL;

    if (!word) {
        if (g_strv_length(names) == 1) {
            return clu_dir_find(names[0]);
        }
        g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                    names[0] ? "several clusters run (%s); choose one with -c"
                             : "no cluster runs%s; start one: farside cluster "
                               "up FILE",
                    all);
        return NULL;
    }
    if (g_strv_contains((const char *const *)names, word)) {
        return clu_dir_find(word);
    }
    real = realpath(word, NULL);
    for (char **name = names; real && *name; name++) {
        g_autofree char *dir = clu_dir_find(*name);
        g_autofree char *file = clu_dir_description(dir);

        if (file && strcmp(file, real) == 0) {
            return g_steal_pointer(&dir);
        }
    }
    g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                "there is no cluster '%s'; %s%s", word,
                names[0] ? "there are " : "none runs", all);
    return NULL;
}

CluClient *cmd_cluster_connect(const CmdClusterArgs *args, char **ret_dir,
                               GError **error)
{
    g_autofree char *dir = find_dir(args->cluster, error);
    CluClient *client = dir ? clu_client_connect(dir, error) : NULL;

    if (client && ret_dir) {
        *ret_dir = g_steal_pointer(&dir);
    }
    return client;
}

int cmd_cluster_ask(const char *verb, const CmdClusterArgs *args,
                    const char *const *words, const CluClientMode *mode)
{
    GError *error = NULL;
    g_autoptr(CluClient) client = cmd_cluster_connect(args, NULL, &error);
    int status;

    if (!client) {
        return cmd_cluster_fail(verb, error);
    }
    status = clu_client_run(client, words, mode, &error);
    return cmd_cluster_finish(verb, status, error);
}

/* The command line */

bool cmd_cluster_parse(const CmdClusterVerb *verb, int argc, char **argv,
                       const GOptionEntry *own, CmdClusterArgs *ret_args,
                       int *ret_status)
{
    const CmdWords words = {verb->synopsis, verb->min_words, verb->max_words};
    g_auto(CmdClusterArgs) args = {.cluster = NULL};
    const GOptionEntry common = {
        "cluster",
        'c',
        0,
        G_OPTION_ARG_STRING,
        &args.cluster,
        "The cluster, by its name or file; needed only if several run",
        "NAME"};
    g_autoptr(GArray) entries = g_array_new(TRUE, TRUE, sizeof(GOptionEntry));

    if (verb->has_cluster) {
        g_array_append_val(entries, common);
    }
    for (; own && own->long_name; own++) {
        g_array_append_val(entries, *own);
    }
    if (!cmd_parse(argc, argv, (const GOptionEntry *)(void *)entries->data,
                   &words, verb->details, &args.words, ret_status)) {
        return false;
    }
    *ret_args = args;
    args = (CmdClusterArgs){.cluster = NULL};
    return true;
}
