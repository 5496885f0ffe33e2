/* SPDX-License-Identifier: MIT */
#include "clu_qmp.h"

#include <stdbool.h>
#include <string.h>

#include "table_text.h"

#define LINE_MAX_BYTES (1u << 20)

typedef struct Pending {
    CluQmpReply reply;
    void *data;
} Pending;

struct CluQmp {
    CluStream *stream;
    const CluQmpOps *ops;
    void *owner;
    GString *line;
    GQueue pending; /* of Pending */
    bool *is_freed; /* set if a callback frees it; NULL while none runs */
};

static void answer(CluQmp *qmp, const char *complaint)
{
    Pending *pending = g_queue_pop_head(&qmp->pending);

    if (pending) {
        if (pending->reply) {
            pending->reply(pending->data, complaint);
        }
        g_free(pending);
    }
}

static void on_closed(void *owner)
{
    CluQmp *qmp = owner;

    qmp->ops->closed(qmp->owner);
}

static const char *member_text(JsonObject *object, const char *name)
{
    JsonNode *node = object ? json_object_get_member(object, name) : NULL;

    return node && JSON_NODE_HOLDS_VALUE(node) &&
                   json_node_get_value_type(node) == G_TYPE_STRING
               ? json_node_get_string(node)
               : NULL;
}

static JsonObject *member_object(JsonObject *object, const char *name)
{
    JsonNode *node = json_object_get_member(object, name);

    return node && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node)
                                                : NULL;
}

/* Returns false if @line is not a message of QMP. */
static bool handle_line(CluQmp *qmp, const char *line)
{
    g_autoptr(JsonParser) parser = json_parser_new();
    JsonObject *object;
    const char *event;

    if (!json_parser_load_from_data(parser, line, -1, NULL) ||
        !json_parser_get_root(parser) ||
        !JSON_NODE_HOLDS_OBJECT(json_parser_get_root(parser))) {
        return false;
    }
    object = json_node_get_object(json_parser_get_root(parser));
    event = member_text(object, "event");
    if (event) {
        qmp->ops->event(qmp->owner, event, member_object(object, "data"));
    } else if (json_object_has_member(object, "return")) {
        answer(qmp, NULL);
    } else if (json_object_has_member(object, "error")) {
        const char *text = member_text(member_object(object, "error"), "desc");
        g_autofree char *clean = text ? table_text_from(text, -1, false) : NULL;

        answer(qmp, clean ? clean : "QEMU refuses and gives no reason");
    }
    /* The only other message is the greeting. */
    return true;
}

static void on_data(void *owner, const uint8_t *data, size_t length)
{
    CluQmp *qmp = owner;
    bool is_freed = false;
    size_t i;

    qmp->is_freed = &is_freed;
    for (i = 0; i < length; i++) {
        if (data[i] != '\n') {
            g_string_append_c(qmp->line, (char)data[i]);
        } else if (qmp->line->len > 0) {
            bool is_good = handle_line(qmp, qmp->line->str);

            if (is_freed) {
                return;
            }
            g_string_truncate(qmp->line, 0);
            if (!is_good) {
                break;
            }
        }
        if (qmp->line->len > LINE_MAX_BYTES) {
            break;
        }
    }
    qmp->is_freed = NULL;
    if (i < length) {
        clu_stream_set_reading(qmp->stream, false);
        qmp->ops->closed(qmp->owner);
    }
}

CluQmp *clu_qmp_new(GMainContext *context, int fd, bool is_held,
                    const CluQmpOps *ops, void *owner)
{
    static const CluStreamOps stream_ops = {.data = on_data,
                                            .closed = on_closed};
    CluQmp *qmp = g_new0(CluQmp, 1);

    qmp->ops = ops;
    qmp->owner = owner;
    qmp->line = g_string_new(NULL);
    g_queue_init(&qmp->pending);
    qmp->stream = clu_stream_new(context, fd, &stream_ops, qmp);
    if (is_held) {
        clu_stream_hold(qmp->stream);
    }
    clu_qmp_command(qmp, "{\"execute\": \"qmp_capabilities\"}", NULL, NULL);
    return qmp;
}

CluStream *clu_qmp_stream(const CluQmp *qmp)
{
    return qmp->stream;
}

unsigned clu_qmp_unanswered(const CluQmp *qmp)
{
    unsigned count = g_queue_get_length((GQueue *)&qmp->pending);
    const uint8_t *waiting;
    size_t length;

    waiting = clu_stream_waiting(qmp->stream, &length);
    /* Each command is a line. */
    for (size_t i = 0; i < length; i++) {
        count -= waiting[i] == '\n' && count > 0;
    }
    return count;
}

void clu_qmp_expect(CluQmp *qmp, unsigned count)
{
    while (g_queue_get_length(&qmp->pending) < count) {
        g_queue_push_tail(&qmp->pending, g_new0(Pending, 1));
    }
}

void clu_qmp_free(CluQmp *qmp)
{
    if (!qmp) {
        return;
    }
    if (qmp->is_freed) {
        *qmp->is_freed = true;
    }
    while (!g_queue_is_empty(&qmp->pending)) {
        answer(qmp, "QEMU is gone");
    }
    clu_stream_free(qmp->stream);
    g_string_free(qmp->line, TRUE);
    g_free(qmp);
}

void clu_qmp_command(CluQmp *qmp, const char *json, CluQmpReply reply,
                     void *data)
{
    Pending *pending = g_new0(Pending, 1);

    pending->reply = reply;
    pending->data = data;
    g_queue_push_tail(&qmp->pending, pending);
    clu_stream_write(qmp->stream, json, strlen(json));
    clu_stream_write(qmp->stream, "\n", 1);
}
