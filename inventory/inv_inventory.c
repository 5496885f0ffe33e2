/* SPDX-License-Identifier: MIT */
#include "inv_inventory.h"

#include <string.h>

#include "inv_names_priv.h"
#include "topo_suggest.h"

G_DEFINE_QUARK(inv-error-quark, inv_error);

const char *inv_type_name(InvType type)
{
    static const char *const names[] = {
        [INV_TYPE_INFINIBAND] = "Infiniband",
        [INV_TYPE_NETWORK] = "Network",
        [INV_TYPE_GPU] = "GPU",
        [INV_TYPE_STORAGE] = "Storage",
        [INV_TYPE_ACCELERATOR] = "Accelerator",
    };

    return names[type];
}

void inv_device_free(InvDevice *device)
{
    if (device) {
        g_free(device->vendor);
        g_free(device->name);
        g_free(device->fabric);
        g_free(device->path);
        g_free(device->interface);
        g_free(device);
    }
}

static void device_destroy(void *device)
{
    inv_device_free(device);
}

static void host_destroy(void *data)
{
    InvHost *host = data;

    g_ptr_array_unref(host->devices);
    g_free(host->name);
    g_free(host);
}

InvHost *inv_host_new(const char *name)
{
    InvHost *host = g_new0(InvHost, 1);

    host->name = g_strdup(name);
    host->devices = g_ptr_array_new_with_free_func(device_destroy);
    return host;
}

Inventory *inv_new(void)
{
    Inventory *inventory = g_new0(Inventory, 1);

    inventory->hosts = g_ptr_array_new_with_free_func(host_destroy);
    return inventory;
}

void inv_free(Inventory *inventory)
{
    if (inventory) {
        g_ptr_array_unref(inventory->hosts);
        g_free(inventory);
    }
}

bool inv_is_same_card(const InvDevice *a, const InvDevice *b)
{
    return a->slot.domain == b->slot.domain && a->slot.bus == b->slot.bus &&
           a->slot.dev == b->slot.dev;
}

static int compare_slots(const void *a, const void *b)
{
    const InvDevice *first = *(InvDevice *const *)a;
    const InvDevice *second = *(InvDevice *const *)b;

    return topo_address_compare(first->slot, second->slot);
}

void inv_host_sort(InvHost *host)
{
    g_ptr_array_sort(host->devices, compare_slots);
}

/* ---- From a description ------------------------------------------------ */

static InvType type_of(const TopoPart *part)
{
    static const struct {
        const char *word;
        InvType type;
    } words[] = {
        {"infiniband", INV_TYPE_INFINIBAND},
        {"network", INV_TYPE_NETWORK},
        {"gpu", INV_TYPE_GPU},
        {"storage", INV_TYPE_STORAGE},
        {"accelerator", INV_TYPE_ACCELERATOR},
    };

    if (!topo_part_has(part, "card.type")) {
        if (topo_part_kind(part) == TOPO_PART_GPU) {
            return INV_TYPE_GPU;
        }
        return topo_part_has(part, "nvme.overhead") ? INV_TYPE_STORAGE
                                                    : INV_TYPE_ACCELERATOR;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(words); i++) {
        if (strcmp(topo_part_text(part, "card.type"), words[i].word) == 0) {
            return words[i].type;
        }
    }
    g_assert_not_reached();
}

static bool is_listed(const TopoPart *part)
{
    return topo_part_kind(part) != TOPO_PART_NTB &&
           !(topo_part_has(part, "card.type") &&
             strcmp(topo_part_text(part, "card.type"), "other") == 0);
}

static void add_port(InvHost *host, const TopoDevice *described, unsigned port,
                     TopoPciAddress first)
{
    const TopoPart *part = described->part;
    unsigned ports = described->fabrics->len;
    InvDevice *device = g_new0(InvDevice, 1);

    device->type = type_of(part);
    device->vendor = topo_part_has(part, "card.vendor")
                         ? g_strdup(topo_part_text(part, "card.vendor"))
                         : NULL;
    device->name = g_strdup(topo_part_has(part, "card.name")
                                ? topo_part_text(part, "card.name")
                                : topo_part_name(part));
    device->fabric = g_strdup(described->fabrics->pdata[port]);
    device->path = ports > 1 ? g_strdup_printf("%s:%u", described->name, port)
                             : g_strdup(described->name);
    device->slot = topo_address_add(first, port);
    device->is_multifunction = ports > 1;
    device->interface =
        inv_name(device->type, device->slot, device->is_multifunction);
    device->numa_node = -1;
    /* The VFs of port 0 follow the physical functions of all ports, and those
     * of port 1 follow them. */
    device->vfs = (unsigned)topo_part_int(part, "card.vfs");
    device->vf_offset = ports - port + port * device->vfs;
    device->vf_stride = 1;
    device->place = described->place;
    g_ptr_array_add(host->devices, device);
}

/* Returns false, after reporting it, if the functions of the card are not all
 * on bus numbers that exist, or not those of one device. */
static bool check_card(const TopoDevice *described, TopoPciAddress first,
                       TopoErrors *errors)
{
    unsigned ports = described->fabrics->len;
    unsigned vfs = (unsigned)topo_part_int(described->part, "card.vfs");
    TopoPciAddress last = topo_address_add(first, ports - 1 + ports * vfs);

    if (first.fn + ports > 8) {
        topo_errors_add(errors, described->address_place,
                        "%s has %u ports, each a function of one PCI device; "
                        "write an address that ends in .%x or less",
                        described->path, ports, 8 - ports);
        return false;
    }
    if (last.bus > 255) {
        topo_errors_add(errors, described->address_place,
                        "%s needs bus numbers up to %u for its %u virtual "
                        "functions; write a lower address or fewer card.vfs",
                        described->path, last.bus, ports * vfs);
        return false;
    }
    return true;
}

/* Reports devices in one slot. Returns whether there are none. */
static bool check_slots(const InvHost *host, TopoErrors *errors)
{
    bool good = true;

    for (unsigned i = 1; i < host->devices->len; i++) {
        const InvDevice *a = host->devices->pdata[i - 1];
        const InvDevice *b = host->devices->pdata[i];

        if (topo_address_compare(a->slot, b->slot) == 0) {
            g_autofree char *slot = topo_address_to_string(a->slot);

            topo_errors_add(errors, b->place,
                            "%s.%s and %s.%s are both at %s; write another "
                            "address for one of them",
                            host->name, a->path, host->name, b->path, slot);
            good = false;
        }
    }
    return good;
}

Inventory *inv_from_description(const TopoDescription *description,
                                InvAddressFn address, void *user,
                                TopoErrors *errors)
{
    g_autoptr(Inventory) inventory = inv_new();
    bool good = true;

    for (unsigned i = 0; i < description->hosts->len; i++) {
        const TopoHost *described = description->hosts->pdata[i];
        InvHost *host = inv_host_new(described->name);

        g_ptr_array_add(inventory->hosts, host);
        for (unsigned j = 0; j < described->devices->len; j++) {
            const TopoDevice *device = described->devices->pdata[j];
            TopoPciAddress first;

            if (!is_listed(device->part)) {
                continue;
            }
            first =
                device->has_address ? device->address : address(device, user);
            good = check_card(device, first, errors) && good;
            for (unsigned k = 0; k < device->fabrics->len; k++) {
                add_port(host, device, k, first);
            }
        }
        inv_host_sort(host);
        good = check_slots(host, errors) && good;
    }
    return good ? g_steal_pointer(&inventory) : NULL;
}

bool inv_keep_host(Inventory *inventory, const char *name, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    InvHost *kept = NULL;
    unsigned index;

    for (unsigned i = 0; i < inventory->hosts->len; i++) {
        InvHost *host = inventory->hosts->pdata[i];

        g_ptr_array_add(names, host->name);
        kept = strcmp(host->name, name) == 0 ? host : kept;
    }
    if (!kept) {
        topo_no_such_host(name, names, error);
        return false;
    }
    g_ptr_array_find(inventory->hosts, kept, &index);
    g_ptr_array_remove_range(inventory->hosts, index + 1,
                             inventory->hosts->len - index - 1);
    g_ptr_array_remove_range(inventory->hosts, 0, index);
    return true;
}
