/* SPDX-License-Identifier: MIT */
/* `exec`: runs a command on a host, in a session of its agent. */
#include <string.h>

#include "clu_requests.h"

typedef struct Exec {
    CluHost *host;
    CluSession *session;
} Exec;

static void on_session_frame(void *owner, const CluAgentFrame *frame)
{
    CluRequest *request = owner;
    const Exec *exec = request->state;

    switch (frame->type) {
    case CLU_AGENT_FAILED:
        clu_request_fail(request, CLU_CONTROL_LOST,
                         "%s: the command cannot be run: %s",
                         clu_host_plan(exec->host)->host->name,
                         g_strerror((int)clu_agent_get32(frame->body)));
        break;
    case CLU_AGENT_EXIT:
        clu_request_exit(request, clu_agent_get32(frame->body),
                         clu_agent_get32(frame->body + 4));
        break;
    case CLU_AGENT_STDOUT:
    case CLU_AGENT_STDERR:
    case CLU_AGENT_CREDIT:
        clu_request_send(request, frame->type, frame->body, frame->length);
        break;
    default:
        break;
    }
}

static void on_session_lost(void *owner, const char *reason)
{
    CluRequest *request = owner;
    const Exec *exec = request->state;

    clu_request_fail(request, CLU_CONTROL_LOST,
                     "the result of the command is not known: %s (%s is %s)",
                     reason, clu_host_plan(exec->host)->host->name,
                     clu_host_state_name(clu_host_state(exec->host)));
}

static void exec_start(CluRequest *request, const GPtrArray *words)
{
    static const CluSessionOps ops = {.frame = on_session_frame,
                                      .lost = on_session_lost};
    Exec *exec = request->state;
    g_autoptr(GString) command = g_string_new(NULL);
    GError *error = NULL;
    CluGuest *guest;
    unsigned i;

    exec->host =
        clu_cluster_find_host(request->cluster, words->pdata[1], &error);
    if (!exec->host) {
        clu_request_fail_by(request, error);
        return;
    }
    guest = clu_host_guest(exec->host);
    if (!guest || !clu_guest_is_ready(guest)) {
        const char *cause = clu_host_cause(exec->host);

        clu_request_fail(request, CLU_CONTROL_LOST,
                         "%s is %s%s%s: there is no agent to run a command",
                         clu_host_plan(exec->host)->host->name,
                         clu_host_state_name(clu_host_state(exec->host)),
                         cause ? ", " : "", cause ? cause : "");
        return;
    }
    for (i = 2; i < words->len; i++) {
        const char *word = words->pdata[i];

        g_string_append_len(command, word, (gssize)strlen(word) + 1);
    }
    exec->session =
        clu_session_new(guest, command->str, command->len, &ops, request);
}

static void exec_frame(CluRequest *request, const CluAgentFrame *frame)
{
    const Exec *exec = request->state;
    uint32_t stream;

    switch (frame->type) {
    case CLU_AGENT_CREDIT:
        stream = frame->length == 8 ? clu_agent_get32(frame->body) : 0;
        if (stream == CLU_AGENT_STDOUT || stream == CLU_AGENT_STDERR) {
            clu_session_credit(exec->session, (CluAgentType)stream,
                               clu_agent_get32(frame->body + 4));
        }
        break;
    case CLU_AGENT_STDIN:
    case CLU_AGENT_STDIN_EOF:
    case CLU_AGENT_SIGNAL:
        clu_session_send(exec->session, (CluAgentType)frame->type, frame->body,
                         frame->length);
        break;
    default:
        break;
    }
}

static void exec_clear(void *data)
{
    Exec *exec = data;

    clu_session_free(exec->session);
}

const CluRequestType clu_request_exec_type = {
    .name = "exec",
    .needs_time = true,
    .min_words = 2,
    .max_words = 4096,
    .state_bytes = sizeof(Exec),
    .start = exec_start,
    .frame = exec_frame,
    .clear = exec_clear,
};
