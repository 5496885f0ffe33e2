/* SPDX-License-Identifier: MIT */
#include "table_number.h"

char *table_number_print(int64_t value, unsigned digits)
{
    uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;
    uint64_t unit = 1;
    unsigned i;

    if (value == TABLE_NONE) {
        return g_strdup("");
    }
    for (i = 0; i < digits; i++) {
        unit *= 10;
    }
    if (digits == 0) {
        return g_strdup_printf("%" G_GINT64_FORMAT, value);
    }
    return g_strdup_printf("%s%" G_GUINT64_FORMAT ".%0*" G_GUINT64_FORMAT,
                           value < 0 ? "-" : "", magnitude / unit, (int)digits,
                           magnitude % unit);
}

bool table_number_parse(const char *text, int64_t *ret_value,
                        unsigned *ret_digits)
{
    const char *c = text;
    uint64_t magnitude = 0;
    unsigned digits = 0;
    bool is_negative = *c == '-';
    bool is_fraction = false;

    if (is_negative) {
        c++;
    }
    /* "007" is a name, not a number: as a number it would be printed as "7". */
    if (!g_ascii_isdigit(*c) || (*c == '0' && g_ascii_isdigit(c[1]))) {
        return false;
    }
    for (; *c != '\0'; c++) {
        if (*c == '.' && !is_fraction && g_ascii_isdigit(c[1])) {
            is_fraction = true;
            continue;
        }
        if (!g_ascii_isdigit(*c) || digits + is_fraction > TABLE_DIGITS_MAX ||
            magnitude > (uint64_t)(INT64_MAX - (*c - '0')) / 10) {
            return false;
        }
        magnitude = magnitude * 10 + (uint64_t)(*c - '0');
        digits += is_fraction;
    }
    *ret_value = is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
    *ret_digits = digits;
    return true;
}

bool table_number_scale(int64_t *value, unsigned digits)
{
    int64_t scaled = *value;

    for (; digits > 0; digits--) {
        if (__builtin_mul_overflow(scaled, 10, &scaled)) {
            return false;
        }
    }
    *value = scaled;
    return true;
}
