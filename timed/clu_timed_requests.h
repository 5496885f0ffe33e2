/* SPDX-License-Identifier: MIT */
#ifndef CLU_TIMED_REQUESTS_H
#define CLU_TIMED_REQUESTS_H

#include "clu_request.h"

/*
 * The requests for virtual time, for CluClusterSetup. A cluster in real time
 * refuses them. The words after the names:
 *
 *   advance NS
 *   replay                      answered when all of the log was replayed
 *   checkpoint                  the cluster becomes a template for branches
 *   branch NAME [PATH=VALUE]...
 */
extern const CluRequestType *const clu_timed_requests[];

#endif
