/* SPDX-License-Identifier: MIT */
/*
 * Invariant: the statistics agree with those computed directly from all values.
 * The reference for quantiles of a histogram is a sorted array (within the
 * resolution). Quantiles of Student's t are those of published tables.
 */
#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "sim_random.h"
#include "sim_stats.h"
#include "../suite.h"

#define COUNT 20000

/* Relative error of a quantile: half of a bucket, which is 1/128 of its first
 * value wide, and rounding. */
#define RESOLUTION (1.0 / 256 + 1e-9)

static int compare_values(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* The histogram gives as many values as were added, each near the one of its
 * rank. @values are sorted. */
static void check_values(SimHistogram *histogram, const uint64_t *values,
                         uint64_t count)
{
    uint64_t seen = 0, value, times;
    unsigned int bucket = 0;

    while (sim_histogram_next(histogram, &bucket, &value, &times)) {
        for (; times > 0; times--, seen++) {
            double expected = (double)values[seen];

            ck_assert_double_eq_tol((double)value, expected,
                                    expected * RESOLUTION + 1e-9);
        }
    }
    ck_assert_uint_eq(seen, count);
}

static void check_quantiles(SimHistogram *histogram, uint64_t *values,
                            uint64_t count)
{
    static const uint32_t quantiles[] = {
        0,      1,      1000,   10000,  100000, 250000, 333333, 500000,
        750000, 900000, 990000, 999000, 999900, 999990, 999999, 1000000,
    };
    size_t i;

    qsort(values, count, sizeof(*values), compare_values);
    for (i = 0; i < G_N_ELEMENTS(quantiles); i++) {
        uint64_t rank = (count * quantiles[i] + 999999) / 1000000;
        double expected = (double)values[rank ? rank - 1 : 0];
        uint64_t quantile = sim_histogram_quantile(histogram, quantiles[i]);

        ck_assert_double_eq_tol((double)quantile, expected,
                                expected * RESOLUTION + 1e-9);
    }
    ck_assert_uint_eq(sim_histogram_min(histogram), values[0]);
    ck_assert_uint_eq(sim_histogram_max(histogram), values[count - 1]);
    ck_assert_uint_eq(sim_histogram_quantile(histogram, 0), values[0]);
    ck_assert_uint_eq(sim_histogram_quantile(histogram, 1000000),
                      values[count - 1]);
    ck_assert_uint_eq(sim_histogram_count(histogram), count);
    check_values(histogram, values, count);
}

/* Distribution 0 is flat, 1 exponential, 2 flat in the exponent. */
static uint64_t next_value(SimRandom *random, int distribution)
{
    switch (distribution) {
    case 0:
        return 1000000 + sim_random_below(random, 100000);
    case 1:
        return (uint64_t)sim_random_exponential(random, SIM_US);
    default:
        return sim_random_u64(random) >> sim_random_below(random, 64);
    }
}

START_TEST(test_histogram)
{
    g_autoptr(SimHistogram) histogram = sim_histogram_new();
    g_autofree uint64_t *values = g_new(uint64_t, COUNT);
    unsigned __int128 sum = 0;
    SimRandom random;
    int i;

    sim_random_init(&random, 1, "histogram");
    for (i = 0; i < COUNT; i++) {
        values[i] = next_value(&random, _i);
        sum += values[i];
        sim_histogram_add(histogram, values[i]);
    }
    check_quantiles(histogram, values, COUNT);
    ck_assert_uint_eq(sim_histogram_sum(histogram),
                      sum > UINT64_MAX ? UINT64_MAX : (uint64_t)sum);
    ck_assert_double_eq_tol(sim_histogram_mean(histogram), (double)sum / COUNT,
                            (double)sum / COUNT * 1e-15);
}
END_TEST

/* Values at bucket edges and next to them: for every power of two, a sample of
 * its 128 parts. */
START_TEST(test_histogram_edges)
{
    int bit;

    for (bit = 0; bit < 64; bit++) {
        uint64_t step = bit > 7 ? 1ULL << (bit - 7) : 1;
        int part;

        for (part = 0; part < 128; part++) {
            uint64_t edge = (1ULL << bit) + (uint64_t)part * step;
            int side;

            for (side = -1; side <= 1; side++) {
                g_autoptr(SimHistogram) histogram = NULL;
                uint64_t value = edge + (uint64_t)side;
                uint64_t far = value / 2;
                double quantile;

                if (part % 9 && part != 127) {
                    continue;
                }
                histogram = sim_histogram_new();
                sim_histogram_add(histogram, far);
                sim_histogram_add(histogram, value);
                sim_histogram_add(histogram, UINT64_MAX);
                quantile = (double)sim_histogram_quantile(histogram, 500000);
                if (fabs(quantile - (double)value) >
                    (double)value * RESOLUTION) {
                    ck_abort_msg("%f for %lu", quantile, (unsigned long)value);
                }
                if (value < 256 && quantile != (double)value) {
                    ck_abort_msg("%lu is not exact", (unsigned long)value);
                }
            }
        }
    }
}
END_TEST

START_TEST(test_histogram_empty_and_many)
{
    g_autoptr(SimHistogram) histogram = sim_histogram_new();

    ck_assert_uint_eq(sim_histogram_count(histogram), 0);
    ck_assert_uint_eq(sim_histogram_sum(histogram), 0);
    ck_assert_uint_eq(sim_histogram_min(histogram), 0);
    ck_assert_uint_eq(sim_histogram_max(histogram), 0);
    ck_assert_uint_eq(sim_histogram_quantile(histogram, 500000), 0);
    ck_assert_double_eq(sim_histogram_mean(histogram), 0);

    sim_histogram_add_many(histogram, 77, 0);
    ck_assert_uint_eq(sim_histogram_count(histogram), 0);
    ck_assert_uint_eq(sim_histogram_min(histogram), 0);
    sim_histogram_add_many(histogram, 100, 1ULL << 40);
    sim_histogram_add_many(histogram, 200, 1);
    ck_assert_uint_eq(sim_histogram_count(histogram), (1ULL << 40) + 1);
    ck_assert_uint_eq(sim_histogram_sum(histogram), (100ULL << 40) + 200);
    ck_assert_uint_eq(sim_histogram_quantile(histogram, 999999), 100);
    ck_assert_uint_eq(sim_histogram_quantile(histogram, 1000000), 200);
    sim_histogram_add_many(histogram, UINT64_MAX, 2);
    ck_assert_uint_eq(sim_histogram_sum(histogram), UINT64_MAX);
}
END_TEST

/* Abramowitz and Stegun, table 26.10 (three digits), and what the closed forms
 * for 1 and 2 degrees of freedom give. */
START_TEST(test_student)
{
    const struct {
        double confidence;
        unsigned freedom;
        double t;
        double error;
    } rows[] = {
        {0.95, 1, tan(0.475 * G_PI), 1e-12},
        {0.95, 2, 0.95 * sqrt(2 / (1 - 0.95 * 0.95)), 1e-12},
        {0.95, 3, 3.182, 0.0005},
        {0.95, 4, 2.776, 0.0005},
        {0.95, 5, 2.571, 0.0005},
        {0.95, 10, 2.228, 0.0005},
        {0.95, 29, 2.045, 0.0005},
        {0.95, 120, 1.980, 0.0005},
        {0.95, 1000000, 1.960, 0.0005},
        {0.5, 7, 0.711, 0.0005},
        {0.99, 6, 3.707, 0.0005},
        {0.999, 4, 8.610, 0.0005},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        ck_assert_double_eq_tol(
            sim_stats_student(rows[i].confidence, rows[i].freedom), rows[i].t,
            rows[i].error);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim_stats");
    TCase *tcase = tcase_create("stats");

    tcase_add_loop_test(tcase, test_histogram, 0, 3);
    tcase_add_test(tcase, test_histogram_edges);
    tcase_add_test(tcase, test_histogram_empty_and_many);
    tcase_add_test(tcase, test_student);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
