/* SPDX-License-Identifier: MIT */
#include "rep_history_priv.h"

#include <string.h>

#include "table_format.h"

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

unsigned rep_history_show(const RepHistory *history, bool all, GString *text)
{
    g_autoptr(Table) table = rep_history_table(history, all);
    unsigned worse = 0, better = 0;

    if (table_n_rows(table) > 0) {
        table_format_append(text, table);
        g_string_append_c(text, '\n');
    }
    for (unsigned i = 0; i < history->trends->len; i++) {
        const RepTrend *trend = history->trends->pdata[i];

        worse += trend->first_out >= 0 && trend->is_worse;
        better += trend->first_out >= 0 && !trend->is_worse;
    }
    g_string_append_printf(text,
                           "%u versions, %u numbers: %u left the band for the "
                           "worse, %u for the better\n",
                           history->versions->len, history->trends->len, worse,
                           better);
    return worse;
}
