/* SPDX-License-Identifier: MIT */
#ifndef EXP_NET_H
#define EXP_NET_H

#include "exp_fabric.h"

/* Makes the networks of @description, and makes NICs of those of its devices
 * whose part has `nic:`. To be called once, when the fabric is realized. */
void exp_net_build(ExpFabric *fabric, const TopoDescription *description);

#endif
