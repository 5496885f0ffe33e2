/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <json-glib/json-glib.h>

#include "clu_status.h"

static const char *get_text(JsonObject *object, const char *name)
{
    return json_object_get_string_member_with_default(object, name, NULL);
}

/* The virtual time of a host in a timed cluster, and by how much it is slower
 * than real time while it does not stand still. */
static void append_time(GString *text, JsonObject *host)
{
    int64_t ns =
        json_object_get_int_member_with_default(host, "virtual_ns", -1);
    int64_t real_us =
        json_object_get_int_member_with_default(host, "moving_us", 0);

    if (ns >= 0) {
        g_string_append_printf(
            text,
            "    virtual time  %" G_GINT64_FORMAT ".%09" G_GINT64_FORMAT
            " s, %.1f times slower than real time\n",
            ns / 1000000000, ns % 1000000000,
            ns > 0 ? (double)real_us * 1e3 / (double)ns : 0.0);
    }
}

static void append_devices(GString *text, JsonArray *devices)
{
    for (unsigned i = 0; i < json_array_get_length(devices); i++) {
        JsonObject *device = json_array_get_object_element(devices, i);
        const char *link = get_text(device, "link");

        g_string_append_printf(
            text, "    %-12s  %-14s %s%s%s\n", get_text(device, "address"),
            get_text(device, "name"), get_text(device, "device"),
            link ? ", link " : "", link ? link : "");
    }
}

static void append_host(GString *text, JsonObject *host)
{
    const char *cause = get_text(host, "cause");
    const char *qmp = get_text(host, "qmp");
    const char *gdb = get_text(host, "gdb");

    g_string_append_printf(
        text,
        "  %-16s %-9s %6" G_GINT64_FORMAT " MiB  %" G_GINT64_FORMAT
        " CPU%s  %s  %s\n",
        get_text(host, "name"), get_text(host, "state"),
        json_object_get_int_member(host, "memory_bytes") >> 20,
        json_object_get_int_member(host, "cpus"),
        json_object_get_int_member(host, "cpus") == 1 ? " " : "s",
        get_text(host, "accel"),
        get_text(host, "kernel") ? get_text(host, "kernel") : "");
    if (cause) {
        g_string_append_printf(text, "    %s\n", cause);
    }
    append_time(text, host);
    append_devices(text, json_object_get_array_member(host, "switches"));
    append_devices(text, json_object_get_array_member(host, "devices"));
    if (qmp) {
        g_string_append_printf(text, "    monitor       %s\n", qmp);
    }
    if (gdb) {
        g_string_append_printf(text, "    gdb           target remote %s\n",
                               gdb);
    }
}

/* The state of the host @name. */
static const char *host_state(JsonArray *hosts, const char *name)
{
    for (unsigned i = 0; i < json_array_get_length(hosts); i++) {
        JsonObject *host = json_array_get_object_element(hosts, i);

        if (strcmp(get_text(host, "name"), name) == 0) {
            return get_text(host, "state");
        }
    }
    return "?";
}

/* If the host of @end is not up, its driver reports nothing, and the state of
 * the host is printed instead. */
static void append_end(GString *text, JsonObject *end, JsonArray *hosts)
{
    const char *host = get_text(end, "host");
    const char *state = host_state(hosts, host);

    if (strcmp(state, "up") == 0 || strcmp(state, "oops") == 0) {
        state = get_text(end, "state");
    }
    g_string_append_printf(text, "%s.%s (%s, %s)", host,
                           get_text(end, "adapter"), get_text(end, "address"),
                           state);
}

static void append_link(GString *text, JsonObject *link, JsonArray *hosts)
{
    JsonArray *ends = json_object_get_array_member(link, "ends");
    bool is_enabled = json_object_get_boolean_member(link, "enabled");

    g_string_append_printf(text, "  %-16s %-9s", get_text(link, "name"),
                           is_enabled ? get_text(link, "state") : "unplugged");
    for (unsigned i = 0; i < json_array_get_length(ends); i++) {
        g_string_append(text, i ? " - " : " ");
        append_end(text, json_array_get_object_element(ends, i), hosts);
    }
    g_string_append_c(text, '\n');
}

void clu_status_append(GString *text, const char *json)
{
    g_autoptr(JsonParser) parser = json_parser_new();
    JsonObject *root;
    JsonArray *hosts, *links, *absent;

    if (!json_parser_load_from_data(parser, json, -1, NULL)) {
        g_string_append(text, json);
        return;
    }
    root = json_node_get_object(json_parser_get_root(parser));
    hosts = json_object_get_array_member(root, "hosts");
    links = json_object_get_array_member(root, "links");
    absent = json_object_get_array_member(root, "not_emulated");
    g_string_append_printf(text, "cluster %s (%s)\n\nhosts\n",
                           get_text(root, "name"), get_text(root, "file"));
    for (unsigned i = 0; i < json_array_get_length(hosts); i++) {
        append_host(text, json_array_get_object_element(hosts, i));
    }
    if (json_array_get_length(links) > 0) {
        g_string_append(text, "\nlinks"
                              "\n");
    }
    for (unsigned i = 0; i < json_array_get_length(links); i++) {
        append_link(text, json_array_get_object_element(links, i), hosts);
    }
    if (json_array_get_length(absent) > 0) {
        g_string_append_printf(text, "\nnot emulated:");
        for (unsigned i = 0; i < json_array_get_length(absent); i++) {
            g_string_append_printf(text, "%s %s", i ? "," : "",
                                   json_array_get_string_element(absent, i));
        }
        g_string_append_c(text, '\n');
    }
}
