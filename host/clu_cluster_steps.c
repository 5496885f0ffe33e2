/* SPDX-License-Identifier: MIT */
/* All hosts of a cluster, between two steps of virtual time. */
#include <string.h>

#include "clu_cluster_priv.h"

static int64_t wants_time(void *owner)
{
    CluCluster *cluster = owner;

    return cluster->ops->wants_time(cluster->owner);
}

static bool is_held(void *owner)
{
    CluCluster *cluster = owner;
    bool held = cluster->ops->holds_time(cluster->owner);
    unsigned i;

    for (i = 0; i < cluster->hosts->len; i++) {
        held |= clu_host_is_ending(cluster->hosts->pdata[i]);
    }
    return held;
}

static unsigned unanswered(void *owner)
{
    const CluCluster *cluster = owner;
    unsigned count = 0, i;

    for (i = 0; i < cluster->hosts->len; i++) {
        count += clu_host_unanswered(cluster->hosts->pdata[i]);
    }
    return count;
}

static void on_stand(void *owner)
{
    CluCluster *cluster = owner;

    for (unsigned i = 0; i < cluster->hosts->len; i++) {
        clu_host_on_stand(cluster->hosts->pdata[i]);
    }
    cluster->ops->on_stand(cluster->owner);
}

static void end(void *owner)
{
    const CluCluster *cluster = owner;

    cluster->ops->end(cluster->owner);
}

static void fault(void *owner, const CluFaultStep *step)
{
    const CluCluster *cluster = owner;
    CluHost *host =
        step->host ? cluster->hosts->pdata[step->host->index] : NULL;
    g_autofree char *cause =
        g_strdup_printf("fault %s of the description", step->fault->name);

    if (step->act == CLU_FAULT_KILL) {
        clu_host_kill(host, cause);
        if (step->returns) {
            clu_host_expect_start(host);
        }
    } else if (step->act == CLU_FAULT_START) {
        clu_host_request_start(host);
    }
}

static bool apply_pending(void *owner)
{
    const CluCluster *cluster = owner;
    bool any = false;
    unsigned i;

    for (i = 0; i < cluster->hosts->len; i++) {
        any |= clu_host_apply_pending(cluster->hosts->pdata[i]);
    }
    return any;
}

static bool feed_all(const CluCluster *cluster, CluInputKind kind)
{
    bool any = false;
    unsigned i;

    for (i = 0; i < cluster->hosts->len; i++) {
        any |= clu_host_feed(cluster->hosts->pdata[i], kind);
    }
    return any;
}

/* Monitors act before guests get their input. */
static bool feed(void *owner)
{
    const CluCluster *cluster = owner;
    bool any;

    if (feed_all(cluster, CLU_INPUT_QMP)) {
        return true;
    }
    any = feed_all(cluster, CLU_INPUT_AGENT);
    return feed_all(cluster, CLU_INPUT_CONSOLE) || any;
}

static size_t unread(void *owner)
{
    const CluCluster *cluster = owner;
    size_t bytes = 0;
    unsigned i;

    for (i = 0; i < cluster->hosts->len; i++) {
        bytes += clu_host_unread(cluster->hosts->pdata[i]);
    }
    return bytes;
}

static bool replay(void *owner, const CluInput *input)
{
    const CluCluster *cluster = owner;

    for (unsigned i = 0; i < cluster->hosts->len; i++) {
        CluHost *host = cluster->hosts->pdata[i];

        if (strcmp(clu_host_plan(host)->host->name, input->host) == 0) {
            return clu_host_replay(host, input);
        }
    }
    return true; /* a fault of a link */
}

const CluPaceUser clu_cluster_user = {.wanted = wants_time,
                                      .held = is_held,
                                      .unread = unread,
                                      .unanswered = unanswered,
                                      .on_stand = on_stand,
                                      .end = end,
                                      .fault = fault,
                                      .apply_pending = apply_pending,
                                      .feed = feed,
                                      .replay = replay};
