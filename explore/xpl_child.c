/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "xpl_child.h"

#define LOOK_US   50000
#define KILL_US   (20 * G_USEC_PER_SEC)
#define CANNOT    255 /* the status of a program that cannot be run */
#define BY_SIGNAL 128

/* In the child: it has a group of its own, does not outlive its parent, and
 * takes signals, which its parent has blocked or ignores. */
static void prepare(void *unused)
{
    sigset_t none;

    (void)unused;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    signal(SIGPIPE, SIG_DFL);
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
}

static int status_of(int wait_status)
{
    return WIFSIGNALED(wait_status) ? BY_SIGNAL + WTERMSIG(wait_status)
                                    : WEXITSTATUS(wait_status);
}

/* Waits for the end of the group of @pid, which is told to end if @call is
 * over.
 */
static int await(const XplCall *call, GPid pid)
{
    gint64 polled_us = g_get_monotonic_time(), told = 0;
    int status;
    pid_t ended;

    while ((ended = waitpid(pid, &status, WNOHANG)) == 0) {
        gint64 now = g_get_monotonic_time();

        if (told != 0) {
            if (now - told > KILL_US) {
                kill(-pid, SIGKILL);
            }
        } else if (xpl_call_is_over(call, &polled_us)) {
            told = g_get_monotonic_time();
            kill(-pid, SIGTERM);
        }
        g_usleep(LOOK_US);
    }
    /* Processes that the child has left behind */
    kill(-pid, SIGKILL);
    return ended == pid ? status_of(status) : CANNOT;
}

int xpl_child(const XplCall *call, char **argv, char **envp)
{
    int out =
        open(call->output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    g_autoptr(GError) error = NULL;
    GPid pid;
    bool is_begun;

    if (out < 0) {
        return CANNOT;
    }
    is_begun =
        g_spawn_async_with_fds(NULL, argv, envp, G_SPAWN_DO_NOT_REAP_CHILD,
                               prepare, NULL, &pid, -1, out, out, &error);
    if (!is_begun && write(out, error->message, strlen(error->message)) < 0) {
        /* The status says that it cannot be run. */
    }
    close(out);
    return is_begun ? await(call, pid) : CANNOT;
}
