/* SPDX-License-Identifier: MIT */
/*
 * The time of a drive is what counting gives: the controller takes a command
 * every `overhead`, the media need bytes / bandwidth, and serve a page of each
 * command in turn.
 */
#include <check.h>

#include "../suite.h"
#include "fab_drive.h"

#define US       INT64_C(1000000) /* in ps */
#define PAGE     FAB_DRIVE_PAGE_BYTES
#define READ_PS  INT64_C(2048000) /* 4096 B at 2 GB/s */
#define WRITE_PS INT64_C(4096000) /* at 1 GB/s */

static FabDrive drive_new(void)
{
    return (FabDrive){
        .times = {.overhead = 2 * US,
                  .read_latency = 10 * US,
                  .write_latency = 5 * US,
                  .jitter = 3 * US,
                  .read_bytes_s = 2000000000,
                  .write_bytes_s = 1000000000},
    };
}

/* Commands that come together are taken one after the other; one that comes
 * later is taken when it has come. */
START_TEST(the_controller_takes_one_after_the_other)
{
    FabDrive drive = drive_new();

    ck_assert_int_eq(fab_drive_accept(&drive, 7 * US), 9 * US);
    ck_assert_int_eq(fab_drive_accept(&drive, 7 * US), 11 * US);
    ck_assert_int_eq(fab_drive_accept(&drive, 20 * US), 22 * US);
    ck_assert_int_eq(fab_drive_latency(&drive, false, 3 * US), 13 * US);
    ck_assert_int_eq(fab_drive_latency(&drive, true, 0), 5 * US);
}
END_TEST

/* 3 GB/s move 3 bytes a ns. A third of a ps a byte is lost in each call, or is
 * kept for the next one. 2 TiB fit into the arithmetic. */
START_TEST(the_media_need_the_time_of_the_bytes)
{
    FabDrive lost = drive_new(), kept = drive_new(), large = drive_new();
    uint64_t carry = 0;

    lost.times.read_bytes_s = 3000000000;
    kept.times.read_bytes_s = 3000000000;
    for (int i = 0; i < 3; i++) {
        fab_drive_serve(&lost, 0, false, 1, NULL);
        fab_drive_serve(&kept, 0, false, 1, &carry);
    }
    ck_assert_int_eq(lost.served, 3 * 333);
    ck_assert_int_eq(kept.served, 1000);
    ck_assert_uint_eq(carry, 0);
    ck_assert_int_eq(fab_drive_serve(&lost, US, false, 3, NULL), US + 1000);
    ck_assert_int_eq(fab_drive_serve(&large, 0, true, UINT64_C(1) << 41, NULL),
                     (INT64_C(1) << 41) * 1000);
}
END_TEST

/* A read of three pages and a write of two and a half: the write's turns are
 * between those of the read. */
START_TEST(the_media_serve_pages_in_turn)
{
    FabDrive drive = drive_new();
    FabDriveWork reads = {.size_bytes = 3 * PAGE};
    FabDriveWork writes = {.size_bytes = 5 * PAGE / 2, .is_write = true};
    FabDriveWork *const turns[] = {&reads,  &writes, &reads,
                                   &writes, &reads,  &writes};
    int64_t end = 0, next;

    ck_assert(fab_drive_add(&drive, &reads, 3));
    next = fab_drive_begin(&drive, US, NULL);
    ck_assert_int_eq(next, US + READ_PS);
    /* The pages of a write come one by one. */
    ck_assert(!fab_drive_add(&drive, &writes, 1));
    ck_assert(!fab_drive_add(&drive, &writes, 2));
    for (int i = 0; i < 6; i++) {
        ck_assert_ptr_eq(fab_drive_end(&drive), turns[i]);
        end = next;
        next = fab_drive_begin(&drive, end, NULL);
    }
    ck_assert_int_eq(next, FAB_DRIVE_IDLE);
    ck_assert_int_eq(end, US + 3 * READ_PS + 5 * WRITE_PS / 2);
    ck_assert_uint_eq(reads.done, 3);
    ck_assert_uint_eq(writes.done, 3);
    ck_assert_uint_eq(fab_drive_page_bytes(&writes, 2), PAGE / 2);
    /* The next one finds idle media. */
    ck_assert(fab_drive_add(&drive, &reads, 1));
}
END_TEST

/* Whichever of three commands is taken back, the others keep their order. */
START_TEST(a_command_is_taken_back)
{
    for (unsigned gone = 0; gone < 3; gone++) {
        FabDrive drive = drive_new();
        FabDriveWork work[4] = {{.size_bytes = PAGE},
                                {.size_bytes = PAGE},
                                {.size_bytes = PAGE},
                                {.size_bytes = PAGE}};

        for (unsigned i = 0; i < 3; i++) {
            ck_assert(fab_drive_add(&drive, &work[i], 1) == (i == 0));
        }
        ck_assert(fab_drive_remove(&drive, &work[gone]) == (gone == 0));
        ck_assert(!fab_drive_remove(&drive, &work[gone]));
        ck_assert(!fab_drive_add(&drive, &work[3], 1));
        for (unsigned i = 0; i < 4; i++) {
            if (i != gone) {
                ck_assert_ptr_eq(fab_drive_end(&drive), &work[i]);
            }
        }
        ck_assert_int_eq(fab_drive_begin(&drive, 0, NULL), FAB_DRIVE_IDLE);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_drive");
    TCase *tc = tcase_create("time");

    tcase_add_test(tc, the_controller_takes_one_after_the_other);
    tcase_add_test(tc, the_media_need_the_time_of_the_bytes);
    tcase_add_test(tc, the_media_serve_pages_in_turn);
    tcase_add_test(tc, a_command_is_taken_back);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
