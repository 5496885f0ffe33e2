/* SPDX-License-Identifier: MIT */
/*
 * Invariant: Wireshark reads a trace. With trace/farside.lua it shows the
 * fields of the packets, and the request of each completion. The test is
 * skipped if tshark is not installed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <glib.h>
#include <glib/gstdio.h>

#include "trc_bytes.h"
#include "../suite.h"

static char *path;

static void setup(void)
{
    g_auto(TrcBytes) source = trc_bytes_new(false);
    int fd = g_file_open_tmp("farside-tshark-XXXXXX", &path, NULL);

    ck_assert_int_ge(fd, 0);
    g_close(fd, NULL);
    trc_bytes_example(&source);
    ck_assert(g_file_set_contents(path, (const char *)source.bytes->data,
                                  source.bytes->len, NULL));
}

static void teardown(void)
{
    g_unlink(path);
    g_free(path);
}

/* Returns the values that tshark prints for these fields of the packets that
 * pass @filter; the caller frees them. */
static char *fields(const char *filter, const char *const *names)
{
    g_autoptr(GPtrArray) argv = g_ptr_array_new();
    char *out = NULL;
    g_autofree char *err = NULL;
    int status;

    g_ptr_array_add(argv, (void *)"tshark");
    g_ptr_array_add(argv, (void *)"-X");
    g_ptr_array_add(argv,
                    (void *)"lua_script:" TRC_SOURCE_ROOT "/trace/farside.lua");
    g_ptr_array_add(argv, (void *)"-r");
    g_ptr_array_add(argv, path);
    g_ptr_array_add(argv, (void *)"-Y");
    g_ptr_array_add(argv, (void *)filter);
    g_ptr_array_add(argv, (void *)"-T");
    g_ptr_array_add(argv, (void *)"fields");
    for (; *names; names++) {
        g_ptr_array_add(argv, (void *)"-e");
        g_ptr_array_add(argv, (void *)*names);
    }
    g_ptr_array_add(argv, NULL);
    ck_assert(g_spawn_sync(NULL, (char **)argv->pdata, NULL,
                           G_SPAWN_SEARCH_PATH, NULL, NULL, &out, &err, &status,
                           NULL));
    ck_assert_msg(status == 0, "%s", err);
    return out;
}

START_TEST(requests)
{
    static const char *const names[] = {
        "frame.interface_name", "farside.near",
        "farside.tlp.address",  "farside.tlp.requester",
        "farside.tlp.first_be", "farside.tlp.length",
        "farside.tlp.payload",  NULL};
    g_autofree char *out = fields("farside.near", names);

    ck_assert_str_eq(
        out, "a:cable0\t0x00000000e1001004\t0x00000000fee01004\t00:05.0\t0x0f\t"
             "1\t21430000\n"
             "a:cable0\t0x00000000e1010010\t0x0000001234560010\t00:05.0\t0x0f\t"
             "2\t\n");
}
END_TEST

START_TEST(completions)
{
    static const char *const names[] = {
        "frame.number",        "farside.tlp.completer", "farside.tlp.status",
        "farside.tlp.count",   "farside.tlp.tag",       "farside.tlp.request",
        "farside.tlp.latency", "farside.transaction",   NULL};
    g_autofree char *out = fields("farside.tlp.completer", names);

    ck_assert_str_eq(out, "17\t00:06.0\t0\t8\t52\t15\t0.000050000\t4660\n");
}
END_TEST

START_TEST(records_without_tlp)
{
    static const char *const names[] = {"farside.kind", "farside.up",
                                        "farside.bits", "farside.message",
                                        "farside.lock", NULL};
    g_autofree char *out = fields("farside.kind != 1", names);

    ck_assert_str_eq(out, "2\t1\t\t\t\n"
                          "3\t\t\t\t\n"
                          "4\t1\t\t\t\n"
                          "5\t1\t\t\t\n"
                          "6\t\t\t\t\n"
                          "7\t\t0x0000000500000000\t\t\n"
                          "8\t\t\t1\t\n"
                          "9\t\t\t\t7\n"
                          "10\t\t\t\t7\n"
                          "11\t\t\t\t7\n"
                          "12\t\t\t\t7\n"
                          "13\t\t\t\t7\n"
                          "14\t\t\t\t\n"
                          "2\t1\t\t\t\n");
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("trc_tshark");
    TCase *tcase = tcase_create("trc_tshark");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, requests);
    tcase_add_test(tcase, completions);
    tcase_add_test(tcase, records_without_tlp);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    g_autofree char *program = g_find_program_in_path("tshark");

    if (!program) {
        puts("1..0 # SKIP tshark is not installed");
        return EXIT_SUCCESS;
    }
    return run_suite(make_suite());
}
