/* SPDX-License-Identifier: MIT */
#ifndef CMD_CLUSTER_START_H
#define CMD_CLUSTER_START_H

#include "clu_client.h"
#include "clu_cluster.h"

/*
 * Starts the supervisor of a cluster called @name: finds QEMU, its plugin and
 * the guests' images (made where the description names a kernel), and fills in
 * @setup but for its times, which are set. Returns a connection that owns the
 * cluster. NULL if that fails, with entries in @errors where the description is
 * to blame, and @error otherwise.
 */
CluClient *cmd_cluster_start(const CluPlan *plan, const char *name,
                             CluClusterSetup *setup, TopoErrors *errors,
                             GError **error);

#endif
