/* SPDX-License-Identifier: MIT */
/*
 * Invariant: with window-ram=on, the parts of the windows that lead to the
 * peer's RAM are RAM of this machine, and nothing else is. They are so no
 * longer when the peer is told that a window has changed, after its reset or
 * its death, while the link is down, and while a trace is on.
 */
#define _GNU_SOURCE
#include <check.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "device_far_end.h"
#include "switchtec_regs.h"
#include "../suite.h"

#define MIB      (1ull << 20)
#define LUT_SIZE 0x10000ull
#define LUTS     64
/* The most parts of one device's windows that are RAM: device.md, "Windows" */
#define PARTS    64

#define PROPERTIES "completion-timeout=60000,"

/* A range of the machine's physical memory that is RAM of the peer */
typedef struct {
    uint64_t first;
    uint64_t last;
} Range;

static void start(const char *properties)
{
    rig = rig_new(properties);
    peer = rig_peer_new(rig);
    far_end_connect();
}

static void setup(void)
{
    start(PROPERTIES "window-ram=on");
}

/* For a test in which the device asks the peer, which does not answer. */
static void setup_impatient(void)
{
    start("completion-timeout=300,window-ram=on");
}

static int compare(const void *a, const void *b)
{
    const Range *x = a, *y = b;

    return x->first < y->first ? -1 : x->first > y->first;
}

/*
 * The ranges, by address. QEMU's list of flat views would be simpler to read,
 * but QEMU 7.2 never frees a flat view that it has listed.
 */
static unsigned ranges(Range *ret, unsigned max)
{
    char *text = rig_qmp(rig, "{\"execute\": \"human-monitor-command\", "
                              "\"arguments\": {\"command-line\": "
                              "\"info mtree\"}}");
    const char *memory = strstr(text, "address-space: memory\\r\\n");
    g_auto(GStrv) trees = g_strsplit(memory, "\\r\\n\\r\\n", 2);
    g_auto(GStrv) lines = g_strsplit(trees[0], "\\r\\n", -1);
    unsigned count = 0;

    free(text);
    for (char **line = lines; *line; line++) {
        Range r;

        if (!strstr(*line, "ram): alias farside-window-ram")) {
            continue;
        }
        ck_assert_uint_lt(count, max);
        ck_assert_int_eq(
            sscanf(*line, " %" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x ",
                   &r.first, &r.last),
            2);
        ret[count++] = r;
    }
    qsort(ret, count, sizeof(*ret), compare);
    return count;
}

static unsigned count(void)
{
    Range r[2 * PARTS];

    return ranges(r, 2 * PARTS);
}

/* Checks that there is one range, with @size bytes from @address on. */
static void check_one(uint64_t address, uint64_t size)
{
    Range r[2 * PARTS];

    ck_assert_uint_eq(ranges(r, 2 * PARTS), 1);
    ck_assert_uint_eq(r[0].first, address);
    ck_assert_uint_eq(r[0].last, address + size - 1);
}

static void wait_count(unsigned wanted)
{
    gint64 deadline = rig_deadline();

    while (count() != wanted) {
        ck_assert_int_lt(g_get_monotonic_time(), deadline);
        g_usleep(1000);
    }
}

static uint64_t lut_window(unsigned entry)
{
    return RIG_BAR2 + entry * LUT_SIZE;
}

static uint64_t leads_to(uint64_t target)
{
    return target | 1 << 1 | 1;
}

/* Closes the windows with which far_end_connect() begins. */
static void close_all(void)
{
    rig_peer_open(peer, NULL, 0);
    rig_peer_set_lut(peer, 0, 0);
}

START_TEST(a_window_onto_ram_is_ram)
{
    uint8_t *ram = rig_peer_give_ram(peer, 16 * MIB, 4 * MIB, true);

    rig_peer_set_lut(peer, 3, leads_to(17 * MIB));
    check_one(lut_window(3), LUT_SIZE);
    rig_write(rig, lut_window(3) + 8, 8, 0x1122334455667788);
    ck_assert_uint_eq(*(uint64_t *)(ram + MIB + 8), 0x1122334455667788);
    *(uint64_t *)(ram + MIB + 0xfff8) = 0x99;
    ck_assert_uint_eq(rig_read(rig, lut_window(3) + 0xfff8, 8), 0x99);
    /* It leads elsewhere as soon as the peer is told so. */
    rig_peer_set_lut(peer, 3, leads_to(18 * MIB));
    check_one(lut_window(3), LUT_SIZE);
    rig_write(rig, lut_window(3) + 8, 8, 5);
    ck_assert_uint_eq(*(uint64_t *)(ram + 2 * MIB + 8), 5);
    ck_assert_uint_eq(*(uint64_t *)(ram + MIB + 8), 0x1122334455667788);
    rig_peer_set_lut(peer, 3, 0);
    ck_assert_uint_eq(count(), 0);
    ck_assert_uint_eq(rig_read(rig, lut_window(3), 8), UINT64_MAX);
}
END_TEST

START_TEST(without_kvm_no_window_is_ram_by_itself)
{
    static const char *const properties[] = {
        PROPERTIES "window-ram=auto",
        PROPERTIES "window-ram=off",
    };

    start(properties[_i]);
    rig_peer_give_ram(peer, 16 * MIB, 4 * MIB, true);
    rig_peer_set_lut(peer, 3, leads_to(17 * MIB));
    ck_assert_uint_eq(count(), 0);
}
END_TEST

/* RAM from 16 MiB + 32 KiB on; the window begins 32 KiB before it. */
START_TEST(the_rest_of_a_window_is_forwarded)
{
    struct farside_wire_read read;

    rig_peer_give_ram(peer, 16 * MIB + LUT_SIZE / 2, 4 * MIB, true);
    rig_peer_set_lut(peer, 1, leads_to(16 * MIB));
    check_one(lut_window(1) + LUT_SIZE / 2, LUT_SIZE / 2);
    rig_read_begin(rig, lut_window(1) + LUT_SIZE / 2 - 8, 8);
    memcpy(&read, rig_peer_receive(peer, FARSIDE_WIRE_READ)->body,
           sizeof(read));
    ck_assert_uint_eq(read.address, 16 * MIB + LUT_SIZE / 2 - 8);
    rig_peer_free(peer);
    peer = NULL;
    ck_assert_uint_eq(rig_read_end(rig), UINT64_MAX);
}
END_TEST

static struct farside_wire_ctrl lock_block(void)
{
    struct farside_wire_lock lock = {.id = 7};
    struct farside_wire_ctrl block;

    rig_peer_send(peer, FARSIDE_WIRE_LOCK, &lock, sizeof(lock));
    memcpy(&block, rig_peer_receive(peer, FARSIDE_WIRE_LOCKED)->body,
           sizeof(block));
    return block;
}

static void configure(const struct farside_wire_ctrl *block)
{
    rig_peer_send(peer, FARSIDE_WIRE_CONFIG, block, sizeof(*block));
    rig_peer_receive(peer, FARSIDE_WIRE_CONFIGURED);
}

/* All entries, last first in the peer's RAM, and a direct window in BAR 4. */
static struct farside_wire_ctrl all_windows(void)
{
    struct farside_wire_ctrl block = lock_block();
    unsigned i;

    block.bar[2].ctl = RIG_LUT_CTL;
    for (i = 0; i < LUTS; i++) {
        block.lut[i] = leads_to((LUTS - 1 - i) * LUT_SIZE);
    }
    block.bar[4].ctl = SWITCHTEC_BAR_DIR_EN;
    block.bar[4].win_size = 4 * MIB | 22;
    block.bar[4].xlate = 1;
    return block;
}

START_TEST(parts_that_are_too_many_are_slower_and_the_same)
{
    uint64_t *ram = (uint64_t *)rig_peer_give_ram(peer, 0, 4 * MIB, true);
    struct farside_wire_ctrl block = all_windows();
    Range r[2 * PARTS];
    unsigned i;

    for (i = 0; i < 4 * MIB / 8; i++) {
        ram[i] = i * 3;
    }
    configure(&block);
    ck_assert_uint_eq(ranges(r, 2 * PARTS), PARTS);
    /* 65 windows: the largest one is RAM, and of the others all but one. */
    ck_assert_uint_eq(r[PARTS - 1].first, RIG_BAR4);
    ck_assert_uint_eq(r[PARTS - 1].last, RIG_BAR4 + 4 * MIB - 1);
    for (i = 0; i < LUTS; i++) {
        ck_assert_uint_eq(rig_read(rig, lut_window(i) + 16, 8),
                          ((LUTS - 1 - i) * LUT_SIZE / 8 + 2) * 3);
    }
    /* Those that stay are the same, and the free place is taken. */
    block = lock_block();
    block.lut[5] = 0;
    configure(&block);
    wait_count(PARTS);
    for (i = 0; i < LUTS; i++) {
        ck_assert_uint_eq(rig_read(rig, lut_window(i) + 8, 8),
                          i == 5 ? UINT64_MAX
                                 : ((LUTS - 1 - i) * LUT_SIZE / 8 + 1) * 3);
    }
}
END_TEST

/* Many changes of all windows at once, quicker than old parts are freed. */
START_TEST(windows_that_change_at_once_are_ram_again)
{
    uint64_t *ram = (uint64_t *)rig_peer_give_ram(peer, 0, 8 * MIB, true);
    struct farside_wire_ctrl block = all_windows();
    unsigned round, i;

    for (i = 0; i < 8 * MIB / 8; i++) {
        ram[i] = i;
    }
    configure(&block);
    for (round = 1; round <= 20; round++) {
        block = lock_block();
        for (i = 0; i < LUTS; i++) {
            block.lut[i] = leads_to((i + round) * LUT_SIZE);
        }
        block.bar[4].xlate = round % 2 * 4 * MIB | 1;
        configure(&block);
        i = round * 3;
        ck_assert_uint_eq(rig_read(rig, lut_window(i), 8),
                          (i + round) * LUT_SIZE / 8);
        ck_assert_uint_eq(rig_read(rig, RIG_BAR4 + 8, 8),
                          round % 2 * 4 * MIB / 8 + 1);
    }
    wait_count(PARTS);
}
END_TEST

START_TEST(nothing_is_ram_after_the_link)
{
    struct farside_wire_link state = {.up = 0};
    uint8_t *ram = rig_peer_give_ram(peer, 0, 4 * MIB, true);
    char *answer;

    ram[MIB] = 1;
    close_all();
    rig_peer_set_lut(peer, 0, leads_to(MIB));
    check_one(lut_window(0), LUT_SIZE);
    rig_peer_send(peer, FARSIDE_WIRE_LINK, &state, sizeof(state));
    rig_wait_link(rig, 0, false);
    ck_assert_uint_eq(count(), 0);
    rig_write(rig, lut_window(0), 1, 7);
    ck_assert_uint_eq(ram[MIB], 1);
    state.up = 1;
    rig_peer_send(peer, FARSIDE_WIRE_LINK, &state, sizeof(state));
    rig_wait_link(rig, 0, true);
    check_one(lut_window(0), LUT_SIZE);
    /* This side disables its end. */
    answer = rig_set(rig, "enabled", "false");
    free(answer);
    ck_assert_uint_eq(count(), 0);
    answer = rig_set(rig, "enabled", "true");
    free(answer);
    check_one(lut_window(0), LUT_SIZE);
    /* The peer's RAM is another, or none. */
    rig_peer_send(peer, FARSIDE_WIRE_RAM, &(struct farside_wire_ram){0},
                  sizeof(struct farside_wire_ram));
    wait_count(0);
    rig_peer_give_ram(peer, 0, 4 * MIB, true);
    wait_count(1);
    rig_peer_send(peer, FARSIDE_WIRE_RESET, NULL, 0);
    rig_wait_for(rig, lut_window(0), 1, 0xff);
    ck_assert_uint_eq(count(), 0);
    rig_peer_set_lut(peer, 0, leads_to(MIB));
    check_one(lut_window(0), LUT_SIZE);
    rig_peer_free(peer);
    peer = NULL;
    rig_wait_link(rig, 0, false);
    ck_assert_uint_eq(count(), 0);
}
END_TEST

START_TEST(while_a_trace_is_on_all_is_forwarded)
{
    g_autofree char *path = g_strdup_printf("%s/farside-windows-%d.pcapng",
                                            g_get_tmp_dir(), rig_pid(rig));
    g_autofree char *value = g_strdup_printf("\"%s\"", path);
    uint8_t *ram = rig_peer_give_ram(peer, 0, 4 * MIB, true);
    struct farside_wire_write write;
    char *answer;

    close_all();
    rig_peer_set_lut(peer, 0, leads_to(MIB));
    check_one(lut_window(0), LUT_SIZE);
    answer = rig_set(rig, "trace", value);
    free(answer);
    ck_assert_uint_eq(count(), 0);
    rig_write(rig, lut_window(0), 4, 0x1234);
    memcpy(&write, rig_peer_receive(peer, FARSIDE_WIRE_WRITE)->body,
           sizeof(write));
    ck_assert_uint_eq(write.address, MIB);
    ck_assert_uint_eq(ram[MIB], 0);
    answer = rig_set(rig, "trace", "\"\"");
    free(answer);
    g_unlink(path);
    wait_count(1);
    rig_write(rig, lut_window(0), 4, 0x56);
    ck_assert_uint_eq(ram[MIB], 0x56);
}
END_TEST

START_TEST(behind_an_iommu_no_window_is_ram)
{
    struct farside_wire_notice notice = {
        .address = MIB, .size = LUT_SIZE, .target = 2 * MIB, .perm = 3};

    rig_peer_give_ram_behind_iommu(peer, 0, 4 * MIB);
    rig_peer_notice(peer, 1, &notice);
    rig_peer_set_lut(peer, 0, leads_to(MIB));
    ck_assert_uint_eq(count(), 0);
}
END_TEST

/*
 * The RAM in a window belongs to another machine. A peer that mapped it would
 * keep it after the window is closed.
 */
START_TEST(ram_in_a_window_is_not_announced)
{
    struct farside_wire_ctrl block;
    struct farside_wire_ram ram;

    memcpy(&ram, rig_peer_receive(peer, FARSIDE_WIRE_RAM)->body, sizeof(ram));
    ck_assert_uint_eq(ram.count, 1);
    rig_peer_give_ram(peer, 0, 4 * MIB, true);
    block = all_windows();
    rig_peer_send(peer, FARSIDE_WIRE_CONFIG, &block, sizeof(block));
    wait_count(PARTS);
    while (rig_peer_poll(peer, 200)) {
        ck_assert_uint_ne(rig_peer_receive_any(peer)->head.type,
                          FARSIDE_WIRE_RAM);
    }
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("device_windows");
    TCase *tcase = tcase_create("on");

    tcase_add_checked_fixture(tcase, setup, far_end_teardown);
    tcase_add_test(tcase, a_window_onto_ram_is_ram);
    tcase_add_test(tcase, the_rest_of_a_window_is_forwarded);
    tcase_add_test(tcase, parts_that_are_too_many_are_slower_and_the_same);
    tcase_add_test(tcase, windows_that_change_at_once_are_ram_again);
    tcase_add_test(tcase, nothing_is_ram_after_the_link);
    tcase_add_test(tcase, behind_an_iommu_no_window_is_ram);
    tcase_add_test(tcase, ram_in_a_window_is_not_announced);
    suite_add_tcase(suite, tcase);

    tcase = tcase_create("trace");
    tcase_add_checked_fixture(tcase, setup_impatient, far_end_teardown);
    tcase_add_test(tcase, while_a_trace_is_on_all_is_forwarded);
    suite_add_tcase(suite, tcase);

    tcase = tcase_create("off");
    tcase_add_checked_fixture(tcase, NULL, far_end_teardown);
    tcase_add_loop_test(tcase, without_kvm_no_window_is_ram_by_itself, 0, 2);
    suite_add_tcase(suite, tcase);

    return suite;
}

int main(void)
{
    return run_suite(make_suite());
}
