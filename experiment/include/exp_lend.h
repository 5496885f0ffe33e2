/* SPDX-License-Identifier: MIT */
#ifndef EXP_LEND_H
#define EXP_LEND_H

#include "exp_fabric.h"

/* Makes all borrows that `lend:` of @description asks for in @fabric, which was
 * built of it. Fails at the place of the first member of `lend` that cannot be
 * made. */
bool exp_lend_all(ExpFabric *fabric, const TopoDescription *description,
                  GError **error);

#endif
