/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The NTB of Sandy Bridge, back to back. Between the two devices lies a bus of
 * its own: a side's primary BARs lead there (PBARXLAT), and there lie the other
 * side's secondary BARs (SBARBASE), one with its registers and two that lead to
 * its memory. All registers of BAR 0 belong to their own side; the other side
 * has copies of what it needs to translate (farside_twin.h).
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/module.h"
#include "hw/pci/pci.h"
#include "farside_intel.h"
#include "farside_ntb.h"
#include "farside_side.h"
#include "intel_gen1_regs.h"

static FarsideSide *of(FarsideChip *chip)
{
    return container_of(chip, FarsideSide, chip);
}

static uint64_t get(const FarsideSide *s, unsigned offset)
{
    return farside_bank_get(s->bank, offset);
}

static void set(FarsideSide *s, unsigned offset, uint64_t value)
{
    farside_bank_set(s->bank, offset, value);
}

/* Doorbells */

static void interrupt(FarsideSide *s, uint16_t bits)
{
    unsigned vector;

    bits &= get(s, GEN1_PDOORBELL) & ~get(s, GEN1_PDBMSK);
    for (vector = 0; vector < GEN1_VECTORS; vector++) {
        if (bits >> (vector * GEN1_VECTOR_BITS) &
            ((1u << GEN1_VECTOR_BITS) - 1)) {
            farside_interrupts_raise(s->interrupts, vector);
        }
    }
}

static void add_status(FarsideSide *s, uint16_t bits)
{
    set(s, GEN1_PDOORBELL, get(s, GEN1_PDOORBELL) | bits);
    interrupt(s, bits);
}

/* By the other side's B2BDOORBELL */
static void gen1_ring(FarsideChip *chip, unsigned peer, uint64_t bits)
{
    FarsideSide *s = of(chip);

    if (farside_twin_is_up(s->twin)) {
        add_status(s, bits & GEN1_DOORBELLS & ~GEN1_BIT14);
    }
}

/* The bus between */

/*
 * The bytes that are open of a BAR at @base of @size bytes. A limit outside of
 * the BAR counts as none.
 */
static uint64_t open_size(uint64_t base, uint64_t size, uint64_t limit)
{
    return limit && limit >= base && limit - base <= size ? limit - base : size;
}

/* The size of a secondary BAR, whose register has the logarithm */
static uint64_t secondary_size(const FarsideSide *s, unsigned i)
{
    uint8_t log2 = s->pci->config[GEN1_CFG_SBARSZ + i];

    return log2 >= GEN1_SIZE_MIN && log2 <= GEN1_SIZE_MAX ? 1ull << log2 : 0;
}

/* This side has something else on the bus now. */
static void secondary_changed(FarsideSide *s, unsigned i)
{
    uint64_t base = get(s, GEN1_SBARBASE + i * GEN1_STEP);
    uint64_t target = get(s, GEN1_SBARXLAT + i * GEN1_STEP);

    target &= ~(s->config->bar_size[i] - 1);
    set(s, GEN1_SBARXLAT + i * GEN1_STEP, target);
    farside_twin_set_base(s->twin, 1 + i, base);
    farside_twin_set_window(s->twin, i, target,
                            open_size(base, secondary_size(s, i),
                                      get(s, GEN1_SBARLMT + i * GEN1_STEP)));
}

/* Of the bus between, as the other side says */
typedef struct BusRange {
    uint64_t base;
    uint64_t size;
    uint64_t target;
    bool is_registers;
} BusRange;

static void sort(BusRange *ranges, unsigned count)
{
    unsigned i, j;
    BusRange range;

    for (i = 1; i < count; i++) {
        range = ranges[i];
        for (j = i; j && ranges[j - 1].base > range.base; j--) {
            ranges[j] = ranges[j - 1];
        }
        ranges[j] = range;
    }
}

/* The ranges in their order; none wraps. */
static void far_ranges(const FarsideSide *s,
                       BusRange ret_ranges[FARSIDE_TWIN_BASES])
{
    unsigned i;

    for (i = 0; i < FARSIDE_TWIN_BASES; i++) {
        BusRange *r = &ret_ranges[i];

        *r = (BusRange) {
            .base = farside_twin_far_base(s->twin, i),
            .size = GEN1_REGISTERS,
            .is_registers = i == 0,
        };
        if (i) {
            farside_twin_far_window(s->twin, i - 1, &r->target, &r->size);
        }
        if (r->base + r->size < r->base) {
            r->size = -r->base;
        }
    }
    sort(ret_ranges, FARSIDE_TWIN_BASES);
}

/* The windows of a primary BAR. Of ranges in one place the first one counts. */
static unsigned lay_bar(const FarsideSide *s, unsigned window,
                        const BusRange *ranges, FarsideWindow *list)
{
    uint64_t begin = get(s, GEN1_PBARXLAT + window * GEN1_STEP), end, at;
    uint64_t address = pci_get_bar_addr(s->pci, FARSIDE_NTB_WINDOW_BAR(window));
    unsigned i, count = 0;

    end = begin + open_size(address, s->config->bar_size[window],
                            get(s, GEN1_PBARLMT + window * GEN1_STEP));
    end = end < begin ? UINT64_MAX : end;
    for (at = begin, i = 0; i < FARSIDE_TWIN_BASES; i++) {
        const BusRange *r = &ranges[i];
        uint64_t from = MAX(at, r->base), to = MIN(end, r->base + r->size);

        if (r->size && from < to) {
            list[count++] = (FarsideWindow) {
                .window = window,
                .offset = from - begin,
                .size = to - from,
                .target = r->target + (from - r->base),
                .is_registers = r->is_registers,
            };
            at = QEMU_ALIGN_UP(to, GEN1_PAGE);
        }
    }
    return count;
}

static unsigned gen1_lay(FarsideChip *chip, FarsideWindow *list)
{
    BusRange ranges[FARSIDE_TWIN_BASES];
    unsigned i, count = 0;

    far_ranges(of(chip), ranges);
    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        count += lay_bar(of(chip), i, ranges, list + count);
    }
    return count;
}

static void gen1_config_changed(FarsideChip *chip)
{
    unsigned i;

    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        secondary_changed(of(chip), i);
    }
}

/* The link */

static void show_link(FarsideSide *s)
{
    pci_set_word(s->pci->config + GEN1_CFG_LINK_STATUS,
                 farside_twin_is_up(s->twin) ? GEN1_LINK_UP : 0);
}

/* The driver reads the status at the interrupt, so the status changes first. */
static void link_changed(FarsideChip *chip)
{
    show_link(of(chip));
    add_status(of(chip), GEN1_LINK_BIT);
}

/* Registers */

typedef enum {
    PLAIN,
    PRIMARY,
    SECONDARY,
    REGISTERS,
    MASK,
    DOORBELL,
    ENABLE,
} Kind;

static void gen1_written(FarsideChip *chip, const FarsideRegister *r,
                         unsigned index, uint64_t bits, uint64_t old)
{
    FarsideSide *s = of(chip);

    switch (r->kind) {
    case PRIMARY:
        farside_twin_lay_again(s->twin);
        break;
    case SECONDARY:
        secondary_changed(s, index);
        break;
    case REGISTERS:
        farside_twin_set_base(s->twin, 0, get(s, GEN1_SBAR0BASE));
        break;
    case MASK:
        interrupt(s, old);
        break;
    case DOORBELL:
        farside_side_ring(s, bits & GEN1_DOORBELLS & ~GEN1_BIT14);
        break;
    case ENABLE:
        farside_twin_set_enabled(s->twin, !(get(s, GEN1_NTBCNTL) &
                                            GEN1_CNTL_DISABLE));
        break;
    }
}

#define PAIR(at, bits, what)                                                   \
    {                                                                          \
        .offset = at, .size = 8, .count = FARSIDE_NTB_WINDOWS, .mask = bits,   \
        .kind = what                                                           \
    }

static const FarsideRegister registers[] = {
    PAIR(GEN1_PBARLMT, UINT64_MAX, PRIMARY),
    PAIR(GEN1_PBARXLAT, GEN1_PAGE_MASK, PRIMARY),
    PAIR(GEN1_SBARLMT, UINT64_MAX, SECONDARY),
    PAIR(GEN1_SBARXLAT, GEN1_PAGE_MASK, SECONDARY),
    {
        .offset = GEN1_SBAR0BASE,
        .size = 8,
        .mask = GEN1_PAGE_MASK,
        .kind = REGISTERS,
    },
    PAIR(GEN1_SBARBASE, GEN1_PAGE_MASK, SECONDARY),
    {
        .offset = GEN1_NTBCNTL,
        .size = 4,
        .mask = GEN1_CNTL_MASK,
        .kind = ENABLE,
        .reset = GEN1_CNTL_RESET,
    },
    {
        .offset = GEN1_PDOORBELL,
        .size = 2,
        .access = FARSIDE_REGISTER_W1C,
        .mask = UINT16_MAX,
    },
    {
        .offset = GEN1_PDBMSK,
        .size = 2,
        .mask = UINT16_MAX,
        .kind = MASK,
        .reset = UINT16_MAX,
    },
    {
        .offset = GEN1_SPAD,
        .size = 4,
        .count = GEN1_SPADS,
        .mask = UINT32_MAX,
    },
    {
        .offset = GEN1_B2BDOORBELL,
        .size = 2,
        .access = FARSIDE_REGISTER_WO,
        .mask = UINT16_MAX,
        .kind = DOORBELL,
    },
    {
        .offset = GEN1_B2BXLAT,
        .size = 4,
        .count = 2,
        .mask = UINT32_MAX,
    },
    {
        .offset = GEN1_SPCICMD,
        .size = 2,
        .mask = PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER,
    },
    {},
};

static const FarsideFarRange far[] = {
    {GEN1_B2BSPAD, 4 * GEN1_SPADS, GEN1_SPAD, false},
};
static const FarsideSharedRange shared[] = {
    {GEN1_SPAD, 4 * GEN1_SPADS},
};

static const FarsideBankLayout layout = {
    .registers = {registers},
    .far = far,
    .far_count = ARRAY_SIZE(far),
    .shared = shared,
    .shared_count = ARRAY_SIZE(shared),
    .written = gen1_written,
    .reaches = farside_side_reaches,
};

/* The peer */

/* Seen from the other side, a 1 in PDOORBELL sets the bit. */
static bool gen1_serve_write(FarsideChip *chip, unsigned peer, uint64_t offset,
                             uint64_t value, unsigned size)
{
    if (offset == GEN1_PDOORBELL && size == 2 && farside_side_reaches(chip)) {
        add_status(of(chip), value & GEN1_DOORBELLS);
        return true;
    }
    return farside_side_serve_write(chip, peer, offset, value, size);
}

/* Life */

static void gen1_reset(FarsideChip *chip)
{
    FarsideSide *s = of(chip);
    uint8_t *config = s->pci->config;
    unsigned i;

    farside_side_reset(s);
    config[GEN1_CFG_PPD] = s->config->partition ? GEN1_PPD_DSD : GEN1_PPD_USD;
    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        config[GEN1_CFG_PBARSZ + i] = ctz64(s->config->bar_size[i]);
        config[GEN1_CFG_SBARSZ + i] = config[GEN1_CFG_PBARSZ + i];
    }
    show_link(s);
}

static void gen1_describe(PCIDevice *pci, FarsideShape *ret_shape)
{
    *ret_shape = (FarsideShape) {
        .vendor_id = GEN1_VENDOR_ID,
        .device_id = GEN1_DEVICE_ID,
        .express = GEN1_PCIE_CAP,
        .registers_size = GEN1_BAR_SIZE,
        .msix_table = GEN1_MSIX_TABLE,
        .msix_pba = GEN1_MSIX_PBA,
        .vectors = GEN1_VECTORS,
    };
}

static FarsideChip *gen1_new(const FarsideConfig *config, PCIDevice *pci,
                             const FarsideParts *parts)
{
    FarsideSide *s = farside_side_new(sizeof(*s), &layout, config, pci, parts);
    unsigned i;

    farside_side_add_twin(s, true, parts, link_changed);
    farside_twin_set_lay(s->twin, gen1_lay);
    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        pci->wmask[GEN1_CFG_SBARSZ + i] = UINT8_MAX;
    }
    gen1_reset(&s->chip);
    return &s->chip;
}

static const FarsideChipClass gen1_class = {
    FARSIDE_SIDE_CLASS_OF_TWIN,
    .type = "farside-intel-gen1",
    .description = "PCIe non-transparent bridge (Intel, Sandy Bridge)",
    .number = FARSIDE_WIRE_CHIP_INTEL,
    .generation = 1,
    .describe = gen1_describe,
    .new = gen1_new,
    .reset = gen1_reset,
    .config_changed = gen1_config_changed,
    .ring = gen1_ring,
    .serve_write = gen1_serve_write,
};

void farside_intel_gen1_register_types(void)
{
    farside_ntb_register(&gen1_class);
}

type_init(farside_intel_gen1_register_types)
