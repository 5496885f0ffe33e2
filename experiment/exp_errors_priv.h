/* SPDX-License-Identifier: MIT */
/* Errors of a description that are found while it becomes a fabric. */
#ifndef EXP_ERRORS_PRIV_H
#define EXP_ERRORS_PRIV_H

#include "topo_error.h"

/* Adds @error at @place, and frees it. */
void exp_errors_take(TopoErrors *errors, TopoPlace place, GError *error);

/* Returns true if there are no errors. Otherwise sets @error to all of them. */
bool exp_errors_none(const TopoErrors *errors, GError **error);

#endif
