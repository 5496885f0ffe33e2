/* SPDX-License-Identifier: MIT */
#ifndef EXP_FABRIC_PRIV_H
#define EXP_FABRIC_PRIV_H

#include "exp_fabric.h"

struct ExpFabric {
    const TopoDescription *description;
    SimEngine *engine;
    FabFabric *fabric;
};

#endif
