/* SPDX-License-Identifier: MIT */
#ifndef CMD_CLUSTER_START_H
#define CMD_CLUSTER_START_H

#include "clu_client.h"
#include "clu_cluster.h"
#include "cmd_cluster_timed.h"

/*
 * One hash of the guests' kernels of all hosts, and one of their images, which
 * hold the modules; to be freed. False and @errors or @error, as
 * cmd_cluster_start(), if there is none.
 */
bool cmd_cluster_hash_guests(const CluPlan *plan, char **ret_kernels,
                             char **ret_images, TopoErrors *errors,
                             GError **error);

/*
 * Starts the supervisor of the cluster @name. Finds QEMU, its plugin and the
 * guests' images, and makes the images with kernels that the description names.
 * Fills in @setup; the caller has set its times. Returns a connection that owns
 * the cluster. On failure returns NULL, and adds entries to @errors if the
 * description is wrong, or sets @error otherwise. With @logs the
 * machines run in virtual time.
 */
CluClient *cmd_cluster_start(const CluPlan *plan, const char *name,
                             CluClusterSetup *setup,
                             const CmdClusterTimed *logs, TopoErrors *errors,
                             GError **error);

#endif
