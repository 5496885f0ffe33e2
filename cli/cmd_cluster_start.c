/* SPDX-License-Identifier: MIT */
#include "cmd_cluster_start.h"

#include <signal.h>
#include <stdio.h>

#include "clu_calls.h"
#include "clu_dir.h"
#include "cmd_cluster_common.h"
#include "cmd_load.h"

CluClient *cmd_cluster_start(const char *verb,
                             const TopoDescription *description,
                             const char *name, ImgStart *start, char **ret_dir,
                             int *ret_status)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(CluPlan) plan = clu_plan_new(description, errors);
    CluClient *client = NULL;
    GError *error = NULL;

    name = name ? name : description->name;
    start->notes = &cmd_cluster_notes;
    if (plan) {
        client = img_start(plan, name, start, errors, &error);
    }
    if (topo_errors_count(errors) > 0) {
        *ret_status = cmd_print_errors(verb, errors);
    } else if (!client) {
        *ret_status = cmd_cluster_fail(verb, error);
    } else {
        *ret_dir = clu_dir_find(name);
    }
    return client;
}

int cmd_cluster_bring_up(CluClient *client, const ImgStart *start,
                         bool is_quiet, const char *limits, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    CluClientMode mode = cmd_cluster_no_input;
    int status;

    mode.note = is_quiet ? NULL : cmd_cluster_print_note;
    status =
        clu_calls_bring_up(client, &mode, start->boot_ms / 1000, text, error);
    if (status == 0 && !is_quiet) {
        cmd_cluster_print_status(text->str);
        if (limits) {
            printf("\n%s", limits);
        }
        fflush(stdout);
    }
    return status;
}

int cmd_cluster_stay(CluClient *client)
{
    int number;

    fputs("The cluster runs until Ctrl-C, or `farside cluster down`.\n",
          stderr);
    number = clu_client_wait(client);
    return number == 0 || number == SIGINT ? CMD_OK : 128 + number;
}
