/* SPDX-License-Identifier: MIT */
#ifndef EXP_BUILD_H
#define EXP_BUILD_H

#include "exp_fabric.h"

/* Builds the fabric of @description, which must outlive the result, and lends
 * the devices in `lend:`. Fails if bus numbers, addresses or windows do not
 * suffice; the error names the place in the description. */
ExpFabric *exp_build(const TopoDescription *description, GError **error);

/* Like exp_build(), but adds all errors to @errors. It returns the fabric even
 * if there are errors, unless it cannot be realized; a loan that has an error
 * is not made. @description needs only its hardware to be sound. */
ExpFabric *exp_build_all(const TopoDescription *description,
                         TopoErrors *errors);

#endif
