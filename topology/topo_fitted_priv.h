/* SPDX-License-Identifier: MIT */
#ifndef TOPO_FITTED_PRIV_H
#define TOPO_FITTED_PRIV_H

#include "topo_node_priv.h"

/* Returns an array of TopoFitted, which it owns. */
GPtrArray *topo_fitted_new(void);

/* Adds all of @of_base to @all. */
void topo_fitted_inherit(GPtrArray *all, const GPtrArray *of_base);

/* Adds what `calibrated:`, @node, says to @all. Paths are taken from @dir; a
 * part may be used where the files are not.
 * Returns false after reporting an error. */
bool topo_fitted_read(GPtrArray *all, const TopoNode *node, const char *dir,
                      TopoErrors *errors);

#endif
