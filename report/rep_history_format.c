/* SPDX-License-Identifier: MIT */
#include "rep_history_priv.h"

#include <string.h>

const TableColumn history_columns[HISTORY_N_COLUMNS] = {
    {"version", TABLE_TEXT, 0},  {"time", TABLE_TEXT, 0},
    {"scenario", TABLE_TEXT, 0}, {"point", TABLE_TEXT, 0},
    {"column", TABLE_TEXT, 0},   {"unit", TABLE_TEXT, 0},
    {"better", TABLE_TEXT, 0},   {"value", TABLE_TEXT, 0},
};

bool history_is_one(const Table *table)
{
    bool is_one = table_n_columns(table) == HISTORY_N_COLUMNS;

    for (unsigned i = 0; is_one && i < HISTORY_N_COLUMNS; i++) {
        is_one =
            strcmp(table_column_name(table, i), history_columns[i].name) == 0;
    }
    return is_one;
}
