/* SPDX-License-Identifier: MIT */
/*
 * Invariant: exactly the messages of a failing kernel are recognised. The texts
 * are those of Linux 6.1: kernel/panic.c, kernel/watchdog.c,
 * kernel/hung_task.c, kernel/rcu/tree_stall.h, arch/x86/mm/fault.c, lib/bug.c.
 * A console keeps all lines, each with a time, for any bytes that arrive.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clu_console.h"
#include "clu_dir.h"
#include "../suite.h"

static const struct {
    const char *line;
    CluConsoleAlarm alarm;
} lines[] = {
    {"[    1.000000] Kernel panic - not syncing: VFS: Unable to mount root fs",
     CLU_CONSOLE_PANIC},
    {"[   12.345678][    T1] Kernel panic - not syncing: sysrq triggered crash",
     CLU_CONSOLE_PANIC},
    {"[12345.678901] BUG: kernel NULL pointer dereference, address: "
     "0000000000000000",
     CLU_CONSOLE_OOPS},
    {"[    2.000000] kernel BUG at mm/slub.c:306!", CLU_CONSOLE_OOPS},
    {"[    2.000000] Oops: 0002 [#1] PREEMPT SMP NOPTI", CLU_CONSOLE_OOPS},
    {"[    2.000000] general protection fault, probably for non-canonical "
     "address 0xdead000000000100: 0000 [#1]",
     CLU_CONSOLE_OOPS},
    {"[   30.000000] watchdog: BUG: soft lockup - CPU#0 stuck for 22s! "
     "[cat:123]",
     CLU_CONSOLE_OOPS},
    {"[  242.000000] INFO: task mount:57 blocked for more than 120 seconds.",
     CLU_CONSOLE_OOPS},
    {"[   21.000000] rcu: INFO: rcu_preempt self-detected stall on CPU",
     CLU_CONSOLE_OOPS},
    {"[    0.955406] NMI watchdog: Perf NMI watchdog permanently disabled",
     CLU_CONSOLE_FINE},
    {"[    1.000000] INFO: task started", CLU_CONSOLE_FINE},
    {"[    1.000000] WARNING: CPU: 0 PID: 1 at kernel/irq/manage.c:1",
     CLU_CONSOLE_FINE},
    {"[    1.000000] x86/bugs: BUG: none", CLU_CONSOLE_FINE},
    /* Lines that programs print are not messages of the kernel. */
    {"Kernel panic - not syncing: said by a program", CLU_CONSOLE_FINE},
    {"[x] Kernel panic - not syncing", CLU_CONSOLE_FINE},
    {"[    1.000000]", CLU_CONSOLE_FINE},
    {"[    1.000000][", CLU_CONSOLE_FINE},
    {"[", CLU_CONSOLE_FINE},
    {"", CLU_CONSOLE_FINE},
};

START_TEST(last_words_are_recognised)
{
    ck_assert_int_eq(clu_console_judge(lines[_i].line), lines[_i].alarm);
}
END_TEST

typedef struct Seen {
    GString *bytes;
    unsigned n_grown;
    unsigned n_alarms;
    CluConsoleAlarm alarm;
} Seen;

static void on_bytes(void *owner, const uint8_t *data, size_t length)
{
    g_string_append_len(((Seen *)owner)->bytes, (const char *)data,
                        (gssize)length);
}

static void on_grown(void *owner)
{
    ((Seen *)owner)->n_grown++;
}

static void on_alarm(void *owner, CluConsoleAlarm alarm, const char *text)
{
    ((Seen *)owner)->n_alarms++;
    ((Seen *)owner)->alarm = alarm;
}

static const CluConsoleOps ops = {
    .bytes = on_bytes, .grown = on_grown, .alarm = on_alarm};

/* A console with its log file, and the guest's end of its serial line. */
typedef struct Rig {
    Seen seen;
    char *path;
    CluConsole *console;
    int far;
} Rig;

static void rig_connect(Rig *rig)
{
    int fds[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    clu_console_connect(rig->console, fds[0]);
    rig->far = fds[1];
}

static Rig rig_new(void)
{
    Rig rig = {.seen = {.bytes = g_string_new(NULL)}};
    int fd = g_file_open_tmp("farside-console-XXXXXX", &rig.path, NULL);

    ck_assert_int_ge(fd, 0);
    close(fd);
    return rig;
}

static void rig_start(Rig *rig)
{
    rig->console = clu_console_new(NULL, rig->path, &ops, &rig->seen, NULL);
    ck_assert_ptr_nonnull(rig->console);
    rig_connect(rig);
}

/* Writes @text as the guest, and lets the console read it. */
static void rig_write(Rig *rig, const char *text, size_t length)
{
    size_t had = rig->seen.bytes->len;

    ck_assert_int_eq(write(rig->far, text, length), (ssize_t)length);
    while (rig->seen.bytes->len < had + length) {
        g_main_context_iteration(NULL, TRUE);
    }
}

static char *rig_log(Rig *rig)
{
    char *text = NULL;

    ck_assert(g_file_get_contents(rig->path, &text, NULL, NULL));
    return text;
}

static void rig_free(Rig *rig)
{
    clu_console_free(rig->console);
    close(rig->far);
    unlink(rig->path);
    g_free(rig->path);
    g_string_free(rig->seen.bytes, TRUE);
}

START_TEST(lines_are_kept_with_their_times)
{
    Rig rig = rig_new();
    g_autofree char *log = NULL;
    g_auto(GStrv) got = NULL;

    rig_start(&rig);
    rig_write(&rig, "one\r\ntw", 7);
    rig_write(&rig, "o\n[    1.000000] Oops: 0000 [#1]\n", 33);
    clu_console_note(rig.console, "a note");
    log = rig_log(&rig);
    got = g_strsplit(log, "\n", -1);
    ck_assert_uint_eq(g_strv_length(got), 5);
    for (unsigned i = 0; i < 4; i++) {
        ck_assert(g_regex_match_simple("^\\d\\d:\\d\\d:\\d\\d\\.\\d\\d\\d ",
                                       got[i], 0, 0));
    }
    ck_assert_str_eq(got[0] + CLU_CONSOLE_TIME_BYTES, "one");
    ck_assert_str_eq(got[1] + CLU_CONSOLE_TIME_BYTES, "two");
    ck_assert_str_eq(got[3] + CLU_CONSOLE_TIME_BYTES, "-- a note");
    ck_assert_str_eq(clu_console_tail(rig.console),
                     "one\ntwo\n[    1.000000] Oops: 0000 [#1]\n-- a note\n");
    ck_assert_uint_eq(rig.seen.n_alarms, 1);
    ck_assert_int_eq(rig.seen.alarm, CLU_CONSOLE_OOPS);
    ck_assert_uint_eq(rig.seen.n_grown, 4);
    rig_free(&rig);
}
END_TEST

START_TEST(a_line_without_end_is_bounded)
{
    Rig rig = rig_new();
    g_autofree char *block = g_malloc(65536);
    g_autofree char *log = NULL;

    rig_start(&rig);
    memset(block, 'x', 65536);
    block[7] = '\0';
    for (unsigned i = 0; i < 8; i++) {
        rig_write(&rig, block, 65536);
    }
    ck_assert_uint_ge(rig.seen.n_grown, 8 * 65536 / 4096 - 1);
    log = rig_log(&rig);
    ck_assert_uint_ge(strlen(log), 8 * 65535 - 4096);
    rig_free(&rig);
}
END_TEST

START_TEST(a_new_process_begins_a_new_tail)
{
    Rig rig = rig_new();

    rig_start(&rig);
    rig_write(&rig, "old\nhalf", 8);
    close(rig.far);
    rig_connect(&rig);
    ck_assert_str_eq(clu_console_tail(rig.console), "");
    for (unsigned i = 0; i < 100; i++) {
        g_autofree char *line = g_strdup_printf("%u\n", i);

        rig_write(&rig, line, strlen(line));
    }
    ck_assert(g_str_has_prefix(clu_console_tail(rig.console), "76\n"));
    ck_assert(g_str_has_suffix(clu_console_tail(rig.console), "\n99\n"));
    rig_free(&rig);
}
END_TEST

START_TEST(names_of_clusters)
{
    g_autofree char *longest = g_strnfill(64, 'x');
    g_autofree char *longer = g_strnfill(65, 'x');

    ck_assert(clu_dir_is_name("two-hosts"));
    ck_assert(clu_dir_is_name("2_x"));
    ck_assert(clu_dir_is_name(longest));
    ck_assert(!clu_dir_is_name(longer));
    ck_assert(!clu_dir_is_name(""));
    ck_assert(!clu_dir_is_name("-x"));
    ck_assert(!clu_dir_is_name(".."));
    ck_assert(!clu_dir_is_name("a/b"));
    ck_assert(!clu_dir_is_name("a b"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clu_console");
    TCase *tcase = tcase_create("console");

    tcase_add_loop_test(tcase, last_words_are_recognised, 0,
                        G_N_ELEMENTS(lines));
    tcase_add_test(tcase, lines_are_kept_with_their_times);
    tcase_add_test(tcase, a_line_without_end_is_bounded);
    tcase_add_test(tcase, a_new_process_begins_a_new_tail);
    tcase_add_test(tcase, names_of_clusters);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
