/* SPDX-License-Identifier: MIT */
#ifndef TABLE_WATERFALL_H
#define TABLE_WATERFALL_H

#include "table.h"

/*
 * The table of a waterfall: one row for each segment of a bar, which stands for
 * an interval of time. The experiment fills it, the report draws it.
 */

/* The columns: three texts, and two times in ps. */
enum {
    TABLE_WATERFALL_PANEL,
    TABLE_WATERFALL_BAR,
    TABLE_WATERFALL_SEGMENT,
    TABLE_WATERFALL_FROM,
    TABLE_WATERFALL_TO,
};

/* All names that segments may have, NULL-terminated. A name's place in the list
 * decides its colour, so drawings of different tables agree. Nullable. */
typedef const char *const *TableSegments;

/* Returns an empty table of these columns; the caller frees it. */
Table *table_waterfall_new(void);

#endif
