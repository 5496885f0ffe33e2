/* SPDX-License-Identifier: MIT */
#include "exp_run.h"

#include <string.h>

#include "exp_latency.h"
#include "exp_trace.h"
#include "table_csv.h"
#include "table_file.h"
#include "topo_suggest.h"

#define THREADS_MOST 1024
#define TRACE_MOST   1000000 /* most records of one point */

/* Returns DIR/NAME, with a suffix if the results are only a part. */
static char *make_prefix(const TopoDescription *description,
                         const ExpRunOptions *options)
{
    g_autofree char *name = g_strconcat(
        description->name, options->plan.point ? ".point" : "", NULL);
    g_autofree char *prefix = g_build_filename(options->folder, name, NULL);

    return options->plan.n_shards > 0
               ? g_strdup_printf("%s.%u-of-%u", prefix, options->plan.shard + 1,
                                 options->plan.n_shards)
               : g_steal_pointer(&prefix);
}

ExpRun *exp_run_new(const TopoDescription *description,
                    const ExpRunOptions *options)
{
    ExpRun *run = g_new0(ExpRun, 1);

    run->options = *options;
    run->description = description;
    run->prefix = make_prefix(description, options);
    return run;
}

void exp_run_free(ExpRun *run)
{
    if (!run) {
        return;
    }
    g_free(run->prefix);
    table_free(run->table);
    table_free(run->trace);
    table_free(run->latencies);
    g_clear_pointer(&run->explained, g_ptr_array_unref);
    g_clear_pointer(&run->failed, g_ptr_array_unref);
    exp_journal_free(run->journal);
    g_free(run->journal_path);
    g_free(run);
}

/* True if a run is asked for more than its results. It keeps no journal then,
 * because only results are in it. */
static bool wants_more(const ExpRunOptions *options)
{
    return options->explain || options->latencies ||
           options->plan.trace_records > 0;
}

unsigned exp_run_n_failed(const ExpRun *run)
{
    return run->failed ? run->failed->len : 0;
}

void exp_run_tell_kept(const ExpRun *run)
{
    const ExpPlanOptions *plan = &run->options.plan;
    unsigned count = run->journal ? exp_journal_count(run->journal) : 0;

    if (count > 0) {
        g_autofree char *text = g_strdup_printf(
            "%u finished point%s kept in %s; go on with --resume", count,
            count == 1 ? " is" : "s are", run->journal_path);

        plan->note(plan->data, text);
    }
}

void exp_run_tell_failed(const ExpRun *run)
{
    const ExpPlanOptions *plan = &run->options.plan;
    unsigned n_failed = exp_run_n_failed(run);
    g_autofree char *text =
        g_strdup_printf("%u of %u points failed; the others are in %s.csv",
                        n_failed, n_failed + run->cost.points, run->prefix);

    for (unsigned i = 0; i < n_failed; i++) {
        plan->note(plan->data, run->failed->pdata[i]);
    }
    if (n_failed > 0) {
        plan->note(plan->data, text);
    }
}

void exp_run_halt(ExpRun *run)
{
    if (run->journal) {
        exp_journal_halt(run->journal);
    }
}

/* Opens the journal. Only results are in it, so a run that is asked for more
 * keeps no journal. */
static bool open_journal(ExpRun *run, GError **error)
{
    const ExpRunOptions *options = &run->options;

    /* Intervals are not in a journal, and such runs are short. */
    if (wants_more(options) || (run->description->workload &&
                                run->description->workload->accuracy > 0)) {
        return true;
    }
    run->journal_path = g_strconcat(run->prefix, ".journal", NULL);
    if (!options->resume &&
        g_file_test(run->journal_path, G_FILE_TEST_EXISTS)) {
        g_autofree char *text = g_strdup_printf(
            "the points of an interrupted run, which --resume would use, are "
            "kept in %s~",
            run->journal_path);

        options->plan.note(options->plan.data, text);
    }
    run->journal = exp_journal_open(run->journal_path, run->description,
                                    options->resume, error);
    return run->journal;
}

bool exp_run_write(const ExpRun *run, const Table *table, const char *ending,
                   GError **error)
{
    g_autofree char *path = g_strconcat(run->prefix, ending, NULL);

    return table_write(table, path, error);
}

bool exp_run_simulate(ExpRun *run, GError **error)
{
    const ExpRunOptions *options = &run->options;
    ExpPlanOptions plan = options->plan;

    if (options->explain) {
        run->explained = exp_explained_new();
        plan.explained = run->explained;
    }
    if (options->latencies && run->description->workload) {
        run->latencies = exp_latency_table_new(run->description);
        plan.latencies = run->latencies;
    }
    if (plan.trace_records > 0) {
        run->trace = exp_trace_table_new();
        plan.trace = run->trace;
    }
    if (options->keep_going) {
        run->failed = g_ptr_array_new_with_free_func(g_free);
        plan.failed = run->failed;
    }
    if (!table_file_make_folder(run->prefix, error) ||
        !open_journal(run, error)) {
        return false;
    }
    plan.journal = run->journal;
    run->table = exp_plan_run(run->description, &plan, &run->cost, error);
    return run->table && exp_run_write(run, run->table, ".csv", error);
}

bool exp_run_finish(ExpRun *run, GError **error)
{
    if (run->journal && exp_run_n_failed(run) == 0) {
        exp_journal_remove(run->journal);
    }
    return !run->trace || exp_run_write(run, run->trace, ".trace.csv", error);
}

char *exp_run_cost_text(const ExpRun *run)
{
    const ExpCost *cost = &run->cost;
    GString *text = g_string_new(NULL);

    g_string_append_printf(text, "%s.csv: %u points in %.1f s", run->prefix,
                           cost->points, cost->seconds);
    if (cost->resumed > 0) {
        g_string_append_printf(text, ", %u of them from the journal",
                               cost->resumed);
    }
    if (cost->hops > 0 && cost->resumed == 0) {
        g_string_append_printf(
            text, ", %.1f million TLP-hops, %.1f million a second",
            cost->hops / 1e6, cost->hops / 1e6 / cost->seconds);
    }
    return g_string_free(text, FALSE);
}

/* Two scenarios with the same name would write the same files. */
static bool check_names(const GPtrArray *descriptions, GError **error)
{
    for (unsigned i = 0; i < descriptions->len; i++) {
        const TopoDescription *a = descriptions->pdata[i];

        for (unsigned j = 0; j < i; j++) {
            const TopoDescription *b = descriptions->pdata[j];

            if (strcmp(a->name, b->name) == 0) {
                g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                            "%s and %s are both called \"%s\", and "
                            "would write the same files; give one another name",
                            b->file, a->file, a->name);
                return false;
            }
        }
    }
    return true;
}

/* Reports a limit whose axis no scenario has. One of several scenarios is
 * enough, so that one command can run many. */
static bool check_limits(const GPtrArray *descriptions, const GPtrArray *limits,
                         GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();

    for (unsigned i = 0; i < descriptions->len; i++) {
        const TopoDescription *description = descriptions->pdata[i];

        for (unsigned j = 0; j < description->axes->len; j++) {
            const TopoAxis *axis = description->axes->pdata[j];

            g_ptr_array_add(names, axis->name);
        }
    }
    for (unsigned i = 0; i < limits->len; i++) {
        const ExpLimit *limit = limits->pdata[i];

        if (!g_ptr_array_find_with_equal_func(names, limit->axis, g_str_equal,
                                              NULL)) {
            g_autofree char *hint = topo_suggest(limit->axis, names);

            g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                        "--limit: no sweep has an axis \"%s\"%s", limit->axis,
                        names->len > 0 ? hint : "");
            return false;
        }
    }
    return true;
}

bool exp_run_check(const GPtrArray *descriptions, const GPtrArray *limits,
                   GError **error)
{
    return check_names(descriptions, error) &&
           check_limits(descriptions, limits, error);
}

/* Parses "I/N". */
static bool parse_shard(const char *text, ExpPlanOptions *plan, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(text, "/", 2);
    guint64 number, count;

    if (g_strv_length(parts) != 2 ||
        !g_ascii_string_to_unsigned(parts[1], 10, 1, TOPO_PLAN_MAX, &count,
                                    NULL) ||
        !g_ascii_string_to_unsigned(parts[0], 10, 1, count, &number, NULL)) {
        return topo_refuse_option(
            error, "--shard takes I/N, such as 2/5, with I from 1 to N");
    }
    plan->shard = (unsigned)number - 1;
    plan->n_shards = (unsigned)count;
    return true;
}

static bool parse_limits(char *const *texts, GPtrArray *limits, GError **error)
{
    for (; texts && *texts; texts++) {
        ExpLimit *limit = exp_limit_parse(*texts, error);

        if (!limit) {
            return false;
        }
        g_ptr_array_add(limits, limit);
    }
    return true;
}

bool exp_run_parse(const ExpRunWords *words, ExpRunOptions *ret_options,
                   GError **error)
{
    GPtrArray *limits = g_ptr_array_new_with_free_func(exp_limit_free);

    *ret_options = (ExpRunOptions){
        .folder = words->folder ? words->folder : "results",
        .limits = limits,
        .plan = {.threads = (unsigned)words->threads,
                 .limits = limits,
                 .point = words->point,
                 .trace_records = (unsigned)words->trace_records},
        .explain = words->explain,
        .latencies = words->latencies,
        .keep_going = words->keep_going,
        .resume = words->resume};
    if (words->threads < 1 || words->threads > THREADS_MOST) {
        return topo_refuse_option(
            error, "-j takes a number from 1 to " G_STRINGIFY(THREADS_MOST));
    }
    if (words->trace_records < 0 || words->trace_records > TRACE_MOST) {
        return topo_refuse_option(
            error, "--trace takes a number up to " G_STRINGIFY(TRACE_MOST));
    }
    if (words->shard && !parse_shard(words->shard, &ret_options->plan, error)) {
        return false;
    }
    if ((words->resume || words->shard) && wants_more(ret_options)) {
        return topo_refuse_option(
            error, "--explain, --latencies and --trace need all points in "
                   "one run; leave out --resume and --shard");
    }
    return parse_limits(words->limits, limits, error);
}

void exp_run_options_clear(ExpRunOptions *options)
{
    g_clear_pointer(&options->limits, g_ptr_array_unref);
}

char *exp_progress_text(ExpProgress *progress, int64_t now_us, unsigned done,
                        unsigned count)
{
    g_autoptr(GString) text = g_string_new(NULL);

    g_string_append_printf(text, "%s: %u of %u %s", progress->name, done, count,
                           progress->unit);
    if (progress->begin_us == 0) {
        progress->begin_us = now_us;
        progress->first = done;
    } else if (done > progress->first) {
        int64_t left = (now_us - progress->begin_us) /
                       (done - progress->first) * (count - done) /
                       G_USEC_PER_SEC;

        g_string_append_printf(text, ", %" G_GINT64_FORMAT ":%02d:%02d left ",
                               left / 3600, (int)(left / 60 % 60),
                               (int)(left % 60));
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}
