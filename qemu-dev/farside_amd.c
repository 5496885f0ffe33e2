/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each side owns its block and its half of the scratchpads. A host finds its
 * own block at AMD_BLOCK of BAR 0 and the peer's behind it. The translation of
 * a window is in the block of the host whose BAR it is; the driver of the other
 * host, to whose memory the window leads, writes it there.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/module.h"
#include "amd_regs.h"
#include "farside_amd.h"
#include "farside_ntb.h"

#define TYPE_FARSIDE_AMD "farside-amd"

/* Events that wait: the driver understands one bit of INTSTAT at a time. */
#define EVENTS_MAX 2

typedef struct Amd {
    FarsideChip chip;
    const FarsideConfig *config;
    FarsidePeer *peer;
    FarsideWindows *windows;
    FarsideRegisters *registers;
    FarsideInterrupts *interrupts;

    uint64_t cntl;
    uint64_t spad[AMD_SPADS];
    uint64_t ready;
    uint64_t limit[FARSIDE_NTB_WINDOWS]; /* bytes of the window that are open */
    uint64_t xlat[FARSIDE_NTB_WINDOWS];
    uint64_t dbmask;
    uint64_t dbstat;
    uint64_t intmask;
    uint64_t intstat;
    uint64_t smuack;

    uint32_t events[EVENTS_MAX]; /* to be shown when INTSTAT is clear */
    unsigned event_count;
    bool was_up; /* the link, when the last event was noted */
} Amd;

static Amd *of(FarsideChip *chip)
{
    return container_of(chip, Amd, chip);
}

/* Windows */

static void set_windows(Amd *s)
{
    FarsideWindow list[FARSIDE_NTB_WINDOWS];
    unsigned i, count = 0;
    uint64_t size;

    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        size = MIN(s->limit[i], s->config->bar_size[i]);
        if (size && s->xlat[i] + (size - 1) >= s->xlat[i]) {
            list[count++] = (FarsideWindow) {
                .window = i,
                .size = size,
                .target = s->xlat[i],
            };
        }
    }
    farside_windows_set(s->windows, list, count, NULL, 0);
    farside_windows_tell(s->windows);
}

/* Doorbells and events */

static void ring_unmasked(Amd *s, uint64_t bits)
{
    bits &= ~s->dbmask;
    for (; bits; bits &= bits - 1) {
        farside_interrupts_raise(s->interrupts, ctz64(bits));
    }
}

static void amd_ring(FarsideChip *chip, unsigned peer, uint64_t bits)
{
    Amd *s = of(chip);

    bits &= UINT16_MAX;
    s->dbstat |= bits;
    ring_unmasked(s, bits);
}

static void interrupt_events(Amd *s)
{
    if (s->intstat & ~s->intmask) {
        farside_interrupts_raise(s->interrupts, AMD_EVENT_VECTOR);
    }
}

static void show_event(Amd *s)
{
    if (s->intstat || s->event_count == 0) {
        return;
    }
    s->intstat = s->events[0];
    s->events[0] = s->events[1];
    s->event_count--;
    interrupt_events(s);
}

/*
 * An event that follows the opposite one, which the driver has not seen, takes
 * its place if a third would have to wait.
 */
static void add_event(Amd *s, uint32_t event)
{
    if (s->event_count == EVENTS_MAX) {
        s->event_count--;
    } else {
        s->events[s->event_count++] = event;
    }
    show_event(s);
}

/*
 * A reset of the peer lets the link train anew: Linux's driver of the primary
 * side clears the peer's READY at LINK_DOWN, and takes the link for up only
 * after LINK_UP.
 */
static void amd_link_event(FarsideChip *chip, unsigned peer)
{
    Amd *s = of(chip);
    bool is_up = farside_peer_link_is_up(s->peer);

    if (s->was_up) {
        add_event(s, AMD_LINK_DOWN);
    }
    if (is_up) {
        add_event(s, AMD_LINK_UP);
    }
    s->was_up = is_up;
}

/* Registers of this side */

typedef enum {
    CNTL,
    SPAD,
    SIDEINFO,
    LIMIT,
    XLAT,
    DBREQ,
    DBMASK,
    DBSTAT,
    INTMASK,
    INTSTAT,
    SMUACK,
} Kind;

typedef struct {
    uint16_t offset;
    uint8_t size;
    uint8_t kind;
    uint8_t index;
    bool is_common; /* not in the block, so the peer does not reach it there */
    uint64_t mask;  /* bits that software may write */
} Register;

static const Register registers[] = {
    {AMD_CNTL, 4, CNTL, 0, true, AMD_CNTL_MASK},
    {AMD_SIDEINFO, 4, SIDEINFO, 0, false, AMD_SIDE_READY},
    {AMD_BAR23LMT, 8, LIMIT, 0, false, UINT64_MAX},
    {AMD_BAR45LMT, 8, LIMIT, 1, false, UINT64_MAX},
    {AMD_BAR23XLAT, 8, XLAT, 0, false, AMD_XLAT_MASK},
    {AMD_BAR45XLAT, 8, XLAT, 1, false, AMD_XLAT_MASK},
    {AMD_DBREQ, 2, DBREQ, 0, false, UINT16_MAX},
    {AMD_DBMASK, 2, DBMASK, 0, false, UINT16_MAX},
    {AMD_DBSTAT, 2, DBSTAT, 0, false, UINT16_MAX},
    {AMD_INTMASK, 4, INTMASK, 0, false, AMD_EVENTS},
    {AMD_INTSTAT, 4, INTSTAT, 0, false, AMD_EVENTS},
    {AMD_SMUACK, 4, SMUACK, 0, false, UINT32_MAX},
};

/* The register's value; NULL: it has none. */
static uint64_t *value_of(Amd *s, const Register *r)
{
    switch (r->kind) {
    case CNTL:
        return &s->cntl;
    case SPAD:
        return &s->spad[r->index];
    case SIDEINFO:
        return &s->ready;
    case LIMIT:
        return &s->limit[r->index];
    case XLAT:
        return &s->xlat[r->index];
    case DBMASK:
        return &s->dbmask;
    case DBSTAT:
        return &s->dbstat;
    case INTMASK:
        return &s->intmask;
    case INTSTAT:
        return &s->intstat;
    case SMUACK:
        return &s->smuack;
    default:
        return NULL;
    }
}

static uint64_t reg_read(Amd *s, const Register *r)
{
    const uint64_t *value = value_of(s, r);

    return (value ? *value : 0) |
           (r->kind == SIDEINFO ? s->config->partition : 0);
}

static void reg_write(Amd *s, const Register *r, uint64_t value,
                      uint64_t mask)
{
    uint64_t *at = value_of(s, r), old = at ? *at : 0;
    struct farside_wire_doorbell bell;

    mask &= r->mask;
    value &= mask;
    switch (r->kind) {
    case DBREQ:
        bell.bits = value;
        if (value && farside_peer_link_is_up(s->peer)) {
            farside_peer_send(s->peer, FARSIDE_WIRE_DOORBELL, &bell,
                              sizeof(bell));
        }
        break;
    case DBSTAT:
    case INTSTAT:
        *at &= ~value;
        show_event(s);
        break;
    default:
        *at = (old & ~mask) | value;
    }
    switch (r->kind) {
    case DBMASK:
        ring_unmasked(s, s->dbstat & old);
        break;
    case INTMASK:
        if (s->intstat & old) {
            interrupt_events(s);
        }
        break;
    case LIMIT:
    case XLAT:
        set_windows(s);
        break;
    }
}

/* The scratchpad of this side at @offset. False if there is none. */
static bool find_spad(const Amd *s, unsigned offset, Register *ret)
{
    unsigned first = AMD_SPAD + 4 * AMD_SPADS * s->config->partition;

    if (offset < first || offset >= first + 4 * AMD_SPADS) {
        return false;
    }
    *ret = (Register) {
        .offset = offset & ~3u,
        .size = 4,
        .kind = SPAD,
        .index = (offset - first) / 4,
        .is_common = true,
        .mask = UINT32_MAX,
    };
    return true;
}

/* The register of this side that has the byte at @offset. */
static bool find_register(const Amd *s, unsigned offset, Register *ret)
{
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(registers); i++) {
        if (offset >= registers[i].offset &&
            offset < registers[i].offset + registers[i].size) {
            *ret = registers[i];
            return true;
        }
    }
    return find_spad(s, offset, ret);
}

/*
 * An access of any size and alignment to registers of this side, by parts that
 * lie in one register. Bytes outside of registers are 0.
 */
static uint64_t own_read(Amd *s, unsigned offset, unsigned size)
{
    uint64_t value = 0;
    unsigned i, n;
    Register r;

    for (i = 0; i < size; i += n) {
        n = 1;
        if (find_register(s, offset + i, &r)) {
            n = MIN(size - i, r.offset + r.size - (offset + i));
            value |= (reg_read(s, &r) >> (8 * (offset + i - r.offset)) &
                      MAKE_64BIT_MASK(0, 8 * n))
                     << (8 * i);
        }
    }
    return value;
}

static void own_write(Amd *s, unsigned offset, uint64_t value, unsigned size)
{
    unsigned i, n, shift;
    Register r;

    for (i = 0; i < size; i += n) {
        n = 1;
        if (find_register(s, offset + i, &r)) {
            n = MIN(size - i, r.offset + r.size - (offset + i));
            shift = 8 * (offset + i - r.offset);
            reg_write(s, &r, value >> (8 * i) << shift,
                      MAKE_64BIT_MASK(shift, 8 * n));
        }
    }
}

/* BAR 0 */

/*
 * True if the byte at @offset belongs to the other side. *@ret_offset is its
 * offset in the BAR 0 of that side.
 */
static bool is_of_peer(const Amd *s, unsigned offset, unsigned *ret_offset)
{
    unsigned spads = AMD_SPAD + 4 * AMD_SPADS * farside_config_peer(s->config);

    if (offset >= spads && offset < spads + 4 * AMD_SPADS) {
        *ret_offset = offset;
        return true;
    }
    *ret_offset = offset - AMD_BLOCK_SIZE;
    return offset >= AMD_BLOCK + AMD_BLOCK_SIZE &&
           offset < AMD_BLOCK + 2 * AMD_BLOCK_SIZE;
}

/* Bytes of an access from @offset on that are aligned, and of one side. */
static unsigned part_of(unsigned offset, unsigned size)
{
    unsigned n = pow2floor(size);

    while (offset & (n - 1)) {
        n /= 2;
    }
    return n;
}

static uint64_t amd_read(FarsideChip *chip, unsigned offset, unsigned size)
{
    Amd *s = of(chip);
    uint64_t value = 0, part;
    unsigned i, n, far;

    for (i = 0; i < size; i += n) {
        n = part_of(offset + i, size - i);
        part = is_of_peer(s, offset + i, &far)
                   ? farside_registers_ask(s->registers, 0, far, n)
                   : own_read(s, offset + i, n);
        value |= part << (8 * i);
    }
    return value;
}

/* True if a write of the peer's register may close one of its windows. */
static bool may_close(unsigned offset)
{
    return offset >= AMD_BAR23LMT && offset < AMD_BAR45XLAT + 8;
}

static void amd_write(FarsideChip *chip, unsigned offset, uint64_t value,
                      unsigned size)
{
    Amd *s = of(chip);
    unsigned i, n, far;
    uint64_t part;

    for (i = 0; i < size; i += n) {
        n = part_of(offset + i, size - i);
        part = value >> (8 * i) & MAKE_64BIT_MASK(0, 8 * n);
        if (!is_of_peer(s, offset + i, &far)) {
            own_write(s, offset + i, part, n);
        } else if (may_close(far)) {
            farside_registers_put(s->registers, 0, far, part, n);
        } else {
            farside_registers_post(s->registers, 0, far, part, n);
        }
    }
}

/* The peer */

/* True if the peer reaches the @size bytes at @offset of this side's BAR 0. */
static bool is_shared(const Amd *s, uint64_t offset, unsigned size)
{
    Register r;

    if (offset >= AMD_BLOCK && offset < AMD_BLOCK + AMD_BLOCK_SIZE) {
        return true;
    }
    return offset < AMD_BLOCK && find_spad(s, offset, &r) &&
           find_spad(s, offset + size - 1, &r);
}

static bool amd_serve_read(FarsideChip *chip, unsigned peer, uint64_t offset,
                           unsigned size, uint64_t *ret_value)
{
    Amd *s = of(chip);

    if (!is_shared(s, offset, size)) {
        return false;
    }
    *ret_value = own_read(s, offset, size);
    return true;
}

static bool amd_serve_write(FarsideChip *chip, unsigned peer, uint64_t offset,
                            uint64_t value, unsigned size)
{
    Amd *s = of(chip);

    if (!is_shared(s, offset, size)) {
        return false;
    }
    own_write(s, offset, value, size);
    return true;
}

static void close_windows(Amd *s)
{
    memset(s->limit, 0, sizeof(s->limit));
    memset(s->xlat, 0, sizeof(s->xlat));
    set_windows(s);
}

/* The memory to which the windows lead is no longer what it was. */
static void amd_peer_reset(FarsideChip *chip, unsigned peer)
{
    close_windows(of(chip));
}

/* Life */

static void amd_reset(FarsideChip *chip)
{
    Amd *s = of(chip);

    farside_interrupts_reset(s->interrupts);
    s->cntl = 0;
    memset(s->spad, 0, sizeof(s->spad));
    s->ready = 0;
    s->dbmask = UINT16_MAX;
    s->dbstat = 0;
    s->intmask = AMD_EVENTS;
    s->intstat = 0;
    s->smuack = 0;
    s->event_count = 0;
    close_windows(s);
}

static void amd_describe(PCIDevice *pci, FarsideShape *ret_shape)
{
    *ret_shape = (FarsideShape) {
        .vendor_id = AMD_VENDOR_ID,
        .device_id = AMD_DEVICE_ID,
        .registers_size = AMD_BAR_SIZE,
        .msix_table = AMD_MSIX_TABLE,
        .msix_pba = AMD_MSIX_PBA,
        .vectors = AMD_VECTORS,
        /* 8.0GT/s x8: Linux's driver takes it for the speed of the NTB. */
        .link_status = 3 | 8 << 4,
    };
}

static FarsideChip *amd_new(const FarsideConfig *config, PCIDevice *pci,
                            const FarsideParts *parts)
{
    Amd *s = g_new0(Amd, 1);

    s->chip.class = farside_ntb_chip(pci);
    s->config = config;
    s->peer = parts->far[0].peer;
    s->windows = parts->windows;
    s->registers = parts->registers;
    s->interrupts = parts->interrupts;
    amd_reset(&s->chip);
    return &s->chip;
}

static void amd_free(FarsideChip *chip)
{
    g_free(of(chip));
}

static const FarsideChipClass amd_class = {
    .number = FARSIDE_WIRE_CHIP_AMD,
    .hosts_max = 2,
    .describe = amd_describe,
    .new = amd_new,
    .free = amd_free,
    .reset = amd_reset,
    .read = amd_read,
    .write = amd_write,
    .peer_reset = amd_peer_reset,
    .link_event = amd_link_event,
    .ring = amd_ring,
    .serve_read = amd_serve_read,
    .serve_write = amd_serve_write,
};

static void amd_class_init(ObjectClass *klass, FarsideClassData *data)
{
    FARSIDE_NTB_CLASS(klass)->chip = &amd_class;
    DEVICE_CLASS(klass)->desc = "PCIe non-transparent bridge (AMD)";
}

static const TypeInfo amd_info = {
    .name = TYPE_FARSIDE_AMD,
    .parent = TYPE_FARSIDE_NTB,
    .class_init = amd_class_init,
};

void farside_amd_register_types(void)
{
    farside_ntb_register_types();
    type_register_static(&amd_info);
}

type_init(farside_amd_register_types)
