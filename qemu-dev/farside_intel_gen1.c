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
#include "qemu/units.h"
#include "hw/pci/pci.h"
#include "farside_intel.h"
#include "farside_ntb.h"
#include "farside_side.h"
#include "intel_gen1_regs.h"

typedef struct Model {
    FarsideChipClass class;
    const FarsideBankLayout *layout;
    uint16_t device_id;
    uint8_t ppd;
    unsigned windows;
} Model;

typedef struct Gen1 {
    FarsideSide side;
    const Model *model;
    uint64_t bar_size[FARSIDE_TWIN_WINDOWS];
} Gen1;

static Gen1 *of(FarsideChip *chip)
{
    return container_of(chip, Gen1, side.chip);
}

static uint64_t get(const Gen1 *s, unsigned offset)
{
    return farside_bank_get(s->side.bank, offset);
}

static void set(Gen1 *s, unsigned offset, uint64_t value)
{
    farside_bank_set(s->side.bank, offset, value);
}

/* Doorbells */

static void interrupt(Gen1 *s, uint16_t bits)
{
    unsigned vector;

    bits &= get(s, GEN1_PDOORBELL) & ~get(s, GEN1_PDBMSK);
    for (vector = 0; vector < GEN1_VECTORS; vector++) {
        if (bits >> (vector * GEN1_VECTOR_BITS) &
            ((1u << GEN1_VECTOR_BITS) - 1)) {
            farside_interrupts_raise(s->side.interrupts, vector);
        }
    }
}

static void add_status(Gen1 *s, uint16_t bits)
{
    set(s, GEN1_PDOORBELL, get(s, GEN1_PDOORBELL) | bits);
    interrupt(s, bits);
}

/* By the other side's B2BDOORBELL */
static void gen1_ring(FarsideChip *chip, unsigned peer, uint64_t bits)
{
    Gen1 *s = of(chip);

    if (farside_twin_is_up(s->side.twin)) {
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

/* Offsets in configuration space */

static unsigned primary_log2_at(unsigned i)
{
    return i < FARSIDE_NTB_WINDOWS ? GEN1_CFG_PBARSZ + i : GEN1_CFG_PBAR5SZ;
}

static unsigned secondary_log2_at(unsigned i)
{
    return i < FARSIDE_NTB_WINDOWS ? GEN1_CFG_SBARSZ + i : GEN1_CFG_SBAR5SZ;
}

/* The size of a secondary BAR, whose register has the logarithm */
static uint64_t secondary_size(const Gen1 *s, unsigned i)
{
    uint8_t log2 = s->side.pci->config[secondary_log2_at(i)];

    return log2 >= GEN1_SIZE_MIN && log2 <= GEN1_SIZE_MAX ? 1ull << log2 : 0;
}

/* This side has something else on the bus now. */
static void secondary_changed(Gen1 *s, unsigned i)
{
    uint64_t base = get(s, GEN1_OF_WINDOW(GEN1_SBARBASE, i));
    uint64_t target = get(s, GEN1_OF_WINDOW(GEN1_SBARXLAT, i));

    target &= ~(s->bar_size[i] - 1);
    set(s, GEN1_OF_WINDOW(GEN1_SBARXLAT, i), target);
    farside_twin_set_base(s->side.twin, 1 + i, base);
    farside_twin_set_window(s->side.twin, i, target,
                            open_size(base, secondary_size(s, i),
                                      get(s, GEN1_OF_WINDOW(GEN1_SBARLMT, i))));
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

/* The ranges in their order; none wraps. Returns their number. */
static unsigned far_ranges(const Gen1 *s,
                       BusRange ret_ranges[FARSIDE_TWIN_BASES])
{
    unsigned i, count = 1 + s->model->windows;

    for (i = 0; i < count; i++) {
        BusRange *r = &ret_ranges[i];

        *r = (BusRange) {
            .base = farside_twin_far_base(s->side.twin, i),
            .size = GEN1_REGISTERS,
            .is_registers = i == 0,
        };
        if (i) {
            farside_twin_far_window(s->side.twin, i - 1, &r->target, &r->size);
        }
        if (r->base + r->size < r->base) {
            r->size = -r->base;
        }
    }
    sort(ret_ranges, count);
    return count;
}

/* BARs 4 and 5 are the halves of the second window if BAR 4 is split. */
static void find_bar(const Gen1 *s, unsigned i, FarsideWindow *ret_begin,
                     uint64_t *ret_address)
{
    bool is_upper = i == FARSIDE_NTB_WINDOWS;

    *ret_begin = (FarsideWindow) {
        .window = i - is_upper,
        .offset = is_upper ? s->bar_size[i] : 0,
    };
    *ret_address = pci_get_bar_addr(
        s->side.pci, FARSIDE_NTB_WINDOW_BAR(i - is_upper) + is_upper);
}

/* The windows of a primary BAR. Of ranges in one place the first one counts. */
static unsigned lay_bar(const Gen1 *s, unsigned bar, const BusRange *ranges,
                        unsigned range_count, FarsideWindow *list)
{
    uint64_t begin = get(s, GEN1_OF_WINDOW(GEN1_PBARXLAT, bar)), end, at;
    uint64_t address;
    unsigned i, count = 0;
    FarsideWindow first;

    find_bar(s, bar, &first, &address);
    end = begin + open_size(address, s->bar_size[bar],
                            get(s, GEN1_OF_WINDOW(GEN1_PBARLMT, bar)));
    end = end < begin ? UINT64_MAX : end;
    for (at = begin, i = 0; i < range_count; i++) {
        const BusRange *r = &ranges[i];
        uint64_t from = MAX(at, r->base), to = MIN(end, r->base + r->size);

        if (r->size && from < to) {
            list[count++] = (FarsideWindow) {
                .window = first.window,
                .offset = first.offset + (from - begin),
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
    const Gen1 *s = of(chip);
    unsigned i, count = 0, range_count = far_ranges(s, ranges);

    for (i = 0; i < s->model->windows; i++) {
        count += lay_bar(s, i, ranges, range_count, list + count);
    }
    return count;
}

static void gen1_config_changed(FarsideChip *chip)
{
    unsigned i;

    for (i = 0; i < of(chip)->model->windows; i++) {
        secondary_changed(of(chip), i);
    }
}

/* The link */

static void show_link(Gen1 *s)
{
    pci_set_word(s->side.pci->config + GEN1_CFG_LINK_STATUS,
                 farside_twin_is_up(s->side.twin) ? GEN1_LINK_UP : 0);
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
    Gen1 *s = of(chip);

    switch (r->kind) {
    case PRIMARY:
        farside_twin_lay_again(s->side.twin);
        break;
    case SECONDARY:
        secondary_changed(s, (r->size == 4) + index);
        break;
    case REGISTERS:
        farside_twin_set_base(s->side.twin, 0, get(s, GEN1_SBAR0BASE));
        break;
    case MASK:
        interrupt(s, old);
        break;
    case DOORBELL:
        farside_side_ring(&s->side, bits & GEN1_DOORBELLS & ~GEN1_BIT14);
        break;
    case ENABLE:
        farside_twin_set_enabled(s->side.twin, !(get(s, GEN1_NTBCNTL) &
                                            GEN1_CNTL_DISABLE));
        break;
    }
}

#define OF_WINDOWS(at, bytes, number, bits, what)                              \
    {                                                                          \
        .offset = at, .size = bytes, .count = number, .mask = bits,            \
        .kind = what                                                           \
    }
#define PAIR(at, bits, what) OF_WINDOWS(at, 8, 2, bits, what)
#define FIRST(at, bits, what) OF_WINDOWS(at, 8, 1, bits, what)
#define HALVES(at, bits, what)                                                 \
    OF_WINDOWS(GEN1_OF_WINDOW(at, 1), 4, 2, (bits) & UINT32_MAX, what)

static const FarsideRegister of_windows[] = {
    PAIR(GEN1_PBARLMT, UINT64_MAX, PRIMARY),
    PAIR(GEN1_PBARXLAT, GEN1_PAGE_MASK, PRIMARY),
    PAIR(GEN1_SBARLMT, UINT64_MAX, SECONDARY),
    PAIR(GEN1_SBARXLAT, GEN1_PAGE_MASK, SECONDARY),
    PAIR(GEN1_SBARBASE, GEN1_PAGE_MASK, SECONDARY),
    {},
};
static const FarsideRegister of_split_windows[] = {
    FIRST(GEN1_PBARLMT, UINT64_MAX, PRIMARY),
    HALVES(GEN1_PBARLMT, UINT64_MAX, PRIMARY),
    FIRST(GEN1_PBARXLAT, GEN1_PAGE_MASK, PRIMARY),
    HALVES(GEN1_PBARXLAT, GEN1_PAGE_MASK, PRIMARY),
    FIRST(GEN1_SBARLMT, UINT64_MAX, SECONDARY),
    HALVES(GEN1_SBARLMT, UINT64_MAX, SECONDARY),
    FIRST(GEN1_SBARXLAT, GEN1_PAGE_MASK, SECONDARY),
    HALVES(GEN1_SBARXLAT, GEN1_PAGE_MASK, SECONDARY),
    FIRST(GEN1_SBARBASE, GEN1_PAGE_MASK, SECONDARY),
    HALVES(GEN1_SBARBASE, GEN1_PAGE_MASK, SECONDARY),
    {},
};
static const FarsideRegister of_all[] = {
    {
        .offset = GEN1_SBAR0BASE,
        .size = 8,
        .mask = GEN1_PAGE_MASK,
        .kind = REGISTERS,
    },
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

#define LAYOUT(windows)                                                        \
    {                                                                          \
        .registers = {windows, of_all}, .far = far,                            \
        .far_count = ARRAY_SIZE(far), .shared = shared,                        \
        .shared_count = ARRAY_SIZE(shared), .written = gen1_written,           \
        .reaches = farside_side_reaches,                                       \
    }

static const FarsideBankLayout whole_layout = LAYOUT(of_windows);
static const FarsideBankLayout split_layout = LAYOUT(of_split_windows);

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
    Gen1 *s = of(chip);
    uint8_t *config = s->side.pci->config;
    unsigned i;

    farside_side_reset(&s->side);
    config[GEN1_CFG_PPD] = s->model->ppd | (s->side.config->partition
                                                ? GEN1_PPD_DSD
                                                : GEN1_PPD_USD);
    for (i = 0; i < s->model->windows; i++) {
        config[primary_log2_at(i)] = ctz64(s->bar_size[i]);
        config[secondary_log2_at(i)] = config[primary_log2_at(i)];
    }
    show_link(s);
}

static const Model *model_of(PCIDevice *pci)
{
    return container_of(farside_ntb_chip(pci), Model, class);
}

static bool gen1_check(PCIDevice *pci, Error **errp)
{
    if (model_of(pci)->ppd && FARSIDE_NTB(pci)->config.bar_size[1] > 2 * GiB) {
        error_setg(errp, "property 'bar4-size' must be at most 2 GiB for this "
                         "chip: BAR 4 and BAR 5 have half of it each");
        return false;
    }
    return true;
}

static void gen1_describe(PCIDevice *pci, FarsideShape *ret_shape)
{
    const Model *model = model_of(pci);

    *ret_shape = (FarsideShape) {
        .vendor_id = GEN1_VENDOR_ID,
        .device_id = model->device_id,
        .express = GEN1_PCIE_CAP,
        .registers_size = GEN1_BAR_SIZE,
        .msix_table = GEN1_MSIX_TABLE,
        .msix_pba = GEN1_MSIX_PBA,
        .vectors = GEN1_VECTORS,
        .is_split = model->ppd,
    };
}

static FarsideChip *gen1_new(const FarsideConfig *config, PCIDevice *pci,
                             const FarsideParts *parts)
{
    const Model *model = model_of(pci);
    Gen1 *s = farside_side_new(sizeof(*s), model->layout, config, pci, parts);
    unsigned i;

    s->model = model;
    memcpy(s->bar_size, config->bar_size, sizeof(config->bar_size));
    if (model->ppd) {
        s->bar_size[1] /= 2;
        s->bar_size[2] = s->bar_size[1];
    }
    farside_side_add_twin(&s->side, true, parts, link_changed);
    farside_twin_set_lay(s->side.twin, gen1_lay, s->bar_size, model->windows);
    for (i = 0; i < model->windows; i++) {
        pci->wmask[secondary_log2_at(i)] = UINT8_MAX;
    }
    gen1_reset(&s->side.chip);
    return &s->side.chip;
}

#define CLASS(name, processor, number_in_hello)                                \
    {                                                                          \
        FARSIDE_SIDE_CLASS_OF_TWIN, .type = name,                              \
        .description = "PCIe non-transparent bridge (Intel, " processor ")",   \
        .number = FARSIDE_WIRE_CHIP_INTEL, .generation = number_in_hello,      \
        .check = gen1_check, .describe = gen1_describe, .new = gen1_new,       \
        .reset = gen1_reset, .config_changed = gen1_config_changed,            \
        .ring = gen1_ring, .serve_write = gen1_serve_write,                    \
    }

static const Model models[] = {
    {
        .class = CLASS("farside-intel-gen1", "Sandy Bridge", 1),
        .layout = &whole_layout,
        .device_id = GEN1_DEVICE_ID,
        .windows = 2,
    },
    {
        .class = CLASS("farside-intel-gen1-split", "Haswell", 11),
        .layout = &split_layout,
        .device_id = GEN1_DEVICE_ID_SPLIT,
        .ppd = GEN1_PPD_SPLIT,
        .windows = 3,
    },
};

void farside_intel_gen1_register_types(void)
{
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(models); i++) {
        farside_ntb_register(&models[i].class);
    }
}

type_init(farside_intel_gen1_register_types)
