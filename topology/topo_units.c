/* SPDX-License-Identifier: MIT */
#include "topo_units.h"

#include <math.h>
#include <string.h>

#include "topo_error.h"

typedef struct Suffix {
    const char *text;
    int64_t factor; /* number of base units */
} Suffix;

#define KIB  (INT64_C(1) << 10)
#define MIB  (INT64_C(1) << 20)
#define GIB  (INT64_C(1) << 30)
#define TIB  (INT64_C(1) << 40)
#define KILO INT64_C(1000)
#define MEGA INT64_C(1000000)
#define GIGA INT64_C(1000000000)
#define TERA INT64_C(1000000000000)

/* Sorted by factor: the printer takes the last one that fits. */
static const Suffix time_suffixes[] = {
    {"ps", 1}, {"ns", KILO}, {"us", MEGA}, {"ms", GIGA}, {"s", TERA}, {NULL, 0},
};
static const Suffix bytes_suffixes[] = {
    {"B", 1},     {"kB", KILO}, {"KiB", KIB}, {"MB", MEGA}, {"MiB", MIB},
    {"GB", GIGA}, {"GiB", GIB}, {"TB", TERA}, {"TiB", TIB}, {NULL, 0},
};
static const Suffix rate_suffixes[] = {
    {"B/s", 1},     {"kB/s", KILO}, {"KiB/s", KIB}, {"MB/s", MEGA},
    {"MiB/s", MIB}, {"GB/s", GIGA}, {"GiB/s", GIB}, {"TB/s", TERA},
    {"TiB/s", TIB}, {NULL, 0},
};
static const Suffix speed_suffixes[] = {{"GT/s", KILO}, {NULL, 0}};
static const Suffix distance_suffixes[] = {
    {"mm", 1}, {"cm", 10}, {"m", KILO}, {NULL, 0}};

typedef struct UnitInfo {
    const Suffix *suffixes;
    const char *accepted;
    const char *example; /* suffix for examples in messages */
    const char *base;
} UnitInfo;

static const UnitInfo units[] = {
    [TOPO_UNIT_NONE] = {NULL, "no unit", "", "1"},
    [TOPO_UNIT_TIME] = {time_suffixes, "ps, ns, us, ms, s", "ns", "ps"},
    [TOPO_UNIT_BYTES] = {bytes_suffixes,
                         "B, KiB, MiB, GiB, TiB, kB, MB, GB, TB", "KiB", "B"},
    [TOPO_UNIT_RATE] = {rate_suffixes,
                        "B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, "
                        "TiB/s",
                        "GB/s", "B/s"},
    [TOPO_UNIT_SPEED] = {speed_suffixes,
                         "2.5GT/s, 5.0GT/s, 8.0GT/s, 16.0GT/s, 32.0GT/s, "
                         "64.0GT/s",
                         "GT/s", "MT/s"},
    [TOPO_UNIT_WIDTH] = {NULL, "x1, x2, x4, x8, x16", "x", "lane"},
    [TOPO_UNIT_DISTANCE] = {distance_suffixes, "mm, cm, m", "m", "mm"},
    [TOPO_UNIT_ADDRESS] = {bytes_suffixes,
                           "0x..., B, KiB, MiB, GiB, TiB, kB, MB, GB, TB",
                           "GiB", "B"},
};

/* The exact value digits / 10^places. */
typedef struct Decimal {
    unsigned __int128 digits;
    unsigned places;
} Decimal;

/* A number of 26 digits times the largest factor fits into 128 bits. Texts with
 * more digits are refused. */
#define DIGITS_MAX         26
#define DECIMAL_DIGITS_MAX 18 /* for a fraction of two 64-bit numbers */

/* Reads digits with an optional fraction. *ret_end points behind them. */
static bool scan_decimal(const char *text, Decimal *ret_decimal,
                         const char **ret_end)
{
    Decimal decimal = {0, 0};
    unsigned n = 0;
    bool fraction = false;

    if (!g_ascii_isdigit(*text)) {
        return false;
    }
    for (; g_ascii_isdigit(*text) ||
           (*text == '.' && !fraction && g_ascii_isdigit(text[1]));
         text++) {
        if (*text == '.') {
            fraction = true;
            continue;
        }
        /* Leading zeros do not count as digits. */
        n += decimal.digits > 0 || *text != '0';
        if (n > DIGITS_MAX || decimal.places == DIGITS_MAX) {
            return false;
        }
        decimal.digits = decimal.digits * 10 + (unsigned)(*text - '0');
        decimal.places += fraction;
    }
    *ret_decimal = decimal;
    *ret_end = text;
    return true;
}

/* Refuses a text that scan_decimal() does not take, and that is not @wanted. */
static bool refuse_number(const char *text, const char *wanted, GError **error)
{
    if (text[0] == '-' && g_ascii_isdigit(text[1])) {
        return topo_refuse(
            error, "%s is less than 0; write it without the sign", text);
    }
    if (g_ascii_isdigit(text[0])) {
        return topo_refuse(error, "%s has too many digits; write at most %d",
                           text, DIGITS_MAX);
    }
    return topo_refuse(error, "'%s' is not %s", text, wanted);
}

static unsigned __int128 power_of_ten(unsigned exponent)
{
    unsigned __int128 power = 1;

    while (exponent-- > 0) {
        power *= 10;
    }
    return power;
}

static bool scale_decimal(TopoUnit unit, const Decimal *decimal, int64_t factor,
                          const char *text, int64_t *ret_value, GError **error)
{
    unsigned __int128 value = decimal->digits * (unsigned __int128)factor;
    unsigned __int128 divisor = power_of_ten(decimal->places);

    if (value % divisor != 0) {
        return topo_refuse(error,
                           "%s is not a whole number of %s; write fewer digits",
                           text, units[unit].base);
    }
    value /= divisor;
    if (value > INT64_MAX) {
        return topo_refuse(error, "%s is too large; write less", text);
    }
    *ret_value = (int64_t)value;
    return true;
}

static bool parse_hex(const char *text, int64_t *ret_value, GError **error)
{
    uint64_t value = 0;
    const char *p;

    if (text[2] == '\0') {
        return topo_refuse(error, "'%s' is not a number; write digits", text);
    }
    for (p = text + 2; *p != '\0'; p++) {
        if (!g_ascii_isxdigit(*p)) {
            return topo_refuse(
                error,
                "'%s' is not a hexadecimal number; write for example "
                "0x1000",
                text);
        }
        if (value > INT64_MAX >> 4) {
            return topo_refuse(error, "%s is too large; write less", text);
        }
        value = value << 4 | (unsigned)g_ascii_xdigit_value(*p);
    }
    *ret_value = (int64_t)value;
    return true;
}

static bool parse_width(const char *text, int64_t *ret_value, GError **error)
{
    static const int64_t widths[] = {1, 2, 4, 8, 16};
    Decimal decimal;
    const char *end;
    unsigned i;

    if (text[0] == 'x' && scan_decimal(text + 1, &decimal, &end) &&
        *end == '\0' && decimal.places == 0) {
        for (i = 0; i < G_N_ELEMENTS(widths); i++) {
            if (decimal.digits == (unsigned __int128)widths[i]) {
                *ret_value = widths[i];
                return true;
            }
        }
    }
    return topo_refuse(error, "'%s' is not a link width; write one of %s", text,
                       units[TOPO_UNIT_WIDTH].accepted);
}

static bool parse_suffixed(TopoUnit unit, const char *text, int64_t *ret_value,
                           GError **error)
{
    const Suffix *suffix;
    Decimal decimal;
    const char *end;

    if (!scan_decimal(text, &decimal, &end)) {
        g_autofree char *wanted = g_strdup_printf(
            "a quantity; write a number and a unit (%s)", units[unit].accepted);

        return refuse_number(text, wanted, error);
    }
    if (*end == '\0') {
        return topo_refuse(error, "%s has no unit; write for example %s%s (%s)",
                           text, text, units[unit].example,
                           units[unit].accepted);
    }
    for (suffix = units[unit].suffixes; suffix->text; suffix++) {
        if (strcmp(suffix->text, end) == 0) {
            return scale_decimal(unit, &decimal, suffix->factor, text,
                                 ret_value, error);
        }
    }
    return topo_refuse(error,
                       "'%s' in %s is not a unit of this key; write one of %s",
                       end, text, units[unit].accepted);
}

static bool parse_speed(const char *text, int64_t *ret_value, GError **error)
{
    static const int64_t speeds[] = {2500, 5000, 8000, 16000, 32000, 64000};
    int64_t value;
    unsigned i;

    if (!parse_suffixed(TOPO_UNIT_SPEED, text, &value, error)) {
        return false;
    }
    for (i = 0; i < G_N_ELEMENTS(speeds); i++) {
        if (value == speeds[i]) {
            *ret_value = value;
            return true;
        }
    }
    return topo_refuse(error, "%s is not a link speed; write one of %s", text,
                       units[TOPO_UNIT_SPEED].accepted);
}

static bool parse_plain(const char *text, int64_t *ret_value, GError **error)
{
    Decimal decimal;
    const char *end;

    if (!scan_decimal(text, &decimal, &end)) {
        return refuse_number(text, "a whole number; write for example 16",
                             error);
    }
    if (*end != '\0') {
        return topo_refuse(error, "'%s' is not a number; write digits alone",
                           text);
    }
    return scale_decimal(TOPO_UNIT_NONE, &decimal, 1, text, ret_value, error);
}

bool topo_units_parse(TopoUnit unit, const char *text, int64_t *ret_value,
                      GError **error)
{
    bool is_hex = text[0] == '0' && text[1] == 'x';

    switch (unit) {
    case TOPO_UNIT_NONE:
        return is_hex ? parse_hex(text, ret_value, error)
                      : parse_plain(text, ret_value, error);
    case TOPO_UNIT_ADDRESS:
        return is_hex ? parse_hex(text, ret_value, error)
                      : parse_suffixed(unit, text, ret_value, error);
    case TOPO_UNIT_WIDTH:
        return parse_width(text, ret_value, error);
    case TOPO_UNIT_SPEED:
        return parse_speed(text, ret_value, error);
    case TOPO_UNIT_TIME:
    case TOPO_UNIT_BYTES:
    case TOPO_UNIT_RATE:
    case TOPO_UNIT_DISTANCE:
        return parse_suffixed(unit, text, ret_value, error);
    }
    g_assert_not_reached();
}

bool topo_units_parse_any(const char *text, TopoUnit *ret_unit,
                          int64_t *ret_value)
{
    static const TopoUnit order[] = {
        TOPO_UNIT_NONE,  TOPO_UNIT_TIME,  TOPO_UNIT_BYTES,    TOPO_UNIT_RATE,
        TOPO_UNIT_SPEED, TOPO_UNIT_WIDTH, TOPO_UNIT_DISTANCE,
    };
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(order); i++) {
        if (topo_units_parse(order[i], text, ret_value, NULL)) {
            *ret_unit = order[i];
            return true;
        }
    }
    return false;
}

static char *format_decimal(const Suffix *suffixes, int64_t value)
{
    const Suffix *best = suffixes;
    const Suffix *suffix;
    char fraction[DIGITS_MAX + 1];
    int64_t rest;
    unsigned n = 0;

    for (suffix = suffixes; suffix->text; suffix++) {
        if (value >= suffix->factor) {
            best = suffix;
        }
    }
    for (rest = value % best->factor; rest > 0 && n < DIGITS_MAX; n++) {
        /* All factors are below 2 * 10^12, so this cannot overflow. */
        rest *= 10;
        fraction[n] = (char)('0' + rest / best->factor);
        rest %= best->factor;
    }
    fraction[n] = '\0';
    return g_strdup_printf("%" G_GINT64_FORMAT "%s%s%s", value / best->factor,
                           n > 0 ? "." : "", fraction, best->text);
}

static char *format_rate(int64_t value)
{
    static const Suffix decimal[] = {{"B/s", 1},     {"kB/s", KILO},
                                     {"MB/s", MEGA}, {"GB/s", GIGA},
                                     {"TB/s", TERA}, {NULL, 0}};

    return format_decimal(decimal, value);
}

static char *format_bytes(int64_t value)
{
    static const Suffix binary[] = {
        {"TiB", TIB}, {"GiB", GIB}, {"MiB", MIB}, {"KiB", KIB}, {"B", 1}};
    unsigned i = 0;

    while (value % binary[i].factor != 0 || value < binary[i].factor) {
        if (binary[i].factor == 1) {
            break;
        }
        i++;
    }
    return g_strdup_printf("%" G_GINT64_FORMAT "%s", value / binary[i].factor,
                           binary[i].text);
}

char *topo_units_format(TopoUnit unit, int64_t value)
{
    static const Suffix metres[] = {{"mm", 1}, {"m", KILO}, {NULL, 0}};

    switch (unit) {
    case TOPO_UNIT_NONE:
        return g_strdup_printf("%" G_GINT64_FORMAT, value);
    case TOPO_UNIT_TIME:
        return format_decimal(time_suffixes, value);
    case TOPO_UNIT_BYTES:
        return format_bytes(value);
    case TOPO_UNIT_RATE:
        return format_rate(value);
    case TOPO_UNIT_SPEED:
        return g_strdup_printf("%" G_GINT64_FORMAT ".%" G_GINT64_FORMAT "GT/s",
                               value / 1000, value % 1000 / 100);
    case TOPO_UNIT_WIDTH:
        return g_strdup_printf("x%" G_GINT64_FORMAT, value);
    case TOPO_UNIT_DISTANCE:
        return format_decimal(metres, value);
    case TOPO_UNIT_ADDRESS:
        return g_strdup_printf("0x%" G_GINT64_MODIFIER "x", (guint64)value);
    }
    g_assert_not_reached();
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

bool topo_units_parse_decimal(const char *text, int64_t *ret_num,
                              int64_t *ret_den, GError **error)
{
    unsigned __int128 num, den;
    unsigned exponent = 0;
    bool is_negative = false;
    uint64_t divisor;
    Decimal decimal;
    const char *end;

    if (!scan_decimal(text, &decimal, &end)) {
        return topo_refuse(
            error, "'%s' is not a number; write for example 1.024e9", text);
    }
    if ((*end == 'e' || *end == 'E') &&
        (g_ascii_isdigit(end[1]) ||
         (end[1] == '-' && g_ascii_isdigit(end[2])))) {
        is_negative = end[1] == '-';
        for (end += 1 + is_negative;
             g_ascii_isdigit(*end) && exponent <= DECIMAL_DIGITS_MAX; end++) {
            exponent = exponent * 10 + (unsigned)(*end - '0');
        }
    }
    if (*end != '\0' || exponent > DECIMAL_DIGITS_MAX) {
        return topo_refuse(
            error, "'%s' is not a number; write for example 1.024e9", text);
    }
    if (decimal.digits == 0) {
        return topo_refuse(error, "%s is not positive; write a number above 0",
                           text);
    }
    if (is_negative) {
        decimal.places += exponent;
        exponent = 0;
    }
    if (decimal.digits > power_of_ten(DECIMAL_DIGITS_MAX) ||
        decimal.places > DECIMAL_DIGITS_MAX) {
        return topo_refuse(error, "%s has too many digits; write at most %d",
                           text, DECIMAL_DIGITS_MAX);
    }
    /* Both numbers are at most 10^36, and common powers of ten are
     * cancelled. */
    num = decimal.digits;
    den = 1;
    if (exponent >= decimal.places) {
        num *= power_of_ten(exponent - decimal.places);
    } else {
        den = power_of_ten(decimal.places - exponent);
    }
    if (num > INT64_MAX) {
        return topo_refuse(error, "%s is too large; write less", text);
    }
    divisor = common_divisor((uint64_t)num, (uint64_t)den);
    *ret_num = (int64_t)(num / divisor);
    *ret_den = (int64_t)(den / divisor);
    return true;
}

bool topo_units_parse_range(const char *text, double *ret_least,
                            double *ret_most)
{
    char *end;

    *ret_least = g_ascii_strtod(text, &end);
    if (end == text || *end != ':') {
        return false;
    }
    text = end + 1;
    *ret_most = g_ascii_strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*ret_least) &&
           isfinite(*ret_most) && *ret_least < *ret_most;
}
