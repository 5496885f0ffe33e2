/* SPDX-License-Identifier: MIT */
/* Hosts whose machines go in steps: what happens to them between two steps. */
#define _GNU_SOURCE
#include "clu_host_priv.h"
#include "clu_timed.h"

#include <string.h>

/* The most that a machine in virtual time is given at once. It fits into a
 * socket. */
#define GIVEN_BYTES 32768

/* The lines to a machine, in the order in which they are given something. */
static const CluInputKind kinds[] = {CLU_INPUT_QMP, CLU_INPUT_AGENT,
                                     CLU_INPUT_CONSOLE};

static CluTimed *timed_of(const CluHost *host)
{
    return clu_timed_of(host->shared->pace);
}

static CluStream *line_of(const CluHost *host, CluInputKind kind)
{
    return kind == CLU_INPUT_QMP     ? clu_qmp_stream(host->qmp)
           : kind == CLU_INPUT_AGENT ? clu_guest_stream(host->guest)
                                     : clu_console_stream(host->console);
}

void clu_host_on_stand(CluHost *host)
{
    if (host->watch) {
        clu_watch_on_stand(host->watch);
    }
}

size_t clu_host_unread(const CluHost *host)
{
    size_t bytes = 0;

    for (unsigned i = 0; host->guest && i < G_N_ELEMENTS(kinds); i++) {
        const CluStream *line = line_of(host, kinds[i]);

        bytes += clu_stream_unread(line) - clu_stream_pending(line);
    }
    return bytes;
}

unsigned clu_host_unanswered(const CluHost *host)
{
    return host->qmp ? clu_qmp_unanswered(host->qmp) : 0;
}

bool clu_host_feed(CluHost *host, CluInputKind kind)
{
    CluStream *line = host->guest ? line_of(host, kind) : NULL;
    g_autofree uint8_t *copy = NULL;
    const uint8_t *waiting;
    size_t length;

    /* A machine in the middle of an access keeps its gate closed, so it would
     * act on the input in the middle of a step. */
    if (!line || clu_timed_is_busy(timed_of(host), host->plan)) {
        return false;
    }
    waiting = clu_stream_waiting(line, &length);
    if (length == 0) {
        return false;
    }
    copy = g_memdup2(waiting, MIN(length, GIVEN_BYTES));
    length = clu_stream_let(line, GIVEN_BYTES);
    if (length > 0) {
        clu_timed_note(timed_of(host), kind, host->plan->host->name, copy,
                       length);
    }
    return length > 0;
}

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

bool clu_host_replay(CluHost *host, const CluInput *input)
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
        clu_host_request_start(host);
        return clu_host_apply_pending(host);
    }
    if (!host->guest) {
        return true; /* its process has ended in this run, too */
    }
    if (input->kind == CLU_INPUT_KILL) {
        clu_host_kill(host, "it was killed in the run that is replayed");
        clu_host_apply_pending(host);
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
        clu_qmp_expect(host->qmp, count_lines(bytes));
    }
    return true;
}

bool clu_host_is_ending(const CluHost *host)
{
    return host->process && host->state == CLU_HOST_DEAD;
}

static void start_again(CluHost *host)
{
    g_autoptr(GError) error = NULL;

    host->is_due = false;
    host->returns = false;
    clu_timed_note(timed_of(host), CLU_INPUT_START, host->plan->host->name,
                   NULL, 0);
    clu_timed_add_machine(timed_of(host), host->plan);
    if (!clu_host_start(host, &error)) {
        clu_timed_remove_machine(timed_of(host), host->plan);
        clu_host_set_state(host, CLU_HOST_DEAD, error->message);
    }
}

void clu_host_expect_start(CluHost *host)
{
    host->returns = true;
}

void clu_host_request_start(CluHost *host)
{
    host->returns = true;
    host->is_due = true;
}

void clu_host_request_end(CluHost *host, const char *cause)
{
    g_free(host->fate);
    host->fate = g_strdup(cause);
}

bool clu_host_expects_start(const CluHost *host)
{
    return host->returns;
}

bool clu_host_apply_pending(CluHost *host)
{
    g_autofree char *cause = g_steal_pointer(&host->fate);

    if (host->is_due && !host->process) {
        start_again(host);
        return true;
    }
    if (!cause || !host->process) {
        return false;
    }
    clu_timed_note(timed_of(host), CLU_INPUT_KILL, host->plan->host->name, NULL,
                   0);
    clu_host_end_process(host, cause);
    return true;
}
