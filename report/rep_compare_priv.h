/* SPDX-License-Identifier: MIT */
#ifndef REP_COMPARE_PRIV_H
#define REP_COMPARE_PRIV_H

#include "rep_compare.h"

/* The steps of a comparison: choose the keys, join the rows, judge the
 * cells. */

struct RepComparison {
    char *name;
    char *x;
    GPtrArray *keys;          /* of char *: all key columns */
    GPtrArray *curve_columns; /* of char *, NULL-terminated: the key columns
                                 without x */
    GPtrArray *values;        /* of char *, NULL-terminated */
    GPtrArray *curves;        /* of RepCurve * */
    GPtrArray *points;        /* of RepPoint * */
    RepCurve total;
};

/* The state while a comparison is made. */
typedef struct RepCompareWork {
    RepComparison *result;
    const Table *baseline;
    const Table *fresh;
    const GPtrArray *tolerances; /* nullable: the caller's */
    GPtrArray *head_tolerances;  /* from the baseline's head */
    GHashTable *curve_index; /* column and name of a curve to its index + 1 */
    bool one_sided;
    bool subset;
} RepCompareWork;

/* Returns an empty comparison with the given name. */
RepComparison *rep_comparison_new(const char *name);

/* Joins the cells of a key. No cell holds this character. */
#define REP_KEY_GLUE "\x1f"

/* Returns the cell of column @name, which must exist, as part of a key. The
 * caller frees it. */
char *rep_compare_dup_key(const Table *table, unsigned row, const char *name);

/* Returns the cells of the columns @names, joined by @glue. @names holds char *
 * and may be NULL-terminated. The caller frees the text. */
char *rep_compare_join_key(const Table *table, unsigned row,
                           const GPtrArray *names, const char *glue);

/* Maps the key of each row to its index + 1. If two rows have the same key,
 * returns NULL, and *ret_twice is that key. */
GHashTable *rep_compare_index_rows(const Table *table, const GPtrArray *keys,
                                   char **ret_twice);

/* Sets the columns of the result: the key, x, those that name a curve, and
 * those with values. */
bool rep_compare_set_columns(RepCompareWork *work,
                             const RepCompareOptions *options, GError **error);

/* Reads the tolerances in the baseline's head. */
bool rep_compare_read_tolerances(RepCompareWork *work, GError **error);

/* Sets the verdict and the error of @point in @column. Both cells exist. */
void rep_compare_judge(const RepCompareWork *work, const char *column,
                       RepPoint *point);

#endif
