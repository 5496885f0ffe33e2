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

/* Returns GB/s with two decimals, as a number of hundredths. */
static int64_t hundredths(int64_t bytes_s)
{
    return (bytes_s + 5000000) / 10000000;
}

/* Returns ns with one decimal, as a number of tenths. */
static int64_t tenths(int64_t ps)
{
    return (ps + 50) / 100;
}

static void print_table(const ExpNear *near)
{
    static const TableColumn columns[] = {
        {"rank", TABLE_INTEGER, 0},
        {"device", TABLE_TEXT, 0},
        {"hops", TABLE_INTEGER, 0},
        {"roots", TABLE_INTEGER, 0},
        {"write_ns", TABLE_DECIMAL, 1},
        {"read_ns", TABLE_DECIMAL, 1},
        {"write_alone", TABLE_DECIMAL, 2},
        {"read_alone", TABLE_DECIMAL, 2},
        {"write", TABLE_DECIMAL, 2},
        {"read", TABLE_DECIMAL, 2},
        {"way", TABLE_TEXT, 0},
    };
    g_autoptr(Table) table = table_new();

    table_add_columns(table, columns, G_N_ELEMENTS(columns));
    for (unsigned i = 0; i < near->rows->len; i++) {
        const ExpNearRow *row = near->rows->pdata[i];
        unsigned at = table_add_row(table);

        table_set_text(table, at, 1, row->device->path);
        if (row->refusal) {
            table_set_text(table, at, 10, "none");
            continue;
        }
        table_set_number(table, at, 0, i + 1);
        table_set_number(table, at, 2, row->hops);
        table_set_number(table, at, 3, row->roots);
        table_set_number(table, at, 4, tenths(row->write_ps));
        table_set_number(table, at, 5, tenths(row->read_ps));
        table_set_number(table, at, 6, hundredths(row->write_alone));
        table_set_number(table, at, 7, hundredths(row->read_alone));
        table_set_number(table, at, 8, hundredths(row->write_shared));
        table_set_number(table, at, 9, hundredths(row->read_shared));
        table_set_text(table, at, 10, row->way);
    }
    cmd_print_table(table);
}

/* Says of each candidate what limits it, or why it is none. */
static void print_reasons(const ExpNear *near)
{
    printf("Rates in GB/s: alone, and under %u flow%s of the description.\n",
           near->n_flows, near->n_flows == 1 ? "" : "s");
    for (unsigned i = 0; i < near->rows->len; i++) {
        const ExpNearRow *row = near->rows->pdata[i];

        if (row->refusal) {
            printf("%s: no way: %s\n", row->device->path, row->refusal);
        } else {
            printf("%s: %s is slower. %s\n", row->device->path,
                   row->write_shared < row->read_shared ? "writing" : "reading",
                   row->limit ? row->limit : "");
        }
    }
}

static int rank(const TopoDescription *description, const TopoDevice *near,
                const GPtrArray *candidates, ExpNearGoal goal)
{
    g_autoptr(ExpNear) ranking = NULL;
    GError *error = NULL;

    ranking = exp_near_new(description, near, candidates, goal, &error);
    if (!ranking) {
        cmd_complain("select", error);
        return CMD_USAGE;
    }
    print_table(ranking);
    print_reasons(ranking);
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
