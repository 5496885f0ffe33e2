/* SPDX-License-Identifier: MIT */
#include "exp_run.h"

#include <string.h>

#include "exp_latency.h"
#include "exp_trace.h"
#include "table_csv.h"
#include "table_file.h"
#include "topo_suggest.h"

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

bool exp_run_wants_more(const ExpRunOptions *options)
{
    return options->explain || options->latencies ||
           options->plan.trace_records > 0;
}

char *exp_run_kept(const ExpRun *run)
{
    unsigned count = run->journal ? exp_journal_count(run->journal) : 0;

    return count == 0
               ? NULL
               : g_strdup_printf("%u finished point%s kept in %s; go on with "
                                 "--resume",
                                 count, count == 1 ? " is" : "s are",
                                 run->journal_path);
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

    if (exp_run_wants_more(options)) {
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

unsigned exp_run_n_failed(const ExpRun *run)
{
    return run->failed ? run->failed->len : 0;
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

bool exp_run_parse_shard(const char *text, unsigned *ret_shard,
                         unsigned *ret_count)
{
    g_auto(GStrv) parts = NULL;
    guint64 number, count;

    parts = g_strsplit(text, "/", 2);
    if (g_strv_length(parts) != 2 ||
        !g_ascii_string_to_unsigned(parts[1], 10, 1, TOPO_PLAN_MAX, &count,
                                    NULL) ||
        !g_ascii_string_to_unsigned(parts[0], 10, 1, count, &number, NULL)) {
        return false;
    }
    *ret_shard = (unsigned)number - 1;
    *ret_count = (unsigned)count;
    return true;
}
