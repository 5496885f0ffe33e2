/* SPDX-License-Identifier: MIT */
/*
 * A debugger at a machine that stands at the limit of virtual time. This
 * program takes the place of the supervisor, and speaks the remote protocol of
 * gdb; the machine has its firmware only. Invariant: what a debugger does while
 * time stands still lets no time pass, and time then goes on as before.
 */
#include <check.h>
#include <glib.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machine.h"
#include "../suite.h"

#define GLANCE_US     1000
/* Longer than a machine that stands sleeps before it looks again */
#define REST_US       300000
/* 16 registers of 64 bits, the instruction pointer, and the flags; as hex */
#define REGISTERS_HEX (2 * (17 * 8 + 4))

typedef struct Rig {
    Machine machine;
    int64_t limit;
} Rig;

static void await_stand(const Rig *rig, const char *when)
{
    gint64 end = g_get_monotonic_time() + MACHINE_PATIENCE_MS * 1000;

    while (!timed_board_await_stand(rig->machine.board, GLANCE_US)) {
        ck_assert_msg(waitpid(rig->machine.pid, NULL, WNOHANG) == 0,
                      "QEMU has ended");
        ck_assert_msg(g_get_monotonic_time() < end,
                      "%s: the machine does not stand at %" G_GINT64_FORMAT
                      ", but is at %" G_GINT64_FORMAT,
                      when, rig->limit, timed_board_now(rig->machine.board, 0));
    }
    ck_assert_int_eq(timed_board_now(rig->machine.board, 0), rig->limit);
}

static void advance(Rig *rig, int64_t ns, const char *when)
{
    rig->limit += ns;
    timed_board_set_limit(rig->machine.board, rig->limit);
    await_stand(rig, when);
}

/* Lets the machine act on what has come in. */
static void open_gate(const Rig *rig)
{
    timed_board_next_round(rig->machine.board);
}

static Rig rig_new(void)
{
    Rig rig = {.limit = MACHINE_MS};
    g_autofree char *gdb = NULL;

    machine_init(&rig.machine, 1, NULL, 0);
    gdb = g_strdup_printf("unix:%s,server=on,wait=off", rig.machine.path);
    machine_start(&rig.machine, "", (const char *const[]){"-gdb", gdb, NULL});
    await_stand(&rig, "at the beginning");
    return rig;
}

/* The remote protocol */

static char next_byte(const Rig *rig)
{
    struct pollfd ready = {.fd = rig->machine.socket, .events = POLLIN};
    char c;

    ck_assert_msg(poll(&ready, 1, MACHINE_PATIENCE_MS) == 1,
                  "gdb gets no answer");
    ck_assert_int_eq(read(rig->machine.socket, &c, 1), 1);
    return c;
}

/* The text of the next packet: $TEXT#SUM */
static char *receive(const Rig *rig)
{
    GString *text = g_string_new(NULL);
    char c;

    while (next_byte(rig) != '$') {
        continue;
    }
    while ((c = next_byte(rig)) != '#') {
        g_string_append_c(text, c);
    }
    next_byte(rig);
    next_byte(rig);
    ck_assert_int_eq(write(rig->machine.socket, "+", 1), 1);
    return g_string_free(text, FALSE);
}

/* The CPU stops because the debugger wants it. */
static void await_stop(const Rig *rig)
{
    g_autofree char *stop = receive(rig);

    ck_assert_msg(g_str_has_prefix(stop, "T02"), "it stops by %s", stop);
}

static void send_text(const Rig *rig, const char *text)
{
    g_autofree char *packet = NULL;
    uint8_t sum = 0;

    for (const char *c = text; *c; c++) {
        sum += (uint8_t)*c;
    }
    packet = g_strdup_printf("$%s#%02x", text, sum);
    ck_assert_int_eq(write(rig->machine.socket, packet, strlen(packet)),
                     (ssize_t)strlen(packet));
}

/* The answer is T05. Before QEMU 8.1 a debugger that connects is told of the
 * stop unasked, too. */
static void ask_why(const Rig *rig)
{
    g_autofree char *first = NULL;

    send_text(rig, "?");
    first = receive(rig);
    if (g_str_has_prefix(first, "T02")) {
        g_autofree char *answer = receive(rig);

        ck_assert_msg(g_str_has_prefix(answer, "T05"), "it stops by %s",
                      answer);
    } else {
        ck_assert_msg(g_str_has_prefix(first, "T05"), "it stops by %s", first);
    }
}

static void attach(Rig *rig)
{
    machine_connect(&rig->machine);
    open_gate(rig);
    ask_why(rig);
}

static void interrupt(const Rig *rig)
{
    ck_assert_int_eq(write(rig->machine.socket, "\x03", 1), 1);
    open_gate(rig);
    await_stop(rig);
}

static void ask(const Rig *rig, const char *text, const char *answer)
{
    g_autofree char *got = NULL;

    send_text(rig, text);
    got = receive(rig);
    ck_assert_msg(g_str_has_prefix(got, answer), "%s: the answer is %s", text,
                  got);
}

static char *registers(const Rig *rig)
{
    char *text;

    send_text(rig, "g");
    text = receive(rig);
    ck_assert_uint_ge(strlen(text), REGISTERS_HEX);
    return text;
}

static void detach(Rig *rig)
{
    ask(rig, "D", "OK");
    close(rig->machine.socket);
    rig->machine.socket = -1;
}

/* The machine stands where it stood, and stays there. */
static void rests(const Rig *rig, const char *when)
{
    await_stand(rig, when);
    g_usleep(REST_US);
    open_gate(rig);
    await_stand(rig, when);
}

/* Attaches a debugger after some time. Returns the registers, to be freed. */
static char *attach_at_rest(Rig *rig)
{
    advance(rig, 10 * MACHINE_MS, "before");
    attach(rig);
    return registers(rig);
}

START_TEST(test_detach)
{
    Rig rig = rig_new();
    g_autofree char *first = attach_at_rest(&rig), *second = NULL;

    detach(&rig);
    rests(&rig, "detached");
    attach(&rig);
    second = registers(&rig);
    ck_assert_str_eq(first, second);
    detach(&rig);
    rests(&rig, "detached again");
    advance(&rig, 5 * MACHINE_MS + 1, "afterwards");
    advance(&rig, 10 * MACHINE_MS, "afterwards");
    machine_done(&rig.machine);
}
END_TEST

START_TEST(test_continue)
{
    Rig rig = rig_new();
    g_autofree char *first = attach_at_rest(&rig), *second = NULL;

    send_text(&rig, "c");
    rests(&rig, "continued");
    interrupt(&rig);
    second = registers(&rig);
    ck_assert_str_eq(first, second);
    send_text(&rig, "c");
    rests(&rig, "continued again");
    advance(&rig, 10 * MACHINE_MS, "with a debugger");
    interrupt(&rig);
    detach(&rig);
    rests(&rig, "detached");
    advance(&rig, 10 * MACHINE_MS, "afterwards");
    machine_done(&rig.machine);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("timed_rest");
    TCase *cases = tcase_create("gdb");

    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, test_detach);
    tcase_add_test(cases, test_continue);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
