/* SPDX-License-Identifier: MIT */
#ifndef REP_MEASURED_H
#define REP_MEASURED_H

#include "topo_description.h"

#include "table.h"

/*
 * Reads the user's own values, which `plot.measured:` names, into one table.
 * Each file must have the key columns of the scenario's results, and that of
 * y. Other columns are dropped, and so are rows without a value of y. Fails,
 * naming file and line, if a column is missing, a value is no number, the
 * scenario has no such name, or a point is given twice. Returns NULL without
 * an error if the scenario names no file.
 */
Table *rep_measured_read(const TopoDescription *description, GError **error);

#endif
