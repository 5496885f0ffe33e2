/* SPDX-License-Identifier: MIT */
#include "inv_select.h"

#include "dl_select.h"
#include "inv_json_priv.h"
#include "inv_names_priv.h"
#include "topo_suggest.h"

void inv_selection_free(InvSelection *selection)
{
    if (selection) {
        g_free(selection->interface);
        g_free(selection->partition);
        g_free(selection);
    }
}

/* An attribute of a device that a request may give. */
typedef const char *(*Attribute)(const InvDevice *device);

static const char *name_of(const InvDevice *device)
{
    return device->name;
}

static const char *vendor_of(const InvDevice *device)
{
    return device->vendor;
}

static const char *fabric_of(const InvDevice *device)
{
    return device->fabric;
}

/* Returns the different values of @attribute in the order of the slots, without
 * NULL. */
static GPtrArray *values_of(const GPtrArray *devices, Attribute attribute)
{
    GPtrArray *values = g_ptr_array_new();

    for (unsigned i = 0; i < devices->len; i++) {
        const char *value = attribute(devices->pdata[i]);

        if (value && !g_ptr_array_find_with_equal_func(values, value,
                                                       g_str_equal, NULL)) {
            g_ptr_array_add(values, (void *)value);
        }
    }
    return values;
}

/* Returns "; there are A, B", to be freed. A request is written once for many
 * hosts, so an error lists all that there is, not only the nearest name. */
static char *listing(const GPtrArray *values)
{
    /* "?" is near to no name. */
    return topo_suggest("?", values);
}

/* Removes the devices whose @attribute is not @value, which may be NULL. */
static void keep(GPtrArray *devices, Attribute attribute, const char *value)
{
    for (unsigned i = devices->len; i > 0; i--) {
        if (g_strcmp0(attribute(devices->pdata[i - 1]), value) != 0) {
            g_ptr_array_remove_index(devices, i - 1);
        }
    }
}

static bool has_none(const GPtrArray *devices, Attribute attribute)
{
    for (unsigned i = 0; i < devices->len; i++) {
        if (!attribute(devices->pdata[i])) {
            return true;
        }
    }
    return false;
}

/* Keeps the devices whose @attribute is @wish. Without a wish, all must have
 * the same, or, if @none_is_default, some must have none. Otherwise reports it.
 */
static bool narrow(const InvHost *host, GPtrArray *devices,
                   const TopoRequest *request, const char *key,
                   Attribute attribute, const char *wish, TopoPlace place,
                   bool none_is_default, TopoErrors *errors)
{
    g_autoptr(GPtrArray) values = values_of(devices, attribute);
    g_autofree char *hint = NULL;

    switch (dl_select_rule(wish, values->len, has_none(devices, attribute),
                           none_is_default)) {
    case DL_SELECT_WITHOUT:
        keep(devices, attribute, NULL);
        return true;
    case DL_SELECT_ALL:
        return true;
    case DL_SELECT_UNCLEAR:
        hint = listing(values);
        topo_errors_add(errors, request->device_place,
                        "%s has devices '%s' of more than one %s; add `%s`%s",
                        host->name, request->device, key, key, hint);
        return false;
    case DL_SELECT_WISHED:
        break;
    }
    keep(devices, attribute, wish);
    if (devices->len == 0 && values->len == 0) {
        topo_errors_add(errors, place,
                        "no device '%s' of %s has a %s; leave `%s` out",
                        request->device, host->name, key, key);
    } else if (devices->len == 0) {
        hint = listing(values);
        topo_errors_add(errors, place, "%s has no device '%s' of %s '%s'%s",
                        host->name, request->device, key, wish, hint);
    }
    return devices->len > 0;
}

/* Returns the devices of @host that @request could mean, in the order of their
 * slots. Reports it if there are none, or if they are not all of one kind. */
static GPtrArray *candidates_new(const InvHost *host,
                                 const TopoRequest *request, TopoErrors *errors)
{
    g_autoptr(GPtrArray) devices = g_ptr_array_new();
    g_autoptr(GPtrArray) names = values_of(host->devices, name_of);

    if (host->devices->len == 0) {
        topo_errors_add(errors, request->device_place,
                        "%s has no devices; select on another host",
                        host->name);
        return NULL;
    }
    for (unsigned i = 0; i < host->devices->len; i++) {
        g_ptr_array_add(devices, host->devices->pdata[i]);
    }
    keep(devices, name_of, request->device);
    if (devices->len == 0) {
        g_autofree char *hint = listing(names);

        topo_errors_add(errors, request->device_place,
                        "%s has no device '%s'%s", host->name, request->device,
                        hint);
        return NULL;
    }
    if (!narrow(host, devices, request, "vendor", vendor_of, request->vendor,
                request->vendor_place, false, errors) ||
        !narrow(host, devices, request, "fabric", fabric_of, request->fabric,
                request->fabric_place, true, errors)) {
        return NULL;
    }
    return g_steal_pointer(&devices);
}

/* Returns the device in the slot of @request. Reports it if there is none. */
static const InvDevice *device_in_slot(const InvHost *host,
                                       const TopoRequest *request,
                                       TopoErrors *errors)
{
    g_autofree char *slot = topo_address_to_string(request->slot);
    g_autoptr(GPtrArray) slots = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *hint = NULL;

    for (unsigned i = 0; i < host->devices->len; i++) {
        const InvDevice *device = host->devices->pdata[i];

        if (topo_address_compare(device->slot, request->slot) == 0) {
            return device;
        }
        g_ptr_array_add(slots, topo_address_to_string(device->slot));
    }
    hint = listing(slots);
    topo_errors_add(errors, request->slot_place,
                    "%s has no device in slot '%s'%s", host->name, slot, hint);
    return NULL;
}

/* Returns the device of @host that @request means. Reports it if there is none.
 */
static const InvDevice *
device_of(const InvHost *host, const TopoRequest *request, TopoErrors *errors)
{
    g_autoptr(GPtrArray) devices = NULL;
    const InvDevice *device;

    if (request->has_slot) {
        return device_in_slot(host, request, errors);
    }
    devices = candidates_new(host, request, errors);
    if (!devices) {
        return NULL;
    }
    if (request->instance < devices->len) {
        return devices->pdata[request->instance];
    }
    device = devices->pdata[0];
    topo_errors_add(errors, request->instance_place,
                    "%s has %u device%s '%s'%s%s; write a device_instance "
                    "from 0 to %u",
                    host->name, devices->len, devices->len == 1 ? "" : "s",
                    device->name, device->fabric ? " in fabric " : "",
                    device->fabric ? device->fabric : "", devices->len - 1);
    return NULL;
}

/* Returns the number of @device among those of its host with its name, vendor
 * and fabric. */
static unsigned instance_of(const InvHost *host, const InvDevice *device)
{
    unsigned n = 0;

    for (unsigned i = 0; host->devices->pdata[i] != device; i++) {
        n += inv_device_compare(host->devices->pdata[i], device) == 0;
    }
    return n;
}

static bool check_virtual(const InvHost *host, const InvDevice *device,
                          const TopoRequest *request, TopoErrors *errors)
{
    if (!request->is_virtual || request->virtual_function < device->vfs) {
        return true;
    }
    if (device->vfs == 0) {
        topo_errors_add(errors, request->virtual_place,
                        "device '%s' of %s has no virtual functions; select "
                        "the PhysicalFunction",
                        device->name, host->name);
    } else {
        topo_errors_add(errors, request->virtual_place,
                        "device '%s' of %s has no virtual function %u; write a "
                        "number from 0 to %u",
                        device->name, host->name, request->virtual_function,
                        device->vfs - 1);
    }
    return false;
}

InvSelection *inv_select(const InvHost *host, const TopoRequest *request,
                         TopoErrors *errors)
{
    const InvDevice *device = device_of(host, request, errors);
    g_autoptr(InvSelection) selection = NULL;

    if (!device || !check_virtual(host, device, request, errors)) {
        return NULL;
    }
    selection = g_new0(InvSelection, 1);
    selection->host = host;
    selection->device = device;
    selection->instance = instance_of(host, device);
    selection->slot = device->slot;
    selection->partition = g_strdup(request->partition);
    if (request->is_virtual) {
        selection->is_virtual = true;
        selection->virtual_function = request->virtual_function;
        selection->slot = inv_virtual_slot(device, request->virtual_function);
        selection->interface =
            inv_name_virtual(device->type, device->interface,
                             request->virtual_function, selection->slot);
    } else {
        selection->interface = g_strdup(device->interface);
    }
    return g_steal_pointer(&selection);
}

char *inv_selections_to_json(const GPtrArray *selections)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();

    json_builder_begin_array(builder);
    for (unsigned i = 0; i < selections->len; i++) {
        const InvSelection *selection = selections->pdata[i];

        json_builder_begin_object(builder);
        inv_json_add_text(builder, "host", selection->host->name);
        inv_json_add_text(builder, "device", selection->device->name);
        inv_json_add_text(builder, "vendor", selection->device->vendor);
        inv_json_add_text(builder, "fabric", selection->device->fabric);
        json_builder_set_member_name(builder, "device_instance");
        json_builder_add_int_value(builder, selection->instance);
        inv_json_add_text(builder, "function_type",
                          selection->is_virtual ? "VirtualFunction"
                                                : "PhysicalFunction");
        if (selection->is_virtual) {
            json_builder_set_member_name(builder, "virtual_function_id");
            json_builder_add_int_value(builder, selection->virtual_function);
        }
        inv_json_add_text(builder, "ib_partition_id", selection->partition);
        inv_json_add_pci(builder, selection->device, selection->slot);
        inv_json_add_text(builder, "interface", selection->interface);
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
    return inv_json_finish(builder);
}

/* Returns whether an earlier selection than number @index has the same card. */
static bool is_card_known(const GPtrArray *selections, unsigned index)
{
    const InvSelection *own = selections->pdata[index];

    for (unsigned i = 0; i < index; i++) {
        const InvSelection *other = selections->pdata[i];

        if (other->host == own->host &&
            inv_is_same_card(other->device, own->device)) {
            return true;
        }
    }
    return false;
}

char *inv_shared_cards(const GPtrArray *selections)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (unsigned i = 0; i < selections->len; i++) {
        const InvSelection *selection = selections->pdata[i];
        const GPtrArray *devices = selection->host->devices;
        g_autoptr(GString) ports = g_string_new(NULL);
        unsigned n = 0;

        for (unsigned j = 0; j < devices->len; j++) {
            const InvDevice *device = devices->pdata[j];

            if (inv_is_same_card(device, selection->device)) {
                g_string_append_printf(ports, "%s%s", n > 0 ? ", " : "",
                                       device->interface);
                n++;
            }
        }
        if (n > 1 && !is_card_known(selections, i)) {
            g_string_append_printf(
                text,
                "%s: %s are ports of one card: they have one serial number, "
                "and a setting of the card's firmware changes all of them\n",
                selection->host->name, ports->str);
        }
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

GPtrArray *inv_select_all(const Inventory *inventory, const GPtrArray *requests,
                          TopoErrors *errors)
{
    GPtrArray *selections =
        g_ptr_array_new_with_free_func((GDestroyNotify)inv_selection_free);

    for (unsigned i = 0; i < inventory->hosts->len; i++) {
        for (unsigned j = 0; j < requests->len; j++) {
            InvSelection *selection = inv_select(inventory->hosts->pdata[i],
                                                 requests->pdata[j], errors);

            if (selection) {
                g_ptr_array_add(selections, selection);
            }
        }
    }
    return selections;
}
