/* SPDX-License-Identifier: MIT */
/* The hosts between two steps: what they are given, and what is done to their
 * processes. */
#include <string.h>

#include "clu_timed_priv.h"

/* The most that a machine in virtual time is given at once. It fits into a
 * socket. */
#define GIVEN_BYTES 32768

/* The lines to a machine, in the order in which they are given something. */
static const CluInputKind kinds[] = {CLU_INPUT_QMP, CLU_INPUT_AGENT,
                                     CLU_INPUT_CONSOLE};

static CluStream *line_of(CluHost *host, CluInputKind kind)
{
    return kind == CLU_INPUT_QMP ? clu_qmp_stream(clu_host_qmp(host))
           : kind == CLU_INPUT_AGENT
               ? clu_guest_stream(clu_host_guest(host))
               : clu_console_stream(clu_host_console(host));
}

/* A process that was killed must have ended. */
bool clu_timed_is_held(const CluTimed *timed)
{
    bool held = clu_cluster_holds_time(timed->cluster);

    for (unsigned i = 0; i < timed->plan->hosts->len; i++) {
        const CluHost *host = clu_cluster_host(timed->cluster, i);

        held |=
            clu_host_has_process(host) && clu_host_state(host) == CLU_HOST_DEAD;
    }
    return held;
}

size_t clu_timed_unread(const CluTimed *timed)
{
    size_t bytes = 0;

    for (unsigned i = 0; i < timed->plan->hosts->len; i++) {
        CluHost *host = clu_cluster_host(timed->cluster, i);

        for (unsigned k = 0; clu_host_guest(host) && k < G_N_ELEMENTS(kinds);
             k++) {
            const CluStream *line = line_of(host, kinds[k]);

            bytes += clu_stream_unread(line) - clu_stream_pending(line);
        }
    }
    return bytes;
}

unsigned clu_timed_unanswered(const CluTimed *timed)
{
    unsigned count = 0;

    for (unsigned i = 0; i < timed->plan->hosts->len; i++) {
        const CluQmp *qmp = clu_host_qmp(clu_cluster_host(timed->cluster, i));

        count += qmp ? clu_qmp_unanswered(qmp) : 0;
    }
    return count;
}

/* Gives the machine what waits for the line @kind. False if nothing does, or if
 * the machine has not read all that it was given before. */
static bool feed_line(CluTimed *timed, CluHost *host, CluInputKind kind)
{
    const CluPlanHost *plan = clu_host_plan(host);
    CluStream *line = clu_host_guest(host) ? line_of(host, kind) : NULL;
    g_autofree uint8_t *copy = NULL;
    const uint8_t *waiting;
    size_t length;

    /* A machine in the middle of an access keeps its gate closed, so it would
     * act on the input in the middle of a step. */
    if (!line || timed_board_is_busy(timed->board, plan->index)) {
        return false;
    }
    waiting = clu_stream_waiting(line, &length);
    if (length == 0) {
        return false;
    }
    copy = g_memdup2(waiting, MIN(length, GIVEN_BYTES));
    length = clu_stream_let(line, GIVEN_BYTES);
    if (length > 0) {
        clu_timed_note(timed, kind, plan->host->name, copy, length);
    }
    return length > 0;
}

static bool feed_all(CluTimed *timed, CluInputKind kind)
{
    bool any = false;

    for (unsigned i = 0; i < timed->plan->hosts->len; i++) {
        any |= feed_line(timed, clu_cluster_host(timed->cluster, i), kind);
    }
    return any;
}

/* Monitors act before guests get their input. */
bool clu_timed_feed(CluTimed *timed)
{
    bool any;

    if (feed_all(timed, CLU_INPUT_QMP)) {
        return true;
    }
    any = feed_all(timed, CLU_INPUT_AGENT);
    return feed_all(timed, CLU_INPUT_CONSOLE) || any;
}

/* Processes */

static void start_again(CluTimed *timed, CluHost *host)
{
    const CluPlanHost *plan = clu_host_plan(host);
    CluTimedHost *its = &timed->hosts[plan->index];
    g_autoptr(GError) error = NULL;

    its->is_due = false;
    its->returns = false;
    clu_timed_note(timed, CLU_INPUT_START, plan->host->name, NULL, 0);
    timed_board_return(timed->board, plan->index);
    if (!clu_host_start(host, &error)) {
        timed_board_leave(timed->board, plan->index);
        clu_host_set_state(host, CLU_HOST_DEAD, error->message);
    }
}

void clu_timed_request_start(CluTimed *timed, const CluHost *host)
{
    CluTimedHost *its = &timed->hosts[clu_host_plan(host)->index];

    its->returns = true;
    its->is_due = true;
}

static bool apply_to(CluTimed *timed, CluHost *host)
{
    const CluPlanHost *plan = clu_host_plan(host);
    CluTimedHost *its = &timed->hosts[plan->index];
    g_autofree char *cause = g_steal_pointer(&its->fate);

    if (its->is_due && !clu_host_has_process(host)) {
        start_again(timed, host);
        return true;
    }
    if (!cause || !clu_host_has_process(host)) {
        return false;
    }
    clu_timed_note(timed, CLU_INPUT_KILL, plan->host->name, NULL, 0);
    clu_host_end_process(host, cause);
    return true;
}

bool clu_timed_apply_pending(CluTimed *timed)
{
    bool any = false;

    for (unsigned i = 0; i < timed->plan->hosts->len; i++) {
        any |= apply_to(timed, clu_cluster_host(timed->cluster, i));
    }
    return any;
}

/* Replay */

/* A replay must not write into the trace of the run. The monitor gets a command
 * that does nothing in place of each that sets its name. */
static GBytes *without_traces(GBytes *bytes)
{
    static const char nothing[] = "{\"execute\": \"query-status\"}";
    size_t length;
    const char *data = g_bytes_get_data(bytes, &length);
    g_autofree char *text = g_strndup(data, length);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    for (char **line = lines; *line; line++) {
        if (strstr(*line, "\"property\": \"trace\"")) {
            g_free(*line);
            *line = g_strdup(nothing);
        }
    }
    g_free(text);
    text = g_strjoinv("\n", lines);
    return g_bytes_new(text, strlen(text));
}

static unsigned count_lines(GBytes *bytes)
{
    size_t length;
    const char *data = g_bytes_get_data(bytes, &length);
    unsigned count = 0;

    for (size_t i = 0; i < length; i++) {
        count += data[i] == '\n';
    }
    return count;
}

static bool replay_to(CluTimed *timed, CluHost *host, const CluInput *input)
{
    g_autoptr(GBytes) bytes = input->kind == CLU_INPUT_QMP
                                  ? without_traces(input->bytes)
                                  : g_bytes_ref(input->bytes);
    CluStream *line;
    const void *data;
    size_t length;

    if (input->kind == CLU_INPUT_FAULT) {
        return true; /* a fault with the name of this host: it happens anyway */
    }
    if (input->kind == CLU_INPUT_START) {
        clu_timed_request_start(timed, host);
        return apply_to(timed, host);
    }
    if (!clu_host_guest(host)) {
        return true; /* its process has ended in this run, too */
    }
    if (input->kind == CLU_INPUT_KILL) {
        clu_host_kill(host, "it was killed in the run that is replayed");
        apply_to(timed, host);
        return true;
    }
    line = line_of(host, input->kind);
    if (clu_stream_unread(line) != clu_stream_pending(line)) {
        return false;
    }
    data = g_bytes_get_data(bytes, &length);
    clu_stream_discard(line);
    clu_stream_write(line, data, length);
    clu_stream_let(line, length);
    clu_stream_discard(line);
    if (input->kind == CLU_INPUT_QMP) {
        clu_qmp_expect(clu_host_qmp(host), count_lines(bytes));
    }
    return true;
}

bool clu_timed_replay_input(CluTimed *timed, const CluInput *input)
{
    for (unsigned i = 0; i < timed->plan->hosts->len; i++) {
        CluHost *host = clu_cluster_host(timed->cluster, i);

        if (strcmp(clu_host_plan(host)->host->name, input->host) == 0) {
            return replay_to(timed, host, input);
        }
    }
    return true; /* a fault of a link */
}
