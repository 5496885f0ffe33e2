/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The PCI device: identity, BARs, properties, interrupts, reset.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/module.h"
#include "qemu/units.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie.h"
#include "hw/qdev-properties.h"
#include "migration/vmstate.h"
#include "farside_ntb.h"

#define BAR_GAS 0

void farside_ntb_interrupt(FarsideNtb *s, unsigned vector)
{
    PCIDevice *pci = PCI_DEVICE(s);

    /*
     * Before the driver has switched MSI-X on, an interrupt would stay pending
     * and meet a driver that expects none.
     */
    if (vector < s->vectors && msix_enabled(pci)) {
        msix_notify(pci, vector);
    }
}

static void farside_ntb_write_config(PCIDevice *pci, uint32_t address,
                                     uint32_t value, int length)
{
    pci_default_write_config(pci, address, value, length);
    pcie_cap_flr_write_config(pci, address, value, length);
}

static bool farside_ntb_check(FarsideNtb *s, Error **errp)
{
    unsigned i;

    if (!s->link_path || !*s->link_path) {
        error_setg(errp, "property 'link' must name a socket");
        return false;
    }
    if (s->partition >= FARSIDE_NTB_PARTITIONS) {
        error_setg(errp, "property 'partition' must be 0 or 1");
        return false;
    }
    if (s->generation < 3 || s->generation > 5) {
        error_setg(errp, "property 'generation' must be 3, 4 or 5");
        return false;
    }
    if (s->vectors < 4 || s->vectors > SWITCHTEC_MSIX_MAX) {
        error_setg(errp, "property 'vectors' must be 4 to %d",
                   SWITCHTEC_MSIX_MAX);
        return false;
    }
    if (s->lut_entries < 1 || s->lut_entries > SWITCHTEC_MAX_LUT) {
        error_setg(errp, "property 'lut-entries' must be 1 to %d",
                   SWITCHTEC_MAX_LUT);
        return false;
    }
    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        if (!is_power_of_2(s->bar_size[i]) || s->bar_size[i] < 64 * KiB ||
            s->bar_size[i] > 256 * GiB) {
            error_setg(errp,
                       "property 'bar%d-size' must be a power of 2 "
                       "between 64 KiB and 256 GiB",
                       FARSIDE_NTB_WINDOW_BAR(i));
            return false;
        }
    }
    if (s->timeout_ms < 1 || s->timeout_ms > 60000) {
        error_setg(errp, "property 'completion-timeout' must be 1 to 60000 ms");
        return false;
    }
    /* PCIe 5.0 s7.5.3.4, Max_Payload_Size */
    if (!is_power_of_2(s->max_payload) || s->max_payload < 128 ||
        s->max_payload > FARSIDE_WIRE_PAYLOAD) {
        error_setg(errp, "property 'max-payload' must be a power of 2 between "
                         "128 and 4096");
        return false;
    }
    return true;
}

static bool farside_ntb_init_msix(FarsideNtb *s, Error **errp)
{
    PCIDevice *pci = PCI_DEVICE(s);
    unsigned block =
        SWITCHTEC_NTB_DBMSG + s->partition * SWITCHTEC_NTB_DBMSG_STRIDE;
    unsigned i;

    if (msix_init(pci, s->vectors, &s->gas, BAR_GAS,
                  block + SWITCHTEC_DBMSG_MSIX, &s->gas, BAR_GAS,
                  block + SWITCHTEC_DBMSG_PBA, 0, errp) < 0) {
        return false;
    }
    for (i = 0; i < s->vectors; i++) {
        msix_vector_use(pci, i);
    }
    return true;
}

static void farside_ntb_exit(PCIDevice *pci)
{
    FarsideNtb *s = FARSIDE_NTB(pci);

    farside_link_exit(s);
    farside_tlp_exit(s);
    farside_trace_exit(s);
    farside_window_exit(s);
    if (msix_present(pci)) {
        msix_unuse_all_vectors(pci);
        msix_uninit(pci, &s->gas, &s->gas);
    }
    pcie_cap_exit(pci);
}

static void farside_ntb_realize(PCIDevice *pci, Error **errp)
{
    static const uint16_t device_ids[] = {
        SWITCHTEC_DEVICE_ID_GEN3,
        SWITCHTEC_DEVICE_ID_GEN4,
        SWITCHTEC_DEVICE_ID_GEN5,
    };
    FarsideNtb *s = FARSIDE_NTB(pci);
    unsigned i;

    if (!farside_ntb_check(s, errp)) {
        return;
    }
    pci_config_set_device_id(pci->config, device_ids[s->generation - 3]);
    pci_set_word(pci->config + PCI_SUBSYSTEM_VENDOR_ID, SWITCHTEC_VENDOR_ID);
    pci_set_word(pci->config + PCI_SUBSYSTEM_ID,
                 device_ids[s->generation - 3]);

    if (pcie_endpoint_cap_init(pci, 0) < 0) {
        error_setg(errp, "no room for the PCI Express capability");
        return;
    }
    pcie_cap_flr_init(pci);

    memory_region_init_io(&s->gas, OBJECT(s), &farside_regs_ops, s,
                          "farside-gas", SWITCHTEC_GAS_SIZE);
    /* The peer may reach us while we wait for it. */
    s->gas.disable_reentrancy_guard = true;
    pci_register_bar(pci, BAR_GAS,
                     PCI_BASE_ADDRESS_SPACE_MEMORY |
                         PCI_BASE_ADDRESS_MEM_TYPE_64,
                     &s->gas);
    if (!farside_ntb_init_msix(s, errp)) {
        goto fail_cap;
    }
    if (!farside_trace_realize(s, errp)) {
        goto fail_msix;
    }
    if (!farside_window_realize(s, errp)) {
        goto fail_trace;
    }
    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        pci_register_bar(pci, FARSIDE_NTB_WINDOW_BAR(i),
                         PCI_BASE_ADDRESS_SPACE_MEMORY |
                             PCI_BASE_ADDRESS_MEM_TYPE_64 |
                             PCI_BASE_ADDRESS_MEM_PREFETCH,
                         MEMORY_REGION(&s->window[i].iommu));
    }
    farside_tlp_realize(s);
    farside_regs_reset(s);
    farside_ctrl_reset(s);
    farside_ctrl_peer_reset(s);
    if (!farside_link_realize(s, errp)) {
        goto fail_window;
    }
    return;

fail_window:
    farside_tlp_exit(s);
    farside_window_exit(s);
fail_trace:
    farside_trace_exit(s);
fail_msix:
    msix_unuse_all_vectors(pci);
    msix_uninit(pci, &s->gas, &s->gas);
fail_cap:
    pcie_cap_exit(pci);
}

/* Also the function level reset, and the reboot of the guest. */
static void farside_ntb_reset(DeviceState *dev)
{
    FarsideNtb *s = FARSIDE_NTB(dev);

    farside_regs_reset(s);
    farside_ctrl_reset(s);
    farside_link_send(s, FARSIDE_WIRE_RESET, NULL, 0, NULL, 0, NULL, 0);
}

static bool farside_ntb_get_link_up(Object *obj, Error **errp)
{
    return FARSIDE_NTB(obj)->link_up;
}

static bool farside_ntb_get_enabled(Object *obj, Error **errp)
{
    return FARSIDE_NTB(obj)->enabled;
}

static void farside_ntb_set_enabled(Object *obj, bool value, Error **errp)
{
    FarsideNtb *s = FARSIDE_NTB(obj);
    struct farside_wire_link m = {.up = value};

    if (s->enabled == value) {
        return;
    }
    s->enabled = value;
    if (DEVICE(obj)->realized) {
        farside_link_send(s, FARSIDE_WIRE_LINK, &m, sizeof(m), NULL, 0, NULL,
                          0);
        farside_link_update(s);
    }
}

static Property farside_ntb_properties[] = {
    DEFINE_PROP_STRING("link", FarsideNtb, link_path),
    DEFINE_PROP_BOOL("listen", FarsideNtb, listen, false),
    DEFINE_PROP_UINT8("partition", FarsideNtb, partition, 0),
    DEFINE_PROP_UINT8("generation", FarsideNtb, generation, 3),
    DEFINE_PROP_UINT8("vectors", FarsideNtb, vectors, 32),
    DEFINE_PROP_UINT16("lut-entries", FarsideNtb, lut_entries, 64),
    DEFINE_PROP_SIZE("bar2-size", FarsideNtb, bar_size[0], 8 * MiB),
    DEFINE_PROP_SIZE("bar4-size", FarsideNtb, bar_size[1], 64 * MiB),
    DEFINE_PROP_UINT32("completion-timeout", FarsideNtb, timeout_ms, 1000),
    DEFINE_PROP_UINT32("max-payload", FarsideNtb, max_payload, 256),
    DEFINE_PROP_END_OF_LIST(),
};

static void farside_ntb_instance_init(Object *obj)
{
    FarsideNtb *s = FARSIDE_NTB(obj);

    s->enabled = true;
    s->fd = -1;
    s->listen_fd = -1;
}

/* The other half of the device's state is in another process. */
static const VMStateDescription farside_ntb_vmstate = {
    .name = TYPE_FARSIDE_NTB,
    .unmigratable = 1,
};

static void farside_ntb_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(klass);

    pc->realize = farside_ntb_realize;
    pc->exit = farside_ntb_exit;
    pc->config_write = farside_ntb_write_config;
    pc->vendor_id = SWITCHTEC_VENDOR_ID;
    pc->class_id = PCI_CLASS_BRIDGE_OTHER;
    dc->desc = "PCIe non-transparent bridge (Switchtec)";
    dc->reset = farside_ntb_reset;
    dc->vmsd = &farside_ntb_vmstate;
    dc->hotpluggable = false;
    device_class_set_props(dc, farside_ntb_properties);
    set_bit(DEVICE_CATEGORY_BRIDGE, dc->categories);
    object_class_property_add_bool(klass, "enabled", farside_ntb_get_enabled,
                                   farside_ntb_set_enabled);
    object_class_property_set_description(
        klass, "enabled", "whether this side of the link is enabled");
    object_class_property_add_str(klass, "trace", farside_trace_get,
                                  farside_trace_set);
    object_class_property_set_description(
        klass, "trace", "file that records what crosses, empty for none");
    object_class_property_add_bool(klass, "link-up", farside_ntb_get_link_up,
                                   NULL);
    object_class_property_set_description(klass, "link-up",
                                          "whether the link is up");
}

static const TypeInfo farside_ntb_info = {
    .name = TYPE_FARSIDE_NTB,
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(FarsideNtb),
    .instance_init = farside_ntb_instance_init,
    .class_init = farside_ntb_class_init,
    .interfaces =
        (InterfaceInfo[]){
            {INTERFACE_PCIE_DEVICE},
            {},
        },
};

void farside_ntb_register_types(void)
{
    farside_window_register_types();
    type_register_static(&farside_ntb_info);
}

type_init(farside_ntb_register_types)
