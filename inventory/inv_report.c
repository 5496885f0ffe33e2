/* SPDX-License-Identifier: MIT */
#include "inv_report.h"

#include <json-glib/json-glib.h>

#include "inv_json_priv.h"

static int compare_devices(const InvDevice *a, const InvDevice *b)
{
    int order = (int)a->type - (int)b->type;

    order = order ? order : g_strcmp0(a->name, b->name);
    order = order ? order : g_strcmp0(a->vendor, b->vendor);
    return order ? order : g_strcmp0(a->fabric, b->fabric);
}

static int compare_capabilities(const void *a, const void *b)
{
    return compare_devices(((const InvCapability *)a)->device,
                           ((const InvCapability *)b)->device);
}

GArray *inv_capabilities(const InvHost *host)
{
    GArray *all = g_array_new(FALSE, FALSE, sizeof(InvCapability));

    for (unsigned i = 0; i < host->devices->len; i++) {
        InvCapability fresh = {host->devices->pdata[i], 1};
        bool found = false;

        for (unsigned j = 0; j < all->len && !found; j++) {
            InvCapability *known = &g_array_index(all, InvCapability, j);

            found = compare_devices(known->device, fresh.device) == 0;
            known->count += found ? 1 : 0;
        }
        if (!found) {
            g_array_append_val(all, fresh);
        }
    }
    g_array_sort(all, compare_capabilities);
    return all;
}

/* Returns whether both hosts have the same capabilities. */
static bool is_same_type(const InvHost *a, const InvHost *b)
{
    g_autoptr(GArray) first = inv_capabilities(a);
    g_autoptr(GArray) second = inv_capabilities(b);
    bool is_same = first->len == second->len;

    for (unsigned i = 0; i < first->len && is_same; i++) {
        const InvCapability *one = &g_array_index(first, InvCapability, i);
        const InvCapability *two = &g_array_index(second, InvCapability, i);

        is_same = one->count == two->count &&
                  compare_devices(one->device, two->device) == 0;
    }
    return is_same;
}

static void array_destroy(void *array)
{
    g_ptr_array_unref(array);
}

GPtrArray *inv_host_types(const Inventory *inventory)
{
    GPtrArray *types = g_ptr_array_new_with_free_func(array_destroy);

    for (unsigned i = 0; i < inventory->hosts->len; i++) {
        InvHost *host = inventory->hosts->pdata[i];
        GPtrArray *type = NULL;

        for (unsigned j = 0; j < types->len && !type; j++) {
            GPtrArray *known = types->pdata[j];

            type = is_same_type(known->pdata[0], host) ? known : NULL;
        }
        if (!type) {
            type = g_ptr_array_new();
            g_ptr_array_add(types, type);
        }
        g_ptr_array_add(type, host);
    }
    return types;
}

/* ---- JSON -------------------------------------------------------------- */

void inv_json_add_text(JsonBuilder *builder, const char *name, const char *text)
{
    if (text) {
        json_builder_set_member_name(builder, name);
        json_builder_add_string_value(builder, text);
    }
}

void inv_json_add_pci(JsonBuilder *builder, const InvDevice *device,
                      TopoPciAddress slot)
{
    g_autofree char *address = topo_address_to_string(slot);

    json_builder_set_member_name(builder, "pci_properties");
    json_builder_begin_object(builder);
    inv_json_add_text(builder, "slot", address);
    inv_json_add_text(builder, "vendor", device->vendor);
    inv_json_add_text(builder, "device", device->name);
    if (device->numa_node >= 0) {
        json_builder_set_member_name(builder, "numa_node");
        json_builder_add_int_value(builder, device->numa_node);
    }
    json_builder_end_object(builder);
}

char *inv_json_finish(JsonBuilder *builder)
{
    g_autoptr(JsonNode) root = json_builder_get_root(builder);

    return json_to_string(root, TRUE);
}

static void add_capabilities(JsonBuilder *builder, const InvHost *host)
{
    g_autoptr(GArray) capabilities = inv_capabilities(host);

    json_builder_begin_array(builder);
    for (unsigned i = 0; i < capabilities->len; i++) {
        const InvCapability *capability =
            &g_array_index(capabilities, InvCapability, i);
        const InvDevice *device = capability->device;

        json_builder_begin_object(builder);
        inv_json_add_text(builder, "type", inv_type_name(device->type));
        inv_json_add_text(builder, "name", device->name);
        inv_json_add_text(builder, "vendor", device->vendor);
        json_builder_set_member_name(builder, "count");
        json_builder_add_int_value(builder, capability->count);
        inv_json_add_text(builder, "fabric", device->fabric);
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
}

char *inv_capabilities_to_json(const InvHost *host)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();

    add_capabilities(builder, host);
    return inv_json_finish(builder);
}

char *inv_devices_to_json(const InvHost *host)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();

    json_builder_begin_array(builder);
    for (unsigned i = 0; i < host->devices->len; i++) {
        const InvDevice *device = host->devices->pdata[i];

        json_builder_begin_object(builder);
        inv_json_add_text(builder, "fabric", device->fabric);
        inv_json_add_pci(builder, device, device->slot);
        inv_json_add_text(builder, "interface", device->interface);
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
    return inv_json_finish(builder);
}

char *inv_types_to_json(const Inventory *inventory)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();
    g_autoptr(GPtrArray) types = inv_host_types(inventory);

    json_builder_begin_array(builder);
    for (unsigned i = 0; i < types->len; i++) {
        const GPtrArray *hosts = types->pdata[i];

        json_builder_begin_object(builder);
        json_builder_set_member_name(builder, "hosts");
        json_builder_begin_array(builder);
        for (unsigned j = 0; j < hosts->len; j++) {
            const InvHost *host = hosts->pdata[j];

            json_builder_add_string_value(builder, host->name);
        }
        json_builder_end_array(builder);
        json_builder_set_member_name(builder, "capabilities");
        add_capabilities(builder, hosts->pdata[0]);
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
    return inv_json_finish(builder);
}
