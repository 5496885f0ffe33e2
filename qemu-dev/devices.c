/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The entry of farside-devices.so, which the plugin calls. In a QEMU tree each
 * device registers its types itself.
 */
#include "qemu/osdep.h"
#include "devices.h"
#include "farside_drain.h"
#include "farside_gpu.h"
#include "farside_amd.h"
#include "farside_bridge.h"
#include "farside_epf.h"
#include "farside_intel.h"
#include "farside_idt.h"
#include "farside_nic.h"
#include "farside_qemu.h"
#include "farside_switch.h"
#include "farside_switchtec.h"

void farside_devices_register(void)
{
    farside_drain_start();
    /*
     * Since QEMU 10.2 this IOMMU translates only with the property, which older
     * ones do not have: a host that has asked for an IOMMU would have none.
     */
    object_register_sugar_prop("amd-iommu", "dma-remap", "on", true);
    farside_switchtec_register_types();
    farside_amd_register_types();
    farside_intel_register_types();
    farside_intel_gen1_register_types();
    farside_epf_register_types();
    farside_idt_register_types();
    farside_gpu_register_types();
    farside_nic_register_types();
    farside_switch_register_types();
    farside_bridge_register_types();
}
