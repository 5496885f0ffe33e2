/* SPDX-License-Identifier: MIT */
/* The elements that a machine's functions become in a description. */
#include <string.h>

#include "inv_import_priv.h"

/* Reasons for which functions are left out. */
static const char is_sleeping[] =
    "asleep: its configuration space reads ff; wake it, and write the dump "
    "again";
static const char is_below_sleeping[] = "below a bridge that is asleep";
static const char is_below_unknown[] =
    "below a bridge that is asleep or has no bus numbers";
static const char is_virtual_function[] = "a virtual function";
static const char has_no_bridge[] =
    "a virtual function, or below a bridge that is missing or has no bus numbers";
static const char has_no_buses[] = "a bridge without bus numbers";
static const char is_conventional[] = "a bridge to conventional PCI";
static const char is_lost[] = "not below a root port or switch that the model "
                              "has";
static const char is_integrated[] = "part of the root complex";
static const char is_other_function[] = "not function 0 of device 0 on its bus";
static const char is_of_drive[] = "a further function of a drive, which is one";
static const char is_second_switch[] = "a second switch on its bus";
static const char is_no_port[] = "a bridge that is no port of a switch";
static const char is_too_much[] =
    "more than the 63 root ports or 127 switches that a host of the model has";
static const char has_no_place[] =
    "below a switch with more than the 63 ports that one of the model has";

InvFunction *inv_function_at(const InvImporter *importer, unsigned index)
{
    return importer->machine->functions->pdata[index];
}

static InvRole parent_role(const InvImporter *importer, unsigned index)
{
    int parent = importer->places[index].parent;

    return parent < 0 ? INV_ROLE_NONE : importer->places[parent].role;
}

bool inv_is_element(const InvImporter *importer, unsigned index)
{
    InvRole role = importer->places[index].role;

    return role == INV_ROLE_UPSTREAM || role == INV_ROLE_DEVICE;
}

bool inv_has_hidden_port(const InvImporter *importer, unsigned index)
{
    InvRole above = parent_role(importer, index);

    return inv_is_element(importer, index) &&
           (above == INV_ROLE_NONE || above == INV_ROLE_UPSTREAM);
}

/* Returns whether bridges are below function @index, and nothing else. */
static bool has_only_bridges(const InvImporter *importer, unsigned index)
{
    unsigned bridges = 0;

    for (unsigned i = 0; i < importer->machine->functions->len; i++) {
        if (importer->places[i].parent == (int)index) {
            if (!inv_function_at(importer, i)->pub.is_bridge) {
                return false;
            }
            bridges++;
        }
    }
    return bridges > 0;
}

static bool is_drive(const InvFunction *function)
{
    return function->pub.class_code >> 8 == 0x0108;
}

/* Returns whether @index is a further port of a device: of the same PCI device
 * as the function before it, which is a device or a port of one, and of the
 * same kind. A drive has one port; its further functions are virtual ones. */
static bool is_further_port(const InvImporter *importer, unsigned index)
{
    const TopoFunction *own = &inv_function_at(importer, index)->pub;
    const TopoFunction *last;
    InvRole role;

    if (own->address.fn == 0 || index == 0 ||
        importer->machine->has_no_addresses) {
        return false;
    }
    last = &inv_function_at(importer, index - 1)->pub;
    role = importer->places[index - 1].role;
    return last->address.domain == own->address.domain &&
           last->address.bus == own->address.bus &&
           last->address.dev == own->address.dev &&
           last->address.fn + 1 == own->address.fn &&
           last->vendor_id == own->vendor_id &&
           last->device_id == own->device_id &&
           last->class_code == own->class_code && own->class_code >= 0 &&
           g_strcmp0(last->name, own->name) == 0 &&
           (role == INV_ROLE_DEVICE || role == INV_ROLE_PORT ||
            importer->places[index - 1].reason == is_of_drive) &&
           importer->places[index - 1].parent == importer->places[index].parent;
}

/* Returns whether a function on a root bus, or on the bus inside a switch, is
 * at the end of a link: virtual machines have no root ports. */
static bool has_link(const InvFunction *function)
{
    const char *prefix;

    switch (function->port) {
    case INV_PORT_ENDPOINT:
    case INV_PORT_LEGACY:
        return function->pub.width > 0;
    case INV_PORT_NONE:
        return function->pub.width > 0 &&
               strcmp(inv_card_type(&function->pub, &prefix), "other") != 0;
    default:
        return false;
    }
}

/* Returns whether function @index, on a bus that no bridge has, is the end of a
 * link, and a bridge that does not tell its buses is there for it. */
static bool may_be_below(const InvImporter *importer, unsigned index)
{
    const InvFunction *own = inv_function_at(importer, index);

    if (!has_link(own) && own->port != INV_PORT_UPSTREAM &&
        own->port != INV_PORT_DOWNSTREAM) {
        return false;
    }
    for (unsigned i = 0; i < index; i++) {
        const InvFunction *other = inv_function_at(importer, i);

        if (other->pub.class_code >> 8 == 0x0604 &&
            (other->is_asleep || other->pub.secondary == 0) &&
            other->pub.address.domain == own->pub.address.domain &&
            other->pub.address.bus < own->pub.address.bus) {
            return true;
        }
    }
    return false;
}

/* Returns why function @index is not on the first bus behind the bridge above
 * it; NULL if it is. */
static const char *wrong_bus(const InvImporter *importer, unsigned index)
{
    const InvPlace *place = &importer->places[index];
    const TopoFunction *own = &inv_function_at(importer, index)->pub;
    const TopoFunction *bridge;

    if (place->parent < 0) {
        return may_be_below(importer, index) ? is_below_unknown : NULL;
    }
    bridge = &inv_function_at(importer, (unsigned)place->parent)->pub;
    if (own->address.bus == bridge->secondary) {
        return NULL;
    }
    for (unsigned i = 0; i < importer->machine->functions->len; i++) {
        if (importer->places[i].parent == place->parent &&
            inv_function_at(importer, i)->is_asleep) {
            return is_below_sleeping;
        }
    }
    return has_no_bridge;
}

static const char *bridge_role(const InvImporter *importer, unsigned index,
                               InvRole *ret_role)
{
    const InvFunction *function = inv_function_at(importer, index);
    const InvPlace *place = &importer->places[index];
    InvRole above = parent_role(importer, index);

    if (function->port == INV_PORT_TO_PCI ||
        function->port == INV_PORT_FROM_PCI ||
        (function->port == INV_PORT_NONE && importer->machine->has_links)) {
        return is_conventional;
    }
    if (place->parent < 0) {
        *ret_role = function->port == INV_PORT_UPSTREAM ? INV_ROLE_UPSTREAM
                                                        : INV_ROLE_ROOT_PORT;
        return NULL;
    }
    if (function->pub.secondary == 0) {
        return has_no_buses;
    }
    if (above == INV_ROLE_UPSTREAM) {
        *ret_role = INV_ROLE_DOWNSTREAM;
        return NULL;
    }
    if (above != INV_ROLE_ROOT_PORT && above != INV_ROLE_DOWNSTREAM) {
        return is_lost;
    }
    if (function->port != INV_PORT_UPSTREAM &&
        !has_only_bridges(importer, index)) {
        return is_no_port;
    }
    if (function->pub.address.dev != 0 || function->pub.address.fn != 0) {
        return is_second_switch;
    }
    *ret_role = INV_ROLE_UPSTREAM;
    return NULL;
}

static const char *endpoint_role(const InvImporter *importer, unsigned index,
                                 InvRole *ret_role)
{
    const InvFunction *function = inv_function_at(importer, index);
    const InvPlace *place = &importer->places[index];
    InvRole above = parent_role(importer, index);
    bool is_first = function->pub.address.fn == 0;
    bool is_named_virtual =
        function->pub.name && strstr(function->pub.name, "Virtual Function");

    if (place->is_virtual) {
        return is_virtual_function;
    }
    if (is_further_port(importer, index)) {
        if (is_drive(function)) {
            return is_of_drive;
        }
        *ret_role = INV_ROLE_PORT;
        return NULL;
    }
    if (place->parent < 0 || above == INV_ROLE_UPSTREAM) {
        if (!has_link(function)) {
            return place->parent < 0 ? is_integrated : is_lost;
        }
    } else if (above != INV_ROLE_ROOT_PORT && above != INV_ROLE_DOWNSTREAM) {
        return is_lost;
    } else {
        is_first &= function->pub.address.dev == 0;
    }
    if (!is_first) {
        return is_named_virtual ? is_virtual_function : is_other_function;
    }
    *ret_role = INV_ROLE_DEVICE;
    return NULL;
}

/* The same in a source that leaves ports out. */
static const char *short_role(const InvImporter *importer, unsigned index,
                              InvRole *ret_role)
{
    const InvFunction *function = inv_function_at(importer, index);
    const InvPlace *place = &importer->places[index];

    if (place->parent >= 0 &&
        parent_role(importer, index) != INV_ROLE_UPSTREAM) {
        return is_lost;
    }
    if (function->pub.is_bridge) {
        *ret_role = INV_ROLE_UPSTREAM;
        return NULL;
    }
    if (is_further_port(importer, index)) {
        if (is_drive(function)) {
            return is_of_drive;
        }
        *ret_role = INV_ROLE_PORT;
        return NULL;
    }
    if (function->pub.address.fn != 0) {
        return is_other_function;
    }
    *ret_role = INV_ROLE_DEVICE;
    return NULL;
}

/* Takes the next port of the switch above function @index. Returns false if it
 * has no more. */
static bool take_port(InvImporter *importer, unsigned index)
{
    InvPlace *place = &importer->places[index];
    InvPlace *above;

    if (parent_role(importer, index) != INV_ROLE_UPSTREAM ||
        (place->role != INV_ROLE_DOWNSTREAM &&
         !inv_is_element(importer, index))) {
        return true;
    }
    above = &importer->places[place->parent];
    if (above->ports == INV_PORTS_MAX) {
        return false;
    }
    place->port = above->ports++;
    return true;
}

/* Gives function @index its role. The role of a bridge depends on that of the
 * bridge above it. */
static void find_role(InvImporter *importer, unsigned index)
{
    const InvFunction *function = inv_function_at(importer, index);
    InvPlace *place = &importer->places[index];
    InvRole role = INV_ROLE_NONE;
    const char *reason;

    if (place->is_found) {
        return;
    }
    place->is_found = true;
    if (place->parent >= 0) {
        find_role(importer, (unsigned)place->parent);
    }
    if (function->is_asleep) {
        reason = is_sleeping;
    } else if (importer->machine->is_short) {
        reason = short_role(importer, index, &role);
    } else {
        reason = wrong_bus(importer, index);
        if (place->is_virtual) {
            reason = is_virtual_function;
        } else if (!reason) {
            reason = function->pub.is_bridge
                         ? bridge_role(importer, index, &role)
                         : endpoint_role(importer, index, &role);
        }
    }
    place->role = role;
    if (!reason && !take_port(importer, index)) {
        place->role = INV_ROLE_NONE;
        reason = has_no_place;
    }
    place->reason = reason;
}

/* Marks the virtual functions of function @index (PCIe 5.0 s9.2.1.2). */
static void find_virtual(InvImporter *importer, unsigned index)
{
    const InvFunction *physical = inv_function_at(importer, index);
    const InvSettings *settings = &physical->settings;

    for (unsigned i = index + 1;
         settings->vfs > 0 && i < importer->machine->functions->len; i++) {
        TopoPciAddress own = inv_function_at(importer, i)->pub.address;
        TopoPciAddress first =
            topo_address_add(physical->pub.address, settings->vf_offset);
        unsigned stride = MAX(settings->vf_stride, 1);
        int64_t distance =
            ((int64_t)own.bus * 256 + own.dev * 8 + own.fn) -
            ((int64_t)first.bus * 256 + first.dev * 8 + first.fn);

        if (own.domain == first.domain && distance >= 0 &&
            distance % stride == 0 && distance / stride < settings->vfs) {
            importer->places[i].is_virtual = true;
        }
    }
}

bool inv_has_root_port(const InvImporter *importer, unsigned index)
{
    return importer->places[index].role == INV_ROLE_ROOT_PORT ||
           (importer->places[index].parent < 0 &&
            inv_is_element(importer, index));
}

/* Returns whether a switch or a device is directly below root port @index. */
static bool is_used(const InvImporter *importer, unsigned index)
{
    if (importer->places[index].role != INV_ROLE_ROOT_PORT) {
        return true;
    }
    for (unsigned i = 0; i < importer->machine->functions->len; i++) {
        if (importer->places[i].parent == (int)index &&
            inv_is_element(importer, i)) {
            return true;
        }
    }
    return false;
}

static void leave_out(InvImporter *importer, unsigned index, const char *reason)
{
    importer->places[index].role = INV_ROLE_NONE;
    importer->places[index].reason = reason;
}

/* Leaves out what is below something that was left out. */
static void drop_below(InvImporter *importer)
{
    bool has_changed = true;

    while (has_changed) {
        has_changed = false;
        for (unsigned i = 0; i < importer->machine->functions->len; i++) {
            InvRole role = importer->places[i].role;
            bool is_alone = (importer->places[i].parent >= 0 &&
                             parent_role(importer, i) == INV_ROLE_NONE) ||
                            (role == INV_ROLE_PORT &&
                             importer->places[i - 1].role == INV_ROLE_NONE);

            if (role != INV_ROLE_NONE && is_alone) {
                leave_out(importer, i, is_lost);
                has_changed = true;
            }
        }
    }
}

/* Leaves out root ports that are not used, if there are too many, and then what
 * is beyond the limits of a description. */
static void keep_limits(InvImporter *importer)
{
    unsigned n = importer->machine->functions->len;
    unsigned root_ports = 0, switches = 0;

    for (unsigned i = 0; i < n; i++) {
        root_ports += inv_has_root_port(importer, i);
    }
    for (unsigned i = 0; i < n && root_ports > INV_ROOT_PORTS_MAX; i++) {
        if (inv_has_root_port(importer, i) && !is_used(importer, i)) {
            leave_out(importer, i, is_too_much);
            root_ports--;
        }
    }
    root_ports = 0;
    for (unsigned i = 0; i < n; i++) {
        bool is_switch = importer->places[i].role == INV_ROLE_UPSTREAM;

        if ((inv_has_root_port(importer, i) &&
             root_ports++ >= INV_ROOT_PORTS_MAX) ||
            (is_switch && switches++ >= INV_SWITCHES_MAX)) {
            leave_out(importer, i, is_too_much);
        }
    }
    drop_below(importer);
}

void inv_find_roles(InvImporter *importer)
{
    const GPtrArray *functions = importer->machine->functions;

    for (unsigned i = 0; i < functions->len; i++) {
        const TopoFunction *bridge =
            inv_bridge_above(functions, functions->pdata[i]);
        unsigned at = 0;

        importer->places[i].parent =
            bridge && g_ptr_array_find((GPtrArray *)functions, bridge, &at)
                ? (int)at
                : -1;
        find_virtual(importer, i);
    }
    for (unsigned i = 0; i < functions->len; i++) {
        find_role(importer, i);
    }
    keep_limits(importer);
}
