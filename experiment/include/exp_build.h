/* SPDX-License-Identifier: MIT */
#ifndef EXP_BUILD_H
#define EXP_BUILD_H

#include "exp_fabric.h"

/* Builds the fabric of @description, which must outlive the result, and makes
 * the borrows of `lend:`. Fails, naming the place in the description, if bus
 * numbers, addresses or windows do not suffice. */
ExpFabric *exp_build(const TopoDescription *description, GError **error);

#endif
