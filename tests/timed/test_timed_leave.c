/* SPDX-License-Identifier: MIT */
/*
 * A machine in virtual time whose monitor adds an NTB. This program takes the
 * place of the supervisor; the machine has its firmware only. Invariant: a
 * device that is refused, or goes, leaves its link on the board to the next.
 */
#include <check.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "timed_board.h"
#include "../suite.h"

#define MS          1000000
#define BOARD       9 /* the board's descriptor in QEMU */
#define PATIENCE_MS 20000
#define GLANCE_MS   10

typedef struct Rig {
    char *folder;
    char *path; /* of the monitor's socket */
    int fd;
    TimedBoard *board;
    pid_t pid;
    int qmp;
} Rig;

/* Exit status 127 if QEMU cannot be started. */
static void become_qemu(const Rig *rig)
{
    g_autofree char *monitor =
        g_strdup_printf("socket,id=qmp,path=%s,server=on,wait=off", rig->path);
    g_autofree char *plugin =
        g_strdup_printf("%s,board=%d,machine=0,monitor=qmp",
                        g_getenv("FARSIDE_TIMED_PLUGIN"), BOARD);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(rig->fd, BOARD);
    execlp("qemu-system-x86_64", "qemu-system-x86_64", "-plugin",
           g_getenv("FARSIDE_PLUGIN"), "-plugin", plugin, "-machine", "q35",
           "-m", "64M", "-smp", "1", "-accel", "tcg,thread=single,tb-size=64",
           "-icount", "shift=0,sleep=off", "-cpu", "qemu64,-cx16", "-rtc",
           "base=2026-01-01T00:00:00,clock=vm", "-nodefaults", "-display",
           "none", "-chardev", monitor, "-global",
           "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off", "-device",
           "pcie-root-port,id=root,addr=0a.0,chassis=1,slot=1", NULL);
    _exit(127);
}

/* The line that the monitor sends next, to be freed. Rounds let the machine
 * act meanwhile. */
static char *next_line(const Rig *rig)
{
    gint64 end = g_get_monotonic_time() + PATIENCE_MS * 1000;
    struct pollfd ready = {.fd = rig->qmp, .events = POLLIN};
    GString *line = g_string_new(NULL);
    char c = '\0';

    while (c != '\n') {
        ck_assert_msg(g_get_monotonic_time() < end, "no answer but %s",
                      line->str);
        if (poll(&ready, 1, GLANCE_MS) == 1) {
            ck_assert_int_eq(read(rig->qmp, &c, 1), 1);
            g_string_append_c(line, c);
        } else {
            timed_board_next_round(rig->board);
        }
    }
    return g_string_free(line, FALSE);
}

/* The answer to a command, to be freed. Events are dropped. */
static char *ask(const Rig *rig, const char *command)
{
    char *line = NULL;

    ck_assert_int_eq(write(rig->qmp, command, strlen(command)),
                     (ssize_t)strlen(command));
    do {
        g_free(line);
        line = next_line(rig);
    } while (!strstr(line, "\"return\"") && !strstr(line, "\"error\""));
    return line;
}

static void says(const Rig *rig, const char *command, const char *answer)
{
    g_autofree char *line = ask(rig, command);

    ck_assert_msg(strstr(line, answer), "%s: %s", command, line);
}

static void attach(Rig *rig)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    gint64 end = g_get_monotonic_time() + PATIENCE_MS * 1000;
    g_autofree char *greeting = NULL;

    ck_assert_uint_lt(strlen(rig->path), sizeof(address.sun_path));
    strcpy(address.sun_path, rig->path);
    rig->qmp = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    while (connect(rig->qmp, (struct sockaddr *)&address,
                   (socklen_t)sizeof(address)) != 0) {
        ck_assert_msg(g_get_monotonic_time() < end, "there is no monitor");
        g_usleep(GLANCE_MS * 1000);
    }
    greeting = next_line(rig);
    says(rig, "{'execute': 'qmp_capabilities'}\n", "\"return\"");
}

static void rig_begin(Rig *rig)
{
    const TimedBoardLink link = {.name = "x.0-1",
                                 .machine = {0, 1},
                                 .latency_ns = 400,
                                 .training_ns = 10 * MS};

    ck_assert_ptr_nonnull(g_getenv("FARSIDE_TIMED_PLUGIN"));
    rig->folder = g_dir_make_tmp("farside-leave-XXXXXX", NULL);
    rig->path = g_build_filename(rig->folder, "qmp", NULL);
    rig->fd = timed_board_new(2, &link, 1);
    ck_assert_int_ge(rig->fd, 0);
    rig->board = timed_board_open(rig->fd, 0);
    ck_assert_ptr_nonnull(rig->board);
    timed_board_set_limit(rig->board, MS);
    rig->pid = fork();
    ck_assert_int_ge(rig->pid, 0);
    if (rig->pid == 0) {
        become_qemu(rig);
    }
    attach(rig);
}

static void rig_end(Rig *rig)
{
    close(rig->qmp);
    kill(rig->pid, SIGKILL);
    waitpid(rig->pid, NULL, 0);
    timed_board_close(rig->board);
    close(rig->fd);
    g_unlink(rig->path);
    g_rmdir(rig->folder);
    g_free(rig->path);
    g_free(rig->folder);
}

/* An NTB of three hosts has its first link, but the board has no second one. */
START_TEST(a_refused_device_leaves_its_link)
{
    Rig rig = {0};

    rig_begin(&rig);
    says(&rig,
         "{'execute': 'device_add', 'arguments': {'driver': 'farside-idt', "
         "'hosts': 3, 'link': 'x.*', 'bus': 'root'}}\n",
         "this machine has no link x.0-2 on the board");
    says(&rig,
         "{'execute': 'device_add', 'arguments': {'driver': "
         "'farside-switchtec', 'link': 'x.0-1', 'bus': 'root'}}\n",
         "\"return\"");
    rig_end(&rig);
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
