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
 * {type, name, vendor, count, fabric, and slot if @by_slot}; all hosts by type
 * as an array of {hosts, capabilities}; the devices of @host as an array of
 * {guid, fabric, pci_properties, card, serial_number, interface}; what a user
 * can choose of it as an array of {label, device, device_vendor, fabric,
 * device_instance}. What is not known is left out. */
char *inv_capabilities_to_json(const InvHost *host, bool by_slot);
char *inv_types_to_json(const Inventory *inventory, bool by_slot);
char *inv_devices_to_json(const InvHost *host);
char *inv_choices_to_json(const InvHost *host);

/* As inv_devices_to_json(), in the form in which an operating system finds
 * devices: {guid, pci_properties}, with paths and numbers in place of slots and
 * names. Returns NULL and sets @error (G_OPTION_ERROR) if @host is described,
 * not live. */
char *inv_raw_devices_to_json(const InvHost *host, GError **error);

/* The lists of an inventory. */
typedef enum InvView {
    INV_VIEW_TYPES,   /* types of hosts with their capabilities */
    INV_VIEW_SLOTS,   /* the same; slots tell devices apart */
    INV_VIEW_CHOICES, /* types of hosts with "[fabric]: vendor device - Nr n" */
    INV_VIEW_DEVICES, /* each device with its slot and interface */
    INV_VIEW_RAW,     /* JSON only: as an operating system finds them, {guid,
                         pci_properties}, with paths and numbers */
} InvView;

/* Appends @view as text. */
void inv_view_append(GString *text, const Inventory *inventory, InvView view);

/* Appends @view as JSON with a line's end: for one host, with @is_chosen or if
 * @view is of one, what it has; else an array of {hosts, capabilities}. Returns
 * false and sets @error (G_OPTION_ERROR) if @view is of one host and there are
 * others, or if a description does not have it. */
bool inv_view_append_json(GString *text, const Inventory *inventory,
                          InvView view, bool is_chosen, GError **error);

/* Appends a sentence for each two devices that are ports of one card. */
void inv_cards_append(GString *text, const Inventory *inventory);

#endif
