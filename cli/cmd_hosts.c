/* SPDX-License-Identifier: MIT */
#include "cmd_hosts.h"

#include "cmd.h"
#include "clu_inventory.h"
#include "cmd_load.h"
#include "exp_fabric.h"

static Inventory *load_description(const char *verb, const CmdHosts *options,
                                   const char *file, GError **error)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(TopoDescription) description =
        cmd_load_with(verb, file, options->sets, CMD_LOAD_ANY);
    g_autoptr(ExpFabric) fabric =
        description ? exp_fabric_new(description, error) : NULL;
    Inventory *inventory =
        fabric ? inv_from_description(description, exp_device_address, fabric,
                                      errors)
               : NULL;

    if (topo_errors_count(errors) > 0) {
        cmd_print_errors(verb, errors);
    }
    return inventory;
}

Inventory *cmd_hosts_load(const char *verb, const CmdHosts *options,
                          const char *file)
{
    g_autoptr(Inventory) inventory = NULL;
    GError *error = NULL;

    if (!!file + !!options->sysfs + !!options->cluster != 1) {
        cmd_usage(verb, "give a description, --sysfs or --cluster, and only "
                        "one of them");
        return NULL;
    }
    if (file) {
        inventory = load_description(verb, options, file, &error);
    } else if (options->cluster) {
        inventory = clu_inventory(options->cluster, options->host, options->ids,
                                  &error);
    } else {
        inventory =
            inv_from_sysfs(options->sysfs, options->host, options->ids, &error);
    }
    if (!inventory || (!options->sysfs && options->host &&
                       !inv_keep_host(inventory, options->host, &error))) {
        if (error) {
            cmd_complain(verb, error);
        }
        return NULL;
    }
    return g_steal_pointer(&inventory);
}
