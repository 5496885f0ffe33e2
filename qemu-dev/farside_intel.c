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
#include "farside_bank.h"
#include "farside_intel.h"
#include "farside_ntb.h"
#include "farside_twin.h"
#include "intel_regs.h"

typedef struct Model {
    FarsideChipClass class;
    const char *type;
    const char *description;
    const FarsideBankLayout *layout;
    uint16_t device_id;
    uint8_t revision;
    uint8_t number;  /* in HELLO */
    uint8_t express; /* offset of the PCI Express capability */
    uint8_t speed;   /* of the link, as Link Status has it */
    uint16_t intvec;
    uint16_t ppd0;       /* 0: generation 3 */
    uint16_t ppd1_dsd;   /* bit of the downstream device in PPD1 */
    bool aligns_to_bars; /* XBASE is a multiple of the BAR's size */
    bool holds_link_bit; /* in INT_STATUS while SLOTSTS tells of a change */
} Model;

typedef struct Intel {
    FarsideChip chip;
    const Model *model;
    const FarsideConfig *config;
    PCIDevice *pci;
    FarsidePeer *peer;
    FarsideInterrupts *interrupts;
    FarsideBank *bank;
    FarsideTwin *twin;
} Intel;

static Intel *of(FarsideChip *chip)
{
    return container_of(chip, Intel, chip);
}

static uint64_t get(const Intel *s, unsigned offset)
{
    return farside_bank_get(s->bank, offset);
}

static void set(Intel *s, unsigned offset, uint64_t value)
{
    farside_bank_set(s->bank, offset, value);
}

/* Interrupts */

static void interrupt(Intel *s, uint64_t bits)
{
    bits &= get(s, INTEL_INT_STATUS) & ~get(s, INTEL_INT_DISABLE);
    for (; bits; bits &= bits - 1) {
        farside_interrupts_raise(s->interrupts,
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

    if (farside_twin_is_up(s->twin)) {
        add_status(s, bits & UINT32_MAX);
    }
}

static void ring_peer(Intel *s, unsigned doorbell)
{
    struct farside_wire_doorbell bell = {.bits = 1ull << doorbell};

    if (farside_twin_is_up(s->twin)) {
        farside_peer_send(s->peer, FARSIDE_WIRE_DOORBELL, &bell, sizeof(bell));
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
    uint64_t base = pci_get_bar_addr(s->pci, FARSIDE_NTB_WINDOW_BAR(i));
    uint64_t limit = get(s, INTEL_XLMT + i * INTEL_XSTEP);

    return limit > base && limit - base <= s->config->bar_size[i] ? limit - base
                                                                  : 0;
}

/* The guest has written XBASE or XLMT. */
static void window_written(Intel *s, unsigned i)
{
    unsigned xbase = INTEL_XBASE + i * INTEL_XSTEP;
    uint64_t target = get(s, xbase), size = open_size(s, i);

    if (s->model->aligns_to_bars) {
        target &= ~(s->config->bar_size[i] - 1);
        set(s, xbase, target);
    }
    farside_twin_set_window(s->twin, i, target, size);
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
    uint16_t status = farside_twin_is_up(s->twin)
                          ? INTEL_LINK_ACTIVE | INTEL_LINK_X16 | s->model->speed
                          : 0;

    if (s->model->ppd0) {
        set(s, INTEL4_LINK_STATUS, status);
    } else {
        pci_set_word(s->pci->config + INTEL3_CFG_LINK_STATUS, status);
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

static void intel_link_event(FarsideChip *chip, unsigned peer)
{
    farside_twin_link_event(of(chip)->twin);
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
            ring_peer(s, index);
        }
        break;
    case ENABLE:
        farside_twin_set_enabled(s->twin, is_enabled(s));
        break;
    }
}

static bool intel_reaches(FarsideChip *chip)
{
    return farside_twin_is_up(of(chip)->twin);
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
        .reaches = intel_reaches,                                              \
    }

static const FarsideBankLayout gen3_layout = LAYOUT(gen3_far, of_gen3);
static const FarsideBankLayout gen4_layout = LAYOUT(gen4_far, of_gen4,
                                                    ppd0_of_gen4);
static const FarsideBankLayout gen6_layout = LAYOUT(gen4_far, of_gen4,
                                                    ppd0_of_gen6);

static uint64_t intel_read(FarsideChip *chip, unsigned offset, unsigned size)
{
    return farside_bank_read(of(chip)->bank, offset, size);
}

static void intel_write(FarsideChip *chip, unsigned offset, uint64_t value,
                        unsigned size)
{
    farside_bank_write(of(chip)->bank, offset, value, size);
}

/* The peer */

/* Scratchpads, but not of a link that is down: no request crosses it. */
static bool intel_serve_read(FarsideChip *chip, unsigned peer, uint64_t offset,
                             unsigned size, uint64_t *ret_value)
{
    Intel *s = of(chip);

    return farside_twin_is_up(s->twin) &&
           farside_bank_serve_read(s->bank, offset, size, ret_value);
}

static bool intel_serve_write(FarsideChip *chip, unsigned peer, uint64_t offset,
                              uint64_t value, unsigned size)
{
    Intel *s = of(chip);

    return farside_twin_serve_write(s->twin, offset, value, size) ||
           (farside_twin_is_up(s->twin) &&
            farside_bank_serve_write(s->bank, offset, value, size));
}

static void intel_introduce(FarsideChip *chip, struct farside_wire_hello *hello)
{
    hello->generation = of(chip)->model->number;
}

static const char *intel_check_peer(FarsideChip *chip, unsigned peer,
                                    const struct farside_wire_hello *hello)
{
    return hello->generation == of(chip)->model->number
               ? NULL
               : "the NTBs at both ends are of different generations";
}

static void intel_peer_reset(FarsideChip *chip, unsigned peer)
{
    farside_twin_peer_reset(of(chip)->twin);
}

/* Life */

static void intel_reset(FarsideChip *chip)
{
    Intel *s = of(chip);
    bool is_dsd = s->config->partition == 1;
    unsigned i;

    farside_interrupts_reset(s->interrupts);
    farside_bank_reset(s->bank);
    for (i = 0; i < INTEL_VECTORS; i++) {
        set(s, s->model->intvec + i, (i + 1) % INTEL_VECTORS);
    }
    if (s->model->ppd0) {
        set(s, INTEL4_PPD1,
            INTEL4_PPD1_B2B | (is_dsd ? s->model->ppd1_dsd : 0));
    } else {
        s->pci->config[INTEL3_CFG_PPD] =
            is_dsd ? INTEL3_PPD_DSD : INTEL3_PPD_USD;
    }
    farside_twin_reset(s->twin);
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
    Intel *s = g_new0(Intel, 1);

    s->chip.class = farside_ntb_chip(pci);
    s->model = model_of(pci);
    s->config = config;
    s->pci = pci;
    s->peer = parts->far[0].peer;
    s->interrupts = parts->interrupts;
    s->bank = farside_bank_new(s->model->layout, &s->chip, parts->registers);
    s->twin = farside_twin_new(config, parts, &s->chip, true, link_changed);
    intel_reset(&s->chip);
    return &s->chip;
}

static void intel_free(FarsideChip *chip)
{
    farside_twin_free(of(chip)->twin);
    farside_bank_free(of(chip)->bank);
    g_free(of(chip));
}

#define CLASS                                                                  \
    {                                                                          \
        .number = FARSIDE_WIRE_CHIP_INTEL, .hosts_max = 2,                     \
        .describe = intel_describe, .new = intel_new, .free = intel_free,      \
        .reset = intel_reset, .read = intel_read, .write = intel_write,        \
        .introduce = intel_introduce, .check_peer = intel_check_peer,          \
        .peer_reset = intel_peer_reset, .link_event = intel_link_event,        \
        .ring = intel_ring, .serve_read = intel_serve_read,                    \
        .serve_write = intel_serve_write,                                      \
    }

static const Model models[] = {
    {
        .class = CLASS,
        .type = "farside-intel-gen3",
        .description = "PCIe non-transparent bridge (Intel, Skylake)",
        .layout = &gen3_layout,
        .device_id = INTEL_DEVICE_ID_GEN3,
        .number = 3,
        .express = 0x90,
        .speed = 3,
        .intvec = INTEL3_INTVEC,
        .aligns_to_bars = true,
    },
    {
        .class = CLASS,
        .type = "farside-intel-gen4",
        .description = "PCIe non-transparent bridge (Intel, Ice Lake)",
        .layout = &gen4_layout,
        .device_id = INTEL_DEVICE_ID_GEN4,
        .revision = INTEL_REVISION_ICX,
        .number = 4,
        .express = 0x40,
        .speed = 4,
        .intvec = INTEL4_INTVEC,
        .ppd0 = INTEL4_PPD0,
        .ppd1_dsd = INTEL4_PPD1_DSD,
        .aligns_to_bars = true,
        .holds_link_bit = true,
    },
    {
        .class = CLASS,
        .type = "farside-intel-gen4-spr",
        .description = "PCIe non-transparent bridge (Intel, Sapphire Rapids)",
        .layout = &gen4_layout,
        .device_id = INTEL_DEVICE_ID_GEN4,
        .revision = INTEL_REVISION_SPR,
        .number = 14,
        .express = 0x40,
        .speed = 5,
        .intvec = INTEL4_INTVEC,
        .ppd0 = INTEL4_PPD0,
        .ppd1_dsd = INTEL_SPR_PPD1_DSD,
    },
    {
        .class = CLASS,
        .type = "farside-intel-gen5",
        .description = "PCIe non-transparent bridge (Intel, Granite Rapids)",
        .layout = &gen4_layout,
        .device_id = INTEL_DEVICE_ID_GEN5,
        .number = 5,
        .express = 0x40,
        .speed = 5,
        .intvec = INTEL4_INTVEC,
        .ppd0 = INTEL4_PPD0,
        .ppd1_dsd = INTEL_SPR_PPD1_DSD,
    },
    {
        .class = CLASS,
        .type = "farside-intel-gen6",
        .description = "PCIe non-transparent bridge (Intel, Diamond Rapids)",
        .layout = &gen6_layout,
        .device_id = INTEL_DEVICE_ID_GEN6,
        .number = 6,
        .express = 0x40,
        .speed = 6,
        .intvec = INTEL4_INTVEC,
        .ppd0 = INTEL6_PPD0,
        .ppd1_dsd = INTEL_SPR_PPD1_DSD,
    },
};

static void intel_class_init(ObjectClass *klass, FarsideClassData *data)
{
    const Model *model = data;

    FARSIDE_NTB_CLASS(klass)->chip = &model->class;
    DEVICE_CLASS(klass)->desc = model->description;
}

void farside_intel_register_types(void)
{
    static TypeInfo infos[ARRAY_SIZE(models)];
    unsigned i;

    farside_ntb_register_types();
    for (i = 0; i < ARRAY_SIZE(models); i++) {
        infos[i] = (TypeInfo) {
            .name = models[i].type,
            .parent = TYPE_FARSIDE_NTB,
            .class_init = intel_class_init,
            .class_data = (void *)&models[i],
        };
        type_register_static(&infos[i]);
    }
}

type_init(farside_intel_register_types)
