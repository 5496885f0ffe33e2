/* SPDX-License-Identifier: MIT */
#ifndef REP_COMPARE_PRIV_H
#define REP_COMPARE_PRIV_H

#include "rep_compare.h"

/* The steps of a comparison: keys are chosen, rows joined, cells judged. */

struct RepComparison {
    char *name;
    char *x;
    GPtrArray *keys;          /* of char *: all key columns */
    GPtrArray *curve_columns; /* of char *, NULL-terminated: keys but x */
    GPtrArray *values;        /* of char *, NULL-terminated */
    GPtrArray *curves;        /* of RepCurve * */
    GPtrArray *points;        /* of RepPoint * */
    RepCurve total;
};

/* Needed only while the comparison is made. */
typedef struct RepCompareWork {
    RepComparison *result;
    const Table *baseline;
    const Table *fresh;
    const GPtrArray *tolerances; /* nullable: the caller's */
    GPtrArray *head_tolerances;  /* from the baseline's head */
    GHashTable *curve_index;     /* name and column -> index + 1 */
} RepCompareWork;

/* An empty comparison of the given name. */
RepComparison *rep_comparison_new(const char *name);

/* Joins key cells to find a row: no cell holds this character. */
#define REP_KEY_GLUE "\x1f"

/* The cell of column @name, which exists, as part of a key. The caller frees
 * it. */
char *rep_compare_dup_key(const Table *table, unsigned row, const char *name);

/* The key cells of the columns @names (of char *, perhaps NULL-terminated),
 * joined by @glue. The caller frees it. */
char *rep_compare_join_key(const Table *table, unsigned row,
                           const GPtrArray *names, const char *glue);

/* Maps the key of each row to its index + 1. Returns NULL if two rows have the
 * same; *ret_twice is then the key. */
GHashTable *rep_compare_index_rows(const Table *table, const GPtrArray *keys,
                                   char **ret_twice);

/* Sets the columns of the result: of its key, along x, those that name a curve,
 * and those with values. */
bool rep_compare_set_columns(RepCompareWork *work,
                             const RepCompareOptions *options, GError **error);

/* Reads the tolerances in the head of the baseline. */
bool rep_compare_read_tolerances(RepCompareWork *work, GError **error);

/* Sets the verdict and the error of @point of @column, whose cells are both
 * there. */
void rep_compare_judge(const RepCompareWork *work, const char *column,
                       RepPoint *point);

#endif
