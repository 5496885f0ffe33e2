/* SPDX-License-Identifier: MIT */
#ifndef REP_HISTORY_H
#define REP_HISTORY_H

#include "rep_errors.h"
#include "rep_series.h"

/*
 * A history: one CSV file with the numbers of many versions, oldest first, to
 * which versions are appended. A trend is one number through all versions.
 */

/* One number through the versions that have it. */
typedef struct RepTrend {
    char *scenario;
    char *point;
    char *column;
    char *unit;
    RepBetter better;
    GArray *versions;   /* of unsigned: indexes of the versions that have it */
    GArray *values;     /* of RepWide, in units of 10^-9 */
    GPtrArray *texts;   /* of char *: the values as they were written */
    int64_t drift_mpct; /* the newest against the oldest value */
    int first_out;      /* index in `values` of the first one outside the band
                           around the oldest; -1: none */
    bool is_worse;      /* that one is worse, or its direction is not known */
    GArray *changes;    /* of unsigned: indexes in `values` at which a new
                           level begins */
} RepTrend;

typedef struct RepHistory {
    GPtrArray *versions; /* of char *, oldest first */
    GPtrArray *times;    /* of char *, one for each version */
    GPtrArray *trends;   /* of RepTrend, in the order of their first row */
} RepHistory;

/* Appends the numbers of the results in @files to the history at @path, which
 * is made if it is not there, as @version. Rows are only added, in one write.
 * Fails if @version or @time is no line of text, if the version is there
 * already, if a file cannot be read or has no numbers, if two rows are the same
 * point, or if the history would be too large to be read. */
bool rep_history_append(const char *path, const char *version, const char *time,
                        char **files, GError **error);

/* Reads the history at @path and looks for drifts and changes. A value is
 * outside if it differs from the oldest one by more than @band_mpct. Fails if
 * a version has a number twice. */
RepHistory *rep_history_read(const char *path, int64_t band_mpct,
                             GError **error);
void rep_history_free(RepHistory *history);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RepHistory, rep_history_free)

/* Returns a table with a row for each trend that left the band or changed its
 * level; with @all for each trend. The caller frees it. */
Table *rep_history_table(const RepHistory *history, bool all);

/* Appends that table and a line with sums. Returns the number of trends that
 * left the band for the worse. */
unsigned rep_history_show(const RepHistory *history, bool all, GString *text);

/* Draws the trends that left the band, the worst first, in percent of the
 * oldest value, to PREFIX.svg and PREFIX.png. Draws all if none left it. */
bool rep_history_plot(const RepHistory *history, const char *prefix,
                      GError **error);

#endif
