/* SPDX-License-Identifier: MIT */
#include "cmd_hosts.h"

#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "cmd_load.h"
#include "exp_fabric.h"
#include "fab_component.h"
#include "topo_suggest.h"

void cmd_hosts_clear(CmdHosts *options)
{
    g_strfreev(options->sets);
    g_free(options->sysfs);
    g_free(options->ids);
    g_free(options->host);
}

void cmd_hosts_print_errors(const char *verb, const TopoErrors *errors)
{
    g_autofree char *text = topo_errors_to_string(errors);
    unsigned count = topo_errors_count(errors);

    fprintf(stderr, "%sfarside %s: %u error%s\n", text, verb, count,
            count == 1 ? "" : "s");
}

/* The address that the model's enumeration gave @device. */
static TopoPciAddress enumerated(const TopoDevice *device, void *fabric)
{
    FabBdf bdf = fab_component_bdf(exp_device(fabric, device));

    return (TopoPciAddress){0, FAB_BDF_BUS(bdf), FAB_BDF_DEV(bdf),
                            FAB_BDF_FN(bdf)};
}

static Inventory *load_description(const char *verb, const CmdHosts *options,
                                   const char *file)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(TopoDescription) description =
        cmd_load_with(verb, file, options->sets, CMD_LOAD_ANY);
    g_autoptr(ExpFabric) fabric = NULL;
    Inventory *inventory;
    GError *error = NULL;

    if (!description) {
        return NULL;
    }
    fabric = exp_fabric_new(description, &error);
    if (!fabric) {
        cmd_complain(verb, error);
        return NULL;
    }
    inventory = inv_from_description(description, enumerated, fabric, errors);
    if (!inventory) {
        cmd_hosts_print_errors(verb, errors);
    }
    return inventory;
}

static Inventory *load_sysfs(const char *verb, const CmdHosts *options)
{
    g_autoptr(Inventory) inventory = inv_new();
    const char *name = options->host ? options->host : g_get_host_name();
    const char *ids = options->ids;
    GError *error = NULL;

    if (!ids && g_file_test(CMD_HOSTS_IDS, G_FILE_TEST_EXISTS)) {
        ids = CMD_HOSTS_IDS;
    }
    if (!options->host && strcmp(options->sysfs, "/sys") != 0) {
        name = options->sysfs;
    }
    if (!inv_add_sysfs(inventory, name, options->sysfs, ids, &error)) {
        cmd_complain(verb, error);
        return NULL;
    }
    return g_steal_pointer(&inventory);
}

/* Removes all hosts but @name. Returns false after reporting that there is no
 * such host. */
static bool keep_host(const char *verb, Inventory *inventory, const char *name)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_autofree char *hint = NULL;

    if (inv_find_host(inventory, name)) {
        for (unsigned i = inventory->hosts->len; i > 0; i--) {
            const InvHost *host = inventory->hosts->pdata[i - 1];

            if (strcmp(host->name, name) != 0) {
                g_ptr_array_remove_index(inventory->hosts, i - 1);
            }
        }
        return true;
    }
    for (unsigned i = 0; i < inventory->hosts->len; i++) {
        const InvHost *host = inventory->hosts->pdata[i];

        g_ptr_array_add(names, host->name);
    }
    hint = topo_suggest(name, names);
    cmd_usage(verb, "there is no host '%s'%s", name, hint);
    return false;
}

Inventory *cmd_hosts_load(const char *verb, const CmdHosts *options,
                          const char *file)
{
    g_autoptr(Inventory) inventory = NULL;

    if ((file != NULL) == (options->sysfs != NULL)) {
        cmd_usage(verb, "give a description or --sysfs, and not both");
        return NULL;
    }
    inventory = file ? load_description(verb, options, file)
                     : load_sysfs(verb, options);
    if (!inventory ||
        (file && options->host && !keep_host(verb, inventory, options->host))) {
        return NULL;
    }
    return g_steal_pointer(&inventory);
}
