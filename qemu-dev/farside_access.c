/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "farside_access.h"
#include "farside_time.h"

#define NO_FUNCTION -1
static __thread int requester_id = NO_FUNCTION;

void farside_access_begin(PCIBus *bus, int devfn)
{
    requester_id = PCI_BUILD_BDF(pci_bus_num(bus), devfn);
    if (farside_time() && bus->devices[devfn]) {
        farside_time()->from(DEVICE(bus->devices[devfn])->id);
    }
}

uint16_t farside_access_take(uint16_t other)
{
    int id = requester_id;

    requester_id = NO_FUNCTION;
    return id == NO_FUNCTION ? other : id;
}

void farside_access_forget(void)
{
    requester_id = NO_FUNCTION;
    if (farside_time()) {
        farside_time()->from(NULL);
    }
}
