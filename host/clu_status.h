/* SPDX-License-Identifier: MIT */
#ifndef CLU_STATUS_H
#define CLU_STATUS_H

#include "clu_cluster.h"

/* Returns the state of @cluster, its hosts and its links as JSON text, to be
 * freed. */
char *clu_status_to_json(const CluCluster *cluster);

/* Appends the status @json of a supervisor as a text for a terminal. */
void clu_status_append(GString *text, const char *json);

#endif
