/* SPDX-License-Identifier: MIT */
/*
 * Parts of branches of timed clusters. Invariants: a process gets the
 * descriptors that it was given, under their numbers, and its end is reported
 * once, with its status if it is a child; a copy of a file has its bytes and
 * its holes, and leaves the position in the file alone; a branch gets faults,
 * and nothing else, and none of them before its time; a process that is forked
 * keeps no descriptor that it was not to keep, whatever its number.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clu_branch.h"
#include "clu_copy.h"
#include "clu_fork.h"
#include "clu_process.h"
#include "../suite.h"

#define FILE_BYTES (8 << 20)

static void on_ended(void *owner)
{
    g_main_loop_quit(owner);
}

/* Runs a shell's @script with a pipe as descriptor 7, and returns what it
 * writes there; to be freed. */
static char *run_shell(const char *script, CluProcess **ret_process)
{
    char *argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)script, NULL};
    g_autoptr(GMainLoop) loop = g_main_loop_new(NULL, FALSE);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC), ends[2];
    char *said = g_malloc0(100);
    GError *error = NULL;
    CluFds fds;

    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    clu_fds_init(&fds);
    clu_fds_add(&fds, ends[1], 7);
    clu_fds_take(&fds, ends[1], 3); /* a number that may be in use here */
    *ret_process =
        clu_process_new(NULL, argv, &fds, null, on_ended, loop, &error);
    ck_assert_msg(*ret_process, "%s", error ? error->message : "");
    clu_fds_clear(&fds);
    g_main_loop_run(loop);
    ck_assert_int_ge(read(ends[0], said, 99), 0);
    close(ends[0]);
    close(null);
    return said;
}

static void check_end(const char *script, const char *said, bool is_clean,
                      const char *how)
{
    g_autoptr(CluProcess) process = NULL;
    g_autofree char *got = run_shell(script, &process);
    g_autofree char *explained = clu_process_explain(process);

    ck_assert_str_eq(got, said);
    ck_assert_int_eq(clu_process_is_clean(process), is_clean);
    ck_assert_str_eq(explained, how);
}

START_TEST(a_child_gets_descriptors_and_says_how_it_ends)
{
    check_end("echo x >&7; echo y >&3", "x\ny\n", true,
              "QEMU ended with status 0");
    check_end("exit 3", "", false, "QEMU ended with status 3");
    check_end("kill -KILL $$", "", false, "QEMU was ended by signal 9");
}
END_TEST

/* The process is a child of a child, which has ended. */
START_TEST(a_process_of_others_can_be_watched)
{
    g_autoptr(GMainLoop) loop = g_main_loop_new(NULL, FALSE);
    g_autoptr(CluProcess) process = NULL;
    g_autofree char *how = NULL;
    GError *error = NULL;
    pid_t pid, grandchild;
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        grandchild = fork();
        if (grandchild == 0) {
            pause();
            _exit(0);
        }
        _exit(write(ends[1], &grandchild, sizeof(pid)) != sizeof(pid));
    }
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    ck_assert_int_eq(read(ends[0], &grandchild, sizeof(pid)), sizeof(pid));
    process = clu_process_adopt(NULL, grandchild, on_ended, loop, &error);
    ck_assert_ptr_nonnull(process);
    ck_assert_int_eq(clu_process_pid(process), grandchild);
    clu_process_kill(process);
    g_main_loop_run(loop);
    how = clu_process_explain(process);
    ck_assert_str_eq(how, "QEMU has ended");
    ck_assert(!clu_process_is_clean(process));
    close(ends[0]);
    close(ends[1]);
}
END_TEST

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

/* A program may have more than 1,024 descriptors, and lower its limit later. */
START_TEST(a_forked_process_keeps_what_it_was_to_keep)
{
    const int numbers[] = {10, 11, 1023, 1024, 3000, 3001};
    const int kept[] = {3000, 11, -1};
    struct rlimit limit;
    int status;
    pid_t pid;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(numbers); i++) {
        ck_assert_int_eq(dup2(STDIN_FILENO, numbers[i]), numbers[i]);
    }
    limit.rlim_cur = 256;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    pid = clu_fork(CLU_FORK_CHILD);
    if (pid == 0) {
        unsigned open = 0;

        clu_fork_close(3, kept, G_N_ELEMENTS(kept));
        for (unsigned i = 0; i < G_N_ELEMENTS(numbers); i++) {
            open |= is_open(numbers[i]) ? 1u << i : 0;
        }
        /* 11 and 3000 are the second and the fifth of them. */
        clu_fork_end(open == 0x12 && is_open(2) ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(an_orphan_is_no_child)
{
    int ends[2];
    char byte;
    pid_t pid;

    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    pid = clu_fork(CLU_FORK_ORPHAN);
    if (pid == 0) {
        clu_fork_end(write(ends[1], "x", 1) == 1 ? 0 : 1);
    }
    ck_assert_int_gt(pid, 0);
    ck_assert_int_eq(read(ends[0], &byte, 1), 1);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
}
END_TEST

START_TEST(a_copy_has_the_bytes_and_the_holes)
{
    /* The second one is in memory, on another file system than the copy. */
    int fd = _i == 0 ? open("/var/tmp", O_TMPFILE | O_RDWR, 0600)
                     : memfd_create("image", 0);
    int copy;
    GError *error = NULL;
    char bytes[6] = "";
    struct stat st;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, FILE_BYTES), 0);
    ck_assert_int_eq(pwrite(fd, "here", 4, FILE_BYTES / 2), 4);
    ck_assert_int_eq(lseek(fd, 17, SEEK_SET), 17);
    copy = clu_copy(fd, NULL, &error);
    ck_assert_int_ge(copy, 0);
    ck_assert_int_eq(lseek(fd, 0, SEEK_CUR), 17);
    ck_assert_int_eq(fstat(copy, &st), 0);
    ck_assert_int_eq(st.st_size, FILE_BYTES);
    ck_assert_int_lt(st.st_blocks * 512, FILE_BYTES / 4);
    ck_assert_int_eq(pread(copy, bytes, 5, FILE_BYTES / 2 - 1), 5);
    ck_assert_mem_eq(bytes, "\0here", 5);
    /* They share nothing. */
    ck_assert_int_eq(pwrite(copy, "there", 5, FILE_BYTES / 2), 5);
    ck_assert_int_eq(pread(fd, bytes, 5, FILE_BYTES / 2), 5);
    ck_assert_mem_eq(bytes, "here\0", 5);
    close(copy);
    ck_assert_int_eq(clu_copy(fd, "/nowhere/at/all", &error), -1);
    ck_assert_ptr_nonnull(strstr(error->message, "/nowhere/at/all"));
    g_error_free(error);
    close(fd);
}
END_TEST

static CluPlan *load(const char *file)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    TopoDescription *description = topo_load(file, NULL, errors);
    CluPlan *plan = description ? clu_plan_new(description, errors) : NULL;

    ck_assert_ptr_nonnull(plan);
    return plan;
}

static void check_plan(const CluPlan *plan, const char *set, const char *words)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    char *sets[] = {(char *)set, NULL};
    CluPlan *branch = clu_branch_plan(plan, sets, 1000000000, errors);
    g_autofree char *text = topo_errors_to_string(errors);

    if (words) {
        ck_assert_ptr_null(branch);
        ck_assert_msg(strstr(text, words), "%s", text);
        return;
    }
    ck_assert_str_eq(text, "");
    ck_assert_uint_eq(branch->description->faults->len, 1);
}

START_TEST(a_branch_gets_later_faults_and_nothing_else)
{
    CluPlan *plan = load(TOPO_SOURCE_ROOT "/tests/timed/branch.yaml");

    check_plan(plan,
               "faults=[{name: f, target: a, action: freeze, at: 1000000001ns, "
               "for: 1us}]",
               NULL);
    check_plan(plan,
               "faults=- {name: f, target: cable, action: link-down,\n"
               "   when: write 3, for: 1us}\n",
               NULL);
    check_plan(
        plan, "faults=[{name: f, target: a, action: freeze, at: 1s, for: 1us}]",
        "fault f is at 1000000000 ns, but the branch begins at "
        "1000000000 ns; write a later time");
    check_plan(plan,
               "faults=[{name: f, target: a, action: start-late, at: 2s}]",
               "fault f: a is switched on already; write restart");
    check_plan(plan, "hosts.a.vm.memory=1GiB",
               "hosts.a.vm.memory is as it was at the checkpoint");
    check_plan(plan, "faults=[{name: f, target: c, action: kill, at: 2s}]",
               "there is no host 'c'");
}
END_TEST

START_TEST(what_branches_would_share_is_refused)
{
    g_autoptr(TopoErrors) none = topo_errors_new();
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autofree char *text = NULL;

    clu_branch_check(load(TOPO_SOURCE_ROOT "/tests/timed/branch.yaml"), none);
    ck_assert_uint_eq(topo_errors_count(none), 0);
    clu_branch_check(load(TOPO_SOURCE_ROOT "/tests/timed/faults.yaml"), errors);
    text = topo_errors_to_string(errors);
    ck_assert_msg(strstr(text, "a cluster with a checkpoint has no `faults`"),
                  "%s", text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("branch");
    TCase *tcase = tcase_create("branch");

    tcase_add_test(tcase, a_child_gets_descriptors_and_says_how_it_ends);
    tcase_add_test(tcase, a_process_of_others_can_be_watched);
    tcase_add_test(tcase, a_forked_process_keeps_what_it_was_to_keep);
    tcase_add_test(tcase, an_orphan_is_no_child);
    tcase_add_loop_test(tcase, a_copy_has_the_bytes_and_the_holes, 0, 2);
    tcase_add_test(tcase, a_branch_gets_later_faults_and_nothing_else);
    tcase_add_test(tcase, what_branches_would_share_is_refused);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
