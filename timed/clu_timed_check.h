/* SPDX-License-Identifier: MIT */
#ifndef CLU_TIMED_CHECK_H
#define CLU_TIMED_CHECK_H

#include "clu_plan_types.h"
#include "topo_error.h"

/* Adds an entry to @errors for everything in @plan that has no place in virtual
 * time. */
void clu_timed_check(const CluPlan *plan, TopoErrors *errors);

/* True if @device has an image. */
bool clu_timed_is_drive(const CluPlanDevice *device);

#endif
