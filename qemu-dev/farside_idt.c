/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/module.h"
#include "qemu/units.h"
#include "farside_idt.h"
#include "farside_idt_global.h"
#include "farside_ntb_links.h"

/* The driver keeps the size of a BAR in an int. */
#define APERTURE_MAX (1 * GiB)

static Idt *of(FarsideChip *chip)
{
    return container_of(chip, Idt, chip);
}

/* BAR 0 */

static uint32_t word_read(Idt *s, unsigned offset)
{
    return offset == IDT_GASADATA ? idt_global_read(s, s->gasaaddr)
                                  : idt_nt_read(s, offset);
}

static uint64_t idt_read(FarsideChip *chip, unsigned offset, unsigned size)
{
    uint64_t value = 0;
    unsigned i, at, n;

    for (i = 0; i < size; i += n) {
        at = offset + i;
        n = MIN(size - i, 4 - at % 4);
        value |= (uint64_t)(word_read(of(chip), at & ~3u) >> (8 * (at % 4)) &
                            MAKE_64BIT_MASK(0, 8 * n))
                 << (8 * i);
    }
    return value;
}

/* Registers are words: a part of one is not written. */
static void idt_write(FarsideChip *chip, unsigned offset, uint64_t value,
                      unsigned size)
{
    Idt *s = of(chip);
    unsigned i;

    for (i = 0; offset % 4 == 0 && i + 4 <= size; i += 4) {
        if (offset + i == IDT_GASADATA) {
            idt_global_write(s, s->gasaaddr, value >> (8 * i));
        } else if (offset + i >= IDT_NT) {
            idt_nt_write(s, offset + i, value >> (8 * i));
        }
    }
}

/* The peers */

static void idt_ring(FarsideChip *chip, unsigned peer, uint64_t bits)
{
    idt_nt_hear(of(chip), bits);
}

static void tell_open(Idt *s, unsigned peer)
{
    if (s->is_open) {
        farside_registers_post(s->parts->registers, peer, IDT_FAR_OPEN, 1, 4);
    } else {
        farside_registers_put(s->parts->registers, peer, IDT_FAR_OPEN, 0, 4);
    }
}

/*
 * Requests of the other hosts come out of the NT function, so they do only
 * while it may be a bus master (PCIe 5.0 s7.5.1.1.3).
 */
static void idt_config_changed(FarsideChip *chip)
{
    Idt *s = of(chip);
    uint16_t command = pci_get_word(s->pci->config + PCI_COMMAND);
    bool is_open = command & PCI_COMMAND_MASTER, moves = false;
    pcibus_t mapped;
    unsigned i;

    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        mapped = pci_get_bar_addr(s->pci, FARSIDE_NTB_WINDOW_BAR(i));
        moves |= mapped != s->mapped[i];
        s->mapped[i] = mapped;
    }
    if (moves) {
        idt_nt_set_windows(s);
    }
    if (is_open != s->is_open) {
        s->is_open = is_open;
        for (i = 0; i < s->config->peer_count; i++) {
            tell_open(s, i);
        }
    }
}

static void set_peer_open(Idt *s, unsigned peer, bool is_open)
{
    if (s->peer_is_open[peer] != is_open) {
        s->peer_is_open[peer] = is_open;
        idt_nt_set_windows(s);
    }
}

static bool idt_serve_read(FarsideChip *chip, unsigned peer, uint64_t offset,
                           unsigned size, uint64_t *ret_value)
{
    Idt *s = of(chip);

    if (size != 4) {
        return false;
    }
    if (offset == IDT_FAR_ENTRY) {
        *ret_value = s->entry;
        return true;
    }
    return idt_global_serve_read(s, offset, ret_value);
}

static bool idt_serve_write(FarsideChip *chip, unsigned peer, uint64_t offset,
                            uint64_t value, unsigned size)
{
    Idt *s = of(chip);
    unsigned partition = s->config->peer[peer].host;

    if (size == 8) {
        return idt_switch_on_shared(s->sw, peer, offset, value);
    }
    if (size != 4) {
        return false;
    }
    switch (offset) {
    case IDT_FAR_ENTRY:
        idt_nt_set_entry(s, value);
        return true;
    case IDT_FAR_OPEN:
        set_peer_open(s, peer, value);
        return true;
    case IDT_FAR_SIGNAL:
        idt_switch_signal(s->sw, 1u << partition);
        return true;
    default:
        if (offset >= IDT_FAR_MESSAGE &&
            offset < IDT_FAR_MESSAGE + 4 * IDT_MESSAGES && offset % 4 == 0) {
            return idt_nt_take_message(s, (offset - IDT_FAR_MESSAGE) / 4,
                                       partition, value);
        }
        return idt_global_serve_write(s, offset, value);
    }
}

/* The windows lead to nothing any more. */
static void idt_peer_reset(FarsideChip *chip, unsigned peer)
{
    Idt *s = of(chip);

    s->peer_is_open[peer] = false;
    idt_nt_set_windows(s);
}

/* A port whose host was reset goes down, and comes up again. */
static void idt_link_event(FarsideChip *chip, unsigned peer)
{
    Idt *s = of(chip);
    uint32_t bit = 1u << s->device->port[s->config->peer[peer].host];
    bool was_up = s->was_up[peer];

    s->was_up[peer] = idt_is_up(s, peer);
    if (was_up) {
        set_peer_open(s, peer, false);
        idt_switch_link(s->sw, false, bit);
    }
    if (s->was_up[peer]) {
        idt_switch_tell(s->sw, peer);
        if (s->is_open) {
            tell_open(s, peer);
        }
        idt_switch_link(s->sw, true, bit);
    }
}

static void idt_introduce(FarsideChip *chip, struct farside_wire_hello *hello)
{
    const FarsideIdt *device = of(chip)->device;

    hello->generation = idt_model_number(device->model);
    hello->lut_entries = device->options.lut;
    hello->ports = idt_model_mask(device->model, device->port,
                                  of(chip)->config->hosts);
}

static const char *idt_check_peer(FarsideChip *chip, unsigned peer,
                                  const struct farside_wire_hello *hello)
{
    const FarsideIdt *device = of(chip)->device;

    if (hello->generation != idt_model_number(device->model)) {
        return "property 'model' is not the same at both ends";
    }
    if (hello->lut_entries != device->options.lut) {
        return "property 'lut' is not the same at both ends";
    }
    if (hello->ports != idt_model_mask(device->model, device->port,
                                       of(chip)->config->hosts)) {
        return "property 'ports' is not the same at both ends";
    }
    return NULL;
}

/* Life */

static void idt_reset(FarsideChip *chip)
{
    Idt *s = of(chip);
    unsigned i;

    farside_interrupts_reset(s->parts->interrupts);
    memset(&s->ntctl, 0, offsetof(Idt, mapped) - offsetof(Idt, ntctl));
    s->ntintmsk = IDT_INT_ALL;
    s->is_open = false;
    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        s->mapped[i] = PCI_BAR_UNMAPPED;
    }
    idt_nt_set_windows(s);
}

static bool idt_check(PCIDevice *pci, Error **errp)
{
    FarsideIdt *s = FARSIDE_IDT(pci);
    const FarsideConfig *config = &FARSIDE_NTB(pci)->config;
    unsigned i;

    s->model = idt_model_find(s->options.model ? s->options.model
                                               : "89hpes32nt24ag2",
                              errp);
    if (!s->model || !idt_model_ports(s->model, s->options.ports, config->hosts,
                                      s->port, errp)) {
        return false;
    }
    if (s->options.lut != 0 && s->options.lut != 12 && s->options.lut != 24) {
        error_setg(errp, "property 'lut' must be 0, 12 or 24");
        return false;
    }
    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        if (config->bar_size[i] > APERTURE_MAX ||
            config->bar_size[i] < 128 * KiB) {
            error_setg(errp, "property 'bar%d-size' must be 128 KiB to 1 GiB "
                             "for this chip",
                       FARSIDE_NTB_WINDOW_BAR(i));
            return false;
        }
    }
    return true;
}

static void idt_describe(PCIDevice *pci, FarsideShape *ret_shape)
{
    const FarsideIdt *s = FARSIDE_IDT(pci);

    *ret_shape = (FarsideShape) {
        .vendor_id = IDT_VENDOR_ID,
        .device_id = s->model->device_id,
        .registers_size = IDT_BAR_SIZE,
        .vectors = 1,
        .msi = IDT_MSI_CAP,
        .is_32_bit = true,
        .express = IDT_PCIE_CAP,
        .port = s->port[FARSIDE_NTB(pci)->config.partition],
        .link_status = 2 | 8 << 4, /* 5.0GT/s x8 */
    };
}

static FarsideChip *idt_new(const FarsideConfig *config, PCIDevice *pci,
                            const FarsideParts *parts)
{
    Idt *s = g_new0(Idt, 1);

    s->chip.class = farside_ntb_chip(pci);
    s->config = config;
    s->pci = pci;
    s->device = FARSIDE_IDT(pci);
    s->parts = parts;
    s->sw = idt_switch_new(config, parts, idt_nt_signalled, s);
    idt_reset(&s->chip);
    return &s->chip;
}

static void idt_free(FarsideChip *chip)
{
    idt_switch_free(of(chip)->sw);
    g_free(of(chip));
}

static const Property idt_properties[] = {
    DEFINE_PROP_STRING("model", FarsideIdt, options.model),
    DEFINE_PROP_STRING("ports", FarsideIdt, options.ports),
    DEFINE_PROP_UINT8("lut", FarsideIdt, options.lut, 12),
};

static void idt_add_properties(ObjectClass *klass)
{
    device_class_set_props(DEVICE_CLASS(klass), idt_properties);
    farside_ntb_add_links(klass, FARSIDE_NTB_HOSTS_MAX);
}

static const FarsideChipClass idt_class = {
    .type = TYPE_FARSIDE_IDT,
    .description = "PCIe non-transparent bridge (IDT)",
    .instance_size = sizeof(FarsideIdt),
    .add_properties = idt_add_properties,
    .number = FARSIDE_WIRE_CHIP_IDT,
    .hosts_max = FARSIDE_NTB_HOSTS_MAX,
    .config_registers = IDT_NT,
    .check = idt_check,
    .describe = idt_describe,
    .new = idt_new,
    .free = idt_free,
    .reset = idt_reset,
    .read = idt_read,
    .write = idt_write,
    .config_changed = idt_config_changed,
    .introduce = idt_introduce,
    .check_peer = idt_check_peer,
    .peer_reset = idt_peer_reset,
    .link_event = idt_link_event,
    .ring = idt_ring,
    .serve_read = idt_serve_read,
    .serve_write = idt_serve_write,
};

void farside_idt_register_types(void)
{
    farside_ntb_register(&idt_class);
}

type_init(farside_idt_register_types)
