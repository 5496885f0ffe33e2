/* SPDX-License-Identifier: MIT */
/* Ends of transfers: "host.ram", "host.ram.node0", "host.cpu",
 * "host.device.bar0", "host.device.vf0.bar0". */
#include <string.h>

#include "topo_load_priv.h"

static bool parse_bar(const TopoDevice *device, const char *text, int *ret_bar,
                      GError **error)
{
    const TopoBar *bars;
    unsigned i, n;

    if (!device->part) {
        return true; /* reported with the device */
    }
    bars = topo_part_bars(device->part, &n);
    for (i = 0; i < n; i++) {
        char name[] = {'b', 'a', 'r', (char)('0' + bars[i].number), '\0'};

        if (strcmp(text, name) == 0) {
            *ret_bar = (int)bars[i].number;
            return true;
        }
    }
    if (n == 0) {
        return topo_refuse(error, "%s has no BAR; name another target",
                           device->path);
    }
    return topo_refuse(error, "%s has no '%s'; its first is bar%u",
                       device->path, text, bars[0].number);
}

static bool parse_node(const TopoHost *host, const char *text, int *ret_node,
                       GError **error)
{
    const TopoRootPort *ports;
    unsigned i, n, most = 0;

    if (!host->cpu) {
        return true; /* reported with the host */
    }
    ports = topo_part_root_ports(host->cpu, &n);
    for (i = 0; i < n; i++) {
        g_autofree char *name = g_strdup_printf("node%u", ports[i].node);

        if (strcmp(text, name) == 0) {
            *ret_node = (int)ports[i].node;
            return true;
        }
        most = MAX(most, ports[i].node);
    }
    return topo_refuse(error,
                       "no root port of %s is in '%s'; the last node is node%u",
                       host->name, text, most);
}

/* @error (nullable) is not set if it is already. */
static bool refuse_name(const TopoHost *host, const char *name, GError **error)
{
    g_autoptr(GPtrArray) names = NULL;
    g_autofree char *hint = NULL;

    if (!error || *error) {
        return false;
    }
    names = g_ptr_array_new();
    g_ptr_array_add(names, (void *)"ram");
    g_ptr_array_add(names, (void *)"cpu");
    for (unsigned i = 0; i < host->devices->len; i++) {
        const TopoDevice *device = g_ptr_array_index(host->devices, i);

        if (device->name) {
            g_ptr_array_add(names, device->name);
        }
    }
    hint = topo_suggest(name, names);
    return topo_refuse(error, "host %s has no '%s'%s", host->name, name, hint);
}

/* @name: of a device, or "device.vf0". */
static bool find_in_host(TopoLoaded *loaded, TopoHost *host, const char *name,
                         const char *bar, TopoTarget *ret_target,
                         GError **error)
{
    TopoTarget target = {.host = host, .bar = -1};
    g_autofree char *path = g_strconcat(host->name, ".", name, NULL);

    if (strcmp(name, "ram") == 0) {
        target.kind = TOPO_TARGET_RAM;
        if (bar && !parse_node(host, bar, &target.bar, error)) {
            return false;
        }
        *ret_target = target;
        return true;
    }
    if (!bar && strcmp(name, "cpu") == 0) {
        target.kind = TOPO_TARGET_CPU;
        *ret_target = target;
        return true;
    }
    target.kind = TOPO_TARGET_DEVICE;
    target.device = topo_load_take_device(loaded, path, error);
    if (target.device) {
        if (bar && !parse_bar(target.device, bar, &target.bar, error)) {
            return false;
        }
        *ret_target = target;
        return true;
    }
    return refuse_name(host, name, error);
}

bool topo_find_target(const TopoDescription *description, const char *text,
                      TopoTarget *ret_target, GError **error)
{
    TopoLoaded *loaded = (TopoLoaded *)description;
    g_auto(GStrv) words = g_strsplit(text, ".", -1);
    unsigned n = g_strv_length(words);
    bool is_function = n > 2 && topo_load_is_function(words[2]);
    g_autofree char *function =
        is_function ? g_strconcat(words[1], ".", words[2], NULL) : NULL;
    TopoHost *host;

    if (n < 2 || n > 3u + is_function) {
        return topo_refuse(
            error,
            "'%s' is not an end of a flow; write host.ram, host.cpu, "
            "host.device or host.device.bar0",
            text);
    }
    host = g_hash_table_lookup(loaded->hosts, words[0]);
    if (!host && !error) {
        return false;
    }
    if (!host) {
        g_autoptr(GPtrArray) names = topo_load_names(loaded->hosts);
        g_autofree char *hint = topo_suggest(words[0], names);

        return topo_refuse(error, "unknown host '%s'%s", words[0], hint);
    }
    return find_in_host(loaded, host, is_function ? function : words[1],
                        words[2 + is_function], ret_target, error);
}
