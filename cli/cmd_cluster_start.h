/* SPDX-License-Identifier: MIT */
#ifndef CMD_CLUSTER_START_H
#define CMD_CLUSTER_START_H

#include "clu_client.h"
#include "clu_cluster.h"
#include "cmd_cluster_timed.h"

/* SHA-256, in hex, of what a timed run depends on besides its description */
typedef struct CmdClusterHashes {
    char *programs; /* see cmd_cluster_log_programs(); owned, as the others */
    char *kernels;  /* of the guests of all hosts */
    char *images;   /* of all hosts; these hold the modules */
} CmdClusterHashes;

void cmd_cluster_hashes_clear(CmdClusterHashes *hashes);

/* Fills in @ret_hashes. False and @errors or @error, as cmd_cluster_start(), if
 * a file is missing. */
bool cmd_cluster_hash(const CluPlan *plan, CmdClusterHashes *ret_hashes,
                      TopoErrors *errors, GError **error);

/* Checks that each host of @description has the memory that its guest's image
 * needs, as far as that image is there already; if not, adds entries to
 * @errors. */
void cmd_cluster_check_memory(const TopoDescription *description,
                              TopoErrors *errors);

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
