/* SPDX-License-Identifier: MIT */
#ifndef TOPO_UNITS_H
#define TOPO_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

/*
 * Quantities with units. They are parsed without floating point: "150.5ns"
 * is exactly 150500 ps. A text that is no whole number of base units is
 * refused. There is no blank between number and unit, and no sign.
 */
typedef enum TopoUnit {
    TOPO_UNIT_NONE,     /* a whole number without unit, decimal or 0x... */
    TOPO_UNIT_TIME,     /* ps: ps ns us ms s */
    TOPO_UNIT_BYTES,    /* B: B KiB MiB GiB TiB kB MB GB TB */
    TOPO_UNIT_RATE,     /* B/s: the units of TOPO_UNIT_BYTES and "/s" */
    TOPO_UNIT_SPEED,    /* MT/s: 2.5GT/s 5.0GT/s 8.0GT/s 16.0GT/s 32.0GT/s
                           64.0GT/s */
    TOPO_UNIT_WIDTH,    /* lanes: x1 x2 x4 x8 x16 */
    TOPO_UNIT_DISTANCE, /* mm: mm cm m */
    TOPO_UNIT_ADDRESS,  /* 0x..., or a size in bytes */
} TopoUnit;

/* Parses all of @text. *ret_value is in base units, from 0 to INT64_MAX. On
 * failure returns false, and @error says which texts are valid. */
bool topo_units_parse(TopoUnit unit, const char *text, int64_t *ret_value,
                      GError **error);

/* Parses @text as a quantity of any unit, or as a whole number. Returns false
 * if it is neither, such as "read". That is no error. */
bool topo_units_parse_any(const char *text, TopoUnit *ret_unit,
                          int64_t *ret_value);

/* Returns a short text for @value, such as "4KiB" or "1.5us".
 * topo_units_parse() turns it into @value again. The caller frees it. */
char *topo_units_format(TopoUnit unit, int64_t value);

/* Parses a positive decimal such as "1.024e9" exactly, as @ret_num / @ret_den
 * in lowest terms. */
bool topo_units_parse_decimal(const char *text, int64_t *ret_num,
                              int64_t *ret_den, GError **error);

/* Parses "LEAST:MOST", two numbers without units, such as "0.5:6". LEAST is
 * less than MOST. */
bool topo_units_parse_range(const char *text, double *ret_least,
                            double *ret_most);

#endif
