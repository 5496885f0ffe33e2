/* SPDX-License-Identifier: MIT */
#ifndef EXP_LEND_H
#define EXP_LEND_H

#include "exp_fabric.h"

/* Lends all devices in `lend:` of @description. @fabric was built from it.
 * Fails at the first loan that cannot be made; the error names its place. */
bool exp_lend_all(ExpFabric *fabric, const TopoDescription *description,
                  GError **error);

#endif
