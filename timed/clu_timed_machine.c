/* SPDX-License-Identifier: MIT */
/* Branches of the machine of a host. The other side is
 * qemu-timed/timed_branch.c. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib-unix.h>

#include "clu_branch.h"
#include "clu_dir.h"
#include "clu_error.h"
#include "clu_process.h"
#include "clu_timed_priv.h"
#include "clu_copy.h"

bool clu_timed_machine_is_quiet(CluHost *host)
{
    const CluStream *lines[] = {clu_qmp_stream(clu_host_qmp(host)),
                                clu_guest_stream(clu_host_guest(host)),
                                clu_console_stream(clu_host_console(host))};

    if (clu_qmp_unanswered(clu_host_qmp(host)) > 0) {
        return false;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(lines); i++) {
        if (clu_stream_unread(lines[i]) > 0) {
            return false;
        }
    }
    return true;
}

static bool ask(const CluHost *host, const char *text, const CluFds *fds,
                GError **error)
{
    if (timed_control_send(clu_host_control(host), text,
                           fds ? (const int *)(const void *)fds->here->data
                               : NULL,
                           fds ? fds->here->len : 0)) {
        return true;
    }
    g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                "host '%s' cannot make a branch: %s",
                clu_host_plan(host)->host->name, g_strerror(errno));
    return false;
}

/* 1 and the number of the process that has answered; 0 if none has; -1 and
 * @error. */
static int answer(const CluHost *host, int line, pid_t *ret_pid, GError **error)
{
    g_autofree TimedControlPacket *packet = g_new(TimedControlPacket, 1);
    g_autofree char *what =
        g_strdup_printf("host '%s'", clu_host_plan(host)->host->name);

    if (!clu_branch_answer(line, packet, 0, what, ret_pid, error)) {
        return -1;
    }
    return *ret_pid >= 0;
}

bool clu_timed_machine_probe(const CluHost *host, GError **error)
{
    pid_t pid;
    int old;

    do { /* it may have answered too late */
        old = answer(host, clu_host_control(host), &pid, error);
    } while (old > 0);
    return old == 0 && ask(host, "probe", NULL, error);
}

int clu_timed_machine_is_probed(CluTimed *timed, CluHost *host, GError **error)
{
    pid_t pid;

    return answer(host, clu_host_control(host), &pid, error);
}

/* ---- A branch --------------------------------------------------------- */

/* Each disk becomes a copy, which the machine gets in place of the old one. */
static bool branch_disks(CluHost *host, CluFds *fds, GString *text,
                         GError **error)
{
    int *disks = clu_host_disks(host);

    for (unsigned i = 0; i < clu_host_plan(host)->devices->len; i++) {
        struct stat st;
        int copy;

        if (disks[i] < 0) {
            continue;
        }
        copy = fstat(disks[i], &st) < 0 ? -1 : clu_copy(disks[i], NULL, error);
        if (copy < 0) {
            return false;
        }
        close(disks[i]);
        disks[i] = copy;
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

    clu_faults_options(plan, plan->hosts->pdata[clu_host_plan(host)->index],
                       CLU_TIMED_TRAINING_NS, NULL, options);
    words = g_strsplit(options->str, ",fault=", -1);
    for (char **word = words; *word; word++) {
        if (**word) {
            g_string_append_printf(text, "fault %s\n", *word);
        }
    }
}

static bool make_output(CluHostLines *lines, CluFds *fds, GError **error)
{
    int output[2];

    if (pipe2(output, O_CLOEXEC) < 0) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                    "cannot make a pipe for QEMU: %s", g_strerror(errno));
        return false;
    }
    g_unix_set_fd_nonblocking(output[0], TRUE, NULL);
    lines->output = output[0];
    clu_fds_add(fds, output[1], STDERR_FILENO);
    clu_fds_take(fds, output[1], STDOUT_FILENO);
    return true;
}

bool clu_timed_machine_branch(CluTimed *timed, CluHost *host,
                              const CluPlan *plan, const char *dir, int alive,
                              GError **error)
{
    g_autofree char *log =
        clu_dir_log_path(dir, clu_host_plan(host)->host->name);
    CluHostLines *lines = &timed->hosts[clu_host_plan(host)->index].lines;
    g_autoptr(GString) text = g_string_new("branch\n");
    g_auto(CluFds) fds = {.here = NULL};

    clu_fds_init(&fds);
    if (!clu_console_branch(clu_host_console(host), log, error)) {
        return false;
    }
    if (!clu_host_has_process(host)) {
        return branch_disks(host, &fds, text, error);
    }
    *lines = (CluHostLines)CLU_HOST_NO_LINES;
    if (!clu_host_make_lines(host, &fds, lines, error) ||
        !make_output(lines, &fds, error)) {
        return false;
    }
    clu_fds_add(&fds, alive, CLU_FD_ALIVE);
    clu_fds_add(&fds, timed->branch_fd, CLU_FD_BOARD);
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

int clu_timed_machine_is_branched(CluTimed *timed, CluHost *host,
                                  GError **error)
{
    const CluHostLines *lines = &timed->hosts[clu_host_plan(host)->index].lines;
    pid_t pid;
    int answered = answer(host, lines->control, &pid, error);

    if (answered <= 0) {
        return answered;
    }
    return clu_host_replace_process(host, pid, lines, error) ? 1 : -1;
}
