/* SPDX-License-Identifier: MIT */
#include "exp_build.h"

#include "exp_lend.h"

ExpFabric *exp_build(const TopoDescription *description, GError **error)
{
    g_autoptr(ExpFabric) fabric = exp_fabric_new(description, error);

    if (!fabric || !exp_lend_all(fabric, description, error)) {
        return NULL;
    }
    return g_steal_pointer(&fabric);
}
