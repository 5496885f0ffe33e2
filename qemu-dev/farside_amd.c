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
#include "farside_side.h"

/* Events that wait: the driver understands one bit of INTSTAT at a time. */
#define EVENTS_MAX 2

typedef struct Amd {
    FarsideSide side;
    FarsideWindows *windows;

    uint32_t events[EVENTS_MAX]; /* to be shown when INTSTAT is clear */
    unsigned event_count;
    bool was_up; /* the link, when the last event was noted */
} Amd;

static Amd *of(FarsideChip *chip)
{
    return container_of(chip, Amd, side.chip);
}

static uint64_t get(const Amd *s, unsigned offset)
{
    return farside_bank_get(s->side.bank, offset);
}

/* Windows */

static void set_windows(Amd *s)
{
    FarsideWindow list[FARSIDE_NTB_WINDOWS];
    unsigned i, count = 0;
    uint64_t size, target;

    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        size = MIN(get(s, AMD_BAR23LMT + 8 * i), s->side.config->bar_size[i]);
        target = get(s, AMD_BAR23XLAT + 8 * i);
        if (size && target + (size - 1) >= target) {
            list[count++] = (FarsideWindow) {
                .window = i,
                .size = size,
                .target = target,
            };
        }
    }
    farside_windows_set(s->windows, list, count, NULL, 0);
    farside_windows_tell(s->windows);
}

/* Doorbells and events */

static void ring_unmasked(Amd *s, uint64_t bits)
{
    bits &= ~get(s, AMD_DBMASK);
    for (; bits; bits &= bits - 1) {
        farside_interrupts_raise(s->side.interrupts, ctz64(bits));
    }
}

static void amd_ring(FarsideChip *chip, unsigned peer, uint64_t bits)
{
    Amd *s = of(chip);

    bits &= UINT16_MAX;
    farside_bank_set(s->side.bank, AMD_DBSTAT, get(s, AMD_DBSTAT) | bits);
    ring_unmasked(s, bits);
}

static void interrupt_events(Amd *s)
{
    if (get(s, AMD_INTSTAT) & ~get(s, AMD_INTMASK)) {
        farside_interrupts_raise(s->side.interrupts, AMD_EVENT_VECTOR);
    }
}

static void show_event(Amd *s)
{
    if (get(s, AMD_INTSTAT) || s->event_count == 0) {
        return;
    }
    farside_bank_set(s->side.bank, AMD_INTSTAT, s->events[0]);
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
    bool is_up = farside_peer_link_is_up(s->side.peer);

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
    PLAIN,
    WINDOW,
    DBREQ,
    DBMASK,
    INTMASK,
    INTSTAT,
} Kind;

static void amd_written(FarsideChip *chip, const FarsideRegister *r,
                        unsigned index, uint64_t bits, uint64_t old)
{
    Amd *s = of(chip);

    switch (r->kind) {
    case WINDOW:
        set_windows(s);
        break;
    case DBREQ:
        farside_side_ring(&s->side, bits);
        break;
    case DBMASK:
        ring_unmasked(s, get(s, AMD_DBSTAT) & old);
        break;
    case INTMASK:
        if (get(s, AMD_INTSTAT) & old) {
            interrupt_events(s);
        }
        break;
    case INTSTAT:
        show_event(s);
        break;
    }
}

#define RW(at, bytes, what, bits, at_reset)                                    \
    {                                                                          \
        .offset = at, .size = bytes, .access = FARSIDE_REGISTER_RW,            \
        .kind = what, .mask = bits, .reset = at_reset,                         \
    }
#define W1C(at, bytes, what, bits)                                             \
    {                                                                          \
        .offset = at, .size = bytes, .access = FARSIDE_REGISTER_W1C,           \
        .kind = what, .mask = bits,                                            \
    }
#define SPADS(side)                                                            \
    {                                                                          \
        .offset = AMD_SPAD + 4 * AMD_SPADS * (side), .size = 4,                \
        .count = AMD_SPADS, .mask = UINT32_MAX,                                \
    }

static const FarsideRegister of_both[] = {
    RW(AMD_CNTL, 4, PLAIN, AMD_CNTL_MASK, 0),
    RW(AMD_BAR23LMT, 8, WINDOW, UINT64_MAX, 0),
    RW(AMD_BAR45LMT, 8, WINDOW, UINT64_MAX, 0),
    RW(AMD_BAR23XLAT, 8, WINDOW, AMD_XLAT_MASK, 0),
    RW(AMD_BAR45XLAT, 8, WINDOW, AMD_XLAT_MASK, 0),
    {
        .offset = AMD_DBREQ,
        .size = 2,
        .access = FARSIDE_REGISTER_WO,
        .kind = DBREQ,
        .mask = UINT16_MAX,
    },
    RW(AMD_DBMASK, 2, DBMASK, UINT16_MAX, UINT16_MAX),
    W1C(AMD_DBSTAT, 2, PLAIN, UINT16_MAX),
    RW(AMD_INTMASK, 4, INTMASK, AMD_EVENTS, AMD_EVENTS),
    W1C(AMD_INTSTAT, 4, INTSTAT, AMD_EVENTS),
    RW(AMD_SMUACK, 4, PLAIN, UINT32_MAX, 0),
    {},
};
static const FarsideRegister of_primary[] = {
    SPADS(0),
    RW(AMD_SIDEINFO, 4, PLAIN, AMD_SIDE_READY, 0),
    {},
};
static const FarsideRegister of_secondary[] = {
    SPADS(1),
    RW(AMD_SIDEINFO, 4, PLAIN, AMD_SIDE_READY, AMD_SIDE_SECONDARY),
    {},
};

/* The peer's block follows the own one. */
#define FAR(begin, end, may_close)                                             \
    {                                                                          \
        .offset = AMD_BLOCK_SIZE + (begin), .size = (end) - (begin),           \
        .far = begin, .closes = may_close,                                     \
    }
#define FAR_SPADS(side)                                                        \
    {                                                                          \
        .offset = AMD_SPAD + 4 * AMD_SPADS * (side), .size = 4 * AMD_SPADS,    \
        .far = AMD_SPAD + 4 * AMD_SPADS * (side),                              \
    }

static const FarsideFarRange far_of_primary[] = {
    FAR_SPADS(1),
    FAR(AMD_BLOCK, AMD_BAR23LMT, false),
    FAR(AMD_BAR23LMT, AMD_BAR45XLAT + 8, true),
    FAR(AMD_BAR45XLAT + 8, AMD_BLOCK + AMD_BLOCK_SIZE, false),
};
static const FarsideFarRange far_of_secondary[] = {
    FAR_SPADS(0),
    FAR(AMD_BLOCK, AMD_BAR23LMT, false),
    FAR(AMD_BAR23LMT, AMD_BAR45XLAT + 8, true),
    FAR(AMD_BAR45XLAT + 8, AMD_BLOCK + AMD_BLOCK_SIZE, false),
};

static const FarsideSharedRange shared_by_primary[] = {
    {AMD_SPAD, 4 * AMD_SPADS},
    {AMD_BLOCK, AMD_BLOCK_SIZE},
};
static const FarsideSharedRange shared_by_secondary[] = {
    {AMD_SPAD + 4 * AMD_SPADS, 4 * AMD_SPADS},
    {AMD_BLOCK, AMD_BLOCK_SIZE},
};

#define LAYOUT(side)                                                           \
    {                                                                          \
        .registers = {of_both, of_##side}, .far = far_of_##side,               \
        .far_count = ARRAY_SIZE(far_of_##side), .shared = shared_by_##side,    \
        .shared_count = ARRAY_SIZE(shared_by_##side), .written = amd_written,  \
    }

static const FarsideBankLayout layouts[] = {LAYOUT(primary), LAYOUT(secondary)};

/* The memory to which the windows lead is no longer what it was. */
static void amd_peer_reset(FarsideChip *chip, unsigned peer)
{
    Amd *s = of(chip);
    unsigned i;

    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        farside_bank_set(s->side.bank, AMD_BAR23LMT + 8 * i, 0);
        farside_bank_set(s->side.bank, AMD_BAR23XLAT + 8 * i, 0);
    }
    set_windows(s);
}

/* Life */

static void amd_reset(FarsideChip *chip)
{
    Amd *s = of(chip);

    farside_side_reset(&s->side);
    s->event_count = 0;
    set_windows(s);
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
    Amd *s = farside_side_new(sizeof(*s), &layouts[config->partition], config,
                              pci, parts);

    s->windows = parts->windows;
    amd_reset(&s->side.chip);
    return &s->side.chip;
}

static const FarsideChipClass amd_class = {
    FARSIDE_SIDE_CLASS,
    .type = "farside-amd",
    .description = "PCIe non-transparent bridge (AMD)",
    .number = FARSIDE_WIRE_CHIP_AMD,
    .describe = amd_describe,
    .new = amd_new,
    .reset = amd_reset,
    .peer_reset = amd_peer_reset,
    .link_event = amd_link_event,
    .ring = amd_ring,
    .serve_write = farside_side_serve_write,
};

void farside_amd_register_types(void)
{
    farside_ntb_register(&amd_class);
}

type_init(farside_amd_register_types)
