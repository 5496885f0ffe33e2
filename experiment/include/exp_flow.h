/* SPDX-License-Identifier: MIT */
#ifndef EXP_FLOW_H
#define EXP_FLOW_H

#include "exp_fabric.h"
#include "fab_flow.h"
#include "topo_flow.h"

/* Makes @flow in @fabric, which all such flows share. Operations that begin
 * before @warmup are not measured. On failure the error names the flow's place
 * in the description. The fabric owns the result. */
FabFlow *exp_flow_new(ExpFabric *fabric, const TopoFlow *flow, SimTime warmup,
                      GError **error);

#endif
