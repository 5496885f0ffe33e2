/* SPDX-License-Identifier: MIT */
/*
 * Invariant: a device of one machine works for a driver on the other, as Device
 * Lending uses it. The lender's NVMe controller has its queues and data in the
 * borrower's memory. Its interrupts go through a window to the borrower's MSI
 * range, and the borrower reaches its registers through a window. Data never
 * cross the cable as messages, and reach memory in one piece.
 */
#include <check.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "device_pair.h"
#include "../suite.h"

#define DISK (8ull << 20)

static DevicePair *pair;
static DeviceNvme nvme;
static char *image, *trace;

/* The disk: each 8 bytes tell their place, and the disk's number. */
static uint64_t disk_word(uint64_t at)
{
    return at ^ 0x5a17c0de00000000ull;
}

static void make_image(void)
{
    g_autofree uint64_t *words = g_new(uint64_t, DISK / 8);
    unsigned i;
    int fd = g_file_open_tmp("farside-disk-XXXXXX", &image, NULL);

    ck_assert_int_ge(fd, 0);
    for (i = 0; i < DISK / 8; i++) {
        words[i] = disk_word(8ull * i);
    }
    ck_assert_int_eq(write(fd, words, DISK), DISK);
    close(fd);
    trace = g_strconcat(image, ".trace", NULL);
}

static void setup(void)
{
    g_autofree char *drive = NULL;

    const char *arguments[] = {"-trace", "blk_co_preadv", "-D", NULL, NULL};

    make_image();
    arguments[3] = trace;
    drive = g_strdup_printf("if=none,id=d,format=raw,file=%s", image);
    pair = pair_new_with_cable(drive, arguments, NULL);
    nvme = pair_borrowed_nvme(pair);
}

static void teardown(void)
{
    pair_free(pair);
    if (image) {
        g_unlink(image);
        g_unlink(trace);
        g_clear_pointer(&image, g_free);
        g_clear_pointer(&trace, g_free);
    }
}

static void check_buffer(unsigned slot, uint64_t at)
{
    const uint64_t *words = (const uint64_t *)nvme_buffer(&nvme, slot);
    unsigned i;

    for (i = 0; i < NVME_SLOT / 8; i++) {
        if (words[i] != disk_word(at + 8 * i)) {
            ck_abort_msg("offset 0x%x of slot %u is 0x%" G_GINT64_MODIFIER "x",
                         8 * i, slot, words[i]);
        }
    }
}

/* The number of reads of this size that the lender's QEMU made on the disk. */
static unsigned traced_reads(unsigned size)
{
    g_autofree char *text = NULL;
    g_autofree char *want = g_strdup_printf("bytes %u ", size);
    const char *p;
    unsigned n = 0;

    if (!g_file_get_contents(trace, &text, NULL, NULL)) {
        return 0;
    }
    for (p = text; (p = strstr(p, want)); p++) {
        n++;
    }
    return n;
}

static void read_all(void)
{
    unsigned slot;

    for (slot = 0; slot < NVME_SLOTS; slot++) {
        memset(nvme_buffer(&nvme, slot), 0xee, NVME_SLOT);
        nvme_queue(&nvme, false, slot * (uint64_t)NVME_SLOT, slot);
    }
    nvme_ring(&nvme);
    nvme_wait(&nvme, NVME_SLOTS);
    for (slot = 0; slot < NVME_SLOTS; slot++) {
        check_buffer(slot, slot * (uint64_t)NVME_SLOT);
    }
}

/* _i: data by PRPs, or by one SGL descriptor of 128 KiB. */
START_TEST(data_go_straight_to_the_borrowers_memory)
{
    unsigned writes;

    nvme_start(&nvme, false, 0);
    ck_assert_int_eq(memcmp(nvme_identify(&nvme) + 4, "far ", 4), 0);
    nvme.sgl = _i;
    writes = cable_count(pair_cable(pair), FARSIDE_WIRE_WRITE);
    read_all();
    /* One read of the disk a command: the memory was mapped in one piece. */
    ck_assert_uint_eq(traced_reads(NVME_SLOT), NVME_SLOTS);
    /*
     * Only doorbells cross: one of the submission queue, and those of the
     * completion queue. A read of the controller pushes the last one.
     */
    rig_read(pair_borrower(pair), nvme.bar, 4);
    writes = cable_count(pair_cable(pair), FARSIDE_WIRE_WRITE) - writes;
    ck_assert_uint_ge(writes, 2);
    ck_assert_uint_le(writes, 1 + NVME_SLOTS);
}
END_TEST

START_TEST(data_come_from_the_borrowers_memory)
{
    g_autofree char *text = NULL;
    unsigned slot, i;

    nvme_start(&nvme, false, 0);
    for (slot = 0; slot < NVME_SLOTS; slot++) {
        uint64_t *words = (uint64_t *)nvme_buffer(&nvme, slot);

        for (i = 0; i < NVME_SLOT / 8; i++) {
            words[i] = ~disk_word(slot * (uint64_t)NVME_SLOT + 8 * i);
        }
        nvme_queue(&nvme, true, slot * (uint64_t)NVME_SLOT, slot);
    }
    nvme_ring(&nvme);
    nvme_wait(&nvme, NVME_SLOTS);
    ck_assert(g_file_get_contents(image, &text, NULL, NULL));
    for (i = 0; i < NVME_SLOTS * NVME_SLOT / 8; i++) {
        ck_assert_uint_eq(((uint64_t *)text)[i], ~disk_word(8ull * i));
    }
}
END_TEST

/* True if an interrupt waits at the borrower's CPU (Intel SDM 3A 11.8.4). */
static bool is_requested(unsigned vector)
{
    g_autofree char *want = g_strdup_printf(" %u", vector);
    char *text, *irr, *end;
    bool found;

    text =
        rig_qmp(pair_borrower(pair), "{\"execute\": \"human-monitor-command\", "
                                     "\"arguments\": {\"command-line\": "
                                     "\"info lapic\"}}");
    irr = strstr(text, "IRR");
    ck_assert_ptr_nonnull(irr);
    end = strstr(irr, "\\r\\n");
    ck_assert_ptr_nonnull(end);
    *end = '\0';
    found = strstr(irr, want);
    free(text);
    return found;
}

/* The borrower's CPU writes the MSI-X table of the far controller. */
START_TEST(interrupts_reach_the_borrowers_cpu)
{
    DeviceRig *lender = pair_lender(pair), *borrower = pair_borrower(pair);
    unsigned msix = rig_pci_find(lender, PAIR_NVME_DEVFN, 0x11);
    uint64_t table =
        nvme.bar + (~7u & rig_pci_read(lender, PAIR_NVME_DEVFN, msix + 4));
    gint64 deadline = rig_deadline();
    const unsigned vector = 1, irq = 0x41;
    uint64_t entry = table + 16 * vector;

    rig_pci_write(lender, PAIR_NVME_DEVFN, msix, 1u << 31);
    /* Destination: the CPU with ID 0, physical, as a window of 64 KiB has it */
    rig_write(borrower, entry, 4, pair_msi_window());
    rig_write(borrower, entry + 4, 4, 0);
    rig_write(borrower, entry + 8, 4, irq);
    rig_write(borrower, entry + 12, 4, 0);
    ck_assert_uint_eq(rig_read(borrower, entry, 4), pair_msi_window());
    ck_assert_uint_eq(rig_read(borrower, entry + 8, 4), irq);
    nvme_start(&nvme, true, vector);
    ck_assert(!is_requested(irq));
    nvme_queue(&nvme, false, 0, 0);
    nvme_ring(&nvme);
    nvme_wait(&nvme, 1);
    while (!is_requested(irq)) {
        ck_assert_msg(g_get_monotonic_time() < deadline, "no interrupt");
    }
    check_buffer(0, 0);
}
END_TEST

/* Two LUT entries that lead to each other: no access goes round for ever. */
START_TEST(windows_in_a_circle_end)
{
    DeviceRig *lender = pair_lender(pair), *borrower = pair_borrower(pair);
    uint64_t there = pair_open(pair, pair_msi_window());
    unsigned i, writes;
    gint64 deadline;

    pair_open_back(pair, there);
    for (i = 0; i < 3; i++) {
        writes = cable_count(pair_cable(pair), FARSIDE_WIRE_WRITE);
        rig_write(borrower, there + 0x40, 8, 0x1234);
        deadline = rig_deadline();
        while (cable_count(pair_cable(pair), FARSIDE_WIRE_WRITE) - writes <
               FARSIDE_WIRE_HOPS) {
            ck_assert_msg(g_get_monotonic_time() < deadline, "a write is lost");
            g_usleep(500);
        }
        /* Time for many rounds. A round takes less than 0.1 ms. */
        g_usleep(100000);
        writes = cable_count(pair_cable(pair), FARSIDE_WIRE_WRITE) - writes;
        ck_assert_uint_eq(writes, FARSIDE_WIRE_HOPS);
        ck_assert_uint_eq(rig_read(borrower, there + 0x40, 8), UINT64_MAX);
    }
    ck_assert_uint_eq(rig_read(lender, RIG_BAR0 + 0x2000, 4), 0x8536);
}
END_TEST

/*
 * A controller whose queues cannot be reached any more stops (s9.5), and a
 * reset of it does not last. If its reads returned ones without an error, the
 * tail in its doorbell buffer would be 0xffffffff, and it would never come to
 * the end of its queue.
 */
START_TEST(a_cut_stops_the_controller)
{
    DeviceRig *lender = pair_lender(pair);
    DeviceNvme local = pair_local_nvme(pair);
    unsigned express = rig_pci_find(lender, PAIR_NVME_DEVFN, 0x10);
    gint64 deadline, began;

    nvme_start(&nvme, false, 0);
    nvme_shadow(&nvme);
    free(rig_set(lender, "enabled", "false"));
    rig_wait_link(lender, 0, false);
    ck_assert_uint_eq(nvme_status(&local) & NVME_CSTS_CFS, 0);
    local.sq_tail[1] = 1;
    nvme_ring(&local);
    deadline = rig_deadline();
    while (!(nvme_status(&local) & NVME_CSTS_CFS)) {
        ck_assert_msg(g_get_monotonic_time() < deadline, "no fatal status");
    }
    /* Initiate Function Level Reset (PCIe 5.0 s7.5.3.4) */
    began = g_get_monotonic_time();
    rig_pci_write(lender, PAIR_NVME_DEVFN, express + 8, 1 << 15);
    ck_assert_int_lt(g_get_monotonic_time() - began, 5 * G_USEC_PER_SEC);
}
END_TEST

/* Requester IDs */

static const char *const with_iommu[] = {"-device", "intel-iommu", NULL};

static void start_checking(const char *const *arguments)
{
    g_autofree char *drive = NULL;

    make_image();
    drive = g_strdup_printf("if=none,id=d,format=raw,file=%s", image);
    pair = pair_new_checking(drive, arguments);
    nvme = pair_borrowed_nvme(pair);
}

/*
 * _i: without and with an IOMMU, which passes addresses through. Bit 1 of CSTS
 * (NVM Express 1.4 s3.1.6) is CFS: the controller cannot use its queues.
 */
START_TEST(dma_needs_its_requester_id)
{
    gint64 deadline;
    uint64_t csts;

    start_checking(_i ? with_iommu : NULL);
    csts = nvme.bar + 0x1c;
    /* Entries of other functions do not help, but the last of 32 does. */
    pair_admit(pair, 0, PAIR_NVME_DEVFN + 1);
    pair_admit(pair, 1, 0x100 | PAIR_NVME_DEVFN);
    pair_admit(pair, 31, PAIR_NVME_DEVFN);
    nvme_start(&nvme, false, 0);
    read_all();
    ck_assert_uint_eq(rig_refused(pair_lender(pair)), 0);
    /* Without its entry the controller does not even reach its queue. */
    pair_admit(pair, 31, 0);
    memset(nvme_buffer(&nvme, 0), 0xee, NVME_SLOT);
    nvme_queue(&nvme, false, 0, 0);
    nvme_ring(&nvme);
    deadline = rig_deadline();
    while (!(rig_read(pair_borrower(pair), csts, 4) & 2)) {
        ck_assert_msg(g_get_monotonic_time() < deadline, "no fatal status");
    }
    ck_assert_uint_eq(nvme_buffer(&nvme, 0)[0], 0xee);
    ck_assert_uint_eq(nvme_poll(&nvme, 1), 0);
    ck_assert_uint_gt(rig_refused(pair_lender(pair)), 0);
    /* With it, a controller that starts anew works again. */
    pair_admit(pair, 5, PAIR_NVME_DEVFN);
    rig_write(pair_borrower(pair), nvme.bar + 0x14, 4, 0);
    nvme = pair_borrowed_nvme(pair);
    nvme_start(&nvme, false, 0);
    read_all();
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("device_lending");
    TCase *tcase = tcase_create("nvme");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, data_go_straight_to_the_borrowers_memory, 0, 2);
    tcase_add_test(tcase, data_come_from_the_borrowers_memory);
    tcase_add_test(tcase, interrupts_reach_the_borrowers_cpu);
    tcase_add_test(tcase, windows_in_a_circle_end);
    tcase_add_test(tcase, a_cut_stops_the_controller);
    suite_add_tcase(suite, tcase);

    tcase = tcase_create("requester");
    tcase_add_checked_fixture(tcase, NULL, teardown);
    tcase_add_loop_test(tcase, dma_needs_its_requester_id, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return run_suite(make_suite());
}
