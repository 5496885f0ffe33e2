/* SPDX-License-Identifier: MIT */
#ifndef CMD_CLUSTER_TIMED_H
#define CMD_CLUSTER_TIMED_H

#include "clu_timed.h"

/*
 * Prepares virtual time for the cluster of @plan in the directory @dir: finds
 * QEMU's object, and computes the latency of each link in the model. NULL, and
 * entries in @errors or @error, if that fails.
 */
CluTimed *cmd_cluster_timed(const CluPlan *plan, const char *dir,
                            TopoErrors *errors, GError **error);

#endif
