/* SPDX-License-Identifier: MIT */
/*
 * A system that refuses code which can be written, as SELinux and systemd's
 * MemoryDenyWriteExecute do; here a filter of system calls. Invariant: a QEMU
 * whose functions cannot be replaced ends with a message that names the
 * function and the reason, and never runs with its own drives in virtual time.
 */
#include <check.h>
#include <errno.h>
#include <glib.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "timed_board.h"
#include "../suite.h"

#define BOARD 9 /* the board's descriptor in QEMU */
/* With a second mapping of its own code QEMU itself needs no such pages. */
#define ACCEL "tcg,thread=single,tb-size=64,split-wx=on"
/* A drive that the machine does not have, with times of 1 */
#define DRIVE "nowhere:1:1:1:1:1:1"

typedef struct {
    int board;
    bool filtered;
} Child;

/* mprotect() fails with EACCES if its third argument has both bits. */
static bool refuse_writable_code(void)
{
    const unsigned both = PROT_WRITE | PROT_EXEC;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                 offsetof(struct seccomp_data, args[2])),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, both),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, both, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {
        .len = sizeof(code) / sizeof(code[0]),
        .filter = code,
    };

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void prepare(gpointer data)
{
    const Child *child = data;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dup2(child->board, BOARD) != BOARD ||
        (child->filtered && !refuse_writable_code())) {
        _exit(127);
    }
}

/* Runs QEMU until it ends by itself. Returns what it says, to be freed. */
static char *run_qemu(bool filtered)
{
    g_autofree char *plugin =
        g_strdup_printf("%s,board=%d,machine=0,drive=" DRIVE,
                        g_getenv("FARSIDE_TIMED_PLUGIN"), BOARD);
    char *argv[] = {"qemu-system-x86_64",
                    "-plugin",
                    plugin,
                    "-machine",
                    "q35",
                    "-smp",
                    "1",
                    "-accel",
                    ACCEL,
                    "-icount",
                    "shift=0,sleep=off",
                    "-nodefaults",
                    "-display",
                    "none",
                    NULL};
    Child child = {.board = timed_board_new(1, NULL, 0), .filtered = filtered};
    g_autoptr(GError) error = NULL;
    char *said = NULL;
    int status = 0;

    ck_assert_ptr_nonnull(g_getenv("FARSIDE_TIMED_PLUGIN"));
    ck_assert_int_ge(child.board, 0);
    ck_assert_msg(
        g_spawn_sync(NULL, argv, NULL,
                     G_SPAWN_SEARCH_PATH | G_SPAWN_LEAVE_DESCRIPTORS_OPEN,
                     prepare, &child, NULL, &said, &status, &error),
        "%s", error ? error->message : "");
    close(child.board);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 1,
                  "status %#x: %s", (unsigned)status, said);
    return said;
}

START_TEST(writable_code_is_refused)
{
    g_autofree char *said = run_qemu(true);

    ck_assert_msg(strstr(said, "virtual time replaces QEMU's function "
                               "blk_aio_cancel, but its code cannot be "
                               "written: Permission denied"),
                  "%s", said);
}
END_TEST

/* The same QEMU goes on, and finds that it has no such drive. */
START_TEST(the_filter_is_the_reason)
{
    g_autofree char *said = run_qemu(false);

    ck_assert_ptr_null(strstr(said, "replaces"));
    ck_assert_msg(strstr(said, "'nowhere'"), "%s", said);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("timed_refuse");
    TCase *cases = tcase_create("code");

    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, writable_code_is_refused);
    tcase_add_test(cases, the_filter_is_the_reason);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
