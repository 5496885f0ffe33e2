/* SPDX-License-Identifier: MIT */
#ifndef CMD_NEAR_H
#define CMD_NEAR_H

#include "topo_request.h"

/* Ranks devices of the description @file, changed by @sets (nullable), by how
 * well they reach the memory of the device @near, "host.device". @goal is
 * "bandwidth" or "latency". @request (nullable) names the device, vendor and
 * fabric of the candidates; without it they are all network ports. Prints the
 * ranking and returns the exit status of `farside select`. */
int cmd_near(const char *file, char **sets, const char *near, const char *goal,
             const TopoRequest *request);

#endif
