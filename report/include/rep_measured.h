/* SPDX-License-Identifier: MIT */
#ifndef REP_MEASURED_H
#define REP_MEASURED_H

#include "topo_description.h"

#include "table.h"

/*
 * Reads the values of their own that the user names in `plot.measured:`, into
 * one table. Each file must have the key columns and that of y, as the
 * scenario's results have them; other columns are dropped, and so are rows
 * without a value of y. Fails, naming file and line, if a column is missing, a
 * value is no number, a name is none of the scenario's, or a point is given
 * twice. Returns NULL without an error if the scenario names no file.
 */
Table *rep_measured_read(const TopoDescription *description, GError **error);

#endif
