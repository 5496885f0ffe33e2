/* SPDX-License-Identifier: MIT */
/* Plugs switches and devices into ports. */
#include <string.h>

#include "topo_load_priv.h"
#include "topo_part_priv.h"

typedef struct Attacher {
    TopoLoader *loader;
    GHashTable *ports; /* port to the TopoPlug that claimed it; keys are
                          "host.rp0" or "host.sw0:3" */
} Attacher;

static void report(const Attacher *attacher, const TopoPlug *plug,
                   const char *format, ...) G_GNUC_PRINTF(3, 4);

static void report(const Attacher *attacher, const TopoPlug *plug,
                   const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    topo_errors_add(attacher->loader->errors, plug->at->place, "%s: %s",
                    plug->path, text);
}

static void report_unknown(const Attacher *attacher, const TopoPlug *plug,
                           const char *name)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_autofree char *hint = NULL;
    const TopoRootPort *ports;
    unsigned i, n;

    /* The root ports are known only if the CPU's part is good. */
    if (!plug->host->cpu) {
        return;
    }
    if (topo_errors_is_full(attacher->loader->errors)) {
        report(attacher, plug, "unknown root port or switch");
        return;
    }
    ports = topo_part_root_ports(plug->host->cpu, &n);
    for (i = 0; i < n; i++) {
        g_ptr_array_add(names, (void *)ports[i].name);
    }
    for (i = 0; i < plug->host->switches->len; i++) {
        const TopoSwitch *sw = g_ptr_array_index(plug->host->switches, i);

        if (sw->name) {
            g_ptr_array_add(names, sw->name);
        }
    }
    hint = topo_suggest(name, names);
    report(attacher, plug, "unknown root port or switch '%s'%s", name, hint);
}

/* Claims a port for @plug, or reports that it is taken. @id names the port in
 * the table and in messages. */
static bool claim(const Attacher *attacher, TopoPlug *plug, const char *id)
{
    const TopoPlug *other = g_hash_table_lookup(attacher->ports, id);

    if (!other) {
        g_hash_table_insert(attacher->ports, g_strdup(id), plug);
        return true;
    }
    report(attacher, plug, "port %s is taken by %s; choose another port", id,
           other->path);
    return false;
}

static char *switch_port_id(const TopoSwitch *sw, unsigned port)
{
    return g_strdup_printf("%s:%u", sw->path ? sw->path : "?", port);
}

/* Finds the parent of @plug. Claims the port if `at:` names one; otherwise sets
 * *ret_named to false. */
static void find_parent(const Attacher *attacher, TopoPlug *plug,
                        bool *ret_named)
{
    const char *colon = strchr(plug->text, ':');
    size_t length = colon ? (size_t)(colon - plug->text) : strlen(plug->text);
    g_autofree char *name = g_strndup(plug->text, length);
    g_autofree char *path = NULL;
    g_autofree char *id = NULL;
    int64_t port = 0;
    int root_port =
        plug->host->cpu ? topo_part_find_root_port(plug->host->cpu, name) : -1;

    *ret_named = true;
    if (root_port >= 0 && !colon) {
        plug->at->port = (unsigned)root_port;
        id = g_strconcat(plug->host->name ? plug->host->name : "?", ".", name,
                         NULL);
        claim(attacher, plug, id);
        return;
    }
    path =
        g_strconcat(plug->host->name ? plug->host->name : "?", ".", name, NULL);
    plug->at->parent =
        g_hash_table_lookup(attacher->loader->loaded->switches, path);
    if (!plug->at->parent) {
        report_unknown(attacher, plug, name);
        return;
    }
    if (!colon) {
        *ret_named = false;
        return;
    }
    if (!topo_units_parse(TOPO_UNIT_NONE, colon + 1, &port, NULL)) {
        report(attacher, plug,
               "'%s' is not a port number; write for example "
               "%s:0",
               colon + 1, name);
        return;
    }
    if (plug->at->parent->part &&
        port >= topo_part_int(plug->at->parent->part, "ports")) {
        report(attacher, plug,
               "%s has no port %s; write a number from 0 to %" G_GINT64_FORMAT,
               name, colon + 1,
               topo_part_int(plug->at->parent->part, "ports") - 1);
        return;
    }
    plug->at->port = (unsigned)port;
    id = switch_port_id(plug->at->parent, plug->at->port);
    claim(attacher, plug, id);
}

/* Takes the first free downstream port of the parent. */
static void take_port(const Attacher *attacher, TopoPlug *plug)
{
    const TopoSwitch *parent = plug->at->parent;
    int64_t ports, port;

    if (!parent->part) {
        return;
    }
    ports = topo_part_int(parent->part, "ports");
    for (port = 0; port < ports; port++) {
        g_autofree char *id = switch_port_id(parent, (unsigned)port);

        if (!g_hash_table_contains(attacher->ports, id)) {
            plug->at->port = (unsigned)port;
            claim(attacher, plug, id);
            return;
        }
    }
    report(attacher, plug,
           "all %" G_GINT64_FORMAT " ports of %s are taken; choose another "
           "switch",
           ports, parent->name);
}

/* Reports the loop of switches that @plug is part of, unless it is reported
 * already. */
static void check_loop(const Attacher *attacher, const TopoPlug *plug,
                       GHashTable *reported)
{
    unsigned limit = plug->host->switches->len;
    g_autoptr(GString) loop = g_string_new(plug->self->name);
    const TopoSwitch *sw = plug->at->parent;
    unsigned steps;

    for (steps = 0; sw && sw != plug->self && steps < limit; steps++) {
        if (g_hash_table_contains(reported, sw)) {
            return;
        }
        g_string_append_printf(loop, " -> %s", sw->name);
        sw = sw->at.parent;
    }
    if (sw == plug->self) {
        report(attacher, plug,
               "the switch hangs below itself (%s -> %s); plug one of them "
               "into a root port",
               loop->str, sw->name);
        g_hash_table_add(reported, (void *)sw);
    }
}

/* Reports a partition below another one of its chip: a TLP would have two ways,
 * one of them inside the chip. */
static void check_partition(const Attacher *attacher, const TopoPlug *plug)
{
    const TopoSwitch *sw = plug->at->parent;

    /* The limit is for switches that hang below themselves. */
    for (unsigned i = 0;
         plug->self->chip && sw && i < plug->host->switches->len; i++) {
        if (sw->chip && sw != plug->self &&
            strcmp(sw->chip, plug->self->chip) == 0) {
            report(attacher, plug,
                   "%s above it is a partition of chip '%s', too; plug it in "
                   "elsewhere, or give it another chip",
                   sw->name, sw->chip);
            return;
        }
        sw = sw->at.parent;
    }
}

/* Reports a share that no arbiter reads. */
static void check_share(const Attacher *attacher, const TopoPlug *plug)
{
    const TopoSwitch *parent = plug->at->parent;

    if (!plug->has_share || !plug->text || (parent && !parent->part)) {
        return;
    }
    if (!parent || strcmp(topo_part_text(parent->part, "arbitration"),
                          "port-table") != 0) {
        topo_errors_add(attacher->loader->errors, plug->share_place,
                        "%s: share: %s has no Port Arbitration Table; give "
                        "the switch set: {arbitration: port-table}, or leave "
                        "share out",
                        plug->path, parent ? parent->name : "a root port");
    }
}

static void train(const Attacher *attacher, const TopoPlug *plug)
{
    const TopoSwitch *parent = plug->at->parent;
    g_autofree char *before = g_strdup_printf("%s: ", plug->path);
    g_autofree char *own = NULL;
    g_autofree char *port = NULL;
    TopoTraining training = {
        .before = before,
        .place = {plug->speed_place, plug->width_place},
        .rate = {&plug->at->speed_mtps, &plug->at->width},
    };
    unsigned n;

    if (!plug->part || !plug->host->cpu || (parent && !parent->part)) {
        return;
    }
    training.most[0][0] = topo_part_speed(plug->part, "speed");
    training.most[0][1] = topo_part_width(plug->part, "width");
    own = g_strdup_printf("part '%s'", topo_part_name(plug->part));
    if (!parent) {
        const TopoRootPort *ports = topo_part_root_ports(plug->host->cpu, &n);

        training.most[1][0] = ports[plug->at->port].speed_mtps;
        training.most[1][1] = ports[plug->at->port].width;
        port = g_strdup_printf("root port %s", ports[plug->at->port].name);
    } else {
        training.most[1][0] = topo_part_speed(parent->part, "speed");
        training.most[1][1] = topo_part_width(
            parent->part, topo_part_has(parent->part, "downstream_width")
                              ? "downstream_width"
                              : "width");
        port = g_strdup_printf("switch %s", parent->name);
    }
    training.end[0] = own;
    training.end[1] = port;
    topo_load_train(attacher->loader, &training);
}

void topo_load_attach(TopoLoader *loader)
{
    g_autoptr(GHashTable) ports =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GHashTable) reported = g_hash_table_new(NULL, NULL);
    g_autoptr(GPtrArray) unnamed = g_ptr_array_new();
    Attacher attacher = {loader, ports};
    unsigned i;

    for (i = 0; i < loader->plugs->len; i++) {
        TopoPlug *plug = &g_array_index(loader->plugs, TopoPlug, i);
        bool named = true;

        if (plug->text) {
            find_parent(&attacher, plug, &named);
        }
        if (!named) {
            g_ptr_array_add(unnamed, plug);
        }
    }
    for (i = 0; i < unnamed->len; i++) {
        take_port(&attacher, g_ptr_array_index(unnamed, i));
    }
    for (i = 0; i < loader->plugs->len; i++) {
        const TopoPlug *plug = &g_array_index(loader->plugs, TopoPlug, i);

        if (plug->self && plug->self->name) {
            check_loop(&attacher, plug, reported);
            check_partition(&attacher, plug);
        }
        train(&attacher, plug);
        check_share(&attacher, plug);
    }
}
