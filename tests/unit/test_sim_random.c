/* SPDX-License-Identifier: MIT */
/*
 * Invariant: the streams are those of the published generators, seeded as the
 * header says. Each drawing function has the distribution of its name.
 */
#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sim_random.h"
#include "../suite.h"

/* From the splitmix64 entry of Rosetta Code, computed with Vigna's program. */
START_TEST(test_splitmix64)
{
    static const uint64_t expected[] = {
        6457827717110365317u, 3203168211198807973u,  9817491932198370423u,
        4593380528125082431u, 16408922859458223821u,
    };
    uint64_t state = 1234567;
    size_t i;

    for (i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
        ck_assert_uint_eq(sim_random_splitmix64(&state), expected[i]);
    }
}
END_TEST

/* Test vector of the rand_xoshiro crate, made with the authors' reference code.
 */
START_TEST(test_xoshiro256starstar)
{
    static const uint64_t expected[] = {
        11520,
        0,
        1509978240,
        1215971899390074240,
        1216172134540287360,
        607988272756665600,
        16172922978634559625u,
        8476171486693032832u,
        10595114339597558777u,
        2904607092377533576u,
    };
    SimRandom random = {{1, 2, 3, 4}};
    size_t i;

    for (i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
        ck_assert_uint_eq(sim_random_u64(&random), expected[i]);
    }
}
END_TEST

/* The FNV-1a hashes are test vectors of its authors (RFC 9923). */
START_TEST(test_seeding)
{
    static const struct {
        const char *name;
        uint64_t fnv1a;
    } names[] = {
        {"", 0xcbf29ce484222325u},
        {"a", 0xaf63dc4c8601ec8cu},
        {"foobar", 0x85944171f73967e8u},
    };
    uint64_t seed = 1234567;
    uint64_t state = 6457827717110365317u ^ names[_i].fnv1a;
    SimRandom random;
    int i;

    sim_random_init(&random, seed, names[_i].name);
    for (i = 0; i < 4; i++) {
        ck_assert_uint_eq(random.state[i], sim_random_splitmix64(&state));
    }
}
END_TEST

START_TEST(test_streams_differ)
{
    SimRandom streams[3];
    SimRandom again;
    int i;

    sim_random_init(&streams[0], 1, "host0.gpu0");
    sim_random_init(&streams[1], 1, "host0.gpu1");
    sim_random_init(&streams[2], 2, "host0.gpu0");
    sim_random_init(&again, 1, "host0.gpu0");
    for (i = 0; i < 100; i++) {
        uint64_t a = sim_random_u64(&streams[0]);
        uint64_t b = sim_random_u64(&streams[1]);
        uint64_t c = sim_random_u64(&streams[2]);

        ck_assert_uint_eq(sim_random_u64(&again), a);
        ck_assert(a != b && a != c && b != c);
    }
}
END_TEST

/* Pearson's statistic of @counts against equal shares. */
static double chi_square(const uint32_t *counts, int cells, uint32_t draws)
{
    double expected = (double)draws / cells;
    double sum = 0;
    int i;

    for (i = 0; i < cells; i++) {
        sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    return sum;
}

START_TEST(test_below)
{
    enum {
        DRAWS = 600000
    };
    uint32_t counts[6] = {0};
    uint32_t thirds[3] = {0};
    uint64_t third = 1ULL << 62;
    SimRandom random;
    int i;

    sim_random_init(&random, 3, "below");
    for (i = 0; i < DRAWS; i++) {
        uint64_t value = sim_random_below(&random, 6);

        if (value > 5) {
            ck_abort_msg("%lu is not below 6", (unsigned long)value);
        }
        counts[value]++;
        /* A plain modulo would hit the first third twice as often as the
         * others.
         */
        value = sim_random_below(&random, 3 * third);
        if (value >= 3 * third) {
            ck_abort_msg("%lu is too great", (unsigned long)value);
        }
        thirds[value / third]++;
    }
    /* 99.9 % quantiles of chi-square with 5 and with 2 degrees of freedom. */
    ck_assert_double_lt(chi_square(counts, 6, DRAWS), 20.515);
    ck_assert_double_lt(chi_square(thirds, 3, DRAWS), 13.816);
    ck_assert_uint_eq(sim_random_below(&random, 1), 0);
    ck_assert_uint_eq(sim_random_below(&random, 0), 0);
}
END_TEST

/* Draws equal the values computed by definition from the upper 53 bits of the
 * same stream. */
START_TEST(test_double_and_exponential)
{
    enum {
        DRAWS = 200000,
        MEAN = 1000000
    };
    SimRandom random, reference;
    double sum = 0;
    int i;

    sim_random_init(&random, 4, "exponential");
    reference = random;
    for (i = 0; i < DRAWS; i++) {
        double value = sim_random_double(&random);
        double expected =
            ldexp((double)(sim_random_u64(&reference) >> 11), -53);

        if (value != expected || value < 0 || value >= 1) {
            ck_abort_msg("%a instead of %a", value, expected);
        }
    }
    for (i = 0; i < DRAWS; i++) {
        SimTime time = sim_random_exponential(&random, MEAN);
        uint64_t bits = (sim_random_u64(&reference) >> 11) + 1;
        double expected = -MEAN * log(ldexp((double)bits, -53));

        if (fabs((double)time - expected) > 0.500001) {
            ck_abort_msg("%ld instead of %f", (long)time, expected);
        }
        sum += (double)time;
    }
    /* The standard deviation of a draw equals its mean. 3.29 standard errors
     * are the 99.9 % confidence interval. */
    ck_assert_double_eq_tol(sum / DRAWS, MEAN, 3.29 * MEAN / sqrt(DRAWS));
    ck_assert_int_eq(sim_random_exponential(&random, 0), 0);
}
END_TEST

START_TEST(test_exponential_limit)
{
    SimRandom random;
    bool limited = false;
    int i;

    sim_random_init(&random, 5, "limit");
    for (i = 0; i < 100; i++) {
        SimTime time = sim_random_exponential(&random, SIM_TIME_NONE - 1);

        ck_assert_int_ge(time, 0);
        ck_assert_int_lt(time, SIM_TIME_NONE);
        limited |= time == SIM_TIME_NONE - 1;
    }
    /* On average 1 of e draws exceeds the mean, and is limited here. */
    ck_assert(limited);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim_random");
    TCase *tcase = tcase_create("random");

    tcase_add_test(tcase, test_splitmix64);
    tcase_add_test(tcase, test_xoshiro256starstar);
    tcase_add_loop_test(tcase, test_seeding, 0, 3);
    tcase_add_test(tcase, test_streams_differ);
    tcase_add_test(tcase, test_below);
    tcase_add_test(tcase, test_double_and_exponential);
    tcase_add_test(tcase, test_exponential_limit);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
