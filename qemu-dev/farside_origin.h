/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The origin of DMA: the check of Requester IDs (property "check-requester"),
 * and interrupt messages by DMA (property "check-interrupts").
 *
 * QEMU 7.2 gives the DMA of emulated devices no Requester ID. So each function
 * below the root gets an address space of its own, whose translation knows the
 * function. A timed cluster is told of each access to a window, because the
 * model lets it begin at that function. An address that is in a window of a
 * checking NTB device is passed on only if the function's Requester ID is in
 * the NTB's table. All other addresses pass unchanged, through the machine's
 * IOMMU if it has one.
 *
 * Not checked are accesses of CPUs, and requests that another NTB device issues
 * for its peer: NTB devices watch the RAM in their address space, and a
 * translated one shows none.
 */
#ifndef FARSIDE_ORIGIN_H
#define FARSIDE_ORIGIN_H

#include "hw/pci/pci.h"

void farside_origin_register_types(void);

/*
 * From now on a function that is watched sends its interrupt messages with its
 * own Requester ID, also those that it sends by DMA, and messages that are not
 * remapped are blocked while an intel-iommu remaps interrupts.
 */
void farside_origin_check_interrupts(void);
/*
 * Gives the functions below the root of @pci their own address spaces. Called
 * while the machine is built, after its IOMMU, and any number of times.
 */
void farside_origin_watch(PCIDevice *pci);

/*
 * A switch routes requests before they come to the root. So its devices have
 * the address space that farside_origin_before() returns for the switch's own
 * one, @below. What the switch does not route itself goes on to that of
 * farside_origin_above(): the IOMMU's, or memory. The bus @bus is below
 * @root_bus.
 */
AddressSpace *farside_origin_above(PCIBus *root_bus, PCIBus *bus, int devfn);
AddressSpace *farside_origin_before(PCIBus *root_bus, PCIBus *bus, int devfn,
                                    AddressSpace *below);

#endif /* FARSIDE_ORIGIN_H */
