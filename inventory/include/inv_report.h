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
 * identical hosts report identically, whatever the order of their slots. */
GArray *inv_capabilities(const InvHost *host);

/* Returns the hosts by type: an array of arrays of InvHost with the same
 * capabilities, in the order of the first host of each. The caller frees it
 * with g_ptr_array_unref(). */
GPtrArray *inv_host_types(const Inventory *inventory);

/* Return JSON texts, to be freed: the capabilities of @host as an array of
 * {type, name, vendor, count, fabric}; its devices as an array of {fabric,
 * pci_properties, interface}; all hosts by type as an array of {hosts,
 * capabilities}. A vendor or fabric that is not known is left out. */
char *inv_capabilities_to_json(const InvHost *host);
char *inv_devices_to_json(const InvHost *host);
char *inv_types_to_json(const Inventory *inventory);

/* Append texts: the types of hosts with their devices; each device with its
 * slot and interface; a sentence for each two devices that are ports of one
 * card. */
void inv_types_append(GString *text, const Inventory *inventory);
void inv_devices_append(GString *text, const Inventory *inventory);
void inv_cards_append(GString *text, const Inventory *inventory);

#endif
