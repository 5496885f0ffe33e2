/* SPDX-License-Identifier: MIT */
#ifndef CLU_PLAN_LINKS_H
#define CLU_PLAN_LINKS_H

#include "clu_plan_types.h"

/* Adds the devices that emulate the NTB adapter @topo to @host, and itself to
 * the links of @plan. There is one PCI device for each cable, because the
 * kernel's driver knows one pair of partitions a device. */
void clu_plan_add_adapter(CluPlan *plan, CluPlanHost *host,
                          const TopoDevice *topo, TopoErrors *errors);

#endif
