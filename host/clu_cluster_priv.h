/* SPDX-License-Identifier: MIT */
#ifndef CLU_CLUSTER_PRIV_H
#define CLU_CLUSTER_PRIV_H

#include "clu_broker.h"
#include "clu_cluster.h"

/* Shared by the files of a cluster. */

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

/* The functions of a CluCluster that its pace calls. */
extern const CluPaceUser clu_cluster_user;

#endif
