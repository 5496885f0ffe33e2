/* SPDX-License-Identifier: MIT */
/*
 * The devices of a live host, from the tree that Linux mounts at /sys:
 * bus/pci/devices/ADDRESS/ and below (Documentation/ABI/testing/sysfs-bus-pci).
 */
#include <stdio.h>
#include <string.h>

#include "inv_ids_priv.h"
#include "dl_select.h"
#include "inv_machine_priv.h"
#include "inv_names_priv.h"
#include "table_file.h"
#include "table_text.h"
#include "topo_file.h"

#define CONFIG_HEADER_TYPE 0x0e /* PCIe 5.0 s7.5.1.1.9 */
#define MULTIFUNCTION      0x80

/* The PCI domains in which dl_borrower (kmod/borrower/borrower_bridge.c) puts
 * functions that the host has borrowed. */
#define BORROWED_FIRST 0x1f000
#define BORROWED_LAST  0x1ffff

/* No file of /sys that is read here is longer. */
#define FILE_MAX_BYTES ((size_t)1 << 20)

/* Returns the bytes of @file in @dir; NULL if it cannot be read. A copy of a
 * tree may come from anywhere, so it may have a pipe or a device in the place
 * of a file, which would never end. */
static char *read_bytes(const char *dir, const char *file, size_t *ret_length)
{
    g_autofree char *path = g_build_filename(dir, file, NULL);
    char *bytes;

    return !table_file_is_special(path) &&
                   topo_file_read(path, FILE_MAX_BYTES, &bytes, ret_length,
                                  NULL)
               ? bytes
               : NULL;
}

/* Returns the text of @file in @dir without the line's end; NULL if it cannot
 * be read. */
static char *read_text(const char *dir, const char *file)
{
    size_t length;
    g_autofree char *text = read_bytes(dir, file, &length);

    return text ? table_text_from(g_strchomp(text), -1, false) : NULL;
}

/* Reads a number of @base. Returns false and sets @error if the file is missing
 * or has anything else. */
static bool read_number(const char *dir, const char *file, unsigned base,
                        unsigned *ret_value, GError **error)
{
    g_autofree char *text = read_text(dir, file);
    const char *digits = text;
    guint64 value;

    if (text && base == 16 && g_str_has_prefix(text, "0x")) {
        digits = text + 2;
    }
    if (!digits || !g_ascii_string_to_unsigned(digits, base, 0, G_MAXUINT32,
                                               &value, NULL)) {
        g_set_error(error, INV_ERROR, INV_ERROR_SYSFS,
                    "%s/%s is no number; give a tree as Linux mounts it at "
                    "/sys",
                    dir, file);
        return false;
    }
    *ret_value = (unsigned)value;
    return true;
}

static bool exists(const char *dir, const char *file)
{
    g_autofree char *path = g_build_filename(dir, file, NULL);

    return g_file_test(path, G_FILE_TEST_EXISTS | G_FILE_TEST_IS_SYMLINK);
}

/* Returns the first name in the folder @file of @dir, in the order of names;
 * NULL if there is none. */
static char *first_name(const char *dir, const char *file)
{
    g_autofree char *path = g_build_filename(dir, file, NULL);
    GDir *folder = g_dir_open(path, 0, NULL);
    char *first = NULL;
    const char *name;

    while (folder && (name = g_dir_read_name(folder))) {
        if (!first || strcmp(name, first) < 0) {
            g_free(first);
            first = g_strdup(name);
        }
    }
    g_clear_pointer(&folder, g_dir_close);
    return first;
}

/* Returns false for a function that is no device of an inventory, such as a
 * bridge, or the display of a management controller. @class_code is base class,
 * subclass and interface. @name is nullable. */
static bool type_of_function(unsigned class_code, unsigned vendor, char *name,
                             InvType *ret_type)
{
    static const struct {
        const char *word;
        InvType type;
    } types[] = {
        {"infiniband", INV_TYPE_INFINIBAND},   {"network", INV_TYPE_NETWORK},
        {"storage", INV_TYPE_STORAGE},         {"gpu", INV_TYPE_GPU},
        {"accelerator", INV_TYPE_ACCELERATOR},
    };
    const TopoFunction function = {
        .class_code = class_code, .vendor_id = vendor, .name = name};
    const char *prefix;
    const char *word = inv_card_type(&function, &prefix);

    for (unsigned i = 0; i < G_N_ELEMENTS(types); i++) {
        if (strcmp(types[i].word, word) == 0) {
            *ret_type = types[i].type;
            return true;
        }
    }
    return false;
}

/* Returns the InfiniBand subnet of the device's port: the upper half of its
 * first GID. NULL if the port is in no subnet, or in one with the prefix that
 * all subnets have at first. */
static char *read_fabric(const char *dir)
{
    g_autofree char *name = first_name(dir, "infiniband");
    g_autofree char *folder = NULL;
    g_autofree char *gid = NULL;
    uint64_t prefix;

    if (!name) {
        return NULL;
    }
    folder =
        g_build_filename(dir, "infiniband", name, "ports", "1", "gids", NULL);
    gid = read_text(folder, "0");
    prefix = gid ? dl_select_fabric(gid) : 0;
    return prefix ? g_strdup_printf("%04x:%04x:%04x:%04x",
                                    (unsigned)(prefix >> 48),
                                    (unsigned)(prefix >> 32 & 0xffff),
                                    (unsigned)(prefix >> 16 & 0xffff),
                                    (unsigned)(prefix & 0xffff))
                  : NULL;
}

/* Returns the GUID of the device's port: the lower half of its first GID, or
 * what the device is called by; 0 without a driver. */
static uint64_t read_guid(const char *dir)
{
    g_autofree char *name = first_name(dir, "infiniband");
    g_autofree char *folder =
        name ? g_build_filename(dir, "infiniband", name, NULL) : NULL;
    g_autofree char *gid = folder ? read_text(folder, "ports/1/gids/0") : NULL;
    g_autofree char *node = folder ? read_text(folder, "node_guid") : NULL;
    const char *text = node;
    unsigned part[4];

    if (gid && strlen(gid) == 39) {
        text = gid + 20;
    }
    return text && sscanf(text, "%4x:%4x:%4x:%4x", &part[0], &part[1], &part[2],
                          &part[3]) == 4
               ? (uint64_t)part[0] << 48 | (uint64_t)part[1] << 32 |
                     (uint64_t)part[2] << 16 | part[3]
               : 0;
}

/* Returns the serial number in the card's Vital Product Data: the field SN of
 * the read-only part (PCIe 5.0 s6.28); NULL if there is none. */
static char *read_serial(const char *dir)
{
    size_t length, at = 0;
    g_autofree char *text = read_bytes(dir, "vpd", &length);

    if (!text) {
        return NULL;
    }
    /* Large resources: a tag, two bytes of length, content. */
    while (at + 3 <= length && (text[at] & 0x80)) {
        size_t field = at + 3;
        size_t end = field + (uint8_t)text[at + 1] +
                     ((size_t)(uint8_t)text[at + 2] << 8);

        if (end > length) {
            return NULL;
        }
        while ((uint8_t)text[at] == 0x90 && field + 3 <= end) {
            size_t size = (uint8_t)text[field + 2];

            if (memcmp(text + field, "SN", 2) == 0 && field + 3 + size <= end) {
                g_autofree char *serial = g_strndup(text + field + 3, size);

                return table_text_from(g_strstrip(serial), -1, false);
            }
            field += 3 + size;
        }
        at = end;
    }
    return NULL;
}

/* Returns the folder in /sys to which the link @dir leads. In a copy of such a
 * tree there are no links, and it is that of the bus. */
static char *read_path(const char *dir, const char *name)
{
    g_autofree char *target = g_file_read_link(dir, NULL);
    const char *devices = target ? strstr(target, "/devices/") : NULL;

    return devices ? g_strdup(devices)
                   : g_strconcat("/bus/pci/devices/", name, NULL);
}

static bool is_multifunction(const char *dir)
{
    size_t length;
    g_autofree char *config = read_bytes(dir, "config", &length);

    return config && length > CONFIG_HEADER_TYPE &&
           (config[CONFIG_HEADER_TYPE] & MULTIFUNCTION) != 0;
}

/* Reads the SR-IOV capability, which a device without one does not show. */
static bool read_vfs(InvDevice *device, const char *dir, GError **error)
{
    return !exists(dir, "sriov_totalvfs") ||
           (read_number(dir, "sriov_totalvfs", 10, &device->vfs, error) &&
            read_number(dir, "sriov_offset", 10, &device->vf_offset, error) &&
            read_number(dir, "sriov_stride", 10, &device->vf_stride, error));
}

/* Reads the numbers and the names of the vendor and the device. */
static bool read_names(InvDevice *device, const InvIds *ids, const char *dir,
                       unsigned *ret_vendor, GError **error)
{
    unsigned vendor, number;
    const char *name;

    if (!read_number(dir, "vendor", 16, &vendor, error) ||
        !read_number(dir, "device", 16, &number, error)) {
        return false;
    }
    *ret_vendor = vendor;
    device->vendor_id = vendor;
    device->device_id = number;
    name = inv_ids_vendor(ids, vendor);
    device->vendor = name ? g_strdup(name) : g_strdup_printf("0x%04x", vendor);
    name = inv_ids_device(ids, vendor, number);
    device->name = name ? g_strdup(name) : g_strdup_printf("0x%04x", number);
    return true;
}

/* Returns the name that the driver of the port in @dir gave it: that of its
 * network interface or, if it has none, of its InfiniBand device. NULL if there
 * is no driver. */
static char *driver_name(const char *dir)
{
    g_autofree char *name = first_name(dir, "net");

    if (!name) {
        name = first_name(dir, "infiniband");
    }
    return name ? table_text_from(name, -1, false) : NULL;
}

/* Returns false only on errors. Sets *ret_device to NULL for a function that an
 * inventory does not list. */
static bool read_device(const InvIds *ids, const char *dir, const char *name,
                        InvDevice **ret_device, GError **error)
{
    g_autoptr(InvDevice) device = g_new0(InvDevice, 1);
    g_autofree char *node = read_text(dir, "numa_node");
    unsigned class_code, vendor;
    gint64 number;

    *ret_device = NULL;
    if (!read_number(dir, "class", 16, &class_code, error)) {
        return false;
    }
    /* Only a virtual function has a link to its physical function. */
    if (!type_of_function(class_code, 0, NULL, &device->type) ||
        exists(dir, "physfn")) {
        return true;
    }
    if (!topo_address_parse(name, &device->slot)) {
        g_set_error(error, INV_ERROR, INV_ERROR_SYSFS,
                    "%s: '%s' is no PCI address", dir, name);
        return false;
    }
    /* A borrowed function stands in its lender, and is a device of that host,
     * or a virtual function of one. */
    if (device->slot.domain >= BORROWED_FIRST &&
        device->slot.domain <= BORROWED_LAST) {
        return true;
    }
    if (!read_names(device, ids, dir, &vendor, error) ||
        !read_vfs(device, dir, error)) {
        return false;
    }
    if (!type_of_function(class_code, vendor, device->name, &device->type)) {
        return true;
    }
    device->place.file = g_intern_string(dir);
    device->path = g_strdup(name);
    device->numa_node =
        node && g_ascii_string_to_signed(node, 10, -1, G_MAXINT, &number, NULL)
            ? (int)number
            : -1;
    device->fabric = read_fabric(dir);
    device->guid = read_guid(dir);
    device->serial = read_serial(dir);
    device->device_path = read_path(dir, name);
    device->is_multifunction = is_multifunction(dir);
    if (device->type == INV_TYPE_INFINIBAND ||
        device->type == INV_TYPE_NETWORK) {
        device->interface = driver_name(dir);
    }
    if (!device->interface) {
        device->interface =
            inv_name(device->type, device->slot, device->is_multifunction);
    }
    *ret_device = g_steal_pointer(&device);
    return true;
}

bool inv_add_sysfs(Inventory *inventory, const char *name, const char *dir,
                   const char *ids_path, GError **error)
{
    g_autofree char *folder =
        g_build_filename(dir, "bus", "pci", "devices", NULL);
    bool has_ids = ids_path || g_file_test(INV_IDS, G_FILE_TEST_EXISTS);
    g_autoptr(InvIds) ids =
        inv_ids_new(has_ids && !ids_path ? INV_IDS : ids_path, error);
    GDir *names;
    const char *entry;
    InvHost *host;
    bool good = true;

    if (!ids) {
        return false;
    }
    names = g_dir_open(folder, 0, NULL);
    if (!names) {
        g_set_error(error, INV_ERROR, INV_ERROR_SYSFS,
                    "%s has no bus/pci/devices; give a tree as Linux mounts it "
                    "at /sys",
                    dir);
        return false;
    }
    host = inv_host_new(name);
    g_ptr_array_add(inventory->hosts, host);
    while (good && (entry = g_dir_read_name(names))) {
        g_autofree char *path = g_build_filename(folder, entry, NULL);
        InvDevice *device = NULL;

        good = read_device(ids, path, entry, &device, error);
        if (device) {
            g_ptr_array_add(host->devices, device);
        }
    }
    g_dir_close(names);
    inv_host_sort(host);
    return good;
}

Inventory *inv_from_sysfs(const char *dir, const char *name, const char *ids,
                          GError **error)
{
    g_autoptr(Inventory) inventory = inv_new();

    if (!name) {
        name = strcmp(dir, "/sys") == 0 ? g_get_host_name() : dir;
    }
    return inv_add_sysfs(inventory, name, dir, ids, error)
               ? g_steal_pointer(&inventory)
               : NULL;
}
