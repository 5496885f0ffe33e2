/* SPDX-License-Identifier: MIT */
/*
 * Invariant: two machines that use each other's devices at the same time do not
 * block each other, and lose nothing. The NVMe controller of each writes into
 * the memory of the other's, which does the same. Both machines read from each
 * other meanwhile: no read is all ones, and no doorbell is lost. The test takes
 * FARSIDE_SECONDS.
 */
#include <check.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "device_pair.h"
#include "switchtec_regs.h"
#include "../suite.h"

#define DISK   (1ull << 20)
#define CHUNK  (64u << 10)
#define CHUNKS (DISK / CHUNK)
#define DBMSG  (RIG_BAR0 + 0x74000)
#define BELLS  32

typedef struct Side Side;

struct Side {
    const char *name;
    unsigned partition;
    DeviceRig *rig;
    DeviceNvme nvme;
    uint64_t window; /* onto the memory of the other's controller */
    Side *other;
    uint64_t seed;       /* seed of the disk's contents */
    gint pending[BELLS]; /* doorbells that the other has not seen yet */
    gint stop, ended;
    unsigned rounds, rung;
};

static char *images[2];
static DevicePair *pair;
static Side sides[2];

static uint64_t disk_word(const Side *side, unsigned round, uint64_t at)
{
    /* Each round writes the same disk to another place of the far memory. */
    return side->seed ^ ((at + round * (uint64_t)CHUNK) % DISK);
}

static void make_image(unsigned i, uint64_t seed)
{
    g_autofree uint64_t *words = g_new(uint64_t, DISK / 8);
    unsigned j;
    int fd = g_file_open_tmp("farside-disk-XXXXXX", &images[i], NULL);

    ck_assert_int_ge(fd, 0);
    for (j = 0; j < DISK / 8; j++) {
        words[j] = seed ^ 8ull * j;
    }
    ck_assert_int_eq(write(fd, words, DISK), DISK);
    close(fd);
}

static void setup(void)
{
    static const uint64_t seeds[] = {0xaaaa000000000000ull,
                                     0x5555000000000000ull};
    const char *arguments[2][5];
    char *drive[2];
    unsigned i;

    for (i = 0; i < 2; i++) {
        make_image(i, seeds[i]);
        drive[i] =
            g_strdup_printf("if=none,id=f,format=raw,file=%s", images[i]);
        arguments[i][0] = "-drive";
        arguments[i][1] = drive[i];
        arguments[i][2] = "-device";
        arguments[i][3] = "nvme,drive=f,serial=cmb,addr=07.0,cmb_size_mb=1,"
                          "legacy-cmb=on";
        arguments[i][4] = NULL;
    }
    pair = pair_new_with_cable("if=none,id=d,driver=null-co,size=1M",
                               arguments[0], arguments[1]);
    g_free(drive[0]);
    g_free(drive[1]);
    memset(sides, 0, sizeof(sides));
    for (i = 0; i < 2; i++) {
        sides[i].name = i ? "borrower" : "lender";
        sides[i].partition = i;
        sides[i].rig = i ? pair_borrower(pair) : pair_lender(pair);
        sides[i].nvme = pair_cmb_nvme(pair, i);
        sides[i].nvme.sgl = true;
        sides[i].window = pair_open_cmb(pair, !i);
        sides[i].other = &sides[1 - i];
        sides[i].seed = seeds[i];
        nvme_start(&sides[i].nvme, false, 0);
    }
}

static void teardown(void)
{
    unsigned i;

    pair_free(pair);
    pair = NULL;
    for (i = 0; i < 2; i++) {
        if (images[i]) {
            g_unlink(images[i]);
            g_clear_pointer(&images[i], g_free);
        }
    }
}

/* If @ring, rings each doorbell that is not pending. Handles the doorbells that
 * the other side rang. */
static void doorbells(Side *side, bool ring)
{
    uint64_t own = DBMSG + 0x1000 + side->partition * 0x4000;
    uint64_t bits = 0, idb;
    unsigned i;

    for (i = 0; ring && i < BELLS; i++) {
        if (!g_atomic_int_get(&side->pending[i])) {
            g_atomic_int_set(&side->pending[i], 1);
            bits |= 1ull << i;
            side->rung++;
        }
    }
    if (bits) {
        rig_write(side->rig, own, 8, bits);
    }
    idb = rig_read(side->rig, own + 0x10, 8);
    if (idb) {
        rig_write(side->rig, own + 0x10, 8, idb);
        for (i = 0; i < BELLS; i++) {
            if (idb >> i & 1) {
                g_atomic_int_set(&side->other->pending[i], 0);
            }
        }
    }
}

static void round_of(Side *side)
{
    unsigned i, offset;
    uint64_t value;

    for (i = 0; i < CHUNKS; i++) {
        nvme_queue_at(&side->nvme, false,
                      (i + side->rounds) % CHUNKS * (uint64_t)CHUNK,
                      side->window + i * CHUNK, CHUNK);
    }
    nvme_ring(&side->nvme);
    for (i = 0; i < CHUNKS;) {
        i += nvme_poll(&side->nvme, CHUNKS - i);
        doorbells(side, true);
        /* Reads the far memory while its controller is busy. */
        rig_read(side->rig, side->window, 8);
    }
    /* Reads push what was posted before them. */
    for (i = 0; i < CHUNKS; i++) {
        for (offset = 8 * (side->rounds % 7); offset < CHUNK; offset += 8184) {
            uint64_t at = i * (uint64_t)CHUNK + offset;

            value = rig_read(side->rig, side->window + at, 8);
            if (value != disk_word(side, side->rounds, at)) {
                ck_abort_msg("%s, round %u: 0x%x of the far memory is "
                             "0x%" G_GINT64_MODIFIER "x",
                             side->name, side->rounds, (unsigned)at, value);
            }
        }
        doorbells(side, true);
    }
    side->rounds++;
}

static bool is_settled(const Side *side)
{
    unsigned i;

    for (i = 0; i < BELLS; i++) {
        if (g_atomic_int_get(&side->pending[i])) {
            return false;
        }
    }
    return true;
}

static gpointer run(gpointer data)
{
    Side *side = data;
    gint64 deadline;

    rig_write(side->rig, DBMSG + 0x1008 + side->partition * 0x4000, 8,
              UINT64_MAX);
    while (!g_atomic_int_get(&side->stop)) {
        round_of(side);
    }
    g_atomic_int_set(&side->ended, 1);
    deadline = rig_deadline();
    while (!is_settled(side) || !is_settled(side->other) ||
           !g_atomic_int_get(&side->other->ended)) {
        doorbells(side, false);
        if (g_get_monotonic_time() > deadline) {
            ck_abort_msg("%s: a doorbell is lost", side->name);
        }
    }
    return NULL;
}

START_TEST(both_use_each_other)
{
    const char *text = g_getenv("FARSIDE_SECONDS");
    unsigned i, seconds = text ? strtoul(text, NULL, 10) : 3;
    GThread *threads[2];

    for (i = 0; i < 2; i++) {
        threads[i] = g_thread_new(sides[i].name, run, &sides[i]);
    }
    g_usleep(seconds * G_USEC_PER_SEC);
    for (i = 0; i < 2; i++) {
        g_atomic_int_set(&sides[i].stop, 1);
    }
    for (i = 0; i < 2; i++) {
        g_thread_join(threads[i]);
        ck_assert_uint_gt(sides[i].rounds, 0);
        ck_assert_uint_gt(sides[i].rung, BELLS);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("device_cross");
    TCase *tcase = tcase_create("cross");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 280);
    tcase_add_test(tcase, both_use_each_other);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
