/* SPDX-License-Identifier: MIT */
/*
 * Invariant: the registers have the reset values, sizes, access and masks that
 * the tables of docs/reference/device.md give. An offset that no table names
 * reads as zero. The test reads the expected values from that page.
 */
#include <check.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include "device_page.h"
#include "device_rig.h"
#include "switchtec_regs.h"
#include "../suite.h"

#define GAS_SIZE 0x400000u

typedef PageRegister Register;

static GArray *registers;
static DeviceRig *rig;

/* The page */

/*
 * Other generations have a section of their own. Its registers replace those of
 * generation 3 at the same offsets and in the system information.
 */
static void replace_registers(const GArray *others)
{
    unsigned i, j;

    for (i = registers->len; i-- > 0;) {
        const Register *r = &g_array_index(registers, Register, i);
        bool replaced = r->offset >= 0x2000 && r->offset < 0x2200;

        for (j = 0; j < others->len; j++) {
            replaced |= r->offset == g_array_index(others, Register, j).offset;
        }
        if (replaced) {
            g_array_remove_index(registers, i);
        }
    }
    g_array_append_vals(registers, others->data, others->len);
}

static void read_page(unsigned generation)
{
    GArray *common, *others = NULL;
    g_auto(GStrv) lines = page_lines(g_getenv("FARSIDE_DEVICE_PAGE"));
    unsigned i;

    registers = common = g_array_new(FALSE, TRUE, sizeof(Register));
    for (i = 0; lines[i]; i++) {
        if (g_str_has_prefix(lines[i], "#### Generations 4 and 5")) {
            registers = others = g_array_new(FALSE, TRUE, sizeof(Register));
        } else if (g_str_has_prefix(lines[i], "### ")) {
            registers = common;
        }
        page_add(registers, lines[i], generation == 5);
    }
    registers = common;
    ck_assert_uint_gt(registers->len, 800);
    ck_assert_uint_gt(others->len, 10);
    if (generation > 3) {
        replace_registers(others);
    }
    g_array_free(others, TRUE);
}

static void setup(void)
{
    read_page(3);
    rig = rig_new("");
}

static void teardown(void)
{
    rig_free(rig);
    g_array_free(registers, TRUE);
}

/* All ones, of a size */
static uint64_t ones(unsigned size)
{
    return size == 8 ? UINT64_MAX : (1ull << (8 * size)) - 1;
}

static uint64_t read_register(const Register *r)
{
    return rig_read(rig, RIG_BAR0 + r->offset, r->size);
}

static void write_register(const Register *r, uint64_t value)
{
    rig_write(rig, RIG_BAR0 + r->offset, r->size, value);
}

static void check_resets(void)
{
    unsigned i;

    for (i = 0; i < registers->len; i++) {
        const Register *r = &g_array_index(registers, Register, i);
        uint64_t value = read_register(r);

        ck_assert_msg(!r->has_reset || value == r->reset,
                      "0x%x is 0x%" G_GINT64_MODIFIER
                      "x, but the page says 0x%" G_GINT64_MODIFIER "x",
                      r->offset, value, r->reset);
    }
}

START_TEST(reset_values_are_those_of_the_page)
{
    check_resets();
}
END_TEST

/* Writes @value. The bits of @mask must then read back. */
static void check_write(const Register *r, uint64_t value, uint64_t mask)
{
    uint64_t before = read_register(r);
    uint64_t expected = (before & ~mask) | (value & mask);
    uint64_t after;

    if (strcmp(r->access, "EV") == 0) {
        expected &= ~(value & 1);
    }
    write_register(r, value);
    after = read_register(r);
    ck_assert_msg(after == (expected & ones(r->size)),
                  "%s 0x%x was 0x%" G_GINT64_MODIFIER
                  "x, after a write of 0x%" G_GINT64_MODIFIER
                  "x it is 0x%" G_GINT64_MODIFIER "x",
                  r->access, r->offset, before, value, after);
}

static void check_writes(const char *access, bool takes)
{
    static const uint64_t values[] = {UINT64_MAX, 0x5aa55aa5a55aa55aull,
                                      0xa55aa55a5aa55aa5ull, 0};
    unsigned i, j;

    for (i = 0; i < registers->len; i++) {
        const Register *r = &g_array_index(registers, Register, i);

        if (strcmp(r->access, access) != 0) {
            continue;
        }
        for (j = 0; j < G_N_ELEMENTS(values); j++) {
            check_write(r, values[j], takes ? r->mask : 0);
        }
    }
}

START_TEST(writes_take_the_bits_of_the_mask)
{
    check_writes("RO", false);
    check_writes("WO", false);
    check_writes("W1C", false);
    check_writes("RW", true);
    check_writes("EV", true);
}
END_TEST

START_TEST(control_blocks_take_writes_only_while_locked)
{
    unsigned part;

    check_writes("RWL", false);
    for (part = 0; part < 2; part++) {
        rig_part_op(rig, part, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKED);
    }
    check_writes("RWL", true);
    for (part = 0; part < 2; part++) {
        rig_part_op(rig, part, SWITCHTEC_OP_RESET, SWITCHTEC_STATUS_NORMAL);
    }
    /* A reset discards staged values. */
    check_resets();
}
END_TEST

START_TEST(function_level_reset_restores_the_page)
{
    rig_part_op(rig, 0, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKED);
    check_writes("RW", true);
    check_writes("EV", true);
    rig_write(rig, RIG_BAR0 + 0x75018, 8, UINT64_MAX);
    rig_write(rig, RIG_BAR0 + 0x800, 4, 65);
    rig_reset(rig);
    check_resets();
}
END_TEST

/* Marks the bytes that the page's registers cover. */
static uint8_t *covered_bytes(void)
{
    uint8_t *covered = g_malloc0(GAS_SIZE);
    unsigned i;

    for (i = 0; i < registers->len; i++) {
        const Register *r = &g_array_index(registers, Register, i);

        memset(covered + r->offset, 1, r->size);
    }
    /* QEMU's PCI core implements the MSI-X table and PBA. */
    memset(covered + 0x76000, 1, 32 * 16);
    memset(covered + 0x77000, 1, 8);
    return covered;
}

static void check_unnamed(void)
{
    g_autofree uint8_t *covered = covered_bytes();
    GRand *random = g_rand_new_with_seed(20201);
    unsigned i, offset, tried = 0;

    for (i = 0; i < 20000 && tried < 6000; i++) {
        /* Half of them near the registers. */
        offset = g_rand_int_range(random, 0, i & 1 ? GAS_SIZE : 0x6000);
        offset += i & 1 ? 0 : (i & 2 ? 0x14000 - 0x4000 : 0);
        if (covered[offset]) {
            continue;
        }
        tried++;
        rig_write(rig, RIG_BAR0 + offset, 1, 0xff);
        ck_assert_msg(rig_read(rig, RIG_BAR0 + offset, 1) == 0,
                      "0x%x is not zero", offset);
    }
    ck_assert_uint_ge(tried, 3000);
    g_rand_free(random);
}

START_TEST(other_offsets_read_as_zero)
{
    check_unnamed();
}
END_TEST

/* _i: the generation */
START_TEST(other_generations_have_their_page)
{
    g_autofree char *properties = g_strdup_printf("generation=%d", _i);

    read_page(_i);
    rig = rig_new(properties);
    ck_assert_uint_eq(rig_config_read(rig, 0), 0x11f8 | (uint32_t)_i << 28);
    check_resets();
    check_unnamed();
    check_writes("RO", false);
    check_writes("RW", true);
    rig_reset(rig);
    check_resets();
    teardown();
}
END_TEST

START_TEST(accesses_of_all_sizes_are_made_of_bytes)
{
    static const unsigned sizes[] = {2, 4, 8};
    GRand *random = g_rand_new_with_seed(77);
    uint64_t value, expected;
    unsigned i, j, offset, size;

    rig_part_op(rig, 0, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKED);
    for (i = 0; i < registers->len; i += 7) {
        const Register *r = &g_array_index(registers, Register, i);

        if (strcmp(r->access, "RWL") == 0) {
            write_register(r, 0x0123456789abcdefull * (i + 1));
        }
    }
    for (i = 0; i < 3000; i++) {
        const Register *r = &g_array_index(
            registers, Register, g_rand_int_range(random, 0, registers->len));

        size = sizes[i % 3];
        offset = r->offset + g_rand_int_range(random, 0, 8);
        expected = 0;
        for (j = 0; j < size; j++) {
            expected |= rig_read(rig, RIG_BAR0 + offset + j, 1) << (8 * j);
        }
        value = rig_read(rig, RIG_BAR0 + offset, size);
        ck_assert_msg(value == expected, "%u bytes at 0x%x", size, offset);
    }
    g_rand_free(random);
}
END_TEST

START_TEST(echo_is_the_complement)
{
    rig_write(rig, RIG_BAR0, 4, 0x12345678);
    rig_write(rig, RIG_BAR0 + 0x800, 4, 65);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR0 + 0x804, 4), 2);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR0 + 0x808, 4), 0);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR0 + 0x400, 4), 0xedcba987u);
    /* MRPC_COMP happened once, and is cleared by writing 1. */
    ck_assert_uint_eq(rig_read(rig, RIG_BAR0 + 0x413c, 4), 1 | 1 << 5);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR0 + 0x4114, 4), 2);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR0 + 0x1810, 8), 1);
    rig_write(rig, RIG_BAR0 + 0x413c, 4, 1);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR0 + 0x413c, 4), 1 << 5);
}
END_TEST

START_TEST(gas_read_stays_inside)
{
    rig_write(rig, RIG_BAR0, 4, 0x2000);
    rig_write(rig, RIG_BAR0 + 4, 4, 4);
    rig_write(rig, RIG_BAR0 + 0x800, 4, 41);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR0 + 0x804, 4), 2);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR0 + 0x400, 4), 0x8536);
    rig_write(rig, RIG_BAR0, 4, 0x3ffffd);
    rig_write(rig, RIG_BAR0 + 0x800, 4, 41);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR0 + 0x804, 4), 0xff);
    rig_write(rig, RIG_BAR0, 4, 0);
    rig_write(rig, RIG_BAR0 + 4, 4, 1025);
    rig_write(rig, RIG_BAR0 + 0x800, 4, 41);
    /* ERR_PARAM_INVALID, and ERR_CMD_INVALID, of switchtec-user's errors.h */
    ck_assert_uint_eq(rig_read(rig, RIG_BAR0 + 0x808, 4), 0x64006);
    rig_write(rig, RIG_BAR0 + 0x800, 4, 0xffff);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR0 + 0x804, 4), 0xff);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR0 + 0x808, 4), 0x64005);
}
END_TEST

/* The holder of the lock may ask for it again: a driver does that if the driver
 * before it crashed. */
START_TEST(lock_while_locked_changes_nothing)
{
    const uint64_t entry = RIG_BAR0 + 0x15000 + 8 * 3;

    rig_part_op(rig, 0, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKED);
    rig_write(rig, entry, 8, 0x30003);
    rig_part_op(rig, 0, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKED);
    ck_assert_uint_eq(rig_read(rig, entry, 8), 0x30003);
    rig_part_op(rig, 0, SWITCHTEC_OP_RESET, SWITCHTEC_STATUS_NORMAL);
    ck_assert_uint_eq(rig_read(rig, entry, 8), 0);
    rig_part_op(rig, 0, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKED);
    ck_assert_uint_eq(rig_read(rig, entry, 8), 0);
}
END_TEST

/* CFG refuses a wrong block, tells the place, and keeps the lock. */
static void check_refused(unsigned part, unsigned error_offset, unsigned error)
{
    uint64_t block = RIG_BAR0 + 0x14000 + part * 0x2000;

    rig_part_op(rig, part, SWITCHTEC_OP_CFG, SWITCHTEC_STATUS_LOCKED);
    ck_assert_uint_eq(rig_read(rig, block + error_offset, 4), error);
    rig_part_op(rig, part, SWITCHTEC_OP_RESET, SWITCHTEC_STATUS_NORMAL);
}

START_TEST(cfg_refuses_what_cannot_be)
{
    static const struct {
        uint32_t ctl, win_size;
        uint64_t xlate;
    } bad[] = {
        {0x10, 0, 0x100001},               /* size 0 */
        {0x10, 20 | 0x200000, 0x200001},   /* log2 of 2 MiB is 21 */
        {0x10, 21 | 0x200000, 0x100001},   /* not aligned */
        {0x10, 21 | 0x200000, 0x200002},   /* partition 2 */
        {0x10, 24 | 0x1000000, 0x1000001}, /* beyond the BAR */
        {0x20 | 16 << 8 | 64 << 14, 0, 0}, /* 65 windows */
        {0x20 | 11 << 8, 0, 0},            /* of 2 KiB */
        {0x20 | 18 << 8 | 63 << 14, 0, 0}, /* 16 MiB in all */
    };
    uint64_t block;
    unsigned part, i;

    for (part = 0; part < 2; part++) {
        block = RIG_BAR0 + 0x14000 + part * 0x2000;
        for (i = 0; i < G_N_ELEMENTS(bad); i++) {
            rig_part_op(rig, part, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKED);
            rig_write(rig, block + 0x60, 4, bad[i].ctl);
            rig_write(rig, block + 0x64, 4, bad[i].win_size);
            rig_write(rig, block + 0x68, 8, bad[i].xlate);
            check_refused(part, 0x10, 3);
        }
        rig_part_op(rig, part, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKED);
        rig_write(rig, block + 0x40, 4, 0x20 | 16 << 8);
        check_refused(part, 0x10, 1);
        rig_part_op(rig, part, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKED);
        rig_write(rig, block + 0x1000 + 8 * 5, 8, 1 | 2 << 1 | 0x10000);
        check_refused(part, 0x18, 6);
    }
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("device_registers");
    TCase *tcase = tcase_create("registers");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, reset_values_are_those_of_the_page);
    tcase_add_test(tcase, writes_take_the_bits_of_the_mask);
    tcase_add_test(tcase, control_blocks_take_writes_only_while_locked);
    tcase_add_test(tcase, function_level_reset_restores_the_page);
    tcase_add_test(tcase, other_offsets_read_as_zero);
    tcase_add_test(tcase, accesses_of_all_sizes_are_made_of_bytes);
    tcase_add_test(tcase, echo_is_the_complement);
    tcase_add_test(tcase, gas_read_stays_inside);
    tcase_add_test(tcase, lock_while_locked_changes_nothing);
    tcase_add_test(tcase, cfg_refuses_what_cannot_be);
    suite_add_tcase(suite, tcase);

    tcase = tcase_create("generations");
    tcase_add_loop_test(tcase, other_generations_have_their_page, 4, 6);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return run_suite(make_suite());
}
