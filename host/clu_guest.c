/* SPDX-License-Identifier: MIT */
#include "clu_guest.h"

#include <signal.h>
#include <string.h>

#include "clu_source.h"
#include "table_text.h"

#define PING_MS           1000
/* Limit of a text in HELLO. Linux has 64 for the release. */
#define TEXT_MAX_BYTES    128
/* Limit of the bytes that wait for a guest to read them, more than the credit
 * of all its sessions. Above it, nothing is read from the guest until all have
 * been written, so that the guest cannot cause more of them. */
#define WAITING_MAX_BYTES (2u * CLU_AGENT_SESSION_MAX * CLU_AGENT_WINDOW)

struct CluSession {
    CluGuest *guest; /* NULL once the session is over */
    uint32_t number;
    const CluSessionOps *ops;
    void *owner;
    uint64_t credit[2]; /* bytes of STDOUT, STDERR that the agent may send */
};

struct CluGuest {
    CluStream *stream;
    const CluGuestOps *ops;
    void *owner;
    CluAgentReader *reader;
    uint8_t *coded; /* room for one coded frame */
    uint64_t epoch;
    bool is_ready;
    bool is_silent;
    bool is_stopped;    /* its machine is stopped, so it cannot answer */
    bool is_held;       /* what is sent waits until it may be given */
    int64_t heard_us;   /* monotonic time of the agent's last frame */
    int64_t silence_us; /* longest time without a frame */
    GSource *timer;
    uint32_t last;        /* number of the session that was started last */
    GHashTable *sessions; /* number to CluSession, borrowed */
    bool *is_freed;       /* set if a callback frees it; NULL while none runs */
};

static void send_frame(CluGuest *guest, CluAgentType type, uint32_t session,
                       const void *body, uint32_t length)
{
    size_t coded = clu_agent_encode(guest->coded, type, session, body, length);
    bool is_full = clu_stream_pending(guest->stream) > WAITING_MAX_BYTES;

    /* A guest in virtual time must always be read, because it waits for that
     * with the CPU. It loses what it does not take. */
    if (!is_full || !guest->is_held) {
        clu_stream_write(guest->stream, guest->coded, coded);
    }
    if (is_full && !guest->is_held) {
        clu_stream_set_reading(guest->stream, false);
    }
}

static void begin_epoch(CluGuest *guest)
{
    uint8_t body[8];

    guest->epoch++;
    clu_agent_put64(body, guest->epoch);
    /* The 0 ends half a frame that may be on the line. */
    clu_stream_write(guest->stream, "", 1);
    send_frame(guest, CLU_AGENT_SYNC, 0, body, sizeof(body));
}

static void end_session(CluSession *session)
{
    g_hash_table_remove(session->guest->sessions,
                        GUINT_TO_POINTER(session->number));
    session->guest = NULL;
}

static void lose_sessions(CluGuest *guest)
{
    GHashTableIter iter;
    gpointer session;

    /* The iteration begins anew each time, because an owner may free other
     * sessions. */
    for (;;) {
        g_hash_table_iter_init(&iter, guest->sessions);
        if (!g_hash_table_iter_next(&iter, NULL, &session)) {
            return;
        }
        end_session(session);
        ((CluSession *)session)
            ->ops->lost(((CluSession *)session)->owner,
                        "the guest's agent is gone");
    }
}

static void lose(CluGuest *guest)
{
    bool was_ready = guest->is_ready;

    guest->is_ready = false;
    guest->is_silent = false;
    /* The owner is told first, so that sessions find its state up to date. */
    if (was_ready) {
        guest->ops->lost(guest->owner);
    }
    lose_sessions(guest);
}

void clu_guest_reset(CluGuest *guest)
{
    lose(guest);
    begin_epoch(guest);
}

CluStream *clu_guest_stream(const CluGuest *guest)
{
    return guest->stream;
}

bool clu_guest_is_ready(const CluGuest *guest)
{
    return guest->is_ready;
}

void clu_guest_set_stopped(CluGuest *guest, bool is_stopped)
{
    guest->is_stopped = is_stopped;
    guest->heard_us = g_get_monotonic_time();
}

int64_t clu_guest_quiet_us(const CluGuest *guest)
{
    return guest->is_stopped ? 0 : g_get_monotonic_time() - guest->heard_us;
}

/* Returns the text at *@from, which a 0 before @end must end, and moves *@from
 * behind that 0; of a long one, the first bytes. NULL if there is no 0. To be
 * freed. */
static char *take_text(const uint8_t **from, const uint8_t *end)
{
    const uint8_t *zero = memchr(*from, 0, (size_t)(end - *from));
    char *text;

    if (!zero) {
        return NULL;
    }
    text = table_text_from(*from, MIN(zero - *from, TEXT_MAX_BYTES), false);
    *from = zero + 1;
    return text;
}

static void on_hello(CluGuest *guest, const CluAgentFrame *frame)
{
    const uint8_t *from = frame->body + 8;
    const uint8_t *end = frame->body + frame->length;
    g_autofree char *boot_id = NULL;
    g_autofree char *release = NULL;
    uint64_t epoch;

    if (frame->length < 8) {
        return;
    }
    epoch = clu_agent_get64(frame->body);
    boot_id = take_text(&from, end);
    release = boot_id ? take_text(&from, end) : NULL;
    if (!release) {
        return;
    }
    if (epoch == 0) {
        clu_guest_reset(guest);
    } else if (epoch == guest->epoch && !guest->is_ready) {
        guest->is_ready = true;
        guest->heard_us = g_get_monotonic_time();
        guest->ops->ready(guest->owner, boot_id, release);
    }
}

static bool is_of_good_form(const CluAgentFrame *frame)
{
    switch (frame->type) {
    case CLU_AGENT_STARTED:
    case CLU_AGENT_FAILED:
        return frame->length == 4;
    case CLU_AGENT_EXIT:
    case CLU_AGENT_CREDIT:
        return frame->length == 8;
    case CLU_AGENT_STDOUT:
    case CLU_AGENT_STDERR:
        return true;
    default:
        return false;
    }
}

static void on_session_frame(CluGuest *guest, const CluAgentFrame *frame)
{
    CluSession *session =
        g_hash_table_lookup(guest->sessions, GUINT_TO_POINTER(frame->session));

    if (!session || !is_of_good_form(frame)) {
        return;
    }
    if (frame->type == CLU_AGENT_STDOUT || frame->type == CLU_AGENT_STDERR) {
        uint64_t *credit = &session->credit[frame->type - CLU_AGENT_STDOUT];

        if (frame->length > *credit) {
            clu_session_send(session, CLU_AGENT_SIGNAL,
                             &(uint8_t[]){SIGKILL, 0, 0, 0}, 4);
            end_session(session);
            session->ops->lost(session->owner,
                               "the guest's agent sent more than its credit");
            return;
        }
        *credit -= frame->length;
    }
    if (frame->type == CLU_AGENT_EXIT || frame->type == CLU_AGENT_FAILED) {
        end_session(session);
    }
    session->ops->frame(session->owner, frame);
}

static void on_frame(CluGuest *guest, const CluAgentFrame *frame)
{
    if (frame->version != CLU_AGENT_VERSION) {
        return;
    }
    if (frame->type == CLU_AGENT_HELLO) {
        on_hello(guest, frame);
        return;
    }
    if (!guest->is_ready) {
        return;
    }
    guest->heard_us = g_get_monotonic_time();
    if (guest->is_silent) {
        guest->is_silent = false;
        guest->ops->silent(guest->owner, false);
    }
    on_session_frame(guest, frame);
}

static void on_data(void *owner, const uint8_t *data, size_t length)
{
    CluGuest *guest = owner;
    bool is_freed = false;

    guest->is_freed = &is_freed;
    while (length > 0) {
        bool is_found;
        CluAgentFrame frame;
        size_t n = clu_agent_reader_feed(guest->reader, data, length, &is_found,
                                         &frame);

        data += n;
        length -= n;
        if (is_found) {
            on_frame(guest, &frame);
        }
        if (is_freed) {
            return;
        }
    }
    guest->is_freed = NULL;
}

static void on_closed(void *owner)
{
    lose(owner);
}

static void on_drained(void *owner)
{
    CluGuest *guest = owner;

    clu_stream_set_reading(guest->stream, true);
}

static gboolean on_timer(gpointer data)
{
    CluGuest *guest = data;

    if (!guest->is_ready || guest->is_stopped) {
        return G_SOURCE_CONTINUE;
    }
    /* Pings must not pile up for a guest that does not read. */
    if (clu_stream_pending(guest->stream) == 0) {
        send_frame(guest, CLU_AGENT_PING, 0, NULL, 0);
    }
    if (!guest->is_silent &&
        g_get_monotonic_time() - guest->heard_us > guest->silence_us) {
        guest->is_silent = true;
        guest->ops->silent(guest->owner, true);
    }
    return G_SOURCE_CONTINUE;
}

CluGuest *clu_guest_new(GMainContext *context, int fd, unsigned silence_ms,
                        const CluGuestOps *ops, void *owner)
{
    static const CluStreamOps stream_ops = {
        .data = on_data, .closed = on_closed, .drained = on_drained};
    CluGuest *guest = g_new0(CluGuest, 1);

    guest->ops = ops;
    guest->owner = owner;
    guest->reader = g_new(CluAgentReader, 1);
    clu_agent_reader_init(guest->reader);
    guest->coded = g_malloc(CLU_AGENT_CODED_MAX);
    guest->silence_us = (int64_t)silence_ms * 1000;
    guest->sessions = g_hash_table_new(NULL, NULL);
    guest->stream = clu_stream_new(context, fd, &stream_ops, guest);
    guest->is_held = silence_ms == 0;
    if (guest->is_held) {
        clu_stream_hold(guest->stream);
    } else {
        guest->timer = clu_source_new_timer(
            context, MIN(PING_MS, silence_ms / 4 + 1), on_timer, guest);
    }
    begin_epoch(guest);
    return guest;
}

void clu_guest_free(CluGuest *guest)
{
    if (!guest) {
        return;
    }
    if (guest->is_freed) {
        *guest->is_freed = true;
    }
    guest->is_ready = false;
    lose_sessions(guest);
    clu_source_clear(&guest->timer);
    clu_stream_free(guest->stream);
    g_hash_table_unref(guest->sessions);
    g_free(guest->coded);
    g_free(guest->reader);
    g_free(guest);
}

CluSession *clu_session_new(CluGuest *guest, const char *words, size_t length,
                            const CluSessionOps *ops, void *owner)
{
    CluSession *session = g_new0(CluSession, 1);

    g_assert(guest->is_ready && length <= CLU_AGENT_BODY_MAX);
    session->guest = guest;
    session->number = ++guest->last;
    session->ops = ops;
    session->owner = owner;
    session->credit[0] = CLU_AGENT_WINDOW;
    session->credit[1] = CLU_AGENT_WINDOW;
    g_hash_table_insert(guest->sessions, GUINT_TO_POINTER(session->number),
                        session);
    /* Bytes of the session before may have been given already, or not. */
    clu_stream_cut(guest->stream);
    send_frame(guest, CLU_AGENT_EXEC, session->number, words, (uint32_t)length);
    return session;
}

void clu_session_free(CluSession *session)
{
    if (session && session->guest) {
        clu_session_send(session, CLU_AGENT_SIGNAL,
                         &(uint8_t[]){SIGKILL, 0, 0, 0}, 4);
        end_session(session);
    }
    g_free(session);
}

void clu_session_send(CluSession *session, CluAgentType type, const void *body,
                      uint32_t length)
{
    if (session->guest) {
        send_frame(session->guest, type, session->number, body, length);
    }
}

void clu_session_credit(CluSession *session, CluAgentType type, uint32_t bytes)
{
    uint8_t body[8];

    session->credit[type - CLU_AGENT_STDOUT] += bytes;
    clu_agent_put32(body, type);
    clu_agent_put32(body + 4, bytes);
    clu_session_send(session, CLU_AGENT_CREDIT, body, sizeof(body));
}
