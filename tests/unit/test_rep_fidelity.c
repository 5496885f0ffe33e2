/* SPDX-License-Identifier: MIT */
/*
 * Invariants: every value of the model, the publication and the measurements is
 * in exactly one point. Errors, their means and plateaus equal those computed
 * by hand. A published value counts as calibrated if and only if the scenario
 * says so; a value that a part was fitted on must. A bad file of measurements
 * is refused with file and line.
 */
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <glib/gstdio.h>

#include "rep_bounds.h"
#include "rep_fidelity.h"
#include "rep_measured.h"
#include "../suite.h"
#include "table_csv.h"

static const char scenario[] =
    "name: t\n"
    "hosts:\n"
    "  - {name: a, cpu: generic-host}\n"
    "workload:\n"
    "  flows:\n"
    "    - {name: f, kind: path, from: a.cpu, to: a.ram}\n"
    "variants: [{name: one}, {name: two}]\n"
    "sweep:\n"
    "  - {name: s, set: workload.flows.f.size, values: [4B, 8B]}\n"
    "measure:\n"
    "  columns:\n"
    "    - {name: who, from: variant}\n"
    "    - {name: s_bytes, from: axis.s}\n"
    "    - {name: y, from: flow.f.latency, digits: 2}\n"
    "compare: {keys: [who, s_bytes]}\n"
    "plot:\n"
    "  {x: s_bytes, y: y, curves: who, published: p.csv%s}\n";

/* A part that was fitted on the point (one, 8) of p.csv. It stands where the
 * scenario ends, so %s takes both. */
#define FITTED(ROWS)                                                           \
    "}\nparts: {generic-host: {calibrated: [{file: p.csv, rows: " ROWS "}]}"

/* A folder with the files of one test. */
typedef struct Place {
    char *folder;
    TopoDescription *description;
    Table *model, *published;
} Place;

static void put(const Place *place, const char *name, const char *text)
{
    g_autofree char *path = g_build_filename(place->folder, name, NULL);

    ck_assert(g_file_set_contents(path, text, -1, NULL));
}

static Table *parse(const char *text)
{
    Table *table = table_parse(text, strlen(text), "t", NULL);

    ck_assert_ptr_nonnull(table);
    return table;
}

/* @more is added to the plot; @measured (nullable) is the text of m.csv. */
static Place *place_new(const char *more, const char *model,
                        const char *published, const char *measured)
{
    Place *place = g_new0(Place, 1);
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autofree char *text = g_strdup_printf(scenario, more);
    g_autofree char *parts =
        g_build_filename(g_getenv("FARSIDE_SOURCE"), "scenarios/parts", NULL);
    g_autofree char *path = NULL;
    g_autofree char *messages = NULL;

    place->folder = g_dir_make_tmp("farside-XXXXXX", NULL);
    put(place, "p.csv", published);
    put(place, "m.csv", measured ? measured : "");
    put(place, "t.yaml", text);
    path = g_build_filename(place->folder, "t.yaml", NULL);
    place->description = topo_load_with_parts(path, parts, NULL, errors);
    messages = topo_errors_to_string(errors);
    ck_assert_msg(place->description, "%s", messages);
    place->model = parse(model);
    place->published = parse(published);
    return place;
}

static void place_free(Place *place)
{
    static const char *const names[] = {"p.csv", "m.csv", "t.yaml"};
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_build_filename(place->folder, names[i], NULL);

        g_unlink(path);
    }
    g_rmdir(place->folder);
    g_free(place->folder);
    topo_description_free(place->description);
    table_free(place->model);
    table_free(place->published);
    g_free(place);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Place, place_free)

static RepFidelity *join(const Place *place, GError **error)
{
    GError *cause = NULL;
    g_autoptr(Table) measured = rep_measured_read(place->description, &cause);

    if (cause) {
        g_propagate_error(error, cause);
        return NULL;
    }
    return rep_fidelity_new(place->description, place->model, place->published,
                            measured, error);
}

#define MODEL "who,s_bytes,y\none,4,2.00\none,8,3.30\ntwo,4,1.00\ntwo,8,1.00\n"

START_TEST(errors_are_those_of_pencil_and_paper)
{
    g_autoptr(Place) place = place_new(
        ", calibrated: [{who: one, s_bytes: 8B}]", MODEL,
        "who,s_bytes,y\none,4,1.6\none,8,3\ntwo,4,2\ntwo,16,7\n", NULL);
    g_autoptr(RepFidelity) fidelity = join(place, NULL);
    const RepErrors *predicted = rep_fidelity_predicted(fidelity);
    const RepErrors *calibrated = rep_fidelity_calibrated(fidelity);
    const RepFidelityCurve *one, *two;

    ck_assert_ptr_nonnull(fidelity);
    one = rep_fidelity_curve(fidelity, 0);
    two = rep_fidelity_curve(fidelity, 1);
    ck_assert_uint_eq(rep_fidelity_n_curves(fidelity), 2);
    /* Four points of the model, and one that only the publication has. */
    ck_assert_uint_eq(rep_fidelity_n_points(fidelity), 5);
    ck_assert_str_eq(one->name, "one");
    ck_assert_uint_eq(one->calibrated.count, 1);
    ck_assert_int_eq(one->calibrated.mean_mpct, 10000); /* 3.3 for 3 */
    ck_assert_str_eq(one->calibrated.max_x, "8");
    ck_assert_int_eq(one->predicted.mean_mpct, 25000); /* 2 for 1.6 */
    ck_assert_uint_eq(two->predicted.count, 1);
    ck_assert_int_eq(two->predicted.max_mpct, -50000); /* 1 for 2 */
    ck_assert_uint_eq(calibrated->count, 1);
    ck_assert_uint_eq(predicted->count, 2);
    ck_assert_int_eq(predicted->mean_mpct, 37500);
    ck_assert_int_eq(predicted->bias_mpct, -12500);
    ck_assert_str_eq(predicted->max_x, "4");
}
END_TEST

/* x is a size; only 16 MiB or more counts: (3 + 5) instead of (2 + 2). */
START_TEST(plateaus_are_means)
{
    g_autoptr(Place) place = place_new(
        "",
        "who,s_bytes,y\none,8388608,9\none,16777216,3.00\none,33554432,5.00\n",
        "who,s_bytes,y\none,8388608,1\none,16777216,2\none,33554432,2\n", NULL);
    g_autoptr(RepFidelity) fidelity = join(place, NULL);
    const RepFidelityCurve *one = rep_fidelity_curve(fidelity, 0);

    ck_assert(one->has_plateau);
    ck_assert_str_eq(one->plateau_model, "4.000");
    ck_assert_str_eq(one->plateau_published, "2.000");
    ck_assert_int_eq(one->plateau_mpct, 100000);
}
END_TEST

START_TEST(measured_values_join)
{
    g_autoptr(Place) place = place_new(
        ", measured: m.csv", MODEL, "who,s_bytes,y\none,4,1\n",
        "# mine\ny,note,s_bytes,who\n4.000,x,4,one\n,later,8,one\n2,z,12,two\n");
    g_autoptr(RepFidelity) fidelity = join(place, NULL);
    const RepFidelityPoint *first;

    ck_assert_ptr_nonnull(fidelity);
    first = rep_fidelity_point(fidelity, 0);
    ck_assert_str_eq(first->measured, "4.000");
    ck_assert_int_eq(first->measured_mpct, -50000); /* 2 for 4 */
    ck_assert_int_eq(first->published_mpct, 100000);
    /* 12 is no point of the model: it is shown, and has no error. */
    ck_assert_uint_eq(rep_fidelity_measured(fidelity)->count, 1);
    ck_assert_uint_eq(rep_fidelity_n_points(fidelity), 5);
}
END_TEST

static const struct {
    const char *measured;
    const char *expected;
} bad[] = {
    {"# mine\n\nwho,y\none,1\n",
     "m.csv:3: there is no column \"s_bytes\"; the columns must be those of "
     "the scenario's results"},
    {"who,s_bytes,y\none,4,1\nthree,4,1\n",
     "m.csv:3: who: the scenario has no \"three\"; there are one, two"},
    {"who,s_bytes,y\none,4,1\none,8,fast\n",
     "m.csv:3: y: \"fast\" is no number"},
    {"who,s_bytes,y\none,4KiB,1\n", "m.csv:2: s_bytes: \"4KiB\" is no number"},
    {"who,s_bytes,y\none,,1\n", "m.csv:2: s_bytes: there is no number"},
    {"who,s_bytes,y\none,4,1\ntwo,4,1\none,4,2\n",
     "m.csv:4: the point \"one / 4\" was given at m.csv:2 already"},
    {"who,s_bytes,y\none,4\n",
     "m.csv:2: this line is no row of the table: 2 cells, but the header has 3"},
};

START_TEST(bad_measurements_are_refused_by_line)
{
    g_autoptr(Place) place =
        place_new(", measured: [m.csv]", MODEL, "who,s_bytes,y\none,4,1\n",
                  bad[_i].measured);
    GError *error = NULL;
    g_auto(GStrv) pieces = NULL;
    g_autofree char *folder = g_strconcat(place->folder, "/", NULL);
    g_autofree char *message = NULL;

    ck_assert_ptr_null(join(place, &error));
    ck_assert_ptr_nonnull(error);
    pieces = g_strsplit(error->message, folder, -1);
    message = g_strjoinv("", pieces);
    ck_assert_str_eq(message, bad[_i].expected);
    g_error_free(error);
}
END_TEST

/* The scenario has the point, but it was never published. */
START_TEST(unpublished_points_are_not_calibrated_on)
{
    g_autoptr(Place) place = place_new(", calibrated: [{who: two}]", MODEL,
                                       "who,s_bytes,y\none,4,1\n", NULL);
    GError *error = NULL;

    ck_assert_ptr_null(join(place, &error));
    ck_assert_ptr_nonnull(error);
    ck_assert_msg(g_str_has_suffix(error->message,
                                   "t.yaml:17:66: calibrated: no published "
                                   "value matches; name points that were "
                                   "published"),
                  "%s", error->message);
    g_error_free(error);
}
END_TEST

/* A part was fitted on a value that the scenario calls predicted. */
START_TEST(fitted_values_are_not_predicted)
{
    g_autoptr(Place) place =
        place_new(FITTED("[{who: one, s_bytes: 8}]"), MODEL,
                  "who,s_bytes,y\none,4,1\none,8,3\n", NULL);
    GError *error = NULL;

    ck_assert_ptr_null(join(place, &error));
    ck_assert_ptr_nonnull(error);
    ck_assert_msg(strstr(error->message,
                         "the published value \"one, 8\" counts as predicted, "
                         "but part generic-host was fitted on it"),
                  "%s", error->message);
    g_error_free(error);
}
END_TEST

/* The scenario says so itself. */
START_TEST(fitted_values_may_be_calibrated)
{
    g_autoptr(Place) place = place_new(
        ", calibrated: [{s_bytes: 8B}]" FITTED("[{who: one, s_bytes: 8}]"),
        MODEL, "who,s_bytes,y\none,4,1\none,8,3\n", NULL);
    g_autoptr(RepFidelity) fidelity = join(place, NULL);

    ck_assert_ptr_nonnull(fidelity);
    ck_assert_uint_eq(rep_fidelity_calibrated(fidelity)->count, 1);
    ck_assert_uint_eq(rep_fidelity_predicted(fidelity)->count, 1);
}
END_TEST

START_TEST(fitted_rows_exist)
{
    g_autoptr(Place) place =
        place_new(FITTED("[{whom: one}]"), MODEL,
                  "who,s_bytes,y\none,4,1\none,8,3\n", NULL);
    GError *error = NULL;

    ck_assert_ptr_null(join(place, &error));
    ck_assert_ptr_nonnull(error);
    ck_assert_msg(strstr(error->message,
                         "p.csv matches, because it has no column \"whom\"; "
                         "name rows that it has"),
                  "%s", error->message);
    g_error_free(error);
}
END_TEST

/* 2.00 against 1.9 is 5.26 % too much, 3.30 against 3 is 10 %, 1.00 against 1.2
 * has no bound, and a value that the model lacks is outside. */
START_TEST(bounds_judge)
{
    g_autoptr(Place) place =
        place_new("", MODEL,
                  "who,s_bytes,y,bound_percent\none,4,1.9,6\none,8,3,9.5\n"
                  "two,4,1.2,\ntwo,16,1.0,5\ntwo,32,1.0,\n",
                  NULL);
    const RepResult result = {place->description, place->model,
                              place->published, NULL};
    g_autoptr(RepBounds) bounds = rep_bounds_new(&result, NULL);

    ck_assert_ptr_nonnull(bounds);
    ck_assert_uint_eq(bounds->n_judged, 3);
    ck_assert_uint_eq(bounds->n_outside, 2);
    ck_assert_uint_eq(bounds->n_open, 1);
    ck_assert_str_eq(table_text(bounds->points, 0, 7), "within");
    ck_assert_str_eq(table_text(bounds->points, 1, 7), "OUTSIDE");
    ck_assert_int_eq(table_number(bounds->points, 1, 4), 10000);
    ck_assert_str_eq(table_text(bounds->points, 2, 7), "not judged");
    ck_assert_str_eq(table_text(bounds->points, 3, 7), "NO VALUE");
}
END_TEST

/* Errors of several scenarios: 1 of 10 % and 3 of 2 %. */
START_TEST(errors_add_up)
{
    RepErrors total = {1, 10000, -10000, -10000, "a"};
    const RepErrors more = {3, 2000, 2000, 2000, "b"};
    const RepErrors none = {0};

    rep_errors_add(&total, &more);
    rep_errors_add(&total, &none);
    ck_assert_uint_eq(total.count, 4);
    ck_assert_int_eq(total.mean_mpct, 4000);
    ck_assert_int_eq(total.bias_mpct, -1000);
    ck_assert_int_eq(total.max_mpct, -10000);
    ck_assert_str_eq(total.max_x, "a");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fidelity");
    TCase *tcase = tcase_create("fidelity");

    tcase_add_test(tcase, errors_are_those_of_pencil_and_paper);
    tcase_add_test(tcase, plateaus_are_means);
    tcase_add_test(tcase, measured_values_join);
    tcase_add_loop_test(tcase, bad_measurements_are_refused_by_line, 0,
                        G_N_ELEMENTS(bad));
    tcase_add_test(tcase, unpublished_points_are_not_calibrated_on);
    tcase_add_test(tcase, fitted_values_are_not_predicted);
    tcase_add_test(tcase, fitted_values_may_be_calibrated);
    tcase_add_test(tcase, fitted_rows_exist);
    tcase_add_test(tcase, bounds_judge);
    tcase_add_test(tcase, errors_add_up);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
