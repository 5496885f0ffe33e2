/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A function that is an SMBus controller by its class code, and does nothing.
 *
 * QEMU's amd-iommu tells the guest that the I/O APIC is the function 00:14.0,
 * as it is on AMD's machines, and there is no such function. Newer kernels,
 * such as Linux 7.3, remap interrupts only if that function is an SMBus
 * controller or an ISA bridge.
 */
#include "qemu/osdep.h"
#include "qemu/module.h"
#include "hw/pci/pci.h"
#include "farside_bridge.h"
#include "farside_qemu.h"

#define TYPE_FARSIDE_BRIDGE "farside-southbridge"

/* QEMU's own vendor ID, as the accelerator and the NIC have it */
#define BRIDGE_VENDOR_ID 0x1234
#define BRIDGE_DEVICE_ID 0xfa92

static void bridge_class_init(ObjectClass *klass, FarsideClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(klass);

    pc->vendor_id = BRIDGE_VENDOR_ID;
    pc->device_id = BRIDGE_DEVICE_ID;
    pc->class_id = PCI_CLASS_SERIAL_SMBUS;
    dc->desc = "Farside southbridge, for the I/O APIC of amd-iommu";
    dc->hotpluggable = false;
    set_bit(DEVICE_CATEGORY_MISC, dc->categories);
}

static const TypeInfo bridge_info = {
    .name = TYPE_FARSIDE_BRIDGE,
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(PCIDevice),
    .class_init = bridge_class_init,
    .interfaces =
        (FarsideInterface[]){
            {INTERFACE_CONVENTIONAL_PCI_DEVICE},
            {},
        },
};

void farside_bridge_register_types(void)
{
    type_register_static(&bridge_info);
}

type_init(farside_bridge_register_types)
