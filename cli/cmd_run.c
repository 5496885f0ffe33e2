/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>
#include <unistd.h>

#include "cmd_guard.h"
#include "cmd_load.h"
#include "cmd_workload.h"
#include "exp_metric.h"
#include "exp_run.h"
#include "rep_bounds.h"
#include "rep_latency.h"
#include "rep_waterfall.h"
#include "table_file.h"

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
    gboolean resume;
    gboolean keep_going;
    int trace_records;
    ExpRunOptions run; /* made from the others */
    GPtrArray *changes;
    GPtrArray *limits;
} Options;

static void options_done(Options *options)
{
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

static void tell_kept(const ExpRun *run)
{
    g_autofree char *text = exp_run_kept(run);

    if (text) {
        show_note(run->options.plan.data, text);
    }
}

/* For the guard: the program ends. */
static void on_end(void *data)
{
    fputs("\nfarside run: interrupted\n", stderr);
    tell_kept(data);
    exp_run_halt(data);
}

/* Writes DIR/NAME.explain.csv, and a drawing of where the time goes. */
static bool write_explained(const Options *options, const ExpRun *run,
                            GError **error)
{
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
    return exp_run_write(run, table, ".explain.csv", error) &&
           (options->no_plot || !bars ||
            rep_waterfall_write(title, bars, exp_explained_segments(), base,
                                error));
}

/* Writes DIR/NAME.latencies.csv, and draws it if there is room. */
static bool write_latencies(const Options *options, const ExpRun *run,
                            GError **error)
{
    const char *name = run->description->name;
    g_autofree char *base = g_strconcat(run->prefix, ".latencies", NULL);

    if (!exp_run_write(run, run->latencies, ".latencies.csv", error)) {
        return false;
    }
    if (options->no_plot || table_n_rows(run->latencies) == 0) {
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

/* Prints and draws the results. */
static bool show(const Options *options, const ExpRun *run,
                 const RepResult *result, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    bool is_shown = options->is_quiet || rep_result_append(text, result, error);

    fputs(text->str, stdout);
    return is_shown &&
           (!run->description->plot || options->no_plot ||
            rep_result_draw(result, run->prefix, NULL, error)) &&
           (!run->explained || write_explained(options, run, error)) &&
           (!run->latencies || write_latencies(options, run, error));
}

/* Prints what the run has cost, and the points that failed. */
static void print_end(const ExpRun *run)
{
    g_autofree char *cost = exp_run_cost_text(run);
    unsigned n_failed = exp_run_n_failed(run);

    puts(cost);
    fflush(stdout);
    for (unsigned i = 0; i < n_failed; i++) {
        show_note(run->options.plan.data, run->failed->pdata[i]);
    }
    if (n_failed > 0) {
        g_autofree char *text =
            g_strdup_printf("%u of %u points failed; the others are in %s.csv",
                            n_failed, n_failed + run->cost.points, run->prefix);

        show_note(run->options.plan.data, text);
    }
}

static bool judge(const RepResult *result, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    bool is_good = rep_bounds_append(text, result, error);

    fputs(text->str, stdout);
    return is_good;
}

/* Fails if the plot of the results could not be drawn. It runs before the
 * simulation, which may take an hour. */
static bool check_plot(const Options *options,
                       const TopoDescription *description, GError **error)
{
    const ExpPlanOptions plan = {.limits = options->limits,
                                 .point = options->point};
    g_autoptr(Table) outline = NULL;

    if (options->no_plot || !description->plot) {
        return true;
    }
    outline = exp_plan_outline(description, &plan, error);
    return outline && rep_result_can_draw(description, outline, error);
}

static bool simulate(ExpRun *run, GError **error)
{
    CmdGuard *guard = cmd_guard_new(on_end, run);
    bool is_done = exp_run_simulate(run, error);

    cmd_guard_free(guard);
    if (!is_done) {
        tell_kept(run);
    }
    return is_done && exp_run_finish(run, error);
}

/* Runs one scenario. Returns false and sets @error if there are no results.
 * Sets *ret_failed if points are missing in them, or tell that a flow failed.
 */
static bool run_file(Options *options, const TopoDescription *description,
                     bool *ret_failed, GError **error)
{
    const TopoWorkload *workload = description->workload;
    Progress progress = {.name = description->name,
                         .unit = workload && workload->seeds > 1 ? "runs"
                                                                 : "points"};
    g_autoptr(Table) published = NULL;
    g_autoptr(Table) measured = NULL;
    g_autoptr(ExpRun) run = NULL;
    RepResult result;

    options->run.plan.data = &progress;
    run = exp_run_new(description, &options->run);
    if (!check_plot(options, description, error) ||
        !rep_result_read(description, options->bounds, &published, &measured,
                         error) ||
        !simulate(run, error)) {
        return false;
    }
    result = (RepResult){description, run->table, published, measured};
    if (options->run.plan.n_shards == 0 &&
        !show(options, run, &result, error)) {
        return false;
    }
    print_end(run);
    *ret_failed =
        *ret_failed || exp_run_n_failed(run) > 0 || run->cost.failed > 0;
    return !options->bounds || judge(&result, error);
}

static int run_files(Options *options, char **files)
{
    g_autoptr(GPtrArray) descriptions =
        g_ptr_array_new_with_free_func((GDestroyNotify)topo_description_free);
    bool has_failed = false;
    GError *error = NULL;

    for (unsigned i = 0; files[i]; i++) {
        TopoDescription *description =
            cmd_load("run", files[i], options->changes, CMD_LOAD_WORKLOAD);

        if (!description) {
            return CMD_USAGE;
        }
        g_ptr_array_add(descriptions, description);
    }
    if (!exp_run_check(descriptions, options->limits, &error)) {
        return cmd_complain("run", error);
    }
    for (unsigned i = 0; i < descriptions->len; i++) {
        if (!run_file(options, descriptions->pdata[i], &has_failed, &error)) {
            bool is_input =
                g_error_matches(error, TABLE_ERROR, TABLE_ERROR_VALUE);

            cmd_complain("run", g_steal_pointer(&error));
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

static void set_run(Options *options)
{
    options->run = (ExpRunOptions){
        .folder = options->folder ? options->folder : "results",
        .plan = {.threads = options->threads,
                 .limits = options->limits,
                 .progress = isatty(STDERR_FILENO) && !options->is_quiet
                                 ? show_progress
                                 : NULL,
                 .note = show_note,
                 .point = options->point,
                 .trace_records = options->trace_records},
        .explain = options->explain,
        .latencies = options->latencies,
        .keep_going = options->keep_going,
        .resume = options->resume};
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
    g_auto(CmdArgs) args = {.words = NULL};
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    if (options.threads < 1 || options.threads > THREADS_MOST) {
        return cmd_usage("run", "-j takes a number from 1 to %d", THREADS_MOST);
    }
    if (options.trace_records < 0 || options.trace_records > TRACE_MOST) {
        return cmd_usage("run", "--trace takes a number up to %d", TRACE_MOST);
    }
    set_run(&options);
    if (options.shard_text &&
        !exp_run_parse_shard(options.shard_text, &options.run.plan.shard,
                             &options.run.plan.n_shards)) {
        return cmd_usage("run", "--shard takes I/N, such as 2/5, with I from 1 "
                                "to N");
    }
    if ((options.resume || options.shard_text) &&
        exp_run_wants_more(&options.run)) {
        return cmd_usage("run",
                         "--explain, --latencies and --trace need all points "
                         "in one run; leave out --resume and --shard");
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
                         .words = {1, CMD_ANY_NUMBER},
                         .help_list = exp_metric_help,
                         .run = run_verb};
