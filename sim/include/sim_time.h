/* SPDX-License-Identifier: MIT */
#ifndef SIM_TIME_H
#define SIM_TIME_H

#include <stdint.h>

/*
 * Simulated time, in integer picoseconds since the start of the run. 63 bits
 * hold 106 days; no quantity of the model is ever a floating-point time.
 */
typedef int64_t SimTime;

#define SIM_TIME_NONE INT64_MAX /* later than any event: "never" */

#define SIM_PS 1LL
#define SIM_NS 1000LL
#define SIM_US 1000000LL
#define SIM_MS 1000000000LL
#define SIM_S  1000000000000LL

#endif
