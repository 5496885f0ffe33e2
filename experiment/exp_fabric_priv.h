/* SPDX-License-Identifier: MIT */
#ifndef EXP_FABRIC_PRIV_H
#define EXP_FABRIC_PRIV_H

#include "exp_fabric.h"

struct ExpFabric {
    const TopoDescription *description;
    SimEngine *engine;
    FabFabric *fabric;
};

/* Like exp_fabric_new(), but adds all errors to @errors, and returns the fabric
 * as soon as it is realized. The faults of @description are left out if they
 * are not sound. */
ExpFabric *exp_fabric_make(const TopoDescription *description,
                           TopoErrors *errors);

#endif
