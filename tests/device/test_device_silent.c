/* SPDX-License-Identifier: MIT */
/*
 * Invariant: no peer keeps QEMU. Whatever the far end leaves undone (it stops
 * at any message, answers each read just in time, or reads nothing), the
 * monitor answers within two completion time-outs. When the far end is heard
 * again, its memory works as before. FARSIDE_NESTED=all stops it at more
 * places.
 */
#include <check.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include "device_far_memory.h"
#include "device_nvme.h"
#include "switchtec_regs.h"
#include "../suite.h"

#define TIMEOUT_MS 500
#define DBMSG      (RIG_BAR0 + 0x74000)
#define NVME_DEVFN 0x30
#define DATA       0x300000u
#define SIZE       (128u << 10)
#define FOREVER    UINT_MAX

static DeviceRig *rig;
static RigPeer *peer;
static FarMemory *far;
static DeviceNvme nvme;

static void setup(void)
{
    static const char *const arguments[] = {
        "-drive", "if=none,id=d0,driver=null-co,read-zeroes=on,size=64M",
        "-device", "nvme,addr=06.0,serial=1,drive=d0", NULL};

    rig = rig_new_with(NULL, "completion-timeout=" G_STRINGIFY(TIMEOUT_MS),
                       arguments);
    rig_pci_write(rig, NVME_DEVFN, 0x10, (uint32_t)RIG_NVME_BAR);
    rig_pci_write(rig, NVME_DEVFN, 0x14, 0);
    rig_pci_write(rig, NVME_DEVFN, 0x04, 0x6);
    peer = rig_peer_new(rig);
    rig_peer_hello(peer);
    rig_wait_link(rig, 0, true);
    far = far_memory_new(rig, peer);
    nvme = (DeviceNvme){.rig = rig,
                        .bar = RIG_NVME_BAR,
                        .offset = RIG_BAR2,
                        .ram = far_memory_bytes(far)};
    nvme_start(&nvme, false, 0);
    free(rig_qmp(rig, "{\"execute\": \"query-name\"}"));
}

static void teardown(void)
{
    far_memory_free(far);
    far = NULL;
    rig_peer_free(peer);
    peer = NULL;
    rig_free(rig);
    rig = NULL;
}

/* Asks the monitor for some time. */
static void check_monitor(unsigned ms)
{
    gint64 end = g_get_monotonic_time() + 1000 * ms, start, took;

    do {
        start = g_get_monotonic_time();
        free(rig_qmp(rig, "{\"execute\": \"query-name\"}"));
        took = g_get_monotonic_time() - start;
        ck_assert_msg(took < 2000 * TIMEOUT_MS,
                      "the monitor answers after %d ms", (int)(took / 1000));
        g_usleep(2000);
    } while (g_get_monotonic_time() < end);
}

/*
 * Writes and reads a block. On a starved host the far end may be slow again,
 * and then the controller stops: returns false.
 */
static bool drive_works(void)
{
    nvme_start(&nvme, false, 0);
    memset(far_memory_bytes(far) + DATA, 0x5a, SIZE);
    nvme_queue_at(&nvme, true, 0, RIG_BAR2 + DATA, SIZE);
    nvme_ring(&nvme);
    if (!nvme_wait_or_stop(&nvme, 1)) {
        return false;
    }
    nvme_queue_at(&nvme, false, 0, RIG_BAR2 + DATA, SIZE);
    nvme_ring(&nvme);
    return nvme_wait_or_stop(&nvme, 1);
}

/* The far end does as it should from now on, and all works. */
static void check_recovery(unsigned ms)
{
    struct farside_wire_doorbell bell = {.bits = 1};
    unsigned tries = 0;

    far_memory_watch(far, NULL, NULL);
    far_memory_pause(far, false);
    rig_peer_send(peer, FARSIDE_WIRE_DOORBELL, &bell, sizeof(bell));
    rig_wait_for(rig, DBMSG + 0x1010, 8, 1);
    /* A slow far end is trusted again little by little. */
    do {
        g_usleep(1000 * ms);
        ck_assert_uint_lt(tries++, 5);
    } while (!drive_works());
    /* The drive has no data, and reads as zeros. */
    far_memory_settle(far);
    ck_assert_uint_eq(far_memory_bytes(far)[DATA + SIZE - 1], 0);
}

/* Writes and reads of 128 KiB, so that the drive waits for each. */
static void start_commands(bool write)
{
    unsigned i;

    for (i = 0; i < 8; i++) {
        nvme_queue_at(&nvme, write, i * (uint64_t)SIZE, RIG_BAR2 + DATA, SIZE);
    }
    rig_write_begin(rig, RIG_NVME_BAR + 0x1008, 4, nvme.sq_tail[1]);
}

typedef struct {
    unsigned from; /* number of the first READ that is not answered in time */
    unsigned to;
    unsigned late_us; /* 0: no answer */
} Fault;

static bool be_late(RigPeer *to, const struct farside_wire_read *read,
                    unsigned number, void *opaque)
{
    const Fault *f = opaque;

    if (number < f->from || number >= f->to) {
        return true;
    }
    g_usleep(f->late_us);
    return f->late_us > 0;
}

/*
 * SQ entry: 8 pieces; list of pages: 32; data of the first page: 512. Only the
 * first stops and delays are tried, unless FARSIDE_NESTED=all.
 */
static const unsigned stops[] = {0, 9, 41, 553, 1, 7, 8, 39, 40, 500, 552, 700};

START_TEST(a_peer_that_stops_does_not_keep_qemu)
{
    Fault f = {.from = stops[_i], .to = FOREVER};

    far_memory_watch(far, be_late, &f);
    start_commands(true);
    check_monitor(2 * TIMEOUT_MS);
    rig_write_end(rig);
    check_recovery(TIMEOUT_MS);
}
END_TEST

/* In parts of the time-out, in percent; 1 is quick, for thousands of reads. */
static const unsigned delays[] = {90, 10, 1, 2, 60, 30, 4};

START_TEST(a_peer_that_trickles_does_not_keep_qemu)
{
    Fault f = {
        .from = 3, .to = FOREVER, .late_us = delays[_i] * TIMEOUT_MS * 10};

    far_memory_watch(far, be_late, &f);
    start_commands(true);
    check_monitor(4 * TIMEOUT_MS);
    rig_write_end(rig);
    check_recovery(4 * TIMEOUT_MS);
}
END_TEST

/* One answer is missing, and the others come. */
START_TEST(a_peer_that_skips_does_not_keep_qemu)
{
    Fault f = {.from = stops[_i], .to = stops[_i] + 1};

    far_memory_watch(far, be_late, &f);
    start_commands(true);
    check_monitor(2 * TIMEOUT_MS);
    rig_write_end(rig);
    check_recovery(TIMEOUT_MS);
}
END_TEST

/*
 * A piece of the data of a write is missing. QEMU itself stores ones in its
 * place. The drive must not say that the command is done (NVMe 1.4 s3.1.6:
 * Controller Fatal Status), and works after its reset.
 */
static const unsigned pieces[] = {60, 200};

START_TEST(data_that_did_not_come_are_not_written_with_success)
{
    Fault f = {.from = pieces[_i], .to = pieces[_i] + 1};

    far_memory_watch(far, be_late, &f);
    nvme_queue_at(&nvme, true, 0, RIG_BAR2 + DATA, SIZE);
    nvme_ring(&nvme);
    ck_assert(!nvme_wait_or_stop(&nvme, 1));
    ck_assert_uint_gt(far_memory_reads(far), pieces[_i]);
    ck_assert_uint_eq(nvme_poll(&nvme, 1), 0);
    check_recovery(TIMEOUT_MS);
}
END_TEST

/* The far end reads nothing, so the queue to it becomes full. */
START_TEST(a_peer_that_does_not_read_does_not_keep_qemu)
{
    far_memory_pause(far, _i == 0);
    start_commands(false);
    if (_i == 1) {
        far_memory_pause(far, true);
    }
    check_monitor(2 * TIMEOUT_MS);
    rig_write_end(rig);
    check_recovery(TIMEOUT_MS);
}
END_TEST

/* It answers no read, but always says something else. */
START_TEST(a_peer_that_only_talks_does_not_keep_qemu)
{
    Fault f = {.from = 0, .to = FOREVER};
    struct farside_wire_doorbell bell = {.bits = 2};
    gint64 end = g_get_monotonic_time() + 4000 * TIMEOUT_MS;

    far_memory_watch(far, be_late, &f);
    start_commands(true);
    while (g_get_monotonic_time() < end) {
        rig_peer_send(peer, FARSIDE_WIRE_DOORBELL, &bell, sizeof(bell));
        check_monitor(1);
    }
    rig_write_end(rig);
    far_memory_watch(far, NULL, NULL);
}
END_TEST

static Suite *make_suite(void)
{
    bool all = !g_strcmp0(g_getenv("FARSIDE_NESTED"), "all");
    Suite *suite = suite_create("device_silent");
    TCase *tcase = tcase_create("silent");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 280);
    tcase_add_loop_test(tcase, a_peer_that_stops_does_not_keep_qemu, 0,
                        all ? G_N_ELEMENTS(stops) : 4);
    tcase_add_loop_test(tcase, a_peer_that_skips_does_not_keep_qemu, 1,
                        all ? G_N_ELEMENTS(stops) : 2);
    tcase_add_loop_test(tcase, a_peer_that_trickles_does_not_keep_qemu, 0,
                        all ? G_N_ELEMENTS(delays) : 3);
    tcase_add_loop_test(tcase, a_peer_that_does_not_read_does_not_keep_qemu, 0,
                        2);
    tcase_add_test(tcase, a_peer_that_only_talks_does_not_keep_qemu);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("data");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 280);
    tcase_add_loop_test(tcase,
                        data_that_did_not_come_are_not_written_with_success, 0,
                        G_N_ELEMENTS(pieces));
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return run_suite(make_suite());
}
