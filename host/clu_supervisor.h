/* SPDX-License-Identifier: MIT */
#ifndef CLU_SUPERVISOR_H
#define CLU_SUPERVISOR_H

#include "clu_cluster.h"

/*
 * Starts the supervisor, a process that runs a cluster and answers the requests
 * of the program `farside` (clu_control.h), and the keeper of the cluster's
 * directory. Returns a connection to the supervisor, -1 and @error on failure.
 * If the connection is closed before the request `release`, the cluster ends.
 * Call this function while there is only one thread.
 */
int clu_supervisor_start(const CluClusterSetup *setup, GError **error);

#endif
