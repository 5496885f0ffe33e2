/* SPDX-License-Identifier: MIT */
#ifndef CLU_PLAN_LINKS_H
#define CLU_PLAN_LINKS_H

#include "clu_plan_types.h"

/* The link of @plan for @topo, a link of its description. @plan owns it. */
CluPlanLink *clu_plan_find_link(const CluPlan *plan, const TopoLink *topo);

/* The end of the physical memory of @host's machine. QEMU's q35 moves a part of
 * a large memory above 4 GiB. */
int64_t clu_plan_memory_end(const TopoHost *host);

/* Adds the devices that emulate the NTB adapter @topo to @host, and enters them
 * in the links of @plan. Each cable has a PCI device of its own, because
 * ntb_hw_switchtec supports one pair of partitions for each device. */
void clu_plan_add_adapter(CluPlan *plan, CluPlanHost *host,
                          const TopoDevice *topo, TopoErrors *errors);

/* The property @name of the device at @end of @link, which may have several
 * links; to be freed. */
char *clu_plan_link_property(const CluPlanLink *link, unsigned end,
                             const char *name);

#endif
