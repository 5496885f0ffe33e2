/* SPDX-License-Identifier: MIT */
#ifndef CLU_PLAN_H
#define CLU_PLAN_H

#include "clu_plan_types.h"

/* Plans the emulation of @description, which must outlive the plan. This starts
 * nothing and opens no file. Returns NULL and adds at least one entry to
 * @errors if the description cannot be emulated. */
CluPlan *clu_plan_new(const TopoDescription *description, TopoErrors *errors);

/* Frees @plan (nullable). */
void clu_plan_free(CluPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluPlan, clu_plan_free)

/* The PCI address of @device, such as "0000:00:05.0"; to be freed. */
char *clu_plan_address(const CluPlanDevice *device);

#endif
