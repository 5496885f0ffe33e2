/* SPDX-License-Identifier: MIT */
#ifndef CLU_CLUSTER_H
#define CLU_CLUSTER_H

#include <stdbool.h>

#include "clu_dir.h"
#include "clu_host.h"
#include "clu_plan.h"

/*
 * A cluster that runs: its hosts, and the broker and networks that join them.
 * Links are named by their entry in the plan. It lives until its process ends.
 */
typedef struct CluCluster CluCluster;

/* How a cluster is started; borrowed for as long as it runs. */
typedef struct CluClusterSetup {
    const CluPlan *plan;
    const CluDir *dir;
    const CluPaths *paths; /* by index of the host */
    const bool *is_kvm;    /* likewise */
    unsigned boot_ms;      /* the time that a host may take to come up */
    unsigned silence_ms;   /* the time that a guest may keep silent */
} CluClusterSetup;

typedef struct CluClusterOps {
    /* The state of a host or a link may have changed. */
    void (*changed)(void *owner);
    /* The console of @host has written @data, */
    void (*console)(void *owner, CluHost *host, const uint8_t *data,
                    size_t length);
    /* and its log has grown. */
    void (*logged)(void *owner, CluHost *host);
} CluClusterOps;

/* Starts all hosts; @alive becomes CLU_FD_ALIVE of their processes. NULL and
 * @error if one cannot be started: the caller's process must end then. */
CluCluster *clu_cluster_start(GMainContext *context,
                              const CluClusterSetup *setup, int alive,
                              const CluClusterOps *ops, void *owner,
                              GError **error);

const CluClusterSetup *clu_cluster_setup(const CluCluster *cluster);
const CluPlan *clu_cluster_plan(const CluCluster *cluster);

/* The host with @index in the plan. */
CluHost *clu_cluster_host(const CluCluster *cluster, unsigned index);

/* The host or link @name; NULL and CLU_ERROR_USAGE if there is none. */
CluHost *clu_cluster_find_host(const CluCluster *cluster, const char *name,
                               GError **error);
const CluPlanLink *clu_cluster_find_link(const CluCluster *cluster,
                                         const char *name, GError **error);

/* The host at @end (0 or 1) of @link. */
CluHost *clu_cluster_link_host(const CluCluster *cluster,
                               const CluPlanLink *link, unsigned end);

/* True if the host at @end runs and its driver reports @link as up. */
bool clu_cluster_end_is_up(const CluCluster *cluster, const CluPlanLink *link,
                           unsigned end);

/* True if @link is plugged in and up at both ends. */
bool clu_cluster_link_is_up(const CluCluster *cluster, const CluPlanLink *link);

/* True if @link comes up by itself: it is plugged in, and each host has a
 * client that enables it. */
bool clu_cluster_link_is_expected(const CluCluster *cluster,
                                  const CluPlanLink *link);

/* True if @link is plugged in. Setting it reaches only QEMU processes that are
 * started later. */
bool clu_cluster_link_is_enabled(const CluCluster *cluster,
                                 const CluPlanLink *link);
void clu_cluster_set_enabled(CluCluster *cluster, const CluPlanLink *link,
                             bool is_enabled);

/* The file that records what crosses @link; NULL if there is none. Setting it
 * (@path is nullable) likewise reaches only processes that are started later.
 */
const char *clu_cluster_link_trace(const CluCluster *cluster,
                                   const CluPlanLink *link);
void clu_cluster_set_trace(CluCluster *cluster, const CluPlanLink *link,
                           const char *path);

/* Has CluClusterOps.changed called. */
void clu_cluster_changed(CluCluster *cluster);

#endif
