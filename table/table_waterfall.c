/* SPDX-License-Identifier: MIT */
#include "table_waterfall.h"

Table *table_waterfall_new(void)
{
    static const TableColumn columns[] = {
        {"panel", TABLE_TEXT, 0},    {"bar", TABLE_TEXT, 0},
        {"segment", TABLE_TEXT, 0},  {"from_ns", TABLE_DECIMAL, 3},
        {"to_ns", TABLE_DECIMAL, 3},
    };
    Table *table = table_new();

    table_add_columns(table, columns, G_N_ELEMENTS(columns));
    return table;
}
