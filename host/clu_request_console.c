/* SPDX-License-Identifier: MIT */
/* `console` and `logs`: the serial console of a host, and its log. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "clu_requests.h"

/* Limit of the output that waits for a client to read it. The rest is dropped.
 */
#define CONSOLE_AHEAD_BYTES (1u << 20)

/* Limit of the part of a log that waits for a client to read it. */
#define LOG_AHEAD_BYTES (256u << 10)

/* console */

typedef struct Console {
    CluHost *host;
} Console;

static void console_start(CluRequest *request, const GPtrArray *words)
{
    Console *console = request->state;
    GError *error = NULL;

    console->host =
        clu_cluster_find_host(request->cluster, words->pdata[1], &error);
    if (!console->host) {
        clu_request_fail_by(request, error);
    }
}

static void console_frame(CluRequest *request, const CluAgentFrame *frame)
{
    const Console *console = request->state;

    if (frame->type == CLU_AGENT_STDIN) {
        clu_console_write(clu_host_console(console->host), frame->body,
                          frame->length);
    }
}

static void console_console(CluRequest *request, const CluHost *host,
                            const uint8_t *data, size_t length)
{
    const Console *console = request->state;

    if (host == console->host &&
        clu_stream_pending(request->stream) < CONSOLE_AHEAD_BYTES) {
        clu_request_send(request, CLU_AGENT_STDOUT, data, length);
    }
}

const CluRequestType clu_request_console_type = {
    .name = "console",
    .needs_time = true,
    .min_words = 1,
    .max_words = 1,
    .state_bytes = sizeof(Console),
    .start = console_start,
    .frame = console_frame,
    .console = console_console,
};

/* logs */

typedef struct Logs {
    CluHost *host;
    int file;          /* -1: not open */
    bool is_following; /* the request does not end at the end of the file */
} Logs;

/* Sends the next part of the file, as much as LOG_AHEAD_BYTES allows. */
static void logs_drained(CluRequest *request)
{
    const Logs *logs = request->state;
    g_autofree uint8_t *buffer = g_malloc(CLU_AGENT_BODY_MAX);
    ssize_t n = 1;

    while (n > 0 && clu_stream_pending(request->stream) < LOG_AHEAD_BYTES) {
        n = read(logs->file, buffer, CLU_AGENT_BODY_MAX);
        if (n > 0) {
            clu_request_send(request, CLU_AGENT_STDOUT, buffer, (size_t)n);
        }
    }
    if (n <= 0 && !logs->is_following) {
        clu_request_exit(request, 0, 0);
    }
}

static void logs_logged(CluRequest *request, const CluHost *host)
{
    const Logs *logs = request->state;

    if (host == logs->host) {
        logs_drained(request);
    }
}

static void logs_start(CluRequest *request, const GPtrArray *words)
{
    Logs *logs = request->state;
    const char *dir = clu_dir_path(clu_cluster_dir(request->cluster));
    g_autofree char *path = NULL;
    GError *error = NULL;

    logs->file = -1;
    logs->host =
        clu_cluster_find_host(request->cluster, words->pdata[1], &error);
    if (!logs->host) {
        clu_request_fail_by(request, error);
        return;
    }
    path = clu_dir_log_path(dir, clu_host_plan(logs->host)->host->name);
    logs->file = open(path, O_RDONLY | O_CLOEXEC);
    if (logs->file < 0) {
        clu_request_fail(request, CLU_CONTROL_FAILED, "%s: %s", path,
                         g_strerror(errno));
        return;
    }
    logs->is_following = strcmp(words->pdata[2], "follow") == 0;
    logs_drained(request);
}

static void logs_clear(void *data)
{
    const Logs *logs = data;

    if (logs->file >= 0) {
        close(logs->file);
    }
}

const CluRequestType clu_request_logs_type = {
    .name = "logs",
    .min_words = 2,
    .max_words = 2,
    .state_bytes = sizeof(Logs),
    .start = logs_start,
    .logged = logs_logged,
    .drained = logs_drained,
    .clear = logs_clear,
};
