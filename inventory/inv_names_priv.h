/* SPDX-License-Identifier: MIT */
#ifndef INV_NAMES_PRIV_H
#define INV_NAMES_PRIV_H

#include "inv_inventory.h"

/* Returns the name by which software finds the function of @type at @slot, to
 * be freed. It depends only on the arguments: for networks it is the path name
 * of systemd.net-naming-scheme(7), such as "ibp202s0f0"; for drives, GPUs and
 * accelerators the name that udev makes of the path, such as
 * "pci-0000:01:00.0-nvme-1". @is_multifunction is bit 7 of the Header Type. */
char *inv_name(InvType type, TopoPciAddress slot, bool is_multifunction);

/* Returns the name of virtual function @vf, at @vf_slot, of the physical
 * function that is called @interface. */
char *inv_name_virtual(InvType type, const char *interface, unsigned vf,
                       TopoPciAddress vf_slot);

/* Returns the slot of virtual function @vf of @device. */
TopoPciAddress inv_virtual_slot(const InvDevice *device, unsigned vf);

InvHost *inv_host_new(const char *name);
void inv_device_free(InvDevice *device);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(InvDevice, inv_device_free)

/* Sorts the devices of @host by slot. */
void inv_host_sort(InvHost *host);

#endif
