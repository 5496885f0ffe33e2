/* SPDX-License-Identifier: MIT */
/*
 * Invariants: the same tables give the same bytes, and every value of the
 * tables is in the picture. gnuplot never runs text from a table as a command.
 * A plot that cannot be drawn is an error and leaves no file. The tests that
 * draw are left out if gnuplot is not installed.
 */
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <glib.h>
#include <glib/gstdio.h>

#include "rep_plot.h"
#include "../suite.h"
#include "table_csv.h"
#include "table_file.h"

static const char *const model_csv = "panel,scenario,transfer_bytes,rate_GBps\n"
                                     "read,near,4096,1.50\n"
                                     "read,near,8192,2.50\n"
                                     "read,far,4096,0.50\n"
                                     "read,far,8192,0.75\n"
                                     "write,near,4096,1.25\n"
                                     "write,near,8192,3.25\n";
static const char *const published_csv =
    "panel,scenario,transfer_bytes,rate_GBps\n"
    "read,near,4096,1.6\n"
    "read,far,8192,0.7\n";
static const char *const curves[] = {"scenario", NULL};

static const RepPlot lines = {
    .kind = REP_PLOT_LINES,
    .title = "Two hosts",
    .x_column = "transfer_bytes",
    .y_column = "rate_GBps",
    .curves = curves,
    .panel_column = "panel",
};

static Table *parse(const char *text)
{
    Table *table = table_parse(text, strlen(text), "t.csv", NULL);

    ck_assert_ptr_nonnull(table);
    return table;
}

static char *script_of(const RepPlot *plot, const char *model,
                       const char *published, GError **error)
{
    g_autoptr(Table) a = parse(model);
    g_autoptr(Table) b = published ? parse(published) : NULL;

    return rep_plot_script(plot, a, b, "svg", error);
}

static const char *const labels[][2] = {
    {"bandwidth_GBps", "bandwidth (GB/s)"},
    {"round_trip_us", "round trip (µs)"},
    {"transfer_bytes", "transfer (B)"},
    {"hops", "hops"},
    {"_us", " us"},
};

START_TEST(labels_show_the_unit)
{
    g_autofree char *label = rep_plot_label(labels[_i][0]);

    ck_assert_str_eq(label, labels[_i][1]);
}
END_TEST

START_TEST(script_has_the_points_by_panel_and_curve)
{
    g_autofree char *script = script_of(&lines, model_csv, published_csv, NULL);

    ck_assert_ptr_nonnull(script);
    ck_assert_ptr_nonnull(
        strstr(script, "$model_0_0 << END\n4096 1.50\n8192 2.50\nEND\n"));
    ck_assert_ptr_nonnull(
        strstr(script, "$model_0_1 << END\n4096 0.50\n8192 0.75\nEND\n"));
    ck_assert_ptr_nonnull(
        strstr(script, "$model_1_0 << END\n4096 1.25\n8192 3.25\nEND\n"));
    ck_assert_ptr_nonnull(
        strstr(script, "$published_0_1 << END\n8192 0.7\nEND\n"));
    ck_assert_ptr_null(strstr(script, "$model_1_1"));
    ck_assert_ptr_nonnull(strstr(script, "'4 KiB' 4096"));
    ck_assert_ptr_nonnull(strstr(script, "set yrange [0:"));
}
END_TEST

/* Measured values get their own data blocks, crosses, an entry in the legend,
 * and among bars a place beside the other two kinds. */
START_TEST(measured_values_are_drawn_too)
{
    g_autoptr(Table) measured =
        parse("panel,scenario,transfer_bytes,rate_GBps\nread,far,4096,0.6\n");
    RepPlot points = lines;
    RepPlot bars = lines;
    g_autofree char *of_lines = NULL;
    g_autofree char *of_bars = NULL;

    points.measured = measured;
    bars.measured = measured;
    bars.kind = REP_PLOT_BARS;
    of_lines = script_of(&points, model_csv, published_csv, NULL);
    of_bars = script_of(&bars, model_csv, NULL, NULL);
    ck_assert_ptr_nonnull(strstr(of_lines, "$measured_0_1 << END\n4096 0.6\n"));
    ck_assert_ptr_nonnull(
        strstr(of_lines, "$measured_0_1 using 1:2 with points pt 2 "));
    ck_assert_ptr_nonnull(strstr(of_lines, "title 'measured'"));
    ck_assert_ptr_nonnull(strstr(of_lines, "title 'published'"));
    /* Two curves of two kinds make four places of 0.2 in a group, and the
     * measured value of the second curve has the last. */
    ck_assert_ptr_nonnull(
        strstr(of_bars, "$measured_0_1 << END\n0.3 0.6 0.184\n"));
    ck_assert_ptr_null(strstr(of_bars, "'published'"));
}
END_TEST

/* A curve or a panel whose value is a number, on or off has the name of its
 * column, too; words speak for themselves. */
START_TEST(numbers_are_named)
{
    static const char *const columns[] = {"queue_depth", "way", NULL};
    const RepPlot plot = {.x_column = "x",
                          .y_column = "y",
                          .panel_column = "window_MiB",
                          .curves = columns};
    g_autofree char *script =
        script_of(&plot,
                  "window_MiB,queue_depth,way,x,y\n0.5,8,near,1,2\n"
                  "0.5,16,2nd,1,2\n0.5,16,off,1,2\n",
                  NULL, NULL);

    ck_assert_ptr_nonnull(strstr(script, "title 'queue depth 8 / near'"));
    ck_assert_ptr_nonnull(strstr(script, "title 'queue depth 16 / 2nd'"));
    ck_assert_ptr_nonnull(strstr(script, "title 'queue depth 16 / way off'"));
    ck_assert_ptr_nonnull(strstr(script, "window MiB 0.5"));
}
END_TEST

START_TEST(points_are_joined_in_the_order_of_x)
{
    RepPlot plot = {.x_column = "x", .y_column = "y"};
    g_autofree char *script =
        script_of(&plot, "x,y\n3,1\n1,2\n2,\n1.5,4\n", NULL, NULL);

    ck_assert_ptr_nonnull(
        strstr(script, "$model_0_0 << END\n1.0 2\n1.5 4\n3.0 1\nEND\n"));
}
END_TEST

/* The second curve is dashed where it lies on the first, and solid where it
 * does not. */
START_TEST(curves_that_lie_on_each_other_are_seen)
{
    const RepPlot plot = {.kind = REP_PLOT_LINES,
                          .x_column = "x",
                          .y_column = "y",
                          .curves = curves};
    g_autofree char *equal = script_of(
        &plot, "scenario,x,y\na,1,5\na,2,9\nb,1,5\nb,2,9\n", NULL, NULL);
    g_autofree char *other = script_of(
        &plot, "scenario,x,y\na,1,5\na,2,9\nb,1,5\nb,2,8\n", NULL, NULL);

    ck_assert_ptr_nonnull(strstr(equal, "lc rgb '#0072B2' dt 1"));
    ck_assert_ptr_nonnull(strstr(equal, "lc rgb '#D55E00' dt 2"));
    ck_assert_ptr_nonnull(strstr(other, "lc rgb '#D55E00' dt 1"));
}
END_TEST

/* Six panels of 430 pixels stand in two rows of three. An axis that need not
 * begin at 0 begins below the least point, unless that is near 0. */
START_TEST(many_panels_wrap_and_axes_fit)
{
    RepPlot plot = {.kind = REP_PLOT_LINES,
                    .x_column = "x",
                    .y_column = "y",
                    .panel_column = "scenario",
                    .fits_y = true};
    g_autofree char *six = script_of(&plot,
                                     "scenario,x,y\na,1,90\nb,1,91\nc,1,92\n"
                                     "d,1,93\ne,1,94\nf,1,100\n",
                                     NULL, NULL);
    g_autofree char *zero =
        script_of(&plot, "scenario,x,y\na,1,40\nb,1,100\n", NULL, NULL);

    /* 78 + 3 * 430 + 2 * 34 + 24 */
    ck_assert_ptr_nonnull(strstr(six, "set terminal svg size 1460,"));
    ck_assert_ptr_nonnull(strstr(six, "set yrange [88:102]"));
    ck_assert_ptr_nonnull(strstr(zero, "set yrange [0:"));
    plot.y_range = (RepRange){20, 60};
    g_free(six);
    six = script_of(&plot, "scenario,x,y\na,1,90\n", NULL, NULL);
    ck_assert_ptr_nonnull(strstr(six, "set yrange [20:60]"));
}
END_TEST

START_TEST(panels_without_a_common_curve_share_the_colours)
{
    static const char *const first_color = "#0072B2";
    static const char *const apart = "panel,scenario,transfer_bytes,rate_GBps\n"
                                     "read,near,4096,1\nwrite,far,4096,2\n";
    static const char *const common =
        "panel,scenario,transfer_bytes,rate_GBps\n"
        "read,near,4096,1\nwrite,far,4096,2\nwrite,near,4096,2\n";
    g_autofree char *a = script_of(&lines, apart, NULL, NULL);
    g_autofree char *b = script_of(&lines, common, NULL, NULL);
    const char *far_a = strstr(a, "plot $model_1_1");
    const char *far_b = strstr(strstr(b, "plot $model_1_0"), "$model_1_1");

    ck_assert_ptr_nonnull(far_a);
    ck_assert_ptr_nonnull(far_b);
    far_a = strstr(far_a, "lc rgb '");
    far_b = strstr(far_b, "lc rgb '");
    ck_assert(g_str_has_prefix(far_a + strlen("lc rgb '"), first_color));
    ck_assert(!g_str_has_prefix(far_b + strlen("lc rgb '"), first_color));
}
END_TEST

static const struct {
    RepPlot plot;
    const char *model;
    const char *published;
    const char *message;
} refused[] = {
    {{.x_column = "x", .y_column = "z"},
     "x,y\n1,2\n",
     NULL,
     "the model's table has no column \"z\""},
    {{.x_column = "x", .y_column = "y"},
     "x,y\n1,2\n",
     "x\n1\n",
     "the published table has no column \"y\""},
    {{.x_column = "x", .y_column = "y"}, "x,y\n1,a\n", NULL, "holds text"},
    {{.x_column = "x", .y_column = "y"}, "x,y\na,1\n", NULL, "holds text"},
    {{.x_column = "x", .y_column = "y", .panel_column = "p"},
     "x,y\n1,1\n",
     NULL,
     "has no column \"p\""},
    {{.x_column = "x", .y_column = "y"}, "x,y\n", NULL, "holds text"},
    {{.x_column = "x", .y_column = "y"},
     "x,y\n1,\n,2\n",
     NULL,
     "no row has both"},
    {{.x_column = "x", .y_column = "y", .x_axis = REP_AXIS_LOG2},
     "x,y\n0,1\n",
     NULL,
     "logarithmic"},
};

START_TEST(data_that_cannot_be_drawn_is_an_error)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *script = script_of(&refused[_i].plot, refused[_i].model,
                                        refused[_i].published, &error);

    ck_assert_ptr_null(script);
    ck_assert(g_error_matches(error, TABLE_ERROR, TABLE_ERROR_VALUE));
    ck_assert_msg(strstr(error->message, refused[_i].message),
                  "\"%s\" lacks \"%s\"", error->message, refused[_i].message);
}
END_TEST

/* A folder for one test, and the files drawn there. */
static char *make_folder(void)
{
    return g_dir_make_tmp("farside-XXXXXX", NULL);
}

static char *take_file(const char *folder, const char *name, gsize *ret_length)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    char *data = NULL;

    ck_assert_msg(g_file_get_contents(path, &data, ret_length, NULL), "%s",
                  path);
    g_unlink(path);
    return data;
}

static void draw_to(const RepPlot *plot, const char *folder, const char *model,
                    const char *published)
{
    g_autofree char *prefix = g_build_filename(folder, "p", NULL);
    g_autoptr(Table) a = parse(model);
    g_autoptr(Table) b = published ? parse(published) : NULL;
    g_autoptr(GError) error = NULL;

    ck_assert_msg(rep_plot_write(plot, a, b, prefix, &error), "%s",
                  error ? error->message : "");
}

START_TEST(same_tables_give_the_same_bytes)
{
    static const char *const names[] = {"p.svg", "p.png"};
    static const char *const magic[] = {"<?xml", "\x89PNG"};
    g_autofree char *folder = make_folder();
    char *data[2][2];
    gsize lengths[2][2];
    g_autofree char *start_up = g_build_filename(folder, ".gnuplot", NULL);
    unsigned round;
    unsigned i;

    ck_assert(g_file_set_contents(
        start_up, "set label 9 'mine' at screen 0.5,0.5\n", -1, NULL));
    for (round = 0; round < 2; round++) {
        /* The user's environment must not change the plot. */
        g_setenv("LANG", round == 0 ? "C" : "de_DE.UTF-8", TRUE);
        g_setenv("GNUTERM", round == 0 ? "dumb" : "svg", TRUE);
        g_setenv("HOME", round == 0 ? "/nonexistent" : folder, TRUE);
        draw_to(&lines, folder, model_csv, published_csv);
        for (i = 0; i < 2; i++) {
            data[round][i] = take_file(folder, names[i], &lengths[round][i]);
        }
    }
    for (i = 0; i < 2; i++) {
        ck_assert(g_str_has_prefix(data[0][i], magic[i]));
        ck_assert_uint_eq(lengths[0][i], lengths[1][i]);
        ck_assert_mem_eq(data[0][i], data[1][i], lengths[0][i]);
        g_free(data[0][i]);
        g_free(data[1][i]);
    }
    g_unlink(start_up);
    ck_assert_int_eq(g_rmdir(folder), 0);
}
END_TEST

static void collect_text(GMarkupParseContext *context, const char *text,
                         gsize length, gpointer data, GError **error)
{
    g_string_append_len(data, text, (gssize)length);
}

/* The text in an SVG file, which must be well-formed. */
static char *svg_text(const char *folder)
{
    const GMarkupParser parser = {.text = collect_text};
    GString *text = g_string_new(NULL);
    gsize length;
    g_autofree char *svg = take_file(folder, "p.svg", &length);
    g_autoptr(GMarkupParseContext) context =
        g_markup_parse_context_new(&parser, 0, text, NULL);

    ck_assert(g_markup_parse_context_parse(context, svg, -1, NULL));
    ck_assert(g_markup_parse_context_end_parse(context, NULL));
    g_free(take_file(folder, "p.png", &length));
    return g_string_free(text, FALSE);
}

START_TEST(picture_names_all_that_is_in_the_tables)
{
    static const char *const words[] = {
        "Two hosts", "read",        "write",        "near",
        "far",       "rate (GB/s)", "4 KiB",        "8 KiB",
        "model",     "published",   "transfer size"};
    g_autofree char *folder = make_folder();
    g_autofree char *text = NULL;
    unsigned i;

    draw_to(&lines, folder, model_csv, published_csv);
    text = svg_text(folder);
    for (i = 0; i < G_N_ELEMENTS(words); i++) {
        ck_assert_msg(strstr(text, words[i]), "\"%s\" is not in %s", words[i],
                      text);
    }
    ck_assert_int_eq(g_rmdir(folder), 0);
}
END_TEST

START_TEST(bars_name_their_groups_and_values)
{
    static const char *const words[] = {"one host", "two hosts", "1.70",
                                        "2.13",     "1.68",      "2.5"};
    RepPlot plot = {.kind = REP_PLOT_BARS, .x_column = "s", .y_column = "t_us"};
    g_autofree char *folder = make_folder();
    g_autofree char *text = NULL;
    unsigned i;

    draw_to(&plot, folder, "s,t_us\none host,1.68\ntwo hosts,2.5\n",
            "s,t_us\none host,1.70\ntwo hosts,2.13\n");
    text = svg_text(folder);
    for (i = 0; i < G_N_ELEMENTS(words); i++) {
        ck_assert_msg(strstr(text, words[i]), "\"%s\" is not in %s", words[i],
                      text);
    }
    ck_assert_int_eq(g_rmdir(folder), 0);
}
END_TEST

/* 50 groups of one bar stand in two rows of 25, each with its own scale. */
START_TEST(many_bars_wrap)
{
    RepPlot plot = {.kind = REP_PLOT_BARS, .x_column = "s", .y_column = "t_us"};
    g_autoptr(GString) csv = g_string_new("s,t_us\n");
    g_autofree char *script = NULL;

    for (unsigned i = 0; i < 50; i++) {
        g_string_append_printf(csv, "row %u,%u\n", i, i < 25 ? 1 : 100);
    }
    script = script_of(&plot, csv->str, NULL, NULL);
    /* 78 + 25 * 34 + 24 */
    ck_assert_ptr_nonnull(strstr(script, "set terminal svg size 952,"));
    ck_assert_ptr_nonnull(strstr(script, "$model_0_0 << END\n0 1 "));
    ck_assert_ptr_nonnull(strstr(script, "$model_1_0 << END\n25 100 "));
    ck_assert_ptr_nonnull(strstr(script, "set xrange [-0.6:24.6]"));
    ck_assert_ptr_nonnull(strstr(script, "set xrange [24.4:49.6]"));
    ck_assert_ptr_nonnull(strstr(script, "set yrange [0:1.2]"));
}
END_TEST

START_TEST(text_is_never_a_command)
{
    g_autofree char *folder = make_folder();
    g_autofree char *evil = g_strdup_printf(
        "x'; system('touch %s/a'); '`touch %s/b`\" \\", folder, folder);
    RepPlot plot = lines;
    g_autofree char *csv =
        g_strdup_printf("panel,scenario,transfer_bytes,rate_GBps\n"
                        "\"p\nsystem('touch %s/c')\n\",\"c'\nEND\n"
                        "system 'touch %s/d'\n@x \",4096,1\n",
                        folder, folder);
    g_autofree char *text = NULL;

    plot.title = evil;
    plot.x_label = evil;
    plot.published_label = evil;
    draw_to(&plot, folder, csv, csv);
    text = svg_text(folder);
    ck_assert_ptr_nonnull(strstr(text, evil));
    /* Fails if the folder is not empty, because then a command ran. */
    ck_assert_int_eq(g_rmdir(folder), 0);
}
END_TEST

START_TEST(missing_gnuplot_is_an_error_that_leaves_no_file)
{
    g_autofree char *folder = make_folder();
    g_autofree char *prefix = g_build_filename(folder, "p", NULL);
    g_autofree char *path = g_strdup(g_getenv("PATH"));
    g_autoptr(Table) model = parse(model_csv);
    g_autoptr(GError) error = NULL;
    bool is_drawn;

    g_setenv("PATH", folder, TRUE);
    is_drawn = rep_plot_write(&lines, model, NULL, prefix, &error);
    g_setenv("PATH", path, TRUE);
    ck_assert(!is_drawn);
    ck_assert(g_error_matches(error, TABLE_ERROR, TABLE_ERROR_PROGRAM));
    ck_assert_ptr_nonnull(strstr(error->message, "gnuplot-nox"));
    ck_assert_int_eq(g_rmdir(folder), 0);
}
END_TEST

int main(void)
{
    g_autofree char *gnuplot = g_find_program_in_path("gnuplot");
    Suite *suite = suite_create("rep_plot");
    TCase *tcase = tcase_create("plot");

    tcase_add_loop_test(tcase, labels_show_the_unit, 0, G_N_ELEMENTS(labels));
    tcase_add_test(tcase, script_has_the_points_by_panel_and_curve);
    tcase_add_test(tcase, measured_values_are_drawn_too);
    tcase_add_test(tcase, numbers_are_named);
    tcase_add_test(tcase, points_are_joined_in_the_order_of_x);
    tcase_add_test(tcase, curves_that_lie_on_each_other_are_seen);
    tcase_add_test(tcase, many_panels_wrap_and_axes_fit);
    tcase_add_test(tcase, many_bars_wrap);
    tcase_add_test(tcase, panels_without_a_common_curve_share_the_colours);
    tcase_add_loop_test(tcase, data_that_cannot_be_drawn_is_an_error, 0,
                        G_N_ELEMENTS(refused));
    tcase_add_test(tcase, missing_gnuplot_is_an_error_that_leaves_no_file);
    if (gnuplot) {
        tcase_add_test(tcase, same_tables_give_the_same_bytes);
        tcase_add_test(tcase, picture_names_all_that_is_in_the_tables);
        tcase_add_test(tcase, bars_name_their_groups_and_values);
        tcase_add_test(tcase, text_is_never_a_command);
    }
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
