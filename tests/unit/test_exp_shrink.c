/* SPDX-License-Identifier: MIT */
/*
 * Invariants: what is left of a schedule fails, and no fault of it can be left
 * out. If a failure needs some faults and the others do not matter, these are
 * left, whatever their number and order: a naive search over all subsets
 * agrees. Times and numbers get no simpler than the failure allows. No schedule
 * is asked about twice, and no more than allowed.
 */
#include <string.h>

#include "exp_shrink.h"
#include "sim_random.h"
#include "../suite.h"

#define FAULTS 8
#define ROUNDS 400

/* A fault is known by the width to which it degrades a link, from 1 on. */
static GArray *schedule_of(unsigned mask)
{
    GArray *schedule = g_array_new(FALSE, TRUE, sizeof(TopoFault));
    static TopoLink link = {.name = (char *)"cable"};

    for (unsigned i = 0; i < FAULTS; i++) {
        if (mask & 1u << i) {
            TopoFault fault = {
                .link = &link, .action = TOPO_FAULT_DEGRADE, .width = i + 1};

            g_array_append_val(schedule, fault);
        }
    }
    return schedule;
}

static unsigned mask_of(const GArray *schedule)
{
    unsigned mask = 0;

    for (unsigned i = 0; i < schedule->len; i++) {
        mask |= 1u << (g_array_index(schedule, TopoFault, i).width - 1);
    }
    return mask;
}

typedef struct Model {
    unsigned sets[3]; /* it fails if all of one of these are there */
    unsigned without; /* and none of these */
    unsigned asked;
    bool seen[1 << FAULTS];
} Model;

static bool is_bad(const Model *model, unsigned mask)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(model->sets); i++) {
        if ((mask & model->sets[i]) == model->sets[i]) {
            return (mask & model->without) == 0;
        }
    }
    return false;
}

static bool model_fails(void *owner, const GArray *schedule)
{
    Model *model = owner;
    unsigned mask = mask_of(schedule);

    model->asked++;
    ck_assert_uint_ne(mask, 0);
    ck_assert(!model->seen[mask]);
    model->seen[mask] = true;
    return is_bad(model, mask);
}

/* True if a subset of @mask with fewer faults fails, in all subsets. */
static bool has_smaller(const Model *model, unsigned mask)
{
    for (unsigned part = mask; part > 0; part = (part - 1) & mask) {
        if (part != mask && is_bad(model, part)) {
            return true;
        }
    }
    return false;
}

START_TEST(what_is_left_cannot_be_smaller)
{
    const unsigned all = (1 << FAULTS) - 1;
    SimRandom random;

    sim_random_init(&random, 1, "shrink");
    for (unsigned round = 0; round < ROUNDS; round++) {
        g_autoptr(GArray) schedule = schedule_of(all);
        g_autoptr(GArray) small = NULL;
        Model model = {.asked = 0};

        for (unsigned i = 0; i < G_N_ELEMENTS(model.sets); i++) {
            model.sets[i] = 1 + (unsigned)sim_random_below(&random, all);
        }
        small = exp_shrink(schedule, model_fails, &model, 1000);
        ck_assert(is_bad(&model, mask_of(small)));
        /* These failures are monotonic, so nothing smaller is hidden. */
        ck_assert(!has_smaller(&model, mask_of(small)));
        ck_assert_uint_le(model.asked, FAULTS * FAULTS + 3 * FAULTS);
    }
}
END_TEST

/* A fault can also hide a failure. Then no single fault can be left out. */
START_TEST(no_fault_can_be_left_out)
{
    const unsigned all = (1 << FAULTS) - 1;
    SimRandom random;

    sim_random_init(&random, 2, "shrink");
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned start = 1 + (unsigned)sim_random_below(&random, all);
        g_autoptr(GArray) schedule = schedule_of(start);
        g_autoptr(GArray) small = NULL;
        Model model = {.asked = 0};
        unsigned mask;

        for (unsigned i = 0; i < G_N_ELEMENTS(model.sets); i++) {
            model.sets[i] = 1 + (unsigned)sim_random_below(&random, all);
        }
        model.without = (unsigned)sim_random_below(&random, all) & ~start;
        model.sets[0] = start;
        small = exp_shrink(schedule, model_fails, &model, 1000);
        mask = mask_of(small);
        ck_assert(is_bad(&model, mask));
        for (unsigned i = 0; i < FAULTS; i++) {
            unsigned part = mask & ~(1u << i);

            ck_assert(part == mask || part == 0 || !is_bad(&model, part));
        }
    }
}
END_TEST

/* ---- Simpler ------------------------------------------------------------- */

typedef struct Limits {
    int64_t at_least_ps, for_least_ps, number_least;
    unsigned asked;
} Limits;

static bool is_within(void *owner, const GArray *schedule)
{
    Limits *limits = owner;
    const TopoFault *fault = &g_array_index(schedule, TopoFault, 0);

    limits->asked++;
    return fault->at_ps >= limits->at_least_ps &&
           fault->for_ps >= limits->for_least_ps &&
           fault->number >= limits->number_least;
}

static TopoFault shrink_one(const TopoFault *fault, Limits *limits,
                            unsigned most)
{
    g_autoptr(GArray) schedule = g_array_new(FALSE, TRUE, sizeof(TopoFault));
    g_autoptr(GArray) small = NULL;

    g_array_append_val(schedule, *fault);
    small = exp_shrink(schedule, is_within, limits, most);
    ck_assert_uint_eq(small->len, 1);
    return g_array_index(small, TopoFault, 0);
}

/* The expected values are the roundest ones that are not below the limits. */
START_TEST(times_and_numbers_become_round)
{
    static TopoHost host = {.name = (char *)"a"};
    const TopoFault timed = {.host = &host,
                             .action = TOPO_FAULT_FREEZE,
                             .at_ps = 1934567891000,
                             .for_ps = 43210000};
    const TopoFault counted = {.host = &host,
                               .action = TOPO_FAULT_FREEZE,
                               .event = TOPO_FAULT_ON_DOORBELL,
                               .number = 1274,
                               .end = TOPO_FAULT_LOWER_END,
                               .for_ps = 1000};
    Limits any = {.asked = 0};
    Limits narrow = {.at_least_ps = 1934500000000, .for_least_ps = 43000000};
    Limits high = {.number_least = 1270};
    TopoFault left = shrink_one(&timed, &any, 100);

    ck_assert_int_eq(left.at_ps, 2000000000000);
    ck_assert_int_eq(left.for_ps, 40000000);
    left = shrink_one(&timed, &narrow, 100);
    ck_assert_int_eq(left.at_ps, 2000000000000);
    ck_assert_int_eq(left.for_ps, 43000000);
    left = shrink_one(&counted, &high, 100);
    ck_assert_int_eq(left.number, 1300);
    ck_assert_int_eq(left.end, TOPO_FAULT_BOTH_ENDS);
}
END_TEST

START_TEST(no_more_than_allowed_is_asked)
{
    static TopoHost host = {.name = (char *)"a"};
    const TopoFault fault = {.host = &host,
                             .action = TOPO_FAULT_FREEZE,
                             .at_ps = 1934567891000,
                             .for_ps = 43210000};
    Limits exact = {.at_least_ps = fault.at_ps, .for_least_ps = fault.for_ps};
    TopoFault left;

    for (unsigned most = 0; most < 4; most++) {
        exact.asked = 0;
        left = shrink_one(&fault, &exact, most);
        ck_assert_uint_le(exact.asked, most);
    }
    left = shrink_one(&fault, &exact, 0);
    ck_assert_int_eq(left.at_ps, fault.at_ps);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exp_shrink");
    TCase *tcase = tcase_create("shrink");

    tcase_add_test(tcase, what_is_left_cannot_be_smaller);
    tcase_add_test(tcase, no_fault_can_be_left_out);
    tcase_add_test(tcase, times_and_numbers_become_round);
    tcase_add_test(tcase, no_more_than_allowed_is_asked);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
