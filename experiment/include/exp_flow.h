/* SPDX-License-Identifier: MIT */
#ifndef EXP_FLOW_H
#define EXP_FLOW_H

#include "exp_fabric.h"
#include "fab_flow.h"
#include "topo_flow.h"

/* Makes @flow in @fabric, which all such flows share. Operations that begin
 * before @warmup are not measured. The fabric owns the result. */
FabFlow *exp_flow_new(ExpFabric *fabric, const TopoFlow *flow, SimTime warmup,
                      GError **error);

/* Makes all flows of @description, adds them to @flows (of FabFlow), and errors
 * to @errors. The entry of a flow is NULL if it has a fabric of its own, an
 * error, or a device whose loan could not be made. */
void exp_flow_new_all(ExpFabric *fabric, const TopoDescription *description,
                      SimTime warmup, GPtrArray *flows, TopoErrors *errors);

#endif
