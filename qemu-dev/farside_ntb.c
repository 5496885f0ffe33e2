/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An NTB device with the registers of a Switchtec that has two partitions. This
 * process holds one partition. The process at the other end of the link holds
 * the other. docs/reference/device.md is the specification of the device.
 *
 * This file has the PCI device: identity, BARs, properties, reset. Each part of
 * the device has a file of its own, and keeps its struct to itself; see
 * farside_ntb_make_parts(). Everything runs under the big lock, except the
 * translation of windows (farside_windows.c) and the thread that writes a trace
 * (farside_trace_file.c).
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qemu/module.h"
#include "qemu/units.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie.h"
#include "migration/vmstate.h"
#include "farside_config.h"
#include "farside_drain.h"
#include "farside_ntb.h"
#include "farside_origin.h"
#include "farside_qemu.h"
#include "farside_recorder.h"
#include "farside_session.h"
#include "farside_time.h"

#define BAR_GAS 0

OBJECT_DECLARE_SIMPLE_TYPE(FarsideNtb, FARSIDE_NTB)

struct FarsideNtb {
    PCIDevice parent_obj;

    FarsideConfig config;
    MemoryRegion gas; /* BAR 0 */

    /* Freed with the object, because its memory regions point into these. */
    FarsideRecorder *recorder;
    FarsideParts parts;
    FarsideSession *session;
};

static void farside_ntb_write_config(PCIDevice *pci, uint32_t address,
                                     uint32_t value, int length)
{
    FarsideNtb *s = FARSIDE_NTB(pci);

    pci_default_write_config(pci, address, value, length);
    pcie_cap_flr_write_config(pci, address, value, length);
    farside_peer_activity(s->parts.peer);
}

static bool farside_ntb_check(const FarsideConfig *config, Error **errp)
{
    unsigned i;

    if (!config->link_path || !*config->link_path) {
        error_setg(errp, "property 'link' must be the path of a socket");
        return false;
    }
    if (config->partition >= FARSIDE_NTB_PARTITIONS) {
        error_setg(errp, "property 'partition' must be 0 or 1");
        return false;
    }
    if (config->generation < 3 || config->generation > 5) {
        error_setg(errp, "property 'generation' must be 3, 4 or 5");
        return false;
    }
    if (config->vectors < 4 || config->vectors > SWITCHTEC_MSIX_MAX) {
        error_setg(errp, "property 'vectors' must be 4 to %d",
                   SWITCHTEC_MSIX_MAX);
        return false;
    }
    if (config->lut_entries < 1 || config->lut_entries > SWITCHTEC_MAX_LUT) {
        error_setg(errp, "property 'lut-entries' must be 1 to %d",
                   SWITCHTEC_MAX_LUT);
        return false;
    }
    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        if (!is_power_of_2(config->bar_size[i]) ||
            config->bar_size[i] < 64 * KiB ||
            config->bar_size[i] > 256 * GiB) {
            error_setg(errp,
                       "property 'bar%d-size' must be a power of 2 "
                       "between 64 KiB and 256 GiB",
                       FARSIDE_NTB_WINDOW_BAR(i));
            return false;
        }
    }
    if (config->timeout_ms < 1 || config->timeout_ms > 60000) {
        error_setg(errp, "property 'completion-timeout' must be 1 to 60000 ms");
        return false;
    }
    /* PCIe 5.0 s7.5.3.4, Max_Payload_Size */
    if (!is_power_of_2(config->max_payload) || config->max_payload < 128 ||
        config->max_payload > FARSIDE_WIRE_PAYLOAD) {
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
        SWITCHTEC_NTB_DBMSG + s->config.partition * SWITCHTEC_NTB_DBMSG_STRIDE;
    unsigned i;

    if (msix_init(pci, s->config.vectors, &s->gas, BAR_GAS,
                  block + SWITCHTEC_DBMSG_MSIX, &s->gas, BAR_GAS,
                  block + SWITCHTEC_DBMSG_PBA, 0, errp) < 0) {
        return false;
    }
    for (i = 0; i < s->config.vectors; i++) {
        msix_vector_use(pci, i);
    }
    return true;
}

static void farside_ntb_exit(PCIDevice *pci)
{
    FarsideNtb *s = FARSIDE_NTB(pci);

    farside_session_stop(s->session);
    farside_recorder_stop(s->recorder);
    farside_memory_stop(s->parts.memory);
    farside_windows_stop(s->parts.windows);
    msix_unuse_all_vectors(pci);
    msix_uninit(pci, &s->gas, &s->gas);
    pcie_cap_exit(pci);
}

/* Each part uses only parts that are made before it. */
static void farside_ntb_make_parts(FarsideNtb *s)
{
    const FarsideConfig *config = &s->config;
    PCIDevice *pci = PCI_DEVICE(s);
    FarsideParts *p = &s->parts;

    p->recorder = s->recorder;
    p->peer = farside_peer_new(config, pci, s->recorder);
    p->wait = farside_wait_new(config);
    p->memory = farside_memory_new(pci, p->peer, p->wait);
    p->requester = farside_requester_new(config, pci, p->peer, p->wait);
    p->windows = farside_windows_new(config, pci, s->recorder, p->peer,
                                     p->requester);
    p->ctrl = farside_ctrl_new(config, pci, p->peer, p->requester, p->windows);
    p->regs = farside_regs_new(config, pci, p->peer, p->requester, p->ctrl);
    p->completer = farside_completer_new(pci, p->peer, p->ctrl, p->regs);
}

static void farside_ntb_finalize(Object *obj)
{
    FarsideNtb *s = FARSIDE_NTB(obj);

    farside_session_free(s->session);
    farside_completer_free(s->parts.completer);
    farside_regs_free(s->parts.regs);
    farside_ctrl_free(s->parts.ctrl);
    farside_windows_free(s->parts.windows);
    farside_requester_free(s->parts.requester);
    farside_memory_free(s->parts.memory);
    farside_wait_free(s->parts.wait);
    farside_peer_free(s->parts.peer);
    farside_recorder_free(s->recorder);
    g_free(s->config.trace_path);
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

    if (!farside_ntb_check(&s->config, errp)) {
        return;
    }
    farside_drain_controllers();
    pci_config_set_device_id(pci->config, device_ids[s->config.generation - 3]);
    pci_set_word(pci->config + PCI_SUBSYSTEM_VENDOR_ID, SWITCHTEC_VENDOR_ID);
    pci_set_word(pci->config + PCI_SUBSYSTEM_ID,
                 device_ids[s->config.generation - 3]);

    if (pcie_endpoint_cap_init(pci, 0) < 0) {
        error_setg(errp, "configuration space has no place left for the PCI "
                         "Express capability");
        return;
    }
    pcie_cap_flr_init(pci);

    s->recorder = farside_recorder_new(&s->config, pci);
    if (!farside_recorder_prepare(s->recorder, s->config.trace_path, errp)) {
        goto fail_recorder;
    }
    farside_recorder_switch(s->recorder, false);
    farside_ntb_make_parts(s);

    memory_region_init_io(&s->gas, OBJECT(s), &farside_regs_ops, s->parts.regs,
                          "farside-gas", SWITCHTEC_GAS_SIZE);
    /* This device serves the peer's requests while it waits for the peer. */
    s->gas.disable_reentrancy_guard = true;
    pci_register_bar(pci, BAR_GAS,
                     PCI_BASE_ADDRESS_SPACE_MEMORY |
                         PCI_BASE_ADDRESS_MEM_TYPE_64,
                     &s->gas);
    if (!farside_ntb_init_msix(s, errp)) {
        goto fail_recorder;
    }
    if (!farside_windows_start(s->parts.windows, errp)) {
        goto fail_msix;
    }
    farside_memory_start(s->parts.memory);
    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        pci_register_bar(pci, FARSIDE_NTB_WINDOW_BAR(i),
                         PCI_BASE_ADDRESS_SPACE_MEMORY |
                             PCI_BASE_ADDRESS_MEM_TYPE_64 |
                             PCI_BASE_ADDRESS_MEM_PREFETCH,
                         farside_windows_get_bar(s->parts.windows, i));
    }
    s->session = farside_session_new(&s->config, pci, &s->parts, errp);
    if (!s->session) {
        goto fail_windows;
    }
    if (s->config.check_interrupts) {
        farside_origin_check_interrupts();
    }
    if (s->config.check_requester || s->config.check_interrupts ||
        farside_time()) {
        farside_origin_watch(pci);
    }
    return;

fail_windows:
    farside_memory_stop(s->parts.memory);
    farside_windows_stop(s->parts.windows);
fail_msix:
    msix_unuse_all_vectors(pci);
    msix_uninit(pci, &s->gas, &s->gas);
fail_recorder:
    farside_recorder_stop(s->recorder);
    pcie_cap_exit(pci);
}

/* Called at a Function Level Reset, too, and when the guest reboots. */
static void farside_ntb_reset(DeviceState *dev)
{
    FarsideNtb *s = FARSIDE_NTB(dev);

    farside_regs_reset(s->parts.regs);
    farside_ctrl_reset(s->parts.ctrl);
    farside_peer_send(s->parts.peer, FARSIDE_WIRE_RESET, NULL, 0);
}

static bool farside_ntb_get_link_up(Object *obj, Error **errp)
{
    FarsideNtb *s = FARSIDE_NTB(obj);

    return s->parts.peer && farside_peer_link_is_up(s->parts.peer);
}

static bool farside_ntb_get_enabled(Object *obj, Error **errp)
{
    return FARSIDE_NTB(obj)->config.enabled;
}

static void farside_ntb_set_enabled(Object *obj, bool value, Error **errp)
{
    FarsideNtb *s = FARSIDE_NTB(obj);

    if (s->config.enabled != value) {
        s->config.enabled = value;
        if (DEVICE(obj)->realized) {
            farside_session_enabled_changed(s->session);
        }
    }
}

/*
 * A fault of the link, which both ends get at the same virtual time: "down",
 * then "training", then "up". It does not change what the user has enabled.
 */
static char *farside_ntb_get_fault(Object *obj, Error **errp)
{
    const FarsideConfig *config = &FARSIDE_NTB(obj)->config;

    return g_strdup(!config->cut      ? "up"
                    : config->trains  ? "training"
                                      : "down");
}

static void farside_ntb_set_fault(Object *obj, const char *value, Error **errp)
{
    FarsideNtb *s = FARSIDE_NTB(obj);

    if (strcmp(value, "down") && strcmp(value, "training") &&
        strcmp(value, "up")) {
        error_setg(errp, "property 'fault' must be down, training or up");
        return;
    }
    s->config.cut = strcmp(value, "up") != 0;
    s->config.trains = strcmp(value, "training") == 0;
    if (DEVICE(obj)->realized) {
        farside_session_cut_changed(s->session);
    }
}

static void farside_ntb_get_unsupported(Object *obj, Visitor *v,
                                        const char *name, void *opaque,
                                        Error **errp)
{
    FarsideNtb *s = FARSIDE_NTB(obj);
    uint64_t value = 0;

    if (s->parts.completer) {
        value = farside_requester_unsupported(s->parts.requester) +
                farside_completer_unsupported(s->parts.completer) +
                farside_windows_refused(s->parts.windows);
    }
    visit_type_uint64(v, name, &value, errp);
}

static char *farside_ntb_get_trace(Object *obj, Error **errp)
{
    FarsideNtb *s = FARSIDE_NTB(obj);

    return g_strdup(s->config.trace_path ? s->config.trace_path : "");
}

static void farside_ntb_switch_trace(FarsideNtb *s, bool on)
{
    bool was_on = farside_recorder_is_on(s->recorder);

    if (was_on && !on) {
        farside_windows_end_trace(s->parts.windows);
    }
    farside_recorder_switch(s->recorder,
                            farside_peer_link_is_up(s->parts.peer));
    if (was_on != on) {
        farside_windows_trace_changed(s->parts.windows);
    }
}

static void farside_ntb_set_trace(Object *obj, const char *value, Error **errp)
{
    FarsideNtb *s = FARSIDE_NTB(obj);

    if (DEVICE(obj)->realized) {
        if (g_strcmp0(value, s->config.trace_path ?: "") == 0 ||
            !farside_recorder_prepare(s->recorder, value, errp)) {
            return;
        }
        farside_ntb_switch_trace(s, *value);
    }
    g_free(s->config.trace_path);
    s->config.trace_path = g_strdup(value);
}

static const Property farside_ntb_properties[] = {
    DEFINE_PROP_STRING("link", FarsideNtb, config.link_path),
    DEFINE_PROP_BOOL("listen", FarsideNtb, config.listen, false),
    DEFINE_PROP_BOOL("check-requester", FarsideNtb, config.check_requester,
                     false),
    DEFINE_PROP_BOOL("check-interrupts", FarsideNtb, config.check_interrupts,
                     false),
    DEFINE_PROP_UINT8("partition", FarsideNtb, config.partition, 0),
    DEFINE_PROP_UINT8("generation", FarsideNtb, config.generation, 3),
    DEFINE_PROP_UINT8("vectors", FarsideNtb, config.vectors, 32),
    DEFINE_PROP_UINT16("lut-entries", FarsideNtb, config.lut_entries, 64),
    DEFINE_PROP_SIZE("bar2-size", FarsideNtb, config.bar_size[0], 8 * MiB),
    DEFINE_PROP_SIZE("bar4-size", FarsideNtb, config.bar_size[1], 64 * MiB),
    DEFINE_PROP_UINT32("completion-timeout", FarsideNtb, config.timeout_ms,
                       1000),
    DEFINE_PROP_UINT32("max-payload", FarsideNtb, config.max_payload, 256),
};

static void farside_ntb_instance_init(Object *obj)
{
    FARSIDE_NTB(obj)->config.enabled = true;
}

/* The other half of the device's state is in another process. */
static const VMStateDescription farside_ntb_vmstate = {
    .name = TYPE_FARSIDE_NTB,
    .unmigratable = 1,
};

static void farside_ntb_class_init(ObjectClass *klass, FarsideClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(klass);

    pc->realize = farside_ntb_realize;
    pc->exit = farside_ntb_exit;
    pc->config_write = farside_ntb_write_config;
    pc->vendor_id = SWITCHTEC_VENDOR_ID;
    pc->class_id = PCI_CLASS_BRIDGE_OTHER;
    dc->desc = "PCIe non-transparent bridge (Switchtec)";
    device_class_set_legacy_reset(dc, farside_ntb_reset);
    dc->vmsd = &farside_ntb_vmstate;
    device_class_set_props(dc, farside_ntb_properties);
    set_bit(DEVICE_CATEGORY_BRIDGE, dc->categories);
    object_class_property_add_bool(klass, "enabled", farside_ntb_get_enabled,
                                   farside_ntb_set_enabled);
    object_class_property_set_description(
        klass, "enabled", "whether this side of the link is enabled");
    object_class_property_add_str(klass, "fault", farside_ntb_get_fault,
                                  farside_ntb_set_fault);
    object_class_property_set_description(
        klass, "fault", "a fault of the link: up (none), down or training");
    object_class_property_add_str(klass, "trace", farside_ntb_get_trace,
                                  farside_ntb_set_trace);
    object_class_property_set_description(
        klass, "trace",
        "file that records what this device sends, empty for none");
    object_class_property_add_bool(klass, "link-up", farside_ntb_get_link_up,
                                   NULL);
    object_class_property_set_description(klass, "link-up",
                                          "whether the link is up");
    object_class_property_add(klass, "unsupported-requests", "uint64",
                              farside_ntb_get_unsupported, NULL, NULL, NULL);
    object_class_property_set_description(
        klass, "unsupported-requests",
        "number of requests that this device refused");
}

static const TypeInfo farside_ntb_info = {
    .name = TYPE_FARSIDE_NTB,
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(FarsideNtb),
    .instance_init = farside_ntb_instance_init,
    .instance_finalize = farside_ntb_finalize,
    .class_init = farside_ntb_class_init,
    .interfaces =
        (FarsideInterface[]){
            {INTERFACE_PCIE_DEVICE},
            {},
        },
};

void farside_ntb_register_types(void)
{
    farside_drain_start();
    farside_origin_register_types();
    farside_windows_register_types();
    type_register_static(&farside_ntb_info);
}

type_init(farside_ntb_register_types)
