/* SPDX-License-Identifier: MIT */
/*
 * Invariant: with FLUSH, a completion of the NIC says that the payload is in
 * the memory of another host. Without it the completion may be first, because
 * the two take different ways. A queue that has stopped has no payload on its
 * way.
 *
 * The NIC is the lender's, and so is its driver. Its payload buffers are memory
 * of the borrower, behind a cable that stalls.
 */
#include <check.h>
#include <glib.h>
#include <string.h>
#include "device_nic.h"
#include "device_pair.h"
#include "../suite.h"

#define DEVFN     0x40 /* 00:08.0 */
#define CMB_DEVFN 0x38
#define STALL_US  150000

static DeviceNet *net;
static DevicePair *pair;
static DeviceNic nic;
static uint64_t window, memory; /* the lender's way to the borrower's memory */

static void setup(void)
{
    const char *lender[] = {"-bios",
                            NULL,
                            "-netdev",
                            NULL,
                            "-device",
                            "farside-nic,netdev=net,addr=08.0,vfs=0,"
                            "mac=02:11:22:33:44:50",
                            NULL};
    const char *borrower[] = {"-drive", "if=none,id=c,driver=null-co,size=1M",
                              "-device",
                              "nvme,drive=c,serial=cmb,addr=07.0,cmb_size_mb=1,"
                              "legacy-cmb=on",
                              NULL};

    net = net_new();
    lender[1] = net_firmware(net);
    lender[3] = net_argument(net);
    pair = pair_new_with_cable("if=none,id=d,driver=null-co,size=1M", lender,
                               borrower);
    pair_cmb_nvme(pair, true);
    window = pair_open_cmb(pair, true);
    memory = rig_pci_read(pair_borrower(pair), CMB_DEVFN, 0x18) & ~0xfu;
    nic = nic_map(pair_lender(pair), DEVFN, NIC_BAR0);
    nic.net = net;
    nic_let_run(nic.rig);
}

static void teardown(void)
{
    pair_free(pair);
    net_free(net);
    pair = NULL;
}

/* A queue with one descriptor, and a frame that comes while the cable stalls */
static void receive(TestFrame *f, unsigned flags)
{
    nic_start(&nic, 0, 8, NIC_RX_CONTROL_SPLIT | flags);
    *nic_desc(&nic, 0, 0) = (struct nic_rx_desc){.header = NIC_HEADER(0, 0),
                                                 .payload = window,
                                                 .header_size = 256,
                                                 .payload_size = 4096};
    cable_stall(pair_cable(pair), true, true);
    rig_write(nic.rig, nic_rx(&nic, 0) + NIC_Q_TAIL, 4, 1);
    nic_receive(&nic, f, &nic_segment);
}

static void resume(void)
{
    cable_stall(pair_cable(pair), false, false);
}

static bool has_arrived(const TestFrame *f)
{
    unsigned i;

    for (i = 0; i < 1000; i += 8) {
        uint64_t want;

        memcpy(&want, f->bytes + 66 + i, 8);
        if (rig_read(pair_borrower(pair), memory + i, 8) != want) {
            return false;
        }
    }
    return true;
}

static bool is_completed(void)
{
    const struct nic_rx_done *done =
        (void *)(rig_ram(nic.rig) + NIC_DONE_RING(0));

    return ((volatile const struct nic_rx_done *)done)->flags & NIC_DONE_PHASE;
}

START_TEST(a_completion_may_be_first)
{
    gint64 deadline = rig_deadline();
    TestFrame f;

    receive(&f, 0);
    ck_assert_uint_eq(nic_wait(&nic, 0).payload_length, 1000);
    ck_assert(!has_arrived(&f));
    resume();
    while (!has_arrived(&f)) {
        ck_assert(g_get_monotonic_time() < deadline);
    }
}
END_TEST

START_TEST(flush_keeps_the_order)
{
    TestFrame f;

    receive(&f, NIC_RX_CONTROL_FLUSH);
    g_usleep(STALL_US);
    ck_assert(!is_completed());
    resume();
    ck_assert_uint_eq(nic_wait(&nic, 0).payload_length, 1000);
    ck_assert(has_arrived(&f));
    ck_assert_uint_eq(nic_stat(&nic, NIC_STAT_FLUSHES), 1);
}
END_TEST

START_TEST(a_stop_waits_for_payload)
{
    uint64_t q = nic_rx(&nic, 0);
    gint64 deadline = rig_deadline();
    unsigned status;
    TestFrame f;

    receive(&f, 0);
    nic_wait(&nic, 0);
    rig_write(nic.rig, q + NIC_Q_CONTROL, 4, 0);
    g_usleep(STALL_US);
    rig_read_begin(nic.rig, q + NIC_Q_STATUS, 4);
    g_usleep(STALL_US);
    if (rig_has_answered(nic.rig)) {
        ck_assert_uint_eq(rig_read_end(nic.rig), NIC_Q_RUNNING);
        rig_read_begin(nic.rig, q + NIC_Q_STATUS, 4);
    }
    resume();
    status = (unsigned)rig_read_end(nic.rig);
    while (status & NIC_Q_RUNNING) {
        ck_assert(g_get_monotonic_time() < deadline);
        status = (unsigned)rig_read(nic.rig, q + NIC_Q_STATUS, 4);
    }
    ck_assert_uint_eq(status, 0);
    ck_assert(has_arrived(&f));
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("device_nic_order");
    TCase *tcase = tcase_create("order");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_completion_may_be_first);
    tcase_add_test(tcase, flush_keeps_the_order);
    tcase_add_test(tcase, a_stop_waits_for_payload);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return run_suite(make_suite());
}
