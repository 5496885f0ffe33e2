/* SPDX-License-Identifier: MIT */
/* The format of a history. */
#ifndef REP_HISTORY_PRIV_H
#define REP_HISTORY_PRIV_H

#include "rep_history.h"

enum { /* its columns */
    HISTORY_VERSION,
    HISTORY_TIME,
    HISTORY_SCENARIO,
    HISTORY_POINT,
    HISTORY_COLUMN,
    HISTORY_UNIT,
    HISTORY_BETTER,
    HISTORY_VALUE,
    HISTORY_N_COLUMNS
};

extern const TableColumn history_columns[HISTORY_N_COLUMNS];

/* Returns true if @table has the columns of a history. */
bool history_is_one(const Table *table);

#endif
