/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/host-utils.h"
#include "farside_idt_nt.h"

/* False if the partition is this host's, or there is none with this number. */
bool idt_find_peer(const Idt *s, unsigned partition, unsigned *ret_peer)
{
    unsigned own = s->config->partition;

    *ret_peer = partition < own ? partition : partition - 1;
    return partition != own && partition < s->config->hosts;
}

bool idt_is_up(const Idt *s, unsigned peer)
{
    return farside_peer_link_is_up(s->parts->far[peer].peer);
}

/* Windows */

/* The type of the BAR of @window, in its place in BARSETUP */
static uint32_t type_of(const Idt *s, unsigned window)
{
    unsigned lut = window == 0 ? s->device->options.lut : 0;

    return lut == 12 ? IDT_BAR_LUT12 : lut == 24 ? IDT_BAR_LUT24 : 0;
}

/* Adds a window, if requests may go that way. Returns the number added. */
static unsigned add_window(const Idt *s, const FarsideWindow *window,
                           unsigned partition, FarsideWindow *list)
{
    unsigned peer;

    if (!(s->entry & IDT_MTBL_VALID) || !idt_find_peer(s, partition, &peer) ||
        !s->peer_is_open[peer] || window->size == 0 ||
        window->target + (window->size - 1) < window->target) {
        return 0;
    }
    *list = *window;
    list->peer = peer;
    return 1;
}

static unsigned add_direct(const Idt *s, unsigned window, FarsideWindow *list)
{
    const BarRegisters *bar = &s->bar[window];
    uint64_t limit = (uint64_t)bar->limit[1] << 32 | bar->limit[0];
    FarsideWindow w = {
        .window = window,
        .target = (uint64_t)bar->base[1] << 32 | bar->base[0],
    };

    if (s->mapped[window] == PCI_BAR_UNMAPPED || limit <= s->mapped[window]) {
        return 0;
    }
    w.size = MIN(limit - s->mapped[window], s->config->bar_size[window]);
    return add_window(s, &w, bar->part >> IDT_BAR_PART_SHIFT, list);
}

static unsigned add_lut(const Idt *s, unsigned window, FarsideWindow *list)
{
    unsigned entries = s->device->options.lut, i, count = 0;
    uint64_t size = s->config->bar_size[window] / (entries == 12 ? 16 : 32);

    for (i = 0; i < entries; i++) {
        FarsideWindow w = {
            .window = window,
            .offset = i * size,
            .size = size,
            .target = (uint64_t)s->lut[i].middle << 32 | s->lut[i].low,
        };

        if (s->lut[i].high & IDT_LUT_VALID) {
            count += add_window(s, &w, s->lut[i].high & IDT_LUT_PART,
                                list + count);
        }
    }
    return count;
}

void idt_nt_set_windows(Idt *s)
{
    FarsideWindow list[IDT_LUT_MAX + FARSIDE_NTB_WINDOWS];
    unsigned i, count = 0;

    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        count += type_of(s, i) ? add_lut(s, i, list + count)
                               : add_direct(s, i, list + count);
    }
    farside_windows_set(s->parts->windows, list, count, NULL, 0);
    farside_windows_tell(s->parts->windows);
}

/* Interrupts: one each time that a bit of NTINTSTS & ~NTINTMSK rises. */

static uint32_t interrupt_status(const Idt *s)
{
    return (s->msgsts & ~s->msgstsmsk ? IDT_INT_MSG : 0) |
           (s->indbellsts & ~s->indbellmsk ? IDT_INT_DBELL : 0) |
           (s->sevent ? IDT_INT_SEVENT : 0);
}

static void update_line(Idt *s)
{
    uint32_t line = interrupt_status(s) & ~s->ntintmsk;
    bool rises = line & ~s->line;

    s->line = line;
    if (rises) {
        farside_interrupts_raise(s->parts->interrupts, 0);
    }
}

void idt_nt_signalled(void *opaque)
{
    Idt *s = opaque;

    s->sevent = true;
    update_line(s);
}

/* Doorbells and messages */

void idt_nt_hear(Idt *s, uint32_t bits)
{
    s->indbellsts |= idt_switch_may_hear(s->sw, s->config->partition, bits);
    update_line(s);
}

/* All partitions share the doorbells, so this one hears its own, too. */
static void ring(Idt *s, uint32_t bits)
{
    struct farside_wire_doorbell bell = {
        .bits = idt_switch_may_ring(s->sw, s->config->partition, bits),
    };
    unsigned i;

    for (i = 0; bell.bits && i < s->config->peer_count; i++) {
        if (idt_is_up(s, i)) {
            farside_peer_send(s->parts->far[i].peer, FARSIDE_WIRE_DOORBELL,
                              &bell, sizeof(bell));
        }
    }
    idt_nt_hear(s, bell.bits);
}

/* False: the register is full, and the message refused. */
bool idt_nt_take_message(Idt *s, unsigned index, unsigned partition,
                         uint32_t value)
{
    uint32_t bit = IDT_MSGSTS_IN_BIT << index;

    if (s->msgsts & bit) {
        return false;
    }
    s->inmsg[index] = value;
    s->inmsgsrc[index] = partition;
    s->msgsts |= bit;
    update_line(s);
    return true;
}

static void send_message(Idt *s, unsigned index, uint32_t value)
{
    uint32_t route = s->route[index];
    unsigned to = route & IDT_ROUTE_REG, peer;
    unsigned partition = route >> IDT_ROUTE_SHIFT;
    bool is_taken;

    s->outmsg[index] = value;
    if (partition == s->config->partition) {
        is_taken = idt_nt_take_message(s, to, partition, value);
    } else {
        is_taken = idt_find_peer(s, partition, &peer) &&
                   farside_registers_try(s->parts->registers, peer,
                                         IDT_FAR_MESSAGE + 4 * to, value, 4);
    }
    if (!is_taken) {
        s->msgsts |= 1u << index;
        update_line(s);
    }
}

/* Registers of the own NT function */

/* The BAR register at @offset; its window is @ret_window, or it has none. */
static unsigned bar_register(unsigned offset, unsigned *ret_window,
                             bool *ret_is_high)
{
    unsigned bar = (offset - IDT_BAR) / IDT_BAR_STEP;

    *ret_window = bar / 2 - 1;
    *ret_is_high = bar & 1;
    return bar < 2 ? UINT_MAX : (offset - IDT_BAR) % IDT_BAR_STEP / 4;
}

static uint32_t bar_read(const Idt *s, unsigned offset)
{
    unsigned window, which;
    const BarRegisters *bar;
    bool is_high;

    if (offset == IDT_BAR) {
        return IDT_BAR_EN | IDT_BAR_CONFIG |
               IDT_BAR_BITS << IDT_BAR_SIZE_SHIFT;
    }
    which = bar_register(offset, &window, &is_high);
    if (which == UINT_MAX) {
        return 0;
    }
    bar = &s->bar[window];
    switch (which) {
    case 0:
        return is_high ? 0
                       : IDT_BAR_EN | IDT_BAR_64 | IDT_BAR_PREF |
                             (uint32_t)ctz64(s->config->bar_size[window])
                                 << IDT_BAR_SIZE_SHIFT |
                             type_of(s, window) | bar->part;
    case 1:
        return bar->limit[is_high];
    default:
        return is_high ? 0 : bar->base[which - 2];
    }
}

static void bar_write(Idt *s, unsigned offset, uint32_t value)
{
    unsigned window, which;
    BarRegisters *bar;
    bool is_high;

    which = bar_register(offset, &window, &is_high);
    if (which == UINT_MAX || (is_high && which != 1)) {
        return;
    }
    bar = &s->bar[window];
    switch (which) {
    case 0:
        bar->part = value & IDT_BAR_PART;
        break;
    case 1:
        bar->limit[is_high] = value;
        break;
    default:
        bar->base[which - 2] = which == 2 ? value & ~3u : value;
    }
    idt_nt_set_windows(s);
}

/* The entry that LUTOFFSET names; NULL if there is none. */
static LutEntry *lut_entry(Idt *s)
{
    unsigned index = s->lutoffset & IDT_LUT_INDEX;

    return s->lutoffset >> IDT_LUT_BAR_SHIFT == FARSIDE_NTB_WINDOW_BAR(0) &&
                   index < s->device->options.lut
               ? &s->lut[index]
               : NULL;
}

static void lut_write(Idt *s, unsigned offset, uint32_t value)
{
    LutEntry *entry = lut_entry(s);

    if (!entry) {
        return;
    }
    switch (offset) {
    case IDT_LUTLDATA:
        entry->low = value & ~3u;
        break;
    case IDT_LUTMDATA:
        entry->middle = value;
        break;
    default:
        entry->high = value & (IDT_LUT_VALID | IDT_LUT_PART);
    }
    idt_nt_set_windows(s);
}

/*
 * Each partition owns its entry of the mapping table. Those of hosts that are
 * not there are 0, and others do not exist.
 */
static uint32_t table_read(Idt *s)
{
    unsigned peer;

    if (s->mtbladdr == s->config->partition) {
        return s->entry;
    }
    return idt_find_peer(s, s->mtbladdr, &peer)
               ? farside_registers_ask(s->parts->registers, peer,
                                       IDT_FAR_ENTRY, 4)
               : 0;
}

void idt_nt_set_entry(Idt *s, uint32_t value)
{
    s->entry = value & IDT_MTBL_MASK;
    idt_nt_set_windows(s);
}

static void table_write(Idt *s, uint32_t value)
{
    unsigned peer;

    if (s->mtbladdr == s->config->partition) {
        idt_nt_set_entry(s, value);
    } else if (idt_find_peer(s, s->mtbladdr, &peer)) {
        farside_registers_put(s->parts->registers, peer, IDT_FAR_ENTRY, value,
                              4);
    }
}

/* Registers that only the own host reaches, because others follow from them */
bool idt_nt_is_private(unsigned offset)
{
    return offset == IDT_NTGSIGNAL || offset == IDT_OUTDBELLSET ||
           (offset >= IDT_OUTMSG && offset < IDT_INMSG) ||
           offset == IDT_NTMTBLDATA || offset == IDT_GASADATA;
}

static uint32_t private_read(Idt *s, unsigned offset)
{
    switch (offset) {
    case IDT_OUTMSG ... IDT_INMSG - 1:
        return s->outmsg[(offset - IDT_OUTMSG) / 4];
    case IDT_NTMTBLDATA:
        return table_read(s);
    default:
        return 0;
    }
}

static void private_write(Idt *s, unsigned offset, uint32_t value)
{
    unsigned i;

    switch (offset) {
    case IDT_NTGSIGNAL:
        if (!(value & IDT_GSIGNAL_SET)) {
            return;
        }
        for (i = 0; i < s->config->peer_count; i++) {
            farside_registers_post(s->parts->registers, i, IDT_FAR_SIGNAL, 1,
                                   4);
        }
        idt_switch_signal(s->sw, 1u << s->config->partition);
        break;
    case IDT_OUTDBELLSET:
        ring(s, value);
        break;
    case IDT_NTMTBLDATA:
        table_write(s, value);
        break;
    default:
        send_message(s, (offset - IDT_OUTMSG) / 4, value);
    }
}

/* The register that keeps what is written; NULL if there is none. */
static uint32_t *plain(Idt *s, unsigned offset, uint32_t *ret_mask)
{
    static const struct {
        uint16_t offset;
        uint32_t mask;
        size_t place;
    } registers[] = {
        {IDT_NTCTL, IDT_NTCTL_CPEN, offsetof(Idt, ntctl)},
        {IDT_NTINTMSK, IDT_INT_ALL, offsetof(Idt, ntintmsk)},
        {IDT_INDBELLMSK, UINT32_MAX, offsetof(Idt, indbellmsk)},
        {IDT_MSGSTSMSK, IDT_MSGSTS_OUT | IDT_MSGSTS_IN,
         offsetof(Idt, msgstsmsk)},
        {IDT_NTMTBLADDR, IDT_MTBL_ADDRESS, offsetof(Idt, mtbladdr)},
        {IDT_LUTOFFSET, IDT_LUTOFFSET_MASK, offsetof(Idt, lutoffset)},
        {IDT_GASAADDR, 0xffffcu, offsetof(Idt, gasaaddr)},
    };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(registers); i++) {
        if (registers[i].offset == offset) {
            *ret_mask = registers[i].mask;
            return (uint32_t *)((char *)s + registers[i].place);
        }
    }
    return NULL;
}

/* A word of the NT function, from its configuration header on */
uint32_t idt_nt_read(Idt *s, unsigned offset)
{
    const LutEntry *entry;
    const uint32_t *value;
    uint32_t mask;

    if (offset < IDT_NT) {
        return pci_default_read_config(s->pci, offset, 4);
    }
    value = plain(s, offset, &mask);
    if (value) {
        return *value;
    }
    switch (offset) {
    case IDT_NTINTSTS:
        return interrupt_status(s);
    case IDT_INDBELLSTS:
        return s->indbellsts;
    case IDT_INMSG ... IDT_INMSGSRC - 1:
        return s->inmsg[(offset - IDT_INMSG) / 4];
    case IDT_INMSGSRC ... IDT_MSGSTS - 1:
        return s->inmsgsrc[(offset - IDT_INMSGSRC) / 4];
    case IDT_MSGSTS:
        return s->msgsts;
    case IDT_BAR ... IDT_NTMTBLADDR - 1:
        return bar_read(s, offset);
    case IDT_LUTLDATA ... IDT_LUTUDATA + 3:
        entry = lut_entry(s);
        return !entry                   ? 0
               : offset == IDT_LUTLDATA ? entry->low
               : offset == IDT_LUTMDATA ? entry->middle
                                        : entry->high;
    default:
        /* REQIDCAP is 0, the root complex. */
        return idt_nt_is_private(offset) ? private_read(s, offset) : 0;
    }
}

void idt_nt_write(Idt *s, unsigned offset, uint32_t value)
{
    uint32_t *at, mask;

    at = plain(s, offset, &mask);
    if (at) {
        *at = value & mask;
        update_line(s);
        return;
    }
    switch (offset) {
    case IDT_NTINTSTS:
        s->sevent &= !(value & IDT_INT_SEVENT);
        update_line(s);
        break;
    case IDT_INDBELLSTS:
        s->indbellsts &= ~value;
        update_line(s);
        break;
    case IDT_MSGSTS:
        s->msgsts &= ~value;
        update_line(s);
        break;
    case IDT_BAR ... IDT_NTMTBLADDR - 1:
        bar_write(s, offset, value);
        break;
    case IDT_LUTLDATA ... IDT_LUTUDATA + 3:
        lut_write(s, offset, value);
        break;
    default:
        if (idt_nt_is_private(offset)) {
            private_write(s, offset, value);
        }
    }
}

uint32_t idt_nt_at_reset(const Idt *s, unsigned offset)
{
    return offset >= IDT_BAR && offset < IDT_NTMTBLADDR &&
                   (offset - IDT_BAR) % IDT_BAR_STEP == 0
               ? bar_read(s, offset) & ~IDT_BAR_PART
               : 0;
}
