/* SPDX-License-Identifier: MIT */
#include "clu_request.h"

#include <string.h>

#include "clu_error.h"
#include "clu_source.h"

/* A client that is so far behind is waited for in virtual time. */
#define AHEAD_BYTES (1u << 20)

void clu_request_init(CluRequest *request, CluCluster *cluster,
                      GMainContext *context, CluStream *stream,
                      const CluRequestOps *ops, void *owner)
{
    *request = (CluRequest){.cluster = cluster,
                            .context = context,
                            .stream = stream,
                            .ops = ops,
                            .owner = owner};
}

void clu_request_drop(CluRequest *request)
{
    const CluRequestType *type = request->type;

    request->type = NULL;
    if (type && type->clear) {
        type->clear(request->state);
    }
    g_clear_pointer(&request->state, g_free);
    clu_source_clear(&request->deadline);
}

void clu_request_begin(CluRequest *request, const CluRequestType *type,
                       const GPtrArray *words)
{
    g_assert(!request->type);
    request->type = type;
    request->state = g_malloc0(type->state_bytes);
    type->start(request, words);
    clu_request_check(request);
}

void clu_request_check(CluRequest *request)
{
    if (request->type && request->type->check) {
        request->type->check(request);
    }
}

void clu_request_frame(CluRequest *request, const CluAgentFrame *frame)
{
    if (request->type && request->type->frame) {
        request->type->frame(request, frame);
    }
}

void clu_request_console(CluRequest *request, const CluHost *host,
                         const uint8_t *data, size_t length)
{
    if (request->type && request->type->console) {
        request->type->console(request, host, data, length);
    }
}

void clu_request_logged(CluRequest *request, const CluHost *host)
{
    if (request->type && request->type->logged) {
        request->type->logged(request, host);
    }
}

void clu_request_drained(CluRequest *request)
{
    if (request->type && request->type->drained) {
        request->type->drained(request);
    }
}

int64_t clu_request_until(const CluRequest *request)
{
    if (!request->type || !request->type->needs_time) {
        return 0;
    }
    return request->type->until ? request->type->until(request) : G_MAXINT64;
}

bool clu_request_holds(const CluRequest *request)
{
    return request->type && request->type->needs_time &&
           ((request->type->holds && request->type->holds(request)) ||
            clu_stream_pending(request->stream) > AHEAD_BYTES);
}

static gboolean on_deadline(gpointer data)
{
    CluRequest *request = data;

    clu_source_clear(&request->deadline);
    clu_request_check(request);
    return G_SOURCE_REMOVE;
}

void clu_request_set_deadline(CluRequest *request, unsigned ms)
{
    clu_source_clear(&request->deadline);
    request->deadline =
        clu_source_new_timer(request->context, ms, on_deadline, request);
}

/* Answers */

void clu_request_send(CluRequest *request, unsigned type, const void *body,
                      size_t length)
{
    g_autofree uint8_t *coded = g_malloc(CLU_AGENT_CODED_MAX);
    const uint8_t *from = body;

    do {
        size_t part = MIN(length, CLU_AGENT_BODY_MAX);
        size_t n = clu_agent_encode(coded, (CluAgentType)type, 0, from,
                                    (uint32_t)part);

        clu_stream_write(request->stream, coded, n);
        from += part;
        length -= part;
    } while (length > 0);
}

void clu_request_note(CluRequest *request, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list arguments;

    va_start(arguments, format);
    text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    clu_request_send(request, CLU_CONTROL_NOTE, text, strlen(text));
}

void clu_request_exit(CluRequest *request, uint32_t status, uint32_t signal)
{
    uint8_t body[8];

    clu_agent_put32(body, status);
    clu_agent_put32(body + 4, signal);
    clu_request_drop(request);
    clu_request_send(request, CLU_AGENT_EXIT, body, sizeof(body));
}

void clu_request_fail(CluRequest *request, unsigned status, const char *format,
                      ...)
{
    g_autofree uint8_t *body = NULL;
    g_autofree char *text = NULL;
    va_list arguments;
    size_t length;

    va_start(arguments, format);
    text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    length = MIN(strlen(text), CLU_AGENT_BODY_MAX - 4);
    body = g_malloc(length + 4);
    clu_agent_put32(body, status);
    memcpy(body + 4, text, length);
    clu_request_drop(request);
    clu_request_send(request, CLU_CONTROL_ERROR, body, length + 4);
}

void clu_request_fail_by(CluRequest *request, GError *error)
{
    bool is_usage = g_error_matches(error, CLU_ERROR, CLU_ERROR_USAGE);

    clu_request_fail(request, is_usage ? CLU_CONTROL_USAGE : CLU_CONTROL_FAILED,
                     "%s", error->message);
    g_error_free(error);
}
