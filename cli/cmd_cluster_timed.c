/* SPDX-License-Identifier: MIT */
#include "cmd_cluster_timed.h"

#include <stdio.h>

#include "clu_error.h"
#include "exp_path.h"

#define PS_PER_NS 1000

/*
 * The time of the smallest posted write from one host's CPU to the other's RAM.
 * No path of messages between these hosts is shorter in the model, and until
 * the model itself times each of them, all take this time.
 */
static int64_t one_way_ns(const TopoDescription *description, TopoHost *from,
                          TopoHost *to, GError **error)
{
    ExpPathRequest request = {
        .from = {.kind = TOPO_TARGET_CPU, .host = from, .bar = -1},
        .to = {.kind = TOPO_TARGET_RAM, .host = to, .bar = -1},
        .size_bytes = 4,
    };
    g_autoptr(ExpPath) path = exp_path_new(description, &request, error);

    return path ? path->time_ps / PS_PER_NS : -1;
}

/* The least latency of the two directions; -1 and @error if there is none. */
static int64_t link_ns(const CluPlan *plan, const CluPlanLink *link,
                       GError **error)
{
    int64_t least = INT64_MAX;

    for (unsigned end = 0; end < 2; end++) {
        int64_t ns =
            one_way_ns(plan->description, (TopoHost *)link->host[end]->host,
                       (TopoHost *)link->host[1 - end]->host, error);

        if (ns < 0) {
            g_prefix_error(error, "link '%s': ", link->link->name);
            return -1;
        }
        least = MIN(least, ns);
    }
    return least;
}

static char *find_plugin(GError **error)
{
    const char *given = g_getenv("FARSIDE_QEMU_TIMED");
    g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *dir = g_path_get_dirname(program ? program : ".");
    g_autofree char *plugin =
        given ? g_strdup(given)
              : g_build_filename(dir, "..", "qemu-timed",
                                 "farside-qemu-timed.so", NULL);

    if (!g_file_test(plugin, G_FILE_TEST_IS_REGULAR)) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                    "the object for virtual time does not exist: %s; `make "
                    "cluster` builds it",
                    plugin);
        return NULL;
    }
    return g_steal_pointer(&plugin);
}

CluTimed *cmd_cluster_timed(const CluPlan *plan, const char *dir,
                            TopoErrors *errors, GError **error)
{
    g_autofree int64_t *latencies = g_new0(int64_t, plan->links->len + 1);
    g_autofree char *plugin = find_plugin(error);

    if (!plugin) {
        return NULL;
    }
    for (unsigned i = 0; i < plan->links->len; i++) {
        latencies[i] = link_ns(plan, plan->links->pdata[i], error);
        if (latencies[i] < 0) {
            return NULL;
        }
    }
    return clu_timed_new(plan, dir, plugin, latencies, errors, error);
}
