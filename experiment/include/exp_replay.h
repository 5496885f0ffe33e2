/* SPDX-License-Identifier: MIT */
#ifndef EXP_REPLAY_H
#define EXP_REPLAY_H

#include "fab_flow_replay.h"
#include "topo_flow.h"

#include "exp_fabric.h"

/* Makes the flow of kind replay that @flow describes: it repeats in @fabric
 * what a trace of links has recorded. Fails if the trace cannot be read, or if
 * a packet does not fit to the description; the error names the trace and the
 * packet. */
FabFlow *exp_replay_new(ExpFabric *fabric, const TopoFlow *flow, SimTime warmup,
                        GError **error);

#endif
