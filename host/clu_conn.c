/* SPDX-License-Identifier: MIT */
#include "clu_conn.h"

#include <string.h>

#include "clu_requests.h"

struct CluConn {
    CluStream *stream;
    CluAgentReader reader;
    CluRequest request;
    bool is_owner; /* the cluster ends when this connection closes */
    const CluConnOps *ops;
    void *owner;
};

static const CluRequestType *const types[] = {
    &clu_request_wait_type,
    &clu_request_restart_type,
    &clu_request_kill_type,
    &clu_request_release_type,
    &clu_request_down_type,
    &clu_request_status_type,
    &clu_request_exec_type,
    &clu_request_console_type,
    &clu_request_logs_type,
    &clu_request_link_type,
    &clu_request_trace_type,
    &clu_request_whole_type,
    NULL,
};

/* The type @name of @list; NULL if there is none. @list is nullable. */
static const CluRequestType *find_in(const CluRequestType *const *list,
                                     const char *name)
{
    while (list && *list && strcmp((*list)->name, name) != 0) {
        list++;
    }
    return list ? *list : NULL;
}

static const CluRequestType *find_type(const CluConn *conn, const char *name,
                                       unsigned n_words)
{
    const CluRequestType *type = find_in(types, name);

    if (!type) {
        type =
            find_in(clu_cluster_setup(conn->request.cluster)->requests, name);
    }
    return type && n_words >= type->min_words && n_words <= type->max_words
               ? type
               : NULL;
}

/* True if requests of @type do something to the machines. */
static bool is_input(const CluRequestType *type)
{
    return type == &clu_request_kill_type ||
           type == &clu_request_restart_type ||
           (type->needs_time && type != &clu_request_wait_type);
}

static void begin_request(CluConn *conn, const CluAgentFrame *frame)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new();
    const char *word = (const char *)frame->body;
    const char *end = word + frame->length;
    const CluPace *pace = clu_cluster_setup(conn->request.cluster)->pace;
    const char *reason = pace->ops->refusal(pace);
    const CluRequestType *type;

    if (frame->length == 0 || end[-1] != '\0') {
        clu_request_fail(&conn->request, CLU_CONTROL_USAGE,
                         "the request has no words");
        return;
    }
    for (; word < end; word += strlen(word) + 1) {
        g_ptr_array_add(words, (void *)word);
    }
    type = find_type(conn, words->pdata[0], words->len - 1);
    if (type && reason && is_input(type)) {
        clu_request_fail(&conn->request, CLU_CONTROL_USAGE, "%s", reason);
    } else if (type) {
        clu_request_begin(&conn->request, type, words);
    } else {
        clu_request_fail(&conn->request, CLU_CONTROL_USAGE,
                         "the supervisor does not know the request '%s' with "
                         "%u words; is it of another version?",
                         (const char *)words->pdata[0], words->len - 1);
    }
}

static void on_data(void *owner, const uint8_t *data, size_t length)
{
    CluConn *conn = owner;

    while (length > 0) {
        bool is_found;
        CluAgentFrame frame;
        size_t n = clu_agent_reader_feed(&conn->reader, data, length, &is_found,
                                         &frame);

        data += n;
        length -= n;
        if (!is_found || frame.version != CLU_AGENT_VERSION) {
            continue;
        }
        if (frame.type != CLU_CONTROL_REQUEST) {
            clu_request_frame(&conn->request, &frame);
        } else if (!conn->request.type) {
            begin_request(conn, &frame);
        }
    }
}

static void on_closed(void *owner)
{
    CluConn *conn = owner;

    conn->ops->closed(conn->owner, conn);
}

static void on_drained(void *owner)
{
    CluConn *conn = owner;

    clu_request_drained(&conn->request);
}

static void on_release(void *owner)
{
    CluConn *conn = owner;

    conn->is_owner = false;
}

static void on_end(void *owner)
{
    CluConn *conn = owner;

    conn->ops->end(conn->owner);
}

static bool on_is_alone(void *owner)
{
    CluConn *conn = owner;

    return conn->ops->is_alone(conn->owner, conn);
}

static void on_branch(void *owner, const char *name, char *const *sets)
{
    CluConn *conn = owner;

    conn->ops->branch(conn->owner, conn, name, sets);
}

CluConn *clu_conn_new(CluCluster *cluster, GMainContext *context, int fd,
                      bool is_owner, const CluConnOps *ops, void *owner)
{
    static const CluStreamOps stream_ops = {
        .data = on_data, .closed = on_closed, .drained = on_drained};
    static const CluRequestOps request_ops = {.release = on_release,
                                              .end = on_end,
                                              .is_alone = on_is_alone,
                                              .branch = on_branch};
    CluConn *conn = g_new0(CluConn, 1);

    conn->is_owner = is_owner;
    conn->ops = ops;
    conn->owner = owner;
    clu_agent_reader_init(&conn->reader);
    conn->stream = clu_stream_new(context, fd, &stream_ops, conn);
    clu_request_init(&conn->request, cluster, context, conn->stream,
                     &request_ops, conn);
    return conn;
}

void clu_conn_free(CluConn *conn)
{
    if (conn) {
        clu_request_drop(&conn->request);
        clu_stream_free(conn->stream);
        g_free(conn);
    }
}

bool clu_conn_is_owner(const CluConn *conn)
{
    return conn->is_owner;
}

bool clu_conn_is_idle(const CluConn *conn)
{
    return !conn->request.type;
}

void clu_conn_stop(CluConn *conn)
{
    clu_stream_set_reading(conn->stream, false);
}

CluRequest *clu_conn_request(CluConn *conn)
{
    return &conn->request;
}
