/* SPDX-License-Identifier: MIT */
/*
 * Invariant: the log of a timed cluster gives back every byte that was given to
 * a machine, and anything that is no such log is refused with the line.
 */
#include <string.h>

#include <check.h>
#include <glib/gstdio.h>

#include "clu_timed_log.h"
#include "../suite.h"

static char *make_path(void)
{
    g_autofree char *folder = g_dir_make_tmp("farside-log-XXXXXX", NULL);

    return g_build_filename(folder, "log", NULL);
}

static void drop(const char *path)
{
    g_autofree char *folder = g_path_get_dirname(path);

    g_unlink(path);
    g_rmdir(folder);
}

#define KILLED (2 * CLU_TIMED_STEP_NS)
#define LAST   (INT64_C(23000000) + 1000 * (int64_t)CLU_TIMED_STEP_NS)

START_TEST(every_byte_comes_back)
{
    g_autofree char *path = make_path();
    g_autoptr(CluTimedScript) script = NULL;
    CluTimedLog *log = clu_timed_log_new(path, NULL);
    uint8_t bytes[256], twice[2] = {'\\', ' '};
    const CluInput *input;
    const void *data;
    size_t length;

    for (unsigned i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)i;
    }
    ck_assert_ptr_nonnull(log);
    clu_timed_log_head(log, "description", "a b\nc\\");
    clu_timed_log_add(log, 0, CLU_INPUT_AGENT, "host", bytes, sizeof(bytes));
    clu_timed_log_add(log, KILLED, CLU_INPUT_KILL, "other", NULL, 0);
    clu_timed_log_add(log, KILLED, CLU_INPUT_TO, NULL, "23000000", 8);
    clu_timed_log_add(log, LAST, CLU_INPUT_QMP, "host", twice, 2);
    clu_timed_log_free(log);
    script = clu_timed_script_read(path, NULL);
    ck_assert_ptr_nonnull(script);
    ck_assert_str_eq(clu_timed_script_get(script, "description"), "a b\nc\\");
    ck_assert_ptr_null(clu_timed_script_get(script, "kernel"));
    ck_assert_uint_eq(script->inputs->len, 4);
    input = script->inputs->pdata[0];
    ck_assert_str_eq(input->host, "host");
    ck_assert_int_eq(input->kind, CLU_INPUT_AGENT);
    data = g_bytes_get_data(input->bytes, &length);
    ck_assert_uint_eq(length, sizeof(bytes));
    ck_assert_mem_eq(data, bytes, sizeof(bytes));
    input = script->inputs->pdata[1];
    ck_assert_int_eq(input->at_ns, KILLED);
    ck_assert_int_eq(input->kind, CLU_INPUT_KILL);
    ck_assert_str_eq(input->host, "other");
    input = script->inputs->pdata[2];
    data = g_bytes_get_data(input->bytes, &length);
    ck_assert_uint_eq(length, 8);
    ck_assert_mem_eq(data, "23000000", 8);
    input = script->inputs->pdata[3];
    ck_assert_int_eq(input->at_ns, LAST);
    drop(path);
}
END_TEST

#define FIRST "farside timed log 1\n"

static const struct {
    const char *text;
    unsigned line; /* that the message names */
} bad[] = {
    {"", 1},
    {"farside timed log 2\n", 1},
    {FIRST "0 agent\n", 2},
    {FIRST "0 agent a b c\n", 2},
    {FIRST "0 reboot a\n", 2},
    {FIRST "0 agent a \\0\n", 2},
    {FIRST "0 agent a \\xy\n", 2},
    {FIRST "0 kill a b\n", 2},
    {FIRST "10000000 kill a\n0 kill a\n", 3},
    {FIRST "10000000 kill a\nkernel 12\n", 3},
    /* Times at which no machine stands */
    {FIRST "10000001 kill a\n", 2},
    {FIRST "0 to 7000000\n10000000 kill a\n", 3},
    {FIRST "0 to 7000000\n7000000 to 6000000\n", 3},
    {FIRST "0 to x\n", 2},
    {FIRST "0 to 7000000x\n", 2},
    /* All that follows would be left out. */
    {FIRST "0 kill a\n\n0 kill b\n", 3},
    {FIRST "kernel 1 2\n", 2},
    {FIRST "99999999999999999999 kill a\n", 2},
};

START_TEST(other_files_are_refused)
{
    g_autofree char *path = make_path();
    g_autoptr(GError) error = NULL;
    g_autofree char *place = g_strdup_printf("%s:%u: ", path, bad[_i].line);

    ck_assert(g_file_set_contents(path, bad[_i].text, -1, NULL));
    ck_assert_ptr_null(clu_timed_script_read(path, &error));
    ck_assert_msg(g_str_has_prefix(error->message, place), "%s",
                  error->message);
    drop(path);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("clu_timed_log");
    TCase *tcase = tcase_create("clu_timed_log");

    tcase_add_test(tcase, every_byte_comes_back);
    tcase_add_loop_test(tcase, other_files_are_refused, 0, G_N_ELEMENTS(bad));
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return run_suite(make_suite());
}
