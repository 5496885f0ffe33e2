/* SPDX-License-Identifier: MIT */
#ifndef REP_MEASURED_H
#define REP_MEASURED_H

#include "topo_description.h"

#include "table.h"

/*
 * Reads the files with the user's own values, which `plot.measured:` names,
 * into one table. Each file must have the key columns of the scenario's
 * results and the column of y. Other columns, and rows without a value of y,
 * are dropped. Fails if a column is missing, a value is not a number, the
 * scenario does not have a name in the file, or a point is given twice; the
 * error names file and line. Returns NULL without an error if the scenario
 * names no file.
 */
Table *rep_measured_read(const TopoDescription *description, GError **error);

#endif
