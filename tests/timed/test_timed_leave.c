/* SPDX-License-Identifier: MIT */
/*
 * A machine in virtual time whose monitor adds an NTB. This program takes the
 * place of the supervisor; the machine has its firmware only. Invariant: a
 * device that is refused, or goes, leaves its link on the board to the next.
 */
#include <check.h>
#include <glib.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "machine.h"
#include "../suite.h"

#define GLANCE_MS 10

/* The line that the monitor sends next, to be freed. Rounds let the machine
 * act meanwhile. */
static char *next_line(const Machine *machine)
{
    gint64 end = g_get_monotonic_time() + MACHINE_PATIENCE_MS * 1000;
    struct pollfd ready = {.fd = machine->socket, .events = POLLIN};
    GString *line = g_string_new(NULL);
    char c = '\0';

    while (c != '\n') {
        ck_assert_msg(g_get_monotonic_time() < end, "no answer but %s",
                      line->str);
        if (poll(&ready, 1, GLANCE_MS) == 1) {
            ck_assert_int_eq(read(machine->socket, &c, 1), 1);
            g_string_append_c(line, c);
        } else {
            timed_board_next_round(machine->board);
        }
    }
    return g_string_free(line, FALSE);
}

/* The answer to a command, to be freed. Events are dropped. */
static char *ask(const Machine *machine, const char *command)
{
    char *line = NULL;

    ck_assert_int_eq(write(machine->socket, command, strlen(command)),
                     (ssize_t)strlen(command));
    do {
        g_free(line);
        line = next_line(machine);
    } while (!strstr(line, "\"return\"") && !strstr(line, "\"error\""));
    return line;
}

static void says(const Machine *machine, const char *command,
                 const char *answer)
{
    g_autofree char *line = ask(machine, command);

    ck_assert_msg(strstr(line, answer), "%s: %s", command, line);
}

static void begin(Machine *machine)
{
    const TimedBoardLink link = {.name = "x.0-1",
                                 .machine = {0, 1},
                                 .latency_ns = 400,
                                 .training_ns = 10 * MACHINE_MS};
    g_autofree char *monitor = NULL, *greeting = NULL;

    machine_init(machine, 2, &link, 1);
    monitor = g_strdup_printf("socket,id=qmp,path=%s,server=on,wait=off",
                              machine->path);
    machine_start(
        machine, ",monitor=qmp",
        (const char *const[]){
            "-plugin", g_getenv("FARSIDE_PLUGIN"), "-chardev", monitor,
            "-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off",
            "-device", "pcie-root-port,id=root,addr=0a.0,chassis=1,slot=1",
            NULL});
    machine_connect(machine);
    greeting = next_line(machine);
    says(machine, "{'execute': 'qmp_capabilities'}\n", "\"return\"");
}

/* An NTB of three hosts has its first link, but the board has no second one. */
START_TEST(a_refused_device_leaves_its_link)
{
    Machine machine;

    begin(&machine);
    says(&machine,
         "{'execute': 'device_add', 'arguments': {'driver': 'farside-idt', "
         "'hosts': 3, 'link': 'x.*', 'bus': 'root'}}\n",
         "this machine has no link x.0-2 on the board");
    says(&machine,
         "{'execute': 'device_add', 'arguments': {'driver': "
         "'farside-switchtec', 'link': 'x.0-1', 'bus': 'root'}}\n",
         "\"return\"");
    machine_done(&machine);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("timed_leave");
    TCase *cases = tcase_create("leave");

    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, a_refused_device_leaves_its_link);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
