/* SPDX-License-Identifier: MIT */
#include "rep_errors.h"

RepWide rep_widen(int64_t value, unsigned digits)
{
    RepWide wide = value;

    for (; digits < TABLE_DIGITS_MAX; digits++) {
        wide *= 10;
    }
    return wide;
}

int64_t rep_divide(RepWide num, RepWide den)
{
    RepWide half = den / 2;

    return (int64_t)(num < 0 ? -((-num + half) / den) : (num + half) / den);
}

int64_t rep_error_mpct(RepWide value, RepWide reference)
{
    RepWide difference = value - reference;
    RepWide magnitude = difference < 0 ? -difference : difference;
    RepWide base = reference < 0 ? -reference : reference;
    RepWide mpct;

    if (base == 0) {
        return TABLE_NONE;
    }
    mpct = (magnitude * 100000 + base / 2) / base;
    mpct = MIN(mpct, (RepWide)REP_MPCT_MAX);
    return (int64_t)(difference < 0 ? -mpct : mpct);
}

void rep_errors_take(RepErrors *errors, int64_t mpct, const char *x)
{
    errors->count++;
    errors->mean_mpct += ABS(mpct);
    errors->bias_mpct += mpct;
    if (!errors->max_x || ABS(mpct) > ABS(errors->max_mpct)) {
        errors->max_mpct = mpct;
        errors->max_x = x;
    }
}

void rep_errors_finish(RepErrors *errors)
{
    if (errors->count > 0) {
        errors->mean_mpct = rep_divide(errors->mean_mpct, errors->count);
        errors->bias_mpct = rep_divide(errors->bias_mpct, errors->count);
    }
}

void rep_errors_add(RepErrors *total, const RepErrors *more)
{
    unsigned count = total->count + more->count;

    if (more->count == 0) {
        return;
    }
    total->mean_mpct = rep_divide((RepWide)total->mean_mpct * total->count +
                                      (RepWide)more->mean_mpct * more->count,
                                  count);
    total->bias_mpct = rep_divide((RepWide)total->bias_mpct * total->count +
                                      (RepWide)more->bias_mpct * more->count,
                                  count);
    if (!total->max_x || ABS(more->max_mpct) > ABS(total->max_mpct)) {
        total->max_mpct = more->max_mpct;
        total->max_x = more->max_x;
    }
    total->count = count;
}

char *rep_mpct_print(int64_t mpct)
{
    return table_number_print(mpct, 3);
}
