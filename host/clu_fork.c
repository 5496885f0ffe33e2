/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "clu_fork.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t clu_fork(CluForkKind kind)
{
    pid_t pid = fork();
    int status = 0;

    if (kind == CLU_FORK_CHILD || pid < 0) {
        return pid;
    }
    if (pid == 0) {
        pid = fork();
        if (pid != 0) {
            clu_fork_end(pid < 0 ? errno : 0);
        }
        return 0;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0) {
        errno = WEXITSTATUS(status);
        return -1;
    }
    return pid;
}

void clu_fork_settle(pid_t parent)
{
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (parent != 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            clu_fork_end(1);
        }
    }
}

/* The least descriptor of @keep from @first on; INT_MAX if there is none. */
static int next_kept(int first, const int *keep, unsigned count)
{
    int next = INT_MAX;

    for (unsigned i = 0; i < count; i++) {
        if (keep[i] >= first && keep[i] < next) {
            next = keep[i];
        }
    }
    return next;
}

void clu_fork_close(int first, const int *keep, unsigned count)
{
    while (first < INT_MAX) {
        int next = next_kept(first, keep, count);

        if (next > first) {
            close_range((unsigned)first, (unsigned)next - 1, 0);
        }
        first = next < INT_MAX ? next + 1 : INT_MAX;
    }
}

void clu_fork_end(int status)
{
    _exit(status);
}
