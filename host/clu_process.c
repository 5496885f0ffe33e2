/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "clu_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clu_error.h"
#include "clu_fork.h"
#include "clu_source.h"

struct CluProcess {
    pid_t pid;
    int handle; /* a descriptor that is readable when the process has ended */
    GSource *watch;
    siginfo_t end; /* si_pid is 0 if it is not known how it has ended */
    CluProcessEnded *ended;
    void *owner;
};

/* ---- Descriptors ------------------------------------------------------ */

void clu_fds_init(CluFds *fds)
{
    fds->here = g_array_new(FALSE, FALSE, sizeof(int));
    fds->there = g_array_new(FALSE, FALSE, sizeof(int));
}

void clu_fds_clear(CluFds *fds)
{
    for (unsigned i = 0; i < fds->here->len; i++) {
        close(g_array_index(fds->here, int, i));
    }
    g_array_unref(fds->here);
    g_array_unref(fds->there);
}

void clu_fds_take(CluFds *fds, int here, int there)
{
    g_array_append_val(fds->here, here);
    g_array_append_val(fds->there, there);
}

void clu_fds_add(CluFds *fds, int here, int there)
{
    clu_fds_take(fds, fcntl(here, F_DUPFD_CLOEXEC, 0), there);
}

int clu_fds_add_line(CluFds *fds, int type, int there, GError **error)
{
    int ends[2];

    if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) < 0) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                    "cannot make a socket for QEMU: %s", g_strerror(errno));
        return -1;
    }
    clu_fds_take(fds, ends[1], there);
    return ends[0];
}

/* ---- Processes -------------------------------------------------------- */

/* Runs in the child before exec(). The kernel kills the child when the
 * supervisor ends. */
static void child_setup(gpointer data)
{
    clu_fork_settle(GPOINTER_TO_INT(data));
    /* A program with setuid would not end with the supervisor, and QEMU needs
     * none. */
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static gboolean on_ended(int fd, GIOCondition condition, gpointer data)
{
    CluProcess *process = data;

    clu_source_clear(&process->watch);
    if (waitid(P_PIDFD, (id_t)fd, &process->end, WEXITED | WNOHANG) < 0) {
        process->end.si_pid = 0;
    }
    process->ended(process->owner);
    return G_SOURCE_REMOVE;
}

CluProcess *clu_process_adopt(GMainContext *context, pid_t pid,
                              CluProcessEnded *ended, void *owner,
                              GError **error)
{
    int handle = pidfd_open(pid, 0);
    CluProcess *process;

    if (handle < 0) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                    "cannot watch process %d: %s", (int)pid, g_strerror(errno));
        return NULL;
    }
    process = g_new0(CluProcess, 1);
    process->pid = pid;
    process->handle = handle;
    process->ended = ended;
    process->owner = owner;
    process->watch =
        clu_source_new_fd(context, handle, G_IO_IN, on_ended, process);
    return process;
}

CluProcess *clu_process_new(GMainContext *context, char **argv,
                            const CluFds *fds, int output,
                            CluProcessEnded *ended, void *owner, GError **error)
{
    CluProcess *process;
    GPid pid;

    if (!g_spawn_async_with_pipes_and_fds(
            NULL, (const char *const *)argv, NULL,
            G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_SEARCH_PATH, child_setup,
            GINT_TO_POINTER(getpid()), -1, output, output,
            (const int *)(const void *)fds->here->data,
            (const int *)(const void *)fds->there->data, fds->here->len, &pid,
            NULL, NULL, NULL, error)) {
        return NULL;
    }
    process = clu_process_adopt(context, pid, ended, owner, error);
    if (!process) {
        kill(pid, SIGKILL);
    }
    return process;
}

void clu_process_free(CluProcess *process)
{
    if (process) {
        clu_source_clear(&process->watch);
        close(process->handle);
        g_free(process);
    }
}

pid_t clu_process_pid(const CluProcess *process)
{
    return process->pid;
}

void clu_process_kill(const CluProcess *process)
{
    pidfd_send_signal(process->handle, SIGKILL, NULL, 0);
}

bool clu_process_is_clean(const CluProcess *process)
{
    return process->end.si_pid != 0 && process->end.si_code == CLD_EXITED &&
           process->end.si_status == 0;
}

bool clu_process_is_killed(const CluProcess *process)
{
    return process->end.si_pid != 0 && process->end.si_code != CLD_EXITED;
}

char *clu_process_explain(const CluProcess *process)
{
    if (process->end.si_pid == 0) {
        return g_strdup("QEMU has ended");
    }
    return g_strdup_printf(process->end.si_code == CLD_EXITED
                               ? "QEMU ended with status %d"
                               : "QEMU was ended by signal %d",
                           process->end.si_status);
}

void clu_process_leave_terminal(void)
{
    if (dup2(STDOUT_FILENO, STDERR_FILENO) < 0) {
        /* Harmless: the terminal only stays open. */
    }
}
