/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machine.h"

#define BOARD     9 /* the board's descriptor in QEMU */
#define GLANCE_US 10000

static const char *const common[] = {
    "-machine",    "q35",
    "-m",          "64M",
    "-smp",        "1",
    "-accel",      "tcg,thread=single,tb-size=64",
    "-icount",     "shift=0,sleep=off",
    "-cpu",        "qemu64,-cx16",
    "-rtc",        "base=2026-01-01T00:00:00,clock=vm",
    "-nodefaults", "-display",
    "none",        NULL};

void machine_init(Machine *machine, unsigned machines,
                  const TimedBoardLink *links, unsigned link_count)
{
    *machine = (Machine){.socket = -1};
    machine->folder = g_dir_make_tmp("farside-machine-XXXXXX", NULL);
    ck_assert_ptr_nonnull(machine->folder);
    machine->path = g_build_filename(machine->folder, "socket", NULL);
    machine->board_fd = timed_board_new(machines, links, link_count);
    ck_assert_int_ge(machine->board_fd, 0);
    machine->board = timed_board_open(machine->board_fd, 0);
    ck_assert_ptr_nonnull(machine->board);
    timed_board_set_limit(machine->board, MACHINE_MS);
}

static void add_all(GPtrArray *to, const char *const *words)
{
    for (; *words; words++) {
        g_ptr_array_add(to, (char *)*words);
    }
}

/* Exit status 127 if QEMU cannot be started. */
static void become_qemu(const Machine *machine, char **arguments)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(machine->board_fd, BOARD);
    execvp(arguments[0], arguments);
    _exit(127);
}

void machine_start(Machine *machine, const char *plugin_options,
                   const char *const *arguments)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    g_autofree char *plugin = NULL;

    ck_assert_ptr_nonnull(g_getenv("FARSIDE_TIMED_PLUGIN"));
    plugin = g_strdup_printf("%s,board=%d,machine=0%s",
                             g_getenv("FARSIDE_TIMED_PLUGIN"), BOARD,
                             plugin_options);
    g_ptr_array_add(all, "qemu-system-x86_64");
    add_all(all, arguments);
    g_ptr_array_add(all, "-plugin");
    g_ptr_array_add(all, plugin);
    add_all(all, common);
    g_ptr_array_add(all, NULL);
    machine->pid = fork();
    ck_assert_int_ge(machine->pid, 0);
    if (machine->pid == 0) {
        become_qemu(machine, (char **)all->pdata);
    }
}

void machine_connect(Machine *machine)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    gint64 end = g_get_monotonic_time() + MACHINE_PATIENCE_MS * 1000;

    ck_assert_uint_lt(strlen(machine->path), sizeof(address.sun_path));
    strcpy(address.sun_path, machine->path);
    machine->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(machine->socket, 0);
    while (connect(machine->socket, (struct sockaddr *)&address,
                   (socklen_t)sizeof(address)) != 0) {
        ck_assert_msg(waitpid(machine->pid, NULL, WNOHANG) == 0,
                      "QEMU has ended");
        ck_assert_msg(g_get_monotonic_time() < end, "QEMU does not listen");
        g_usleep(GLANCE_US);
    }
}

void machine_done(Machine *machine)
{
    if (machine->socket >= 0) {
        close(machine->socket);
    }
    kill(machine->pid, SIGKILL);
    waitpid(machine->pid, NULL, 0);
    timed_board_close(machine->board);
    close(machine->board_fd);
    g_unlink(machine->path);
    g_rmdir(machine->folder);
    g_free(machine->path);
    g_free(machine->folder);
}
