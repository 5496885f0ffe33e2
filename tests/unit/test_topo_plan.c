/* SPDX-License-Identifier: MIT */
/*
 * Invariant: the points of a plan are the product of variants and axes, in the
 * order of nested loops over the file. The changes of a point give exactly the
 * description that its label names.
 */
#include "topo_test.h"
#include "topo_plan.h"
#include "../suite.h"

#define SWEPT                                                                  \
    TWO_HOSTS                                                                  \
    "variants:\n"                                                              \
    "  - {name: local, set: {workload.flows.f.buffer: a.ram}}\n"               \
    "  - {name: remote}\n"                                                     \
    "sweep:\n"                                                                 \
    "  - name: panel\n"                                                        \
    "    values:\n"                                                            \
    "      - {label: in, set: {workload.flows.f.direction: read}}\n"           \
    "      - {label: out, set: {workload.flows.f.direction: write}}\n"         \
    "  - {name: size, set: workload.flows.f.size, from: 4KiB, to: 20KiB,\n"    \
    "     times: 2}\n"                                                         \
    "  - {name: n, set: [workload.flows.f.copies, workload.seed],\n"           \
    "     values: [1, 5]}\n"

START_TEST(points_are_nested_loops)
{
    static const char *const variants[] = {"local", "remote"};
    static const char *const panels[] = {"in", "out"};
    static const char *const sizes[] = {"4KiB", "8KiB", "16KiB"};
    static const int64_t bytes[] = {4096, 8192, 16384};
    static const char *const counts[] = {"1", "5"};
    g_autoptr(TopoDescription) base = load_good(SWEPT, NULL);
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(GPtrArray) points = topo_plan_points(base, errors);
    unsigned v, p, s, n;
    unsigned i = 0;

    ck_assert_ptr_nonnull(points);
    ck_assert_uint_eq(points->len, 24);
    for (v = 0; v < 2; v++) {
        for (p = 0; p < 2; p++) {
            for (s = 0; s < 3; s++) {
                for (n = 0; n < 2; n++, i++) {
                    const TopoPoint *point = g_ptr_array_index(points, i);
                    g_autofree char *label = g_strdup_printf(
                        "%s, panel=%s, size=%s, n=%s", variants[v], panels[p],
                        sizes[s], counts[n]);
                    g_autoptr(TopoDescription) d =
                        load_good(SWEPT, point->changes);
                    const TopoFlow *flow = topo_find_flow(d, "f");

                    ck_assert_uint_eq(point->index, i);
                    ck_assert_str_eq(point->label, label);
                    ck_assert_str_eq(
                        topo_flow_target(flow, "buffer").host->name,
                        v == 0 ? "a" : "b");
                    ck_assert(topo_flow_is(flow, "direction",
                                           p == 0 ? "read" : "write"));
                    ck_assert_int_eq(topo_flow_bytes(flow, "size"), bytes[s]);
                    ck_assert_int_eq(topo_flow_int(flow, "copies"),
                                     n == 0 ? 1 : 5);
                    ck_assert_uint_eq(d->workload->seed, n == 0 ? 1 : 5);
                    ck_assert(point->values[1]->has_number);
                    ck_assert_int_eq(point->values[1]->number, bytes[s]);
                    ck_assert(!point->values[0]->has_number);
                }
            }
        }
    }
}
END_TEST

START_TEST(nothing_to_sweep_is_one_point)
{
    g_autoptr(GPtrArray) changes = make_changes("workload.seed=3", NULL);
    g_autoptr(TopoDescription) base = load_good(TWO_HOSTS, changes);
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(GPtrArray) points = topo_plan_points(base, errors);
    const TopoPoint *point;

    ck_assert_uint_eq(points->len, 1);
    point = g_ptr_array_index(points, 0);
    ck_assert_str_eq(point->label, "");
    ck_assert_ptr_null(point->variant);
    ck_assert_uint_eq(point->changes->len, 1);
    ck_assert_str_eq(topo_change_path(point->changes->pdata[0]),
                     "workload.seed");
}
END_TEST

START_TEST(steps_add_and_end_at_their_limit)
{
    g_autoptr(TopoDescription) base = load_good(
        TWO_HOSTS "sweep: [{name: s, set: workload.flows.f.start, from: 0ns,\n"
                  "         to: 1us, step: 250ns}]\n",
        NULL);
    static const char *const labels[] = {"0ps", "250ns", "500ns", "750ns",
                                         "1us"};
    const TopoAxis *axis = g_ptr_array_index(base->axes, 0);
    unsigned i;

    ck_assert_uint_eq(axis->values->len, G_N_ELEMENTS(labels));
    for (i = 0; i < G_N_ELEMENTS(labels); i++) {
        const TopoAxisValue *value = g_ptr_array_index(axis->values, i);

        ck_assert_str_eq(value->label, labels[i]);
        ck_assert_int_eq(value->number, 250000 * (int64_t)i);
    }
}
END_TEST

START_TEST(a_change_that_the_sweep_overrides_is_an_error)
{
    g_autoptr(GPtrArray) changes =
        make_changes("workload.flows.f.size=1MiB", NULL);
    g_autoptr(TopoDescription) base = load_good(SWEPT, changes);
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autofree char *messages = NULL;

    ck_assert_ptr_null(topo_plan_points(base, errors));
    messages = topo_errors_to_string(errors);
    ck_assert_str_eq(messages, "--set: workload.flows.f.size is set by the "
                               "axis 'size' too; change that instead\n");
}
END_TEST

/* A point that is left out sets nothing. */
START_TEST(a_change_may_be_overridden_in_points_that_are_left_out)
{
    g_autoptr(GPtrArray) changes =
        make_changes("workload.flows.f.buffer=b.ram", NULL);
    g_autoptr(TopoDescription) base = load_good(SWEPT, changes);
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(GPtrArray) points = topo_plan_all_points(base, errors);

    ck_assert(!topo_plan_check_changes(base, points, errors));
    ck_assert_uint_eq(topo_errors_count(errors), 1);
    for (unsigned i = points->len; i-- > 0;) {
        const TopoPoint *point = points->pdata[i];

        if (strcmp(point->variant->name, "local") == 0) {
            g_ptr_array_remove_index(points, i);
        }
    }
    ck_assert(topo_plan_check_changes(base, points, errors));
    ck_assert_uint_eq(topo_errors_count(errors), 1);
}
END_TEST

START_TEST(the_sweep_itself_can_be_changed)
{
    g_autoptr(GPtrArray) changes =
        make_changes("sweep.size.to=4KiB", "sweep.n.values=[2]", NULL);
    g_autoptr(TopoDescription) base = load_good(SWEPT, changes);
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(GPtrArray) points = topo_plan_points(base, errors);

    ck_assert_uint_eq(points->len, 4);
}
END_TEST

START_TEST(too_many_points_are_an_error)
{
    g_autoptr(TopoDescription) base = load_good(
        TWO_HOSTS
        "sweep:\n"
        "  - {name: a, set: workload.seed, from: 1, to: 9999, step: 1}\n"
        "  - {name: b, set: workload.flows.f.copies, from: 1, to: 9999,\n"
        "     step: 1}\n",
        NULL);
    g_autoptr(TopoErrors) errors = topo_errors_new();

    ck_assert_ptr_null(topo_plan_points(base, errors));
    ck_assert_uint_eq(topo_errors_count(errors), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan");
    TCase *tcase = tcase_create("plan");

    tcase_add_test(tcase, points_are_nested_loops);
    tcase_add_test(tcase, nothing_to_sweep_is_one_point);
    tcase_add_test(tcase, steps_add_and_end_at_their_limit);
    tcase_add_test(tcase, a_change_that_the_sweep_overrides_is_an_error);
    tcase_add_test(tcase,
                   a_change_may_be_overridden_in_points_that_are_left_out);
    tcase_add_test(tcase, the_sweep_itself_can_be_changed);
    tcase_add_test(tcase, too_many_points_are_an_error);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
