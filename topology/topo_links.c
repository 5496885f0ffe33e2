/* SPDX-License-Identifier: MIT */
/* Cables between NTB adapters, and lends. */
#include <string.h>

#include "topo_load_priv.h"

#define PS_PER_MM         5 /* two thirds of the speed of light: 5 ns a metre */
#define DEFAULT_LENGTH_MM 1000

/* An end of a link that gets the first free cable port. */
typedef struct OpenEnd {
    TopoLink *link;
    unsigned end;
    TopoPlace place;
} OpenEnd;

/* A link with the places its checks need. */
typedef struct Cable {
    TopoLink *link;
    TopoPlace speed_place;
    TopoPlace width_place;
} Cable;

static void claim_port(TopoLoader *loader, TopoLink *link, unsigned end,
                       int64_t port, TopoPlace place)
{
    GPtrArray *links = link->end[end]->links;
    const TopoLink *other;

    if (port >= links->len) {
        topo_errors_add(loader->errors, place,
                        "%s has no cable port %" G_GINT64_FORMAT "; write a "
                        "number from 0 to %u",
                        link->end[end]->path, port, links->len - 1);
        return;
    }
    other = g_ptr_array_index(links, port);
    if (other) {
        topo_errors_add(loader->errors, place,
                        "cable port %" G_GINT64_FORMAT " of %s is taken by "
                        "link %s; choose another port",
                        port, link->end[end]->path,
                        other->name ? other->name : "without a name");
        return;
    }
    links->pdata[port] = link;
    link->port[end] = (unsigned)port;
}

static void take_port(TopoLoader *loader, const OpenEnd *open)
{
    const TopoDevice *device = open->link->end[open->end];
    unsigned port;

    for (port = 0; port < device->links->len; port++) {
        if (!g_ptr_array_index(device->links, port)) {
            claim_port(loader, open->link, open->end, port, open->place);
            return;
        }
    }
    topo_errors_add(loader->errors, open->place,
                    "%s has more links than cable ports, %u; leave this one "
                    "out, or use another adapter",
                    device->path, device->links->len);
}

/* Reads "host.ntb" or "host.ntb:1". */
static void load_end(TopoLoader *loader, TopoLink *link, unsigned end,
                     const TopoNode *node, GArray *open_ends)
{
    const char *colon = strchr(node->text, ':');
    g_autofree char *path = g_strndup(
        node->text, colon ? (size_t)(colon - node->text) : strlen(node->text));
    TopoValue value = {.valid = true, .text = path, .place = node->place};
    TopoDevice *device = topo_load_find_device(loader, &value);
    OpenEnd open = {link, end, node->place};
    int64_t port;

    if (!device || !device->part) {
        return;
    }
    if (topo_part_kind(device->part) != TOPO_PART_NTB) {
        topo_errors_add(loader->errors, node->place,
                        "%s is of kind %s; name an NTB adapter", device->path,
                        topo_part_kind_name(topo_part_kind(device->part)));
        return;
    }
    link->end[end] = device;
    if (!colon) {
        g_array_append_val(open_ends, open);
    } else if (!topo_units_parse(TOPO_UNIT_NONE, colon + 1, &port, NULL)) {
        topo_errors_add(loader->errors, node->place,
                        "'%s' is not a port number; write for example %s:0",
                        colon + 1, device->path);
    } else {
        claim_port(loader, link, end, port, node->place);
    }
}

static void load_ends(TopoLoader *loader, TopoLink *link,
                      const TopoValues *values, GArray *open_ends)
{
    g_autoptr(GPtrArray) ends = topo_values_items(values, "ends");
    const TopoValue *value = topo_values_get(values, "ends");

    if (!topo_values_given(values, "ends")) {
        return;
    }
    if (ends->len != 2) {
        topo_errors_add(loader->errors, value->place,
                        "a link has two ends, not %u; write [host.ntb, "
                        "host.ntb]",
                        ends->len);
        return;
    }
    load_end(loader, link, 0, g_ptr_array_index(ends, 0), open_ends);
    load_end(loader, link, 1, g_ptr_array_index(ends, 1), open_ends);
    if (link->end[0] && link->end[0] == link->end[1]) {
        topo_errors_add(loader->errors, value->place,
                        "both ends of the link are %s; name two adapters",
                        link->end[0]->path);
    }
}

static void load_propagation(TopoLoader *loader, TopoLink *link,
                             const TopoValues *values)
{
    int64_t length = DEFAULT_LENGTH_MM;

    if (topo_values_given(values, "length") &&
        topo_values_given(values, "propagation")) {
        topo_errors_add(loader->errors,
                        topo_values_get(values, "propagation")->place,
                        "a link cannot have both a length and a propagation "
                        "time; write one of them");
    }
    if (topo_values_given(values, "propagation")) {
        link->propagation_ps = topo_values_number(values, "propagation");
        return;
    }
    if (topo_values_given(values, "length")) {
        length = topo_values_number(values, "length");
    }
    link->propagation_ps = length * PS_PER_MM;
}

static void train(TopoLoader *loader, const Cable *cable)
{
    TopoLink *link = cable->link;
    char *ends[2];
    TopoTraining training = {
        .before = "",
        .place = {cable->speed_place, cable->width_place},
        .rate = {&link->speed_mtps, &link->width},
    };

    if (!link->end[0] || !link->end[1]) {
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        const TopoPart *part = link->end[i]->part;

        ends[i] = g_strdup_printf("the cable of %s", link->end[i]->path);
        training.end[i] = ends[i];
        training.most[i][0] = topo_part_speed(part, "cable.speed");
        training.most[i][1] = topo_part_width(part, "cable.width");
    }
    topo_load_train(loader, &training);
    g_free(ends[0]);
    g_free(ends[1]);
}

static TopoChip chip_of_part(const TopoPart *part)
{
    TopoChip chip = TOPO_CHIP_SWITCHTEC;

    if (!part || topo_part_kind(part) != TOPO_PART_NTB ||
        !topo_part_has(part, "chip")) {
        return chip;
    }
    while (strcmp(topo_chip_name(chip), topo_part_text(part, "chip")) != 0) {
        chip++;
    }
    return chip;
}

static void load_link_chip(TopoLoader *loader, TopoLink *link,
                           const TopoValues *values)
{
    const TopoDevice *const *end = (const TopoDevice *const *)link->end;
    TopoChip chips[2] = {TOPO_CHIP_SWITCHTEC, TOPO_CHIP_SWITCHTEC};

    if (topo_values_given(values, "chip")) {
        link->chip = (TopoChip)topo_values_number(values, "chip");
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        chips[i] = end[i] ? chip_of_part(end[i]->part) : chips[i];
        if (chips[i] == TOPO_CHIP_IDT) {
            topo_errors_add(loader->errors, link->place,
                            "%s is of part %s, a port of an IDT switch, which "
                            "joins hosts as a member of `chips`; write that "
                            "in place of a link, or give the link a `chip`",
                            end[i]->path, topo_part_name(end[i]->part));
            return;
        }
    }
    if (chips[0] != chips[1] && end[0] && end[1]) {
        topo_errors_add(loader->errors, link->place,
                        "%s is of part %s, which is chip %s, and %s of part "
                        "%s, which is chip %s; take parts of one chip, or give "
                        "the link a `chip`",
                        end[0]->path, topo_part_name(end[0]->part),
                        topo_chip_name(chips[0]), end[1]->path,
                        topo_part_name(end[1]->part), topo_chip_name(chips[1]));
    }
    link->chip = chips[0];
}

void topo_load_links(TopoLoader *loader, const TopoValues *file)
{
    g_autoptr(GPtrArray) items = topo_values_items(file, "links");
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GArray) open_ends = g_array_new(FALSE, TRUE, sizeof(OpenEnd));
    unsigned i;

    for (i = 0; i < items->len; i++) {
        const TopoNode *node = g_ptr_array_index(items, i);
        g_autoptr(TopoValues) values =
            topo_values_read(&topo_section_link, node, loader->errors);
        const TopoValue *name = topo_values_get(values, "name");
        TopoLink *link = g_new0(TopoLink, 1);
        Cable cable = {link, topo_values_get(values, "speed")->place,
                       topo_values_get(values, "width")->place};

        g_ptr_array_add(loader->loaded->pub.links, link);
        link->place = node->place;
        link->speed_mtps = (unsigned)topo_values_number(values, "speed");
        link->width = (unsigned)topo_values_number(values, "width");
        link->name = topo_load_text(loader, topo_values_text(values, "name"));
        if (topo_load_check_unique(loader, names, "link", link->name,
                                   name->place)) {
            g_hash_table_add(names, link->name);
        }
        load_propagation(loader, link, values);
        load_ends(loader, link, values, open_ends);
        load_link_chip(loader, link, values);
        train(loader, &cable);
    }
    for (i = 0; i < open_ends->len; i++) {
        take_port(loader, &g_array_index(open_ends, OpenEnd, i));
    }
}

/* A VM can borrow only if the IOMMUs of both hosts are on. */
static void check_guest(TopoLoader *loader, const TopoLend *lend,
                        TopoPlace place)
{
    const TopoHost *hosts[] = {lend->device->host, lend->to};
    unsigned i;

    if (lend->guest && !lend->vm) {
        topo_errors_add(loader->errors, place,
                        "guest names a VM, and no VM borrows the device; write "
                        "vm: on, or leave guest out");
    }
    for (i = 0; lend->vm && i < G_N_ELEMENTS(hosts); i++) {
        if (hosts[i] && !hosts[i]->iommu) {
            topo_errors_add(loader->errors, place,
                            "a VM can borrow only if the IOMMUs of both hosts "
                            "are on; write iommu: on for host %s",
                            hosts[i]->name);
        }
    }
}

const char *topo_chip_name(TopoChip chip)
{
    static const char *const names[TOPO_N_CHIPS] = {
        "switchtec",
        "amd",
        "intel-gen1",
        "intel-gen1-split",
        "intel-gen3",
        "intel-gen4",
        "intel-gen4-spr",
        "intel-gen5",
        "intel-gen6",
        "epf",
        "idt",
    };

    return names[chip];
}

/* The member of `chips` at which both hosts are; NULL: there is none. */
static const TopoNtbChip *find_chip(TopoLoader *loader, const TopoHost *a,
                                    const TopoHost *b)
{
    const GPtrArray *chips = loader->loaded->pub.chips;

    for (unsigned i = 0; i < chips->len; i++) {
        const TopoNtbChip *chip = chips->pdata[i];
        unsigned found = 0;

        for (unsigned j = 0; j < chip->ends->len; j++) {
            const TopoDevice *end = chip->ends->pdata[j];

            found += end->host == a || end->host == b;
        }
        if (found == 2) {
            return chip;
        }
    }
    return NULL;
}

/*
 * The driver of any other chip claims all BARs, so Device Lending finds none
 * for its windows.
 */
static void check_chip(TopoLoader *loader, const TopoLend *lend)
{
    const GPtrArray *links = loader->loaded->pub.links;
    const TopoHost *from = lend->device->host, *to = lend->to;
    const TopoNtbChip *chip = find_chip(loader, from, to);
    const TopoLink *refused = NULL;

    for (unsigned i = 0; i < links->len; i++) {
        const TopoLink *link = links->pdata[i];
        const TopoHost *ends[2] = {NULL, NULL};

        for (unsigned j = 0; j < 2; j++) {
            ends[j] = link->end[j] ? link->end[j]->host : NULL;
        }
        if ((ends[0] != from || ends[1] != to) &&
            (ends[0] != to || ends[1] != from)) {
            continue;
        }
        if (link->chip == TOPO_CHIP_SWITCHTEC) {
            return;
        }
        refused = link;
    }
    if (!refused && chip) {
        topo_errors_add(loader->errors, lend->place,
                        "%s cannot be lent through chip %s: its driver leaves "
                        "Device Lending no BAR; join %s and %s by a link of "
                        "chip switchtec",
                        lend->device->path, chip->name, from->name, to->name);
    }
    if (refused) {
        topo_errors_add(loader->errors, lend->place,
                        "%s cannot be lent over link %s: the driver of its "
                        "chip, %s, leaves Device Lending no BAR; join %s and "
                        "%s by a link of chip switchtec",
                        lend->device->path, refused->name,
                        topo_chip_name(refused->chip), from->name, to->name);
    }
}

static void load_lend(TopoLoader *loader, const TopoNode *node)
{
    g_autoptr(TopoValues) values =
        topo_values_read(&topo_section_lend, node, loader->errors);
    const TopoValue *name = topo_values_get(values, "device");
    TopoLend *lend = g_new0(TopoLend, 1);

    g_ptr_array_add(loader->loaded->pub.lends, lend);
    lend->place = node->place;
    lend->device = topo_load_find_device(loader, name);
    lend->to = topo_load_find_host(loader, topo_values_get(values, "to"));
    lend->window_bytes = topo_values_number(values, "window");
    lend->window_auto = lend->window_bytes < 0;
    if (lend->window_auto) {
        lend->window_bytes = 0;
    }
    lend->vm = topo_values_number(values, "vm") != 0;
    lend->mapped_msi = topo_values_number(values, "interrupts") != 0;
    lend->guest = topo_load_text(loader, topo_values_text(values, "guest"));
    lend->has_orders = topo_values_given(values, "p2p");
    lend->p2p = topo_values_items(values, "p2p");
    if (!lend->device) {
        return;
    }
    check_guest(loader, lend, topo_values_get(values, "vm")->place);
    if (lend->to) {
        check_chip(loader, lend);
    }
    if (lend->device->host == lend->to) {
        topo_errors_add(loader->errors, topo_values_get(values, "to")->place,
                        "%s is lent to its own host; name another host",
                        lend->device->path);
    }
    if (lend->device->part &&
        topo_part_kind(lend->device->part) == TOPO_PART_NTB) {
        topo_errors_add(loader->errors, name->place,
                        "%s is an NTB adapter and cannot be lent; name a "
                        "device behind it",
                        lend->device->path);
    }
    if (lend->device->functions->len > 0) {
        topo_errors_add(loader->errors, name->place,
                        "%s would lose its virtual functions; lend those "
                        "alone, or do not name them",
                        lend->device->path);
    }
    if (!g_hash_table_insert(loader->loaded->borrowers, lend->device,
                             lend->to)) {
        topo_errors_add(loader->errors, name->place,
                        "%s is lent twice; lend it to one host",
                        lend->device->path);
    }
}

static bool has_cable(const TopoLoader *loader, const TopoHost *a,
                      const TopoHost *b)
{
    const GPtrArray *links = loader->loaded->pub.links;

    for (unsigned i = 0; i < links->len; i++) {
        const TopoLink *link = links->pdata[i];
        const TopoHost *ends[2] = {NULL, NULL};

        for (unsigned j = 0; j < 2; j++) {
            ends[j] = link->end[j] ? link->end[j]->host : NULL;
        }
        if ((ends[0] == a && ends[1] == b) || (ends[0] == b && ends[1] == a)) {
            return true;
        }
    }
    return false;
}

/* Reports if the devices cannot be connected as an order needs it: their hosts
 * are those of the borrower and of lenders that a cable joins. */
static void check_order(TopoLoader *loader, const TopoLend *lend,
                        const TopoDevice *target, TopoPlace place)
{
    const TopoHost *to = g_hash_table_lookup(loader->loaded->borrowers, target);
    const TopoHost *source = lend->device->host;

    if (target == lend->device) {
        topo_errors_add(loader->errors, place,
                        "%s reaches itself anyway; name another device",
                        target->path);
    } else if (target->host != lend->to && to != lend->to) {
        topo_errors_add(loader->errors, place,
                        "%s has neither %s nor borrowed it; lend it to %s, or "
                        "name another device",
                        lend->to->name, target->path, lend->to->name);
    } else if (target->host != lend->to && target->host != source &&
               !has_cable(loader, source, target->host)) {
        topo_errors_add(loader->errors, place,
                        "%s and %s are not connected with each other; join "
                        "them by a link",
                        source->name, target->host->name);
    }
}

/* Finds the devices of `p2p:`, when all loans are known. Until then the loan
 * has the nodes with their names. */
static void find_orders(TopoLoader *loader, TopoLend *lend)
{
    g_autoptr(GPtrArray) nodes = lend->p2p;

    lend->p2p = g_ptr_array_new();
    for (unsigned i = 0; lend->device && lend->to && i < nodes->len; i++) {
        const TopoNode *node = nodes->pdata[i];
        const TopoValue value = {
            .valid = true, .text = node->text, .place = node->place};
        TopoDevice *target = topo_load_find_device(loader, &value);

        if (target) {
            g_ptr_array_add(lend->p2p, target);
            check_order(loader, lend, target, node->place);
        }
    }
}

void topo_load_lends(TopoLoader *loader, const TopoValues *file)
{
    g_autoptr(GPtrArray) items = topo_values_items(file, "lend");
    unsigned i;

    for (i = 0; i < items->len; i++) {
        load_lend(loader, g_ptr_array_index(items, i));
    }
    for (i = 0; i < items->len; i++) {
        find_orders(loader, loader->loaded->pub.lends->pdata[i]);
    }
}
