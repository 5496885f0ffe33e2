/* SPDX-License-Identifier: MIT */
#ifndef INV_REPORT_H
#define INV_REPORT_H

#include "inv_inventory.h"

/* A set of equal devices of a host: equal type, vendor, name and fabric. */
typedef struct InvCapability {
    const InvDevice *device; /* one of them */
    unsigned count;
} InvCapability;

/* Returns the capabilities of @host, an array of InvCapability to be freed with
 * g_array_unref(). They are sorted by type, name, vendor and fabric, so that
 * identical hosts report identically, whatever the order of their slots. With
 * @by_slot each device is a capability of its own, as those need it who select
 * by slot. */
GArray *inv_capabilities(const InvHost *host, bool by_slot);

/* Returns the hosts by type: an array of arrays of InvHost with the same
 * capabilities, with @by_slot in the same slots, in the order of the first host
 * of each. The caller frees it with g_ptr_array_unref(). */
GPtrArray *inv_host_types(const Inventory *inventory, bool by_slot);

/* Return JSON texts, to be freed: the capabilities of @host as an array of
 * {type, name, vendor, count, fabric, and slot if @by_slot}; its devices as an
 * array of {guid, fabric, pci_properties, card, serial_number, interface}; all
 * hosts by type as an array of {hosts, capabilities}. What is not known is left
 * out. */
char *inv_capabilities_to_json(const InvHost *host, bool by_slot);
char *inv_devices_to_json(const InvHost *host);
char *inv_types_to_json(const Inventory *inventory, bool by_slot);

/* As inv_devices_to_json(), in the form in which an operating system finds
 * devices: {guid, pci_properties}, with paths and numbers in place of slots and
 * names. Returns NULL and sets @error (G_OPTION_ERROR) if @host is described,
 * not live. */
char *inv_raw_devices_to_json(const InvHost *host, GError **error);

/* What a user can choose of @host: JSON, an array of {label, device,
 * device_vendor, fabric, device_instance}, sorted as capabilities are. The
 * label is "[fabric]: vendor device - Nr n". */
char *inv_choices_to_json(const InvHost *host);

/* Append texts: the types of hosts with their devices; the labels of what a
 * user can choose of each type; each device with its slot and interface; a
 * sentence for each two devices that are ports of one card. */
void inv_types_append(GString *text, const Inventory *inventory, bool by_slot);
void inv_choices_append(GString *text, const Inventory *inventory);
void inv_devices_append(GString *text, const Inventory *inventory);
void inv_cards_append(GString *text, const Inventory *inventory);

#endif
