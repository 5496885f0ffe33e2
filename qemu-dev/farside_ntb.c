/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The PCI device of all NTB chips: identity, BARs, properties, reset. This
 * process holds one host's part of the chip. The processes at the other ends of
 * its links hold the others. docs/reference/device.md is the specification of
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
#include "hw/pci/pci.h"
#include "hw/pci/pcie.h"
#include "migration/vmstate.h"
#include "farside_completer.h"
#include "farside_drain.h"
#include "farside_ntb.h"
#include "farside_ntb_links.h"
#include "farside_origin.h"
#include "farside_session.h"
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
    unsigned i;

    const FarsideChipClass *chip = farside_ntb_chip(pci);

    if (chip->config_registers && address >= chip->config_registers) {
        chip->write(s->parts.chip, address, value, length);
        return;
    }
    pci_default_write_config(pci, address, value, length);
    pcie_cap_flr_write_config(pci, address, value, length);
    for (i = 0; i < s->config.peer_count; i++) {
        farside_peer_activity(s->parts.far[i].peer);
    }
    if (chip->config_changed) {
        chip->config_changed(s->parts.chip);
    }
}

static uint32_t farside_ntb_read_config(PCIDevice *pci, uint32_t address,
                                        int length)
{
    const FarsideChipClass *chip = farside_ntb_chip(pci);

    return chip->config_registers && address >= chip->config_registers
               ? chip->read(FARSIDE_NTB(pci)->parts.chip, address, length)
               : pci_default_read_config(pci, address, length);
}

static bool farside_ntb_check(const FarsideConfig *config,
                              const FarsideChipClass *chip, Error **errp)
{
    unsigned i;

    if (!config->link_path || !*config->link_path) {
        error_setg(errp, "property 'link' must be the path of a socket");
        return false;
    }
    if (chip->hosts_max > 2 && !strchr(config->link_path, '*')) {
        error_setg(errp, "property 'link' must be the path of sockets with a "
                         "'*' for the numbers of two hosts");
        return false;
    }
    if (config->hosts < 2 || config->hosts > chip->hosts_max) {
        error_setg(errp, "property 'hosts' must be 2 to %u for this chip",
                   chip->hosts_max);
        return false;
    }
    if (config->partition >= config->hosts) {
        error_setg(errp, "property 'partition' must be 0%s%u",
                   config->hosts > 2 ? " to " : " or ", config->hosts - 1u);
        return false;
    }
    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        if (!is_power_of_2(config->bar_size[i]) ||
            config->bar_size[i] < 64 * KiB || config->bar_size[i] > 256 * GiB) {
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
        config->window_ram = kvm_enabled() ? ON_OFF_AUTO_ON : ON_OFF_AUTO_OFF;
    }
    if (config->window_ram == ON_OFF_AUTO_ON && tcg_enabled() &&
        !farside_qemu_moves_memory()) {
        warn_report_once("%s: window-ram=on without KVM is for tests: when a "
                         "window changes, this QEMU can lead an access of a "
                         "running CPU to a wrong device; QEMU 8.2 does not",
                         TYPE_FARSIDE_NTB);
    }
}

/* The sessions and recorders that there are */

static void stop_sessions(FarsideNtb *s)
{
    unsigned i;

    for (i = 0; i < s->config.peer_count; i++) {
        if (s->parts.far[i].session) {
            farside_session_stop(s->parts.far[i].session);
        }
    }
}

static void stop_recorders(FarsideNtb *s)
{
    unsigned i;

    for (i = 0; i < s->config.peer_count; i++) {
        if (s->parts.far[i].recorder) {
            farside_recorder_stop(s->parts.far[i].recorder);
        }
    }
}

static void farside_ntb_exit(PCIDevice *pci)
{
    FarsideNtb *s = FARSIDE_NTB(pci);
    unsigned i;

    stop_sessions(s);
    stop_recorders(s);
    for (i = 0; i < s->config.peer_count; i++) {
        farside_memory_stop(s->parts.far[i].memory);
    }
    farside_windows_stop(s->parts.windows);
    farside_interrupts_stop(s->parts.interrupts, s->bar);
    pcie_cap_exit(pci);
}

/* The parts for one peer, but for those that need the chip */
static void farside_ntb_make_far(FarsideNtb *s, unsigned peer)
{
    const FarsideConfig *config = &s->config;
    PCIDevice *pci = PCI_DEVICE(s);
    FarsideFar *far = &s->parts.far[peer];

    far->peer = farside_peer_new(config, peer, pci, far->recorder);
    far->wait = farside_wait_new(config);
    far->memory = farside_memory_new(pci, far->peer, far->wait);
    far->requester = farside_requester_new(config, pci, far->peer, far->wait);
    far->reach = farside_reach_new(config);
    farside_windows_add_peer(s->parts.windows, peer, far->recorder, far->peer,
                             far->requester);
    farside_registers_add_peer(s->parts.registers, peer, far->requester);
}

/* Each part uses only parts that are made before it. */
static void farside_ntb_make_parts(FarsideNtb *s)
{
    const FarsideConfig *config = &s->config;
    PCIDevice *pci = PCI_DEVICE(s);
    FarsideParts *p = &s->parts;
    unsigned i;

    p->windows = farside_windows_new(config, pci);
    p->registers = farside_registers_new();
    for (i = 0; i < config->peer_count; i++) {
        farside_ntb_make_far(s, i);
    }
    p->interrupts = farside_interrupts_new(config, pci);
    p->chip = farside_ntb_chip(pci)->new(config, pci, p);
    for (i = 0; i < config->peer_count; i++) {
        p->far[i].completer = farside_completer_new(pci, p, i);
    }
}

static void farside_ntb_free_far(FarsideNtb *s, unsigned peer)
{
    FarsideFar *far = &s->parts.far[peer];

    farside_reach_free(far->reach);
    farside_requester_free(far->requester);
    farside_memory_free(far->memory);
    farside_wait_free(far->wait);
    farside_peer_free(far->peer);
    farside_recorder_free(far->recorder);
}

static void farside_ntb_finalize(Object *obj)
{
    FarsideNtb *s = FARSIDE_NTB(obj);
    unsigned i;

    for (i = 0; i < FARSIDE_NTB_PEERS_MAX; i++) {
        farside_session_free(s->parts.far[i].session);
        farside_completer_free(s->parts.far[i].completer);
    }
    if (s->parts.chip) {
        s->parts.chip->class->free(s->parts.chip);
    }
    farside_interrupts_free(s->parts.interrupts);
    farside_registers_free(s->parts.registers);
    farside_windows_free(s->parts.windows);
    for (i = 0; i < FARSIDE_NTB_PEERS_MAX; i++) {
        farside_ntb_free_far(s, i);
    }
    for (i = 0; i < FARSIDE_NTB_HOSTS_MAX; i++) {
        g_free(s->config.peer[i].link_path);
        g_free(s->config.peer[i].trace_path);
    }
}

/*
 * The other hosts of the chip. If a chip can have more than two, the path of
 * the links has a star, in place of which the link of the hosts A and B has
 * "A-B". There a device that listens does so for hosts with higher numbers.
 */
static void farside_ntb_name_peers(FarsideConfig *config, unsigned hosts_max)
{
    g_auto(GStrv) parts = NULL;
    FarsidePeerConfig *peer;
    unsigned i, own = config->partition;

    if (hosts_max > 2) {
        parts = g_strsplit(config->link_path, "*", 2);
        g_free(config->peer[own].trace_path);
        memmove(&config->peer[own], &config->peer[own + 1],
                (FARSIDE_NTB_HOSTS_MAX - 1 - own) * sizeof(*peer));
        memset(&config->peer[FARSIDE_NTB_HOSTS_MAX - 1], 0, sizeof(*peer));
    }
    for (i = 0; i < config->hosts - 1u; i++) {
        peer = &config->peer[i];
        peer->host = i < own ? i : i + 1;
        peer->link_path =
            parts ? g_strdup_printf("%s%u-%u%s", parts[0],
                                    MIN(peer->host, own),
                                    MAX(peer->host, own), parts[1])
                  : g_strdup(config->link_path);
        peer->listens = config->listen && (!parts || own < peer->host);
    }
    config->peer_count = config->hosts - 1;
}

static bool farside_ntb_make_recorders(FarsideNtb *s, Error **errp)
{
    FarsideRecorder *recorder;
    unsigned i;

    for (i = 0; i < s->config.peer_count; i++) {
        recorder = farside_recorder_new(&s->config, i, PCI_DEVICE(s),
                                        farside_ntb_chip(PCI_DEVICE(s)));
        s->parts.far[i].recorder = recorder;
        if (!farside_recorder_prepare(recorder, s->config.peer[i].trace_path,
                                      errp)) {
            return false;
        }
        farside_recorder_switch(recorder, false);
    }
    return true;
}

static bool farside_ntb_make_sessions(FarsideNtb *s, Error **errp)
{
    unsigned i;

    for (i = 0; i < s->config.peer_count; i++) {
        s->parts.far[i].session =
            farside_session_new(&s->config, i, PCI_DEVICE(s), &s->parts, errp);
        if (!s->parts.far[i].session) {
            stop_sessions(s);
            return false;
        }
    }
    return true;
}

/* The two BARs of the last window, in which the second has the upper half. */
static void farside_ntb_register_halves(FarsideNtb *s)
{
    const unsigned window = FARSIDE_NTB_WINDOWS - 1;
    uint64_t size = s->config.bar_size[window] / 2;
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(s->halves); i++) {
        memory_region_init_alias(
            &s->halves[i], OBJECT(s), "farside-half",
            farside_windows_get_bar(s->parts.windows, window), i * size, size);
        pci_register_bar(PCI_DEVICE(s), FARSIDE_NTB_WINDOW_BAR(window) + i,
                         PCI_BASE_ADDRESS_SPACE_MEMORY |
                             PCI_BASE_ADDRESS_MEM_PREFETCH,
                         &s->halves[i]);
    }
}

/* The BARs of the windows, of which the first may have registers instead. */
static void farside_ntb_register_windows(FarsideNtb *s)
{
    const FarsideShape *shape = &s->config.shape;
    PCIDevice *pci = PCI_DEVICE(s);
    unsigned i = 0;

    if (shape->doorbells_size) {
        pci_register_bar(
            pci, FARSIDE_NTB_WINDOW_BAR(i++),
            PCI_BASE_ADDRESS_SPACE_MEMORY | PCI_BASE_ADDRESS_MEM_TYPE_64,
            farside_registers_add_bar(s->parts.registers, OBJECT(s),
                                      shape->registers_size,
                                      shape->doorbells_size));
    }
    for (; i + shape->is_split < FARSIDE_NTB_WINDOWS; i++) {
        pci_register_bar(pci, FARSIDE_NTB_WINDOW_BAR(i),
                         PCI_BASE_ADDRESS_SPACE_MEMORY |
                             PCI_BASE_ADDRESS_MEM_TYPE_64 |
                             PCI_BASE_ADDRESS_MEM_PREFETCH,
                         farside_windows_get_bar(s->parts.windows, i));
    }
    if (shape->is_split) {
        farside_ntb_register_halves(s);
    }
}

static bool farside_ntb_init_express(PCIDevice *pci, const FarsideShape *shape,
                                     Error **errp)
{
    uint8_t *capability;

    if (pcie_endpoint_cap_init(pci, shape->express) < 0) {
        error_setg(errp, "configuration space has no place left for the PCI "
                         "Express capability");
        return false;
    }
    pcie_cap_flr_init(pci);
    capability = pci->config + pci->exp.exp_cap;
    pci_long_test_and_set_mask(capability + PCI_EXP_LNKCAP,
                               (uint32_t)shape->port << 24);
    if (shape->link_status) {
        pci_set_word(capability + PCI_EXP_LNKSTA, shape->link_status);
    }
    return true;
}

static void farside_ntb_realize(PCIDevice *pci, Error **errp)
{
    FarsideNtb *s = FARSIDE_NTB(pci);
    const FarsideShape *shape = &s->config.shape;
    const FarsideChipClass *chip = farside_ntb_chip(pci);
    unsigned i;

    if (!farside_ntb_check(&s->config, chip, errp) ||
        (chip->check && !chip->check(pci, errp))) {
        return;
    }
    farside_ntb_name_peers(&s->config, chip->hosts_max);
    choose_window_ram(&s->config);
    farside_drain_controllers();
    chip->describe(pci, &s->config.shape);
    pci_config_set_vendor_id(pci->config, shape->vendor_id);
    pci_config_set_device_id(pci->config, shape->device_id);
    pci_config_set_revision(pci->config, shape->revision);
    if (shape->class_id) {
        pci_config_set_class(pci->config, shape->class_id);
    }
    pci_set_word(pci->config + PCI_SUBSYSTEM_VENDOR_ID, shape->vendor_id);
    pci_set_word(pci->config + PCI_SUBSYSTEM_ID, shape->device_id);

    /* By default QEMU lets a guest write what no capability defines. */
    memset(pci->wmask + PCI_CONFIG_HEADER_SIZE, 0,
           pci_config_size(pci) - PCI_CONFIG_HEADER_SIZE);
    if (!farside_ntb_init_express(pci, shape, errp)) {
        return;
    }

    if (!farside_ntb_make_recorders(s, errp)) {
        goto fail_recorder;
    }
    farside_ntb_make_parts(s);

    farside_registers_set_chip(s->parts.registers, s->parts.chip);
    s->bar = farside_registers_add_bar(s->parts.registers, OBJECT(s), 0,
                                       shape->registers_size);
    pci_register_bar(pci, BAR_REGISTERS,
                     PCI_BASE_ADDRESS_SPACE_MEMORY |
                         (shape->is_32_bit ? PCI_BASE_ADDRESS_MEM_TYPE_32
                                           : PCI_BASE_ADDRESS_MEM_TYPE_64),
                     s->bar);
    if (!farside_interrupts_start(s->parts.interrupts, s->bar, errp)) {
        goto fail_recorder;
    }
    if (!farside_windows_start(s->parts.windows, errp)) {
        goto fail_interrupts;
    }
    for (i = 0; i < s->config.peer_count; i++) {
        farside_memory_start(s->parts.far[i].memory);
    }
    farside_ntb_register_windows(s);
    if (!farside_ntb_make_sessions(s, errp)) {
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
    for (i = 0; i < s->config.peer_count; i++) {
        farside_memory_stop(s->parts.far[i].memory);
    }
    farside_windows_stop(s->parts.windows);
fail_interrupts:
    farside_interrupts_stop(s->parts.interrupts, s->bar);
fail_recorder:
    stop_recorders(s);
    pcie_cap_exit(pci);
}

/* Called at a Function Level Reset, too, and when the guest reboots. */
static void farside_ntb_reset(DeviceState *dev)
{
    FarsideNtb *s = FARSIDE_NTB(dev);
    unsigned i;

    s->parts.chip->class->reset(s->parts.chip);
    for (i = 0; i < s->config.peer_count; i++) {
        farside_peer_send(s->parts.far[i].peer, FARSIDE_WIRE_RESET, NULL, 0);
    }
}

static void farside_ntb_get_unsupported(Object *obj, Visitor *v,
                                        const char *name, void *opaque,
                                        Error **errp)
{
    FarsideNtb *s = FARSIDE_NTB(obj);
    uint64_t value = 0;
    const FarsideFar *far;
    unsigned i;

    for (i = 0; i < s->config.peer_count; i++) {
        far = &s->parts.far[i];
        if (far->completer) {
            value += farside_requester_unsupported(far->requester) +
                     farside_completer_unsupported(far->completer);
        }
    }
    if (s->parts.windows) {
        value += farside_windows_refused(s->parts.windows);
    }
    visit_type_uint64(v, name, &value, errp);
}

static const Property farside_ntb_properties[] = {
    DEFINE_PROP_STRING("link", FarsideNtb, config.link_path),
    DEFINE_PROP_BOOL("listen", FarsideNtb, config.listen, false),
    DEFINE_PROP_BOOL("check-interrupts", FarsideNtb, config.check_interrupts,
                     false),
    DEFINE_PROP_ON_OFF_AUTO("window-ram", FarsideNtb, config.window_ram,
                            ON_OFF_AUTO_AUTO),
    DEFINE_PROP_UINT8("partition", FarsideNtb, config.partition, 0),
    DEFINE_PROP_UINT8("hosts", FarsideNtb, config.hosts, 2),
    DEFINE_PROP_SIZE("bar2-size", FarsideNtb, config.bar_size[0], 8 * MiB),
    DEFINE_PROP_SIZE("bar4-size", FarsideNtb, config.bar_size[1], 64 * MiB),
    DEFINE_PROP_UINT32("completion-timeout", FarsideNtb, config.timeout_ms,
                       1000),
    DEFINE_PROP_UINT32("max-payload", FarsideNtb, config.max_payload, 256),
};

static void farside_ntb_instance_init(Object *obj)
{
    FarsideConfig *config = &FARSIDE_NTB(obj)->config;
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(config->peer); i++) {
        config->peer[i].enabled = true;
    }
}

/* The rest of the chip's state is in other processes. */
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
    pc->config_read = farside_ntb_read_config;
    pc->config_write = farside_ntb_write_config;
    pc->class_id = PCI_CLASS_BRIDGE_OTHER;
    device_class_set_legacy_reset(dc, farside_ntb_reset);
    dc->vmsd = &farside_ntb_vmstate;
    device_class_set_props(dc, farside_ntb_properties);
    set_bit(DEVICE_CATEGORY_BRIDGE, dc->categories);
    farside_ntb_add_links(klass, 0);
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

static void farside_ntb_register_common(void)
{
    farside_origin_register_types();
    farside_windows_register_types();
    type_register_static(&farside_ntb_info);
}

static void farside_ntb_init_chip(ObjectClass *klass, FarsideClassData *data)
{
    const FarsideChipClass *chip = data;

    FARSIDE_NTB_CLASS(klass)->chip = chip;
    DEVICE_CLASS(klass)->desc = chip->description;
    if (chip->add_properties) {
        chip->add_properties(klass);
    }
}

void farside_ntb_register(const FarsideChipClass *chip)
{
    static bool is_done;
    TypeInfo *info;

    if (!is_done) {
        is_done = true;
        farside_ntb_register_common();
    }
    /* It exists as long as the type. */
    info = g_new0(TypeInfo, 1);
    info->name = chip->type;
    info->parent = TYPE_FARSIDE_NTB;
    info->instance_size = chip->instance_size;
    info->class_init = farside_ntb_init_chip;
    info->class_data = (void *)chip;
    type_register_static(info);
}
