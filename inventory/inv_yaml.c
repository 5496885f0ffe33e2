/* SPDX-License-Identifier: MIT */
/* The description of a machine that was read. */
#include <string.h>

#include "inv_import_priv.h"
#include "table_text.h"
#include "topo_units.h"

#define SIZE_MAX_BYTES 4096 /* largest mps and mrrs */

/* The sections of the text. */
typedef struct Writer {
    const InvImporter *importer;
    GString *parts;
    GString *root_ports;
    GString *switches;
    GString *devices;
    GString *functions;
} Writer;

/* Speed and width of a link, or of what one end supports. 0: not known. */
typedef struct Rate {
    unsigned mtps, width;
} Rate;

char *inv_element_name(const InvImporter *importer, unsigned index,
                       const char *prefix)
{
    const InvFunction *function = inv_function_at(importer, index);
    TopoPciAddress address = function->pub.address;

    if (function->label) {
        return strcmp(prefix, "rp") == 0
                   ? g_strdup_printf("rp_%s", function->label)
                   : g_strdup(function->label);
    }
    return address.domain > 0
               ? g_strdup_printf("%s_%x_%02x_%02x_%x", prefix, address.domain,
                                 address.bus, address.dev, address.fn)
               : g_strdup_printf("%s_%02x_%02x_%x", prefix, address.bus,
                                 address.dev, address.fn);
}

static unsigned n_functions(const Writer *writer)
{
    return writer->importer->machine->functions->len;
}

static const InvPlace *place_of(const Writer *writer, unsigned index)
{
    return &writer->importer->places[index];
}

static const InvFunction *function_of(const Writer *writer, unsigned index)
{
    return inv_function_at(writer->importer, index);
}

/* Appends @text in double quotes. */
static void append_quoted(GString *out, const char *text)
{
    g_autofree char *clean = table_text_from(text, -1, false);

    g_string_append_c(out, '"');
    for (const char *at = clean; *at; at++) {
        if (*at == '"' || *at == '\\') {
            g_string_append_c(out, '\\');
        }
        g_string_append_c(out, *at);
    }
    g_string_append_c(out, '"');
}

/* Appends @begin, "speed: ..." and @end, and the same for the width, for what
 * is known. */
static void append_rate(GString *out, const char *begin, Rate rate,
                        const char *end)
{
    if (rate.mtps) {
        g_autofree char *speed = topo_units_format(TOPO_UNIT_SPEED, rate.mtps);

        g_string_append_printf(out, "%sspeed: %s%s", begin, speed, end);
    }
    if (rate.width) {
        g_string_append_printf(out, "%swidth: x%u%s", begin, rate.width, end);
    }
}

static void append_bytes(GString *out, const char *key, unsigned bytes)
{
    g_autofree char *text = topo_units_format(TOPO_UNIT_BYTES, bytes);

    g_string_append_printf(out, "%s: %s", key, text);
}

/* ---- Links ------------------------------------------------------------- */

static Rate rate_of(const InvFunction *function)
{
    return (Rate){function->pub.speed_mtps, function->pub.width};
}

static Rate rate_max(Rate a, Rate b)
{
    return (Rate){MAX(a.mtps, b.mtps), MAX(a.width, b.width)};
}

/* Returns the smaller one of two numbers, of which 0 is not known. */
static unsigned min_known(unsigned a, unsigned b)
{
    return a && b ? MIN(a, b) : MAX(a, b);
}

static Rate rate_min(Rate a, Rate b)
{
    return (Rate){min_known(a.mtps, b.mtps), min_known(a.width, b.width)};
}

static Rate with_generic(Rate rate)
{
    return (Rate){rate.mtps ? rate.mtps : INV_GENERIC_MTPS,
                  rate.width ? rate.width : INV_GENERIC_WIDTH};
}

/* Returns the best that the downstream ports of switch @index support. */
static Rate downstream_rate(const Writer *writer, unsigned index)
{
    Rate best = {0};

    for (unsigned i = 0; i < n_functions(writer); i++) {
        if (place_of(writer, i)->parent == (int)index &&
            (place_of(writer, i)->role == INV_ROLE_DOWNSTREAM ||
             inv_has_hidden_port(writer->importer, i))) {
            best = rate_max(best, rate_of(function_of(writer, i)));
        }
    }
    return best;
}

/* Returns what the part of element @index supports. The part of a switch has
 * one speed for all its ports. */
static Rate part_rate(const Writer *writer, unsigned index)
{
    Rate own = rate_of(function_of(writer, index));

    if (place_of(writer, index)->role == INV_ROLE_UPSTREAM) {
        own.mtps = MAX(own.mtps, downstream_rate(writer, index).mtps);
    }
    return own;
}

/* Returns what the model gives the port above element @index: a root port, or a
 * port of the switch @sw, -1 for a root port. */
static Rate port_rate(const Writer *writer, unsigned index, int sw)
{
    const InvPlace *place = place_of(writer, index);
    Rate rate, down;

    if (sw < 0) {
        bool is_hidden = inv_has_hidden_port(writer->importer, index);

        return with_generic(rate_of(
            function_of(writer, is_hidden ? index : (unsigned)place->parent)));
    }
    rate = with_generic(part_rate(writer, (unsigned)sw));
    down = downstream_rate(writer, (unsigned)sw);
    rate.width = down.width ? down.width : rate.width;
    return rate;
}

/* Returns the index of the switch above element @index; -1: a root port. */
static int switch_above(const Writer *writer, unsigned index)
{
    const InvPlace *place = place_of(writer, index);

    if (inv_has_hidden_port(writer->importer, index)) {
        return place->parent;
    }
    return place_of(writer, (unsigned)place->parent)->role ==
                   INV_ROLE_DOWNSTREAM
               ? place_of(writer, (unsigned)place->parent)->parent
               : -1;
}

/* Tells of a link that was slower or narrower than both its ends allow. */
static void note_slow(const Writer *writer, unsigned index, Rate best,
                      Rate trained)
{
    g_autofree char *address =
        topo_address_to_string(function_of(writer, index)->pub.address);
    g_autofree char *name = NULL;

    if ((trained.mtps == 0 || trained.mtps >= best.mtps) &&
        (trained.width == 0 || trained.width >= best.width)) {
        return;
    }
    name = g_strdup_printf("%s (%gGT/s x%u of %gGT/s x%u)", address,
                           min_known(trained.mtps, best.mtps) / 1000.0,
                           min_known(trained.width, best.width),
                           best.mtps / 1000.0, best.width);
    inv_machine_note(writer->importer->machine,
                     "links that were slower or narrower than their ends "
                     "allow, as LnkSta says, are so in the model, too; if they "
                     "only saved power, delete speed and width of their "
                     "devices below `hosts`",
                     name);
}

/* Appends speed and width of the link above element @index where the model
 * would give it better ones. */
static void append_link(const Writer *writer, GString *out, unsigned index)
{
    const InvFunction *function = function_of(writer, index);
    const InvPlace *place = place_of(writer, index);
    int sw = switch_above(writer, index);
    Rate model = rate_min(with_generic(part_rate(writer, index)),
                          port_rate(writer, index, sw));
    Rate real = rate_of(function);
    Rate trained = {function->link_mtps, function->link_width};
    Rate shown = {0};

    if (!inv_has_hidden_port(writer->importer, index)) {
        const InvFunction *port = function_of(writer, (unsigned)place->parent);

        real = rate_min(real, rate_of(port));
        if (!trained.mtps && !trained.width) {
            trained = (Rate){port->link_mtps, port->link_width};
        }
    }
    note_slow(writer, index, real, trained);
    real = rate_min(real, trained);
    shown.mtps = real.mtps && real.mtps < model.mtps ? real.mtps : 0;
    shown.width = real.width && real.width < model.width ? real.width : 0;
    append_rate(out, ", ", shown, "");
}

static void append_place(const Writer *writer, GString *out, unsigned index)
{
    const InvImporter *importer = writer->importer;
    const InvPlace *place = place_of(writer, index);
    bool is_hidden = inv_has_hidden_port(importer, index);
    int sw = switch_above(writer, index);
    g_autofree char *name = NULL;

    if (sw < 0) {
        name = inv_element_name(
            importer, is_hidden ? index : (unsigned)place->parent, "rp");
        g_string_append_printf(out, "at: %s", name);
        return;
    }
    name = inv_element_name(importer, (unsigned)sw, "sw");
    g_string_append_printf(
        out, "at: \"%s:%u\"", name,
        is_hidden ? place->port
                  : place_of(writer, (unsigned)place->parent)->port);
}

/* Returns whether a part can have @bytes as its Max_Payload_Size or
 * Max_Read_Request_Size. */
static bool is_size(unsigned bytes)
{
    return bytes >= 128 && bytes <= SIZE_MAX_BYTES &&
           (bytes & (bytes - 1)) == 0;
}

/* Returns the larger one of @most and the Max_Payload_Size of @function, if it
 * is known. */
static unsigned max_mps(unsigned most, const InvFunction *function)
{
    unsigned mps = function->settings.mps_bytes;

    return is_size(mps) ? MAX(most, mps) : most;
}

/* ---- Switches ---------------------------------------------------------- */

/* Finds ACS of the downstream ports of switch @index. Returns in *ret_on
 * whether one of them redirects, and in *ret_direct its Direct Translated P2P.
 * Returns whether a port has ACS; -1: not known. */
static int find_acs(const Writer *writer, unsigned index, bool *ret_on,
                    const char **ret_direct)
{
    int has_acs = -1;
    bool is_off = false;

    *ret_on = false;
    *ret_direct = NULL;
    for (unsigned i = 0; i < n_functions(writer); i++) {
        const InvSettings *settings = &function_of(writer, i)->settings;

        if (place_of(writer, i)->role != INV_ROLE_DOWNSTREAM ||
            place_of(writer, i)->parent != (int)index) {
            continue;
        }
        has_acs = MAX(has_acs, settings->acs_can_redirect);
        if (settings->acs_can_redirect != 1) {
            continue;
        }
        if (settings->acs_redirect == 1) {
            *ret_on = true;
        } else {
            is_off = true;
        }
        if (settings->acs_direct == 1) {
            *ret_direct = settings->acs_completions == 1 ? "requests" : "on";
        }
    }
    if (*ret_on && is_off) {
        g_autofree char *name = inv_element_name(writer->importer, index, "sw");

        inv_machine_note(writer->importer->machine,
                         "some ports of these switches redirect (ACS) and "
                         "others do not; in the model all do",
                         name);
    }
    return has_acs;
}

static void write_switch(Writer *writer, unsigned index)
{
    const InvFunction *function = function_of(writer, index);
    g_autofree char *name = inv_element_name(writer->importer, index, "sw");
    unsigned width = downstream_rate(writer, index).width;
    unsigned mps = max_mps(0, function);
    const char *direct;
    bool is_on;
    int has_acs;

    for (unsigned i = 0; i < n_functions(writer); i++) {
        if (place_of(writer, i)->role == INV_ROLE_DOWNSTREAM &&
            place_of(writer, i)->parent == (int)index) {
            mps = max_mps(mps, function_of(writer, i));
        }
    }
    g_string_append_printf(writer->parts, "  %s:\n    base: generic-switch\n",
                           name);
    if (function->pub.name) {
        g_string_append(writer->parts, "    description: ");
        append_quoted(writer->parts, function->pub.name);
        g_string_append_c(writer->parts, '\n');
    }
    append_rate(writer->parts, "    ", part_rate(writer, index), "\n");
    if (width) {
        g_string_append_printf(writer->parts, "    downstream_width: x%u\n",
                               width);
    }
    g_string_append_printf(writer->parts, "    ports: %u\n",
                           MAX(place_of(writer, index)->ports, 1));
    if (mps) {
        append_bytes(writer->parts, "    mps", mps);
        g_string_append_c(writer->parts, '\n');
    }
    g_string_append_printf(writer->switches, "      - {name: %s, part: %s, ",
                           name, name);
    append_place(writer, writer->switches, index);
    append_link(writer, writer->switches, index);
    has_acs = find_acs(writer, index, &is_on, &direct);
    if (has_acs >= 0) {
        g_string_append_printf(writer->parts, "    acs: %s\n",
                               has_acs ? "on" : "off");
    }
    if (has_acs == 1) {
        g_string_append_printf(writer->switches, ", acs: %s",
                               is_on ? "on" : "off");
        if (direct) {
            g_string_append_printf(writer->switches, ", acs_direct: %s",
                                   direct);
        }
    }
    g_string_append(writer->switches, "}\n");
}

/* ---- Devices ----------------------------------------------------------- */

static void append_bars(GString *out, const InvFunction *function)
{
    unsigned registers = 0;
    bool any = false;

    for (unsigned i = 0; i < function->n_regions; i++) {
        const InvRegion *region = &function->regions[i];
        g_autofree char *size =
            topo_units_format(TOPO_UNIT_BYTES, (int64_t)region->size_bytes);

        registers += region->is_64bit ? 2 : 1;
        /* The model maps BARs of 128 B and more. */
        if (region->size_bytes < 128 || registers > 6 ||
            region->size_bytes > UINT64_C(1) << 50 ||
            (!region->is_64bit && region->size_bytes > UINT64_C(1) << 31) ||
            (region->size_bytes & (region->size_bytes - 1)) != 0) {
            continue;
        }
        g_string_append_printf(
            out, "%s\n      - {size: %s%s%s}", any ? "" : "    bars:", size,
            region->is_prefetchable ? ", prefetchable: on" : "",
            region->is_64bit ? "" : ", width: 32");
        any = true;
    }
    if (any) {
        g_string_append_c(out, '\n');
    }
}

/* Returns how many tags a device uses. Those of 14 bits are for FLIT mode
 * (PCIe 6.0 s2.2.6.2). */
static unsigned tags_of(const InvFunction *function)
{
    const InvSettings *settings = &function->settings;

    if (settings->fourteen_bit_tags == 1 &&
        function->pub.speed_mtps == INV_SPEED_MAX) {
        return 15360;
    }
    return settings->ten_bit_tags == 1    ? 768
           : settings->extended_tags == 1 ? 256
                                          : 32;
}

/* Appends the settings of a device. The DMA engine is assumed to write and read
 * as much with a TLP as they allow. */
static void append_settings(GString *out, const InvFunction *function)
{
    const InvSettings *settings = &function->settings;
    bool has_mps = is_size(settings->mps_bytes);
    bool has_mrrs = is_size(settings->mrrs_bytes);

    if (has_mps) {
        append_bytes(out, "    mps", settings->mps_bytes);
        g_string_append_c(out, '\n');
    }
    if (has_mrrs) {
        append_bytes(out, "    mrrs", settings->mrrs_bytes);
        g_string_append_c(out, '\n');
    }
    if (settings->extended_tags >= 0) {
        g_string_append_printf(out, "    tags: %u\n", tags_of(function));
    }
    if (settings->relaxed_ordering >= 0) {
        g_string_append_printf(out, "    relaxed_ordering: %s\n",
                               settings->relaxed_ordering ? "on" : "off");
    }
    /* Off is the default, and older versions of lspci do not tell. */
    if (settings->id_ordering == 1) {
        g_string_append(out, "    id_ordering: on\n");
    }
    if (has_mps || has_mrrs) {
        g_string_append(out, "    dma: {");
        if (has_mps) {
            append_bytes(out, "write_size", settings->mps_bytes);
        }
        if (has_mrrs) {
            append_bytes(out, has_mps ? ", read_size" : "read_size",
                         settings->mrrs_bytes);
        }
        g_string_append(out, "}\n");
    }
}

static void write_device(Writer *writer, unsigned index)
{
    const InvFunction *function = function_of(writer, index);
    const char *prefix;
    const char *type = inv_card_type(&function->pub, &prefix);
    g_autofree char *name = inv_element_name(writer->importer, index, prefix);
    g_autofree char *address = topo_address_to_string(function->pub.address);
    unsigned ports = 1;

    while (index + ports < n_functions(writer) &&
           place_of(writer, index + ports)->role == INV_ROLE_PORT) {
        ports++;
    }
    g_string_append_printf(writer->parts, "  %s:\n    base: generic-device\n",
                           name);
    append_rate(writer->parts, "    ", rate_of(function), "\n");
    append_bars(writer->parts, function);
    append_settings(writer->parts, function);
    g_string_append_printf(writer->parts, "    card: {type: %s, ports: %u",
                           type, ports);
    if (function->pub.name) {
        g_string_append(writer->parts, ",\n           name: ");
        append_quoted(writer->parts, function->pub.name);
    }
    g_string_append(writer->parts, "}\n");
    g_string_append_printf(writer->devices, "      - {name: %s, part: %s, ",
                           name, name);
    append_place(writer, writer->devices, index);
    if (!writer->importer->machine->has_no_addresses) {
        g_string_append_printf(writer->devices, ", address: \"%s\"", address);
    }
    append_link(writer, writer->devices, index);
    g_string_append(writer->devices, "}\n");
}

/* ---- Functions --------------------------------------------------------- */

/* Returns whether the tree of bus numbers has the function where it is. */
static bool is_told_by_buses(const Writer *writer, const TopoFunction *function)
{
    TopoFunction other = *function;

    if (!function->has_above) {
        return true;
    }
    other.has_above = false;
    return inv_bridge_above(writer->importer->machine->functions, &other) ==
           inv_bridge_above(writer->importer->machine->functions, function);
}

static void write_function(Writer *writer, const TopoFunction *function,
                           bool is_upstream)
{
    g_autofree char *address = topo_address_to_string(function->address);
    GString *out = writer->functions;

    g_string_append_printf(out, "      - {address: \"%s\"", address);
    if (!is_told_by_buses(writer, function)) {
        g_autofree char *above = topo_address_to_string(function->above);

        g_string_append_printf(out, ", below: \"%s\"", above);
    }
    if (function->is_bridge) {
        g_string_append_printf(out, ", buses: \"%02x-%02x\"",
                               function->secondary, function->subordinate);
    }
    if (is_upstream) {
        g_string_append(out, ", upstream: on");
    }
    if (function->class_code >= 0) {
        g_string_append_printf(out, ", class: 0x%06x",
                               (unsigned)function->class_code);
    }
    if (function->vendor_id >= 0 && function->device_id >= 0) {
        g_string_append_printf(out, ", vendor: 0x%04x, device: 0x%04x",
                               (unsigned)function->vendor_id,
                               (unsigned)function->device_id);
    }
    append_rate(out, ", ", (Rate){function->speed_mtps, function->width}, "");
    if (function->numa_node >= 0 && function->numa_node <= G_MAXUINT16) {
        g_string_append_printf(out, ", numa_node: %d", function->numa_node);
    }
    if (function->name) {
        g_string_append(out, ",\n         name: ");
        append_quoted(out, function->name);
    }
    g_string_append(out, "}\n");
}

/* ---- The CPU ----------------------------------------------------------- */

/* Returns whether @index is below @root, or @root itself. */
static bool is_below(const Writer *writer, int index, unsigned root)
{
    unsigned steps = 0;

    while (index >= 0 && index != (int)root && steps++ < n_functions(writer)) {
        index = place_of(writer, (unsigned)index)->parent;
    }
    return index == (int)root;
}

/* Returns the memory node of root port @index: its own, or that of something
 * below it. -1: not known. */
static int node_of(const Writer *writer, unsigned index)
{
    int node = function_of(writer, index)->pub.numa_node;

    for (unsigned i = 0; node < 0 && i < n_functions(writer); i++) {
        if (function_of(writer, i)->pub.numa_node >= 0 &&
            is_below(writer, (int)i, index)) {
            node = function_of(writer, i)->pub.numa_node;
        }
    }
    return node;
}

static void write_root_port(Writer *writer, unsigned index)
{
    g_autofree char *name = inv_element_name(writer->importer, index, "rp");
    int node = node_of(writer, index);
    Rate rate = with_generic(rate_of(function_of(writer, index)));

    g_string_append_printf(writer->root_ports, "      - {name: %s", name);
    append_rate(writer->root_ports, ", ", rate, "");
    if (node > 0 && node < INV_NODES_MAX) {
        g_string_append_printf(writer->root_ports, ", node: %d", node);
    } else if (node >= INV_NODES_MAX) {
        inv_machine_note(writer->importer->machine,
                         "a root of the model has the memory nodes 0 to 15; "
                         "these root ports are in node 0",
                         name);
    }
    g_string_append(writer->root_ports, "}\n");
}

/* Appends the largest MPS and the smallest RCB of the root ports. */
static void append_root_settings(const Writer *writer, GString *out)
{
    unsigned mps = 0, rcb = 0;

    for (unsigned i = 0; i < n_functions(writer); i++) {
        const InvFunction *function = function_of(writer, i);

        if (place_of(writer, i)->role == INV_ROLE_ROOT_PORT) {
            mps = max_mps(mps, function);
            rcb = min_known(rcb, function->settings.rcb_bytes);
        }
    }
    if (mps) {
        append_bytes(out, "    mps", mps);
        g_string_append_c(out, '\n');
    }
    if (mps && mps < INV_GENERIC_MPS) {
        append_bytes(out, "    completion_size", mps);
        g_string_append_c(out, '\n');
    }
    if (rcb == 64 || rcb == 128) {
        append_bytes(out, "    rcb", rcb);
        g_string_append_c(out, '\n');
    }
}

/* Tells that the smallest Max_Payload_Size of the elements counts for all. */
static void note_mps(const Writer *writer)
{
    unsigned least = 0, most = 0;
    g_autofree char *name = NULL;

    for (unsigned i = 0; i < n_functions(writer); i++) {
        unsigned mps = function_of(writer, i)->settings.mps_bytes;

        if (!inv_is_element(writer->importer, i) || !is_size(mps)) {
            continue;
        }
        if (least == 0 || mps < least) {
            g_autofree char *address =
                topo_address_to_string(function_of(writer, i)->pub.address);

            g_free(name);
            name = g_strdup_printf("%uB, of %s", mps, address);
            least = mps;
        }
        most = MAX(most, mps);
    }
    if (least < most) {
        inv_machine_note(writer->importer->machine,
                         "the model has one Max_Payload_Size for all, the "
                         "smallest; delete mps and dma of parts that do not "
                         "matter",
                         name);
    }
}

#define VENDOR_INTEL      0x8086
#define CLASS_HOST_BRIDGE 0x0600 /* base class and subclass */

/* True if Linux lets devices below different root ports of this host bridge use
 * each other (pci_p2pdma_whitelist of drivers/pci/p2pdma.c in Linux 6.12):
 * those of Intel's servers. */
static bool is_forwarder(const TopoFunction *bridge)
{
    static const int ids[] = {0x3c00, 0x3c01, 0x2f00, 0x2f01, 0x2020,
                              0x2030, 0x2031, 0x2032, 0x2033, 0x09a2};

    for (unsigned i = 0; i < G_N_ELEMENTS(ids); i++) {
        if (bridge->device_id == ids[i]) {
            return true;
        }
    }
    return false;
}

/* Tells that an Intel root with several root ports may not forward requests
 * between them. */
static void note_p2p(const Writer *writer)
{
    g_autofree char *name = NULL;
    unsigned ports = 0;

    for (unsigned i = 0; i < n_functions(writer); i++) {
        const TopoFunction *function = &function_of(writer, i)->pub;

        ports += inv_has_root_port(writer->importer, i);
        if (function->vendor_id != VENDOR_INTEL || function->address.dev > 0) {
            continue;
        }
        if (is_forwarder(function)) {
            return;
        }
        if (function->class_code >> 8 == CLASS_HOST_BRIDGE && !name) {
            name = topo_address_to_string(function->address);
        }
    }
    if (name && ports > 1) {
        inv_machine_note(writer->importer->machine,
                         "Linux trusts this host bridge with no requests from "
                         "one root port to another; the model forwards all, "
                         "unless the part cpu has p2p: none or p2p: writes",
                         name);
    }
}

/* ---- All of it --------------------------------------------------------- */

static void write_sections(Writer *writer)
{
    for (unsigned i = 0; i < n_functions(writer); i++) {
        InvRole role = place_of(writer, i)->role;

        if (!writer->importer->machine->has_no_addresses) {
            write_function(writer, &function_of(writer, i)->pub,
                           role == INV_ROLE_UPSTREAM);
        }
        if (inv_has_root_port(writer->importer, i)) {
            write_root_port(writer, i);
        }
        if (role == INV_ROLE_UPSTREAM) {
            write_switch(writer, i);
        } else if (role == INV_ROLE_DEVICE) {
            write_device(writer, i);
        }
    }
    if (writer->root_ports->len == 0) {
        /* A CPU without root ports is no part. */
        g_string_append(writer->root_ports, "      - {name: rp0");
        append_rate(writer->root_ports, ", ", with_generic((Rate){0}), "");
        g_string_append(writer->root_ports, "}\n");
    }
    note_mps(writer);
    note_p2p(writer);
}

char *inv_description_text(const InvImporter *importer, const char *host)
{
    g_autoptr(GString) parts = g_string_new(NULL);
    g_autoptr(GString) root_ports = g_string_new(NULL);
    g_autoptr(GString) switches = g_string_new(NULL);
    g_autoptr(GString) devices = g_string_new(NULL);
    g_autoptr(GString) functions = g_string_new(NULL);
    Writer writer = {importer, parts, root_ports, switches, devices, functions};
    GString *text = g_string_new(NULL);

    write_sections(&writer);
    g_string_append_printf(text,
                           "name: %s\n\nparts:\n  cpu:\n    base: "
                           "generic-host\n    root_ports:\n%s",
                           host, root_ports->str);
    append_root_settings(&writer, text);
    g_string_append_printf(text,
                           "%s\nhosts:\n"
                           "  - name: %s\n    cpu: cpu\n",
                           parts->str, host);
    if (switches->len > 0) {
        g_string_append_printf(text, "    switches:\n%s", switches->str);
    }
    if (devices->len > 0) {
        g_string_append_printf(text, "    devices:\n%s", devices->str);
    }
    if (functions->len > 0) {
        g_string_append_printf(text, "    functions:\n%s", functions->str);
    }
    return g_string_free(text, FALSE);
}
