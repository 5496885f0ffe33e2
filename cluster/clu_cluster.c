/* SPDX-License-Identifier: MIT */
#include "clu_cluster.h"

#include <string.h>
#include <unistd.h>

#include "clu_branch.h"
#include "clu_broker.h"
#include "clu_error.h"

#define CLIENTS_MAX 64 /* clients of a shared region */

struct CluCluster {
    const CluClusterSetup *setup;
    const CluDir *dir;
    const CluClusterOps *ops;
    void *owner;
    CluHostShared shared;
    CluPaths *paths; /* indexed by host */
    char **regions;  /* memory files, indexed by region */
    bool *enabled;   /* link is plugged in; indexed by link */
    char **traces;   /* trace files, each nullable; indexed by link */
    CluHub **hubs;   /* indexed by network */
    CluBroker *broker;
    GPtrArray *hosts; /* of CluHost */
};

const CluClusterSetup *clu_cluster_setup(const CluCluster *cluster)
{
    return cluster->setup;
}

const CluPlan *clu_cluster_plan(const CluCluster *cluster)
{
    return cluster->setup->plan;
}

const CluDir *clu_cluster_dir(const CluCluster *cluster)
{
    return cluster->dir;
}

/* Hosts */

CluHost *clu_cluster_host(const CluCluster *cluster, unsigned index)
{
    return cluster->hosts->pdata[index];
}

CluHost *clu_cluster_find_host(const CluCluster *cluster, const char *name,
                               GError **error)
{
    g_autoptr(GString) names = g_string_new(NULL);
    unsigned i;

    for (i = 0; i < cluster->hosts->len; i++) {
        CluHost *host = cluster->hosts->pdata[i];
        const char *its = clu_host_plan(host)->host->name;

        if (strcmp(its, name) == 0) {
            return host;
        }
        g_string_append_printf(names, "%s%s", i ? ", " : "", its);
    }
    g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                "there is no host '%s'; there are %s", name, names->str);
    return NULL;
}

/* Links */

const CluPlanLink *clu_cluster_find_link(const CluCluster *cluster,
                                         const char *name, GError **error)
{
    const GPtrArray *links = cluster->setup->plan->links;
    g_autoptr(GString) names = g_string_new(NULL);
    unsigned i;

    for (i = 0; i < links->len; i++) {
        const CluPlanLink *link = links->pdata[i];

        if (strcmp(link->link->name, name) == 0) {
            return link;
        }
        g_string_append_printf(names, "%s%s", i ? ", " : "", link->link->name);
    }
    g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                "there is no link '%s'; %s%s", name,
                links->len ? "there are " : "the cluster has none", names->str);
    return NULL;
}

CluHost *clu_cluster_link_host(const CluCluster *cluster,
                               const CluPlanLink *link, unsigned end)
{
    return cluster->hosts->pdata[link->host[end]->index];
}

bool clu_cluster_end_is_up(const CluCluster *cluster, const CluPlanLink *link,
                           unsigned end)
{
    const CluHost *host = clu_cluster_link_host(cluster, link, end);
    CluHostState state = clu_host_state(host);

    return (state == CLU_HOST_UP || state == CLU_HOST_OOPS) &&
           clu_host_link_up(host, link->device[end]);
}

bool clu_cluster_link_is_up(const CluCluster *cluster, const CluPlanLink *link)
{
    return cluster->enabled[link->index] &&
           clu_cluster_end_is_up(cluster, link, 0) &&
           clu_cluster_end_is_up(cluster, link, 1);
}

bool clu_cluster_link_is_expected(const CluCluster *cluster,
                                  const CluPlanLink *link)
{
    unsigned end;

    for (end = 0; end < 2; end++) {
        if (strcmp(link->host[end]->host->vm->client, "none") == 0) {
            return false;
        }
    }
    return cluster->enabled[link->index];
}

bool clu_cluster_link_is_enabled(const CluCluster *cluster,
                                 const CluPlanLink *link)
{
    return cluster->enabled[link->index];
}

void clu_cluster_set_enabled(CluCluster *cluster, const CluPlanLink *link,
                             bool is_enabled)
{
    cluster->enabled[link->index] = is_enabled;
}

const char *clu_cluster_link_trace(const CluCluster *cluster,
                                   const CluPlanLink *link)
{
    return cluster->traces[link->index];
}

void clu_cluster_set_trace(CluCluster *cluster, const CluPlanLink *link,
                           const char *path)
{
    g_free(cluster->traces[link->index]);
    cluster->traces[link->index] = g_strdup(path);
}

/* Changes */

void clu_cluster_abandon(const CluCluster *cluster)
{
    for (unsigned i = 0; i < cluster->hosts->len; i++) {
        clu_host_abandon(cluster->hosts->pdata[i]);
    }
    if (cluster->setup->timed) {
        clu_timed_abandon(cluster->setup->timed);
    }
}

void clu_cluster_changed(CluCluster *cluster)
{
    cluster->ops->changed(cluster->owner);
}

static void on_host_changed(void *owner, CluHost *host)
{
    clu_cluster_changed(owner);
}

static void on_host_console(void *owner, CluHost *host, const uint8_t *data,
                            size_t length)
{
    CluCluster *cluster = owner;

    cluster->ops->console(cluster->owner, host, data, length);
}

static void on_host_logged(void *owner, CluHost *host)
{
    CluCluster *cluster = owner;

    cluster->ops->logged(cluster->owner, host);
}

/* Time */

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

static unsigned asked(void *owner)
{
    const CluCluster *cluster = owner;
    unsigned count = 0, i;

    for (i = 0; i < cluster->hosts->len; i++) {
        count += clu_host_asked(cluster->hosts->pdata[i]);
    }
    return count;
}

static void stood(void *owner)
{
    CluCluster *cluster = owner;

    for (unsigned i = 0; i < cluster->hosts->len; i++) {
        clu_host_stood(cluster->hosts->pdata[i]);
    }
    cluster->ops->stood(cluster->owner);
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
            clu_host_expect(host);
        }
    } else if (step->act == CLU_FAULT_START) {
        clu_host_return(host);
    }
}

static bool act(void *owner)
{
    const CluCluster *cluster = owner;
    bool any = false;
    unsigned i;

    for (i = 0; i < cluster->hosts->len; i++) {
        any |= clu_host_act(cluster->hosts->pdata[i]);
    }
    return any;
}

static bool give_all(const CluCluster *cluster, CluInputKind kind)
{
    bool any = false;
    unsigned i;

    for (i = 0; i < cluster->hosts->len; i++) {
        any |= clu_host_give(cluster->hosts->pdata[i], kind);
    }
    return any;
}

/* Monitors act before guests get their input. */
static bool give(void *owner)
{
    const CluCluster *cluster = owner;
    bool any;

    if (give_all(cluster, CLU_INPUT_QMP)) {
        return true;
    }
    any = give_all(cluster, CLU_INPUT_AGENT);
    return give_all(cluster, CLU_INPUT_CONSOLE) || any;
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
    CluHost *host = clu_cluster_find_host(cluster, input->host, NULL);

    return !host || clu_host_replay(host, input);
}

/* Branches */

/* Machines answer when their main loops come round, which takes real time: the
 * processes may get few turns of the processor, or none for seconds. */
#define TURN_US   2000
#define ANSWER_US (60 * G_USEC_PER_SEC)

typedef int Answered(CluHost *host, GError **error);

static bool wait_for_all(CluCluster *cluster, Answered *answered,
                         GError **error)
{
    CluTimed *timed = cluster->setup->timed;
    gint64 end = g_get_monotonic_time() + ANSWER_US;

    for (unsigned i = 0; i < cluster->hosts->len; i++) {
        CluHost *host = cluster->hosts->pdata[i];
        int status = 0;

        while (clu_host_has_process(host) &&
               (status = answered(host, error)) == 0 &&
               g_get_monotonic_time() < end) {
            clu_timed_turn(timed);
            g_usleep(TURN_US);
        }
        if (clu_host_has_process(host) && status == 0) {
            g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                        "host '%s' has not answered within %d s of real time; "
                        "this machine may have too much to do",
                        clu_host_plan(host)->host->name,
                        (int)(ANSWER_US / G_USEC_PER_SEC));
        }
        if (clu_host_has_process(host) && status <= 0) {
            return false;
        }
    }
    return true;
}

const CluHost *clu_cluster_busy_host(const CluCluster *cluster)
{
    const CluTimed *timed = cluster->setup->timed;

    for (unsigned i = 0; i < cluster->hosts->len; i++) {
        const CluHost *host = cluster->hosts->pdata[i];

        if (clu_timed_stands_at(timed, 0) && clu_host_has_process(host) &&
            clu_timed_is_busy(timed, clu_host_plan(host))) {
            return host;
        }
    }
    return NULL;
}

bool clu_cluster_is_quiet(const CluCluster *cluster)
{
    for (unsigned i = 0; i < cluster->hosts->len; i++) {
        const CluHost *host = cluster->hosts->pdata[i];

        if (clu_host_has_process(host) && !clu_host_is_quiet(host)) {
            return false;
        }
    }
    return clu_timed_stands_at(cluster->setup->timed, 0);
}

bool clu_cluster_make_template(CluCluster *cluster, GError **error)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();

    clu_branch_check(clu_timed_plan(cluster->setup->timed), errors);
    if (topo_errors_count(errors) > 0) {
        return clu_error_refuse(error, errors);
    }
    for (unsigned i = 0; i < cluster->setup->plan->links->len; i++) {
        if (cluster->traces[i]) {
            const CluPlanLink *link = cluster->setup->plan->links->pdata[i];

            g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                        "the trace of link '%s' is on, and its branches would "
                        "write to one file; switch it off",
                        link->link->name);
            return false;
        }
    }
    for (unsigned i = 0; i < cluster->hosts->len; i++) {
        CluHost *host = cluster->hosts->pdata[i];

        if (clu_host_has_process(host) && !clu_host_probe(host, error)) {
            return false;
        }
    }
    if (!wait_for_all(cluster, clu_host_is_probed, error)) {
        return false;
    }
    clu_timed_set_template(cluster->setup->timed);
    return true;
}

bool clu_cluster_branch(CluCluster *cluster, const CluDir *dir, int alive,
                        char *const *sets, GError **error)
{
    CluTimed *timed = cluster->setup->timed;
    g_autoptr(TopoErrors) errors = topo_errors_new();
    CluPlan *plan = clu_branch_plan(cluster->setup->plan, sets,
                                    clu_timed_limit(timed), errors);

    if (!plan) {
        return clu_error_refuse(error, errors);
    }
    close(cluster->shared.alive);
    cluster->shared.alive = alive;
    cluster->dir = dir;
    if (!clu_timed_branch_model(timed, sets, error)) {
        return false;
    }
    for (unsigned i = 0; i < cluster->hosts->len; i++) {
        if (!clu_host_branch(cluster->hosts->pdata[i], plan, clu_dir_path(dir),
                             error)) {
            return false;
        }
    }
    return wait_for_all(cluster, clu_host_is_branched, error) &&
           clu_timed_branch(timed, plan, error);
}

/* Start */

static bool add_links(CluCluster *cluster, const char *dir, GError **error)
{
    const GPtrArray *links = cluster->setup->plan->links;
    unsigned i;

    cluster->enabled = g_new0(bool, links->len);
    cluster->traces = g_new0(char *, links->len);
    for (i = 0; i < links->len; i++) {
        const CluPlanLink *link = links->pdata[i];
        g_autofree char *path = clu_dir_link_path(dir, link->link->name);

        cluster->enabled[i] = true;
        if (!clu_broker_add_link(cluster->broker, link->link->name, path,
                                 error)) {
            return false;
        }
    }
    return true;
}

static bool add_regions(CluCluster *cluster, const char *dir, GError **error)
{
    const GPtrArray *regions = cluster->setup->plan->regions;
    unsigned i;

    cluster->regions = g_new0(char *, regions->len + 1);
    for (i = 0; i < regions->len; i++) {
        const CluPlanRegion *region = regions->pdata[i];
        g_autofree char *path = clu_dir_region_path(dir, region->name);
        CluBrokerRegion size = {
            .size_bytes = (uint64_t)region->bytes,
            .vectors = MAX(region->vectors, 1),
            .clients_max = CLIENTS_MAX,
        };

        if (!clu_broker_add_region(cluster->broker, region->name, path, &size,
                                   error)) {
            return false;
        }
        cluster->regions[i] =
            clu_broker_get_memory_path(cluster->broker, region->name);
    }
    return true;
}

static void add_networks(CluCluster *cluster)
{
    const GPtrArray *networks = cluster->setup->plan->networks;
    unsigned i;

    cluster->hubs = g_new0(CluHub *, networks->len + 1);
    for (i = 0; i < networks->len; i++) {
        cluster->hubs[i] = clu_hub_new(cluster->shared.context);
    }
}

static bool start_hosts(CluCluster *cluster, GError **error)
{
    static const CluHostOps ops = {.changed = on_host_changed,
                                   .console = on_host_console,
                                   .logged = on_host_logged};
    const GPtrArray *hosts = cluster->setup->plan->hosts;
    unsigned i;

    cluster->paths = g_new0(CluPaths, hosts->len);
    for (i = 0; i < hosts->len; i++) {
        cluster->paths[i] = cluster->setup->paths[i];
        cluster->paths[i].regions = cluster->regions;
    }
    cluster->shared.paths = cluster->paths;
    cluster->shared.enabled = cluster->enabled;
    cluster->shared.traces = cluster->traces;
    cluster->shared.hubs = cluster->hubs;
    for (i = 0; i < hosts->len; i++) {
        CluHost *host = clu_host_new(&cluster->shared, hosts->pdata[i], &ops,
                                     cluster, error);

        if (!host) {
            return false;
        }
        g_ptr_array_add(cluster->hosts, host);
    }
    for (i = 0; i < cluster->hosts->len; i++) {
        if (cluster->setup->timed &&
            clu_faults_is_late(cluster->setup->plan, hosts->pdata[i])) {
            clu_timed_leave(cluster->setup->timed, hosts->pdata[i]);
            clu_host_expect(cluster->hosts->pdata[i]);
            continue;
        }
        if (!clu_host_start(cluster->hosts->pdata[i], error)) {
            return false;
        }
    }
    return true;
}

CluCluster *clu_cluster_start(GMainContext *context,
                              const CluClusterSetup *setup, int alive,
                              const CluClusterOps *ops, void *owner,
                              GError **error)
{
    static const CluTimedOps timed_ops = {.wanted = wants_time,
                                          .held = is_held,
                                          .unread = unread,
                                          .asked = asked,
                                          .stood = stood,
                                          .end = end,
                                          .fault = fault,
                                          .act = act,
                                          .give = give,
                                          .replay = replay};
    const char *dir = clu_dir_path(setup->dir);
    CluCluster *cluster = g_new0(CluCluster, 1);

    cluster->setup = setup;
    cluster->dir = setup->dir;
    cluster->ops = ops;
    cluster->owner = owner;
    cluster->hosts = g_ptr_array_new();
    cluster->broker = clu_broker_new(context);
    cluster->shared.context = context;
    cluster->shared.plan = setup->plan;
    cluster->shared.is_kvm = setup->is_kvm;
    cluster->shared.timed = setup->timed;
    cluster->shared.alive = alive;
    cluster->shared.boot_ms = setup->boot_ms;
    cluster->shared.silence_ms = setup->silence_ms;
    if (setup->timed &&
        !clu_timed_start_model(setup->timed, setup->plan, error)) {
        return NULL;
    }
    if (!add_links(cluster, dir, error) || !add_regions(cluster, dir, error)) {
        return NULL;
    }
    add_networks(cluster);
    if (!start_hosts(cluster, error)) {
        return NULL;
    }
    if (setup->timed &&
        !clu_timed_start(setup->timed, context, &timed_ops, cluster, error)) {
        return NULL;
    }
    return cluster;
}
