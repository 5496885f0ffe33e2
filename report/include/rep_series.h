/* SPDX-License-Identifier: MIT */
#ifndef REP_SERIES_H
#define REP_SERIES_H

#include "table.h"

/* The numbers of a result, one by one, each with its name and meaning. */

/* The direction in which a change of a number is good. */
typedef enum RepBetter {
    REP_BETTER_NONE, /* not known */
    REP_BETTER_HIGHER,
    REP_BETTER_LOWER,
    REP_BETTER_SAME, /* every change is bad */
} RepBetter;

typedef struct RepNumber {
    char *scenario; /* name of the scenario, or of the file */
    char *point;    /* cells of the key, joined by " / " */
    char *column;
    char *unit; /* "" if it is not known */
    RepBetter better;
    char *value; /* as in the CSV */
} RepNumber;

/* Returns the direction that the head of @table gives for @column, with a line
 * "# better: COLUMN higher"; REP_BETTER_NONE if there is none. */
RepBetter rep_better_of(const Table *table, const char *column);

/* Returns true if @column tells how another column differs from seed to seed:
 * the head has a line "# spread: COLUMN". Such a column is no result of its
 * own. */
bool rep_is_spread(const Table *table, const char *column);

/* The share within which the values of @table are known, as in its head; NULL:
 * they are exact. Borrowed. */
const char *rep_accuracy(const Table *table);

/* Returns whether the values of @table are exact. Otherwise sets an error that
 * begins with @name: flows have left work out. */
bool rep_is_exact(const Table *table, const char *name, GError **error);

/* Returns the numbers (of RepNumber) of the results in @files, which NULL ends,
 * row by row. Cells of the key, spreads and empty cells are left out. A unit
 * and a direction that the head does not give follow from the end of the
 * column's name, such as _GBps or _ns. The name of the file stands for the
 * scenario if the head does not name it. Fails if a file cannot be read or has
 * no numbers, or if two numbers have the same scenario, point and column. Adds
 * the points that failed to @failed, of RepNumber without column, unit and
 * value. The caller frees the arrays. */
GPtrArray *rep_series_read_files(char **files, GPtrArray *failed,
                                 GError **error);

/* Frees a RepNumber. */
void rep_number_free(void *number);

#endif
