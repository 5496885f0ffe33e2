/* SPDX-License-Identifier: MIT */
/*
 * The published values of these fits come from the model itself, run with
 * numbers that the test knows. Invariants: a fit finds them from bounds that
 * are not centred on them, whatever the number of threads; values left out are
 * met; and it warns of what the chosen values cannot tell.
 */
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <glib/gstdio.h>

#include "exp_fit.h"
#include "exp_plan.h"
#include "../suite.h"
#include "table_csv.h"

/* A device reads memory and another device, one read at a time. */
static const char scenario[] =
    "name: t\n"
    "hosts:\n"
    "  - name: h\n"
    "    cpu: generic-host\n"
    "    devices:\n"
    "      - {name: a, part: generic-device, at: rp0}\n"
    "      - {name: b, part: generic-device, at: rp1}\n"
    "workload:\n"
    "  flows:\n"
    "    - {name: f, kind: dma, device: h.a, direction: read, target: h.ram,\n"
    "       size: 64B, count: 10, outstanding: 1, working_set: 64KiB}\n"
    "sweep:\n"
    "  - name: target\n"
    "    values:\n"
    "      - {label: ram, set: {workload.flows.f.target: h.ram}}\n"
    "      - {label: peer, set: {workload.flows.f.target: h.b}}\n"
    "  - {name: size, set: workload.flows.f.size, values: [64B, 512B, 4KiB]}\n"
    "measure:\n"
    "  columns:\n"
    "    - {name: target, from: axis.target}\n"
    "    - {name: size_bytes, from: axis.size}\n"
    "    - {name: ns, from: flow.f.latency.mean, scale: 1e3, digits: 3}\n"
    "compare: {keys: [target, size_bytes]}\n"
    "plot: {x: size_bytes, y: ns, curves: target, published: p.csv}\n";

static const char *const truth[] = {
    "parts.generic-host.memory.latency=137ns",
    "parts.generic-host.transit=61ns",
};

static char *folder, *file, *published;

static void write_text(const char *path, const char *text)
{
    ck_assert(g_file_set_contents(path, text, -1, NULL));
}

static void setup(void)
{
    const ExpPlanOptions plan = {.threads = 1};
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(GPtrArray) changes = topo_changes_new();
    g_autoptr(TopoDescription) description = NULL;
    g_autoptr(Table) table = NULL;

    folder = g_dir_make_tmp("farside-XXXXXX", NULL);
    file = g_build_filename(folder, "t.yaml", NULL);
    published = g_build_filename(folder, "p.csv", NULL);
    write_text(file, scenario);
    write_text(published, "target,size_bytes,ns\n");
    for (unsigned i = 0; i < G_N_ELEMENTS(truth); i++) {
        g_ptr_array_add(changes,
                        topo_change_parse(truth[i], topo_place_set(), errors));
    }
    description = topo_load(file, changes, errors);
    ck_assert_ptr_nonnull(description);
    table = exp_plan_run(description, &plan, NULL, NULL);
    ck_assert_ptr_nonnull(table);
    ck_assert(table_write(table, published, NULL));
}

static void teardown(void)
{
    g_unlink(file);
    g_unlink(published);
    g_rmdir(folder);
    g_free(file);
    g_free(published);
    g_free(folder);
}

/* Fits @params to @rows, both NULL-terminated. */
static ExpFit *fit(const char *const *params, const char *const *rows,
                   unsigned threads, GError **error)
{
    g_autoptr(GPtrArray) parsed =
        g_ptr_array_new_with_free_func(exp_fit_param_free);
    char *files[] = {file, NULL};
    ExpFitOptions options = {
        .params = parsed, .rows = rows, .starts = 2, .threads = threads};

    for (; *params; params++) {
        ExpFitParam *param = exp_fit_param_parse(*params, NULL);

        ck_assert_ptr_nonnull(param);
        g_ptr_array_add(parsed, param);
    }
    return exp_fit_run(files, &options, error);
}

/* Returns the value that @fit found, in ps. */
static int64_t found(const ExpFit *fit, unsigned index)
{
    const char *text = table_text(fit->params, index, 1);
    TopoUnit unit;
    int64_t value;

    ck_assert(topo_units_parse_any(text, &unit, &value));
    return value;
}

static bool warns(const ExpFit *fit, const char *text)
{
    for (unsigned i = 0; i < fit->warnings->len; i++) {
        if (strstr(fit->warnings->pdata[i], text)) {
            return true;
        }
    }
    return false;
}

static const char *const both[] = {
    "parts.generic-host.memory.latency=10ns..900ns",
    "parts.generic-host.transit=10ns..900ns", NULL};

/* Four of six values are fitted. The published ones have 3 decimals of a ns. */
START_TEST(known_numbers_are_found)
{
    static const char *const rows[] = {"size_bytes=64", "size_bytes=4096",
                                       NULL};
    g_autoptr(ExpFit) one = fit(both, rows, 1 + (unsigned)_i, NULL);

    ck_assert_ptr_nonnull(one);
    ck_assert_int_le(ABS(found(one, 0) - 137000), 20);
    ck_assert_int_le(ABS(found(one, 1) - 61000), 20);
    ck_assert_str_eq(table_text(one->sums, 0, 0), "fitted");
    ck_assert_int_eq(table_number(one->sums, 0, 1), 4);
    ck_assert_str_eq(table_text(one->sums, 1, 0), "left out");
    ck_assert_int_eq(table_number(one->sums, 1, 1), 2);
    ck_assert_int_le(ABS(table_number(one->sums, 1, 3)), 10); /* 0.01 % */
    ck_assert_uint_eq(one->warnings->len, 0);
    ck_assert_str_ne(table_text(one->params, 0, 2), "");
}
END_TEST

/* Reads of memory do not pass the way between root ports: transit has no
 * effect. */
START_TEST(parameter_without_effect)
{
    static const char *const rows[] = {"target=ram", NULL};
    g_autoptr(ExpFit) one = fit(both, rows, 1, NULL);

    ck_assert_ptr_nonnull(one);
    ck_assert(warns(one, "parts.generic-host.transit: no chosen value depends "
                         "on it"));
}
END_TEST

/* Only one chosen value passes the way between root ports. */
START_TEST(one_value_alone)
{
    static const char *const rows[] = {"target=ram",
                                       "target=peer;size_bytes=512", NULL};
    g_autoptr(ExpFit) one = fit(both, rows, 1, NULL);

    ck_assert_ptr_nonnull(one);
    ck_assert(warns(one, "parts.generic-host.transit: one value alone "
                         "determines it: peer, 512"));
    ck_assert_int_le(ABS(found(one, 1) - 61000), 20);
}
END_TEST

/* A read takes the sum of both times. */
START_TEST(parameters_that_add_up)
{
    static const char *const params[] = {
        "parts.generic-host.memory.latency=10ns..900ns",
        "parts.generic-device.dma.read_latency=0ns..900ns", NULL};
    static const char *const rows[] = {"target=ram", NULL};
    g_autoptr(ExpFit) one = fit(params, rows, 1, NULL);

    ck_assert_ptr_nonnull(one);
    ck_assert(warns(one, "cannot tell these apart, only a mix of them is "
                         "known: parts.generic-host.memory.latency, "
                         "parts.generic-device.dma.read_latency"));
}
END_TEST

START_TEST(bound_is_reached)
{
    static const char *const params[] = {
        "parts.generic-host.memory.latency=200ns..900ns", NULL};
    static const char *const rows[] = {"target=ram", NULL};
    g_autoptr(ExpFit) one = fit(params, rows, 1, NULL);

    ck_assert_ptr_nonnull(one);
    ck_assert(warns(one, "parts.generic-host.memory.latency: it ends at its "
                         "bound, 200ns"));
}
END_TEST

START_TEST(too_few_values)
{
    static const char *const rows[] = {"target=ram;size_bytes=64", NULL};
    GError *error = NULL;

    ck_assert_ptr_null(fit(both, rows, 1, &error));
    ck_assert_ptr_nonnull(error);
    ck_assert_str_eq(error->message,
                     "1 published values are chosen for 2 parameters; choose "
                     "at least as many values by --rows or plot.calibrated");
    g_error_free(error);
}
END_TEST

START_TEST(bad_parameters_are_refused)
{
    static const char *const bad[] = {
        "a", "=1ns..2ns", "a=1ns", "a=2ns..1ns", "a=1ns..2B", "a=x1..x16",
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        GError *error = NULL;

        ck_assert_ptr_null(exp_fit_param_parse(bad[i], &error));
        ck_assert_msg(g_str_has_prefix(error->message, "\"") &&
                          strstr(error->message, "is not PATH=LOW..HIGH"),
                      "%s", error->message);
        g_error_free(error);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fit");
    TCase *tcase = tcase_create("fit");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, known_numbers_are_found, 0, 2);
    tcase_add_test(tcase, parameter_without_effect);
    tcase_add_test(tcase, one_value_alone);
    tcase_add_test(tcase, parameters_that_add_up);
    tcase_add_test(tcase, bound_is_reached);
    tcase_add_test(tcase, too_few_values);
    tcase_add_test(tcase, bad_parameters_are_refused);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
