/* SPDX-License-Identifier: MIT */
#include "clu_cluster.h"

#include <string.h>
#include <unistd.h>

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
    char **traces;   /* trace files, each nullable; indexed by link, then by
                        link inside a host */
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
           clu_host_link_up(host, link, end);
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

static char **inside_trace(const CluCluster *cluster,
                           const CluPlanInside *inside)
{
    return &cluster->traces[cluster->setup->plan->links->len + inside->index];
}

const char *clu_cluster_inside_trace(const CluCluster *cluster,
                                     const CluPlanInside *inside)
{
    return *inside_trace(cluster, inside);
}

void clu_cluster_set_inside_trace(CluCluster *cluster,
                                  const CluPlanInside *inside, const char *path)
{
    g_free(*inside_trace(cluster, inside));
    *inside_trace(cluster, inside) = g_strdup(path);
}

void clu_cluster_move(CluCluster *cluster, const CluDir *dir, int alive)
{
    close(cluster->shared.alive);
    cluster->shared.alive = alive;
    cluster->dir = dir;
}

/* Steps */

int64_t clu_cluster_wants_time(const CluCluster *cluster)
{
    return cluster->ops->wants_time(cluster->owner);
}

bool clu_cluster_holds_time(const CluCluster *cluster)
{
    return cluster->ops->holds_time(cluster->owner);
}

void clu_cluster_on_stand(CluCluster *cluster)
{
    for (unsigned i = 0; i < cluster->hosts->len; i++) {
        clu_host_on_stand(cluster->hosts->pdata[i]);
    }
    cluster->ops->on_stand(cluster->owner);
}

void clu_cluster_end(const CluCluster *cluster)
{
    cluster->ops->end(cluster->owner);
}

/* Changes */

void clu_cluster_abandon(const CluCluster *cluster)
{
    for (unsigned i = 0; i < cluster->hosts->len; i++) {
        clu_host_abandon(cluster->hosts->pdata[i]);
    }
    cluster->setup->pace->ops->abandon(cluster->setup->pace);
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

/* Start */

static bool add_links(CluCluster *cluster, const char *dir, GError **error)
{
    const GPtrArray *links = cluster->setup->plan->links;
    unsigned i;

    cluster->enabled = g_new0(bool, links->len);
    cluster->traces =
        g_new0(char *, links->len + cluster->setup->plan->insides->len);
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
    CluPace *pace = cluster->setup->pace;
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
        if (!pace->ops->start(pace, cluster->hosts->pdata[i], error)) {
            return false;
        }
    }
    return true;
}

/* A device that was refused has no link, and its host's log says why. */
static void broker_says(const CluBrokerNotice *notice, void *data)
{
    const CluCluster *cluster = data;

    for (unsigned i = 0; i < cluster->hosts->len; i++) {
        CluHost *host = cluster->hosts->pdata[i];

        if (notice->event == CLU_BROKER_REFUSED &&
            clu_host_pid(host) == notice->pid) {
            clu_console_note(clu_host_console(host),
                             "a device at %s is refused: %s", notice->name,
                             notice->reason);
        }
    }
}

CluCluster *clu_cluster_start(GMainContext *context,
                              const CluClusterSetup *setup, int alive,
                              const CluClusterOps *ops, void *owner,
                              GError **error)
{
    const char *dir = clu_dir_path(setup->dir);
    CluCluster *cluster = g_new0(CluCluster, 1);

    cluster->setup = setup;
    cluster->dir = setup->dir;
    cluster->ops = ops;
    cluster->owner = owner;
    cluster->hosts = g_ptr_array_new();
    cluster->broker = clu_broker_new(context);
    clu_broker_set_callback(cluster->broker, broker_says, cluster);
    cluster->shared.context = context;
    cluster->shared.plan = setup->plan;
    cluster->shared.is_kvm = setup->is_kvm;
    cluster->shared.pace = setup->pace;
    cluster->shared.alive = alive;
    cluster->shared.boot_ms = setup->boot_ms;
    cluster->shared.silence_ms = setup->silence_ms;
    if (!setup->pace->ops->begin(setup->pace, setup->plan, error)) {
        return NULL;
    }
    if (!add_links(cluster, dir, error) || !add_regions(cluster, dir, error)) {
        return NULL;
    }
    add_networks(cluster);
    if (!start_hosts(cluster, error)) {
        return NULL;
    }
    if (!setup->pace->ops->run(setup->pace, context, cluster, error)) {
        return NULL;
    }
    return cluster;
}
