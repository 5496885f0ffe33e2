/* SPDX-License-Identifier: MIT */
#ifndef TABLE_NUMBER_H
#define TABLE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#define TABLE_DIGITS_MAX 9         /* most digits after the point */
#define TABLE_NONE       INT64_MIN /* an absent number; it is printed as "" */

/* Prints @value, which counts units of the last of @digits digits: -5 with two
 * digits is "-0.05". Returns "" for TABLE_NONE. The caller frees it. */
char *table_number_print(int64_t value, unsigned digits);

/* Parses a number: an optional "-", digits without needless leading zeros, and
 * optionally "." with at most TABLE_DIGITS_MAX digits. Returns false, with the
 * results untouched, if @text is anything else or does not fit. */
bool table_number_parse(const char *text, int64_t *ret_value,
                        unsigned *ret_digits);

/* Adds @digits zeros behind the point of @value. Returns false, with @value
 * untouched, if the result does not fit. */
bool table_number_scale(int64_t *value, unsigned digits);

#endif
