/* SPDX-License-Identifier: MIT */
#ifndef TABLE_NUMBER_H
#define TABLE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#define TABLE_DIGITS_MAX 9         /* most digits after the point */
#define TABLE_NONE       INT64_MIN /* a number that is not there; prints empty */

/* Prints @value, in units of the last of @digits digits, e.g. "-0.05"; empty
 * for TABLE_NONE. The caller frees it. */
char *table_number_print(int64_t value, unsigned digits);

/* Reads a number: "-", digits without needless leading zeros, perhaps "." and
 * at most TABLE_DIGITS_MAX digits. Returns false, with the results untouched,
 * if
 * @text is anything else or does not fit. */
bool table_number_parse(const char *text, int64_t *ret_value,
                        unsigned *ret_digits);

/* Gives @value @digits more digits after the point, all 0. Returns false, with
 * @value untouched, if the result does not fit. */
bool table_number_scale(int64_t *value, unsigned digits);

#endif
