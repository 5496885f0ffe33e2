/* SPDX-License-Identifier: MIT */
#include "inv_metadata.h"

#include <glib/gstdio.h>
#include <inttypes.h>
#include <string.h>

#include "inv_json_priv.h"
#include "table_text.h"

/* The last unicast LID (InfiniBand Architecture Specification, volume 1,
 * 4.1.3). */
#define LID_LAST 0xbfff

static void interface_destroy(void *data)
{
    InvInterface *interface = data;

    inv_selection_free(interface->selection);
    g_free(interface->addresses[0]);
    g_free(interface->addresses[1]);
    g_free(interface);
}

/* Returns the GUID of virtual function @vf of the port with @pf_guid: locally
 * administered, another bit of the first byte turned over, and the function's
 * number in bytes 3 and 4, which tell no two ports of a vendor apart. */
static uint64_t virtual_guid(uint64_t pf_guid, unsigned vf)
{
    return ((pf_guid | UINT64_C(0x02) << 56) ^ UINT64_C(0x04) << 56) ^
           (uint64_t)(vf + 1) << 24;
}

/* Reports what has no InfiniBand port, or one without a GUID. */
static bool check_port(const InvInterface *interface, TopoErrors *errors)
{
    const TopoRequest *request = interface->request;
    const InvSelection *selection = interface->selection;
    TopoPlace place =
        request->has_slot ? request->slot_place : request->device_place;

    if (selection->device->type != INV_TYPE_INFINIBAND) {
        topo_errors_add(errors, place,
                        "'%s' of %s is of type %s; metadata are about "
                        "InfiniBand devices",
                        selection->device->name, selection->host->name,
                        inv_type_name(selection->device->type));
        return false;
    }
    if (interface->pf_guid == 0) {
        topo_errors_add(errors, place,
                        "the GUID of %s of %s is not known; load its driver",
                        selection->device->interface, selection->host->name);
        return false;
    }
    return true;
}

/* Reports two requests for one function, and ports with one GUID. */
static bool check_different(const GPtrArray *interfaces,
                            const InvInterface *fresh, TopoErrors *errors)
{
    for (unsigned i = 0; i < interfaces->len; i++) {
        const InvInterface *known = interfaces->pdata[i];
        bool is_same = known->selection->host == fresh->selection->host &&
                       topo_address_compare(known->selection->slot,
                                            fresh->selection->slot) == 0;

        if (is_same) {
            topo_errors_add(errors, fresh->request->place,
                            "%s of %s is requested twice; leave one of the "
                            "requests out",
                            fresh->selection->interface,
                            fresh->selection->host->name);
            return false;
        }
        if (known->guid == fresh->guid) {
            topo_errors_add(errors, fresh->request->place,
                            "%s of %s and %s of %s have the same GUID, "
                            "%016" PRIx64 "; give each port its own",
                            known->selection->interface,
                            known->selection->host->name,
                            fresh->selection->interface,
                            fresh->selection->host->name, fresh->guid);
            return false;
        }
    }
    return true;
}

/* Returns the number of @name (nullable) among @fabrics, to which it is added
 * if it is new. */
static unsigned fabric_number(GPtrArray *fabrics, const char *name)
{
    const char *key = name ? name : "";
    unsigned index;

    if (!g_ptr_array_find_with_equal_func(fabrics, key, g_str_equal, &index)) {
        index = fabrics->len;
        g_ptr_array_add(fabrics, (void *)key);
    }
    return index;
}

/* Gives the next LID of the fabric, and the addresses that belong to it. */
static bool give_lid(InvInterface *interface, GPtrArray *fabrics, GArray *lids,
                     TopoErrors *errors)
{
    unsigned fabric =
        fabric_number(fabrics, interface->selection->device->fabric);
    unsigned lid;

    if (fabric >= lids->len) {
        g_array_set_size(lids, fabric + 1);
    }
    lid = ++g_array_index(lids, unsigned, fabric);
    if (lid > LID_LAST || fabric > 255) {
        topo_errors_add(errors, interface->request->place,
                        "there are more than %d interfaces in a fabric, or "
                        "more than 256 fabrics; request fewer",
                        LID_LAST);
        return false;
    }
    interface->lid = lid;
    interface->addresses[0] =
        g_strdup_printf("10.%u.%u.%u", fabric, lid >> 8, lid & 0xff);
    interface->addresses[1] = g_strdup_printf("fd00:%x::%x", fabric, lid);
    return true;
}

GPtrArray *inv_interfaces_allocate(const Inventory *inventory,
                                   const GPtrArray *requests,
                                   TopoErrors *errors)
{
    g_autoptr(GPtrArray) interfaces =
        g_ptr_array_new_with_free_func(interface_destroy);
    g_autoptr(GPtrArray) fabrics = g_ptr_array_new();
    g_autoptr(GArray) lids = g_array_new(FALSE, TRUE, sizeof(unsigned));
    bool good = true;

    for (unsigned i = 0; i < inventory->hosts->len * requests->len; i++) {
        const InvHost *host = inventory->hosts->pdata[i / requests->len];
        InvInterface *interface = g_new0(InvInterface, 1);
        InvSelection *selection;

        interface->request = requests->pdata[i % requests->len];
        selection = inv_select(host, interface->request, errors);
        interface->selection = selection;
        if (selection) {
            interface->pf_guid = selection->device->guid;
            interface->guid = selection->is_virtual
                                  ? virtual_guid(interface->pf_guid,
                                                 selection->virtual_function)
                                  : interface->pf_guid;
        }
        if (!selection || !check_port(interface, errors) ||
            !check_different(interfaces, interface, errors) ||
            !give_lid(interface, fabrics, lids, errors)) {
            interface_destroy(interface);
            good = false;
            continue;
        }
        g_ptr_array_add(interfaces, interface);
    }
    return good ? g_steal_pointer(&interfaces) : NULL;
}

static void add_request(JsonBuilder *builder, const TopoRequest *request)
{
    json_builder_begin_object(builder);
    if (request->has_slot) {
        g_autofree char *slot = topo_address_to_string(request->slot);

        inv_json_add_text(builder, "device_slot", slot);
    } else {
        inv_json_add_text(builder, "device", request->device);
        inv_json_add_text(builder, "device_vendor", request->vendor);
        inv_json_add_text(builder, "fabric", request->fabric);
        json_builder_set_member_name(builder, "device_instance");
        json_builder_add_int_value(builder, request->instance);
    }
    inv_json_add_text(builder, "function_type",
                      request->is_virtual ? "VirtualFunction"
                                          : "PhysicalFunction");
    if (request->is_virtual) {
        json_builder_set_member_name(builder, "virtual_function_id");
        json_builder_add_int_value(builder, request->virtual_function);
    }
    inv_json_add_text(builder, "ib_partition_id", request->partition);
    json_builder_end_object(builder);
}

static void add_status(JsonBuilder *builder, const InvInterface *interface)
{
    json_builder_begin_object(builder);
    inv_json_add_guid(builder, "pf_guid", interface->pf_guid);
    inv_json_add_guid(builder, "guid", interface->guid);
    json_builder_set_member_name(builder, "lid");
    json_builder_add_int_value(builder, interface->lid);
    json_builder_set_member_name(builder, "addresses");
    json_builder_begin_array(builder);
    json_builder_add_string_value(builder, interface->addresses[0]);
    json_builder_add_string_value(builder, interface->addresses[1]);
    json_builder_end_array(builder);
    json_builder_end_object(builder);
}

/* Adds {@name: {infiniband: {ib_interfaces: [...]}}}. */
static void add_part(JsonBuilder *builder, const char *name,
                     const InvHost *host, const GPtrArray *interfaces,
                     bool is_status)
{
    json_builder_set_member_name(builder, name);
    json_builder_begin_object(builder);
    json_builder_set_member_name(builder, "infiniband");
    json_builder_begin_object(builder);
    json_builder_set_member_name(builder, "ib_interfaces");
    json_builder_begin_array(builder);
    for (unsigned i = 0; i < interfaces->len; i++) {
        const InvInterface *interface = interfaces->pdata[i];

        if (interface->selection->host == host && is_status) {
            add_status(builder, interface);
        } else if (interface->selection->host == host) {
            add_request(builder, interface->request);
        }
    }
    json_builder_end_array(builder);
    json_builder_end_object(builder);
    json_builder_end_object(builder);
}

char *inv_metadata_to_json(const InvHost *host, const GPtrArray *interfaces)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();

    json_builder_begin_object(builder);
    add_part(builder, "config", host, interfaces, false);
    add_part(builder, "status", host, interfaces, true);
    json_builder_end_object(builder);
    return inv_json_finish(builder);
}

char *inv_metadata_to_lines(const InvHost *host, const GPtrArray *interfaces)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < interfaces->len; i++) {
        const InvInterface *interface = interfaces->pdata[i];
        const InvSelection *selection = interface->selection;
        g_autofree char *function =
            selection->is_virtual
                ? g_strdup_printf("%u", selection->virtual_function)
                : g_strdup("PF");

        g_autofree char *partition = table_text_from(
            selection->partition ? selection->partition : "-", -1, false);

        if (selection->host != host) {
            continue;
        }
        g_string_append_printf(
            text, "%016" PRIx64 " %016" PRIx64 " %s %u %s %s %s\n",
            interface->pf_guid, interface->guid, function, interface->lid,
            interface->addresses[0], interface->addresses[1], partition);
    }
    return g_string_free(text, FALSE);
}

bool inv_metadata_write(const Inventory *inventory, const GPtrArray *interfaces,
                        const char *dir, GError **error)
{
    for (unsigned i = 0; i < inventory->hosts->len; i++) {
        const InvHost *host = inventory->hosts->pdata[i];
        g_autofree char *folder = g_build_filename(dir, host->name, NULL);
        g_autofree char *json_path =
            g_build_filename(folder, "metadata.json", NULL);
        g_autofree char *lines_path =
            g_build_filename(folder, "interfaces", NULL);
        g_autofree char *answer = inv_metadata_to_json(host, interfaces);
        g_autofree char *json = g_strconcat(answer, "\n", NULL);
        g_autofree char *lines = inv_metadata_to_lines(host, interfaces);

        if (g_mkdir_with_parents(folder, 0755) != 0) {
            g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
                        "%s: cannot make the folder: %s", folder,
                        g_strerror(errno));
            return false;
        }
        if (!g_file_set_contents(json_path, json, -1, error) ||
            !g_file_set_contents(lines_path, lines, -1, error)) {
            return false;
        }
    }
    return true;
}
