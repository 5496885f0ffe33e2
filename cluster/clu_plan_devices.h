/* SPDX-License-Identifier: MIT */
#ifndef CLU_PLAN_DEVICES_H
#define CLU_PLAN_DEVICES_H

#include "clu_plan_types.h"

/* Adds a QEMU device of @type, without a backend, for @topo. Returns it; @host
 * owns it. */
CluPlanDevice *clu_plan_add_device(CluPlanHost *host, const TopoDevice *topo,
                                   const char *type);

/* Adds the device and backend that `vm:` of @topo asks for; a device without
 * `vm:` is not emulated. @topo is no NTB adapter. */
void clu_plan_add_endpoint(CluPlan *plan, CluPlanHost *host,
                           const TopoDevice *topo, TopoErrors *errors);

#endif
