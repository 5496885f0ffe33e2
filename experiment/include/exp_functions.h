/* SPDX-License-Identifier: MIT */
#ifndef EXP_FUNCTIONS_H
#define EXP_FUNCTIONS_H

#include "exp_fabric.h"

/* Returns the PCI functions of @host, an array of TopoFunction sorted by
 * address: those of the real host, if the description has them, or those that
 * enumeration finds in the model. Each port of a card is a function. The caller
 * frees the array with g_ptr_array_unref(); names are borrowed from the
 * description and from @fabric. */
GPtrArray *exp_functions_new(const ExpFabric *fabric, const TopoHost *host);

#endif
