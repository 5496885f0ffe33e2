/* SPDX-License-Identifier: MIT */
#ifndef EXP_FLOW_H
#define EXP_FLOW_H

#include "exp_fabric.h"
#include "fab_flow.h"
#include "topo_flow.h"

/* Makes the flow that @flow describes, which has no fabric of its own. Its
 * operations that begin before @warmup are not measured. Fails at the flow's
 * place in the description. The result belongs to the fabric. */
FabFlow *exp_flow_new(ExpFabric *fabric, const TopoFlow *flow, SimTime warmup,
                      GError **error);

#endif
