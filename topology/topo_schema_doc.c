/* SPDX-License-Identifier: MIT */
/* The tables of keys as a document. */
#include "topo_flow_priv.h"
#include "topo_schema_priv.h"

static const char *describe_type(const TopoKey *key)
{
    switch (key->type) {
    case TOPO_TYPE_BOOL:
        return "on or off";
    case TOPO_TYPE_INT:
        return "whole number";
    case TOPO_TYPE_TEXT:
        return "text";
    case TOPO_TYPE_NAME:
        return "name";
    case TOPO_TYPE_WORD:
        return "word";
    case TOPO_TYPE_REF:
    case TOPO_TYPE_HOST:
    case TOPO_TYPE_DEVICE:
    case TOPO_TYPE_TARGET:
        return "reference";
    case TOPO_TYPE_BYTES:
        return "bytes";
    case TOPO_TYPE_TIME:
        return "time";
    case TOPO_TYPE_RATE:
        return "rate";
    case TOPO_TYPE_SPEED:
        return "link speed";
    case TOPO_TYPE_WIDTH:
        return "link width";
    case TOPO_TYPE_DISTANCE:
        return "distance";
    case TOPO_TYPE_ADDRESS:
        return "address";
    case TOPO_TYPE_CREDITS:
        return "credits";
    case TOPO_TYPE_AUTO:
        return "bytes or auto";
    case TOPO_TYPE_DECIMAL:
        return "decimal";
    case TOPO_TYPE_PERCENT:
        return "percentage";
    case TOPO_TYPE_LIST:
        return "list of maps";
    case TOPO_TYPE_MAP:
        return "map";
    case TOPO_TYPE_REFS:
        return "list of references";
    case TOPO_TYPE_SET:
        return "map of part keys";
    case TOPO_TYPE_PARTS:
        return "map of parts";
    case TOPO_TYPE_CHANGES:
        return "map of paths";
    case TOPO_TYPE_TREE:
        return "see right";
    }
    g_assert_not_reached();
}

static void write_range(const TopoKey *key, GString *out)
{
    if (key->choices) {
        g_auto(GStrv) words = g_strsplit(key->choices, "|", -1);
        g_autofree char *joined = g_strjoinv(", ", words);

        g_string_append(out, joined);
    } else if (key->min && key->max) {
        g_string_append_printf(out, "%s to %s", key->min, key->max);
    } else if (key->min) {
        g_string_append_printf(out, "from %s", key->min);
    } else if (key->max) {
        g_string_append_printf(out, "to %s", key->max);
    }
    if ((key->flags & TOPO_KEY_POWER_OF_TWO) != 0) {
        g_string_append(out, ", power of two");
    }
}

static void write_section(const char *level, const TopoSection *section,
                          const char *title, GString *out)
{
    unsigned i;

    g_string_append_printf(out, "%s %s\n\n%s\n\n", level, title, section->help);
    g_string_append(out, "| key | type | range | default | meaning |\n");
    g_string_append(out, "| --- | --- | --- | --- | --- |\n");
    for (i = 0; i < section->n_keys; i++) {
        const TopoKey *key = &section->keys[i];
        const char *fallback = key->fallback;

        if (!fallback) {
            fallback =
                (key->flags & TOPO_KEY_REQUIRED) != 0 ? "**required**" : "";
        }
        g_string_append_printf(out, "| `%s` | %s | ", key->key,
                               describe_type(key));
        write_range(key, out);
        g_string_append_printf(out, " | %s | %s |\n", fallback, key->help);
    }
    g_string_append_c(out, '\n');
}

static void write_flows(GString *out)
{
    unsigned i;

    for (i = 0; i < topo_flow_n_kinds; i++) {
        const TopoFlowKind *kind = &topo_flow_kinds[i];
        g_autofree char *title = g_strconcat("flows: kind ", kind->name, NULL);

        write_section("###", &kind->section, title, out);
    }
}

void topo_schema_write_markdown(GString *out)
{
    static const struct {
        const TopoSection *section;
        const char *title;
    } sections[] = {
        {&topo_section_scenario, "The file"},
        {&topo_section_host, "hosts"},
        {&topo_section_switch, "switches"},
        {&topo_section_device, "devices"},
        {&topo_section_vm, "vm of a host"},
        {&topo_section_inner, "vms of a host"},
        {&topo_section_vm_device, "vm of a device"},
        {&topo_section_link, "links"},
        {&topo_section_chip, "chips"},
        {&topo_section_network, "networks"},
        {&topo_section_lend, "lend"},
        {&topo_section_fault, "faults"},
        {&topo_section_workload, "workload"},
        {NULL, NULL}, /* followed by the kinds of flows */
        {&topo_section_variant, "variants"},
        {&topo_section_axis, "sweep"},
        {&topo_section_axis_value, "values of an axis"},
        {&topo_section_measure, "measure"},
        {&topo_section_column, "columns"},
        {&topo_section_compare, "compare"},
        {&topo_section_plot, "plot"},
        {&topo_section_function, "functions"},
        {&topo_section_request_file, "a file of requests"},
        {&topo_section_request, "ib_interfaces"},
        {&topo_section_profile, "parts: any kind"},
    };
    TopoPartKind kind;
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(sections); i++) {
        if (!sections[i].section) {
            write_flows(out);
        } else {
            write_section("###", sections[i].section, sections[i].title, out);
        }
    }
    for (kind = 0; kind < TOPO_PART_N_KINDS; kind++) {
        const TopoSection *section = topo_schema_part(kind);
        g_autofree char *title =
            g_strconcat("parts: kind ", section->name, NULL);

        write_section("###", section, title, out);
    }
    write_section("###", &topo_section_root_port, "root_ports", out);
    write_section("###", &topo_section_bar, "bars", out);
    g_string_truncate(out, out->len - 1);
}
