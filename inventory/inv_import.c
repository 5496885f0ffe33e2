/* SPDX-License-Identifier: MIT */
#include "inv_import.h"

#include <string.h>

#include "inv_inventory.h"
#include "inv_machine_priv.h"
#include "topo_units.h"

#define GENERIC_SPEED "16.0GT/s" /* of scenarios/parts/generic-*.yaml */
#define GENERIC_MTPS  16000
#define GENERIC_WIDTH 16

/* The kinds of element that a function becomes in the model. */
typedef enum Role {
    ROLE_NONE,       /* left out */
    ROLE_ROOT_PORT,  /* a root port */
    ROLE_UPSTREAM,   /* a switch */
    ROLE_DOWNSTREAM, /* a port of a switch */
    ROLE_DEVICE,     /* a device, with further functions as its ports */
    ROLE_PORT,       /* a further port of a device */
} Role;

typedef struct Importer {
    const InvMachine *machine;
    Role *roles;          /* by function */
    const char **reasons; /* by function: why it is left out; NULL: it is not */
    GString *parts;
    GString *root_ports;
    GString *switches;
    GString *devices;
    GString *functions;
} Importer;

static InvFunction *function_at(const Importer *importer, unsigned index)
{
    return importer->machine->functions->pdata[index];
}

/* Returns the index of the bridge above function @index; -1: a root bus. */
static int parent_of(const Importer *importer, unsigned index)
{
    const InvFunction *function = function_at(importer, index);
    const TopoFunction *bridge =
        inv_bridge_above(importer->machine->functions, function->pub.address);
    unsigned at;

    return bridge && g_ptr_array_find(importer->machine->functions, bridge, &at)
               ? (int)at
               : -1;
}

static Role parent_role(const Importer *importer, unsigned index)
{
    int parent = parent_of(importer, index);

    return parent < 0 ? ROLE_NONE : importer->roles[parent];
}

/* Returns whether bridges are below function @index, and nothing else. */
static bool has_only_bridges(const Importer *importer, unsigned index)
{
    unsigned bridges = 0;

    for (unsigned i = 0; i < importer->machine->functions->len; i++) {
        if (parent_of(importer, i) == (int)index) {
            if (!function_at(importer, i)->pub.is_bridge) {
                return false;
            }
            bridges++;
        }
    }
    return bridges > 0;
}

/* Returns the device of which @index is a further port: function 0 of the same
 * PCI device, of the same kind, with all functions in between. -1: none. */
static int first_port_of(const Importer *importer, unsigned index)
{
    const TopoFunction *own = &function_at(importer, index)->pub;
    const TopoFunction *last;

    if (own->address.fn == 0 || index == 0) {
        return -1;
    }
    last = &function_at(importer, index - 1)->pub;
    if (last->address.domain != own->address.domain ||
        last->address.bus != own->address.bus ||
        last->address.dev != own->address.dev ||
        last->address.fn + 1 != own->address.fn ||
        last->vendor_id != own->vendor_id ||
        last->device_id != own->device_id ||
        last->class_code != own->class_code || own->class_code < 0 ||
        g_strcmp0(last->name, own->name) != 0) {
        return -1;
    }
    if (importer->roles[index - 1] == ROLE_DEVICE) {
        return (int)index - 1;
    }
    return importer->roles[index - 1] == ROLE_PORT
               ? first_port_of(importer, index - 1)
               : -1;
}

static Role bridge_role(const Importer *importer, unsigned index,
                        const char **ret_reason)
{
    const InvFunction *function = function_at(importer, index);
    Role above = parent_role(importer, index);

    if (importer->machine->is_short) {
        return ROLE_UPSTREAM;
    }
    *ret_reason = "a bridge to conventional PCI";
    if (function->port == INV_PORT_TO_PCI ||
        function->port == INV_PORT_FROM_PCI ||
        (function->port == INV_PORT_NONE && importer->machine->has_links)) {
        return ROLE_NONE;
    }
    if (parent_of(importer, index) < 0) {
        return ROLE_ROOT_PORT;
    }
    if (above == ROLE_UPSTREAM) {
        return ROLE_DOWNSTREAM;
    }
    *ret_reason = "not below a root port or switch that the model has";
    if (above != ROLE_ROOT_PORT && above != ROLE_DOWNSTREAM) {
        return ROLE_NONE;
    }
    if (function->port == INV_PORT_UPSTREAM ||
        has_only_bridges(importer, index)) {
        *ret_reason = "a second switch on its bus";
        return function->pub.address.dev == 0 && function->pub.address.fn == 0
                   ? ROLE_UPSTREAM
                   : ROLE_NONE;
    }
    *ret_reason = "a bridge that is no port of a switch";
    return ROLE_NONE;
}

static Role endpoint_role(const Importer *importer, unsigned index,
                          const char **ret_reason)
{
    const InvFunction *function = function_at(importer, index);
    Role above = parent_role(importer, index);

    if (importer->machine->is_short) {
        *ret_reason = "not function 0 of device 0 on its bus";
        return first_port_of(importer, index) >= 0 ? ROLE_PORT
               : function->pub.address.fn == 0     ? ROLE_DEVICE
                                                   : ROLE_NONE;
    }
    if (parent_of(importer, index) < 0) {
        *ret_reason = "part of the root complex";
        return ROLE_NONE;
    }
    *ret_reason = "not below a root port or switch that the model has";
    if (above != ROLE_ROOT_PORT && above != ROLE_DOWNSTREAM) {
        return ROLE_NONE;
    }
    if (first_port_of(importer, index) >= 0) {
        return ROLE_PORT;
    }
    *ret_reason = "not function 0 of device 0 on its bus";
    return function->pub.address.dev == 0 && function->pub.address.fn == 0
               ? ROLE_DEVICE
               : ROLE_NONE;
}

/* Gives each function its role. A bridge's role depends on that of the bridge
 * above it, which is on a bus with a lower number: it came first. */
static void find_roles(Importer *importer)
{
    for (unsigned i = 0; i < importer->machine->functions->len; i++) {
        const char *reason = NULL;

        importer->roles[i] = function_at(importer, i)->pub.is_bridge
                                 ? bridge_role(importer, i, &reason)
                                 : endpoint_role(importer, i, &reason);
        importer->reasons[i] = importer->roles[i] == ROLE_NONE ? reason : NULL;
    }
}

/* ---- YAML -------------------------------------------------------------- */

/* Returns a name such as "sw_0a_00_0", to be freed. */
static char *name_of(const char *prefix, TopoPciAddress address)
{
    return address.domain > 0
               ? g_strdup_printf("%s_%x_%02x_%02x_%x", prefix, address.domain,
                                 address.bus, address.dev, address.fn)
               : g_strdup_printf("%s_%02x_%02x_%x", prefix, address.bus,
                                 address.dev, address.fn);
}

/* Appends @text in double quotes. */
static void append_quoted(GString *out, const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);

    g_string_append_c(out, '"');
    for (const char *at = valid; *at; at = g_utf8_next_char(at)) {
        gunichar letter = g_utf8_get_char(at);

        if (letter == '"' || letter == '\\') {
            g_string_append_c(out, '\\');
        }
        /* YAML refuses control characters. */
        g_string_append_unichar(out, g_unichar_iscntrl(letter) ? ' ' : letter);
    }
    g_string_append_c(out, '"');
}

/* Appends "speed: ..., width: ...", with generic numbers for unknown ones. */
static void append_link(GString *out, const TopoFunction *function)
{
    g_autofree char *speed = topo_units_format(
        TOPO_UNIT_SPEED,
        function->speed_mtps ? function->speed_mtps : GENERIC_MTPS);

    g_string_append_printf(out, "speed: %s, width: x%u", speed,
                           function->width ? function->width : GENERIC_WIDTH);
}

/* Returns whether function @index has a port above it in the model that the
 * source does not show. */
static bool has_hidden_port(const Importer *importer, unsigned index)
{
    return importer->machine->is_short &&
           (importer->roles[index] == ROLE_UPSTREAM ||
            importer->roles[index] == ROLE_DEVICE);
}

/* Appends the place below a port that the source does not show. */
static void append_hidden_place(const Importer *importer, GString *out,
                                unsigned index)
{
    int parent = parent_of(importer, index);
    g_autofree char *name = NULL;
    unsigned port = 0;

    if (parent < 0) {
        name = name_of("rp", function_at(importer, index)->pub.address);
        g_string_append_printf(out, "at: %s", name);
        return;
    }
    for (unsigned i = 0; i < index; i++) {
        port += has_hidden_port(importer, i) && parent_of(importer, i) == parent
                    ? 1
                    : 0;
    }
    name = name_of("sw", function_at(importer, (unsigned)parent)->pub.address);
    g_string_append_printf(out, "at: \"%s:%u\"", name, port);
}

static void append_place(const Importer *importer, GString *out, unsigned index)
{
    int parent = parent_of(importer, index);
    const TopoFunction *bridge;
    g_autofree char *name = NULL;
    unsigned port = 0;
    int above;

    if (importer->machine->is_short) {
        append_hidden_place(importer, out, index);
        return;
    }
    bridge = &function_at(importer, (unsigned)parent)->pub;
    if (importer->roles[parent] == ROLE_ROOT_PORT) {
        name = name_of("rp", bridge->address);
        g_string_append_printf(out, "at: %s", name);
        return;
    }
    above = parent_of(importer, (unsigned)parent);
    name = name_of("sw", function_at(importer, (unsigned)above)->pub.address);
    for (unsigned i = 0; i < (unsigned)parent; i++) {
        port += importer->roles[i] == ROLE_DOWNSTREAM &&
                        parent_of(importer, i) == above
                    ? 1
                    : 0;
    }
    g_string_append_printf(out, "at: \"%s:%u\"", name, port);
}

static void write_switch(Importer *importer, unsigned index)
{
    const InvFunction *function = function_at(importer, index);
    g_autofree char *name = name_of("sw", function->pub.address);
    unsigned width = 0, ports = 0;

    for (unsigned i = 0; i < importer->machine->functions->len; i++) {
        if ((importer->roles[i] == ROLE_DOWNSTREAM ||
             has_hidden_port(importer, i)) &&
            parent_of(importer, i) == (int)index) {
            width = MAX(width, function_at(importer, i)->pub.width);
            ports++;
        }
    }
    g_string_append_printf(importer->parts, "  %s:\n    base: generic-switch\n",
                           name);
    if (function->pub.name) {
        g_string_append(importer->parts, "    description: ");
        append_quoted(importer->parts, function->pub.name);
        g_string_append_c(importer->parts, '\n');
    }
    if (function->pub.speed_mtps && function->pub.width) {
        g_autofree char *speed =
            topo_units_format(TOPO_UNIT_SPEED, function->pub.speed_mtps);

        g_string_append_printf(importer->parts,
                               "    speed: %s\n    width: x%u\n", speed,
                               function->pub.width);
    }
    if (width) {
        g_string_append_printf(importer->parts, "    downstream_width: x%u\n",
                               width);
    }
    g_string_append_printf(importer->parts, "    ports: %u\n", MAX(ports, 1));
    g_string_append_printf(importer->switches, "      - {name: %s, part: %s, ",
                           name, name);
    append_place(importer, importer->switches, index);
    g_string_append(importer->switches, "}\n");
}

/* Returns the prefix of the name of a device, and its `card.type`. */
static const char *kind_of(int64_t class_code, const char **ret_type)
{
    static const struct {
        int64_t code, mask;
        const char *prefix;
        const char *type;
    } kinds[] = {
        {0x020700, 0xffff00, "nic", "infiniband"},
        {0x020000, 0xff0000, "nic", "network"},
        {0x010800, 0xffff00, "disk", "storage"},
        {0x030000, 0xff0000, "gpu", "gpu"},
        {0x120000, 0xff0000, "acc", "accelerator"},
        {0x0b4000, 0xffff00, "acc", "accelerator"}, /* co-processors */
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(kinds) && class_code >= 0; i++) {
        if ((class_code & kinds[i].mask) == kinds[i].code) {
            *ret_type = kinds[i].type;
            return kinds[i].prefix;
        }
    }
    *ret_type = "other";
    return "dev";
}

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

static void write_device(Importer *importer, unsigned index)
{
    const InvFunction *function = function_at(importer, index);
    const char *type;
    const char *prefix = kind_of(function->pub.class_code, &type);
    g_autofree char *name = name_of(prefix, function->pub.address);
    g_autofree char *address = topo_address_to_string(function->pub.address);
    int parent = parent_of(importer, index);
    const InvFunction *port =
        parent < 0 ? NULL : function_at(importer, (unsigned)parent);
    unsigned ports = 1;

    while (index + ports < importer->machine->functions->len &&
           importer->roles[index + ports] == ROLE_PORT) {
        ports++;
    }
    g_string_append_printf(importer->parts, "  %s:\n    base: generic-device\n",
                           name);
    if (function->pub.speed_mtps && function->pub.width) {
        g_autofree char *speed =
            topo_units_format(TOPO_UNIT_SPEED, function->pub.speed_mtps);

        g_string_append_printf(importer->parts,
                               "    speed: %s\n    width: x%u\n", speed,
                               function->pub.width);
    }
    append_bars(importer->parts, function);
    g_string_append_printf(importer->parts, "    card: {type: %s, ports: %u",
                           type, ports);
    if (function->pub.name) {
        g_string_append(importer->parts, ",\n           name: ");
        append_quoted(importer->parts, function->pub.name);
    }
    g_string_append(importer->parts, "}\n");
    g_string_append_printf(importer->devices, "      - {name: %s, part: %s, ",
                           name, name);
    append_place(importer, importer->devices, index);
    g_string_append_printf(importer->devices, ", address: \"%s\"", address);
    /* The link may be narrower than either end. */
    if (function->link_width && function->pub.width &&
        function->link_width < function->pub.width && port && port->pub.width &&
        function->link_width <= port->pub.width) {
        g_string_append_printf(importer->devices, ", width: x%u",
                               function->link_width);
    }
    g_string_append(importer->devices, "}\n");
}

static void write_function(Importer *importer, const TopoFunction *function,
                           bool is_upstream)
{
    g_autofree char *address = topo_address_to_string(function->address);
    GString *out = importer->functions;

    g_string_append_printf(out, "      - {address: \"%s\"", address);
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
    if (function->speed_mtps) {
        g_autofree char *speed =
            topo_units_format(TOPO_UNIT_SPEED, function->speed_mtps);

        g_string_append_printf(out, ", speed: %s", speed);
    }
    if (function->width) {
        g_string_append_printf(out, ", width: x%u", function->width);
    }
    if (function->numa_node >= 0) {
        g_string_append_printf(out, ", numa_node: %d", function->numa_node);
    }
    if (function->name) {
        g_string_append(out, ",\n         name: ");
        append_quoted(out, function->name);
    }
    g_string_append(out, "}\n");
}

static void write_parts(Importer *importer)
{
    for (unsigned i = 0; i < importer->machine->functions->len; i++) {
        const TopoFunction *function = &function_at(importer, i)->pub;

        write_function(importer, function, importer->roles[i] == ROLE_UPSTREAM);
        if (importer->roles[i] == ROLE_ROOT_PORT ||
            (has_hidden_port(importer, i) && parent_of(importer, i) < 0)) {
            g_autofree char *name = name_of("rp", function->address);

            g_string_append_printf(importer->root_ports, "      - {name: %s, ",
                                   name);
            append_link(importer->root_ports, function);
            g_string_append(importer->root_ports, "}\n");
        }
        if (importer->roles[i] == ROLE_UPSTREAM) {
            write_switch(importer, i);
        } else if (importer->roles[i] == ROLE_DEVICE) {
            write_device(importer, i);
        }
    }
    if (importer->root_ports->len == 0) {
        /* A CPU without root ports is no part. */
        g_string_append(importer->root_ports,
                        "      - {name: rp0, speed: " GENERIC_SPEED
                        ", width: x16}\n");
    }
}

static char *description_text(const Importer *importer, const char *host)
{
    GString *text = g_string_new(NULL);

    g_string_append_printf(text,
                           "name: %s\n\nparts:\n  cpu:\n    base: "
                           "generic-host\n    root_ports:\n%s%s\nhosts:\n"
                           "  - name: %s\n    cpu: cpu\n",
                           host, importer->root_ports->str,
                           importer->parts->str, host);
    if (importer->switches->len > 0) {
        g_string_append_printf(text, "    switches:\n%s",
                               importer->switches->str);
    }
    if (importer->devices->len > 0) {
        g_string_append_printf(text, "    devices:\n%s",
                               importer->devices->str);
    }
    g_string_append_printf(text, "    functions:\n%s",
                           importer->functions->str);
    return g_string_free(text, FALSE);
}

/* ---- The comment ------------------------------------------------------- */

/* Appends @words as lines of a comment. */
static void append_wrapped(GString *out, const char *first, GPtrArray *words)
{
    g_autoptr(GString) line = g_string_new(first);

    for (unsigned i = 0; i < words->len; i++) {
        const char *word = words->pdata[i];

        if (line->len + strlen(word) > 76) {
            g_string_append_printf(out, "%s\n", line->str);
            g_string_assign(line, "#  ");
        }
        g_string_append_printf(line, " %s%s", word,
                               i + 1 < words->len ? "," : "");
    }
    g_string_append_printf(out, "%s\n", line->str);
}

/* Appends the keys of @part that the text called @name does not give. */
static void append_unknown(GString *out, const char *title,
                           const TopoPart *part, const char *name)
{
    g_autoptr(GPtrArray) keys = g_ptr_array_new();
    g_autofree char *first = g_strdup_printf("# %s:", title);

    for (unsigned i = 0; i < topo_part_n_values(part); i++) {
        g_auto(TopoPartValue) value = {0};

        topo_part_value(part, i, &value);
        if (value.text && strcmp(value.place.file, name) != 0 &&
            !g_str_has_prefix(value.key, "card.") &&
            !g_str_has_prefix(value.key, "nvme.")) {
            g_ptr_array_add(keys, (void *)value.key);
        }
    }
    append_wrapped(out, first, keys);
}

/* Appends the root ports whose link the source does not tell. */
static void append_unknown_ports(const Importer *importer, GString *out)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);

    for (unsigned i = 0; i < importer->machine->functions->len; i++) {
        const TopoFunction *function = &function_at(importer, i)->pub;

        if ((importer->roles[i] == ROLE_ROOT_PORT ||
             (has_hidden_port(importer, i) && parent_of(importer, i) < 0)) &&
            (!function->speed_mtps || !function->width)) {
            g_ptr_array_add(names, name_of("rp", function->address));
        }
    }
    if (names->len > 0) {
        append_wrapped(out, "# speed or width of the root ports:", names);
    }
}

/* Appends the functions whose link was guessed from its bandwidth. */
static void append_guessed(const Importer *importer, GString *out)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);

    for (unsigned i = 0; i < importer->machine->functions->len; i++) {
        const InvFunction *function = function_at(importer, i);

        if (function->is_guessed) {
            g_ptr_array_add(names,
                            topo_address_to_string(function->pub.address));
        }
    }
    if (names->len > 0) {
        g_string_append(out, "#\n# Two links have the bandwidth of these; the "
                             "wider one is assumed:\n");
        append_wrapped(out, "#  ", names);
    }
}

static void append_left_out(const Importer *importer, GString *out)
{
    for (unsigned i = 0; i < importer->machine->functions->len; i++) {
        if (importer->reasons[i]) {
            g_autofree char *address =
                topo_address_to_string(function_at(importer, i)->pub.address);

            g_string_append_printf(out, "#   %s  %s\n", address,
                                   importer->reasons[i]);
        }
    }
}

/* Returns the comment on the description that was loaded from @text. */
static char *comment_new(const Importer *importer, const char *file,
                         const TopoDescription *description)
{
    const TopoHost *host = description->hosts->pdata[0];
    g_autofree char *base = g_path_get_basename(file);
    GString *out = g_string_new(NULL);

    g_string_append_printf(out,
                           "# Imported from %s.\n#\n"
                           "# These numbers are not known. They are those of "
                           "the generic parts:\n",
                           base);
    append_unknown(out, "cpu", host->cpu, description->file);
    for (unsigned i = 0; i < host->switches->len; i++) {
        const TopoSwitch *sw = host->switches->pdata[i];

        append_unknown(out, sw->name, sw->part, description->file);
    }
    for (unsigned i = 0; i < host->devices->len; i++) {
        const TopoDevice *device = host->devices->pdata[i];

        append_unknown(out, device->name, device->part, description->file);
    }
    append_unknown_ports(importer, out);
    append_guessed(importer, out);
    g_string_append(out, "#\n");
    g_string_append(out, "# The model has one root for all root buses, and "
                         "leaves these functions out:\n");
    append_left_out(importer, out);
    g_string_append_c(out, '\n');
    return g_string_free(out, FALSE);
}

/* ---- Import ------------------------------------------------------------ */

static InvMachine *read_machine(const char *file, const char *text,
                                size_t length, GError **error)
{
    const char *first = text + strspn(text, " \t\r\n");

    if (*first == '<') {
        return inv_read_xml(file, text, length, error);
    }
    if (g_str_has_prefix(text, "-[") || g_str_has_prefix(text, "-+-[")) {
        return inv_read_lspci_tree(file, text, error);
    }
    return inv_read_lspci(file, text, error);
}

char *inv_import(const char *file, const char *text, size_t length,
                 const char *host, const char *parts_dir, GError **error)
{
    g_autoptr(InvMachine) machine = read_machine(file, text, length, error);
    g_autoptr(GString) parts = g_string_new(NULL);
    g_autoptr(GString) root_ports = g_string_new(NULL);
    g_autoptr(GString) switches = g_string_new(NULL);
    g_autoptr(GString) devices = g_string_new(NULL);
    g_autoptr(GString) functions = g_string_new(NULL);
    Importer importer = {machine,    NULL,     NULL,    parts,
                         root_ports, switches, devices, functions};
    g_autofree Role *roles = NULL;
    g_autofree const char **reasons = NULL;
    g_autofree char *body = NULL;
    g_autofree char *comment = NULL;
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(TopoDescription) description = NULL;

    if (!machine) {
        return NULL;
    }
    roles = g_new0(Role, machine->functions->len);
    reasons = g_new0(const char *, machine->functions->len);
    importer.roles = roles;
    importer.reasons = reasons;
    find_roles(&importer);
    write_parts(&importer);
    body = description_text(&importer, host);
    description =
        topo_load_buffer(file, body, strlen(body), parts_dir, NULL, errors);
    if (!description) {
        g_autoptr(GError) first = topo_errors_to_gerror(errors);

        g_set_error(error, INV_ERROR, INV_ERROR_IMPORT,
                    "%s: the machine is no valid description: %s", file,
                    first->message);
        return NULL;
    }
    comment = comment_new(&importer, file, description);
    return g_strconcat(comment, body, NULL);
}
