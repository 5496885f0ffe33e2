/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exp_metric.h"
#include "exp_plan.h"
#include "exp_point.h"
#include "exp_trace.h"
#include "cmd_load.h"
#include "rep_compare.h"
#include "rep_fidelity.h"
#include "rep_measured.h"
#include "rep_plot.h"
#include "rep_waterfall.h"
#include "table_csv.h"
#include "table_file.h"
#include "table_format.h"
#include "table_pivot.h"

/* Most records of a point. */
#define TRACE_MOST 1000000

/* The options of the command line. */
typedef struct Options {
    char *folder;
    int threads;
    char **sets;
    char **limit_texts;
    gboolean is_quiet;
    gboolean no_plot;
    gboolean explain;
    char *point;
    int trace_records;
    GPtrArray *changes;
    GPtrArray *limits;
} Options;

static void options_done(Options *options)
{
    g_free(options->folder);
    g_strfreev(options->sets);
    g_strfreev(options->limit_texts);
    g_free(options->point);
    g_clear_pointer(&options->changes, g_ptr_array_unref);
    g_ptr_array_unref(options->limits);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_done)

static void show_progress(void *data, unsigned done, unsigned count)
{
    fprintf(stderr, "\r%s: %u of %u points", (const char *)data, done, count);
    if (done == count) {
        fputs("\r\033[K", stderr);
    }
    fflush(stderr);
}

static void show_note(void *data, const char *text)
{
    fprintf(stderr, "farside run: %s: %s\n", (const char *)data, text);
}

/* ---- What is shown ---------------------------------------------------- */

static void print_table(const Table *table)
{
    g_autofree char *text = table_format(table);

    fputs(text, stdout);
    putchar('\n');
}

static const TopoColumn *column_at(const TopoDescription *description,
                                   int index)
{
    return description->columns->pdata[index];
}

/* The rows of @table whose @column is @text, without that column's others. */
static Table *table_filter(const Table *table, unsigned column,
                           const char *text)
{
    Table *part = table_new();

    for (unsigned i = 0; i < table_n_columns(table); i++) {
        table_add_column(part, table_column_name(table, i),
                         table_column_type(table, i),
                         table_column_digits(table, i));
    }
    for (unsigned i = 0; i < table_n_rows(table); i++) {
        g_autofree char *cell = table_dup_cell(table, i, column);

        if (strcmp(cell, text) == 0) {
            table_append_row(part, table, i);
        }
    }
    return part;
}

/* One row an x, one column a curve. */
static void print_pivot(const TopoPlot *plot, const Table *table)
{
    unsigned curve = plot->curves;
    g_autoptr(Table) pivot = table_pivot(table, plot->x, &curve, 1, plot->y);

    print_table(pivot);
}

static void print_result(const TopoDescription *description, const Table *table)
{
    const TopoPlot *plot = description->plot;
    g_autoptr(GHashTable) seen =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

    printf("%s\n\n", plot ? plot->title : description->name);
    if (!plot || plot->curves < 0) {
        print_table(table);
        return;
    }
    if (plot->panels < 0) {
        print_pivot(plot, table);
        return;
    }
    for (unsigned i = 0; i < table_n_rows(table); i++) {
        char *panel = table_dup_cell(table, i, plot->panels);

        if (g_hash_table_add(seen, panel)) {
            g_autoptr(Table) part = table_filter(table, plot->panels, panel);

            printf("%s, %s\n", panel, column_at(description, plot->y)->name);
            print_pivot(plot, part);
        }
    }
}

/* How far the model is from what was published or measured, @others, curve by
 * curve. */
static bool print_errors(const TopoDescription *description, const Table *table,
                         const Table *others, const char *name,
                         const char *heading, GError **error)
{
    const TopoPlot *plot = description->plot;
    const char *keys[4] = {NULL};
    unsigned count = 0;
    RepCompareOptions options = {.keys = keys,
                                 .x = column_at(description, plot->x)->name};
    g_autoptr(RepComparison) comparison = NULL;
    g_autoptr(Table) errors = table_new();

    if (plot->panels >= 0) {
        keys[count++] = column_at(description, plot->panels)->name;
    }
    if (plot->curves >= 0) {
        keys[count++] = column_at(description, plot->curves)->name;
    }
    keys[count++] = column_at(description, plot->x)->name;
    comparison = rep_compare(others, table, &options, name, error);
    if (!comparison) {
        return false;
    }
    table_add_column(errors, "curve", TABLE_TEXT, 0);
    table_add_column(errors, "column", TABLE_TEXT, 0);
    table_add_column(errors, "points", TABLE_INTEGER, 0);
    table_add_column(errors, "mean_%", TABLE_DECIMAL, 3);
    table_add_column(errors, "bias_%", TABLE_DECIMAL, 3);
    table_add_column(errors, "largest_%", TABLE_DECIMAL, 3);
    table_add_column(errors, "at", TABLE_TEXT, 0);
    for (unsigned i = 0; i < rep_comparison_n_curves(comparison); i++) {
        const RepCurve *curve = rep_comparison_curve(comparison, i);
        unsigned row;

        if (curve->errors.count == 0) {
            continue;
        }
        row = table_add_row(errors);
        table_set_text(errors, row, 0, curve->name);
        table_set_text(errors, row, 1, curve->column);
        table_set_number(errors, row, 2, curve->errors.count);
        table_set_number(errors, row, 3, curve->errors.mean_mpct);
        table_set_number(errors, row, 4, curve->errors.bias_mpct);
        table_set_number(errors, row, 5, curve->errors.max_mpct);
        table_set_text(errors, row, 6, curve->errors.max_x);
    }
    puts(heading);
    print_table(errors);
    return true;
}

/* The points that were measured, beside the model's and the published ones. */
static bool print_measured(const TopoDescription *description,
                           const Table *table, const Table *published,
                           const Table *measured, GError **error)
{
    static const char *const texts[] = {"curve", "at", "measured", "model"};
    g_autoptr(RepFidelity) fidelity =
        rep_fidelity_new(description, table, published, measured, error);
    g_autoptr(Table) points = table_new();

    if (!fidelity) {
        return false;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(texts); i++) {
        table_add_column(points, texts[i], TABLE_TEXT, 0);
    }
    table_add_column(points, "error_%", TABLE_DECIMAL, 3);
    table_add_column(points, "published", TABLE_TEXT, 0);
    for (unsigned i = 0; i < rep_fidelity_n_points(fidelity); i++) {
        const RepFidelityPoint *point = rep_fidelity_point(fidelity, i);
        unsigned row;

        if (*point->measured == '\0') {
            continue;
        }
        row = table_add_row(points);
        table_set_text(points, row, 0,
                       rep_fidelity_curve(fidelity, point->curve)->name);
        table_set_text(points, row, 1, point->x);
        table_set_text(points, row, 2, point->measured);
        table_set_text(points, row, 3, point->model);
        table_set_number(points, row, 4, point->measured_mpct);
        table_set_text(points, row, 5, point->published);
    }
    puts("Measured");
    print_table(points);
    return print_errors(description, table, measured, "measured",
                        "Against the measured values", error);
}

/* ---- One scenario ----------------------------------------------------- */

static bool draw(const TopoDescription *description, const Table *table,
                 const Table *published, const Table *measured,
                 const char *prefix, GError **error)
{
    const TopoPlot *plot = description->plot;
    const char *curves[2] = {NULL};
    const TopoColumn *x = column_at(description, plot->x);
    RepPlot drawing = {
        .kind =
            exp_column_is_text(description, x) ? REP_PLOT_BARS : REP_PLOT_LINES,
        .title = plot->title,
        .x_column = x->name,
        .y_column = column_at(description, plot->y)->name,
        .x_label = plot->x_label,
        .y_label = plot->y_label,
        .measured = measured,
    };

    if (plot->curves >= 0) {
        curves[0] = column_at(description, plot->curves)->name;
        drawing.curves = curves;
    }
    if (plot->panels >= 0) {
        drawing.panel_column = column_at(description, plot->panels)->name;
    }
    if (plot->x_scale == TOPO_SCALE_LOG10) {
        drawing.x_axis = REP_AXIS_LOG10;
    } else if (plot->x_scale == TOPO_SCALE_LOG2) {
        drawing.x_axis = g_str_has_suffix(x->name, "_bytes") ? REP_AXIS_BYTES
                                                             : REP_AXIS_LOG2;
    } else {
        drawing.x_axis = REP_AXIS_LINEAR;
    }
    return rep_plot_write(&drawing, table, published, prefix, error);
}

/* DIR/NAME.explain.csv, and a drawing of where the time goes. */
static bool write_explained(const Options *options,
                            const TopoDescription *description,
                            const GPtrArray *explained, const char *prefix,
                            GError **error)
{
    g_autoptr(Table) table = exp_explained_table(explained, description);
    g_autofree char *base = g_strconcat(prefix, ".explain", NULL);
    g_autofree char *csv = g_strconcat(base, ".csv", NULL);
    g_autofree char *title =
        g_strdup_printf("%s: where the time goes", description->name);
    g_autoptr(Table) bars = exp_explained_bars(explained);
    g_autofree char *text = NULL;

    if (!options->is_quiet) {
        text = exp_explained_text(explained);
        printf("%s\n", text);
    }
    return table_write(table, csv, error) &&
           (options->no_plot || !bars ||
            rep_waterfall_write(title, bars, exp_explained_segments(), base,
                                error));
}

static bool run_file(const Options *options, const TopoDescription *description,
                     GError **error)
{
    ExpPlanOptions plan = {
        .threads = options->threads,
        .limits = options->limits,
        .progress =
            isatty(STDERR_FILENO) && !options->is_quiet ? show_progress : NULL,
        .note = show_note,
        .data = description->name,
    };
    g_autofree char *prefix =
        g_build_filename(options->folder, description->name, NULL);
    g_autofree char *csv = g_strconcat(prefix, ".csv", NULL);
    g_autoptr(GPtrArray) explained =
        options->explain ? exp_explained_new() : NULL;
    g_autofree char *trace_csv = g_strconcat(prefix, ".trace.csv", NULL);
    g_autoptr(Table) table = NULL, published = NULL, measured = NULL;
    g_autoptr(Table) trace = NULL;
    GError *cause = NULL;
    ExpCost cost;

    /* First of all: who waits for an hour wants no message about a CSV. */
    measured = rep_measured_read(description, &cause);
    if (cause) {
        g_propagate_error(error, cause);
        return false;
    }
    plan.explained = explained;
    plan.point = options->point;
    if (options->trace_records > 0) {
        trace = exp_trace_table_new();
        plan.trace = trace;
        plan.trace_records = options->trace_records;
    }
    table = exp_plan_run(description, &plan, &cost, error);
    if (!table) {
        return false;
    }
    if (description->plot && description->plot->published) {
        published = table_read(description->plot->published, error);
        if (!published) {
            return false;
        }
    }
    if (!table_write(table, csv, error) ||
        (trace && !table_write(trace, trace_csv, error))) {
        return false;
    }
    if (!options->is_quiet) {
        print_result(description, table);
        if (published && !print_errors(description, table, published,
                                       description->plot->published,
                                       "Against the published values", error)) {
            return false;
        }
        if (measured &&
            !print_measured(description, table, published, measured, error)) {
            return false;
        }
    }
    if (description->plot && !options->no_plot &&
        !draw(description, table, published, measured, prefix, error)) {
        return false;
    }
    if (explained &&
        !write_explained(options, description, explained, prefix, error)) {
        return false;
    }
    printf("%s: %u points in %.1f s", csv, cost.points, cost.seconds);
    if (cost.hops > 0) {
        printf(", %.1f million TLP-hops, %.1f million a second",
               cost.hops / 1e6, cost.hops / 1e6 / cost.seconds);
    }
    putchar('\n');
    return true;
}

/* Two scenarios of one name would write the same files. */
static bool check_names(const GPtrArray *descriptions)
{
    for (unsigned i = 0; i < descriptions->len; i++) {
        const TopoDescription *a = descriptions->pdata[i];

        for (unsigned j = 0; j < i; j++) {
            const TopoDescription *b = descriptions->pdata[j];

            if (strcmp(a->name, b->name) == 0) {
                fprintf(stderr,
                        "farside run: %s and %s are both called \"%s\", and "
                        "would write the same files; give one another name\n",
                        b->file, a->file, a->name);
                return false;
            }
        }
    }
    return true;
}

static int run_files(const Options *options, char **files)
{
    g_autoptr(GPtrArray) descriptions =
        g_ptr_array_new_with_free_func((GDestroyNotify)topo_description_free);

    for (unsigned i = 0; files[i]; i++) {
        TopoDescription *description =
            cmd_load("run", files[i], options->changes, CMD_LOAD_WORKLOAD);

        if (!description) {
            return CMD_USAGE;
        }
        g_ptr_array_add(descriptions, description);
    }
    if (!check_names(descriptions)) {
        return CMD_USAGE;
    }
    for (unsigned i = 0; i < descriptions->len; i++) {
        GError *error = NULL;

        if (!run_file(options, descriptions->pdata[i], &error)) {
            bool is_input =
                g_error_matches(error, TABLE_ERROR, TABLE_ERROR_VALUE);

            cmd_complain("run", error);
            return is_input ? CMD_USAGE : CMD_DIFFERENT;
        }
        fflush(stdout);
    }
    return CMD_OK;
}

int cmd_run(int argc, char **argv)
{
    g_auto(Options) options = {
        .threads = 1,
        .limits = g_ptr_array_new_with_free_func(exp_limit_free),
    };
    const GOptionEntry entries[] = {
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options.folder,
         "Write CSV and plots to DIR (default: results)", "DIR"},
        {"jobs", 'j', 0, G_OPTION_ARG_INT, &options.threads,
         "Simulate N points at a time; results do not depend on it", "N"},
        {"set", 's', 0, G_OPTION_ARG_STRING_ARRAY, &options.sets,
         "Change the description before it is checked", "PATH=VALUE"},
        {"limit", 'l', 0, G_OPTION_ARG_STRING_ARRAY, &options.limit_texts,
         "Leave out points of AXIS beyond VALUE", "AXIS=VALUE"},
        {"quiet", 'q', 0, G_OPTION_ARG_NONE, &options.is_quiet,
         "Print one line a scenario", NULL},
        {"no-plot", 0, 0, G_OPTION_ARG_NONE, &options.no_plot, "Draw nothing",
         NULL},
        {"explain", 'e', 0, G_OPTION_ARG_NONE, &options.explain,
         "Say what limits, and where the time goes", NULL},
        {"point", 'p', 0, G_OPTION_ARG_STRING, &options.point,
         "Only points with TEXT in their label, such as \"Loc, transfer=4KiB\"",
         "TEXT"},
        {"trace", 't', 0, G_OPTION_ARG_INT, &options.trace_records,
         "Write the last N TLPs of each point to DIR/NAME.trace.csv", "N"},
        G_OPTION_ENTRY_NULL,
    };
    g_autofree char *metrics = exp_metric_help();
    g_autofree char *details = g_strdup_printf(
        "Simulates every point of each SCENARIO and writes DIR/NAME.csv and,\n"
        "if it has a plot, DIR/NAME.svg and DIR/NAME.png, NAME being the\n"
        "scenario's name. --set and --limit may be given several times, as in\n"
        "  --set hosts.lender.set.read_split=256B --limit transfer=4MiB\n"
        "\n"
        "--explain says of the smallest and the largest point of each curve\n"
        "which element limits it and where the time of an operation goes; all\n"
        "numbers are in DIR/NAME.explain.csv, and DIR/NAME.explain.svg and\n"
        ".png draw the latter. It takes longer, and changes no result.\n"
        "\n"
        "--trace tells when each TLP began to cross which link, how long it\n"
        "was on the wire, when the far end acted on it, and what its header\n"
        "said; also of requests that nothing claimed.\n"
        "\n"
        "What columns of a scenario can be made of (`from:`):\n"
        "variant, axis.NAME\n%s\n"
        "Exit status: 0 all run, 1 a run failed, 2 bad usage or description.",
        metrics);
    g_auto(GStrv) files = NULL;
    int status;

    if (!cmd_parse(argc, argv, entries, "SCENARIO...", details, &files,
                   &status)) {
        return status;
    }
    if (!files[0] || options.threads < 1 || options.threads > 1024 ||
        options.trace_records < 0 || options.trace_records > TRACE_MOST) {
        fputs(!files[0] ? "farside run: a scenario is missing\n"
              : options.trace_records < 0 || options.trace_records > TRACE_MOST
                  ? "farside run: --trace takes a number up to 1000000\n"
                  : "farside run: -j takes a number from 1 to 1024\n",
              stderr);
        fputs("Try: farside run --help\n", stderr);
        return CMD_USAGE;
    }
    if (!options.folder) {
        options.folder = g_strdup("results");
    }
    for (char **text = options.limit_texts; text && *text; text++) {
        GError *error = NULL;
        ExpLimit *limit = exp_limit_parse(*text, &error);

        if (!limit) {
            cmd_complain("run", error);
            return CMD_USAGE;
        }
        g_ptr_array_add(options.limits, limit);
    }
    options.changes = cmd_changes("run", options.sets);
    if (!options.changes) {
        return CMD_USAGE;
    }
    return run_files(&options, files);
}
