/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd_explore.h"

#define LOOK_US   50000
#define KILL_US   (20 * G_USEC_PER_SEC)
#define CANNOT    255 /* the status of a program that cannot be run */
#define BY_SIGNAL 128

/* In the child: it has a group of its own, does not outlive its parent, and
 * takes signals, which its parent has blocked. */
static void prepare(void *unused)
{
    sigset_t none;

    (void)unused;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
}

static int status_of(int wait_status)
{
    return WIFSIGNALED(wait_status) ? BY_SIGNAL + WTERMSIG(wait_status)
                                    : WEXITSTATUS(wait_status);
}

/* Waits for the end of the group of @pid, which is told to end if @poll says
 * so. */
static int await(CmdExplore *explore, GPid pid, CmdExplorePoll *poll,
                 void *owner)
{
    gint64 asked = g_get_monotonic_time(), told = 0;
    int status;
    pid_t ended;

    while ((ended = waitpid(pid, &status, WNOHANG)) == 0) {
        gint64 now = g_get_monotonic_time();

        if (told != 0) {
            if (now - told > KILL_US) {
                kill(-pid, SIGKILL);
            }
        } else if (g_atomic_int_get(&explore->is_stopped) ||
                   (poll && now - asked > G_USEC_PER_SEC && poll(owner))) {
            told = g_get_monotonic_time();
            kill(-pid, SIGTERM);
        } else if (now - asked > G_USEC_PER_SEC) {
            asked = now;
        }
        g_usleep(LOOK_US);
    }
    /* Processes that the child has left behind */
    kill(-pid, SIGKILL);
    return ended == pid ? status_of(status) : CANNOT;
}

int cmd_explore_child(CmdExplore *explore, char **argv, char **envp,
                      const char *output, CmdExplorePoll *poll, void *owner)
{
    int out = open(output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    g_autoptr(GError) error = NULL;
    GPid pid;
    bool is_begun;

    if (out < 0) {
        return CANNOT;
    }
    is_begun =
        g_spawn_async_with_fds(NULL, argv, envp, G_SPAWN_DO_NOT_REAP_CHILD,
                               prepare, NULL, &pid, -1, out, out, &error);
    if (!is_begun) {
        dprintf(out, "%s\n", error->message);
    }
    close(out);
    return is_begun ? await(explore, pid, poll, owner) : CANNOT;
}

char *cmd_explore_ask(const char *const *argv)
{
    g_autofree char *text = NULL;
    int status;

    if (!g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_STDERR_TO_DEV_NULL,
                      prepare, NULL, &text, NULL, &status, NULL) ||
        status != 0) {
        return NULL;
    }
    return g_steal_pointer(&text);
}
