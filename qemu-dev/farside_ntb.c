/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The PCI device of all NTB chips: identity, BARs, properties, reset. This
 * process holds one host's part of the chip. The process at the other end of
 * the link holds the other. docs/reference/device.md is the specification of
 * the device.
 *
 * Each part of the device has a file of its own, and keeps its struct to
 * itself; see farside_ntb_make_parts(). Everything runs under the big lock,
 * except the translation of windows (farside_windows.c) and the thread that
 * writes a trace (farside_trace_file.c).
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qapi/visitor.h"
#include "qemu/module.h"
#include "qemu/units.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie.h"
#include "migration/vmstate.h"
#include "farside_completer.h"
#include "farside_drain.h"
#include "farside_ntb.h"
#include "farside_origin.h"
#include "farside_time.h"

#define BAR_REGISTERS 0

const FarsideChipClass *farside_ntb_chip(PCIDevice *pci)
{
    return FARSIDE_NTB_GET_CLASS(pci)->chip;
}

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

static void choose_window_ram(FarsideConfig *config)
{
    if (config->window_ram == ON_OFF_AUTO_AUTO) {
        config->window_ram =
            kvm_enabled() ? ON_OFF_AUTO_ON : ON_OFF_AUTO_OFF;
    }
    if (config->window_ram == ON_OFF_AUTO_ON && tcg_enabled() &&
        !farside_qemu_moves_memory()) {
        warn_report_once("%s: window-ram=on without KVM is for tests: when a "
                         "window changes, this QEMU can lead an access of a "
                         "running CPU to a wrong device; QEMU 8.2 does not",
                         TYPE_FARSIDE_NTB);
    }
}

static bool farside_ntb_init_msix(FarsideNtb *s, Error **errp)
{
    PCIDevice *pci = PCI_DEVICE(s);
    const FarsideShape *shape = &s->config.shape;
    unsigned i;

    if (msix_init(pci, shape->vectors, s->bar, BAR_REGISTERS,
                  shape->msix_table, s->bar, BAR_REGISTERS,
                  shape->msix_pba, 0, errp) < 0) {
        return false;
    }
    for (i = 0; i < shape->vectors; i++) {
        msix_vector_use(pci, i);
    }
    return true;
}

static void farside_ntb_exit(PCIDevice *pci)
{
    FarsideNtb *s = FARSIDE_NTB(pci);

    farside_session_stop(s->session);
    farside_recorder_stop(s->parts.recorder);
    farside_memory_stop(s->parts.memory);
    farside_windows_stop(s->parts.windows);
    msix_unuse_all_vectors(pci);
    msix_uninit(pci, s->bar, s->bar);
    pcie_cap_exit(pci);
}

/* Each part uses only parts that are made before it. */
static void farside_ntb_make_parts(FarsideNtb *s)
{
    const FarsideConfig *config = &s->config;
    PCIDevice *pci = PCI_DEVICE(s);
    FarsideParts *p = &s->parts;

    p->peer = farside_peer_new(config, pci, p->recorder);
    p->wait = farside_wait_new(config);
    p->memory = farside_memory_new(pci, p->peer, p->wait);
    p->requester = farside_requester_new(config, pci, p->peer, p->wait);
    p->windows = farside_windows_new(config, pci, p->recorder, p->peer,
                                     p->requester);
    p->registers = farside_registers_new(p->requester);
    p->interrupts = farside_interrupts_new(config, pci);
    p->reach = farside_reach_new(config);
    p->chip = farside_ntb_chip(pci)->new(config, pci, p);
    p->completer = farside_completer_new(pci, p);
}

static void farside_ntb_finalize(Object *obj)
{
    FarsideNtb *s = FARSIDE_NTB(obj);

    farside_session_free(s->session);
    farside_completer_free(s->parts.completer);
    if (s->parts.chip) {
        s->parts.chip->class->free(s->parts.chip);
    }
    farside_reach_free(s->parts.reach);
    farside_interrupts_free(s->parts.interrupts);
    farside_registers_free(s->parts.registers);
    farside_windows_free(s->parts.windows);
    farside_requester_free(s->parts.requester);
    farside_memory_free(s->parts.memory);
    farside_wait_free(s->parts.wait);
    farside_peer_free(s->parts.peer);
    farside_recorder_free(s->parts.recorder);
    g_free(s->config.trace_path);
}

static void farside_ntb_realize(PCIDevice *pci, Error **errp)
{
    FarsideNtb *s = FARSIDE_NTB(pci);
    const FarsideShape *shape = &s->config.shape;
    const FarsideChipClass *chip = farside_ntb_chip(pci);
    unsigned i;

    if (!farside_ntb_check(&s->config, errp) ||
        (chip->check && !chip->check(pci, errp))) {
        return;
    }
    choose_window_ram(&s->config);
    farside_drain_controllers();
    chip->describe(pci, &s->config.shape);
    pci_config_set_vendor_id(pci->config, shape->vendor_id);
    pci_config_set_device_id(pci->config, shape->device_id);
    pci_config_set_revision(pci->config, shape->revision);
    pci_set_word(pci->config + PCI_SUBSYSTEM_VENDOR_ID, shape->vendor_id);
    pci_set_word(pci->config + PCI_SUBSYSTEM_ID, shape->device_id);

    if (pcie_endpoint_cap_init(pci, shape->express) < 0) {
        error_setg(errp, "configuration space has no place left for the PCI "
                         "Express capability");
        return;
    }
    pcie_cap_flr_init(pci);
    if (shape->link_status) {
        pci_set_word(pci->config + pci->exp.exp_cap + PCI_EXP_LNKSTA,
                     shape->link_status);
    }

    s->parts.recorder = farside_recorder_new(&s->config, pci, chip);
    if (!farside_recorder_prepare(s->parts.recorder, s->config.trace_path,
                                  errp)) {
        goto fail_recorder;
    }
    farside_recorder_switch(s->parts.recorder, false);
    farside_ntb_make_parts(s);

    s->bar = farside_registers_start(s->parts.registers, OBJECT(s),
                                     s->parts.chip, shape->registers_size);
    pci_register_bar(pci, BAR_REGISTERS,
                     PCI_BASE_ADDRESS_SPACE_MEMORY |
                         PCI_BASE_ADDRESS_MEM_TYPE_64,
                     s->bar);
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
    msix_uninit(pci, s->bar, s->bar);
fail_recorder:
    farside_recorder_stop(s->parts.recorder);
    pcie_cap_exit(pci);
}

/* Called at a Function Level Reset, too, and when the guest reboots. */
static void farside_ntb_reset(DeviceState *dev)
{
    FarsideNtb *s = FARSIDE_NTB(dev);

    s->parts.chip->class->reset(s->parts.chip);
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
    bool was_on = farside_recorder_is_on(s->parts.recorder);

    if (was_on && !on) {
        farside_windows_end_trace(s->parts.windows);
    }
    farside_recorder_switch(s->parts.recorder,
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
            !farside_recorder_prepare(s->parts.recorder, value, errp)) {
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
    DEFINE_PROP_BOOL("check-interrupts", FarsideNtb, config.check_interrupts,
                     false),
    DEFINE_PROP_ON_OFF_AUTO("window-ram", FarsideNtb, config.window_ram,
                            ON_OFF_AUTO_AUTO),
    DEFINE_PROP_UINT8("partition", FarsideNtb, config.partition, 0),
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
    pc->class_id = PCI_CLASS_BRIDGE_OTHER;
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
    .abstract = true,
    .instance_size = sizeof(FarsideNtb),
    .class_size = sizeof(FarsideNtbClass),
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
    static bool is_done;

    if (is_done) {
        return;
    }
    is_done = true;
    farside_drain_start();
    farside_origin_register_types();
    farside_windows_register_types();
    type_register_static(&farside_ntb_info);
}
