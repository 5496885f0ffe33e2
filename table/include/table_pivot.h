/* SPDX-License-Identifier: MIT */
#ifndef TABLE_PIVOT_H
#define TABLE_PIVOT_H

#include "table.h"

/* Returns a new table with a row for each value of @row_column and a column for
 * each curve. A curve is named by the texts of the @n_curves columns in
 * @curves; its column holds the values of @value_column. A cell without a value
 * stays empty. Returns NULL if several rows would share a cell, because all but
 * one of them would be hidden. */
Table *table_pivot(const Table *table, unsigned row_column,
                   const unsigned *curves, unsigned n_curves,
                   unsigned value_column);

#endif
