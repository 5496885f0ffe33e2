/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLIT_H
#define FAB_FLIT_H

#include "fab_component.h"

/* When a flit that @port sends begins, at @time or as soon as possible after
 * it; @time if the link is not in FLIT mode. To be called after realize. */
SimTime fab_port_flit_begin(const FabPort *port, SimTime time);

#endif
