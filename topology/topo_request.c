/* SPDX-License-Identifier: MIT */
#include "topo_request.h"

#include <string.h>

#include "topo_file.h"
#include "topo_load_priv.h"

/* Keys that users of other tools select by. They are refused by name, because
 * "unknown key" would not say why. */
static const char *const hardware_keys[] = {
    "guid", "pf_guid", "serial",      "serial_number", "mac",
    "lid",  "address", "pci_address", "path",
};

static void request_destroy(void *data)
{
    TopoRequest *request = data;

    if (request) {
        g_free(request->device);
        g_free(request->vendor);
        g_free(request->fabric);
        g_free(request->partition);
        g_free(request);
    }
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TopoRequest, request_destroy)

/* Returns false, after reporting it, if @node selects by a number of one piece
 * of hardware. */
static bool check_hardware_keys(const TopoNode *node, TopoErrors *errors)
{
    bool good = true;

    for (unsigned i = 0; i < G_N_ELEMENTS(hardware_keys); i++) {
        const TopoEntry *entry = topo_node_entry(node, hardware_keys[i]);

        if (entry) {
            topo_errors_add(errors, entry->place,
                            "'%s' differs from host to host and changes when a "
                            "card is replaced; select by device, "
                            "device_vendor, fabric and device_instance, or by "
                            "device_slot",
                            hardware_keys[i]);
            good = false;
        }
    }
    return good;
}

/* Takes the slot from @text, and reports it if that is no address. */
static void parse_slot(TopoRequest *request, const char *text,
                       TopoErrors *errors)
{
    request->has_slot = true;
    if (!topo_address_parse(text, &request->slot)) {
        topo_errors_add(errors, request->slot_place,
                        "'%s' is no PCI address; write one such as "
                        "0000:ca:00.0",
                        text);
    }
}

/* Reads the slot, beside which no other attribute of the device may stand. */
static void read_slot(TopoRequest *request, const TopoValues *values,
                      TopoErrors *errors)
{
    static const char *const others[] = {"device", "device_vendor", "vendor",
                                         "fabric", "device_instance"};

    request->slot_place = topo_values_get(values, "device_slot")->place;
    parse_slot(request, topo_values_text(values, "device_slot"), errors);
    for (unsigned i = 0; i < G_N_ELEMENTS(others); i++) {
        if (topo_values_given(values, others[i])) {
            topo_errors_add(errors, topo_values_get(values, others[i])->place,
                            "'%s' and device_slot both select a device; leave "
                            "one of them out",
                            others[i]);
        }
    }
}

/* Reads what all hosts of a type share. */
static void read_device(TopoRequest *request, const TopoValues *values,
                        TopoErrors *errors)
{
    bool is_vendor = topo_values_given(values, "vendor");
    const char *vendor = is_vendor ? "vendor" : "device_vendor";

    if (!topo_values_given(values, "device")) {
        topo_errors_add(errors, request->place,
                        "the request has no `device`; add its name, or "
                        "device_slot");
    }
    if (is_vendor && topo_values_given(values, "device_vendor")) {
        topo_errors_add(errors, topo_values_get(values, "vendor")->place,
                        "'vendor' and 'device_vendor' are the same key; leave "
                        "one of them out");
    }
    request->device = g_strdup(topo_values_text(values, "device"));
    request->device_place = topo_values_get(values, "device")->place;
    request->vendor = g_strdup(topo_values_text(values, vendor));
    request->vendor_place = topo_values_get(values, vendor)->place;
    request->fabric = g_strdup(topo_values_text(values, "fabric"));
    request->fabric_place = topo_values_get(values, "fabric")->place;
    request->instance = (unsigned)topo_values_number(values, "device_instance");
    request->instance_place = topo_values_get(values, "device_instance")->place;
}

static TopoRequest *request_new(const TopoNode *node, TopoErrors *errors)
{
    g_autoptr(TopoValues) values = NULL;
    g_autoptr(TopoRequest) request = g_new0(TopoRequest, 1);
    bool has_number;

    if (!check_hardware_keys(node, errors)) {
        return NULL;
    }
    values = topo_values_read(&topo_section_request, node, errors);
    if (!values) {
        return NULL;
    }
    request->place = node->place;
    if (topo_values_given(values, "device_slot")) {
        read_slot(request, values, errors);
    } else {
        read_device(request, values, errors);
    }
    request->is_virtual = topo_values_number(values, "function_type") != 0;
    has_number = topo_values_given(values, "virtual_function_id");
    request->virtual_place = topo_values_get(values, "function_type")->place;
    if (request->is_virtual && !has_number) {
        topo_errors_add(errors, request->virtual_place,
                        "a VirtualFunction needs its number; add "
                        "virtual_function_id: 0");
    }
    if (has_number) {
        request->virtual_place =
            topo_values_get(values, "virtual_function_id")->place;
    }
    if (has_number && !request->is_virtual) {
        topo_errors_add(errors, request->virtual_place,
                        "a PhysicalFunction has no number; add function_type: "
                        "VirtualFunction, or leave virtual_function_id out");
    }
    if (request->is_virtual && has_number) {
        request->virtual_function =
            (unsigned)topo_values_number(values, "virtual_function_id");
    }
    request->partition = g_strdup(topo_values_text(values, "ib_partition_id"));
    return g_steal_pointer(&request);
}

/* Overwrites "// ..." outside of quotes with blanks, so that places stay. */
static void blank_comments(char *text)
{
    char quote = '\0';

    for (; *text != '\0'; text++) {
        if (quote != '\0') {
            if (*text == '\\' && text[1] != '\0') {
                text++;
            } else if (*text == quote || *text == '\n') {
                quote = '\0';
            }
        } else if (*text == '"') {
            quote = *text;
        } else if (text[0] == '/' && text[1] == '/') {
            size_t length = strcspn(text, "\r\n");

            memset(text, ' ', length);
            text += length - 1;
        }
    }
}

static GPtrArray *load_file(const char *path, TopoErrors *errors)
{
    g_autoptr(GPtrArray) requests =
        g_ptr_array_new_with_free_func(request_destroy);
    g_autoptr(TopoValues) values = NULL;
    g_autoptr(GPtrArray) items = NULL;
    g_autoptr(TopoNode) tree = NULL;
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;
    unsigned before = topo_errors_count(errors);
    TopoPlace place = {g_intern_string(path), 0, 0};
    size_t length;

    if (!topo_file_read(path, TOPO_NODE_TEXT_MAX, &text, &length, &error)) {
        topo_errors_add(errors, place, "%s", error->message);
        return NULL;
    }
    blank_comments(text);
    tree = topo_node_parse(place.file, text, length, errors);
    if (!tree) {
        return NULL;
    }
    values = topo_values_read(&topo_section_request_file, tree, errors);
    if (!values) {
        return NULL;
    }
    items = topo_values_items(values, "ib_interfaces");
    for (unsigned i = 0; i < items->len; i++) {
        TopoRequest *request = request_new(items->pdata[i], errors);

        if (request) {
            g_ptr_array_add(requests, request);
        }
    }
    return topo_errors_count(errors) > before ? NULL
                                              : g_steal_pointer(&requests);
}

bool topo_request_words_check(const TopoRequestWords *words, GError **error)
{
    bool has_parts =
        words->device || words->vendor || words->fabric || words->instance != 0;

    if (words->file
            ? has_parts || words->slot || words->virtual_function != -1
            : !words->device == !words->slot || (words->slot && has_parts)) {
        return topo_refuse_option(error, "give --device, or --slot without "
                                         "other attributes, or --request "
                                         "alone");
    }
    if (words->instance < 0 || words->virtual_function < -1) {
        return topo_refuse_option(
            error, "--instance and --virtual-function count from 0");
    }
    return true;
}

GPtrArray *topo_requests_of_words(const TopoRequestWords *words,
                                  TopoErrors *errors)
{
    unsigned before = topo_errors_count(errors);
    TopoRequest *request;
    GPtrArray *requests;

    if (words->file) {
        return load_file(words->file, errors);
    }
    requests = g_ptr_array_new_with_free_func(request_destroy);
    request = g_new(TopoRequest, 1);
    g_ptr_array_add(requests, request);
    *request = (TopoRequest){
        .place.file = "--device",
        .device = g_strdup(words->device),
        .device_place.file = "--device",
        .vendor = g_strdup(words->vendor),
        .vendor_place.file = "--vendor",
        .fabric = g_strdup(words->fabric),
        .fabric_place.file = "--fabric",
        .instance = (unsigned)words->instance,
        .instance_place.file = "--instance",
        .is_virtual = words->virtual_function >= 0,
        .virtual_function = (unsigned)MAX(words->virtual_function, 0),
        .virtual_place.file = "--virtual-function",
        .slot_place.file = "--slot",
    };
    if (words->slot) {
        parse_slot(request, words->slot, errors);
    }
    if (topo_errors_count(errors) > before) {
        g_clear_pointer(&requests, g_ptr_array_unref);
    }
    return requests;
}
