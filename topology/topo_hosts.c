/* SPDX-License-Identifier: MIT */
/* Hosts with their switches and devices, and their `vm:`. */
#include <string.h>

#include "topo_load_priv.h"

#define SWITCHES_MAX 127 /* each takes two of a host's 256 bus numbers */

/* Returns whether @text names a kernel that Debian has, or the debug kernel. A
 * path with such a name is written "./6.1". */
static bool is_series(const char *text)
{
    return text && (strcmp(text, "debug") == 0 ||
                    g_regex_match_simple("^[0-9]+\\.[0-9]+$", text, 0, 0));
}

/* Copies the paths of the list @key to @array. */
static void load_paths(TopoLoader *loader, const TopoValues *values,
                       const char *key, GPtrArray *array)
{
    g_autoptr(GPtrArray) items = topo_values_items(values, key);

    for (unsigned i = 0; i < items->len; i++) {
        const TopoNode *node = items->pdata[i];

        g_ptr_array_add(array, topo_load_path(loader, node->text));
    }
}

/* Reads the keys that say of what the image of the guest is made. */
static void load_guest(TopoLoader *loader, TopoVm *vm, const TopoValues *values)
{
    static const char *const others[] = {"kernel", "modules", "source",
                                         "module-dirs", "files"};
    const char *kernel = topo_values_text(values, "kernel");

    if (is_series(kernel)) {
        vm->series = topo_load_text(loader, kernel);
    } else {
        vm->kernel = topo_load_path(loader, kernel);
    }
    vm->modules = topo_load_path(loader, topo_values_text(values, "modules"));
    vm->source = topo_load_path(loader, topo_values_text(values, "source"));
    load_paths(loader, values, "module-dirs", vm->module_dirs);
    load_paths(loader, values, "files", vm->files);
    vm->image = topo_load_path(loader, topo_values_text(values, "image"));
    vm->share = topo_load_path(loader, topo_values_text(values, "share"));
    vm->share_place = topo_values_get(values, "share")->place;
    for (unsigned i = 0; vm->image && i < G_N_ELEMENTS(others); i++) {
        if (topo_values_given(values, others[i])) {
            topo_errors_add(loader->errors,
                            topo_values_get(values, others[i])->place,
                            "%s is of no use beside image, an image that is "
                            "made already; leave one of them out",
                            others[i]);
        }
    }
}

static void inner_free(void *data)
{
    TopoInner *inner = data;

    g_free(inner->borrow);
    g_free(inner);
}

/* Reads the IDs of `borrow:`, as `lendctl list` shows them. */
static char *load_ids(TopoLoader *loader, const TopoValues *values)
{
    g_autoptr(GPtrArray) items = topo_values_items(values, "borrow");
    GString *ids = g_string_new(NULL);

    for (unsigned i = 0; i < items->len; i++) {
        const TopoNode *node = items->pdata[i];
        size_t length = strlen(node->text);

        if (length < 5 || length > 8 ||
            strspn(node->text, "0123456789abcdef") != length) {
            topo_errors_add(loader->errors, node->place,
                            "'%s' is no ID of a device; write one as lendctl "
                            "does, such as 10000 for the first device of "
                            "node 1",
                            node->text);
        }
        g_string_append_printf(ids, "%s%s", i > 0 ? "+" : "", node->text);
    }
    return g_string_free(ids, FALSE);
}

static void load_inner(TopoLoader *loader, TopoVm *vm, const TopoNode *node)
{
    g_autoptr(TopoValues) values =
        topo_values_read(&topo_section_inner, node, loader->errors);
    TopoInner *inner = g_new0(TopoInner, 1);

    g_ptr_array_add(vm->inner, inner);
    inner->place = node->place;
    inner->name = topo_load_text(loader, topo_values_text(values, "name"));
    inner->memory_bytes = topo_values_number(values, "memory");
    inner->cpus = (unsigned)topo_values_number(values, "cpus");
    inner->append = topo_load_text(loader, topo_values_text(values, "append"));
    inner->borrow = load_ids(loader, values);
    for (unsigned i = 0; inner->name && i + 1 < vm->inner->len; i++) {
        const TopoInner *other = vm->inner->pdata[i];

        if (g_strcmp0(other->name, inner->name) == 0) {
            topo_errors_add(loader->errors,
                            topo_values_get(values, "name")->place,
                            "the host has another virtual machine '%s'; "
                            "choose another name",
                            inner->name);
        }
    }
}

/* Reads `vm:` from @node, or sets the defaults if @node is NULL. */
static void load_vm(TopoLoader *loader, TopoHost *host, const TopoNode *node)
{
    g_autoptr(TopoValues) values =
        node ? topo_values_read(&topo_section_vm, node, loader->errors)
             : topo_values_new(&topo_section_vm, host->place);
    TopoVm *vm = g_new0(TopoVm, 1);

    host->vm = vm;
    vm->module_dirs = g_ptr_array_new();
    vm->files = g_ptr_array_new();
    vm->inner = g_ptr_array_new_with_free_func(inner_free);
    vm->place = node ? node->place : host->place;
    if (!values) {
        return;
    }
    vm->memory_bytes = topo_values_number(values, "memory");
    vm->memory_place = topo_values_get(values, "memory")->place;
    vm->cpus = (unsigned)topo_values_number(values, "cpus");
    vm->accel = (TopoAccel)topo_values_number(values, "accel");
    vm->instruction_ps = topo_values_number(values, "instruction");
    vm->pause_ps = topo_values_number(values, "pause");
    load_guest(loader, vm, values);
    vm->append = topo_load_text(loader, topo_values_text(values, "append"));
    vm->client = topo_load_text(loader, topo_values_text(values, "client"));
    vm->gdb = topo_values_number(values, "gdb") != 0;
    vm->qmp = topo_values_number(values, "qmp") != 0;
    vm->iommu = (TopoVmIommu)topo_values_number(values, "iommu");
    vm->remapping = topo_values_number(values, "remapping") != 0;
}

static void vm_device_free(TopoVmDevice *vm)
{
    if (vm) {
        g_ptr_array_unref(vm->option_names);
        g_ptr_array_unref(vm->option_values);
        g_array_unref(vm->option_places);
        g_free(vm);
    }
}

void topo_device_free(TopoDevice *device)
{
    g_ptr_array_unref(device->functions);
    vm_device_free(device->vm);
    g_ptr_array_unref(device->links);
    g_ptr_array_unref(device->fabrics);
    g_free(device);
}

static void load_options(TopoLoader *loader, TopoVmDevice *vm,
                         const TopoNode *node)
{
    unsigned i;

    if (node->kind != TOPO_NODE_MAP) {
        topo_errors_add(loader->errors, node->place,
                        "options is %s; write a map of properties to values",
                        topo_node_kind_name(node));
        return;
    }
    for (i = 0; i < node->items->len; i++) {
        const TopoEntry *entry = g_ptr_array_index(node->items, i);

        if (entry->value->kind != TOPO_NODE_SCALAR) {
            topo_errors_add(loader->errors, entry->value->place,
                            "option '%s' is %s; write a value", entry->key,
                            topo_node_kind_name(entry->value));
            continue;
        }
        g_ptr_array_add(vm->option_names, topo_load_text(loader, entry->key));
        g_ptr_array_add(vm->option_values,
                        topo_load_text(loader, entry->value->text));
        g_array_append_val(vm->option_places, entry->place);
    }
}

/* Returns the text of an image. A path is taken from the directory of the file;
 * a size stays as it is. */
static char *load_image(TopoLoader *loader, const char *text)
{
    const char *size = text;
    int64_t bytes;

    if (text && g_str_has_prefix(text, "null-co:")) {
        size += strlen("null-co:");
    }
    if (!text || size != text ||
        topo_units_parse(TOPO_UNIT_BYTES, size, &bytes, NULL)) {
        return topo_load_text(loader, text);
    }
    return topo_load_path(loader, text);
}

static void load_vm_device(TopoLoader *loader, TopoDevice *device,
                           const TopoNode *node)
{
    g_autoptr(TopoValues) values =
        topo_values_read(&topo_section_vm_device, node, loader->errors);
    TopoVmDevice *vm = g_new0(TopoVmDevice, 1);

    device->vm = vm;
    vm->place = node->place;
    vm->option_names = g_ptr_array_new();
    vm->option_values = g_ptr_array_new();
    vm->option_places = g_array_new(FALSE, FALSE, sizeof(TopoPlace));
    if (!values) {
        return;
    }
    vm->device = topo_load_text(loader, topo_values_text(values, "device"));
    vm->device_place = topo_values_get(values, "device")->place;
    vm->image = load_image(loader, topo_values_text(values, "image"));
    vm->image_place = topo_values_get(values, "image")->place;
    vm->network = topo_load_text(loader, topo_values_text(values, "network"));
    vm->region = topo_load_text(loader, topo_values_text(values, "region"));
    vm->region_place = topo_values_get(values, "region")->place;
    vm->size_bytes = topo_values_number(values, "size");
    vm->virtual_functions =
        (unsigned)topo_values_number(values, "virtual_functions");
    vm->virtual_place = topo_values_get(values, "virtual_functions")->place;
    vm->hotplug = topo_values_number(values, "hotplug") != 0;
    if (topo_values_given(values, "options")) {
        load_options(loader, vm, topo_values_get(values, "options")->node);
    }
}

/* Returns the part that @key names, with the element's `set:` applied. */
static const TopoPart *load_part(TopoLoader *loader, const TopoValues *values,
                                 const char *key, const char *user,
                                 unsigned kinds)
{
    const TopoValue *name = topo_values_get(values, key);
    const TopoNode *set = NULL;

    if (!name->valid || !name->text) {
        return NULL;
    }
    if (topo_values_given(values, "set")) {
        set = topo_values_get(values, "set")->node;
    }
    return topo_library_get(loader->loaded->library, name->text, name->place,
                            user, kinds, set);
}

/* Keeps the values of `at:`, `speed:` and `width:` for the attach step. */
static void keep_plug(TopoLoader *loader, TopoHost *host,
                      const TopoValues *values, TopoAttach *at,
                      TopoSwitch *self, const TopoPart *part, const char *path)
{
    TopoPlug plug = {
        .at = at,
        .host = host,
        .self = self,
        .part = part,
        .path = path,
        .text = topo_values_text(values, "at"),
        .speed_place = topo_values_get(values, "speed")->place,
        .width_place = topo_values_get(values, "width")->place,
        .share_place = topo_values_get(values, "share")->place,
        .has_share = topo_values_given(values, "share"),
    };

    at->place = topo_values_get(values, "at")->place;
    at->speed_mtps = (unsigned)topo_values_number(values, "speed");
    at->width = (unsigned)topo_values_number(values, "width");
    at->share = (unsigned)topo_values_number(values, "share");
    g_array_append_val(loader->plugs, plug);
}

/* Returns the path "host.name" of a switch or device. Returns NULL, after
 * reporting it, if the name is taken or is not valid. */
static char *claim_path(TopoLoader *loader, const TopoHost *host,
                        const TopoValues *values)
{
    const TopoValue *name = topo_values_get(values, "name");
    char *path;

    if (!name->valid || !name->text || !host->name) {
        return NULL;
    }
    if (strcmp(name->text, "ram") == 0 || strcmp(name->text, "cpu") == 0) {
        topo_errors_add(loader->errors, name->place,
                        "'%s' already names the memory or the CPU of a host; "
                        "choose another name",
                        name->text);
        return NULL;
    }
    {
        g_autofree char *full = g_strconcat(host->name, ".", name->text, NULL);

        path = topo_load_text(loader, full);
    }
    if (!topo_load_check_unique(loader, loader->loaded->elements,
                                "switch or device", path, name->place)) {
        return NULL;
    }
    g_hash_table_add(loader->loaded->elements, path);
    return path;
}

static const char *user_name(const char *path)
{
    return path ? path : "a nameless element";
}

/* Reports if another partition of the chip of @sw is of another part. */
static void check_chip(TopoLoader *loader, const TopoHost *host,
                       const TopoSwitch *sw, TopoPlace place)
{
    for (unsigned i = 0; sw->chip && sw->part && i < host->switches->len; i++) {
        const TopoSwitch *other = host->switches->pdata[i];

        if (other->chip && strcmp(other->chip, sw->chip) == 0 && other->part &&
            strcmp(topo_part_name(other->part), topo_part_name(sw->part)) !=
                0) {
            topo_errors_add(
                loader->errors, place,
                "%s: chip '%s' is of part %s in %s and of part %s here; write "
                "the same part",
                user_name(sw->path), sw->chip, topo_part_name(other->part),
                user_name(other->path), topo_part_name(sw->part));
            return;
        }
    }
}

static void load_switch(TopoLoader *loader, TopoHost *host,
                        const TopoNode *node)
{
    g_autoptr(TopoValues) values =
        topo_values_read(&topo_section_switch, node, loader->errors);
    TopoSwitch *sw = g_new0(TopoSwitch, 1);

    sw->host = host;
    sw->place = node->place;
    sw->name = topo_load_text(loader, topo_values_text(values, "name"));
    sw->path = claim_path(loader, host, values);
    sw->part = load_part(loader, values, "part", user_name(sw->path),
                         TOPO_KIND_BIT(TOPO_PART_SWITCH));
    sw->acs = (TopoAcs)topo_values_number(values, "acs");
    sw->acs_direct = (TopoAcsDirect)topo_values_number(values, "acs_direct");
    sw->acs_redirect =
        sw->part && topo_part_bool(sw->part, "acs") &&
        (sw->acs == TOPO_ACS_ON || (sw->acs == TOPO_ACS_AUTO && host->iommu));
    if (sw->part && sw->acs == TOPO_ACS_ON && !sw->acs_redirect) {
        topo_errors_add(loader->errors, topo_values_get(values, "acs")->place,
                        "%s: part '%s' has no ACS; leave acs: on out, or "
                        "choose another part",
                        user_name(sw->path), topo_part_name(sw->part));
    }
    if (sw->part && sw->acs_direct != TOPO_ACS_DIRECT_OFF &&
        !topo_part_bool(sw->part, "acs")) {
        topo_errors_add(loader->errors,
                        topo_values_get(values, "acs_direct")->place,
                        "%s: part '%s' has no ACS; leave acs_direct out, or "
                        "choose another part",
                        user_name(sw->path), topo_part_name(sw->part));
    }
    sw->uplink_share = (unsigned)topo_values_number(values, "uplink_share");
    if (sw->part && topo_values_given(values, "uplink_share") &&
        strcmp(topo_part_text(sw->part, "arbitration"), "port-table") != 0) {
        topo_errors_add(loader->errors,
                        topo_values_get(values, "uplink_share")->place,
                        "%s: part '%s' has no Port Arbitration Table; write "
                        "set: {arbitration: port-table}, or leave uplink_share "
                        "out",
                        user_name(sw->path), topo_part_name(sw->part));
    }
    sw->chip = topo_load_text(loader, topo_values_text(values, "chip"));
    check_chip(loader, host, sw, topo_values_get(values, "chip")->place);
    keep_plug(loader, host, values, &sw->at, sw, sw->part, user_name(sw->path));
    g_ptr_array_add(host->switches, sw);
    if (sw->path) {
        g_hash_table_insert(loader->loaded->switches, sw->path, sw);
    }
}

/* Reads `fabrics:`: one name for each port of the card, or one for all. */
static void load_fabrics(TopoLoader *loader, TopoDevice *device,
                         const TopoValues *values, unsigned ports)
{
    g_autoptr(GPtrArray) items = topo_values_items(values, "fabrics");

    if (topo_values_given(values, "fabrics") && items->len != ports &&
        items->len != 1) {
        topo_errors_add(
            loader->errors, topo_values_get(values, "fabrics")->place,
            "%s has %u port%s and %u fabrics; write one fabric for "
            "each port, or one for all",
            user_name(device->path), ports, ports == 1 ? "" : "s", items->len);
        return;
    }
    for (unsigned i = 0; i < ports && items->len > 0; i++) {
        const TopoNode *node = items->pdata[items->len == 1 ? 0 : i];

        device->fabrics->pdata[i] = topo_load_text(loader, node->text);
    }
}

/* Reads the keys that only inventories use. */
static void load_card(TopoLoader *loader, TopoDevice *device,
                      const TopoValues *values)
{
    const TopoValue *address = topo_values_get(values, "address");

    if (device->part && topo_part_kind(device->part) != TOPO_PART_NTB) {
        unsigned ports = (unsigned)topo_part_int(device->part, "card.ports");

        g_ptr_array_set_size(device->fabrics, (int)ports);
        load_fabrics(loader, device, values, ports);
    } else if (device->part && topo_values_given(values, "fabrics")) {
        topo_errors_add(loader->errors,
                        topo_values_get(values, "fabrics")->place,
                        "%s is an NTB adapter, which inventories do not list; "
                        "leave fabrics out",
                        user_name(device->path));
    }
    device->address_place = address->place;
    if (!address->given || !address->valid) {
        return;
    }
    device->has_address = topo_address_parse(address->text, &device->address);
    if (!device->has_address) {
        topo_errors_add(loader->errors, address->place,
                        "'%s' is no PCI address; write for example "
                        "0000:ca:00.0",
                        address->text);
    }
}

/* Reports if @device cannot be a partition of its chip. */
static void check_device_chip(TopoLoader *loader, const TopoDevice *device,
                              TopoPlace place)
{
    const GPtrArray *hosts = loader->loaded->pub.hosts;

    if (!device->chip || !device->part) {
        return;
    }
    if (topo_part_kind(device->part) != TOPO_PART_NTB) {
        topo_errors_add(loader->errors, place,
                        "%s: only an NTB adapter can be a partition of a chip; "
                        "leave chip out",
                        user_name(device->path));
        return;
    }
    for (unsigned i = 0; i < hosts->len; i++) {
        const TopoHost *host = hosts->pdata[i];

        for (unsigned j = 0; j < host->devices->len; j++) {
            const TopoDevice *other = host->devices->pdata[j];

            if (!other->chip || strcmp(other->chip, device->chip) != 0 ||
                !other->part) {
                continue;
            }
            if (host == device->host) {
                topo_errors_add(loader->errors, place,
                                "%s: %s is a partition of chip '%s', too; a "
                                "host has one at most",
                                user_name(device->path), user_name(other->path),
                                device->chip);
            } else if (strcmp(topo_part_name(other->part),
                              topo_part_name(device->part)) != 0) {
                topo_errors_add(loader->errors, place,
                                "%s: chip '%s' is of part %s in %s and of part "
                                "%s here; write the same part",
                                user_name(device->path), device->chip,
                                topo_part_name(other->part),
                                user_name(other->path),
                                topo_part_name(device->part));
            } else {
                continue;
            }
            return;
        }
    }
}

static void load_device(TopoLoader *loader, TopoHost *host,
                        const TopoNode *node)
{
    g_autoptr(TopoValues) values =
        topo_values_read(&topo_section_device, node, loader->errors);
    TopoDevice *device = g_new0(TopoDevice, 1);

    device->host = host;
    device->place = node->place;
    device->links = g_ptr_array_new();
    device->fabrics = g_ptr_array_new();
    device->functions =
        g_ptr_array_new_with_free_func((GDestroyNotify)topo_device_free);
    device->name = topo_load_text(loader, topo_values_text(values, "name"));
    device->path = claim_path(loader, host, values);
    device->part = load_part(loader, values, "part", user_name(device->path),
                             TOPO_KIND_BIT(TOPO_PART_GPU) |
                                 TOPO_KIND_BIT(TOPO_PART_ENDPOINT) |
                                 TOPO_KIND_BIT(TOPO_PART_NTB));
    if (device->part && topo_part_kind(device->part) == TOPO_PART_NTB) {
        g_ptr_array_set_size(device->links,
                             (int)topo_part_int(device->part, "cable.ports"));
    }
    device->is_fabric_attached =
        g_strcmp0(topo_values_text(values, "attached"), "fabric") == 0;
    device->chip = topo_load_text(loader, topo_values_text(values, "chip"));
    check_device_chip(loader, device, topo_values_get(values, "chip")->place);
    load_card(loader, device, values);
    keep_plug(loader, host, values, &device->at, NULL, device->part,
              user_name(device->path));
    if (topo_values_given(values, "vm")) {
        load_vm_device(loader, device, topo_values_get(values, "vm")->node);
    }
    g_ptr_array_add(host->devices, device);
    if (device->path) {
        g_hash_table_insert(loader->loaded->devices, device->path, device);
    }
}

static void load_host(TopoLoader *loader, const TopoNode *node)
{
    g_autoptr(TopoValues) values =
        topo_values_read(&topo_section_host, node, loader->errors);
    g_autoptr(GPtrArray) switches = topo_values_items(values, "switches");
    g_autoptr(GPtrArray) devices = topo_values_items(values, "devices");
    g_autoptr(GPtrArray) vms = topo_values_items(values, "vms");
    const TopoValue *name = topo_values_get(values, "name");
    GPtrArray *hosts = loader->loaded->pub.hosts;
    TopoHost *host = g_new0(TopoHost, 1);
    unsigned i;

    host->index = hosts->len;
    host->place = node->place;
    host->switches = g_ptr_array_new_with_free_func(g_free);
    host->devices = g_ptr_array_new();
    host->functions = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(hosts, host);
    host->iommu = topo_values_number(values, "iommu") != 0;
    host->preallocated_bytes = topo_values_given(values, "preallocated")
                                   ? topo_values_number(values, "preallocated")
                                   : -1;
    if (topo_load_check_unique(loader, loader->loaded->hosts, "host",
                               topo_values_text(values, "name"), name->place)) {
        host->name = topo_load_text(loader, name->text);
        g_hash_table_insert(loader->loaded->hosts, host->name, host);
    }
    host->cpu = load_part(loader, values, "cpu",
                          host->name ? host->name : "a nameless host",
                          TOPO_KIND_BIT(TOPO_PART_CPU));
    if (switches->len > SWITCHES_MAX) {
        topo_errors_add(loader->errors,
                        topo_values_get(values, "switches")->place,
                        "the host has %u switches and bus numbers for %d; "
                        "write fewer switches",
                        switches->len, SWITCHES_MAX);
    }
    for (i = 0; i < MIN(switches->len, SWITCHES_MAX); i++) {
        load_switch(loader, host, g_ptr_array_index(switches, i));
    }
    for (i = 0; i < devices->len; i++) {
        load_device(loader, host, g_ptr_array_index(devices, i));
    }
    topo_load_functions(loader, host, values);
    load_vm(loader, host,
            topo_values_given(values, "vm")
                ? topo_values_get(values, "vm")->node
                : NULL);
    host->vm->runs_inner = topo_values_given(values, "vms");
    for (i = 0; i < vms->len; i++) {
        load_inner(loader, host->vm, g_ptr_array_index(vms, i));
    }
}

void topo_load_hosts(TopoLoader *loader, const TopoValues *file)
{
    g_autoptr(GPtrArray) items = topo_values_items(file, "hosts");
    unsigned i;

    if (items->len == 0 && topo_values_given(file, "hosts")) {
        topo_errors_add(loader->errors, topo_values_get(file, "hosts")->place,
                        "there is no host; write at least one");
    }
    for (i = 0; i < items->len; i++) {
        load_host(loader, g_ptr_array_index(items, i));
    }
}
