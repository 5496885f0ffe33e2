/* SPDX-License-Identifier: MIT */
#ifndef CLU_STATUS_H
#define CLU_STATUS_H

#include "clu_cluster.h"

/* The state of @cluster, its hosts and its links, as text in JSON; to be freed.
 */
char *clu_status_to_json(const CluCluster *cluster);

#endif
