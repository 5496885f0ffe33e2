/* SPDX-License-Identifier: MIT */
/* Branches of the machine of a host. The other side is
 * qemu-timed/timed_branch.c. */
#define _GNU_SOURCE
#include "clu_host_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib-unix.h>

#include "clu_branch.h"
#include "clu_dir.h"
#include "clu_error.h"
#include "clu_faults.h"
#include "clu_timed.h"

bool clu_host_is_quiet(const CluHost *host)
{
    const CluStream *lines[] = {clu_qmp_stream(host->qmp),
                                clu_guest_stream(host->guest),
                                clu_console_stream(host->console)};

    if (clu_qmp_unanswered(host->qmp) > 0) {
        return false;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(lines); i++) {
        if (clu_stream_unread(lines[i]) > 0) {
            return false;
        }
    }
    return true;
}

static bool ask(CluHost *host, const char *text, const CluFds *fds,
                GError **error)
{
    if (timed_control_send(host->control, text,
                           fds ? (const int *)(const void *)fds->here->data
                               : NULL,
                           fds ? fds->here->len : 0)) {
        return true;
    }
    g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                "host '%s' cannot make a branch: %s", host->plan->host->name,
                g_strerror(errno));
    return false;
}

/* 1 and the number of the process that has answered; 0 if none has; -1 and
 * @error. */
static int answer(const CluHost *host, int line, pid_t *ret_pid, GError **error)
{
    g_autofree TimedControlPacket *packet = g_new(TimedControlPacket, 1);
    g_autofree char *what =
        g_strdup_printf("host '%s'", host->plan->host->name);

    if (!clu_branch_answer(line, packet, 0, what, ret_pid, error)) {
        return -1;
    }
    return *ret_pid >= 0;
}

bool clu_host_probe(CluHost *host, GError **error)
{
    pid_t pid;
    int old;

    do { /* it may have answered too late */
        old = answer(host, host->control, &pid, error);
    } while (old > 0);
    return old == 0 && ask(host, "probe", NULL, error);
}

int clu_host_is_probed(CluHost *host, GError **error)
{
    pid_t pid;

    return answer(host, host->control, &pid, error);
}

/* ---- A branch --------------------------------------------------------- */

/* Each disk becomes a copy, which the machine gets in place of the old one. */
static bool branch_disks(CluHost *host, CluFds *fds, GString *text,
                         GError **error)
{
    for (unsigned i = 0; i < host->plan->devices->len; i++) {
        struct stat st;
        int copy;

        if (host->disks[i] < 0) {
            continue;
        }
        copy = fstat(host->disks[i], &st) < 0
                   ? -1
                   : clu_branch_copy(host->disks[i], NULL, error);
        if (copy < 0) {
            return false;
        }
        close(host->disks[i]);
        host->disks[i] = copy;
        g_string_append_printf(
            text, "file %" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT "\n",
            (guint64)st.st_dev, (guint64)st.st_ino);
        clu_fds_add(fds, copy, -1);
    }
    return true;
}

/* Lines "fault ..." in place of options ",fault=...". */
static void add_faults(const CluHost *host, const CluPlan *plan, GString *text)
{
    g_autoptr(GString) options = g_string_new(NULL);
    g_auto(GStrv) words = NULL;

    clu_faults_options(plan, plan->hosts->pdata[host->plan->index],
                       CLU_TIMED_TRAINING_NS, NULL, options);
    words = g_strsplit(options->str, ",fault=", -1);
    for (char **word = words; *word; word++) {
        if (**word) {
            g_string_append_printf(text, "fault %s\n", *word);
        }
    }
}

static bool make_output(CluHost *host, CluFds *fds, GError **error)
{
    int output[2];

    if (pipe2(output, O_CLOEXEC) < 0) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                    "cannot make a pipe for QEMU: %s", g_strerror(errno));
        return false;
    }
    g_unix_set_fd_nonblocking(output[0], TRUE, NULL);
    host->branch_output = output[0];
    clu_fds_add(fds, output[1], STDERR_FILENO);
    clu_fds_take(fds, output[1], STDOUT_FILENO);
    return true;
}

bool clu_host_branch(CluHost *host, const CluPlan *plan, const char *dir,
                     GError **error)
{
    g_autofree char *log = clu_dir_log_path(dir, host->plan->host->name);
    g_autoptr(GString) text = g_string_new("branch\n");
    g_auto(CluFds) fds = {.here = NULL};

    clu_fds_init(&fds);
    if (!clu_console_branch(host->console, log, error)) {
        return false;
    }
    if (!host->process) {
        return branch_disks(host, &fds, text, error);
    }
    host->lines = (CluHostLines)CLU_HOST_NO_LINES;
    if (!clu_host_make_lines(host, &fds, &host->lines, error) ||
        !make_output(host, &fds, error)) {
        return false;
    }
    clu_fds_add(&fds, host->shared->alive, CLU_FD_ALIVE);
    clu_fds_add(&fds, clu_timed_branch_board(clu_timed_of(host->shared->pace)),
                CLU_FD_BOARD);
    for (unsigned i = 0; i < fds.there->len; i++) {
        g_string_append_printf(text, "fd %d\n",
                               g_array_index(fds.there, int, i));
    }
    if (!branch_disks(host, &fds, text, error)) {
        return false;
    }
    add_faults(host, plan, text);
    return ask(host, text->str, &fds, error);
}

int clu_host_is_branched(CluHost *host, GError **error)
{
    pid_t pid;
    int answered = answer(host, host->lines.control, &pid, error);

    if (answered <= 0) {
        return answered;
    }
    clu_process_free(host->process);
    host->process = clu_process_adopt(host->shared->context, pid,
                                      clu_host_ended, host, error);
    if (!host->process) {
        return -1;
    }
    clu_stream_replace(clu_console_stream(host->console), host->lines.console);
    clu_stream_replace(clu_guest_stream(host->guest), host->lines.agent);
    clu_stream_replace(clu_qmp_stream(host->qmp), host->lines.qmp);
    close(host->control);
    host->control = host->lines.control;
    dup3(host->branch_output, host->output, O_CLOEXEC);
    close(host->branch_output);
    return 1;
}
