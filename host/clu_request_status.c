/* SPDX-License-Identifier: MIT */
/*
 * `status`: the supervisor first sends each monitor a command and waits for the
 * answers. QEMU reports past events, such as a reset of the machine, before it
 * answers. So the status includes all that happened before the request.
 */
#include <string.h>

#include "clu_ask.h"
#include "clu_requests.h"
#include "clu_status.h"

#define ANSWER_MS 1000 /* the time within which the monitors must answer */

typedef struct Status {
    CluAsk *ask;
} Status;

static void on_answered(void *owner)
{
    CluRequest *request = owner;

    clu_cluster_changed(request->cluster);
}

static void status_start(CluRequest *request, const GPtrArray *words)
{
    Status *status = request->state;
    const GPtrArray *hosts = clu_cluster_plan(request->cluster)->hosts;
    unsigned i;

    status->ask = clu_ask_new(on_answered, request);
    /* Machines that go in steps have reported all that they did in a step. */
    for (i = 0; !clu_cluster_setup(request->cluster)->pace->ops->is_stepped &&
                i < hosts->len;
         i++) {
        clu_ask_send(status->ask,
                     clu_host_qmp(clu_cluster_host(request->cluster, i)),
                     "{\"execute\": \"query-status\"}");
    }
    clu_request_set_deadline(request, ANSWER_MS);
}

static void status_check(CluRequest *request)
{
    const Status *status = request->state;
    g_autofree char *text = NULL;

    if (clu_ask_pending(status->ask) == 0 || !request->deadline) {
        text = clu_status_to_json(request->cluster);
        clu_request_send(request, CLU_AGENT_STDOUT, text, strlen(text));
        clu_request_exit(request, 0, 0);
    }
}

static void status_clear(void *data)
{
    Status *status = data;

    clu_ask_free(status->ask);
}

const CluRequestType clu_request_status_type = {
    .name = "status",
    .state_bytes = sizeof(Status),
    .start = status_start,
    .check = status_check,
    .clear = status_clear,
};
