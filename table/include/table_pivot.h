/* SPDX-License-Identifier: MIT */
#ifndef TABLE_PIVOT_H
#define TABLE_PIVOT_H

#include "table.h"

/* Returns a new table with one row for each value of @row_column, and one
 * column for each curve, which holds its values of @value_column. The texts of
 * the @n_curves columns @curves together name a curve. Cells that are missing
 * stay empty; of several for one cell the last counts. */
Table *table_pivot(const Table *table, unsigned row_column,
                   const unsigned *curves, unsigned n_curves,
                   unsigned value_column);

#endif
