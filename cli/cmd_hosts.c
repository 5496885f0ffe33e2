/* SPDX-License-Identifier: MIT */
#include "cmd_hosts.h"

#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "cmd.h"
#include "clu_files.h"
#include "cmd_load.h"
#include "exp_fabric.h"
#include "fab_component.h"
#include "topo_suggest.h"

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
        cmd_print_errors(verb, errors);
    }
    return inventory;
}

/* The path of the names of devices; NULL if there is no such file. */
static const char *ids_of(const CmdHosts *options)
{
    if (options->ids) {
        return options->ids;
    }
    return g_file_test(CMD_HOSTS_IDS, G_FILE_TEST_EXISTS) ? CMD_HOSTS_IDS
                                                          : NULL;
}

static Inventory *load_sysfs(const char *verb, const CmdHosts *options)
{
    g_autoptr(Inventory) inventory = inv_new();
    const char *name = options->host ? options->host : g_get_host_name();
    GError *error = NULL;

    if (!options->host && strcmp(options->sysfs, "/sys") != 0) {
        name = options->sysfs;
    }
    if (!inv_add_sysfs(inventory, name, options->sysfs, ids_of(options),
                       &error)) {
        cmd_complain(verb, error);
        return NULL;
    }
    return g_steal_pointer(&inventory);
}

/* Copies the part of /sys of @host that an inventory needs to the folder @dir.
 * Returns false after a message. */
static bool fetch_sysfs(const char *verb, const char *cluster, const char *host,
                        const char *dir)
{
    g_autoptr(GString) archive = g_string_new(NULL);
    GError *error = NULL;

    if (clu_files_fetch(cluster, host, inv_archive_script, archive, &error) !=
        0) {
        if (error) {
            cmd_complain(verb, error);
        }
        cmd_usage(verb, "/sys of host %s cannot be read", host);
        return false;
    }
    if (!inv_archive_unpack(archive->str, archive->len, dir, &error)) {
        g_prefix_error(&error, "host %s: ", host);
        cmd_complain(verb, error);
        return false;
    }
    return true;
}

static void remove_folder(const char *dir)
{
    const char *const words[] = {"rm", "-rf", "--", dir, NULL};

    g_spawn_sync(NULL, (char **)words, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL,
                 NULL, NULL, NULL, NULL);
}

/* Adds @host of the cluster. Returns false after a message. */
static bool add_live_host(const char *verb, const CmdHosts *options,
                          const char *host, Inventory *inventory)
{
    GError *error = NULL;
    g_autofree char *dir = g_dir_make_tmp("farside-XXXXXX", &error);
    bool good;

    if (!dir) {
        cmd_complain(verb, error);
        return false;
    }
    good = fetch_sysfs(verb, options->cluster, host, dir);
    if (good && !inv_add_sysfs(inventory, host, dir, ids_of(options), &error)) {
        cmd_complain(verb, error);
        good = false;
    }
    remove_folder(dir);
    return good;
}

/* Reports that @name is none of @hosts. */
static void no_such_host(const char *verb, const char *name, char **hosts)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_autofree char *hint = NULL;

    for (; *hosts; hosts++) {
        g_ptr_array_add(names, *hosts);
    }
    hint = topo_suggest(name, names);
    cmd_usage(verb, "there is no host '%s'%s", name, hint);
}

static Inventory *load_cluster(const char *verb, const CmdHosts *options)
{
    GError *error = NULL;
    g_auto(GStrv) hosts = clu_files_hosts(options->cluster, &error);
    g_autoptr(Inventory) inventory = inv_new();

    if (!hosts) {
        if (error) {
            cmd_complain(verb, error);
        }
        return NULL;
    }
    if (options->host &&
        !g_strv_contains((const char *const *)hosts, options->host)) {
        no_such_host(verb, options->host, hosts);
        return NULL;
    }
    for (char **host = hosts; *host; host++) {
        if ((!options->host || strcmp(*host, options->host) == 0) &&
            !add_live_host(verb, options, *host, inventory)) {
            return NULL;
        }
    }
    return g_steal_pointer(&inventory);
}

/* Removes all hosts but @name. Returns false after reporting that there is no
 * such host. */
static bool keep_host(const char *verb, Inventory *inventory, const char *name)
{
    g_auto(GStrv) names = inv_keep_host(inventory, name);

    if (names) {
        no_such_host(verb, name, names);
    }
    return !names;
}

Inventory *cmd_hosts_load(const char *verb, const CmdHosts *options,
                          const char *file)
{
    g_autoptr(Inventory) inventory = NULL;

    if ((file != NULL) + (options->sysfs != NULL) +
            (options->cluster != NULL) !=
        1) {
        cmd_usage(verb, "give a description, --sysfs or --cluster, and only "
                        "one of them");
        return NULL;
    }
    inventory = file               ? load_description(verb, options, file)
                : options->cluster ? load_cluster(verb, options)
                                   : load_sysfs(verb, options);
    if (!inventory || (!options->sysfs && options->host &&
                       !keep_host(verb, inventory, options->host))) {
        return NULL;
    }
    return g_steal_pointer(&inventory);
}
