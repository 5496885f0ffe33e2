/* SPDX-License-Identifier: MIT */
/*
 * Invariant: the chip of Intel's first generation has the registers of
 * docs/reference/intel-gen1.md; a primary BAR leads to the secondary BARs and
 * the registers of the other side that lie there on the bus between, and to
 * nothing else; what the other side closes is used by nobody when its guest
 * goes on.
 */
#include <check.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>
#include "device_chip.h"
#include "intel_gen1_regs.h"
#include "trc_file.h"
#include "twin_regs.h"
#include "../suite.h"

#define TYPE       "farside-intel-gen1"
#define SPLIT      "farside-intel-gen1-split"
#define MIB        (1ull << 20)
#define SIZES      ",bar2-size=1M,bar4-size=2M"
#define PROPERTIES "completion-timeout=60000" SIZES
#define IDENTITY   0x3c0d8086u
#define ECAM       0xb0000000ull
#define AT(reg)    (RIG_BAR0 + (reg))
#define OF(reg, i) AT(GEN1_OF_WINDOW(reg, i))
/* The driver of each side has its secondary BARs here. */
#define BASE2      0x2000000000000000ull
#define BASE4      0x4000000000000000ull
/* If BAR 4 is split, the secondary BARs 4 and 5 are here. */
#define BASE4_32   0x20000000u
#define BASE5_32   0x40000000u
#define BAR5       (RIG_BAR4 + 0x1000000ull)

static DeviceRig *rig;   /* upstream device */
static DeviceRig *other; /* downstream device, in tests of two machines */
static RigPeer *peer;    /* the far end that the test plays itself */

static const uint64_t bases[] = {BASE2, BASE4};
static const uint64_t split_bases[] = {BASE2, BASE4_32, BASE5_32};

static const struct {
    const char *type;
    bool is_split;
    uint32_t identity;
    uint32_t sizes[2]; /* words 0xd0 and 0xd4 of configuration space */
    uint32_t writable[2];
} models[] = {
    {TYPE, false, 0x3c0d8086, {0x15141514, 0x00000001}, {0xffff0000, 0}},
    {SPLIT,
     true,
     0x2f0d8086,
     {0x14141414, 0x00141441},
     {0xffff0000, 0x00ff0000}},
};

static void setup_one(void)
{
    rig = rig_new_of(TYPE, NULL, PROPERTIES, NULL);
}

static void setup_peer(void)
{
    setup_one();
    peer = chip_meet(rig);
}

static void setup_two(void)
{
    setup_one();
    other = chip_new_other(rig, TYPE, PROPERTIES);
}

static void teardown(void)
{
    chip_stop(&rig, &other, &peer);
}

static unsigned link_status(DeviceRig *machine)
{
    rig_pci_write(machine, 0, 0x60, (uint32_t)ECAM | 1);
    return (unsigned)rig_read(
        machine, ECAM + (CHIP_DEVFN << 12) + GEN1_CFG_LINK_STATUS, 2);
}

static void wait_link(DeviceRig *machine, bool up)
{
    int64_t deadline = rig_deadline();

    while (link_status(machine) != (up ? 0x2083 : 0)) {
        ck_assert_msg(g_get_monotonic_time() < deadline, "status 0x%x",
                      link_status(machine));
        g_usleep(1000);
    }
}

/* As the driver does it: the last window leads to the other's registers. */
static void start_driver(DeviceRig *machine)
{
    rig_config_write(machine, 0xd0, 20 | 21 << 8 | 20 << 16); /* SBAR45SZ 0 */
    rig_write(machine, AT(GEN1_SBAR0BASE), 8, BASE4);
    for (unsigned i = 0; i < 2; i++) {
        rig_write(machine, OF(GEN1_SBARBASE, i), 8, bases[i]);
        rig_write(machine, OF(GEN1_SBARLMT, i), 8, bases[i]);
        rig_write(machine, OF(GEN1_PBARXLAT, i), 8, bases[i]);
    }
}

static void enable(DeviceRig *machine, bool on)
{
    rig_write(machine, AT(GEN1_NTBCNTL), 4, on ? 0x154 : 0x3);
}

static void both_up(void)
{
    start_driver(rig);
    start_driver(other);
    enable(rig, true);
    enable(other, true);
    wait_link(rig, true);
    wait_link(other, true);
}

/* The page */

/* Those of the windows of a split BAR 4 are in a section of their own. */
static GArray *read_page(bool is_split)
{
    g_auto(GStrv) lines = page_lines(g_getenv("FARSIDE_INTEL_GEN1_PAGE"));
    GArray *registers = g_array_new(FALSE, TRUE, sizeof(PageRegister));
    bool is_section = false;

    for (unsigned i = 0; lines[i]; i++) {
        is_section |= strcmp(lines[i], "## A split BAR 4") == 0;
        if (is_split ? is_section || !strstr(lines[i], " 2x8`") : !is_section) {
            page_add(registers, lines[i], false);
        }
    }
    ck_assert(is_section);
    ck_assert_uint_eq(registers->len,
                      5 * (is_split ? 3 : 2) + 2 + 2 + 32 + 2 + 2);
    return registers;
}

static void check_resets(const GArray *registers, unsigned model)
{
    for (unsigned i = 0; i < registers->len; i++) {
        const PageRegister *r = &g_array_index(registers, PageRegister, i);

        ck_assert_msg(rig_read(rig, RIG_BAR0 + r->offset, r->size) == r->reset,
                      "0x%x", r->offset);
    }
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_uint_eq(rig_config_read(rig, 0xd0 + 4 * i),
                          models[model].sizes[i]);
    }
    ck_assert_uint_eq(link_status(rig), 0);
}

/* Bits of SBARXLAT below the size of the BAR cannot be written. */
static uint64_t mask_of(const PageRegister *r, bool is_split)
{
    switch (r->offset) {
    case GEN1_SBARXLAT:
        return r->mask & ~(MIB - 1);
    case GEN1_SBARXLAT + 8:
        return r->mask & ~((is_split ? 1 : 2) * MIB - 1);
    case GEN1_SBARXLAT + 12:
        return r->mask & ~(MIB - 1);
    default:
        return r->mask;
    }
}

START_TEST(registers_are_those_of_the_page)
{
    GArray *registers = read_page(models[_i].is_split);

    rig = rig_new_of(models[_i].type, NULL, PROPERTIES, NULL);
    ck_assert_uint_eq(rig_config_read(rig, 0), models[_i].identity);
    ck_assert_uint_eq(rig_config_read(rig, 8), 0x06800000);
    ck_assert_uint_eq(rig_pci_find(rig, CHIP_DEVFN, 0x10), 0x90);
    check_resets(registers, (unsigned)_i);
    for (unsigned i = 0; i < registers->len; i++) {
        const PageRegister *r = &g_array_index(registers, PageRegister, i);

        chip_check_writes(rig, r, mask_of(r, models[_i].is_split));
    }
    chip_check_gaps(rig, registers, GEN1_BAR_SIZE, GEN1_MSIX_TABLE,
                    GEN1_VECTORS, 2000);
    for (unsigned i = 0; i < 2; i++) {
        rig_config_write(rig, 0xd0 + 4 * i, 0xffffffff);
        ck_assert_uint_eq(rig_config_read(rig, 0xd0 + 4 * i),
                          models[_i].sizes[i] | models[_i].writable[i]);
    }
    rig_reset(rig);
    check_resets(registers, (unsigned)_i);
    g_array_free(registers, TRUE);
}
END_TEST

/* Two machines */

START_TEST(link_is_up_while_both_are_enabled)
{
    DeviceRig *sides[] = {rig, other};

    ck_assert_uint_eq(rig_config_read(other, 0xd4) & 0xff, 0x11);
    for (unsigned me = 0; me < 2; me++) {
        enable(sides[me], true);
        g_usleep(20000);
        ck_assert_uint_eq(link_status(rig), 0);
        enable(sides[1 - me], true);
        for (unsigned i = 0; i < 2; i++) {
            wait_link(sides[i], true);
            ck_assert_uint_eq(rig_read(sides[i], AT(GEN1_PDOORBELL), 2),
                              0x8000);
            rig_write(sides[i], AT(GEN1_PDOORBELL), 2, 0x8000);
            ck_assert_uint_eq(rig_read(sides[i], AT(GEN1_PDOORBELL), 2), 0);
        }
        enable(sides[me], false);
        wait_link(rig, false);
        wait_link(other, false);
        enable(sides[1 - me], false);
        for (unsigned i = 0; i < 2; i++) {
            rig_write(sides[i], AT(GEN1_PDOORBELL), 2, 0x8000);
        }
    }
    both_up();
    rig_reset(other);
    wait_link(rig, false);
    enable(other, true);
    wait_link(rig, true);
}
END_TEST

START_TEST(the_last_window_leads_to_registers)
{
    DeviceRig *sides[] = {rig, other};

    both_up();
    for (unsigned me = 0; me < 2; me++) {
        DeviceRig *near = sides[me], *far = sides[1 - me];

        for (unsigned i = 0; i < GEN1_SPADS; i++) {
            uint32_t value = 0x1000 * (me + 1) + i;

            rig_write(near, RIG_BAR4 + GEN1_SPAD + 4 * i, 4, value);
            ck_assert_uint_eq(rig_read(near, RIG_BAR4 + GEN1_SPAD + 4 * i, 4),
                              value);
            ck_assert_uint_eq(rig_read(near, AT(GEN1_B2BSPAD) + 4 * i, 4),
                              value);
            ck_assert_uint_eq(rig_read(far, AT(GEN1_SPAD) + 4 * i, 4), value);
        }
        /* A 1 from the other side sets the bit, and one of the own side clears
         * it. By B2BDOORBELL bit 14 does not get there. */
        rig_write(far, AT(GEN1_PDOORBELL), 2, 0xffff);
        rig_write(near, RIG_BAR4 + GEN1_PDOORBELL, 2, 0xc081);
        rig_wait_for(far, AT(GEN1_PDOORBELL), 2, 0x4081);
        rig_write(near, AT(GEN1_B2BDOORBELL), 2, 0xc100);
        rig_wait_for(far, AT(GEN1_PDOORBELL), 2, 0x4181);
        rig_write(far, AT(GEN1_PDOORBELL), 2, 0x4081);
        ck_assert_uint_eq(rig_read(far, AT(GEN1_PDOORBELL), 2), 0x0100);
        /* Nothing else is reached, nor a part of a register. */
        rig_write(near, RIG_BAR4 + GEN1_SBARXLAT, 8, 4 * MIB);
        rig_write(near, RIG_BAR4 + GEN1_NTBCNTL, 4, 3);
        rig_write(near, RIG_BAR4 + GEN1_SPAD + 2, 4, 0);
        ck_assert_uint_eq(rig_read(near, RIG_BAR4 + GEN1_NTBCNTL, 4),
                          0xffffffff);
        ck_assert_uint_eq(rig_read(near, RIG_BAR4 + GEN1_SPAD + 2, 4),
                          0xffffffff);
        ck_assert_uint_eq(rig_read(near, RIG_BAR4 + 0x8000, 4), 0xffffffff);
        ck_assert_uint_eq(rig_read(far, AT(GEN1_SBARXLAT), 8), 0);
        ck_assert_uint_eq(rig_read(far, AT(GEN1_SPAD), 4), 0x1000 * (me + 1));
    }
}
END_TEST

/* The range [@offset, +@size) of @bar of `other` leads to @target, and no byte
 * beyond it does. */
static void check_window(uint64_t bar, uint64_t offset, uint64_t size,
                         uint64_t target)
{
    uint64_t at = bar + offset, value = 0x1122334455667788ull + offset;

    rig_write(other, at + 8, 8, value);
    rig_write(other, at + size - 8, 8, ~value);
    /* The first may be a message, which comes after a while. */
    rig_wait_for(rig, target + 8, 8, value);
    rig_wait_for(rig, target + size - 8, 8, ~value);
    ck_assert_uint_eq(rig_read(other, at + 8, 8), value);
    ck_assert_uint_eq(rig_read(other, at + size, 4), 0xffffffff);
    if (offset) {
        ck_assert_uint_eq(rig_read(other, at - 8, 8), UINT64_MAX);
    }
}

START_TEST(windows_lead_to_secondary_bars)
{
    static const uint64_t open[] = {0x10000, 0x1800, MIB / 2};

    both_up();
    rig_write(rig, OF(GEN1_SBARXLAT, 0), 8, 4 * MIB + 0x5000);
    ck_assert_uint_eq(rig_read(rig, OF(GEN1_SBARXLAT, 0), 8), 4 * MIB);
    for (unsigned i = 0; i < G_N_ELEMENTS(open); i++) {
        rig_write(rig, OF(GEN1_SBARLMT, 0), 8, BASE2 + open[i]);
        check_window(RIG_BAR2, 0, open[i], 4 * MIB);
        rig_write(rig, OF(GEN1_SBARLMT, 0), 8, BASE2);
        ck_assert_uint_eq(rig_read(other, RIG_BAR2 + 8, 4), 0xffffffff);
    }
    /* Without a limit, or with one outside, all of it is open. */
    rig_write(rig, OF(GEN1_SBARLMT, 0), 8, 0);
    rig_write(rig, 5 * MIB - 8, 8, 0x55);
    ck_assert_uint_eq(rig_read(other, RIG_BAR2 + MIB - 8, 8), 0x55);
    rig_write(rig, OF(GEN1_SBARLMT, 0), 8, BASE2 + 2 * MIB);
    ck_assert_uint_eq(rig_read(other, RIG_BAR2 + MIB - 8, 8), 0x55);
    /* A smaller secondary BAR, which lies a bit higher on the bus */
    rig_config_write(rig, 0xd0, 16 << 16);
    check_window(RIG_BAR2, 0, 0x10000, 4 * MIB);
    rig_write(rig, OF(GEN1_SBARBASE, 0), 8, BASE2 + 0x3000);
    rig_write(rig, OF(GEN1_SBARLMT, 0), 8, 0);
    check_window(RIG_BAR2, 0x3000, 0x10000, 4 * MIB);
    /* The primary side may begin in the middle, and end earlier. */
    rig_write(other, OF(GEN1_PBARXLAT, 0), 8, BASE2 + 0x5000);
    rig_write(rig, 4 * MIB + 0x2000, 8, 0x66);
    ck_assert_uint_eq(rig_read(other, RIG_BAR2, 8), 0x66);
    rig_write(other, OF(GEN1_PBARLMT, 0), 8, RIG_BAR2 + 0x1000);
    ck_assert_uint_eq(rig_read(other, RIG_BAR2, 8), 0x66);
    ck_assert_uint_eq(rig_read(other, RIG_BAR2 + 0x1000, 8), UINT64_MAX);
    /* Half of the last window for memory, as with b2b_mw_share */
    rig_config_write(rig, 0xd0, 20 << 16 | 20u << 24);
    rig_write(rig, OF(GEN1_SBARBASE, 1), 8, BASE4 + MIB);
    rig_write(rig, OF(GEN1_SBARLMT, 1), 8, 0);
    rig_write(rig, OF(GEN1_SBARXLAT, 1), 8, 6 * MIB);
    rig_write(rig, 6 * MIB, 8, 0x77);
    ck_assert_uint_eq(rig_read(other, RIG_BAR4 + MIB, 8), 0x77);
    rig_write(other, RIG_BAR4 + GEN1_SPAD, 4, 0x88);
    rig_wait_for(rig, AT(GEN1_SPAD), 4, 0x88);
    /* The link takes all along, and brings it back. */
    enable(rig, false);
    ck_assert_uint_eq(rig_read(other, RIG_BAR4 + MIB, 8), UINT64_MAX);
    enable(rig, true);
    wait_link(other, true);
    ck_assert_uint_eq(rig_read(other, RIG_BAR4 + MIB, 8), 0x77);
}
END_TEST

/* BAR 5, the last window, leads to the other's registers. */
static void start_split(DeviceRig *machine)
{
    rig_config_write(machine, 0x24, (uint32_t)BAR5);
    rig_config_write(machine, 0xd0, 20 << 16 | 20 << 24);
    rig_config_write(machine, 0xd4, 0); /* SBAR5SZ */
    rig_write(machine, AT(GEN1_SBAR0BASE), 8, BASE5_32);
    for (unsigned i = 0; i < 3; i++) {
        unsigned size = i ? 4 : 8;

        rig_write(machine, OF(GEN1_SBARBASE, i), size, split_bases[i]);
        rig_write(machine, OF(GEN1_SBARLMT, i), size, split_bases[i]);
        rig_write(machine, OF(GEN1_PBARXLAT, i), size, split_bases[i]);
    }
    enable(machine, true);
}

/* A trace has the place of a write to BAR 5 in that BAR. */
static void check_trace(uint64_t offset, uint64_t target)
{
    g_autofree char *path = g_strdup_printf("%s/farside-split-%d.pcapng",
                                            g_get_tmp_dir(), (int)getpid());
    g_autofree char *on = g_strdup_printf("\"%s\"", path);
    g_autofree char *said = rig_set(other, "trace", on);
    g_autofree char *ended = NULL;
    g_autoptr(TrcFile) file = NULL;
    TrcRecord record = {0};

    rig_write(other, BAR5 + offset, 8, 0x99);
    ended = rig_set(other, "trace", "\"\"");
    file = trc_file_read(path, NULL);
    g_unlink(path);
    ck_assert_msg(!!file, "%s%s", said, ended);
    for (unsigned i = 0; record.kind != TRC_MWR; i++) {
        ck_assert_uint_lt(i, trc_file_n_records(file));
        trc_file_record(file, i, &record);
    }
    ck_assert_uint_eq(record.address, target);
    ck_assert_uint_eq(record.bar, 5);
    ck_assert_uint_eq(record.offset, offset);
    ck_assert_uint_eq(record.near, BAR5 + offset);
}

START_TEST(split_bar_has_two_windows)
{
    static const uint64_t bars[] = {RIG_BAR2, RIG_BAR4};

    rig = rig_new_of(SPLIT, NULL, PROPERTIES, NULL);
    other = chip_new_other(rig, SPLIT, PROPERTIES);
    start_split(rig);
    start_split(other);
    wait_link(rig, true);
    wait_link(other, true);
    for (unsigned i = 0; i < 2; i++) {
        unsigned size = i ? 4 : 8;

        rig_write(rig, OF(GEN1_SBARXLAT, i), size, (4 + 2 * i) * MIB + 0x5000);
        ck_assert_uint_eq(rig_read(rig, OF(GEN1_SBARXLAT, i), size),
                          (4 + 2 * i) * MIB);
        ck_assert_uint_eq(rig_read(other, bars[i] + 8, 4), 0xffffffff);
        rig_write(rig, OF(GEN1_SBARLMT, i), size, split_bases[i] + 0x10000);
        check_window(bars[i], 0, 0x10000, (4 + 2 * i) * MIB);
        rig_write(rig, OF(GEN1_SBARLMT, i), size, 0);
        rig_write(rig, (5 + 2 * i) * MIB - 8, 8, 0x55 + i);
        ck_assert_uint_eq(rig_read(other, bars[i] + MIB - 8, 8), 0x55 + i);
    }
    rig_write(other, BAR5 + GEN1_SPAD, 4, 0x88);
    rig_wait_for(rig, AT(GEN1_SPAD), 4, 0x88);
    rig_write(other, BAR5 + GEN1_PDOORBELL, 2, 0x0081);
    rig_wait_for(rig, AT(GEN1_PDOORBELL), 2, 0x8081);
    ck_assert_uint_eq(rig_read(other, BAR5 + 0x8000, 4), 0xffffffff);
    /* Its upper half for memory, as with b2b_mw_share */
    rig_config_write(rig, 0xd4, 19 << 16);
    rig_write(rig, OF(GEN1_SBARBASE, 2), 4, BASE5_32 + MIB / 2);
    rig_write(rig, OF(GEN1_SBARLMT, 2), 4, 0);
    rig_write(rig, OF(GEN1_SBARXLAT, 2), 4, 3 * MIB);
    rig_write(rig, 3 * MIB, 8, 0x77);
    ck_assert_uint_eq(rig_read(other, BAR5 + MIB / 2, 8), 0x77);
    ck_assert_uint_eq(rig_read(other, BAR5 + GEN1_SPAD, 4), 0x88);
    check_trace(MIB / 2 + 24, 3 * MIB + 24);
    /* The primary BAR 5 may end earlier. */
    rig_write(other, OF(GEN1_PBARLMT, 2), 4, BAR5 + MIB / 2);
    rig_write(other, OF(GEN1_PBARXLAT, 2), 4, BASE5_32);
    ck_assert_uint_eq(rig_read(other, BAR5 + MIB / 2, 8), UINT64_MAX);
    ck_assert_uint_eq(rig_read(other, RIG_BAR4 + MIB - 8, 8), 0x56);
}
END_TEST

START_TEST(doorbells_raise_one_vector_for_five_bits)
{
    both_up();
    chip_enable_interrupts(rig, GEN1_MSIX_TABLE, GEN1_VECTORS);
    rig_write(rig, AT(GEN1_PDOORBELL), 2, 0xffff);
    rig_write(rig, AT(GEN1_PDBMSK), 2, 0x0011);
    rig_write(other, RIG_BAR4 + GEN1_PDOORBELL, 2, 0x0011);
    rig_wait_for(rig, AT(GEN1_PDOORBELL), 2, 0x0011);
    ck_assert_uint_eq(chip_raised(rig, GEN1_VECTORS), 0);
    rig_write(rig, AT(GEN1_PDBMSK), 2, 0x0001);
    ck_assert_uint_eq(chip_raised(rig, GEN1_VECTORS), 1);
    rig_write(other, RIG_BAR4 + GEN1_PDOORBELL, 2, 0x4220);
    rig_wait_for(rig, AT(GEN1_PDOORBELL), 2, 0x4231);
    ck_assert_uint_eq(chip_raised(rig, GEN1_VECTORS), 6);
    enable(other, false);
    wait_link(rig, false);
    ck_assert_uint_eq(chip_raised(rig, GEN1_VECTORS), 8);
}
END_TEST

/* The far end that the test plays */

static void tell(uint64_t offset, uint64_t value, unsigned size)
{
    chip_send_write(peer, FARSIDE_WIRE_REGISTERS_NP, offset, value, size, 1);
    chip_expect_completion(peer, 1, FARSIDE_WIRE_SC);
}

/* Answers the non-posted writes by which the device tells of itself. */
static void enable_and_answer(void)
{
    struct farside_wire_completion c = {.status = FARSIDE_WIRE_SC};
    struct farside_wire_write m;

    rig_write_begin(rig, AT(GEN1_NTBCNTL), 4, 0);
    do {
        memcpy(&m, rig_peer_receive(peer, FARSIDE_WIRE_WRITE)->body, sizeof(m));
    } while (m.space != FARSIDE_WIRE_REGISTERS_NP);
    c.tag = m.tag;
    rig_peer_send(peer, FARSIDE_WIRE_COMPLETION, &c, sizeof(c));
    rig_write_end(rig);
    tell(FARSIDE_TWIN_LINK, FARSIDE_TWIN_ENABLED, 4);
    wait_link(rig, true);
}

/* The far end moves and closes its secondary BAR. When the answer has come, no
 * access gets there any more. */
START_TEST(closed_window_is_not_used_after_the_answer)
{
    uint8_t *ram = rig_peer_give_ram(peer, 0, 8 * MIB, true);

    tell(FARSIDE_TWIN_BASE, BASE4, 8);
    tell(FARSIDE_TWIN_BASE + 8, 0x10000, 8);
    tell(FARSIDE_TWIN_TARGET, 2 * MIB, 8);
    enable_and_answer();
    for (unsigned i = 0; i < 12; i++) {
        tell(FARSIDE_TWIN_BASE + 8, 0x10000, 8);
        tell(FARSIDE_TWIN_SIZE, 0x2000, 8);
        rig_write(rig, RIG_BAR2 + 0x11000, 4, i + 1u);
        ck_assert_int_eq(ram[2 * MIB + 0x1000], i + 1);
        if (i % 2) {
            tell(FARSIDE_TWIN_SIZE, i % 4 == 1 ? 0 : 0x1000, 8);
        } else {
            tell(FARSIDE_TWIN_BASE + 8, 0x20000, 8);
        }
        rig_write(rig, RIG_BAR2 + 0x11000, 4, 0xffu);
        ck_assert_int_eq(ram[2 * MIB + 0x1000], i + 1);
    }
}
END_TEST

/* A hostile far end says that its ranges wrap, or overlap. */
START_TEST(any_place_on_the_bus_is_survived)
{
    static const uint64_t values[] = {0,          0x1000,
                                      0x8000,     BASE2,
                                      UINT64_MAX, UINT64_MAX - 1,
                                      1ull << 63, 0x7000,
                                      MIB,        0xfffffffffffff000ull};
    unsigned count = G_N_ELEMENTS(values);

    enable_and_answer();
    for (unsigned i = 0; i < count * count; i++) {
        uint64_t x = values[i / count], y = values[i % count];

        for (unsigned n = 0; n < 3; n++) {
            tell(FARSIDE_TWIN_BASE + 8 * n, n == i % 3 ? x : y, 8);
        }
        for (unsigned n = 0; n < 2; n++) {
            tell(FARSIDE_TWIN_TARGET + 8 * n, n ? x : y, 8);
            tell(FARSIDE_TWIN_SIZE + 8 * n, n ? y : x, 8);
        }
        rig_write(rig, RIG_BAR2 + 0x7ff8, 8, i);
        rig_write(rig, RIG_BAR4 + 0x8000, 8, i);
        while (rig_peer_poll(peer, 0)) {
            rig_peer_receive_any(peer);
        }
    }
    ck_assert_uint_eq(rig_config_read(rig, 0), IDENTITY);
}
END_TEST

START_TEST(another_generation_is_no_peer)
{
    struct farside_wire_hello hello;

    peer = rig_peer_new(rig);
    memcpy(&hello, rig_peer_receive(peer, FARSIDE_WIRE_HELLO)->body,
           sizeof(hello));
    ck_assert_uint_eq(hello.chip, FARSIDE_WIRE_CHIP_INTEL);
    ck_assert_uint_eq(hello.generation, 1);
    hello.partition = 1;
    hello.generation = 3;
    rig_peer_send(peer, FARSIDE_WIRE_HELLO, &hello, sizeof(hello));
    ck_assert(rig_peer_is_closed(peer));
}
END_TEST

/* Anything a guest and a peer may send: the device lives, and answers. */
START_TEST(any_access_is_survived)
{
    static const ChipRange guest[] = {{AT(0), GEN1_BAR_SIZE},
                                      {AT(0), 0x58},
                                      {AT(GEN1_NTBCNTL), 12},
                                      {AT(GEN1_B2BSPAD), 0x50},
                                      {0, 0}};
    static const ChipRange far[] = {
        {FARSIDE_TWIN_TARGET, 0x58}, {FARSIDE_TWIN_LINK, 4},
        {GEN1_PDOORBELL, 2},         {GEN1_SPAD, 4 * GEN1_SPADS},
        {0, GEN1_BAR_SIZE},          {0, 0}};
    ChipFuzz fuzz = {.peers = 1, .guest = guest, .far = far};

    rig = rig_new_of(models[_i].type, NULL, CHIP_FUZZ_PROPERTIES SIZES, NULL);
    fuzz.rig = rig;
    chip_fuzz(&fuzz, 325);
    ck_assert_uint_eq(rig_config_read(rig, 0), models[_i].identity);
    ck_assert_uint_eq(rig_read(rig, AT(GEN1_NTBCNTL), 4), 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("device_intel_gen1");
    TCase *tcase = chip_add_case(suite, "one side", setup_one, teardown);

    tcase_add_test(tcase, another_generation_is_no_peer);
    tcase = chip_add_case(suite, "models", NULL, teardown);
    tcase_add_loop_test(tcase, registers_are_those_of_the_page, 0,
                        (int)G_N_ELEMENTS(models));
    tcase_add_test(tcase, split_bar_has_two_windows);
    tcase = chip_add_case(suite, "two sides", setup_two, teardown);
    tcase_add_test(tcase, link_is_up_while_both_are_enabled);
    tcase_add_test(tcase, the_last_window_leads_to_registers);
    tcase_add_test(tcase, windows_lead_to_secondary_bars);
    tcase_add_test(tcase, doorbells_raise_one_vector_for_five_bits);
    tcase = chip_add_case(suite, "a peer", setup_peer, teardown);
    tcase_add_test(tcase, closed_window_is_not_used_after_the_answer);
    tcase_add_test(tcase, any_place_on_the_bus_is_survived);
    tcase_add_loop_test(chip_add_fuzz(suite, teardown), any_access_is_survived,
                        0, (int)G_N_ELEMENTS(models));
    return run_suite(suite);
}
