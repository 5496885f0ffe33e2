/* SPDX-License-Identifier: MIT */
/*
 * Invariant: the endpoint function has the registers of docs/reference/epf.md,
 * executes the commands of both hosts, and a window that its target closes is
 * used by nobody when the guest goes on.
 */
#include <check.h>
#include <glib.h>
#include <string.h>
#include "device_chip.h"
#include "epf_regs.h"
#include "twin_regs.h"
#include "../suite.h"

#define TYPE       "farside-epf"
#define MIB        (1ull << 20)
#define PROPERTIES "completion-timeout=60000,bar4-size=1M"
#define IDENTITY   0x08091957u
#define AT(reg)    (RIG_BAR0 + (reg))
#define FAR_SPAD   AT(EPF_SPAD + 4 * EPF_SPADS)
#define BELL(n)    (RIG_BAR2 + 4 * (n))

static DeviceRig *rig;
static DeviceRig *other; /* in tests of two machines */
static RigPeer *peer;    /* the far end that the test plays itself */

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

/* A command, as the driver gives it. Returns its status. */
static uint64_t command(DeviceRig *machine, uint32_t number, uint32_t argument)
{
    uint64_t status;

    rig_write(machine, AT(EPF_ARGUMENT), 4, argument);
    rig_write(machine, AT(EPF_COMMAND), 4, number);
    status = rig_read(machine, AT(EPF_STATUS), 2);
    rig_write(machine, AT(EPF_STATUS), 2, 0);
    return status;
}

static uint64_t configure_window(DeviceRig *machine, uint64_t target,
                                 uint64_t size)
{
    rig_write(machine, AT(EPF_ADDR), 4, target & UINT32_MAX);
    rig_write(machine, AT(EPF_ADDR) + 4, 4, target >> 32);
    rig_write(machine, AT(EPF_SIZE), 4, size & UINT32_MAX);
    rig_write(machine, AT(EPF_SIZE) + 4, 4, size >> 32);
    return command(machine, EPF_CONFIGURE_MW, 0);
}

/* The page */

static GArray *read_page(const char *section)
{
    g_auto(GStrv) lines = page_lines(g_getenv("FARSIDE_EPF_PAGE"));
    GArray *registers = g_array_new(FALSE, TRUE, sizeof(PageRegister));
    bool is_ours = false;

    for (unsigned i = 0; lines[i]; i++) {
        if (g_str_has_prefix(lines[i], "### ")) {
            is_ours = strcmp(lines[i] + strlen("### "), section) == 0;
        } else if (is_ours) {
            page_add(registers, lines[i], false);
        }
    }
    return registers;
}

static void check_resets(const GArray *registers, uint64_t base)
{
    for (unsigned i = 0; i < registers->len; i++) {
        const PageRegister *r = &g_array_index(registers, PageRegister, i);

        ck_assert_msg(rig_read(rig, base + r->offset, r->size) == r->reset,
                      "0x%x", r->offset);
    }
}

START_TEST(registers_are_those_of_the_page)
{
    GArray *registers = read_page("BAR 0"), *doorbells = read_page("BAR 2");

    ck_assert_uint_eq(registers->len, 12 + 64 + 32);
    ck_assert_uint_eq(doorbells->len, 32);
    ck_assert_uint_eq(rig_config_read(rig, 0), IDENTITY);
    ck_assert_uint_eq(rig_config_read(rig, 8), 0x05000000);
    check_resets(registers, RIG_BAR0);
    check_resets(doorbells, RIG_BAR2);
    /* A write of COMMAND sets STATUS, which comes later in the table. */
    for (unsigned i = 0; i < registers->len; i++) {
        const PageRegister *r = &g_array_index(registers, PageRegister, i);

        chip_check_writes(rig, r, r->mask);
        rig_write(rig, AT(EPF_STATUS), 2, 0);
    }
    chip_check_gaps(rig, registers, EPF_BAR_SIZE, EPF_MSIX_TABLE, EPF_VECTORS,
                    2000);
    for (unsigned offset = 0; offset < EPF_DOORBELLS_BAR; offset += 52) {
        rig_write(rig, RIG_BAR2 + offset, 4, 1);
        ck_assert_uint_eq(rig_read(rig, RIG_BAR2 + offset, 4), 0);
    }
    rig_write(rig, AT(EPF_SPAD), 4, 0x1234);
    rig_reset(rig);
    check_resets(registers, RIG_BAR0);
    g_array_free(registers, TRUE);
    g_array_free(doorbells, TRUE);
}
END_TEST

static const struct {
    uint32_t number;
    uint32_t argument;
    uint64_t status;
} commands[] = {
    {EPF_CONFIGURE_DOORBELL, EPF_DOORBELL_MSIX | 32, EPF_STATUS_OK},
    {EPF_CONFIGURE_DOORBELL, EPF_DOORBELL_MSIX | 33, EPF_STATUS_ERROR},
    {EPF_CONFIGURE_DOORBELL, EPF_DOORBELL_MSIX, EPF_STATUS_ERROR},
    {EPF_CONFIGURE_DOORBELL, 4, EPF_STATUS_ERROR},
    {EPF_TEARDOWN_DOORBELL, 32, EPF_STATUS_OK},
    {EPF_TEARDOWN_MW, 0, EPF_STATUS_OK},
    {EPF_TEARDOWN_MW, 1, EPF_STATUS_ERROR},
    {EPF_CONFIGURE_MW, 1, EPF_STATUS_ERROR},
    {EPF_LINK_UP, 0, EPF_STATUS_OK},
    {EPF_LINK_DOWN, 0, EPF_STATUS_OK},
    {0, 0, EPF_STATUS_ERROR},
    {7, 0, EPF_STATUS_ERROR},
    {UINT32_MAX, UINT32_MAX, EPF_STATUS_ERROR},
};

START_TEST(commands_are_done_or_refused)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(commands); i++) {
        ck_assert_msg(command(rig, commands[i].number, commands[i].argument) ==
                          commands[i].status,
                      "command %u", i);
    }
    ck_assert_uint_eq(configure_window(rig, 4 * MIB, MIB), EPF_STATUS_OK);
    ck_assert_uint_eq(configure_window(rig, 4 * MIB, MIB + 1),
                      EPF_STATUS_ERROR);
    ck_assert_uint_eq(configure_window(rig, 4 * MIB + 8, 8), EPF_STATUS_ERROR);
    ck_assert_uint_eq(configure_window(rig, 1ull << 40, 8), EPF_STATUS_OK);
}
END_TEST

/* Two machines */

static void wait_link(DeviceRig *machine, bool up)
{
    rig_wait_for(machine, AT(EPF_LINK_STATUS), 2, up);
}

START_TEST(link_is_up_while_both_are_enabled)
{
    DeviceRig *sides[] = {rig, other};

    for (unsigned me = 0; me < 2; me++) {
        command(sides[me], EPF_LINK_UP, 0);
        g_usleep(20000);
        ck_assert_uint_eq(rig_read(rig, AT(EPF_LINK_STATUS), 2), 0);
        command(sides[1 - me], EPF_LINK_UP, 0);
        wait_link(rig, true);
        wait_link(other, true);
        command(sides[me], EPF_LINK_DOWN, 0);
        wait_link(rig, false);
        wait_link(other, false);
        command(sides[1 - me], EPF_LINK_DOWN, 0);
    }
    command(rig, EPF_LINK_UP, 0);
    command(other, EPF_LINK_UP, 0);
    wait_link(rig, true);
    rig_reset(other);
    wait_link(rig, false);
    command(other, EPF_LINK_UP, 0);
    wait_link(rig, true);
    /* The other process ends, and another one comes in its place. */
    rig_free(other);
    wait_link(rig, false);
    other = rig_new_of(TYPE, rig_link_path(rig), PROPERTIES, NULL);
    command(other, EPF_LINK_UP, 0);
    wait_link(rig, true);
    wait_link(other, true);
}
END_TEST

START_TEST(scratchpads_belong_to_their_side)
{
    DeviceRig *sides[] = {rig, other};

    for (unsigned me = 0; me < 2; me++) {
        for (unsigned i = 0; i < EPF_SPADS; i++) {
            uint32_t value = 0x1000 * (me + 1) + i;

            rig_write(sides[me], FAR_SPAD + 4 * i, 4, value);
            ck_assert_uint_eq(rig_read(sides[me], FAR_SPAD + 4 * i, 4), value);
            ck_assert_uint_eq(rig_read(sides[1 - me], AT(EPF_SPAD) + 4 * i, 4),
                              value);
        }
    }
}
END_TEST

START_TEST(window_is_open_as_configured)
{
    static const uint64_t sizes[] = {0x10000, 0x1800, MIB};
    uint8_t *ram = rig_ram(rig) + 4 * MIB;

    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        uint64_t end = RIG_BAR4 + sizes[i];

        ck_assert_uint_eq(configure_window(rig, 4 * MIB, sizes[i]),
                          EPF_STATUS_OK);
        rig_write(other, RIG_BAR4 + 8, 8, 0x1122334455667788ull + i);
        rig_write(other, end - 8, 8, 0x99 + i);
        rig_wait_for(rig, 4 * MIB + 8, 8, 0x1122334455667788ull + i);
        rig_wait_for(rig, 4 * MIB + sizes[i] - 8, 8, 0x99 + i);
        if (sizes[i] < MIB) {
            ram[sizes[i]] = 0x77;
            ck_assert_uint_eq(rig_read(other, end, 4), 0xffffffff);
            rig_write(other, end, 4, 1);
        }
        ck_assert_uint_eq(command(rig, EPF_TEARDOWN_MW, 0), EPF_STATUS_OK);
        ck_assert_uint_eq(rig_read(other, RIG_BAR4 + 8, 4), 0xffffffff);
        rig_write(other, RIG_BAR4 + 8, 4, 1);
        ck_assert_uint_eq(rig_read(rig, 4 * MIB + 8, 8),
                          0x1122334455667788ull + i);
        ck_assert(sizes[i] == MIB || ram[sizes[i]] == 0x77);
    }
    /* It is there again for a host that was reset, and gone with its target. */
    configure_window(rig, 4 * MIB, 0x1000);
    rig_reset(other);
    rig_wait_for(other, RIG_BAR4 + 8, 8, 0x1122334455667788ull + 2);
    rig_reset(rig);
    rig_wait_for(other, RIG_BAR4 + 8, 8, UINT64_MAX);
}
END_TEST

START_TEST(doorbells_raise_configured_vectors)
{
    chip_enable_interrupts(rig, EPF_MSIX_TABLE, EPF_VECTORS);
    rig_write(other, BELL(2), 4, 1);
    rig_write(other, FAR_SPAD, 4, 1); /* comes behind the doorbell */
    rig_wait_for(rig, AT(EPF_SPAD), 4, 1);
    ck_assert_uint_eq(chip_raised(rig, EPF_VECTORS), 0);
    command(rig, EPF_CONFIGURE_DOORBELL, EPF_DOORBELL_MSIX | 31);
    rig_write(other, BELL(2), 4, 1);
    rig_write(other, BELL(3), 4, 2);
    rig_write(other, BELL(30), 4, 1);
    rig_write(other, BELL(31), 4, 1);
    rig_write(other, FAR_SPAD, 4, 2);
    rig_wait_for(rig, AT(EPF_SPAD), 4, 2);
    ck_assert_uint_eq(chip_raised(rig, EPF_VECTORS), 1u << 30 | 1u << 2);
    command(other, EPF_LINK_UP, 0);
    command(rig, EPF_LINK_UP, 0);
    wait_link(rig, true);
    ck_assert_uint_eq(chip_raised(rig, EPF_VECTORS), 1);
    command(rig, EPF_TEARDOWN_DOORBELL, 31);
    rig_write(other, BELL(2), 4, 1);
    rig_write(other, FAR_SPAD, 4, 3);
    rig_wait_for(rig, AT(EPF_SPAD), 4, 3);
    ck_assert_uint_eq(chip_raised(rig, EPF_VECTORS), 0);
}
END_TEST

/* The far end that the test plays */

START_TEST(far_end_reaches_scratchpads_alone)
{
    static const uint64_t offsets[] = {EPF_COMMAND, EPF_DB_DATA,
                                       EPF_SPAD + 4 * EPF_SPADS, EPF_BAR_SIZE,
                                       1ull << 40};

    chip_send_write(peer, FARSIDE_WIRE_REGISTERS_NP, EPF_SPAD, 7, 4, 1);
    chip_expect_completion(peer, 1, FARSIDE_WIRE_SC);
    ck_assert_uint_eq(rig_read(rig, AT(EPF_SPAD), 4), 7);
    for (unsigned i = 0; i < G_N_ELEMENTS(offsets); i++) {
        chip_send_write(peer, FARSIDE_WIRE_REGISTERS_NP, offsets[i], 1, 4, 2);
        chip_expect_completion(peer, 2, FARSIDE_WIRE_UR);
    }
}
END_TEST

/* The command that closes a window waits for the owner of the BAR. */
START_TEST(closing_waits_for_the_owner)
{
    struct farside_wire_completion c = {.status = FARSIDE_WIRE_SC};
    static const uint32_t numbers[] = {EPF_CONFIGURE_MW, EPF_TEARDOWN_MW};
    struct farside_wire_write m;

    rig_write(rig, AT(EPF_SIZE), 4, 0x1000);
    for (unsigned i = 0; i < 2; i++) {
        rig_write_begin(rig, AT(EPF_COMMAND), 4, numbers[i]);
        do {
            memcpy(&m, rig_peer_receive(peer, FARSIDE_WIRE_WRITE)->body,
                   sizeof(m));
        } while (m.space != FARSIDE_WIRE_REGISTERS_NP);
        ck_assert_uint_eq(m.address, FARSIDE_TWIN_SIZE + 8);
        g_usleep(30000);
        ck_assert(!rig_has_answered(rig));
        c.tag = m.tag;
        rig_peer_send(peer, FARSIDE_WIRE_COMPLETION, &c, sizeof(c));
        rig_write_end(rig);
    }
}
END_TEST

/* Anything a guest and a peer may send: the device lives, and answers. */
START_TEST(any_access_is_survived)
{
    static const ChipRange guest[] = {{AT(0), EPF_BAR_SIZE},
                                      {AT(EPF_COMMAND), 0x20},
                                      {AT(EPF_SPAD), 8 * EPF_SPADS},
                                      {RIG_BAR2, EPF_DOORBELLS_BAR},
                                      {BELL(0), 0x80},
                                      {0, 0}};
    static const ChipRange far[] = {{FARSIDE_TWIN_TARGET, 0x28},
                                    {FARSIDE_TWIN_LINK, 4},
                                    {EPF_SPAD, 4 * EPF_SPADS},
                                    {0, 0x200},
                                    {0, 0}};
    ChipFuzz fuzz = {.peers = 1, .guest = guest, .far = far};

    rig = rig_new_of(TYPE, NULL, CHIP_FUZZ_PROPERTIES ",bar4-size=1M", NULL);
    fuzz.rig = rig;
    chip_fuzz(&fuzz, 1957);
    ck_assert_uint_eq(rig_config_read(rig, 0), IDENTITY);
    ck_assert_uint_eq(command(rig, EPF_LINK_DOWN, 0), EPF_STATUS_OK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("device_epf");
    TCase *tcase = chip_add_case(suite, "one side", setup_one, teardown);

    tcase_add_test(tcase, registers_are_those_of_the_page);
    tcase_add_test(tcase, commands_are_done_or_refused);
    tcase = chip_add_case(suite, "two sides", setup_two, teardown);
    tcase_add_test(tcase, link_is_up_while_both_are_enabled);
    tcase_add_test(tcase, scratchpads_belong_to_their_side);
    tcase_add_test(tcase, window_is_open_as_configured);
    tcase_add_test(tcase, doorbells_raise_configured_vectors);
    tcase = chip_add_case(suite, "a peer", setup_peer, teardown);
    tcase_add_test(tcase, far_end_reaches_scratchpads_alone);
    tcase_add_test(tcase, closing_waits_for_the_owner);
    tcase_add_test(chip_add_fuzz(suite, teardown), any_access_is_survived);
    return run_suite(suite);
}
