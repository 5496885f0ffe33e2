/* SPDX-License-Identifier: MIT */
#include "cmd_near.h"

#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "cmd_hosts.h"
#include "cmd_load.h"
#include "exp_near.h"
#include "inv_select.h"

static int rank(const TopoDescription *description, const TopoDevice *near,
                const GPtrArray *candidates, ExpNearGoal goal)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(ExpNear) ranking = NULL;
    GError *error = NULL;

    ranking = exp_near_new(description, near, candidates, goal, &error);
    if (!ranking) {
        return cmd_complain("select", error);
    }
    exp_near_append(text, ranking);
    fputs(text->str, stdout);
    return ((const ExpNearRow *)ranking->rows->pdata[0])->refusal
               ? CMD_DIFFERENT
               : CMD_OK;
}

int cmd_near(const char *file, char **sets, const char *near_path,
             const char *goal, const TopoRequest *request)
{
    CmdHosts options = {.sets = sets};
    g_autoptr(TopoDescription) description = NULL;
    g_autoptr(Inventory) inventory = NULL;
    g_autoptr(GPtrArray) candidates = NULL;
    const TopoDevice *near;

    if (!goal ||
        (strcmp(goal, "bandwidth") != 0 && strcmp(goal, "latency") != 0)) {
        return cmd_usage("select", "--near takes --for bandwidth or --for "
                                   "latency");
    }
    description = cmd_load_with("select", file, sets, CMD_LOAD_ANY);
    inventory = description ? cmd_hosts_load("select", &options, file) : NULL;
    if (!inventory) {
        return CMD_USAGE;
    }
    near = topo_find_device(description, near_path);
    if (!near || topo_part_kind(near->part) == TOPO_PART_NTB) {
        return cmd_usage("select",
                         "--near: %s is no device with memory; give "
                         "HOST.DEVICE, as `farside inventory --devices` lists "
                         "them",
                         near_path);
    }
    candidates = inv_candidates(description, inventory, near, request);
    if (candidates->len == 0) {
        return cmd_usage("select",
                         "%s has no candidate beside %s; name a device of its "
                         "inventory with --device",
                         file, near_path);
    }
    return rank(description, near, candidates,
                strcmp(goal, "latency") == 0 ? EXP_NEAR_LATENCY
                                             : EXP_NEAR_BANDWIDTH);
}
