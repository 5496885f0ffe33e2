/* SPDX-License-Identifier: MIT */
#include "table_waterfall.h"

Table *table_waterfall_new(void)
{
    Table *table = table_new();

    table_add_column(table, "panel", TABLE_TEXT, 0);
    table_add_column(table, "bar", TABLE_TEXT, 0);
    table_add_column(table, "segment", TABLE_TEXT, 0);
    table_add_column(table, "from_ns", TABLE_DECIMAL, 3);
    table_add_column(table, "to_ns", TABLE_DECIMAL, 3);
    return table;
}
