/* SPDX-License-Identifier: MIT */
#ifndef CLU_SUPERVISOR_H
#define CLU_SUPERVISOR_H

#include "clu_cluster.h"

/*
 * Starts the supervisor, a process that runs a cluster and works on the
 * program's requests (clu_control.h), and the keeper of its directory. Returns
 * a connection to the supervisor; if it is closed before the request `release`,
 * the cluster ends. -1 and @error if that fails. Call it while there is only
 * one thread.
 */
int clu_supervisor_start(const CluClusterSetup *setup, GError **error);

#endif
