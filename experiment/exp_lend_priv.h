/* SPDX-License-Identifier: MIT */
#ifndef EXP_LEND_PRIV_H
#define EXP_LEND_PRIV_H

#include <stdint.h>

#include "topo_description.h"

/* The weight of the device among those that share what is left of an
 * adapter. */
uint32_t exp_lend_weight(const TopoDevice *device);

#endif
