/* SPDX-License-Identifier: MIT */
/*
 * Invariant: a quantity is parsed to the exact number of base units, computed
 * here by schoolbook arithmetic on its digits, or refused. A printed quantity
 * parses to the same number again.
 */
#include "topo_test.h"
#include "topo_units.h"
#include "../suite.h"

typedef struct Case {
    TopoUnit unit;
    const char *text;
    int64_t value; /* -1: refused */
} Case;

static const Case cases[] = {
    {TOPO_UNIT_TIME, "150.5ns", 150500},
    {TOPO_UNIT_TIME, "1ps", 1},
    {TOPO_UNIT_TIME, "1ns", 1000},
    {TOPO_UNIT_TIME, "1.5us", 1500000},
    {TOPO_UNIT_TIME, "1ms", 1000000000},
    {TOPO_UNIT_TIME, "1s", 1000000000000},
    {TOPO_UNIT_TIME, "0.000000000001s", 1},
    {TOPO_UNIT_TIME, "0000000000000000000000000007ns", 7000},
    {TOPO_UNIT_TIME, "9223372s", 9223372000000000000},
    {TOPO_UNIT_TIME, "9223373s", -1},
    {TOPO_UNIT_TIME, "0.0001ns", -1},
    {TOPO_UNIT_TIME, "0.10000ns", 100},
    {TOPO_UNIT_TIME, "150", -1},
    {TOPO_UNIT_TIME, "", -1},
    {TOPO_UNIT_TIME, "ns", -1},
    {TOPO_UNIT_TIME, "-1ns", -1},
    {TOPO_UNIT_TIME, "+1ns", -1},
    {TOPO_UNIT_TIME, "1 ns", -1},
    {TOPO_UNIT_TIME, " 1ns", -1},
    {TOPO_UNIT_TIME, "1ns ", -1},
    {TOPO_UNIT_TIME, "1.ns", -1},
    {TOPO_UNIT_TIME, ".5ns", -1},
    {TOPO_UNIT_TIME, "1.2.3ns", -1},
    {TOPO_UNIT_TIME, "1e3ns", -1},
    {TOPO_UNIT_TIME, "1,5ns", -1},
    {TOPO_UNIT_TIME, "1NS", -1},
    {TOPO_UNIT_TIME, "1KiB", -1},
    {TOPO_UNIT_TIME, "0x10ns", -1},
    {TOPO_UNIT_BYTES, "64B", 64},
    {TOPO_UNIT_BYTES, "4KiB", 4096},
    {TOPO_UNIT_BYTES, "4kB", 4000},
    {TOPO_UNIT_BYTES, "4KB", -1},
    {TOPO_UNIT_BYTES, "1.5KiB", 1536},
    {TOPO_UNIT_BYTES, "0.1KiB", -1},
    {TOPO_UNIT_BYTES, "3MiB", 3145728},
    {TOPO_UNIT_BYTES, "3MB", 3000000},
    {TOPO_UNIT_BYTES, "2GiB", 2147483648},
    {TOPO_UNIT_BYTES, "2GB", 2000000000},
    {TOPO_UNIT_BYTES, "1TiB", 1099511627776},
    {TOPO_UNIT_BYTES, "1TB", 1000000000000},
    {TOPO_UNIT_BYTES, "8388608TiB", -1},
    {TOPO_UNIT_BYTES, "8388607TiB", 9223370937343148032},
    {TOPO_UNIT_BYTES, "64", -1},
    {TOPO_UNIT_RATE, "34.1GB/s", 34100000000},
    {TOPO_UNIT_RATE, "1GiB/s", 1073741824},
    {TOPO_UNIT_RATE, "1GB", -1},
    {TOPO_UNIT_SPEED, "2.5GT/s", 2500},
    {TOPO_UNIT_SPEED, "5GT/s", 5000},
    {TOPO_UNIT_SPEED, "8.0GT/s", 8000},
    {TOPO_UNIT_SPEED, "16GT/s", 16000},
    {TOPO_UNIT_SPEED, "32.00GT/s", 32000},
    {TOPO_UNIT_SPEED, "64GT/s", 64000},
    {TOPO_UNIT_SPEED, "128GT/s", -1},
    {TOPO_UNIT_SPEED, "8", -1},
    {TOPO_UNIT_WIDTH, "x1", 1},
    {TOPO_UNIT_WIDTH, "x2", 2},
    {TOPO_UNIT_WIDTH, "x4", 4},
    {TOPO_UNIT_WIDTH, "x8", 8},
    {TOPO_UNIT_WIDTH, "x16", 16},
    {TOPO_UNIT_WIDTH, "x3", -1},
    {TOPO_UNIT_WIDTH, "x", -1},
    {TOPO_UNIT_WIDTH, "8", -1},
    {TOPO_UNIT_WIDTH, "x8.0", -1},
    {TOPO_UNIT_DISTANCE, "2m", 2000},
    {TOPO_UNIT_DISTANCE, "2.5cm", 25},
    {TOPO_UNIT_DISTANCE, "7mm", 7},
    {TOPO_UNIT_DISTANCE, "0.5mm", -1},
    {TOPO_UNIT_ADDRESS, "0x80000000", 2147483648},
    {TOPO_UNIT_ADDRESS, "2GiB", 2147483648},
    {TOPO_UNIT_ADDRESS, "0x7fffffffffffffff", INT64_MAX},
    {TOPO_UNIT_ADDRESS, "0x8000000000000000", -1},
    {TOPO_UNIT_ADDRESS, "0x", -1},
    {TOPO_UNIT_ADDRESS, "0xg", -1},
    {TOPO_UNIT_ADDRESS, "4096", -1},
    {TOPO_UNIT_NONE, "0", 0},
    {TOPO_UNIT_NONE, "0x1F", 31},
    {TOPO_UNIT_NONE, "9223372036854775807", INT64_MAX},
    {TOPO_UNIT_NONE, "9223372036854775808", -1},
    {TOPO_UNIT_NONE, "99999999999999999999999999999999999999999", -1},
    {TOPO_UNIT_NONE, "1.5", -1},
    {TOPO_UNIT_NONE, "1.0", 1},
    {TOPO_UNIT_NONE, "1B", -1},
};

START_TEST(table_is_parsed_exactly)
{
    const Case *c = &cases[_i];
    g_autoptr(GError) error = NULL;
    int64_t value = 4711;
    bool good = topo_units_parse(c->unit, c->text, &value, &error);

    if (c->value < 0) {
        ck_assert_msg(!good, "%s was accepted as %" G_GINT64_FORMAT, c->text,
                      value);
        ck_assert_ptr_nonnull(error);
        ck_assert_msg(strchr(error->message, ';'), "%s", error->message);
        ck_assert_int_eq(value, 4711);
    } else {
        ck_assert_msg(good, "%s: %s", c->text, error ? error->message : "");
        ck_assert_int_eq(value, c->value);
    }
}
END_TEST

static const struct {
    TopoUnit unit;
    const char *text;
    uint64_t factor;
} suffixes[] = {
    {TOPO_UNIT_TIME, "ps", 1},
    {TOPO_UNIT_TIME, "ns", 1000},
    {TOPO_UNIT_TIME, "us", 1000000},
    {TOPO_UNIT_TIME, "ms", 1000000000},
    {TOPO_UNIT_TIME, "s", 1000000000000},
    {TOPO_UNIT_BYTES, "B", 1},
    {TOPO_UNIT_BYTES, "kB", 1000},
    {TOPO_UNIT_BYTES, "KiB", 1024},
    {TOPO_UNIT_BYTES, "MiB", 1048576},
    {TOPO_UNIT_BYTES, "GB", 1000000000},
    {TOPO_UNIT_RATE, "GiB/s", 1073741824},
    {TOPO_UNIT_RATE, "MB/s", 1000000},
};

/*
 * The naive parser: multiplies the decimal digits of the number by the factor
 * as on paper, then checks that all digits after the point are 0.
 */
static int64_t multiply_on_paper(const char *number, uint64_t factor)
{
    const char *point = strchr(number, '.');
    unsigned places = point ? (unsigned)strlen(point + 1) : 0;
    unsigned digits[80] = {0};
    unsigned __int128 value = 0;
    unsigned n = 0;
    uint64_t carry = 0;
    int i;

    for (i = (int)strlen(number) - 1; i >= 0; i--) {
        if (number[i] != '.') {
            carry += (uint64_t)(number[i] - '0') * factor;
            digits[n++] = (unsigned)(carry % 10);
            carry /= 10;
        }
    }
    while (carry > 0) {
        digits[n++] = (unsigned)(carry % 10);
        carry /= 10;
    }
    for (i = 0; i < (int)places; i++) {
        if (digits[i] != 0) {
            return -1;
        }
    }
    for (i = (int)n - 1; i >= (int)places; i--) {
        value = value * 10 + digits[i];
        if (value > INT64_MAX) {
            return -1;
        }
    }
    return (int64_t)value;
}

START_TEST(errors_say_what_is_wrong)
{
    static const struct {
        TopoUnit unit;
        const char *text, *message;
    } bad[] = {
        {TOPO_UNIT_NONE, "-1", "-1 is less than 0; write it without the sign"},
        {TOPO_UNIT_BYTES, "-4KiB",
         "-4KiB is less than 0; write it without the sign"},
        {TOPO_UNIT_NONE, "1e99", "'1e99' is not a number; write digits alone"},
        {TOPO_UNIT_NONE, "16KiB",
         "'16KiB' is not a number; write digits alone"},
        {TOPO_UNIT_NONE, "many",
         "'many' is not a whole number; write for example 16"},
        {TOPO_UNIT_TIME, "10000000000000000000000000001ns",
         "10000000000000000000000000001ns has too many digits; write at most "
         "26"},
        {TOPO_UNIT_TIME, "-",
         "'-' is not a quantity; write a number and a unit (ps, ns, us, ms, "
         "s)"},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) error = NULL;
        int64_t value;

        ck_assert(!topo_units_parse(bad[i].unit, bad[i].text, &value, &error));
        ck_assert_str_eq(error->message, bad[i].message);
    }
}
END_TEST

START_TEST(random_quantities_agree_with_paper)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    unsigned accepted = 0;
    unsigned i, j;

    for (i = 0; i < 20000; i++) {
        unsigned s = g_rand_int(random) % G_N_ELEMENTS(suffixes);
        unsigned whole = 1 + g_rand_int(random) % 8;
        unsigned places = g_rand_int(random) % 5;
        g_autoptr(GString) number = g_string_new(NULL);
        g_autofree char *text = NULL;
        int64_t expected;
        int64_t value = -1;

        for (j = 0; j < whole + places; j++) {
            if (j == whole) {
                g_string_append_c(number, '.');
            }
            /* More 0 and 5, so that more fractions are whole base units. */
            g_string_append_c(number,
                              "00555123456789"[g_rand_int(random) % 14]);
        }
        text = g_strconcat(number->str, suffixes[s].text, NULL);
        expected = multiply_on_paper(number->str, suffixes[s].factor);
        topo_units_parse(suffixes[s].unit, text, &value, NULL);
        ck_assert_msg(value == expected,
                      "%s: %" G_GINT64_FORMAT ", on paper %" G_GINT64_FORMAT,
                      text, value, expected);
        accepted += value >= 0;
    }
    /* Both outcomes must have been frequent. */
    ck_assert_uint_gt(accepted, 5000);
    ck_assert_uint_lt(accepted, 19000);
}
END_TEST

START_TEST(printed_quantities_parse_again)
{
    static const TopoUnit printed[] = {
        TOPO_UNIT_NONE, TOPO_UNIT_TIME,     TOPO_UNIT_BYTES,
        TOPO_UNIT_RATE, TOPO_UNIT_DISTANCE, TOPO_UNIT_ADDRESS,
    };
    g_autoptr(GRand) random = g_rand_new_with_seed(2);
    unsigned i;

    for (i = 0; i < 20000; i++) {
        TopoUnit unit = printed[i % G_N_ELEMENTS(printed)];
        uint64_t bits =
            ((uint64_t)g_rand_int(random) << 32 | g_rand_int(random)) >>
            (1 + g_rand_int(random) % 63);
        g_autofree char *text = topo_units_format(unit, (int64_t)bits);
        int64_t value = -1;

        ck_assert_msg(topo_units_parse(unit, text, &value, NULL), "%s", text);
        ck_assert_int_eq(value, (int64_t)bits);
    }
}
END_TEST

START_TEST(printed_quantities_are_short)
{
    static const struct {
        TopoUnit unit;
        int64_t value;
        const char *text;
    } table[] = {
        {TOPO_UNIT_TIME, 150500, "150.5ns"},
        {TOPO_UNIT_TIME, 0, "0ps"},
        {TOPO_UNIT_TIME, 1000, "1ns"},
        {TOPO_UNIT_BYTES, 4096, "4KiB"},
        {TOPO_UNIT_BYTES, 1000, "1000B"},
        {TOPO_UNIT_BYTES, 0, "0B"},
        {TOPO_UNIT_SPEED, 2500, "2.5GT/s"},
        {TOPO_UNIT_WIDTH, 8, "x8"},
        {TOPO_UNIT_RATE, 34100000000, "34.1GB/s"},
    };
    g_autofree char *text = topo_units_format(table[_i].unit, table[_i].value);

    ck_assert_str_eq(text, table[_i].text);
}
END_TEST

START_TEST(any_unit_is_recognised)
{
    static const struct {
        const char *text;
        TopoUnit unit;
        int64_t value;
    } table[] = {
        {"12", TOPO_UNIT_NONE, 12},
        {"4KiB", TOPO_UNIT_BYTES, 4096},
        {"1ms", TOPO_UNIT_TIME, 1000000000},
        {"1GB/s", TOPO_UNIT_RATE, 1000000000},
        {"8.0GT/s", TOPO_UNIT_SPEED, 8000},
        {"x4", TOPO_UNIT_WIDTH, 4},
        {"2m", TOPO_UNIT_DISTANCE, 2000},
    };
    TopoUnit unit = TOPO_UNIT_ADDRESS;
    int64_t value = -1;

    ck_assert(topo_units_parse_any(table[_i].text, &unit, &value));
    ck_assert_int_eq(unit, table[_i].unit);
    ck_assert_int_eq(value, table[_i].value);
    ck_assert(!topo_units_parse_any("read", &unit, &value));
}
END_TEST

START_TEST(decimals_are_fractions_in_lowest_terms)
{
    static const struct {
        const char *text;
        int64_t num, den; /* 0: refused */
    } table[] = {
        {"1.024e9", 1024000000, 1},
        {"0.5", 1, 2},
        {"2.50", 5, 2},
        {"1e3", 1000, 1},
        {"1.25e1", 25, 2},
        {"3", 3, 1},
        {"0", 0, 0},
        {"0.000", 0, 0},
        {"-1", 0, 0},
        {"1e", 0, 0},
        {"1e99", 0, 0},
        {"1e-3", 1, 1000},
        {"abc", 0, 0},
        {"1e18", 1000000000000000000, 1},
        {"10e18", 0, 0},
        {"0.0000000000000000001", 0, 0},
        {"12345678901234567890123", 0, 0},
        {"1e-8", 1, 100000000},
        {"2.5e-3", 1, 400},
        {"1e-19", 0, 0},
        {"1e-", 0, 0},
    };
    int64_t num = 0;
    int64_t den = 0;

    ck_assert_int_eq(topo_units_parse_decimal(table[_i].text, &num, &den, NULL),
                     table[_i].den != 0);
    ck_assert_int_eq(num, table[_i].num);
    ck_assert_int_eq(den, table[_i].den);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("units");
    TCase *tcase = tcase_create("units");

    tcase_add_loop_test(tcase, table_is_parsed_exactly, 0, G_N_ELEMENTS(cases));
    tcase_add_test(tcase, errors_say_what_is_wrong);
    tcase_add_test(tcase, random_quantities_agree_with_paper);
    tcase_add_test(tcase, printed_quantities_parse_again);
    tcase_add_loop_test(tcase, printed_quantities_are_short, 0, 9);
    tcase_add_loop_test(tcase, any_unit_is_recognised, 0, 7);
    tcase_add_loop_test(tcase, decimals_are_fractions_in_lowest_terms, 0, 21);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
