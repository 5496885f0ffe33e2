/* SPDX-License-Identifier: MIT */
#include "inv_report.h"

#include <inttypes.h>

#include <json-glib/json-glib.h>

#include "inv_json_priv.h"

static int compare_capabilities(const void *a, const void *b)
{
    const InvDevice *first = ((const InvCapability *)a)->device;
    const InvDevice *second = ((const InvCapability *)b)->device;
    int order = inv_device_compare(first, second);

    return order ? order : topo_address_compare(first->slot, second->slot);
}

/* Returns whether @a and @b are one capability. */
static bool is_alike(const InvDevice *a, const InvDevice *b, bool by_slot)
{
    return inv_device_compare(a, b) == 0 &&
           (!by_slot || topo_address_compare(a->slot, b->slot) == 0);
}

GArray *inv_capabilities(const InvHost *host, bool by_slot)
{
    GArray *all = g_array_new(FALSE, FALSE, sizeof(InvCapability));

    for (unsigned i = 0; i < host->devices->len; i++) {
        InvCapability fresh = {host->devices->pdata[i], 1};
        bool found = false;

        for (unsigned j = 0; j < all->len && !found; j++) {
            InvCapability *known = &g_array_index(all, InvCapability, j);

            found = is_alike(known->device, fresh.device, by_slot);
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
static bool is_same_type(const InvHost *a, const InvHost *b, bool by_slot)
{
    g_autoptr(GArray) first = inv_capabilities(a, by_slot);
    g_autoptr(GArray) second = inv_capabilities(b, by_slot);
    bool is_same = first->len == second->len;

    for (unsigned i = 0; i < first->len && is_same; i++) {
        const InvCapability *one = &g_array_index(first, InvCapability, i);
        const InvCapability *two = &g_array_index(second, InvCapability, i);

        is_same = one->count == two->count &&
                  is_alike(one->device, two->device, by_slot);
    }
    return is_same;
}

static void array_destroy(void *array)
{
    g_ptr_array_unref(array);
}

GPtrArray *inv_host_types(const Inventory *inventory, bool by_slot)
{
    GPtrArray *types = g_ptr_array_new_with_free_func(array_destroy);

    for (unsigned i = 0; i < inventory->hosts->len; i++) {
        InvHost *host = inventory->hosts->pdata[i];
        GPtrArray *type = NULL;

        for (unsigned j = 0; j < types->len && !type; j++) {
            GPtrArray *known = types->pdata[j];

            type = is_same_type(known->pdata[0], host, by_slot) ? known : NULL;
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

static void add_node(JsonBuilder *builder, const InvDevice *device)
{
    if (device->numa_node >= 0) {
        json_builder_set_member_name(builder, "numa_node");
        json_builder_add_int_value(builder, device->numa_node);
    }
}

void inv_json_add_guid(JsonBuilder *builder, const char *name, uint64_t guid)
{
    if (guid != 0) {
        g_autofree char *text = g_strdup_printf("%016" PRIx64, guid);

        inv_json_add_text(builder, name, text);
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
    add_node(builder, device);
    json_builder_end_object(builder);
}

char *inv_json_finish(JsonBuilder *builder)
{
    g_autoptr(JsonNode) root = json_builder_get_root(builder);

    return json_to_string(root, TRUE);
}

static void add_capabilities(JsonBuilder *builder, const InvHost *host,
                             bool by_slot)
{
    g_autoptr(GArray) capabilities = inv_capabilities(host, by_slot);

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
        if (by_slot) {
            g_autofree char *slot = topo_address_to_string(device->slot);

            inv_json_add_text(builder, "slot", slot);
        }
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
}

char *inv_capabilities_to_json(const InvHost *host, bool by_slot)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();

    add_capabilities(builder, host, by_slot);
    return inv_json_finish(builder);
}

static void add_number(JsonBuilder *builder, const char *name, unsigned id)
{
    g_autofree char *text = g_strdup_printf("0x%04x", id);

    inv_json_add_text(builder, name, text);
}

/* Adds "pci_properties" with what a driver's folder tells: numbers, and the
 * path of the interface. */
static void add_raw_pci(JsonBuilder *builder, const InvDevice *device)
{
    bool is_port =
        device->type == INV_TYPE_INFINIBAND || device->type == INV_TYPE_NETWORK;
    g_autofree char *path = is_port ? g_strconcat(device->device_path, "/net/",
                                                  device->interface, NULL)
                                    : g_strdup(device->device_path);

    json_builder_set_member_name(builder, "pci_properties");
    json_builder_begin_object(builder);
    inv_json_add_text(builder, "path", path);
    add_number(builder, "device", device->device_id);
    add_number(builder, "vendor", device->vendor_id);
    add_node(builder, device);
    inv_json_add_text(builder, "description", device->name);
    json_builder_end_object(builder);
}

char *inv_raw_devices_to_json(const InvHost *host, GError **error)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();

    json_builder_begin_array(builder);
    for (unsigned i = 0; i < host->devices->len; i++) {
        const InvDevice *device = host->devices->pdata[i];

        if (!device->device_path) {
            g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                        "--raw: a description has no numbers and no paths of "
                        "%s; give --sysfs or --cluster, or leave --raw out",
                        device->path);
            return NULL;
        }
        json_builder_begin_object(builder);
        inv_json_add_guid(builder, "guid", device->guid);
        add_raw_pci(builder, device);
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
    return inv_json_finish(builder);
}

char *inv_devices_to_json(const InvHost *host)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();

    json_builder_begin_array(builder);
    for (unsigned i = 0; i < host->devices->len; i++) {
        const InvDevice *device = host->devices->pdata[i];
        g_autofree char *card =
            g_strdup_printf("%04x:%02x:%02x", device->slot.domain,
                            device->slot.bus, device->slot.dev);

        json_builder_begin_object(builder);
        inv_json_add_guid(builder, "guid", device->guid);
        inv_json_add_text(builder, "fabric", device->fabric);
        inv_json_add_pci(builder, device, device->slot);
        inv_json_add_text(builder, "card", card);
        inv_json_add_text(builder, "serial_number", device->serial);
        inv_json_add_text(builder, "interface", device->interface);
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
    return inv_json_finish(builder);
}

char *inv_types_to_json(const Inventory *inventory, bool by_slot)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();
    g_autoptr(GPtrArray) types = inv_host_types(inventory, by_slot);

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
        add_capabilities(builder, hosts->pdata[0], by_slot);
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
    return inv_json_finish(builder);
}
