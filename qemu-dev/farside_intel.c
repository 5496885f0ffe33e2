/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All registers of BAR 0 belong to their own side, but for the other side's
 * scratchpads. A side says with its own XBASE and XLMT where the windows in the
 * other side's BARs lead (farside_twin.h).
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/module.h"
#include "hw/pci/pci.h"
#include "farside_intel.h"
#include "farside_ntb.h"
#include "farside_side.h"
#include "intel_regs.h"

typedef struct Model {
    FarsideChipClass class;
    const FarsideBankLayout *layout;
    uint16_t device_id;
    uint8_t revision;
    uint8_t express; /* offset of the PCI Express capability */
    uint8_t speed;   /* of the link, as Link Status has it */
    uint16_t intvec;
    uint16_t ppd0;       /* 0: generation 3 */
    uint16_t ppd1_dsd;   /* bit of the downstream device in PPD1 */
    bool aligns_to_bars; /* XBASE is a multiple of the BAR's size */
    bool holds_link_bit; /* in INT_STATUS while SLOTSTS tells of a change */
} Model;

typedef struct Intel {
    FarsideSide side;
    const Model *model;
} Intel;

static Intel *of(FarsideChip *chip)
{
    return container_of(chip, Intel, side.chip);
}

static uint64_t get(const Intel *s, unsigned offset)
{
    return farside_bank_get(s->side.bank, offset);
}

static void set(Intel *s, unsigned offset, uint64_t value)
{
    farside_bank_set(s->side.bank, offset, value);
}

/* Interrupts */

static void interrupt(Intel *s, uint64_t bits)
{
    bits &= get(s, INTEL_INT_STATUS) & ~get(s, INTEL_INT_DISABLE);
    for (; bits; bits &= bits - 1) {
        farside_interrupts_raise(s->side.interrupts,
                                 get(s, s->model->intvec + ctz64(bits)));
    }
}

static void add_status(Intel *s, uint64_t bits)
{
    set(s, INTEL_INT_STATUS, get(s, INTEL_INT_STATUS) | bits);
    interrupt(s, bits);
}

static void intel_ring(FarsideChip *chip, unsigned peer, uint64_t bits)
{
    Intel *s = of(chip);

    if (farside_twin_is_up(s->side.twin)) {
        add_status(s, bits & UINT32_MAX);
    }
}

/* Windows of the other side's BARs */

/*
 * The bytes of the other side's BAR that this side has opened. The limit is an
 * address in this side's own BAR. A BAR without an address is at the end of all
 * addresses, so no limit lies behind it.
 */
static uint64_t open_size(const Intel *s, unsigned i)
{
    uint64_t base = pci_get_bar_addr(s->side.pci, FARSIDE_NTB_WINDOW_BAR(i));
    uint64_t limit = get(s, INTEL_XLMT + i * INTEL_XSTEP);

    return limit > base && limit - base <= s->side.config->bar_size[i]
               ? limit - base
               : 0;
}

/* The guest has written XBASE or XLMT. */
static void window_written(Intel *s, unsigned i)
{
    unsigned xbase = INTEL_XBASE + i * INTEL_XSTEP;
    uint64_t target = get(s, xbase), size = open_size(s, i);

    if (s->model->aligns_to_bars) {
        target &= ~(s->side.config->bar_size[i] - 1);
        set(s, xbase, target);
    }
    farside_twin_set_window(s->side.twin, i, target, size);
}

/* The link */

static bool is_enabled(const Intel *s)
{
    return s->model->ppd0
               ? !(get(s, INTEL4_LINK_CTRL) & INTEL4_LINK_CTRL_DISABLE) &&
                     (get(s, s->model->ppd0) & INTEL4_PPD0_LINKTRN)
               : !(get(s, INTEL_NTBCNTL) & INTEL3_CNTL_DISABLE);
}

static void show_link(Intel *s)
{
    uint16_t status = farside_twin_is_up(s->side.twin)
                          ? INTEL_LINK_ACTIVE | INTEL_LINK_X16 | s->model->speed
                          : 0;

    if (s->model->ppd0) {
        set(s, INTEL4_LINK_STATUS, status);
    } else {
        pci_set_word(s->side.pci->config + INTEL3_CFG_LINK_STATUS, status);
    }
}

/* The driver reads the status at the interrupt, so the status changes first. */
static void link_changed(FarsideChip *chip)
{
    Intel *s = of(chip);

    show_link(s);
    if (s->model->ppd0) {
        set(s, INTEL4_SLOTSTS, INTEL4_SLOTSTS_DLLSCS);
    }
    add_status(s, INTEL_INT_LINK);
}

/* Registers */

typedef enum {
    PLAIN,
    WINDOW,
    STATUS,
    DISABLE,
    DOORBELL,
    ENABLE,
} Kind;

static void intel_written(FarsideChip *chip, const FarsideRegister *r,
                          unsigned index, uint64_t bits, uint64_t old)
{
    Intel *s = of(chip);

    switch (r->kind) {
    case WINDOW:
        window_written(s, (r->offset - INTEL_XBASE) / INTEL_XSTEP);
        break;
    case STATUS:
        if (s->model->holds_link_bit && get(s, INTEL4_SLOTSTS)) {
            set(s, r->offset, get(s, r->offset) | (old & INTEL_INT_LINK));
        }
        break;
    case DISABLE:
        interrupt(s, old);
        break;
    case DOORBELL:
        if (bits) {
            farside_side_ring(&s->side, 1ull << index);
        }
        break;
    case ENABLE:
        farside_twin_set_enabled(s->side.twin, is_enabled(s));
        break;
    }
}

#define RW(at, bytes, bits, ...)                                               \
    {                                                                          \
        .offset = at, .size = bytes, .mask = bits, __VA_ARGS__                 \
    }
#define W1C(at, bytes, bits, ...)                                              \
    {                                                                          \
        .offset = at, .size = bytes, .access = FARSIDE_REGISTER_W1C,           \
        .mask = bits, __VA_ARGS__                                              \
    }
#define XBASE(i)                                                               \
    RW(INTEL_XBASE + (i) * INTEL_XSTEP, 8, INTEL_PAGE_MASK, .kind = WINDOW)
#define XLMT(i)                                                                \
    RW(INTEL_XLMT + (i) * INTEL_XSTEP, 8, UINT64_MAX, .kind = WINDOW)

#define VECTORS(at) RW(at, 1, 0x3f, .count = INTEL_VECTORS)

static const FarsideRegister of_all[] = {
    XBASE(0),
    XLMT(0),
    XBASE(1),
    XLMT(1),
    W1C(INTEL_INT_STATUS, 8, INTEL_INT_ALL, .kind = STATUS),
    RW(INTEL_INT_DISABLE, 8, INTEL_INT_ALL, .kind = DISABLE,
       .reset = INTEL_INT_ALL),
    RW(INTEL_SPAD, 4, UINT32_MAX, .count = INTEL_SPADS),
    {
        .offset = INTEL_DOORBELL,
        .size = 4,
        .count = INTEL_DOORBELLS,
        .access = FARSIDE_REGISTER_WO,
        .kind = DOORBELL,
        .mask = 1,
    },
    {},
};

static const FarsideRegister of_gen3[] = {
    VECTORS(INTEL3_INTVEC),
    RW(INTEL_NTBCNTL, 4, INTEL3_CNTL_MASK, .kind = ENABLE,
       .reset = INTEL3_CNTL_RESET),
    RW(INTEL3_EMBAR1XBASE, 8, INTEL_PAGE_MASK),
    RW(INTEL3_EMBAR1XLMT, 8, UINT64_MAX),
    RW(INTEL3_EMBAR2XBASE, 8, INTEL_PAGE_MASK),
    RW(INTEL3_EMBAR2XLMT, 8, UINT64_MAX),
    RW(INTEL3_SPCICMD, 2, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER),
    RW(INTEL3_EMBAR0, 8, INTEL_PAGE_MASK, .count = 3),
    {},
};

static const FarsideRegister of_gen4[] = {
    VECTORS(INTEL4_INTVEC),
    RW(INTEL_NTBCNTL, 4, INTEL4_CNTL_MASK),
    RW(INTEL4_XBASEIDX, 2, 0x3f, .count = FARSIDE_NTB_WINDOWS),
    RW(INTEL4_LTR_SWSEL, 1, 1),
    RW(INTEL4_LTR_ACTIVE, 4, UINT32_MAX),
    RW(INTEL4_LTR_IDLE, 4, UINT32_MAX),
    RW(INTEL4_LINK_CTRL, 2, INTEL4_LINK_CTRL_DISABLE, .kind = ENABLE,
       .reset = INTEL4_LINK_CTRL_DISABLE),
    RW(INTEL4_LINK_STATUS, 2, 0),
    W1C(INTEL4_SLOTSTS, 2, INTEL4_SLOTSTS_DLLSCS),
    RW(INTEL4_PPD1, 4, 0, .reset = INTEL4_PPD1_B2B),
    {},
};
static const FarsideRegister ppd0_of_gen4[] = {
    RW(INTEL4_PPD0, 4, INTEL4_PPD0_MASK, .kind = ENABLE),
    {},
};
static const FarsideRegister ppd0_of_gen6[] = {
    RW(INTEL6_PPD0, 4, INTEL4_PPD0_MASK, .kind = ENABLE),
    {},
};

static const FarsideFarRange gen3_far[] = {
    {INTEL3_PEER_SPAD, 4 * INTEL_SPADS, INTEL_SPAD, false},
};
static const FarsideFarRange gen4_far[] = {
    {INTEL4_PEER_SPAD, 4 * INTEL_SPADS, INTEL_SPAD, false},
};
static const FarsideSharedRange shared[] = {
    {INTEL_SPAD, 4 * INTEL_SPADS},
};

#define LAYOUT(others, ...)                                                    \
    {                                                                          \
        .registers = {of_all, __VA_ARGS__}, .far = others,                     \
        .far_count = ARRAY_SIZE(others), .shared = shared,                     \
        .shared_count = ARRAY_SIZE(shared), .written = intel_written,          \
        .reaches = farside_side_reaches,                                       \
    }

static const FarsideBankLayout gen3_layout = LAYOUT(gen3_far, of_gen3);
static const FarsideBankLayout gen4_layout = LAYOUT(gen4_far, of_gen4,
                                                    ppd0_of_gen4);
static const FarsideBankLayout gen6_layout = LAYOUT(gen4_far, of_gen4,
                                                    ppd0_of_gen6);


/* Life */

static void intel_reset(FarsideChip *chip)
{
    Intel *s = of(chip);
    bool is_dsd = s->side.config->partition == 1;
    unsigned i;

    farside_side_reset(&s->side);
    for (i = 0; i < INTEL_VECTORS; i++) {
        set(s, s->model->intvec + i, (i + 1) % INTEL_VECTORS);
    }
    if (s->model->ppd0) {
        set(s, INTEL4_PPD1,
            INTEL4_PPD1_B2B | (is_dsd ? s->model->ppd1_dsd : 0));
    } else {
        s->side.pci->config[INTEL3_CFG_PPD] =
            is_dsd ? INTEL3_PPD_DSD : INTEL3_PPD_USD;
    }
    show_link(s);
}

static const Model *model_of(PCIDevice *pci)
{
    return container_of(farside_ntb_chip(pci), Model, class);
}

static void intel_describe(PCIDevice *pci, FarsideShape *ret_shape)
{
    const Model *model = model_of(pci);

    *ret_shape = (FarsideShape) {
        .vendor_id = INTEL_VENDOR_ID,
        .device_id = model->device_id,
        .revision = model->revision,
        .express = model->express,
        .registers_size = INTEL_BAR_SIZE,
        .msix_table = INTEL_MSIX_TABLE,
        .msix_pba = INTEL_MSIX_PBA,
        .vectors = INTEL_VECTORS,
    };
}

static FarsideChip *intel_new(const FarsideConfig *config, PCIDevice *pci,
                              const FarsideParts *parts)
{
    const Model *model = model_of(pci);
    Intel *s = farside_side_new(sizeof(*s), model->layout, config, pci, parts);

    s->model = model;
    farside_side_add_twin(&s->side, true, parts, link_changed);
    intel_reset(&s->side.chip);
    return &s->side.chip;
}

#define CLASS(name, processor, number_in_hello)                                \
    {                                                                          \
        FARSIDE_SIDE_CLASS_OF_TWIN, .type = name,                              \
        .description = "PCIe non-transparent bridge (Intel, " processor ")",   \
        .number = FARSIDE_WIRE_CHIP_INTEL, .generation = number_in_hello,      \
        .describe = intel_describe, .new = intel_new, .reset = intel_reset,    \
        .ring = intel_ring, .serve_write = farside_side_serve_write,           \
    }

static const Model models[] = {
    {
        .class = CLASS("farside-intel-gen3", "Skylake", 3),
        .layout = &gen3_layout,
        .device_id = INTEL_DEVICE_ID_GEN3,
        .express = 0x90,
        .speed = 3,
        .intvec = INTEL3_INTVEC,
        .aligns_to_bars = true,
    },
    {
        .class = CLASS("farside-intel-gen4", "Ice Lake", 4),
        .layout = &gen4_layout,
        .device_id = INTEL_DEVICE_ID_GEN4,
        .revision = INTEL_REVISION_ICX,
        .express = 0x40,
        .speed = 4,
        .intvec = INTEL4_INTVEC,
        .ppd0 = INTEL4_PPD0,
        .ppd1_dsd = INTEL4_PPD1_DSD,
        .aligns_to_bars = true,
        .holds_link_bit = true,
    },
    {
        .class = CLASS("farside-intel-gen4-spr", "Sapphire Rapids", 14),
        .layout = &gen4_layout,
        .device_id = INTEL_DEVICE_ID_GEN4,
        .revision = INTEL_REVISION_SPR,
        .express = 0x40,
        .speed = 5,
        .intvec = INTEL4_INTVEC,
        .ppd0 = INTEL4_PPD0,
        .ppd1_dsd = INTEL_SPR_PPD1_DSD,
    },
    {
        .class = CLASS("farside-intel-gen5", "Granite Rapids", 5),
        .layout = &gen4_layout,
        .device_id = INTEL_DEVICE_ID_GEN5,
        .express = 0x40,
        .speed = 5,
        .intvec = INTEL4_INTVEC,
        .ppd0 = INTEL4_PPD0,
        .ppd1_dsd = INTEL_SPR_PPD1_DSD,
    },
    {
        .class = CLASS("farside-intel-gen6", "Diamond Rapids", 6),
        .layout = &gen6_layout,
        .device_id = INTEL_DEVICE_ID_GEN6,
        .express = 0x40,
        .speed = 6,
        .intvec = INTEL4_INTVEC,
        .ppd0 = INTEL6_PPD0,
        .ppd1_dsd = INTEL_SPR_PPD1_DSD,
    },
};

void farside_intel_register_types(void)
{
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(models); i++) {
        farside_ntb_register(&models[i].class);
    }
}

type_init(farside_intel_register_types)
