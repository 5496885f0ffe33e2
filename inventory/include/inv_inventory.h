/* SPDX-License-Identifier: MIT */
#ifndef INV_INVENTORY_H
#define INV_INVENTORY_H

#include <stdbool.h>

#include <glib.h>

#include "topo_description.h"

/*
 * The devices of hosts, as users select them. Each port of a NIC, each drive
 * and each accelerator is a device: a physical function. Virtual functions are
 * no devices; a request can name one of a device. NTB adapters are not listed.
 */
typedef enum InvType {
    INV_TYPE_INFINIBAND,
    INV_TYPE_NETWORK,
    INV_TYPE_GPU,
    INV_TYPE_STORAGE,
    INV_TYPE_ACCELERATOR,
} InvType;

/* Returns the type as inventories show it, such as "Infiniband"; borrowed. */
const char *inv_type_name(InvType type);

typedef struct InvDevice {
    InvType type;
    char *vendor; /* NULL: not known */
    char *name;
    char *fabric; /* the network behind the port; NULL: none given */
    char *path;   /* "nic0", or "nic0:1" for port 1 of a card with several */
    TopoPciAddress slot;
    bool is_multifunction; /* bit 7 of its Header Type */
    char *interface;       /* name by which software finds it */
    int numa_node;         /* -1: not known */
    unsigned vfs;          /* virtual functions it can have (TotalVFs) */
    unsigned vf_offset;    /* from its Routing ID to that of VF 0 */
    unsigned vf_stride;    /* from a VF's Routing ID to that of the next */
    TopoPlace place;       /* where it is described */
} InvDevice;

typedef struct InvHost {
    char *name;
    GPtrArray *devices; /* of InvDevice, in the order of their slots */
} InvHost;

typedef struct Inventory {
    GPtrArray *hosts; /* of InvHost, in the order of the description */
} Inventory;

Inventory *inv_new(void);

/* Frees @inventory (nullable) and all it owns. */
void inv_free(Inventory *inventory);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Inventory, inv_free)

/* Returns whether @a and @b are ports of one card: functions of one PCI device.
 * Such ports share the serial number and the settings of the firmware. */
bool inv_is_same_card(const InvDevice *a, const InvDevice *b);

/* Returns the address that enumeration gives @device. */
typedef TopoPciAddress (*InvAddressFn)(const TopoDevice *device, void *user);

/* Makes the inventory of all hosts of @description. @address is called for each
 * device without `address:`. On errors, such as two devices in one slot, adds
 * them to @errors and returns NULL. */
Inventory *inv_from_description(const TopoDescription *description,
                                InvAddressFn address, void *user,
                                TopoErrors *errors);

/* Adds a host called @name to @inventory, with the devices that the sysfs tree
 * @dir shows, such as "/sys". @ids is the path of a pci.ids file
 * with the names of vendors and devices, NULL: INV_IDS, if it is there; without
 * a name a device is called by
 * its number. Returns false and sets @error if @dir is no sysfs tree, or a file
 * of it does not have the form that Linux gives it. */
bool inv_add_sysfs(Inventory *inventory, const char *name, const char *dir,
                   const char *ids, GError **error);

#define INV_IDS "/usr/share/misc/pci.ids"

/* Returns the inventory of the host whose sysfs tree is @dir. It is called
 * @name (nullable: this machine's name if @dir is /sys, else @dir). Otherwise
 * as inv_add_sysfs(). */
Inventory *inv_from_sysfs(const char *dir, const char *name, const char *ids,
                          GError **error);

/* A script for sh that writes the part of /sys of a host that inv_add_sysfs()
 * reads as a tar archive. It copies the files first, because sysfs does not
 * tell their sizes. */
extern const char inv_archive_script[];

/* Unpacks a tar archive with files of a sysfs tree, which a host has sent, into
 * the folder @dir. A host may send anything, so only folders and short files
 * with names as in /sys/bus/pci/devices are made, and all of them in @dir,
 * which must be empty. Otherwise returns false and sets @error; part of the
 * archive may be there. */
bool inv_archive_unpack(const void *bytes, size_t length, const char *dir,
                        GError **error);

#define INV_ERROR (inv_error_quark())

typedef enum InvErrorCode {
    INV_ERROR_SYSFS,  /* no sysfs tree, or a strange file in it */
    INV_ERROR_IMPORT, /* a file that an import cannot read */
} InvErrorCode;

GQuark inv_error_quark(void);

/* Removes all hosts but @name. If there is none, removes nothing and returns
 * false and G_OPTION_ERROR. */
bool inv_keep_host(Inventory *inventory, const char *name, GError **error);

#endif
