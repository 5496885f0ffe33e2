/* SPDX-License-Identifier: MIT */
#include "exp_build.h"

#include "exp_errors_priv.h"
#include "exp_fabric_priv.h"
#include "exp_lend.h"

ExpFabric *exp_build_all(const TopoDescription *description, TopoErrors *errors)
{
    g_autoptr(ExpFabric) fabric = exp_fabric_make(description, errors);

    if (fabric) {
        exp_lend_all(fabric, description, errors);
    }
    return g_steal_pointer(&fabric);
}

ExpFabric *exp_build(const TopoDescription *description, GError **error)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(ExpFabric) fabric = exp_build_all(description, errors);

    return exp_errors_none(errors, error) ? g_steal_pointer(&fabric) : NULL;
}
