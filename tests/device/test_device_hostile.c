/* SPDX-License-Identifier: MIT */
/*
 * Invariant: whatever a guest does to registers and windows, and whatever the
 * far end answers, QEMU neither ends nor hangs. Accesses of every size are
 * weighted towards registers; the far end serves, errs, and breaks the
 * connection. The seed is printed with a failure; FARSIDE_SEED and
 * FARSIDE_ACCESSES change it and the number of accesses.
 */
#include <check.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include "device_rig.h"
#include "switchtec_regs.h"

#define BATCH 500
#define MIB   (1ull << 20)

typedef struct {
    uint64_t start;
    uint64_t size;
} Range;

/* Registers that do something, and where windows are. */
static const Range ranges[] = {
    {RIG_BAR0, 0x820},           {RIG_BAR0 + 0x1800, 0x180},
    {RIG_BAR0 + 0x2000, 0x200},  {RIG_BAR0 + 0x4000, 0x800},
    {RIG_BAR0 + 0x10000, 0x320}, {RIG_BAR0 + 0x14000, 0x100},
    {RIG_BAR0 + 0x16000, 0x100}, {RIG_BAR0 + 0x14400, 0x100},
    {RIG_BAR0 + 0x15000, 0x200}, {RIG_BAR0 + 0x17000, 0x200},
    {RIG_BAR0 + 0x75000, 0xb0},  {RIG_BAR0 + 0x76000, 0x200},
    {RIG_BAR0 + 0x134000, 0x80}, {RIG_BAR0 + 0x136d20, 0x20},
    {RIG_BAR0, 0x400000},        {RIG_BAR2, 8 * MIB},
    {RIG_BAR2, 0x100000},        {RIG_BAR4, 64 * MIB},
};

static unsigned number_of(const char *name, unsigned otherwise)
{
    const char *text = g_getenv(name);

    return text ? strtoul(text, NULL, 0) : otherwise;
}

static uint64_t random_value(GRand *random)
{
    static const uint64_t targets[] = {0,        2 * MIB,  0xfee00000, RIG_BAR0,
                                       RIG_BAR2, RIG_BAR4, 1ull << 54};
    uint64_t value = (uint64_t)g_rand_int(random) << 32 | g_rand_int(random);

    switch (g_rand_int_range(random, 0, 6)) {
    case 0:
        return value;
    case 1:
        return 0x7 & value; /* operations */
    case 2:
        return 1ull << (0x3f & value);
    case 3: /* entries of the LUT, and windows */
        return targets[value % G_N_ELEMENTS(targets)] | (0xf & (value >> 8));
    case 4:
        return 0x30 | 16 << 8 | (0x3f & value) << 14;
    default:
        return 21 | 0x200000;
    }
}

static void add_access(GString *commands, GRand *random)
{
    static const char letters[] = "bwlq";
    const Range *r = &ranges[g_rand_int_range(random, 0, G_N_ELEMENTS(ranges))];
    uint64_t address = r->start + g_rand_int(random) % r->size;
    unsigned size = g_rand_int_range(random, 0, 4);
    uint64_t value = random_value(random);

    if (g_rand_int_range(random, 0, 4)) {
        address &= ~7ull;
    }
    if (size < 3) {
        value &= (1ull << (8 << size)) - 1;
    }
    if (g_rand_boolean(random)) {
        g_string_append_printf(commands, "read%c 0x%" G_GINT64_MODIFIER "x\n",
                               letters[size], address);
    } else {
        g_string_append_printf(commands,
                               "write%c 0x%" G_GINT64_MODIFIER
                               "x 0x%" G_GINT64_MODIFIER "x\n",
                               letters[size], address, value);
    }
}

/* Windows onto memory, and a few onto what only the peer can answer. */
static void open_windows(DeviceRig *rig)
{
    static const uint64_t elsewhere[] = {0xfee00000, RIG_BAR0, RIG_BAR2};
    const uint64_t block = RIG_BAR0 + SWITCHTEC_NTB_CTRL;
    uint64_t target;
    unsigned i;

    rig_part_op(rig, 0, SWITCHTEC_OP_RESET, SWITCHTEC_STATUS_NORMAL);
    rig_part_op(rig, 0, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKED);
    for (i = 0; i < SWITCHTEC_BARS; i++) {
        rig_write(rig, block + SWITCHTEC_CTRL_BAR_ENTRY + i * 0x10, 4, 0);
    }
    rig_write(rig, block + 0x60, 4, 0x20 | 16 << 8 | 63 << 14);
    for (i = 0; i < 64; i++) {
        target = i % 16 < 3 ? elsewhere[i % 16] : i * 0x10000;
        rig_write(rig, block + SWITCHTEC_CTRL_LUT + i * 8, 8, target | 3);
    }
    rig_part_op(rig, 0, SWITCHTEC_OP_CFG, SWITCHTEC_STATUS_NORMAL);
}

START_TEST(any_access_is_survived)
{
    unsigned seed = number_of("FARSIDE_SEED", 1);
    unsigned accesses = number_of("FARSIDE_ACCESSES", 1000000);
    GRand *random = g_rand_new_with_seed(seed);
    /* A peer that never answers must not make this long. */
    DeviceRig *rig = rig_new("completion-timeout=1");
    GString *commands = g_string_new(NULL);
    RigPeer *peer = NULL;
    unsigned done, i;

    for (done = 0; done < accesses; done += BATCH) {
        /* Peers come and go, with and without memory. */
        if (done % (BATCH * 8) == 0) {
            rig_peer_free(peer);
            peer = rig_peer_new(rig);
            rig_peer_hello(peer);
            if (done % (BATCH * 16) == 0) {
                rig_peer_give_ram(peer, 0, 4 * MIB, true);
            }
            open_windows(rig);
        }
        g_string_truncate(commands, 0);
        for (i = 0; i < BATCH; i++) {
            add_access(commands, random);
        }
        rig_batch(rig, commands->str, BATCH);
    }
    ck_assert_msg(rig_read(rig, RIG_BAR0 + 0x2000, 4) == 0x8536, "seed %u",
                  seed);
    g_string_free(commands, TRUE);
    g_rand_free(random);
    rig_peer_free(peer);
    rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("device_hostile");
    TCase *tcase = tcase_create("hostile");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 280);
    tcase_add_test(tcase, any_access_is_survived);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
