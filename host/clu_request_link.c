/* SPDX-License-Identifier: MIT */
/* `link` and `trace`: set a property of the NTB devices at both ends. The trace
 * of a link inside a host is a property of a port of a switch. */
#include <string.h>

#include <json-glib/json-glib.h>

#include "clu_plan_links.h"
#include "clu_plan_switches.h"
#include "clu_ask.h"
#include "clu_requests.h"
#include "trc_file.h"

/* The time within which QEMU and the drivers must answer. */
#define ANSWER_MS 10000

/* The state of both requests. */
typedef struct Change {
    const CluPlanLink *link;
    const CluPlanInside *inside; /* `trace`: of a link inside a host, or NULL */
    CluAsk *ask;
    bool is_enabled; /* `link`: the new state of the link */
    char *closed;    /* `trace`: the file that is closed; nullable */
} Change;

static void on_answered(void *owner)
{
    CluRequest *request = owner;

    clu_cluster_changed(request->cluster);
}

static void change_clear(void *data)
{
    Change *change = data;

    g_free(change->closed);
    clu_ask_free(change->ask);
}

/* Finds the link @name. If there is none, answers the request and returns
 * false. */
static bool find_link(CluRequest *request, const char *name)
{
    Change *change = request->state;
    GError *error = NULL;

    change->link = clu_cluster_find_link(request->cluster, name, &error);
    if (!change->link) {
        clu_request_fail_by(request, error);
        return false;
    }
    return true;
}

static const char *link_name(const Change *change)
{
    return change->inside ? change->inside->name : change->link->link->name;
}

/* Tells the QEMU of @host to set @property of the device @id to @value, which
 * is JSON. */
static void send_property(Change *change, CluHost *host, const char *id,
                          const char *property, const char *value)
{
    g_autofree char *command = g_strdup_printf(
        "{\"execute\": \"qom-set\", \"arguments\": {\"path\": "
        "\"/machine/peripheral/%s\", \"property\": \"%s\", \"value\": %s}}",
        id, property, value);

    clu_ask_send(change->ask, clu_host_qmp(host), command);
}

/* The same for the devices at both ends of the link, or for the one that
 * records a link inside a host. */
static void set_property(CluRequest *request, const char *property,
                         const char *value)
{
    Change *change = request->state;
    const CluPlanInside *inside = change->inside;
    unsigned end;

    change->ask = clu_ask_new(on_answered, request);
    if (inside) {
        send_property(change,
                      clu_cluster_host(request->cluster, inside->host->index),
                      inside->id, property, value);
    }
    for (end = 0; !inside && end < 2; end++) {
        g_autofree char *name =
            clu_plan_link_property(change->link, end, property);

        send_property(
            change, clu_cluster_link_host(request->cluster, change->link, end),
            change->link->device[end]->id, name, value);
    }
    clu_request_set_deadline(request, ANSWER_MS);
}

/* Returns true if both monitors have answered without an error. Answers the
 * request if QEMU has refused, or has not answered in time. */
static bool check_answers(CluRequest *request)
{
    const Change *change = request->state;
    const char *complaint = clu_ask_complaint(change->ask);

    if (complaint) {
        clu_request_fail(request, CLU_CONTROL_FAILED, "%s: QEMU: %s",
                         link_name(change), complaint);
    } else if (clu_ask_pending(change->ask) > 0 && !request->deadline) {
        clu_request_fail(request, CLU_CONTROL_FAILED,
                         "%s: QEMU does not answer", link_name(change));
    } else {
        return clu_ask_pending(change->ask) == 0;
    }
    return false;
}

/* link */

static bool is_host_up(const CluRequest *request, unsigned end)
{
    const Change *change = request->state;

    return clu_host_state(clu_cluster_link_host(request->cluster, change->link,
                                                end)) == CLU_HOST_UP;
}

/* True if the driver at @end has noticed the change, or cannot notice it: its
 * own host is not up, or the link goes up but the other host is not up. */
static bool has_noticed(const CluRequest *request, unsigned end)
{
    const Change *change = request->state;
    const CluHost *host =
        clu_cluster_link_host(request->cluster, change->link, end);
    bool says_up = clu_host_link_up(host, change->link, end);

    if (!is_host_up(request, end)) {
        return true;
    }
    if (!change->is_enabled) {
        return !says_up;
    }
    return says_up || !is_host_up(request, !end) ||
           !clu_cluster_link_is_expected(request->cluster, change->link);
}

static void link_start(CluRequest *request, const GPtrArray *words)
{
    Change *change = request->state;
    const char *word = words->pdata[2];

    if (strcmp(word, "up") != 0 && strcmp(word, "down") != 0) {
        clu_request_fail(request, CLU_CONTROL_USAGE,
                         "a link cannot be made '%s'; write up or down", word);
        return;
    }
    if (!find_link(request, words->pdata[1])) {
        return;
    }
    change->is_enabled = strcmp(word, "up") == 0;
    clu_cluster_set_enabled(request->cluster, change->link, change->is_enabled);
    set_property(request, "enabled", change->is_enabled ? "true" : "false");
}

static void link_check(CluRequest *request)
{
    const Change *change = request->state;

    if (!check_answers(request)) {
        return;
    }
    if (has_noticed(request, 0) && has_noticed(request, 1)) {
        clu_request_exit(request, 0, 0);
    } else if (!request->deadline) {
        clu_request_fail(
            request, CLU_CONTROL_FAILED, "the drivers do not report %s as %s",
            change->link->link->name, change->is_enabled ? "up" : "down");
    }
}

const CluRequestType clu_request_link_type = {
    .name = "link",
    .needs_time = true,
    .min_words = 2,
    .max_words = 2,
    .state_bytes = sizeof(Change),
    .start = link_start,
    .check = link_check,
    .clear = change_clear,
};

/* trace */

/* Makes the file to which both ends append. The supervisor makes it, because
 * only the supervisor knows the names of both ends. */
static bool make_trace(CluRequest *request, const char *path)
{
    const Change *change = request->state;
    const CluPlanInside *inside = change->inside;
    const char *lower =
        inside ? inside->lower : change->link->host[0]->host->name;
    const char *upper =
        inside ? inside->upper : change->link->host[1]->host->name;
    g_autofree char *first = g_strdup_printf("%s:%s", lower, link_name(change));
    g_autofree char *second =
        g_strdup_printf("%s:%s", upper, link_name(change));
    const char *const names[TRC_ENDS] = {first, second};
    GError *error = NULL;

    if (!trc_file_create(path, names, 0, &error)) {
        clu_request_fail_by(request, error);
        return false;
    }
    return true;
}

static void finish_closed(CluRequest *request)
{
    const Change *change = request->state;
    const CluPace *pace = clu_cluster_setup(request->cluster)->pace;
    g_autoptr(GError) error = NULL;

    if (change->closed &&
        !pace->ops->close_trace(pace, change->closed, &error)) {
        clu_request_note(request, "%s", error->message);
    }
}

static const char *get_trace(const CluRequest *request)
{
    const Change *change = request->state;

    return change->inside
               ? clu_cluster_inside_trace(request->cluster, change->inside)
               : clu_cluster_link_trace(request->cluster, change->link);
}

static void set_trace(CluRequest *request, const char *path)
{
    const Change *change = request->state;

    if (change->inside) {
        clu_cluster_set_inside_trace(request->cluster, change->inside, path);
    } else {
        clu_cluster_set_trace(request->cluster, change->link, path);
    }
}

static void trace_start(CluRequest *request, const GPtrArray *words)
{
    Change *change = request->state;
    const char *name = words->pdata[1];
    const char *path = strcmp(words->pdata[2], "off") ? words->pdata[2] : "";
    g_autoptr(JsonNode) value = json_node_init_string(json_node_alloc(), path);
    g_autofree char *json = json_to_string(value, FALSE);

    change->inside =
        clu_plan_find_inside(clu_cluster_plan(request->cluster), name);
    if ((change->inside || find_link(request, name)) &&
        (*path == '\0' || make_trace(request, path))) {
        change->closed = g_strdup(get_trace(request));
        set_trace(request, *path ? path : NULL);
        set_property(request, "trace", json);
    }
}

static void trace_check(CluRequest *request)
{
    const Change *change = request->state;

    if (clu_ask_complaint(change->ask)) {
        set_trace(request, NULL);
    }
    if (check_answers(request)) {
        finish_closed(request);
        clu_request_exit(request, 0, 0);
    }
}

const CluRequestType clu_request_trace_type = {
    .name = "trace",
    .needs_time = true, /* a machine that waits in an access answers later */
    .min_words = 2,
    .max_words = 2,
    .state_bytes = sizeof(Change),
    .start = trace_start,
    .check = trace_check,
    .clear = change_clear,
};
