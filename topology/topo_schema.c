/* SPDX-License-Identifier: MIT */
#include "topo_schema_priv.h"

#include <string.h>

#include "topo_flow_priv.h"

TopoUnit topo_schema_unit(TopoType type)
{
    switch (type) {
    case TOPO_TYPE_BYTES:
    case TOPO_TYPE_AUTO:
        return TOPO_UNIT_BYTES;
    case TOPO_TYPE_TIME:
        return TOPO_UNIT_TIME;
    case TOPO_TYPE_RATE:
        return TOPO_UNIT_RATE;
    case TOPO_TYPE_SPEED:
        return TOPO_UNIT_SPEED;
    case TOPO_TYPE_WIDTH:
        return TOPO_UNIT_WIDTH;
    case TOPO_TYPE_DISTANCE:
        return TOPO_UNIT_DISTANCE;
    case TOPO_TYPE_ADDRESS:
        return TOPO_UNIT_ADDRESS;
    default:
        return TOPO_UNIT_NONE;
    }
}

bool topo_schema_find_kind(const char *name, TopoPartKind *ret_kind)
{
    TopoPartKind kind;

    for (kind = 0; kind < TOPO_PART_N_KINDS; kind++) {
        if (strcmp(topo_schema_part(kind)->name, name) == 0) {
            *ret_kind = kind;
            return true;
        }
    }
    return false;
}

const TopoKey *topo_schema_find(const TopoSection *section, const char *key)
{
    unsigned i;

    for (i = 0; i < section->n_keys; i++) {
        /* The first character alone rules most keys out. */
        if (section->keys[i].key[0] == key[0] &&
            strcmp(section->keys[i].key, key) == 0) {
            return &section->keys[i];
        }
    }
    return NULL;
}

int topo_schema_find_choice(const TopoKey *key, const char *word)
{
    g_auto(GStrv) words = g_strsplit(key->choices, "|", -1);
    int i;

    for (i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], word) == 0) {
            return i;
        }
    }
    return -1;
}

unsigned topo_schema_index(const TopoSection *section, const char *key)
{
    const TopoKey *found = topo_schema_find(section, key);

    g_assert(found != NULL);
    return (unsigned)(found - section->keys);
}

bool topo_schema_has_group(const TopoSection *section, const char *prefix)
{
    size_t length = strlen(prefix);
    unsigned i;

    for (i = 0; i < section->n_keys; i++) {
        const char *key = section->keys[i].key;

        if (strncmp(key, prefix, length) == 0 && key[length] == '.') {
            return true;
        }
    }
    return false;
}

GPtrArray *topo_schema_key_names(const TopoSection *section)
{
    GPtrArray *names = g_ptr_array_new();
    unsigned i;

    for (i = 0; i < section->n_keys; i++) {
        g_ptr_array_add(names, (void *)section->keys[i].key);
    }
    return names;
}

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
    if (key->choices != NULL) {
        g_auto(GStrv) words = g_strsplit(key->choices, "|", -1);
        g_autofree char *joined = g_strjoinv(", ", words);

        g_string_append(out, joined);
    } else if (key->min != NULL && key->max != NULL) {
        g_string_append_printf(out, "%s to %s", key->min, key->max);
    } else if (key->min != NULL) {
        g_string_append_printf(out, "from %s", key->min);
    } else if (key->max != NULL) {
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

        if (fallback == NULL) {
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
        if (sections[i].section == NULL) {
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
