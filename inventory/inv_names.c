/* SPDX-License-Identifier: MIT */
#include "inv_names_priv.h"

static const char *prefix_of(InvType type)
{
    switch (type) {
    case INV_TYPE_INFINIBAND:
        return "ib";
    case INV_TYPE_NETWORK:
        return "en";
    default:
        return NULL;
    }
}

char *inv_name(InvType type, TopoPciAddress slot, bool is_multifunction)
{
    const char *prefix = prefix_of(type);
    g_autofree char *address = topo_address_to_string(slot);
    GString *name;

    if (!prefix) {
        /* A drive is found by the path of its first namespace. */
        return g_strconcat("pci-", address,
                           type == INV_TYPE_STORAGE ? "-nvme-1" : "", NULL);
    }
    /* prefix[P<domain>]p<bus>s<slot>[f<function>], all decimal. The function is
     * left out only if it is 0 and the only one. */
    name = g_string_new(prefix);
    if (slot.domain > 0) {
        g_string_append_printf(name, "P%u", slot.domain);
    }
    g_string_append_printf(name, "p%us%u", slot.bus, slot.dev);
    if (slot.fn > 0 || is_multifunction) {
        g_string_append_printf(name, "f%u", slot.fn);
    }
    return g_string_free(name, FALSE);
}

char *inv_name_virtual(InvType type, const char *interface, unsigned vf,
                       TopoPciAddress vf_slot)
{
    return prefix_of(type) ? g_strdup_printf("%sv%u", interface, vf)
                           : inv_name(type, vf_slot, false);
}

TopoPciAddress inv_virtual_slot(const InvDevice *device, unsigned vf)
{
    return topo_address_add(device->slot,
                            device->vf_offset + vf * device->vf_stride);
}
