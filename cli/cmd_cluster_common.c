/* SPDX-License-Identifier: MIT */
#include "cmd_cluster_common.h"

#include <stdio.h>

#include "clu_dir.h"
#include "clu_error.h"
#include "clu_status.h"
#include "cmd.h"

const CluClientMode cmd_cluster_no_input = {.input = CLU_CLIENT_NO_INPUT,
                                            .has_text_errors = true};

void cmd_cluster_print_status(const char *json)
{
    g_autoptr(GString) text = g_string_new(NULL);

    clu_status_append(text, json);
    fputs(text->str, stdout);
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

CluClient *cmd_cluster_connect(const CmdArgs *args, char **ret_dir,
                               GError **error)
{
    g_autofree char *dir = clu_dir_choose(args->cluster, error);
    CluClient *client = dir ? clu_client_connect(dir, error) : NULL;

    if (client && ret_dir) {
        *ret_dir = g_steal_pointer(&dir);
    }
    return client;
}

int cmd_cluster_ask(const char *verb, const CmdArgs *args,
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
