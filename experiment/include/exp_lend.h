/* SPDX-License-Identifier: MIT */
#ifndef EXP_LEND_H
#define EXP_LEND_H

#include "exp_fabric.h"

/* Lends all devices in `lend:` of @description. @fabric was built from it.
 * Adds an error for each loan that cannot be made. */
void exp_lend_all(ExpFabric *fabric, const TopoDescription *description,
                  TopoErrors *errors);

#endif
