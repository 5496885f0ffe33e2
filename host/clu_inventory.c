/* SPDX-License-Identifier: MIT */
#include "clu_inventory.h"

#include <string.h>

#include "clu_error.h"
#include "clu_files.h"
#include "topo_suggest.h"

/* Copies the part of /sys of @host that an inventory needs to the folder @dir.
 */
static bool fetch_sysfs(const char *cluster, const char *host, const char *dir,
                        GError **error)
{
    g_autoptr(GString) archive = g_string_new(NULL);
    GError *cause = NULL;

    if (clu_files_fetch(cluster, host, inv_archive_script, archive, &cause) !=
        0) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                    "/sys of host %s cannot be read%s%s", host,
                    cause ? ": " : "", cause ? cause->message : "");
        g_clear_error(&cause);
        return false;
    }
    if (!inv_archive_unpack(archive->str, archive->len, dir, error)) {
        g_prefix_error(error, "host %s: ", host);
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

static bool add_host(Inventory *inventory, const char *cluster,
                     const char *host, const char *ids, GError **error)
{
    g_autofree char *dir = g_dir_make_tmp("farside-XXXXXX", error);
    bool is_added;

    if (!dir) {
        return false;
    }
    is_added = fetch_sysfs(cluster, host, dir, error) &&
               inv_add_sysfs(inventory, host, dir, ids, error);
    remove_folder(dir);
    return is_added;
}

Inventory *clu_inventory(const char *cluster, const char *host, const char *ids,
                         GError **error)
{
    g_auto(GStrv) hosts = clu_files_hosts(cluster, error);
    g_autoptr(Inventory) inventory = inv_new();
    g_autoptr(GPtrArray) names = g_ptr_array_new();

    if (!hosts) {
        return NULL;
    }
    for (char **name = hosts; *name; name++) {
        g_ptr_array_add(names, *name);
    }
    if (host && !g_strv_contains((const char *const *)hosts, host)) {
        topo_no_such_host(host, names, error);
        return NULL;
    }
    for (unsigned i = 0; i < names->len; i++) {
        const char *name = names->pdata[i];

        if ((!host || strcmp(name, host) == 0) &&
            !add_host(inventory, cluster, name, ids, error)) {
            return NULL;
        }
    }
    return g_steal_pointer(&inventory);
}
