/* SPDX-License-Identifier: MIT */
#include "clu_error.h"

G_DEFINE_QUARK(clu-error-quark, clu_error);

bool clu_error_refuse(GError **error, const TopoErrors *errors)
{
    g_autofree char *text = topo_errors_to_string(errors);

    g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE, "%s", g_strchomp(text));
    return false;
}
