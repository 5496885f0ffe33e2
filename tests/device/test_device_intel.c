/* SPDX-License-Identifier: MIT */
/*
 * Invariant: the Intel chips have the registers of docs/reference/intel.md,
 * each with one owner; a window is open as far as the limit above the own BAR,
 * and one that its target closes is used by nobody when the guest goes on; the
 * link is up while both sides are enabled.
 */
#include <check.h>
#include <glib.h>
#include <string.h>
#include "device_chip.h"
#include "device_nvme.h"
#include "intel_regs.h"
#include "twin_regs.h"
#include "../suite.h"

#define MIB         (1ull << 20)
#define PROPERTIES  "completion-timeout=60000,bar2-size=1M,bar4-size=2M"
#define ECAM        0xb0000000ull
#define AT(reg)     (RIG_BAR0 + (reg))
#define XBASE(i)    AT(INTEL_XBASE + (i)*INTEL_XSTEP)
#define XLMT(i)     AT(INTEL_XLMT + (i)*INTEL_XSTEP)
#define STATUS      AT(INTEL_INT_STATUS)
#define LINK_CHANGE (1ull << 32)

static const struct {
    const char *type;
    const char *section; /* of the page, beside those of more than one */
    uint32_t identity;
    uint8_t revision;
    uint8_t express;
    unsigned generation;
    unsigned peer_spad;
    unsigned intvec;
    unsigned ppd0;
    uint32_t ppd1_dsd;
    uint16_t up; /* Link Status */
    bool aligns;
} models[] = {
    {"farside-intel-gen3", "Generation 3", 0x201c8086, 0, 0x90, 3, 0x180, 0xd0,
     0, 0, 0x2103, true},
    {"farside-intel-gen4", "Generations 4 and 5", 0x347e8086, 4, 0x40, 4,
     0x8080, 0x50, 0xb0d4, 0x1200, 0x2104, true},
    {"farside-intel-gen4-spr", "Generations 4 and 5", 0x347e8086, 16, 0x40, 4,
     0x8080, 0x50, 0xb0d4, 0x4200, 0x2105, false},
    {"farside-intel-gen5", "Generations 4 and 5", 0x0db48086, 0, 0x40, 5,
     0x8080, 0x50, 0xb0d4, 0x4200, 0x2105, false},
    {"farside-intel-gen6", "Generation 6", 0x78688086, 0, 0x40, 6, 0x8080, 0x50,
     0xf0d4, 0x4200, 0x2106, false},
};
#define MODELS (int)G_N_ELEMENTS(models)

static int model;
static DeviceRig *rig;   /* upstream device */
static DeviceRig *other; /* downstream device, in tests of two machines */
static RigPeer *peer;    /* the far end that the test plays itself */

static const uint64_t bars[] = {RIG_BAR2, RIG_BAR4};
static const uint64_t sizes[] = {MIB, 2 * MIB};

static bool is_gen3(void)
{
    return models[model].generation == 3;
}

/* The registers of the model, to be freed */
static GArray *read_page(void)
{
    g_auto(GStrv) lines = page_lines(g_getenv("FARSIDE_INTEL_PAGE"));
    GArray *registers = g_array_new(FALSE, TRUE, sizeof(PageRegister));
    bool is_ours = false;

    for (unsigned i = 0; lines[i]; i++) {
        const char *title = lines[i] + strlen("### ");

        if (g_str_has_prefix(lines[i], "### ")) {
            is_ours = strcmp(title, "Of all generations") == 0 ||
                      strcmp(title, models[model].section) == 0 ||
                      (!is_gen3() && strcmp(title, "Generations 4 to 6") == 0);
        } else if (is_ours) {
            page_add(registers, lines[i], false);
        }
    }
    ck_assert_uint_eq(registers->len, is_gen3() ? 84 : 86);
    return registers;
}

static void setup_one(void)
{
    rig = rig_new_of(models[model].type, NULL, PROPERTIES, NULL);
}

static void setup_peer(void)
{
    setup_one();
    peer = chip_meet(rig);
}

static void setup_two(void)
{
    setup_one();
    other = chip_new_other(rig, models[model].type, PROPERTIES);
}

static void teardown(void)
{
    chip_stop(&rig, &other, &peer);
}

static uint64_t ecam(DeviceRig *machine, unsigned offset, unsigned size)
{
    rig_pci_write(machine, 0, 0x60, (uint32_t)ECAM | 1);
    return rig_read(machine, ECAM + (CHIP_DEVFN << 12) + offset, size);
}

static uint64_t link_status(DeviceRig *machine)
{
    return is_gen3() ? ecam(machine, INTEL3_CFG_LINK_STATUS, 2)
                     : rig_read(machine, AT(INTEL4_LINK_STATUS), 2);
}

static void wait_link(DeviceRig *machine, bool up)
{
    int64_t deadline = rig_deadline();

    while (link_status(machine) != (up ? models[model].up : 0)) {
        ck_assert_msg(g_get_monotonic_time() < deadline, "status 0x%x",
                      (unsigned)link_status(machine));
        g_usleep(1000);
    }
}

/* As the driver does it */
static void enable(DeviceRig *machine, bool on)
{
    if (is_gen3()) {
        rig_write(machine, AT(INTEL_NTBCNTL), 4, on ? 0x154 : 0x3);
        return;
    }
    rig_write(machine, AT(INTEL4_LINK_CTRL), 2, on ? 0 : 0x10);
    if (on) {
        rig_write(machine, AT(models[model].ppd0), 4, 8);
    }
}

static void both_up(void)
{
    enable(rig, true);
    enable(other, true);
    wait_link(rig, true);
    wait_link(other, true);
}

/* The page */

static void check_resets(DeviceRig *machine, const GArray *registers,
                         bool is_dsd)
{
    for (unsigned i = 0; i < registers->len; i++) {
        const PageRegister *r = &g_array_index(registers, PageRegister, i);
        uint64_t value = rig_read(machine, RIG_BAR0 + r->offset, r->size);
        uint64_t expected = r->offset == INTEL4_PPD1 && is_dsd
                                ? models[model].ppd1_dsd
                                : r->reset;

        ck_assert_msg(value == expected, "0x%x is 0x%" G_GINT64_MODIFIER "x",
                      r->offset, value);
    }
    if (is_gen3()) {
        ck_assert_uint_eq(rig_config_read(machine, 0xd4) & 0xff,
                          is_dsd ? 0x11 : 0x01);
    }
    ck_assert_uint_eq(link_status(machine), 0);
}

START_TEST(registers_are_those_of_the_page)
{
    GArray *registers;

    model = _i;
    registers = read_page();
    setup_two();
    ck_assert_uint_eq(rig_config_read(rig, 0), models[model].identity);
    ck_assert_uint_eq(rig_config_read(rig, 8),
                      0x06800000u | models[model].revision);
    ck_assert_uint_eq(rig_pci_find(rig, CHIP_DEVFN, 0x10),
                      models[model].express);
    check_resets(rig, registers, false);
    check_resets(other, registers, true);
    for (unsigned i = 0; i < registers->len; i++) {
        const PageRegister *r = &g_array_index(registers, PageRegister, i);
        uint64_t mask = r->mask;

        for (unsigned w = 0; w < 2 && models[model].aligns; w++) {
            if (RIG_BAR0 + r->offset == XBASE(w)) {
                mask &= ~(sizes[w] - 1);
            }
        }
        chip_check_writes(rig, r, mask);
    }
    chip_check_gaps(rig, registers, INTEL_BAR_SIZE, INTEL_MSIX_TABLE,
                    INTEL_VECTORS, 3000);
    /* A guest cannot write the NTB's registers in configuration space. */
    rig_config_write(rig, INTEL3_CFG_PPD, 0xffffffff);
    ck_assert_uint_eq(rig_config_read(rig, INTEL3_CFG_PPD) & 0xff,
                      is_gen3() ? 0x01 : 0);
    rig_write(rig, ECAM + (CHIP_DEVFN << 12) + INTEL3_CFG_LINK_STATUS, 2,
              0xffff);
    ck_assert_uint_eq(link_status(rig), 0);
    rig_write(rig, AT(INTEL_SPAD), 4, 0x1234);
    rig_reset(rig);
    check_resets(rig, registers, false);
    g_array_free(registers, TRUE);
}
END_TEST

/* Two machines */

START_TEST(link_is_up_while_both_are_enabled)
{
    DeviceRig *sides[2];

    model = _i;
    setup_two();
    sides[0] = rig;
    sides[1] = other;
    for (unsigned me = 0; me < 2; me++) {
        enable(sides[me], true);
        g_usleep(20000);
        ck_assert_uint_eq(link_status(rig), 0);
        enable(sides[1 - me], true);
        for (unsigned i = 0; i < 2; i++) {
            wait_link(sides[i], true);
            ck_assert_uint_eq(rig_read(sides[i], STATUS, 8), LINK_CHANGE);
            if (!is_gen3()) {
                ck_assert_uint_eq(rig_read(sides[i], AT(INTEL4_SLOTSTS), 2),
                                  0x100);
            }
            /* On Ice Lake the bit stays while SLOTSTS tells of the change. */
            rig_write(sides[i], STATUS, 8, LINK_CHANGE);
            ck_assert_uint_eq(rig_read(sides[i], STATUS, 8),
                              model == 1 ? LINK_CHANGE : 0);
            rig_write(sides[i], AT(INTEL4_SLOTSTS), 2, 0x100);
            rig_write(sides[i], STATUS, 8, LINK_CHANGE);
            ck_assert_uint_eq(rig_read(sides[i], STATUS, 8), 0);
        }
        enable(sides[me], false);
        for (unsigned i = 0; i < 2; i++) {
            wait_link(sides[i], false);
            rig_write(sides[i], AT(INTEL4_SLOTSTS), 2, 0x100);
            rig_write(sides[i], STATUS, 8, LINK_CHANGE);
        }
        enable(sides[1 - me], false);
    }
    /* The cable that is cut, and a reset */
    both_up();
    g_free(rig_set(rig, "enabled", "false"));
    wait_link(rig, false);
    wait_link(other, false);
    g_free(rig_set(rig, "enabled", "true"));
    wait_link(rig, true);
    wait_link(other, true);
    rig_reset(rig);
    wait_link(other, false);
    wait_link(rig, false);
    enable(rig, true);
    wait_link(rig, true);
    wait_link(other, true);
}
END_TEST

START_TEST(scratchpads_belong_to_their_side)
{
    DeviceRig *sides[2];
    uint64_t far;

    model = _i;
    setup_two();
    far = AT(models[model].peer_spad);
    sides[0] = rig;
    sides[1] = other;
    rig_write(rig, AT(INTEL_SPAD), 4, 7);
    rig_write(other, far, 4, 1);
    ck_assert_uint_eq(rig_read(other, far, 4), 0);
    ck_assert_uint_eq(rig_read(rig, AT(INTEL_SPAD), 4), 7);
    both_up();
    for (unsigned me = 0; me < 2; me++) {
        for (unsigned i = 0; i < INTEL_SPADS; i++) {
            uint32_t value = 0x1000 * (me + 1) + i;

            rig_write(sides[me], far + 4 * i, 4, value);
            ck_assert_uint_eq(rig_read(sides[me], far + 4 * i, 4), value);
            ck_assert_uint_eq(
                rig_read(sides[1 - me], AT(INTEL_SPAD) + 4 * i, 4), value);
        }
    }
    /* Parts of registers, and accesses that touch several */
    rig_write(rig, AT(INTEL_SPAD) + 3, 2, 0xbbaa);
    ck_assert_uint_eq(rig_read(rig, AT(INTEL_SPAD), 8), 0x20bbaa002000ull);
    ck_assert_uint_eq(rig_read(other, far + 2, 4), 0x20bbaa00);
}
END_TEST

/* Opens what lies behind BAR @w of the other side to memory at @target. */
static void open_window(DeviceRig *machine, unsigned w, uint64_t target,
                        uint64_t size)
{
    rig_write(machine, XBASE(w), 8, target);
    ck_assert_uint_eq(rig_read(machine, XBASE(w), 8), target);
    rig_write(machine, XLMT(w), 8, bars[w] + size);
    ck_assert_uint_eq(rig_read(machine, XLMT(w), 8), bars[w] + size);
}

START_TEST(windows_are_open_as_far_as_their_limit)
{
    static const uint64_t open[] = {0x10000, 0x1800, MIB};

    model = _i;
    setup_two();
    both_up();
    for (unsigned w = 0; w < 2; w++) {
        uint64_t base = bars[w];

        for (unsigned i = 0; i < G_N_ELEMENTS(open); i++) {
            uint64_t value = 0x1122334455667788ull + i;
            uint8_t *ram = rig_ram(rig) + 4 * MIB;

            open_window(rig, w, 4 * MIB, open[i]);
            rig_write(other, base + 8, 8, value);
            rig_write(other, base + open[i] - 8, 8, 0x99 + i);
            /* The first may be a message, which comes after a while. */
            rig_wait_for(rig, 4 * MIB + 8, 8, value);
            rig_wait_for(rig, 4 * MIB + open[i] - 8, 8, 0x99 + i);
            ck_assert_uint_eq(rig_read(other, base + 8, 8), value);
            ram[open[i]] = 0x77;
            if (open[i] < sizes[w]) {
                ck_assert_uint_eq(rig_read(other, base + open[i], 4),
                                  0xffffffff);
                rig_write(other, base + open[i], 4, 1);
            }
            open_window(rig, w, 0, 0);
            rig_write(other, base + 8, 4, 1);
            ck_assert_uint_eq(rig_read(other, base + 8, 4), 0xffffffff);
            ck_assert_uint_eq(rig_read(rig, 4 * MIB + 8, 8), value);
            ck_assert_int_eq(ram[open[i]], 0x77);
        }
    }
}
END_TEST

/* Limits that open nothing, and what opens and closes beside the limit */
START_TEST(windows_are_closed_by_limits_link_and_reset)
{
    uint64_t limits[] = {0,
                         RIG_BAR2,
                         RIG_BAR2 - 1,
                         RIG_BAR2 + MIB + 1,
                         UINT64_MAX,
                         0x2000000000000000ull};

    model = _i;
    setup_two();
    both_up();
    rig_ram(rig)[4 * MIB] = 0x5a;
    rig_write(rig, XBASE(0), 8, 4 * MIB);
    for (unsigned i = 0; i < G_N_ELEMENTS(limits); i++) {
        rig_write(rig, XLMT(0), 8, RIG_BAR2 + 0x1000);
        ck_assert_uint_eq(rig_read(other, RIG_BAR2, 1), 0x5a);
        rig_write(rig, XLMT(0), 8, limits[i]);
        ck_assert_uint_eq(rig_read(rig, XLMT(0), 8), limits[i]);
        ck_assert_uint_eq(rig_read(other, RIG_BAR2, 1), 0xff);
    }
    /* Without an address of the own BAR, there is nothing to compare with. */
    rig_config_write(rig, 0x04, 0x4);
    rig_config_write(rig, 0x18, 0);
    rig_config_write(rig, 0x04, 0x6);
    rig_write(rig, XLMT(0), 8, RIG_BAR2 + 0x1000);
    ck_assert_uint_eq(rig_read(other, RIG_BAR2, 1), 0xff);
    rig_config_write(rig, 0x04, 0x4);
    rig_config_write(rig, 0x18, RIG_BAR2);
    rig_config_write(rig, 0x04, 0x6);
    rig_write(rig, XLMT(0), 8, RIG_BAR2 + 0x1000);
    ck_assert_uint_eq(rig_read(other, RIG_BAR2, 1), 0x5a);
    /* The link takes the windows along, and brings them back. */
    enable(other, false);
    ck_assert_uint_eq(rig_read(other, RIG_BAR2, 1), 0xff);
    enable(other, true);
    wait_link(other, true);
    ck_assert_uint_eq(rig_read(other, RIG_BAR2, 1), 0x5a);
    enable(rig, false);
    ck_assert_uint_eq(rig_read(other, RIG_BAR2, 1), 0xff);
    enable(rig, true);
    wait_link(other, true);
    /* The target is reset: nothing leads there any more. */
    rig_reset(other);
    enable(other, true);
    wait_link(other, true);
    ck_assert_uint_eq(rig_read(other, RIG_BAR2, 1), 0x5a);
    rig_reset(rig);
    wait_link(other, false);
    ck_assert_uint_eq(rig_read(other, RIG_BAR2, 1), 0xff);
    enable(rig, true);
    wait_link(other, true);
    ck_assert_uint_eq(rig_read(other, RIG_BAR2, 1), 0xff);
}
END_TEST

START_TEST(doorbells_raise_the_vectors_of_the_table)
{
    model = _i;
    setup_two();
    both_up();
    chip_enable_interrupts(rig, INTEL_MSIX_TABLE, INTEL_VECTORS);
    rig_write(rig, AT(INTEL4_SLOTSTS), 2, 0x100);
    rig_write(rig, STATUS, 8, UINT64_MAX);
    rig_write(rig, AT(INTEL_INT_DISABLE), 8, 0xfffffff8);
    /* By the reset, bit n has vector n + 1. A 0 rings nothing. */
    rig_write(other, AT(INTEL_DOORBELL) + 4 * 1, 4, 1);
    rig_write(other, AT(INTEL_DOORBELL) + 4 * 2, 4, 0xfffffffe);
    rig_write(other, AT(INTEL_DOORBELL) + 4 * 5, 4, 1);
    rig_wait_for(rig, STATUS, 8, 0x22);
    ck_assert_uint_eq(chip_raised(rig, INTEL_VECTORS), 1u << 2);
    /* Unmasking raises what is pending, by the table of now. */
    rig_write(rig, AT(models[model].intvec) + 5, 1, 32);
    rig_write(rig, AT(models[model].intvec) + 1, 1, 33);
    rig_write(rig, AT(INTEL_INT_DISABLE), 8, 0);
    ck_assert_uint_eq(chip_raised(rig, INTEL_VECTORS), 1ull << 32);
    rig_write(rig, STATUS, 8, 0x2);
    ck_assert_uint_eq(rig_read(rig, STATUS, 8), 0x20);
    rig_write(other, AT(INTEL_DOORBELL) + 4 * 31, 4, 1);
    rig_write(other, AT(INTEL_DOORBELL) + 4 * 1, 4, 1);
    rig_wait_for(rig, STATUS, 8, 0x80000022);
    /* Bit 31 has vector 32; bit 1 has one that does not exist. */
    ck_assert_uint_eq(chip_raised(rig, INTEL_VECTORS), 1ull << 32);
    rig_write(rig, STATUS, 8, UINT64_MAX);
    /* The link: bit 32, vector 0. No doorbell crosses a link that is down. */
    enable(other, false);
    wait_link(rig, false);
    rig_write(other, AT(INTEL_DOORBELL), 4, 1);
    ck_assert_uint_eq(chip_raised(rig, INTEL_VECTORS), 1);
    ck_assert_uint_eq(rig_read(rig, STATUS, 8), LINK_CHANGE);
}
END_TEST

/* The other process ends, and another one comes in its place. */
START_TEST(other_side_goes_and_returns)
{
    model = _i;
    setup_two();
    both_up();
    rig_ram(rig)[4 * MIB] = 0x5a;
    open_window(rig, 0, 4 * MIB, 0x1000);
    open_window(other, 1, 4 * MIB, 0x1000);
    rig_write(rig, AT(INTEL4_SLOTSTS), 2, 0x100);
    rig_write(rig, STATUS, 8, LINK_CHANGE);
    rig_free(other);
    wait_link(rig, false);
    ck_assert_uint_eq(rig_read(rig, STATUS, 8), LINK_CHANGE);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR4, 1), 0xff);
    ck_assert_uint_eq(rig_read(rig, AT(models[model].peer_spad), 4), 0);
    other =
        rig_new_of(models[model].type, rig_link_path(rig), PROPERTIES, NULL);
    enable(other, true);
    wait_link(rig, true);
    wait_link(other, true);
    ck_assert_uint_eq(rig_read(other, RIG_BAR2, 1), 0x5a);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR4, 1), 0xff);
}
END_TEST

/* The far end that the test plays */

static const struct {
    uint64_t offset;
    uint64_t value;
    unsigned size;
} told[] = {
    {FARSIDE_TWIN_TARGET, 0, 8},     {FARSIDE_TWIN_SIZE, 0, 8},
    {FARSIDE_TWIN_TARGET + 8, 0, 8}, {FARSIDE_TWIN_SIZE + 8, 0, 8},
    {FARSIDE_TWIN_LINK, 2, 4},
};

/* The device tells this of itself, with @link in the last register. */
static void expect_all(uint32_t link)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(told); i++) {
        const RigMessage *m = rig_peer_receive(peer, FARSIDE_WIRE_WRITE);
        const struct farside_wire_write *write = (const void *)m->body;
        uint64_t value = 0;

        memcpy(&value, write + 1, write->length);
        ck_assert_uint_eq(write->space, FARSIDE_WIRE_REGISTERS);
        ck_assert_uint_eq(write->address, told[i].offset);
        ck_assert_uint_eq(write->length, told[i].size);
        ck_assert_uint_eq(
            value, told[i].offset == FARSIDE_TWIN_LINK ? link : told[i].value);
    }
}

/* A question is answered, also if the first answer was lost. */
START_TEST(a_side_tells_what_it_is_asked)
{
    model = 1;
    setup_peer();
    expect_all(FARSIDE_TWIN_ASKS);
    chip_send_write(peer, FARSIDE_WIRE_REGISTERS, FARSIDE_TWIN_LINK, 2, 4, 0);
    expect_all(0);
    rig_peer_send(peer, FARSIDE_WIRE_RESET, NULL, 0);
    expect_all(FARSIDE_TWIN_ASKS);
}
END_TEST

/* Answers the next non-posted write of the device. */
static void answer_put(uint64_t address)
{
    struct farside_wire_completion c = {.status = FARSIDE_WIRE_SC};
    struct farside_wire_write m;

    do {
        memcpy(&m, rig_peer_receive(peer, FARSIDE_WIRE_WRITE)->body, sizeof(m));
    } while (m.space != FARSIDE_WIRE_REGISTERS_NP);
    ck_assert_uint_eq(m.address, address);
    c.tag = m.tag;
    rig_peer_send(peer, FARSIDE_WIRE_COMPLETION, &c, sizeof(c));
}

/* Enables the device, and answers the write that tells of it. */
static void enable_and_answer(void)
{
    uint64_t address = is_gen3() ? AT(INTEL_NTBCNTL) : AT(models[model].ppd0);

    if (!is_gen3()) {
        rig_write(rig, AT(INTEL4_LINK_CTRL), 2, 0);
    }
    rig_write_begin(rig, address, 4, is_gen3() ? 0 : 8);
    answer_put(FARSIDE_TWIN_LINK);
    rig_write_end(rig);
    chip_send_write(peer, FARSIDE_WIRE_REGISTERS_NP, FARSIDE_TWIN_LINK, 1, 4,
                    1);
    chip_expect_completion(peer, 1, FARSIDE_WIRE_SC);
    wait_link(rig, true);
}

/*
 * The far end opens and closes a window of the device to its memory, by the
 * copy of its limit or by the link. When the answer has come, no access gets
 * there any more; nor when the link went down before, by a posted write.
 */
START_TEST(closed_window_is_not_used_after_the_answer)
{
    uint8_t *ram;

    model = 0;
    setup_peer();
    ram = rig_peer_give_ram(peer, 0, 8 * MIB, true);
    enable_and_answer();
    chip_send_write(peer, FARSIDE_WIRE_REGISTERS_NP, FARSIDE_TWIN_TARGET,
                    2 * MIB, 8, 2);
    chip_expect_completion(peer, 2, FARSIDE_WIRE_SC);
    for (uint16_t i = 0; i < 20; i++) {
        chip_send_write(peer, FARSIDE_WIRE_REGISTERS_NP, FARSIDE_TWIN_LINK, 1,
                        4, 3);
        chip_expect_completion(peer, 3, FARSIDE_WIRE_SC);
        chip_send_write(peer, FARSIDE_WIRE_REGISTERS_NP, FARSIDE_TWIN_SIZE,
                        0x2000, 8, 4);
        chip_expect_completion(peer, 4, FARSIDE_WIRE_SC);
        rig_write(rig, RIG_BAR2 + 0x1000, 4, i + 1u);
        ck_assert_int_eq(ram[2 * MIB + 0x1000], i + 1);
        if (i % 3) {
            chip_send_write(peer,
                            i % 3 == 1 ? FARSIDE_WIRE_REGISTERS_NP
                                       : FARSIDE_WIRE_REGISTERS,
                            FARSIDE_TWIN_LINK, 0, 4, 5);
        }
        if (i % 3 == 1) {
            chip_expect_completion(peer, 5, FARSIDE_WIRE_SC);
        } else {
            chip_send_write(peer, FARSIDE_WIRE_REGISTERS_NP, FARSIDE_TWIN_SIZE,
                            i & 1 ? 0x1000 : 0, 8, 6);
            chip_expect_completion(peer, 6, FARSIDE_WIRE_SC);
        }
        rig_write(rig, RIG_BAR2 + 0x1000, 4, 0xffu);
        ck_assert_int_eq(ram[2 * MIB + 0x1000], i + 1);
    }
    /* The far end reaches nothing else. */
    for (unsigned i = 0; i < 4; i++) {
        static const uint64_t offsets[] = {INTEL_NTBCNTL, INTEL_XLMT,
                                           (FARSIDE_TWIN_LINK + 4), 1ull << 40};

        chip_send_write(peer, FARSIDE_WIRE_REGISTERS_NP, offsets[i], 0, 4, 7);
        chip_expect_completion(peer, 7, FARSIDE_WIRE_UR);
    }
}
END_TEST

/*
 * A drive's transfer into the far end's memory is under way when the link goes
 * down, by a posted write, and then the far end closes the window, by a
 * non-posted one. From the answer on, the memory stays as it is.
 */
START_TEST(a_transfer_ends_before_the_answer)
{
    static const char *const arguments[] = {
        "-object",   "throttle-group,id=slow,x-iops-total=1",
        "-blockdev", "null-co,node-name=zeros,size=8388608,read-zeroes=on",
        "-blockdev", "throttle,node-name=d,throttle-group=slow,file=zeros",
        "-device",   "nvme,drive=d,serial=x,addr=06.0",
        NULL};
    DeviceNvme nvme;
    uint8_t *ram, then;

    model = 2;
    rig = rig_new_of(models[model].type, NULL,
                     "completion-timeout=10000,bar2-size=1M,bar4-size=2M",
                     arguments);
    peer = rig_peer_new(rig);
    rig_peer_hello(peer);
    rig_wait_link_up(rig, true);
    ram = rig_peer_give_ram(peer, 0, MIB, true);
    enable_and_answer();
    chip_send_write(peer, FARSIDE_WIRE_REGISTERS_NP, FARSIDE_TWIN_SIZE, 0x2000,
                    8, 2);
    chip_expect_completion(peer, 2, FARSIDE_WIRE_SC);
    memset(ram, 0xa5, MIB);
    rig_pci_write(rig, CHIP_DEVFN + 8, 0x10, (uint32_t)RIG_NVME_BAR);
    rig_pci_write(rig, CHIP_DEVFN + 8, 0x14, 0);
    rig_pci_write(rig, CHIP_DEVFN + 8, 0x04, 0x6);
    nvme = (DeviceNvme){.rig = rig, .bar = RIG_NVME_BAR, .ram = rig_ram(rig)};
    nvme_start(&nvme, false, 0);
    /* The drive does one of them in each second. */
    nvme_queue_at(&nvme, false, 0, RIG_BAR2, 4096);
    nvme_queue_at(&nvme, false, 4096, RIG_BAR2 + 4096, 4096);
    nvme_ring(&nvme);
    nvme_wait(&nvme, 1);
    ck_assert_uint_eq(ram[0], 0);
    ck_assert_uint_eq(ram[4096], 0xa5);
    chip_send_write(peer, FARSIDE_WIRE_REGISTERS, FARSIDE_TWIN_LINK, 0, 4, 0);
    chip_send_write(peer, FARSIDE_WIRE_REGISTERS_NP, FARSIDE_TWIN_SIZE, 0, 8,
                    3);
    chip_expect_completion(peer, 3, FARSIDE_WIRE_SC);
    then = ram[4096];
    nvme_wait(&nvme, 1);
    ck_assert_uint_eq(ram[4096], then);
}
END_TEST

static const struct {
    uint64_t address;
    uint64_t value;
    uint64_t told;
    unsigned size;
} closing[] = {
    {XLMT(1), RIG_BAR4, FARSIDE_TWIN_SIZE + 8, 8},
    {XBASE(1), 2 * MIB, FARSIDE_TWIN_TARGET + 8, 8},
    {AT(INTEL4_LINK_CTRL), 0x10, FARSIDE_TWIN_LINK, 2},
};

/* The guest's write that closes a window waits for the owner of the BAR. */
START_TEST(closing_waits_for_the_owner)
{
    struct farside_wire_completion c = {.status = FARSIDE_WIRE_SC};
    struct farside_wire_write m;

    model = 1;
    setup_peer();
    enable_and_answer();
    rig_write_begin(rig, XLMT(1), 8, RIG_BAR4 + 0x1000);
    answer_put(FARSIDE_TWIN_SIZE + 8);
    rig_write_end(rig);
    rig_write_begin(rig, closing[_i].address, closing[_i].size,
                    closing[_i].value);
    memcpy(&m, rig_peer_receive(peer, FARSIDE_WIRE_WRITE)->body, sizeof(m));
    ck_assert_uint_eq(m.space, FARSIDE_WIRE_REGISTERS_NP);
    ck_assert_uint_eq(m.address, closing[_i].told);
    g_usleep(50000);
    ck_assert(!rig_has_answered(rig));
    /* Meanwhile the far end may close one as well. */
    chip_send_write(peer, FARSIDE_WIRE_REGISTERS_NP, FARSIDE_TWIN_SIZE, 0, 8,
                    9);
    chip_expect_completion(peer, 9, FARSIDE_WIRE_SC);
    c.tag = m.tag;
    rig_peer_send(peer, FARSIDE_WIRE_COMPLETION, &c, sizeof(c));
    rig_write_end(rig);
}
END_TEST

START_TEST(another_generation_is_no_peer)
{
    struct farside_wire_hello hello;

    model = 2;
    setup_one();
    peer = rig_peer_new(rig);
    memcpy(&hello, rig_peer_receive(peer, FARSIDE_WIRE_HELLO)->body,
           sizeof(hello));
    ck_assert_uint_eq(hello.chip, FARSIDE_WIRE_CHIP_INTEL);
    hello.partition = 1;
    hello.generation = 4;
    rig_peer_send(peer, FARSIDE_WIRE_HELLO, &hello, sizeof(hello));
    ck_assert(rig_peer_is_closed(peer));
}
END_TEST

/* A model with each layout of registers */
static const int fuzz_models[] = {0, 1, 4};

/* Anything a guest and a peer may send: the device lives, and answers. */
START_TEST(any_access_is_survived)
{
    static const ChipRange guest[] = {
        {AT(0), INTEL_BAR_SIZE},      {AT(0), 0x200},
        {AT(INTEL_XBASE), 0x40},      {AT(INTEL3_PEER_SPAD), 0x40},
        {AT(INTEL4_PEER_SPAD), 0x40}, {AT(INTEL3_EMBAR1XBASE), 0x20},
        {AT(INTEL4_LINK_CTRL), 0xc},  {AT(INTEL4_PPD0), 4},
        {AT(INTEL6_PPD0), 4},         {0, 0}};
    static const ChipRange far[] = {{FARSIDE_TWIN_TARGET, 0x28},
                                    {FARSIDE_TWIN_LINK, 4},
                                    {INTEL_SPAD, 4 * INTEL_SPADS},
                                    {0, INTEL_BAR_SIZE},
                                    {0, 0}};
    ChipFuzz fuzz = {.peers = 1, .guest = guest, .far = far};

    model = fuzz_models[_i];
    rig = rig_new_of(models[model].type, NULL,
                     CHIP_FUZZ_PROPERTIES ",bar2-size=1M,bar4-size=2M", NULL);
    fuzz.rig = rig;
    chip_fuzz(&fuzz, 8086 + (unsigned)_i);
    ck_assert_uint_eq(rig_config_read(rig, 0), models[model].identity);
    ck_assert_uint_eq(rig_read(rig, XLMT(0), 8), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("device_intel");
    TCase *tcase = chip_add_case(suite, "intel", NULL, teardown);

    tcase_add_loop_test(tcase, registers_are_those_of_the_page, 0, MODELS);
    tcase_add_loop_test(tcase, link_is_up_while_both_are_enabled, 0, MODELS);
    tcase_add_loop_test(tcase, scratchpads_belong_to_their_side, 0, MODELS);
    tcase_add_loop_test(tcase, windows_are_open_as_far_as_their_limit, 0, 3);
    tcase_add_loop_test(tcase, windows_are_closed_by_limits_link_and_reset, 0,
                        3);
    tcase_add_loop_test(tcase, doorbells_raise_the_vectors_of_the_table, 0, 2);
    tcase_add_loop_test(tcase, other_side_goes_and_returns, 0, 2);
    tcase_add_test(tcase, a_side_tells_what_it_is_asked);
    tcase_add_test(tcase, closed_window_is_not_used_after_the_answer);
    tcase_add_test(tcase, a_transfer_ends_before_the_answer);
    tcase_add_loop_test(tcase, closing_waits_for_the_owner, 0,
                        G_N_ELEMENTS(closing));
    tcase_add_test(tcase, another_generation_is_no_peer);
    tcase_add_loop_test(chip_add_fuzz(suite, teardown), any_access_is_survived,
                        0, (int)G_N_ELEMENTS(fuzz_models));
    return run_suite(suite);
}
