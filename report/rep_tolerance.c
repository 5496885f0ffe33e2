/* SPDX-License-Identifier: MIT */
#include "rep_tolerance.h"

#include <string.h>

#include "table_file.h"

#define TOLERANCE_DIGITS_MAX 6
#define PERCENT_MAX          1000

static bool fail(const char *text, GError **error)
{
    g_set_error(error, TABLE_ERROR, TABLE_ERROR_SYNTAX,
                "tolerance \"%s\": it is written 1%% or +-0.02, or COLUMN=1%% "
                "or COLUMN=+-0.02; at most %d digits after the point, and "
                "%d%%",
                text, TOLERANCE_DIGITS_MAX, PERCENT_MAX);
    return false;
}

static bool parse_amount(RepTolerance *tolerance, const char *amount,
                         const char *text, GError **error)
{
    g_autofree char *number = NULL;
    int64_t limit = PERCENT_MAX;
    unsigned i;

    tolerance->is_relative = g_str_has_suffix(amount, "%");
    if (tolerance->is_relative) {
        number = g_strndup(amount, strlen(amount) - 1);
    } else if (g_str_has_prefix(amount, "+-")) {
        number = g_strdup(amount + 2);
    } else {
        return fail(text, error);
    }
    if (*number == '-' ||
        !table_number_parse(number, &tolerance->amount, &tolerance->digits) ||
        tolerance->digits > TOLERANCE_DIGITS_MAX) {
        return fail(text, error);
    }
    for (i = 0; i < tolerance->digits; i++) {
        limit *= 10;
    }
    if (tolerance->is_relative && tolerance->amount > limit) {
        return fail(text, error);
    }
    return true;
}

RepTolerance *rep_tolerance_parse(const char *text, GError **error)
{
    g_autoptr(RepTolerance) tolerance = g_new0(RepTolerance, 1);
    g_autofree char *clean = g_strstrip(g_strdup(text));
    char *split = strrchr(clean, '=');
    char *amount = clean;

    if (!split) {
        split = strrchr(clean, ' ');
    }
    if (split) {
        amount = g_strstrip(split + 1);
        *split = '\0';
        tolerance->column = g_strdup(g_strstrip(clean));
        if (*tolerance->column == '\0') {
            fail(text, error);
            return NULL;
        }
    }
    if (!parse_amount(tolerance, amount, text, error)) {
        return NULL;
    }
    return g_steal_pointer(&tolerance);
}

GPtrArray *rep_tolerances_parse(char *const *texts, GError **error)
{
    g_autoptr(GPtrArray) tolerances =
        g_ptr_array_new_with_free_func((GDestroyNotify)rep_tolerance_free);

    for (; texts && *texts; texts++) {
        RepTolerance *tolerance = rep_tolerance_parse(*texts, error);

        if (!tolerance) {
            return NULL;
        }
        g_ptr_array_add(tolerances, tolerance);
    }
    return g_steal_pointer(&tolerances);
}

void rep_tolerance_free(RepTolerance *tolerance)
{
    if (tolerance) {
        g_free(tolerance->column);
        g_free(tolerance);
    }
}

bool rep_tolerance_is_met(const RepTolerance *tolerance, RepWide baseline,
                          RepWide difference)
{
    RepWide distance = difference < 0 ? -difference : difference;
    RepWide base = baseline < 0 ? -baseline : baseline;

    if (tolerance->is_relative) {
        RepWide percent = 100;
        unsigned i;

        for (i = 0; i < tolerance->digits; i++) {
            percent *= 10;
        }
        return distance * percent <= tolerance->amount * base;
    }
    return distance <= rep_widen(tolerance->amount, tolerance->digits);
}
