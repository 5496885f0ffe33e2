/* SPDX-License-Identifier: MIT */
/* The process of the model, seen from the supervisor. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clu_branch.h"
#include "clu_error.h"
#include "clu_fork.h"
#include "clu_timed_priv.h"
#include "timed_control.h"

/* The time that the model has to make a branch */
#define BRANCH_MS 30000

static void model_main(const CluTimed *timed, const CluPlan *plan, pid_t parent,
                       int control)
{
    const int kept[] = {timed->fd, control};

    clu_fork_settle(parent);
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    /* Connections of the supervisor must end with it. */
    clu_fork_close(3, kept, G_N_ELEMENTS(kept));
    timed->run_model(timed->model_owner, plan, timed->fd, control);
    clu_fork_end(1);
}

/* Makes a line to the model; its second end is the model's. */
static bool make_line(int line[2], GError **error)
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line) < 0) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                    "cannot make a socket for the model: %s",
                    g_strerror(errno));
        return false;
    }
    return true;
}

bool clu_timed_start_model(CluTimed *timed, const CluPlan *plan, GError **error)
{
    pid_t parent = getpid();
    int line[2];

    if (!make_line(line, error)) {
        return false;
    }
    timed->model_pid = clu_fork(CLU_FORK_CHILD);
    if (timed->model_pid == 0) {
        model_main(timed, plan, parent, line[1]);
    }
    close(line[1]);
    timed->control = line[0];
    if (timed->model_pid < 0) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                    "cannot make a process for the model: %s",
                    g_strerror(errno));
        return false;
    }
    return true;
}

void clu_timed_model_ended(void *owner)
{
    const CluTimed *timed = owner;

    clu_cluster_end(timed->cluster);
}

bool clu_timed_branch_model(CluTimed *timed, char *const *sets, GError **error)
{
    g_autofree TimedControlPacket *packet = g_new(TimedControlPacket, 1);
    g_autoptr(GString) text = g_string_new("branch\n");
    int line[2];
    pid_t pid;

    for (; *sets; sets++) {
        g_autofree char *escaped = g_strescape(*sets, NULL);

        g_string_append_printf(text, "set %s\n", escaped);
    }
    if (!make_line(line, error)) {
        return false;
    }
    if (timed_control_send(timed->control, text->str, &line[1], 1)) {
        timed_board_wake_model(timed->board);
    }
    close(line[1]);
    close(timed->control);
    timed->control = line[0];
    if (!clu_branch_answer(timed->control, packet, BRANCH_MS, "the model", &pid,
                           error)) {
        return false;
    }
    if (pid < 0 || packet->count != 1) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                    "the model has not made a branch in %d s",
                    BRANCH_MS / 1000);
        return false;
    }
    timed->branch_fd = packet->fds[0];
    timed->model_pid = pid;
    return true;
}
