/* SPDX-License-Identifier: MIT */
#include "exp_errors_priv.h"

void exp_errors_take(TopoErrors *errors, TopoPlace place, GError *error)
{
    topo_errors_add(errors, place, "%s", error->message);
    g_error_free(error);
}

bool exp_errors_none(const TopoErrors *errors, GError **error)
{
    if (topo_errors_count(errors) > 0) {
        g_propagate_error(error, topo_errors_to_gerror(errors));
        return false;
    }
    return true;
}
