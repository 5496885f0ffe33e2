/* SPDX-License-Identifier: MIT */
#ifndef EXP_LEND_PRIV_H
#define EXP_LEND_PRIV_H

#include <stdint.h>

#include "topo_description.h"

/* Returns the weight of @device. Devices with automatic windows share the space
 * that is left in an adapter by weight. */
uint32_t exp_lend_weight(const TopoDevice *device);

#endif
