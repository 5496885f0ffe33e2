/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd_guard.h"
#include "cmd_load.h"
#include "cmd_workload.h"
#include "exp_latency.h"
#include "exp_metric.h"
#include "exp_plan.h"
#include "exp_trace.h"
#include "rep_bounds.h"
#include "rep_fidelity.h"
#include "rep_latency.h"
#include "rep_measured.h"
#include "rep_plot.h"
#include "rep_result.h"
#include "rep_waterfall.h"
#include "table_csv.h"
#include "table_file.h"
#include "topo_suggest.h"

#define THREADS_MOST 1024
#define TRACE_MOST   1000000 /* most records of one point */

/* The options of the command line. */
typedef struct Options {
    char *folder;
    int threads;
    char **sets;
    char *workload; /* path of a trace; NULL: the scenario's own workload */
    char **limit_texts;
    gboolean is_quiet;
    gboolean no_plot;
    gboolean explain;
    gboolean latencies;
    gboolean bounds;
    char *point;
    char *shard_text;
    unsigned shard, n_shards; /* n_shards 0: the whole plan */
    gboolean resume;
    gboolean keep_going;
    int trace_records;
    GPtrArray *changes;
    GPtrArray *limits;
} Options;

static void options_done(Options *options)
{
    g_free(options->folder);
    g_strfreev(options->sets);
    g_free(options->workload);
    g_strfreev(options->limit_texts);
    g_free(options->point);
    g_free(options->shard_text);
    g_clear_pointer(&options->changes, g_ptr_array_unref);
    g_ptr_array_unref(options->limits);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_done)

/* For the functions that a plan calls. */
typedef struct Progress {
    const char *name;
    const char *unit; /* what is counted */
    gint64 begin;     /* time of the first call */
    unsigned first;   /* points that were done then */
} Progress;

/* Prints the points that are done, and the time that the others will take if
 * they are like them. */
static void show_progress(void *data, unsigned done, unsigned count)
{
    Progress *progress = data;
    gint64 now = g_get_monotonic_time();

    fprintf(stderr, "\r%s: %u of %u %s", progress->name, done, count,
            progress->unit);
    if (progress->begin == 0) {
        progress->begin = now;
        progress->first = done;
    } else if (done > progress->first) {
        gint64 left = (now - progress->begin) / (done - progress->first) *
                      (count - done) / G_USEC_PER_SEC;

        fprintf(stderr, ", %" G_GINT64_FORMAT ":%02d:%02d left ", left / 3600,
                (int)(left / 60 % 60), (int)(left % 60));
    }
    if (done == count) {
        fputs("\r\033[K", stderr);
    }
    fflush(stderr);
}

static void show_note(void *data, const char *text)
{
    const Progress *progress = data;

    fprintf(stderr, "farside run: %s: %s\n", progress->name, text);
}

/* The state while one scenario is run. */
typedef struct Run {
    const Options *options;
    const TopoDescription *description;
    char *prefix; /* DIR/NAME, the beginning of the paths that are written */
    Table *table;
    Table *published;     /* nullable */
    Table *measured;      /* nullable */
    Table *trace;         /* nullable */
    Table *latencies;     /* nullable */
    GPtrArray *explained; /* nullable: of ExpExplained */
    char *journal_path;
    ExpJournal *journal; /* nullable */
    GPtrArray *failed;   /* nullable: of char *, messages of points */
    ExpCost cost;
} Run;

static void run_done(Run *run)
{
    g_free(run->prefix);
    table_free(run->table);
    table_free(run->published);
    table_free(run->measured);
    table_free(run->trace);
    table_free(run->latencies);
    g_clear_pointer(&run->explained, g_ptr_array_unref);
    g_clear_pointer(&run->failed, g_ptr_array_unref);
    exp_journal_free(run->journal);
    g_free(run->journal_path);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Run, run_done)

/* Reads published and measured values before the simulation begins. It may take
 * an hour, and a mistake in a CSV file should be reported at once. */
static bool read_others(Run *run, GError **error)
{
    const TopoPlot *plot = run->description->plot;
    GError *cause = NULL;

    run->measured = rep_measured_read(run->description, &cause);
    if (cause) {
        g_propagate_error(error, cause);
        return false;
    }
    if (plot && plot->published) {
        g_autoptr(RepFidelity) fidelity = NULL;

        run->published = table_read(plot->published, error);
        if (!run->published) {
            return false;
        }
        fidelity = rep_fidelity_new(run->description, NULL, run->published,
                                    NULL, error);
        return fidelity;
    }
    if (run->options->bounds) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "%s: --bounds needs plot.published, a CSV with the column "
                    "bound_percent",
                    run->description->file);
        return false;
    }
    return true;
}

/* Tells how many points are safe, and how to go on. */
static void tell_kept(Run *run)
{
    unsigned count = run->journal ? exp_journal_count(run->journal) : 0;

    if (count > 0) {
        fprintf(stderr,
                "farside run: %s: %u finished point%s kept in %s; go on with "
                "--resume\n",
                run->description->name, count, count == 1 ? " is" : "s are",
                run->journal_path);
    }
}

/* For the guard: the program ends. */
static void on_end(void *data)
{
    Run *run = data;

    fputs("\nfarside run: interrupted\n", stderr);
    tell_kept(run);
    if (run->journal) {
        exp_journal_halt(run->journal);
    }
}

/* Returns true if the run is asked for more than its results. */
static bool wants_more(const Options *options)
{
    return options->explain || options->latencies || options->trace_records > 0;
}

/* Opens the journal. Only results are in it, so a run that is asked for more
 * keeps no journal. */
static bool open_journal(Run *run, GError **error)
{
    const Options *options = run->options;

    if (wants_more(options)) {
        return true;
    }
    run->journal_path = g_strconcat(run->prefix, ".journal", NULL);
    if (!options->resume &&
        g_file_test(run->journal_path, G_FILE_TEST_EXISTS)) {
        fprintf(stderr,
                "farside run: %s: the points of an interrupted run, which "
                "--resume would use, are kept in %s~\n",
                run->description->name, run->journal_path);
    }
    run->journal = exp_journal_open(run->journal_path, run->description,
                                    options->resume, error);
    return run->journal;
}

static bool simulate(Run *run, GError **error)
{
    const Options *options = run->options;
    bool shows_progress = isatty(STDERR_FILENO) && !options->is_quiet;
    const TopoWorkload *workload = run->description->workload;
    Progress progress = {.name = run->description->name,
                         .unit = workload && workload->seeds > 1 ? "runs"
                                                                 : "points"};
    ExpPlanOptions plan = {
        .threads = options->threads,
        .limits = options->limits,
        .progress = shows_progress ? show_progress : NULL,
        .note = show_note,
        .data = &progress,
        .point = options->point,
        .shard = options->shard,
        .n_shards = options->n_shards,
    };
    CmdGuard *guard;

    if (options->explain) {
        run->explained = exp_explained_new();
        plan.explained = run->explained;
    }
    if (options->latencies && run->description->workload) {
        run->latencies = exp_latency_table_new(run->description);
        plan.latencies = run->latencies;
    }
    if (options->trace_records > 0) {
        run->trace = exp_trace_table_new();
        plan.trace = run->trace;
        plan.trace_records = options->trace_records;
    }
    if (options->keep_going) {
        run->failed = g_ptr_array_new_with_free_func(g_free);
        plan.failed = run->failed;
    }
    if (!open_journal(run, error)) {
        return false;
    }
    plan.journal = run->journal;
    guard = cmd_guard_new(on_end, run);
    run->table = exp_plan_run(run->description, &plan, &run->cost, error);
    cmd_guard_free(guard);
    return run->table;
}

static bool write_table(const Run *run, const Table *table, const char *ending,
                        GError **error)
{
    g_autofree char *path = g_strconcat(run->prefix, ending, NULL);

    return table_write(table, path, error);
}

static bool print_errors(const RepResult *result, const Table *others,
                         const char *name, const char *heading, GError **error)
{
    g_autoptr(Table) errors = rep_result_errors(result, others, name, error);

    if (!errors) {
        return false;
    }
    puts(heading);
    cmd_print_table(errors);
    putchar('\n');
    return true;
}

static bool print_result(const RepResult *result, GError **error)
{
    const TopoPlot *plot = result->description->plot;
    g_autofree char *text = rep_result_text(result);

    fputs(text, stdout);
    if (result->published &&
        !print_errors(result, result->published, plot->published,
                      "Against the published values", error)) {
        return false;
    }
    if (result->measured) {
        g_autoptr(Table) points = rep_result_measured(result, error);

        if (!points) {
            return false;
        }
        puts("Measured");
        cmd_print_table(points);
        putchar('\n');
        return print_errors(result, result->measured, "measured",
                            "Against the measured values", error);
    }
    return true;
}

/* Writes DIR/NAME.explain.csv, and a drawing of where the time goes. */
static bool write_explained(const Run *run, GError **error)
{
    const Options *options = run->options;
    g_autoptr(Table) table =
        exp_explained_table(run->explained, run->description);
    g_autofree char *base = g_strconcat(run->prefix, ".explain", NULL);
    g_autofree char *title =
        g_strdup_printf("%s: where the time goes", run->description->name);
    g_autoptr(Table) bars = exp_explained_bars(run->explained);

    if (!options->is_quiet) {
        g_autofree char *text = exp_explained_text(run->explained);

        printf("%s\n", text);
    }
    return write_table(run, table, ".explain.csv", error) &&
           (options->no_plot || !bars ||
            rep_waterfall_write(title, bars, exp_explained_segments(), base,
                                error));
}

/* Writes DIR/NAME.latencies.csv, and draws it if there is room. */
static bool write_latencies(const Run *run, GError **error)
{
    const char *name = run->description->name;
    g_autofree char *base = g_strconcat(run->prefix, ".latencies", NULL);

    if (!write_table(run, run->latencies, ".latencies.csv", error)) {
        return false;
    }
    if (run->options->no_plot || table_n_rows(run->latencies) == 0) {
        return true;
    }
    if (!rep_latency_fits(run->latencies)) {
        fprintf(stderr,
                "farside run: %s: the latencies are not drawn: a drawing has "
                "room for %d points and %d flows; select points with --point\n",
                name, REP_PLOT_CURVES_MAX, REP_PLOT_PANELS_MAX);
        return true;
    }
    return rep_latency_write(
        run->description->plot ? run->description->plot->title : name,
        run->latencies, base, error);
}

static RepResult result_of(const Run *run)
{
    return (RepResult){run->description, run->table, run->published,
                       run->measured};
}

/* Prints the errors of published values with their bounds. Fails if one is
 * outside. */
static bool judge(const Run *run, GError **error)
{
    const RepResult result = result_of(run);
    g_autoptr(RepBounds) bounds = rep_bounds_new(&result, error);

    if (!bounds) {
        return false;
    }
    puts("By the bounds of the published values");
    cmd_print_table(bounds->points);
    putchar('\n');
    cmd_print_table(bounds->sums);
    printf("\n%s: %u of %u judged values within their bounds, %u values not "
           "modelled\n",
           result.description->name, bounds->n_judged - bounds->n_outside,
           bounds->n_judged, bounds->n_open);
    if (bounds->n_judged == 0) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "%s: no published value has a bound; give the table a "
                    "column bound_percent",
                    result.description->plot->published);
        return false;
    }
    if (bounds->n_outside > 0) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_PROGRAM,
                    "%s: %u published values are missed by more than their "
                    "bounds",
                    result.description->file, bounds->n_outside);
        return false;
    }
    return true;
}

static void print_cost(const Run *run)
{
    const ExpCost *cost = &run->cost;

    printf("%s.csv: %u points in %.1f s", run->prefix, cost->points,
           cost->seconds);
    if (cost->resumed > 0) {
        printf(", %u of them from the journal", cost->resumed);
    }
    if (cost->hops > 0 && cost->resumed == 0) {
        printf(", %.1f million TLP-hops, %.1f million a second",
               cost->hops / 1e6, cost->hops / 1e6 / cost->seconds);
    }
    putchar('\n');
}

/* Fails if the plot of the results could not be drawn. It runs before the
 * simulation, which may take an hour. */
static bool check_plot(const Options *options,
                       const TopoDescription *description, GError **error)
{
    const ExpPlanOptions plan = {.limits = options->limits,
                                 .point = options->point};
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(Table) outline = NULL;

    if (options->no_plot || !description->plot) {
        return true;
    }
    outline = exp_plan_outline(description, &plan, error);
    if (!outline) {
        return false;
    }
    rep_result_check_plot(description, outline, errors);
    if (topo_errors_count(errors) > 0) {
        g_autofree char *text = topo_errors_to_string(errors);

        g_set_error_literal(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                            g_strchomp(text));
        return false;
    }
    return true;
}

/* Returns DIR/NAME, with a suffix if the results are only a part. */
static char *make_prefix(const Options *options,
                         const TopoDescription *description)
{
    g_autofree char *name =
        g_strconcat(description->name, options->point ? ".point" : "", NULL);
    g_autofree char *prefix = g_build_filename(options->folder, name, NULL);

    return options->n_shards > 0
               ? g_strdup_printf("%s.%u-of-%u", prefix, options->shard + 1,
                                 options->n_shards)
               : g_steal_pointer(&prefix);
}

/* Prints and draws the results. */
static bool show(const Run *run, GError **error)
{
    const Options *options = run->options;
    const RepResult result = result_of(run);

    return (options->is_quiet || print_result(&result, error)) &&
           (!run->description->plot || options->no_plot ||
            rep_result_draw(&result, run->prefix, NULL, error)) &&
           (!run->explained || write_explained(run, error)) &&
           (!run->latencies || write_latencies(run, error));
}

/* Lists the points that failed. */
static void print_failed(const Run *run)
{
    for (unsigned i = 0; run->failed && i < run->failed->len; i++) {
        fprintf(stderr, "farside run: %s: %s\n", run->description->name,
                (const char *)run->failed->pdata[i]);
    }
    if (run->failed && run->failed->len > 0) {
        fprintf(stderr,
                "farside run: %s: %u of %u points failed; the others are in "
                "%s.csv\n",
                run->description->name, run->failed->len,
                run->failed->len + run->cost.points, run->prefix);
    }
}

/* Runs one scenario. Returns false and sets @error if there are no results.
 * Sets *ret_failed if points are missing in them, or tell that a flow failed.
 */
static bool run_file(const Options *options, const TopoDescription *description,
                     bool *ret_failed, GError **error)
{
    g_auto(Run) run = {
        .options = options,
        .description = description,
        .prefix = make_prefix(options, description),
    };

    if (!check_plot(options, description, error) || !read_others(&run, error) ||
        !table_file_make_folder(run.prefix, error)) {
        return false;
    }
    if (!simulate(&run, error) ||
        !write_table(&run, run.table, ".csv", error)) {
        tell_kept(&run);
        return false;
    }
    if (run.journal && (!run.failed || run.failed->len == 0)) {
        exp_journal_remove(run.journal);
    }
    if (run.trace && !write_table(&run, run.trace, ".trace.csv", error)) {
        return false;
    }
    if (options->n_shards == 0 && !show(&run, error)) {
        return false;
    }
    print_cost(&run);
    fflush(stdout);
    print_failed(&run);
    *ret_failed = *ret_failed || (run.failed && run.failed->len > 0) ||
                  run.cost.failed > 0;
    return !options->bounds || judge(&run, error);
}

/* Reports two scenarios with the same name: they would write the same files. */
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

/* Reports a limit whose axis no scenario has. One of several scenarios is
 * enough, so that one command can run many. */
static bool check_limits(const Options *options, const GPtrArray *descriptions)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();

    for (unsigned i = 0; i < descriptions->len; i++) {
        const TopoDescription *description = descriptions->pdata[i];

        for (unsigned j = 0; j < description->axes->len; j++) {
            const TopoAxis *axis = description->axes->pdata[j];

            g_ptr_array_add(names, axis->name);
        }
    }
    for (unsigned i = 0; i < options->limits->len; i++) {
        const ExpLimit *limit = options->limits->pdata[i];

        if (!g_ptr_array_find_with_equal_func(names, limit->axis, g_str_equal,
                                              NULL)) {
            g_autofree char *hint = topo_suggest(limit->axis, names);

            fprintf(stderr,
                    "farside run: --limit: no sweep has an axis \"%s\"%s\n",
                    limit->axis, names->len > 0 ? hint : "");
            return false;
        }
    }
    return true;
}

static int run_files(const Options *options, char **files)
{
    g_autoptr(GPtrArray) descriptions =
        g_ptr_array_new_with_free_func((GDestroyNotify)topo_description_free);
    bool has_failed = false;

    for (unsigned i = 0; files[i]; i++) {
        TopoDescription *description =
            cmd_load("run", files[i], options->changes, CMD_LOAD_WORKLOAD);

        if (!description) {
            return CMD_USAGE;
        }
        g_ptr_array_add(descriptions, description);
    }
    if (!check_names(descriptions) || !check_limits(options, descriptions)) {
        return CMD_USAGE;
    }
    for (unsigned i = 0; i < descriptions->len; i++) {
        GError *error = NULL;

        if (!run_file(options, descriptions->pdata[i], &has_failed, &error)) {
            bool is_input =
                g_error_matches(error, TABLE_ERROR, TABLE_ERROR_VALUE);

            cmd_complain("run", error);
            if (is_input || !options->keep_going) {
                return is_input ? CMD_USAGE : CMD_DIFFERENT;
            }
            has_failed = true;
        }
        fflush(stdout);
    }
    return has_failed ? CMD_DIFFERENT : CMD_OK;
}

static bool parse_limits(Options *options)
{
    for (char **text = options->limit_texts; text && *text; text++) {
        GError *error = NULL;
        ExpLimit *limit = exp_limit_parse(*text, &error);

        if (!limit) {
            cmd_complain("run", error);
            return false;
        }
        g_ptr_array_add(options->limits, limit);
    }
    return true;
}

/* Parses "I/N" of --shard. */
static bool parse_shard(Options *options)
{
    g_auto(GStrv) parts = NULL;
    guint64 number, count;

    if (!options->shard_text) {
        return true;
    }
    parts = g_strsplit(options->shard_text, "/", 2);
    if (g_strv_length(parts) != 2 ||
        !g_ascii_string_to_unsigned(parts[1], 10, 1, TOPO_PLAN_MAX, &count,
                                    NULL) ||
        !g_ascii_string_to_unsigned(parts[0], 10, 1, count, &number, NULL)) {
        return false;
    }
    options->shard = (unsigned)number - 1;
    options->n_shards = (unsigned)count;
    return true;
}

/* Returns the help below the options. The caller frees it. */
static char *make_details(void)
{
    g_autofree char *metrics = exp_metric_help();

    return g_strdup_printf(
        "Simulates every point of each SCENARIO and writes DIR/NAME.csv, where\n"
        "NAME is the scenario's name. If the scenario has a plot, it is drawn to\n"
        "DIR/NAME.svg and DIR/NAME.png. An example:\n"
        "  farside run --limit transfer=4MiB scenarios/paper/fig10/fig10.yaml\n"
        "\n"
        "--explain looks at the smallest and the largest point of each curve: it\n"
        "names the element that limits the point, and says where the time of an\n"
        "operation goes. All numbers are in DIR/NAME.explain.csv;\n"
        "DIR/NAME.explain.svg and .png show the time. A run takes longer with it;\n"
        "its results are the same.\n"
        "\n"
        "--latencies writes how many operations took which time to\n"
        "DIR/NAME.latencies.csv, for each point and flow, and draws it:\n"
        "DIR/NAME.latencies.cdf.svg has the share of operations that took no\n"
        "longer, DIR/NAME.latencies.histogram.svg the share of each class.\n"
        "\n"
        "--trace writes for each TLP and link when the TLP began to cross it, how\n"
        "long it was on the wire, when the far end acted on it, and the fields of\n"
        "its header. It also has the requests that no component claimed.\n"
        "\n"
        "--workload moves what real drivers did in a cluster through the hosts and\n"
        "links of SCENARIO, in place of its workload, columns and plot. Its\n"
        "variants and sweep remain; docs/user/traces.md explains it. The\n"
        "flow is called trace: --set workload.flows.trace.pace=0%% leaves out\n"
        "thinking.\n"
        "\n"
        "Each finished point is at once in DIR/NAME.journal, so it survives\n"
        "Ctrl-C, a full disk and a crash. --resume goes on with it; the result "
        "is\n"
        "the same. --shard 2/5 simulates every 5th point from the 2nd one on "
        "and\n"
        "writes DIR/NAME.2-of-5.csv; `farside merge` joins the parts. --point\n"
        "writes DIR/NAME.point.csv, and leaves the whole result alone.\n"
        "\n"
        "--bounds prints each published value with the model's error and the\n"
        "largest error that the published table allows (its column\n"
        "bound_percent), and fails if one is missed by more.\n"
        "\n"
        "A column of a scenario takes its values `from:` one of these:\n"
        "variant, axis.NAME\n"
        "%s\n"
        "Exit status: 0 all ran, 1 a run failed, or all operations of a flow "
        "did in a description without faults:, 2 bad usage or description.",
        metrics);
}

static int run_verb(const CmdVerb *verb, int argc, char **argv)
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
        CMD_LOAD_SET(&options.sets),
        {"workload", 'w', 0, G_OPTION_ARG_FILENAME, &options.workload,
         "Repeat what TRACE, made by `farside cluster trace`, has recorded",
         "TRACE"},
        {"limit", 'l', 0, G_OPTION_ARG_STRING_ARRAY, &options.limit_texts,
         "Leave out points of AXIS beyond VALUE; repeatable", "AXIS=VALUE"},
        {"quiet", 'q', 0, G_OPTION_ARG_NONE, &options.is_quiet,
         "Print only one line for each scenario", NULL},
        {"no-plot", 0, 0, G_OPTION_ARG_NONE, &options.no_plot, "Draw nothing",
         NULL},
        {"bounds", 0, 0, G_OPTION_ARG_NONE, &options.bounds,
         "Fail if a published value is missed by more than its bound", NULL},
        {"explain", 'e', 0, G_OPTION_ARG_NONE, &options.explain,
         "Explain what limits each curve, and where the time goes", NULL},
        {"latencies", 0, 0, G_OPTION_ARG_NONE, &options.latencies,
         "Write and draw the distribution of latencies", NULL},
        {"point", 'p', 0, G_OPTION_ARG_STRING, &options.point,
         "Only points with TEXT in their label, such as \"Loc, transfer=4KiB\"",
         "TEXT"},
        {"resume", 'r', 0, G_OPTION_ARG_NONE, &options.resume,
         "Keep the points that an interrupted run has finished", NULL},
        {"keep-going", 'k', 0, G_OPTION_ARG_NONE, &options.keep_going,
         "Simulate the other points if one fails; list failures at the end",
         NULL},
        {"shard", 0, 0, G_OPTION_ARG_STRING, &options.shard_text,
         "Only the I-th of N parts of the points", "I/N"},
        {"trace", 't', 0, G_OPTION_ARG_INT, &options.trace_records,
         "Write the last N TLPs of each point to DIR/NAME.trace.csv", "N"},
        G_OPTION_ENTRY_NULL,
    };
    g_autofree char *details = make_details();
    CmdVerb detailed = *verb;
    g_auto(CmdArgs) args = {.words = NULL};
    int status;

    detailed.details = details;
    if (!cmd_parse(&detailed, argc, argv, entries, &args, &status)) {
        return status;
    }
    if (options.threads < 1 || options.threads > THREADS_MOST) {
        return cmd_usage("run", "-j takes a number from 1 to %d", THREADS_MOST);
    }
    if (options.trace_records < 0 || options.trace_records > TRACE_MOST) {
        return cmd_usage("run", "--trace takes a number up to %d", TRACE_MOST);
    }
    if (!parse_shard(&options)) {
        return cmd_usage("run", "--shard takes I/N, such as 2/5, with I from 1 "
                                "to N");
    }
    if ((options.resume || options.n_shards > 0) && wants_more(&options)) {
        return cmd_usage("run",
                         "--explain, --latencies and --trace need all points "
                         "in one run; leave out --resume and --shard");
    }
    if (!options.folder) {
        options.folder = g_strdup("results");
    }
    if (!parse_limits(&options)) {
        return CMD_USAGE;
    }
    options.changes = cmd_workload_changes("run", options.workload);
    if (!options.changes ||
        !cmd_changes_add("run", options.sets, options.changes)) {
        return CMD_USAGE;
    }
    return run_files(&options, args.words);
}

const CmdVerb cmd_run = {.name = "run",
                         .summary = "simulate scenarios and draw their plots",
                         .synopsis = "SCENARIO...",
                         .min_words = 1,
                         .max_words = CMD_ANY_NUMBER,
                         .details = NULL,
                         .run = run_verb};
