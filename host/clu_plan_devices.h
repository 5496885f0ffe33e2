/* SPDX-License-Identifier: MIT */
#ifndef CLU_PLAN_DEVICES_H
#define CLU_PLAN_DEVICES_H

#include "clu_plan_types.h"

/* Adds a QEMU device of @type, without a backend, for @topo. Returns the
 * device, which @host owns. */
CluPlanDevice *clu_plan_add_device(CluPlanHost *host, const TopoDevice *topo,
                                   const char *type);

/* Adds the device and backend that `vm:` of @topo describes. A device without
 * `vm:` is not emulated. @topo must not be an NTB adapter. */
void clu_plan_add_endpoint(CluPlan *plan, CluPlanHost *host,
                           const TopoDevice *topo, TopoErrors *errors);

#endif
