/* SPDX-License-Identifier: MIT */
#include "clu_calls.h"

#include <json-glib/json-glib.h>

#include "clu_control.h"
#include "clu_dir.h"
#include "clu_error.h"

/* The supervisor waits a second for monitors that do not answer. */
#define STATUS_MS 5000

/* `down`: the supervisor answers within this time, unless it was stopped. */
#define ANSWER_MS 4000
/* Then the processes end, and if the keeper was stopped, that takes longer. */
#define GONE_MS   1000
#define LAST_MS   5000

static const CluClientMode no_input = {.input = CLU_CLIENT_NO_INPUT};

static void report_free(void *data)
{
    CluHostReport *report = data;

    g_free(report->state);
    g_free(report);
}

static void add_host(JsonArray *array, guint index, JsonNode *node,
                     gpointer data)
{
    JsonObject *host = json_node_get_object(node);
    CluHostReport *report = g_new0(CluHostReport, 1);

    report->state = g_strdup(json_object_get_string_member(host, "state"));
    report->virtual_ns =
        json_object_get_int_member_with_default(host, "virtual_ns", -1);
    g_ptr_array_add(data, report);
}

GPtrArray *clu_calls_hosts(CluClient *client, GError **error)
{
    static const char *const words[] = {"status", NULL};
    g_autoptr(GPtrArray) hosts = g_ptr_array_new_with_free_func(report_free);
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(JsonNode) root = NULL;
    CluClientMode mode = no_input;

    mode.output = text;
    mode.timeout_ms = STATUS_MS;
    if (clu_client_run(client, words, &mode, error) != 0) {
        return NULL;
    }
    root = json_from_string(text->str, error);
    if (!root) {
        return NULL;
    }
    json_array_foreach_element(
        json_object_get_array_member(json_node_get_object(root), "hosts"),
        add_host, hosts);
    return g_steal_pointer(&hosts);
}

int clu_calls_bring_up(CluClient *client, const CluClientMode *mode,
                       unsigned timeout_s, GString *text, GError **error)
{
    g_autofree char *seconds = g_strdup_printf("%u", timeout_s);
    const char *const wait[] = {"wait", seconds, NULL};
    static const char *const status_words[] = {"status", NULL};
    CluClientMode asking = *mode;
    int status = clu_client_run(client, wait, mode, error);

    asking.output = text;
    return status == 0 ? clu_client_run(client, status_words, &asking, error)
                       : status;
}

int clu_calls_replay(CluClient *client, GString *text, GError **error)
{
    static const char *const requests[][2] = {{"replay"}, {"status"}};
    CluClientMode mode = no_input;
    int status = 0;

    mode.has_text_errors = true;
    mode.output = text;
    for (unsigned i = 0; i < G_N_ELEMENTS(requests) && status == 0; i++) {
        status = clu_client_run(client, requests[i], &mode, error);
    }
    return status;
}

void clu_calls_leave(CluClient *client, const char *dir)
{
    clu_client_free(client);
    clu_dir_wait_gone(dir, CLU_CALLS_GONE_MS);
}

int clu_calls_release(CluClient *client, const char *dir, int status,
                      GError **error)
{
    static const char *const release[] = {"release", NULL};
    CluClientMode mode = no_input;

    mode.has_text_errors = true;
    if (status == 0) {
        status = clu_client_run(client, release, &mode, error);
    }
    if (status == 0) {
        clu_client_free(client);
    } else {
        clu_calls_leave(client, dir);
    }
    return status;
}

int clu_calls_down(CluClient *client, const char *dir, GError **error)
{
    static const char *const words[] = {"down", NULL};
    g_autoptr(GError) late = NULL;
    CluClientMode mode = no_input;
    int status;

    mode.timeout_ms = ANSWER_MS;
    status = clu_client_run(client, words, &mode, &late);
    if (status == CLU_CLIENT_TIMED_OUT) {
        clu_client_kill(client);
        g_clear_error(&late);
        status = 0;
    }
    clu_client_free(client);
    if (late) {
        g_propagate_error(error, g_steal_pointer(&late));
    }
    if (status == 0 && !clu_dir_wait_gone(dir, GONE_MS)) {
        clu_dir_continue(dir);
        if (!clu_dir_wait_gone(dir, LAST_MS)) {
            status = CLU_CONTROL_FAILED;
            g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                        "processes of the cluster still run after %d s",
                        (GONE_MS + LAST_MS) / 1000);
        }
    }
    return status;
}
