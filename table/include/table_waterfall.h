/* SPDX-License-Identifier: MIT */
#ifndef TABLE_WATERFALL_H
#define TABLE_WATERFALL_H

#include "table.h"

/*
 * The table of a waterfall. Each row is one segment of a bar and stands for
 * an interval of time. The experiment fills the table, and the report draws
 * it.
 */

/* The columns: three with texts, and two with times in ps. */
enum {
    TABLE_WATERFALL_PANEL,
    TABLE_WATERFALL_BAR,
    TABLE_WATERFALL_SEGMENT,
    TABLE_WATERFALL_FROM,
    TABLE_WATERFALL_TO,
};

/* All names that segments may have, NULL-terminated. The position in the list
 * decides the colour, so the same name has the same colour in all drawings.
 * Nullable. */
typedef const char *const *TableSegments;

/* Returns a table with these columns and no rows. The caller frees it. */
Table *table_waterfall_new(void);

#endif
