/* SPDX-License-Identifier: MIT */
/*
 * Measures the cost of crossing the link, and prints CSV: an NVMe controller
 * used locally and by the other machine, DMA of a device into a BAR of the
 * other machine, and the time of one forwarded write and read. No guest runs:
 * the numbers are of the devices and QEMU, with and without the link.
 *
 *   FARSIDE_PLUGIN=... bench_device [REPEATS]
 */
#include <check.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "device_nvme.h"
#include "device_pair.h"

#define COMMANDS 4096   /* in a measurement of bandwidth */
#define SINGLES  2000   /* accesses in a measurement of time */
#define LOW_PAGE 0x8000 /* memory below 1 MiB is not shared: forwarded */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double median(double *values, unsigned count)
{
    qsort(values, count, sizeof(*values), compare);
    return values[count / 2];
}

static double now_us(void)
{
    return g_get_monotonic_time();
}

/* Reads of 128 KiB, 32 at once, in MB/s. */
static double read_bandwidth(DeviceNvme *nvme)
{
    unsigned queued = 0, done = 0, n;
    double start = now_us();

    while (done < COMMANDS) {
        n = queued;
        while (queued < COMMANDS && queued - done < NVME_SLOTS) {
            nvme_queue(nvme, false, (queued % 64) * (uint64_t)NVME_SLOT,
                       queued % NVME_SLOTS);
            queued++;
        }
        if (queued != n) {
            nvme_ring(nvme);
        }
        done += nvme_poll(nvme, queued - done);
    }
    return (double)COMMANDS * NVME_SLOT / (now_us() - start);
}

/* The time until a value that a machine writes arrives in @ram, in us. */
static double write_time(DeviceRig *rig, uint64_t address, uint8_t *ram)
{
    static double times[SINGLES];
    volatile uint32_t *seen = (volatile uint32_t *)ram;
    double start;
    unsigned i;

    for (i = 0; i < SINGLES; i++) {
        start = now_us();
        rig_write_begin(rig, address, 4, i + 1);
        while (*seen != i + 1) {
            ;
        }
        times[i] = now_us() - start;
        rig_write_end(rig);
    }
    return median(times, SINGLES);
}

static double read_time(DeviceRig *rig, uint64_t address)
{
    static double times[SINGLES];
    double start;
    unsigned i;

    for (i = 0; i < SINGLES; i++) {
        start = now_us();
        rig_read(rig, address, 4);
        times[i] = now_us() - start;
    }
    return median(times, SINGLES);
}

static void say(const char *what, const char *unit, double value)
{
    printf("%s,%s,%.6g\n", what, unit, value);
    fflush(stdout);
}

static void measure_nvme(unsigned count)
{
    g_autofree double *near = g_new(double, count);
    g_autofree double *far = g_new(double, count);
    DevicePair *pair =
        pair_new("if=none,id=d,driver=null-co,size=1G,read-zeroes=off", NULL);
    DeviceNvme local = pair_local_nvme(pair);
    DeviceNvme borrowed = pair_borrowed_nvme(pair);
    unsigned i;

    local.sgl = borrowed.sgl = true;
    for (i = 0; i < count; i++) {
        nvme_start(&local, false, 0);
        near[i] = read_bandwidth(&local);
        nvme_start(&borrowed, false, 0);
        far[i] = read_bandwidth(&borrowed);
    }
    say("nvme read 128 KiB x 32, local", "MB/s", median(near, count));
    say("nvme read 128 KiB x 32, borrowed", "MB/s", median(far, count));
    say("borrowed : local", "ratio", median(far, count) / median(near, count));
    pair_free(pair);
}

/* DMA into a BAR of the far machine: the memory of its NVMe controller. */
static void measure_dma(unsigned count)
{
    g_autofree double *times = g_new(double, count);
    static const char *const cmb[] = {
        "-drive", "if=none,id=f,driver=null-co,size=1M", "-device",
        "nvme,drive=f,serial=cmb,addr=07.0,cmb_size_mb=1,legacy-cmb=on", NULL};
    DevicePair *pair =
        pair_new("if=none,id=d,driver=null-co,size=1G,read-zeroes=off", cmb);
    DeviceNvme local = pair_local_nvme(pair);
    uint64_t window;
    double start;
    unsigned i;

    pair_cmb_nvme(pair, true);
    window = pair_open_cmb(pair, true);
    local.sgl = true;
    nvme_start(&local, false, 0);
    for (i = 0; i < count; i++) {
        start = now_us();
        nvme_queue_at(&local, false, 0, window, NVME_SLOT / 2);
        nvme_ring(&local);
        nvme_wait(&local, 1);
        /* A read of the far device pushes what is posted. */
        rig_read(pair_lender(pair), window, 4);
        times[i] = NVME_SLOT / 2 / (now_us() - start);
    }
    say("nvme DMA write into a far BAR, forwarded", "MB/s",
        median(times, count));
    for (i = 0; i < count; i++) {
        start = now_us();
        nvme_queue_at(&local, true, 0, window, NVME_SLOT / 2);
        nvme_ring(&local);
        nvme_wait(&local, 1);
        times[i] = NVME_SLOT / 2 / (now_us() - start);
    }
    say("nvme DMA read from a far BAR, forwarded", "MB/s",
        median(times, count));
    pair_free(pair);
}

static void measure_times(void)
{
    DevicePair *pair =
        pair_new("if=none,id=d,driver=null-co,size=1M,read-zeroes=off", NULL);
    DeviceRig *borrower = pair_borrower(pair);
    uint64_t window = pair_open(pair, LOW_PAGE & ~0xffffull) + LOW_PAGE;
    double base, forwarded;

    base = write_time(borrower, 2 << 20, rig_ram(borrower) + (2 << 20));
    forwarded =
        write_time(borrower, window, rig_ram(pair_lender(pair)) + LOW_PAGE);
    say("forwarded write", "us", forwarded - base);
    base = read_time(borrower, 2 << 20);
    forwarded = read_time(borrower, window);
    say("forwarded read", "us", forwarded - base);
    pair_free(pair);
}

static unsigned repeats = 5;

/* A libcheck test, because the fixtures report failures through libcheck. */
START_TEST(measure)
{
    printf("what,unit,value\n");
    measure_nvme(repeats);
    measure_times();
    measure_dma(repeats);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("bench_device");
    TCase *tcase = tcase_create("bench");
    SRunner *runner = srunner_create(suite);
    int failed;

    if (argc > 1) {
        repeats = strtoul(argv[1], NULL, 10);
    }
    if (repeats == 0) {
        fprintf(stderr, "usage: %s [REPEATS]\n", argv[0]);
        srunner_free(runner);
        return EXIT_FAILURE;
    }
    tcase_add_test(tcase, measure);
    suite_add_tcase(suite, tcase);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_SILENT);
    failed = srunner_ntests_failed(runner);
    if (failed) {
        srunner_print(runner, CK_NORMAL);
    }
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
