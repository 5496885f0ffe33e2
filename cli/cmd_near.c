/* SPDX-License-Identifier: MIT */
#include "cmd_near.h"

#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "cmd_hosts.h"
#include "cmd_load.h"
#include "exp_near.h"
#include "topo_suggest.h"

static bool is_candidate(const InvDevice *device, const TopoRequest *request)
{
    if (!request) {
        return device->type == INV_TYPE_INFINIBAND ||
               device->type == INV_TYPE_NETWORK;
    }
    return strcmp(device->name, request->device) == 0 &&
           (!request->vendor ||
            g_strcmp0(device->vendor, request->vendor) == 0) &&
           (!request->fabric ||
            g_strcmp0(device->fabric, request->fabric) == 0);
}

/* Returns the devices of @description that are candidates. Ports of one card
 * are one function in the model, and one candidate. */
static GPtrArray *candidates_new(const TopoDescription *description,
                                 const Inventory *inventory,
                                 const TopoDevice *near,
                                 const TopoRequest *request)
{
    GPtrArray *candidates = g_ptr_array_new();

    for (unsigned i = 0; i < inventory->hosts->len; i++) {
        const InvHost *host = inventory->hosts->pdata[i];

        for (unsigned j = 0; j < host->devices->len; j++) {
            const InvDevice *device = host->devices->pdata[j];
            g_auto(GStrv) words = g_strsplit(device->path, ":", 2);
            g_autofree char *path =
                g_strconcat(host->name, ".", words[0], NULL);
            TopoDevice *described = topo_find_device(description, path);

            if (described != near && is_candidate(device, request) &&
                !g_ptr_array_find(candidates, described, NULL)) {
                g_ptr_array_add(candidates, described);
            }
        }
    }
    return candidates;
}

static int rank(const TopoDescription *description, const TopoDevice *near,
                const GPtrArray *candidates, ExpNearGoal goal)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(ExpNear) ranking = NULL;
    GError *error = NULL;

    ranking = exp_near_new(description, near, candidates, goal, &error);
    if (!ranking) {
        cmd_complain("select", error);
        return CMD_USAGE;
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
    candidates = candidates_new(description, inventory, near, request);
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
