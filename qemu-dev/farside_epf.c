/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The two devices are the SoC, which executes the commands of both hosts. A
 * host says by a command where the window in the other side's BAR leads. The
 * state of the link is only shown; windows, doorbells and scratchpads do not
 * depend on it.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/module.h"
#include "epf_regs.h"
#include "farside_epf.h"
#include "farside_ntb.h"
#include "farside_side.h"

/* The only window, in BAR 4 */
#define WINDOW 1

#define PAGE_MASK_4K 0xfffull

typedef struct Epf {
    FarsideSide side;
    unsigned vectors; /* that the host has configured */
} Epf;

static Epf *of(FarsideChip *chip)
{
    return container_of(chip, Epf, side.chip);
}

static uint64_t get(const Epf *s, unsigned offset)
{
    return farside_bank_get(s->side.bank, offset);
}

/* Interrupts: vector 0 is the link. */

static void epf_ring(FarsideChip *chip, unsigned peer, uint64_t bits)
{
    Epf *s = of(chip);
    unsigned vector;

    for (; bits; bits &= bits - 1) {
        vector = ctz64(bits);
        if (vector < s->vectors) {
            farside_interrupts_raise(s->side.interrupts, vector);
        }
    }
}

static void link_changed(FarsideChip *chip)
{
    Epf *s = of(chip);

    farside_bank_set(s->side.bank, EPF_LINK_STATUS,
                     farside_twin_is_up(s->side.twin));
    epf_ring(chip, 0, 1);
}

/* Commands. They return false if the SoC refuses them. */

static bool configure_doorbell(Epf *s, uint32_t argument)
{
    unsigned count = argument & EPF_DOORBELL_COUNT;

    if (!(argument & EPF_DOORBELL_MSIX) || !count || count > EPF_VECTORS) {
        return false;
    }
    s->vectors = count;
    return true;
}

static bool configure_window(Epf *s, uint32_t index)
{
    uint64_t target = get(s, EPF_ADDR), size = get(s, EPF_SIZE);

    if (index != 0 || size > s->side.config->bar_size[WINDOW] ||
        (target & PAGE_MASK_4K)) {
        return false;
    }
    farside_twin_set_window(s->side.twin, WINDOW, target, size);
    return true;
}

static bool execute(Epf *s, uint32_t command, uint32_t argument)
{
    switch (command) {
    case EPF_CONFIGURE_DOORBELL:
        return configure_doorbell(s, argument);
    case EPF_TEARDOWN_DOORBELL:
        s->vectors = 0;
        return true;
    case EPF_CONFIGURE_MW:
        return configure_window(s, argument);
    case EPF_TEARDOWN_MW:
        if (argument == 0) {
            farside_twin_set_window(s->side.twin, WINDOW, 0, 0);
        }
        return argument == 0;
    case EPF_LINK_UP:
    case EPF_LINK_DOWN:
        farside_twin_set_enabled(s->side.twin, command == EPF_LINK_UP);
        return true;
    default:
        return false;
    }
}

/* Registers */

typedef enum {
    PLAIN,
    COMMAND,
    DOORBELL,
} Kind;

static void epf_written(FarsideChip *chip, const FarsideRegister *r,
                        unsigned index, uint64_t bits, uint64_t old)
{
    Epf *s = of(chip);
    bool ok;

    switch (r->kind) {
    case COMMAND:
        ok = execute(s, bits, get(s, EPF_ARGUMENT));
        farside_bank_set(s->side.bank, EPF_STATUS,
                         ok ? EPF_STATUS_OK : EPF_STATUS_ERROR);
        break;
    case DOORBELL:
        if (bits == EPF_DOORBELL_DATA) {
            farside_side_ring(&s->side, 1ull << index);
        }
        break;
    }
}

#define RW(at, bytes)                                                          \
    {                                                                          \
        .offset = at, .size = bytes, .mask = MAKE_64BIT_MASK(0, 8 * (bytes)),  \
    }
#define RO(at, bytes, value)                                                   \
    {                                                                          \
        .offset = at, .size = bytes, .reset = value,                           \
    }

static const FarsideRegister registers[] = {
    {
        .offset = EPF_COMMAND,
        .size = 4,
        .access = FARSIDE_REGISTER_WO,
        .kind = COMMAND,
        .mask = UINT32_MAX,
    },
    RW(EPF_ARGUMENT, 4),
    RW(EPF_STATUS, 2),
    RO(EPF_LINK_STATUS, 2, 0),
    RO(EPF_TOPOLOGY, 4, 0),
    RW(EPF_ADDR, 8),
    RW(EPF_SIZE, 8),
    RO(EPF_MW_COUNT, 4, 1),
    RO(EPF_MW1_OFFSET, 4, 0),
    RO(EPF_SPAD_OFFSET, 4, EPF_SPAD),
    RO(EPF_SPAD_COUNT, 4, EPF_SPADS),
    RO(EPF_DB_ENTRY_SIZE, 4, 4),
    {
        .offset = EPF_DB_DATA,
        .size = 4,
        .count = EPF_VECTORS,
        .reset = EPF_DOORBELL_DATA,
    },
    {.offset = EPF_DB_OFFSET, .size = 4, .count = EPF_VECTORS},
    {
        .offset = EPF_SPAD,
        .size = 4,
        .count = EPF_SPADS,
        .mask = UINT32_MAX,
    },
    {
        .offset = EPF_BAR_SIZE,
        .size = 4,
        .count = EPF_VECTORS,
        .access = FARSIDE_REGISTER_WO,
        .kind = DOORBELL,
        .mask = UINT32_MAX,
    },
    {},
};

/* The peer's scratchpads follow the own ones. */
static const FarsideFarRange far[] = {
    {EPF_SPAD + 4 * EPF_SPADS, 4 * EPF_SPADS, EPF_SPAD, false},
};
static const FarsideSharedRange shared[] = {
    {EPF_SPAD, 4 * EPF_SPADS},
};

static const FarsideBankLayout layout = {
    .registers = {registers},
    .far = far,
    .far_count = ARRAY_SIZE(far),
    .shared = shared,
    .shared_count = ARRAY_SIZE(shared),
    .written = epf_written,
};

/* Life */

static void epf_reset(FarsideChip *chip)
{
    farside_side_reset(&of(chip)->side);
    of(chip)->vectors = 0;
}

static void epf_describe(PCIDevice *pci, FarsideShape *ret_shape)
{
    *ret_shape = (FarsideShape) {
        .vendor_id = EPF_VENDOR_ID,
        .device_id = EPF_DEVICE_ID,
        .class_id = PCI_CLASS_MEMORY_RAM,
        .registers_size = EPF_BAR_SIZE,
        .doorbells_size = EPF_DOORBELLS_BAR,
        .msix_table = EPF_MSIX_TABLE,
        .msix_pba = EPF_MSIX_PBA,
        .vectors = EPF_VECTORS,
    };
}

static FarsideChip *epf_new(const FarsideConfig *config, PCIDevice *pci,
                            const FarsideParts *parts)
{
    Epf *s = farside_side_new(sizeof(*s), &layout, config, pci, parts);

    farside_side_add_twin(&s->side, false, parts, link_changed);
    epf_reset(&s->side.chip);
    return &s->side.chip;
}

static const FarsideChipClass epf_class = {
    FARSIDE_SIDE_CLASS_OF_TWIN,
    .type = "farside-epf",
    .description = "PCIe non-transparent bridge (endpoint function)",
    .number = FARSIDE_WIRE_CHIP_EPF,
    .describe = epf_describe,
    .new = epf_new,
    .reset = epf_reset,
    .ring = epf_ring,
    .serve_write = farside_side_serve_write,
};

void farside_epf_register_types(void)
{
    farside_ntb_register(&epf_class);
}

type_init(farside_epf_register_types)
