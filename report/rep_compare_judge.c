/* SPDX-License-Identifier: MIT */
#include "rep_compare_priv.h"

#include <string.h>

#include "rep_series.h"
#include "table_file.h"

bool rep_compare_read_tolerances(RepCompareWork *work, GError **error)
{
    unsigned i;

    for (i = 0; i < table_n_heads(work->baseline); i++) {
        RepTolerance *tolerance;

        if (strcmp(table_head_key(work->baseline, i), "tolerance") != 0) {
            continue;
        }
        tolerance =
            rep_tolerance_parse(table_head_value(work->baseline, i), error);
        if (!tolerance) {
            g_prefix_error(error, "%s: ", work->result->name);
            return false;
        }
        g_ptr_array_add(work->head_tolerances, tolerance);
        if (tolerance->column &&
            !table_find_column(work->baseline, tolerance->column, NULL)) {
            g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                        "%s: a tolerance for \"%s\", but there is no such "
                        "column",
                        work->result->name, tolerance->column);
            return false;
        }
    }
    return true;
}

/* A pair of cells that are both numbers, in units of 10^-9. */
typedef struct Pair {
    RepWide baseline;
    RepWide difference;
} Pair;

/* Tries the tolerances in @list that name exactly @column, or no column if
 * @column is NULL. *ret_found is true if there is such a tolerance. Returns
 * true if one of them is met. */
static bool meets_any(const GPtrArray *list, const char *column,
                      const Pair *pair, bool *ret_found)
{
    unsigned i;

    *ret_found = false;
    for (i = 0; list && i < list->len; i++) {
        const RepTolerance *tolerance = list->pdata[i];

        if (g_strcmp0(tolerance->column, column) == 0) {
            *ret_found = true;
            if (rep_tolerance_is_met(tolerance, pair->baseline,
                                     pair->difference)) {
                return true;
            }
        }
    }
    return false;
}

static bool is_tolerated(const RepCompareWork *work, const char *column,
                         const Pair *pair)
{
    const GPtrArray *lists[] = {work->tolerances, work->head_tolerances};
    const char *names[] = {column, NULL};
    unsigned i;

    if (pair->difference == 0) {
        return true;
    }
    for (i = 0; i < 4; i++) {
        bool is_found;
        bool is_within = meets_any(lists[i / 2], names[i % 2], pair, &is_found);

        if (is_found) {
            return is_within;
        }
    }
    return false;
}

/* Returns true if @difference is in the good direction of @column, and such
 * differences are wanted. */
static bool is_improvement(const RepCompareWork *work, const char *column,
                           RepWide difference)
{
    RepBetter better;

    if (!work->one_sided) {
        return false;
    }
    better = rep_better_of(work->fresh, column);
    if (better == REP_BETTER_NONE) {
        better = rep_better_of(work->baseline, column);
    }
    return (better == REP_BETTER_HIGHER && difference > 0) ||
           (better == REP_BETTER_LOWER && difference < 0);
}

void rep_compare_judge(const RepCompareWork *work, const char *column,
                       RepPoint *point)
{
    int64_t baseline;
    int64_t fresh;
    unsigned baseline_digits;
    unsigned fresh_digits;
    bool is_within;

    if (table_number_parse(point->baseline, &baseline, &baseline_digits) &&
        table_number_parse(point->fresh, &fresh, &fresh_digits)) {
        Pair pair = {.baseline = rep_widen(baseline, baseline_digits)};
        RepWide value = rep_widen(fresh, fresh_digits);

        pair.difference = value - pair.baseline;
        point->error_mpct =
            pair.difference == 0 ? 0 : rep_error_mpct(value, pair.baseline);
        is_within = is_improvement(work, column, pair.difference) ||
                    is_tolerated(work, column, &pair);
    } else {
        is_within = strcmp(point->baseline, point->fresh) == 0;
    }
    point->verdict = is_within ? REP_WITHIN : REP_OUTSIDE;
}
