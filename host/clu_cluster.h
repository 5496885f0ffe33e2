/* SPDX-License-Identifier: MIT */
#ifndef CLU_CLUSTER_H
#define CLU_CLUSTER_H

#include <stdbool.h>

#include "clu_dir.h"
#include "clu_host.h"
#include "clu_plan.h"

/*
 * A running cluster: its hosts, and the broker and networks that connect them.
 * It cannot be freed: it lives until its process ends.
 */
typedef struct CluCluster CluCluster;

/* The inputs of a new cluster; borrowed until the process ends. */
typedef struct CluClusterSetup {
    const CluPlan *plan;
    const CluDir *dir;
    const CluPaths *paths; /* indexed by host */
    const bool *is_kvm;    /* host uses KVM; indexed by host */
    CluPace *pace;
    /* Requests that the supervisor takes beside its own (clu_requests.h), ended
     * by NULL; NULL: none */
    const struct CluRequestType *const *requests;
    unsigned boot_ms;    /* longest time for a host to come up */
    unsigned silence_ms; /* longest silence of a guest's agent */
} CluClusterSetup;

typedef struct CluClusterOps {
    /* The state of a host or a link may have changed. */
    void (*changed)(void *owner);
    /* The guest of @host has written @data to its console. */
    void (*console)(void *owner, CluHost *host, const uint8_t *data,
                    size_t length);
    /* The log of the console of @host has grown. */
    void (*logged)(void *owner, CluHost *host);
    /* Only for timed clusters: the virtual time up to which a request waits for
     * the machines, or 0; true if they must wait for the client of a request;
     * the machines have come to stand. */
    int64_t (*wants_time)(void *owner);
    bool (*holds_time)(void *owner);
    void (*on_stand)(void *owner);
    /* The cluster cannot go on. */
    void (*end)(void *owner);
} CluClusterOps;

/* Starts all hosts. Their processes inherit @alive as CLU_FD_ALIVE. Returns
 * NULL and sets @error if a host cannot be started; then the calling process
 * must end. */
CluCluster *clu_cluster_start(GMainContext *context,
                              const CluClusterSetup *setup, int alive,
                              const CluClusterOps *ops, void *owner,
                              GError **error);

const CluClusterSetup *clu_cluster_setup(const CluCluster *cluster);
const CluPlan *clu_cluster_plan(const CluCluster *cluster);
/* Its directory, whose name is that of the cluster. */
const CluDir *clu_cluster_dir(const CluCluster *cluster);

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

/* True if the host at @end is up (perhaps after an oops) and its driver reports
 * @link as up. */
bool clu_cluster_end_is_up(const CluCluster *cluster, const CluPlanLink *link,
                           unsigned end);

/* True if @link is plugged in and up at both ends. */
bool clu_cluster_link_is_up(const CluCluster *cluster, const CluPlanLink *link);

/* True if @link comes up without a command: it is plugged in, and both hosts
 * have an NTB client that enables it. */
bool clu_cluster_link_is_expected(const CluCluster *cluster,
                                  const CluPlanLink *link);

/* True if @link is plugged in. clu_cluster_set_enabled() affects only QEMU
 * processes that are started later. */
bool clu_cluster_link_is_enabled(const CluCluster *cluster,
                                 const CluPlanLink *link);
void clu_cluster_set_enabled(CluCluster *cluster, const CluPlanLink *link,
                             bool is_enabled);

/* The file that records the traffic of @link; NULL if there is none.
 * clu_cluster_set_trace() (@path is nullable) affects only QEMU processes that
 * are started later. */
const char *clu_cluster_link_trace(const CluCluster *cluster,
                                   const CluPlanLink *link);
void clu_cluster_set_trace(CluCluster *cluster, const CluPlanLink *link,
                           const char *path);

/* The same for a link inside a host. */
const char *clu_cluster_inside_trace(const CluCluster *cluster,
                                     const CluPlanInside *inside);
void clu_cluster_set_inside_trace(CluCluster *cluster,
                                  const CluPlanInside *inside,
                                  const char *path);

/* In the process of a branch (CluPaceOps): its directory is @dir, and processes
 * inherit @alive as CLU_FD_ALIVE. */
void clu_cluster_move(CluCluster *cluster, const CluDir *dir, int alive);

/* The following are for paces whose machines go in steps. They are the
 * functions of CluClusterOps. */
int64_t clu_cluster_wants_time(const CluCluster *cluster);
bool clu_cluster_holds_time(const CluCluster *cluster);
void clu_cluster_on_stand(CluCluster *cluster);
void clu_cluster_end(const CluCluster *cluster);

/* Kills all processes: the supervisor is about to end. */
void clu_cluster_abandon(const CluCluster *cluster);

/* Calls CluClusterOps.changed. */
void clu_cluster_changed(CluCluster *cluster);

#endif
