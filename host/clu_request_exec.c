/* SPDX-License-Identifier: MIT */
/* `exec`: runs a command on a host, in a session of its agent. */
#include <string.h>

#include "clu_requests.h"

/* The agent of a guest that works says within this time that a command has
 * begun, or at least answers a ping; on a busy computer a processor of a guest
 * was seen to stand still for 7 s. A guest that does neither is taken for
 * hung. It is less than the silence after which a host is called hung, because
 * nothing is lost yet if the command has not begun. */
#define START_MS 15000
#define TURN_MS  250

/* The same for a timed cluster, in ns of virtual time. */
#define START_NS (INT64_C(1000000) * START_MS)

typedef struct Exec Exec;

/* The operations of a command that is served in real time or in steps. */
typedef struct ExecWay {
    /* The agent has sent @length bytes of @stream; the client has taken them.
     */
    void (*sent)(const Exec *exec, CluAgentType stream, uint32_t length);
    void (*taken)(const Exec *exec, CluAgentType stream, uint32_t length);
    /* The client's input, or its end. */
    void (*input)(Exec *exec, const CluAgentFrame *frame);
    /* True if the agent should have begun the command by now. */
    bool (*is_late)(const Exec *exec, const CluGuest *guest);
} ExecWay;

struct Exec {
    CluHost *host;
    CluSession *session;
    const CluPace *pace;
    const ExecWay *way;
    bool is_started; /* the agent has answered */
    /* The following are for machines that go in steps. */
    bool is_whole; /* the input ends without waiting for the command */
    bool is_input_over;
    bool is_end_sent;
    bool is_over; /* the command has ended, the machines still move */
    uint32_t status, signal;
    uint64_t allowed;  /* bytes of input that the client may still send */
    GByteArray *input; /* that has come, and is not sent to the agent yet */
    int64_t begun_ns;
};

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

static bool is_stopped(const CluHost *host)
{
    return clu_host_state(host) == CLU_HOST_STOPPED;
}

/* Returns true if @host is in a state in which no command ends by itself. A
 * stopped host may go on. */
static bool is_lost(const CluHost *host)
{
    CluHostState state = clu_host_state(host);

    return state != CLU_HOST_BOOTING && state != CLU_HOST_UP &&
           state != CLU_HOST_OOPS && state != CLU_HOST_STOPPED;
}

/* In a timed cluster the client hears of the end when the machines stand, so
 * that its next command finds the same virtual time in each run. */
static bool end_if_over(CluRequest *request)
{
    const Exec *exec = request->state;

    if (!exec->is_over) {
        return false;
    }
    if (exec->pace->ops->stands(exec->pace)) {
        clu_request_exit(request, exec->status, exec->signal);
    }
    return true;
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
        exec->is_over = true;
        exec->status = clu_agent_get32(frame->body);
        exec->signal = clu_agent_get32(frame->body + 4);
        end_if_over(request);
        break;
    case CLU_AGENT_CREDIT:
        if (clu_agent_get32(frame->body) == CLU_AGENT_STDIN) {
            exec->allowed += clu_agent_get32(frame->body + 4);
        }
        clu_request_send(request, frame->type, frame->body, frame->length);
        break;
    case CLU_AGENT_STDOUT:
    case CLU_AGENT_STDERR:
        exec->way->sent(exec, (CluAgentType)frame->type, frame->length);
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

    if (exec->is_over) {
        clu_request_exit(request, exec->status, exec->signal);
        return;
    }
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

/* In steps: sends what has come of the input. */
static void send_input(Exec *exec)
{
    for (unsigned at = 0; at < exec->input->len; at += CLU_AGENT_BODY_MAX) {
        clu_session_send(exec->session, CLU_AGENT_STDIN, exec->input->data + at,
                         MIN(exec->input->len - at, CLU_AGENT_BODY_MAX));
    }
    g_byte_array_set_size(exec->input, 0);
    if (exec->is_input_over && !exec->is_end_sent) {
        exec->is_end_sent = true;
        clu_session_send(exec->session, CLU_AGENT_STDIN_EOF, NULL, 0);
    }
}

/* The machines stand. Input that comes without waiting is sent only now, when
 * all that they allow has come: during a step, the pieces would depend on how
 * much they had allowed when the client wrote, and on what else was sent. */
static bool exec_holds(const CluRequest *request)
{
    Exec *exec = request->state;

    if (!exec->is_input_over && exec->allowed > 0) {
        return true;
    }
    send_input(exec);
    return false;
}

static void input_in_steps(Exec *exec, const CluAgentFrame *frame)
{
    if (frame->length > exec->allowed || exec->is_input_over) {
        return; /* the client breaks the rules */
    }
    exec->allowed -= frame->length;
    exec->is_input_over = frame->type == CLU_AGENT_STDIN_EOF;
    if (frame->length > 0) {
        g_byte_array_append(exec->input, frame->body, frame->length);
    }
    if (!exec->is_whole) {
        send_input(exec);
    }
}

static void send_at_once(Exec *exec, const CluAgentFrame *frame)
{
    clu_session_send(exec->session, (CluAgentType)frame->type, frame->body,
                     frame->length);
}

static void give_credit(const Exec *exec, CluAgentType stream, uint32_t length)
{
    clu_session_credit(exec->session, stream, length);
}

static void give_no_credit(const Exec *exec, CluAgentType stream,
                           uint32_t length)
{
}

static bool is_quiet(const Exec *exec, const CluGuest *guest)
{
    return clu_guest_quiet_us(guest) > START_MS * G_TIME_SPAN_MILLISECOND;
}

static bool is_late(const Exec *exec, const CluGuest *guest)
{
    return exec->pace->ops->limit(exec->pace) - exec->begun_ns > START_NS;
}

static const ExecWay free_running = {.sent = give_no_credit,
                                     .taken = give_credit,
                                     .input = send_at_once,
                                     .is_late = is_quiet};

/* The client would give credit at a random time. The machines wait for it if it
 * is slow. */
static const ExecWay stepped = {.sent = give_credit,
                                .taken = give_no_credit,
                                .input = input_in_steps,
                                .is_late = is_late};

/* In real time somebody looks again if the agent has answered; in steps each
 * step ends with a look. */
static void look_later(CluRequest *request)
{
    const Exec *exec = request->state;

    if (exec->way == &free_running) {
        clu_request_set_deadline(request, TURN_MS);
    }
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
    exec->pace = clu_cluster_setup(request->cluster)->pace;
    exec->way = exec->pace->ops->is_stepped ? &stepped : &free_running;
    exec->is_whole = request->type == &clu_request_whole_type;
    exec->allowed = CLU_AGENT_WINDOW;
    exec->input = g_byte_array_new();
    exec->begun_ns = exec->pace->ops->limit(exec->pace);
    guest = clu_host_guest(exec->host);
    if (!guest || !clu_guest_is_ready(guest) || is_lost(exec->host) ||
        is_stopped(exec->host)) {
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
    look_later(request);
}

static void fail_to_begin(CluRequest *request)
{
    const Exec *exec = request->state;

    clu_request_fail(request, CLU_CONTROL_LOST,
                     "the command has not begun: the agent of %s has not "
                     "answered for %d s%s",
                     clu_host_plan(exec->host)->host->name, START_MS / 1000,
                     exec->pace->ops->unit);
}

/* Ends the request if the host is lost, or does not begin the command. */
static void exec_check(CluRequest *request)
{
    const Exec *exec = request->state;
    const CluGuest *guest = clu_host_guest(exec->host);

    if (end_if_over(request)) {
        return;
    }
    if (is_lost(exec->host)) {
        fail_by_state(request, exec->host,
                      "the result of the command is not known");
        return;
    }
    if (exec->is_started || request->deadline || !guest) {
        return;
    }
    if (exec->way->is_late(exec, guest)) {
        fail_to_begin(request);
        return;
    }
    look_later(request);
}

static void on_credit(const Exec *exec, const CluAgentFrame *frame)
{
    uint32_t stream = frame->length == 8 ? clu_agent_get32(frame->body) : 0;

    if (stream == CLU_AGENT_STDOUT || stream == CLU_AGENT_STDERR) {
        exec->way->taken(exec, (CluAgentType)stream,
                         clu_agent_get32(frame->body + 4));
    }
}

static void exec_frame(CluRequest *request, const CluAgentFrame *frame)
{
    Exec *exec = request->state;

    switch (frame->type) {
    case CLU_AGENT_CREDIT:
        on_credit(exec, frame);
        break;
    case CLU_AGENT_STDIN:
    case CLU_AGENT_STDIN_EOF:
        exec->way->input(exec, frame);
        break;
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
    if (exec->input) {
        g_byte_array_unref(exec->input);
    }
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

const CluRequestType clu_request_whole_type = {
    .name = "exec-whole",
    .needs_time = true,
    .holds = exec_holds,
    .min_words = 2,
    .max_words = 4096,
    .state_bytes = sizeof(Exec),
    .start = exec_start,
    .check = exec_check,
    .frame = exec_frame,
    .clear = exec_clear,
};
