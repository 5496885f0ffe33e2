/* SPDX-License-Identifier: MIT */
/* Switches with an NTB for each of several hosts. */
#include <string.h>

#include "topo_load_priv.h"

#define HOSTS_MAX 8

/* In the order of the key's words. The ports that can be NTBs are those of
 * Linux's driver of the chip. */
typedef struct Model {
    const char *name;
    unsigned port_count;
    unsigned ports[HOSTS_MAX];
} Model;

#define EIGHT                                                                  \
    8,                                                                         \
    {                                                                          \
        0, 2, 4, 6, 8, 12, 16, 20                                              \
    }

static const Model models[] = {
    {"89hpes12nt12g2", 3, {0, 8, 16}},
    {"89hpes16nt16g2", 4, {0, 8, 12, 16}},
    {"89hpes24nt24g2", EIGHT},
    {"89hpes24nt6ag2", 6, {0, 2, 4, 6, 8, 12}},
    {"89hpes32nt24ag2", EIGHT},
    {"89hpes32nt24bg2", EIGHT},
    {"89hpes32nt8ag2", EIGHT},
    {"89hpes32nt8bg2", EIGHT},
};

/* In place of one that is unknown: what follows from that is not reported. */
static const Model any_model = {"IDT switch", EIGHT};

/* The place of @port in the model's list, or -1. */
static int find_port(const Model *model, int64_t port)
{
    for (unsigned i = 0; i < model->port_count; i++) {
        if (model->ports[i] == port) {
            return (int)i;
        }
    }
    return -1;
}

static char *list_ports(const Model *model)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < model->port_count; i++) {
        g_string_append_printf(text, "%s%u", i ? ", " : "", model->ports[i]);
    }
    return g_string_free(text, FALSE);
}

static void load_ports(TopoLoader *loader, TopoNtbChip *chip,
                       const Model *model, const TopoValues *values)
{
    g_autoptr(GPtrArray) items = topo_values_items(values, "ports");
    g_autoptr(GPtrArray) ends = topo_values_items(values, "ends");
    g_autofree char *all = list_ports(model);
    int last = -1;

    for (unsigned i = 0; i < chip->ends->len && i < model->port_count; i++) {
        chip->ports[i] = model->ports[i];
    }
    if (!topo_values_given(values, "ports")) {
        return;
    }
    if (items->len != ends->len) {
        topo_errors_add(loader->errors, topo_values_get(values, "ports")->place,
                        "%u ports for %u ends; write one for each end",
                        items->len, ends->len);
        return;
    }
    for (unsigned i = 0; i < MIN(items->len, HOSTS_MAX); i++) {
        const TopoNode *node = items->pdata[i];
        int64_t port = -1;
        int place;

        topo_units_parse(TOPO_UNIT_NONE, node->text, &port, NULL);
        place = find_port(model, port);
        if (place <= last) {
            topo_errors_add(loader->errors, node->place,
                            "'%s' is no port of an %s that can be an NTB, or "
                            "not in rising order; its ports are %s",
                            node->text, model->name, all);
            return;
        }
        last = place;
        chip->ports[i] = (unsigned)port;
    }
}

/* Reports if @device cannot be an end of @chip. */
static bool check_end(TopoLoader *loader, const TopoNtbChip *chip,
                      const TopoDevice *device, TopoPlace place)
{
    if (topo_part_kind(device->part) != TOPO_PART_NTB) {
        topo_errors_add(loader->errors, place,
                        "%s is of kind %s; name an NTB adapter", device->path,
                        topo_part_kind_name(topo_part_kind(device->part)));
        return false;
    }
    if (device->chip) {
        topo_errors_add(loader->errors, place,
                        "%s is a partition of chip '%s' already; leave one of "
                        "them out",
                        device->path, device->chip);
        return false;
    }
    for (unsigned i = 0; i < device->links->len; i++) {
        const TopoLink *link = device->links->pdata[i];

        if (link) {
            topo_errors_add(loader->errors, place,
                            "%s has link %s; a partition of a chip has no "
                            "cable, so leave one of them out",
                            device->path, link->name);
            return false;
        }
    }
    for (unsigned i = 0; i < chip->ends->len; i++) {
        const TopoDevice *other = chip->ends->pdata[i];

        if (other->host == device->host) {
            topo_errors_add(loader->errors, place,
                            "%s and %s are of the same host; a host has one "
                            "end at most",
                            device->path, other->path);
            return false;
        }
        if (other->part != device->part) {
            topo_errors_add(loader->errors, place,
                            "%s is of part %s, and %s of part %s; the ends of "
                            "a chip are of one part",
                            device->path, topo_part_name(device->part),
                            other->path, topo_part_name(other->part));
            return false;
        }
    }
    return true;
}

static void load_ends(TopoLoader *loader, TopoNtbChip *chip, const Model *model,
                      const TopoValues *values)
{
    g_autoptr(GPtrArray) items = topo_values_items(values, "ends");

    if (!topo_values_given(values, "ends")) {
        return;
    }
    if (items->len < 2 || items->len > model->port_count) {
        topo_errors_add(loader->errors, topo_values_get(values, "ends")->place,
                        "an %s joins 2 to %u hosts, not %u; write [host.ntb, "
                        "host.ntb]",
                        model->name, model->port_count, items->len);
        return;
    }
    for (unsigned i = 0; i < items->len; i++) {
        const TopoNode *node = items->pdata[i];
        TopoValue value = {
            .valid = true, .text = node->text, .place = node->place};
        TopoDevice *device = topo_load_find_device(loader, &value);

        if (!device || !device->part ||
            !check_end(loader, chip, device, node->place)) {
            continue;
        }
        device->chip = chip->name;
        device->ntb_chip = chip;
        device->partition = chip->ends->len;
        g_ptr_array_add(chip->ends, device);
    }
}

static void pair_free(gpointer data)
{
    TopoLink *link = data;

    g_free(link->name);
    g_free(link);
}

/* Each two hosts of the chip, as a machine joins them: the lower first. */
static void add_pairs(TopoNtbChip *chip)
{
    chip->pairs = g_ptr_array_new_with_free_func(pair_free);
    for (unsigned i = 0; i < chip->ends->len; i++) {
        for (unsigned j = i + 1; j < chip->ends->len; j++) {
            TopoLink *link = g_new0(TopoLink, 1);

            link->place = chip->place;
            link->name = g_strdup_printf("%s.%u-%u", chip->name, i, j);
            link->end[0] = chip->ends->pdata[i];
            link->end[1] = chip->ends->pdata[j];
            link->chip = TOPO_CHIP_IDT;
            g_ptr_array_add(chip->pairs, link);
        }
    }
}

static void load_chip(TopoLoader *loader, const TopoNode *node,
                      GHashTable *names)
{
    g_autoptr(TopoValues) values =
        topo_values_read(&topo_section_chip, node, loader->errors);
    const TopoValue *name = topo_values_get(values, "name");
    bool is_known = topo_values_get(values, "chip")->valid;
    const Model *model =
        is_known ? &models[topo_values_number(values, "chip")] : &any_model;
    const unsigned lut[] = {12, 24, 0};
    TopoNtbChip *chip = g_new0(TopoNtbChip, 1);

    g_ptr_array_add(loader->loaded->pub.chips, chip);
    chip->place = node->place;
    chip->model = model->name;
    chip->ends = g_ptr_array_new();
    chip->name = topo_load_text(loader, topo_values_text(values, "name"));
    chip->lut = lut[topo_values_number(values, "lut")];
    if (topo_load_check_unique(loader, names, "chip", chip->name,
                               name->place)) {
        g_hash_table_add(names, chip->name);
    }
    load_ends(loader, chip, model, values);
    if (is_known) {
        load_ports(loader, chip, model, values);
    }
    add_pairs(chip);
}

void topo_load_chips(TopoLoader *loader, const TopoValues *file)
{
    g_autoptr(GPtrArray) items = topo_values_items(file, "chips");
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);

    for (unsigned i = 0; i < items->len; i++) {
        load_chip(loader, items->pdata[i], names);
    }
}

GPtrArray *topo_joins(const TopoDescription *description)
{
    GPtrArray *joins = g_ptr_array_new();

    g_ptr_array_extend(joins, description->links, NULL, NULL);
    for (unsigned i = 0; i < description->chips->len; i++) {
        const TopoNtbChip *chip = description->chips->pdata[i];

        g_ptr_array_extend(joins, chip->pairs, NULL, NULL);
    }
    return joins;
}

void topo_chip_free(gpointer data)
{
    TopoNtbChip *chip = data;

    g_ptr_array_unref(chip->ends);
    g_ptr_array_unref(chip->pairs);
    g_free(chip);
}
