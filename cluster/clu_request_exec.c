/* SPDX-License-Identifier: MIT */
/* `exec`: runs a command on a host, in a session of its agent. */
#include <string.h>

#include "clu_requests.h"

/* The agent of a guest that works says within this time that a command has
 * begun, or at least answers a ping. A guest that does neither is taken for
 * hung. It is less than the silence after which a host is called hung, because
 * nothing is lost yet if the command has not begun. */
#define START_MS 5000
#define TURN_MS  250

typedef struct Exec {
    CluHost *host;
    CluSession *session;
    bool is_started; /* the agent has answered */
} Exec;

/* Fails with the state of the host, and with its cause. */
static void fail_by_state(CluRequest *request, const CluHost *host,
                          const char *what)
{
    const char *cause = clu_host_cause(host);

    clu_request_fail(request, CLU_CONTROL_LOST, "%s: %s is %s%s%s", what,
                     clu_host_plan(host)->host->name,
                     clu_host_state_name(clu_host_state(host)),
                     cause ? ": " : "", cause ? cause : "");
}

/* Returns true if @host is in a state in which no command ends by itself. */
static bool is_lost(const CluHost *host)
{
    CluHostState state = clu_host_state(host);

    return state != CLU_HOST_BOOTING && state != CLU_HOST_UP &&
           state != CLU_HOST_OOPS;
}

static void on_session_frame(void *owner, const CluAgentFrame *frame)
{
    CluRequest *request = owner;
    Exec *exec = request->state;

    exec->is_started = true;
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

    if (clu_host_state(exec->host) != CLU_HOST_UP) {
        g_autofree char *what = g_strdup_printf(
            "the result of the command is not known: %s", reason);

        fail_by_state(request, exec->host, what);
        return;
    }
    /* The host's new state is not known yet. */
    clu_request_fail(request, CLU_CONTROL_LOST,
                     "the result of the command is not known: %s: %s",
                     clu_host_plan(exec->host)->host->name, reason);
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
    if (!guest || !clu_guest_is_ready(guest) || is_lost(exec->host)) {
        fail_by_state(request, exec->host,
                      "there is no agent to run the command");
        return;
    }
    for (i = 2; i < words->len; i++) {
        const char *word = words->pdata[i];

        g_string_append_len(command, word, (gssize)strlen(word) + 1);
    }
    exec->session =
        clu_session_new(guest, command->str, command->len, &ops, request);
    clu_request_set_deadline(request, TURN_MS);
}

/* Ends the request if the host is lost, or does not begin the command. */
static void exec_check(CluRequest *request)
{
    const Exec *exec = request->state;
    const CluGuest *guest = clu_host_guest(exec->host);

    if (is_lost(exec->host)) {
        fail_by_state(request, exec->host,
                      "the result of the command is not known");
        return;
    }
    if (exec->is_started || request->deadline || !guest) {
        return;
    }
    if (clu_guest_quiet_us(guest) > START_MS * G_TIME_SPAN_MILLISECOND) {
        clu_request_fail(request, CLU_CONTROL_LOST,
                         "the command has not begun: the agent of %s has not "
                         "answered for %d s",
                         clu_host_plan(exec->host)->host->name,
                         START_MS / 1000);
        return;
    }
    clu_request_set_deadline(request, TURN_MS);
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
    .check = exec_check,
    .frame = exec_frame,
    .clear = exec_clear,
};
