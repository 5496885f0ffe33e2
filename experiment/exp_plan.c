/* SPDX-License-Identifier: MIT */
#include "exp_plan.h"

#include <string.h>

#include "topo_units.h"

#include "exp_latency.h"
#include "exp_plan_priv.h"
#include "table_file.h"

/*
 * A plan while threads simulate its points. A run is one point with one seed.
 * The runs of a point follow each other, in the order of the seeds.
 */
typedef struct Plan {
    const TopoDescription *description;
    GPtrArray *points;
    unsigned seeds;        /* runs of each point */
    unsigned n_runs;       /* of all points */
    ExpPointOptions first; /* of the first run of each point */
    ExpPointOptions again; /* of its other runs */
    ExpPoint **results;    /* by run */
    GError **errors;       /* by run */
    unsigned *order;       /* the runs, those that may take long first */
    unsigned next;         /* atomic: index in `order` of the next run */
    gint first_failed;     /* atomic: the first run that has failed; G_MAXINT:
                              none. No run after it is begun */
    bool keep_going;       /* other runs are begun even so */
    ExpJournal *journal;   /* nullable */
    unsigned whole;        /* points of all parts together */
    GMutex mutex;
    GCond changed;
    unsigned done, running;
    GError *journal_error; /* with the mutex: the journal cannot be written */
} Plan;

static const TopoPoint *point_of(const Plan *plan, unsigned run)
{
    return plan->points->pdata[run / plan->seeds];
}

/* Returns the number of @run in the whole plan, whatever the options leave
 * out. */
static unsigned number_of(const Plan *plan, unsigned run)
{
    return point_of(plan, run)->index * plan->seeds + run % plan->seeds;
}

/* Writes a finished run to the journal. */
static void plan_keep(Plan *plan, unsigned run)
{
    GError *error = NULL;

    if (plan->journal && !exp_journal_put(plan->journal, number_of(plan, run),
                                          plan->results[run], &error)) {
        g_atomic_int_set(&plan->first_failed, -1);
        g_mutex_lock(&plan->mutex);
        if (plan->journal_error) {
            g_error_free(error);
        } else {
            plan->journal_error = error;
        }
        g_mutex_unlock(&plan->mutex);
    }
}

/* Notes that @run has failed. Runs before it still go on, so the error that is
 * told in the end does not depend on the order in which runs are begun. */
static void plan_fail(Plan *plan, int run)
{
    int first;

    do {
        first = g_atomic_int_get(&plan->first_failed);
    } while (run < first && !g_atomic_int_compare_and_exchange(
                                &plan->first_failed, first, run));
}

static void *plan_work(void *data)
{
    Plan *plan = data;

    for (;;) {
        unsigned next = g_atomic_int_add(&plan->next, 1);
        unsigned i;

        if (next >= plan->n_runs) {
            break;
        }
        i = plan->order[next];
        if (plan->results[i] /* the journal had it */ ||
            (int)i > g_atomic_int_get(&plan->first_failed)) {
            continue;
        }
        plan->results[i] =
            exp_point_new(plan->description, point_of(plan, i), i % plan->seeds,
                          i % plan->seeds == 0 ? &plan->first : &plan->again,
                          &plan->errors[i]);
        if (plan->results[i]) {
            plan_keep(plan, i);
        } else if (!plan->keep_going) {
            plan_fail(plan, (int)i);
        }
        g_mutex_lock(&plan->mutex);
        plan->done++;
        g_cond_signal(&plan->changed);
        g_mutex_unlock(&plan->mutex);
    }
    g_mutex_lock(&plan->mutex);
    plan->running--;
    g_cond_signal(&plan->changed);
    g_mutex_unlock(&plan->mutex);
    return NULL;
}

static void plan_run(Plan *plan, const ExpPlanOptions *options)
{
    unsigned count = CLAMP(options->threads, 1, MAX(plan->n_runs, 1));
    g_autofree GThread **workers = g_new(GThread *, count);
    unsigned told = plan->done;

    plan->running = count;
    if (count == 1 && !options->progress) {
        plan_work(plan); /* no thread has to wait for it */
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        workers[i] = g_thread_new("point", plan_work, plan);
    }
    g_mutex_lock(&plan->mutex);
    while (plan->running > 0) {
        g_cond_wait(&plan->changed, &plan->mutex);
        if (options->progress && plan->done > told) {
            told = plan->done;
            g_mutex_unlock(&plan->mutex);
            options->progress(options->data, told, plan->n_runs);
            g_mutex_lock(&plan->mutex);
        }
    }
    g_mutex_unlock(&plan->mutex);
    for (unsigned i = 0; i < count; i++) {
        g_thread_join(workers[i]);
    }
}

/* Adds the name of @point to @error. */
static void prefix_point(GError **error, const TopoPoint *point)
{
    if (*point->label) {
        g_prefix_error(error, "at point \"%s\": ", point->label);
    }
}

/* Adds the names of the point and of the seed of @run to its error. */
static void prefix_run(Plan *plan, unsigned run)
{
    if (plan->seeds > 1) {
        g_prefix_error(&plan->errors[run],
                       "seed %u of %u: ", run % plan->seeds + 1, plan->seeds);
    }
    prefix_point(&plan->errors[run], point_of(plan, run));
}

/* Returns true if all runs of the point have results. */
static bool is_complete(const Plan *plan, unsigned point)
{
    for (unsigned i = 0; i < plan->seeds; i++) {
        if (!plan->results[point * plan->seeds + i]) {
            return false;
        }
    }
    return true;
}

/* Takes the error of the first run that failed, in the order of the plan; NULL
 * if none failed. */
static GError *first_error(Plan *plan)
{
    for (unsigned i = 0; i < plan->n_runs; i++) {
        if (plan->errors[i]) {
            prefix_run(plan, i);
            return g_steal_pointer(&plan->errors[i]);
        }
    }
    return NULL;
}

/* Adds a message for each point that failed to @failed: that of its first run
 * that did. If no point is left, returns the error of the first one. */
static GError *take_failed(Plan *plan, GPtrArray *failed)
{
    bool has_any = false;

    for (unsigned i = 0; i < plan->points->len; i++) {
        has_any = has_any || is_complete(plan, i);
    }
    if (!has_any) {
        return first_error(plan);
    }
    for (unsigned i = 0; i < plan->n_runs; i++) {
        if (plan->errors[i]) {
            prefix_run(plan, i);
            g_ptr_array_add(failed, g_strdup(plan->errors[i]->message));
            i += plan->seeds - 1 - i % plan->seeds; /* to the next point */
        }
    }
    return NULL;
}

static bool is_beyond(const TopoDescription *description,
                      const TopoPoint *point, const GPtrArray *limits)
{
    for (unsigned i = 0; limits && i < limits->len; i++) {
        const ExpLimit *limit = limits->pdata[i];

        for (unsigned j = 0; j < point->n_values; j++) {
            const TopoAxis *axis = description->axes->pdata[j];

            if (g_str_equal(axis->name, limit->axis) &&
                point->values[j]->has_number &&
                point->values[j]->number > limit->number) {
                return true;
            }
        }
    }
    return false;
}

ExpLimit *exp_limit_parse(const char *text, GError **error)
{
    const char *equals = strchr(text, '=');
    TopoUnit unit;
    int64_t value;
    ExpLimit *limit;

    if (!equals || equals == text ||
        !topo_units_parse_any(equals + 1, &unit, &value)) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_SYNTAX,
                    "--limit: \"%s\" is not AXIS=VALUE; write for example "
                    "transfer=4MiB",
                    text);
        return NULL;
    }
    limit = g_new(ExpLimit, 1);
    limit->axis = g_strndup(text, equals - text);
    limit->number = value;
    return limit;
}

void exp_limit_free(void *data)
{
    ExpLimit *limit = data;

    g_free(limit->axis);
    g_free(limit);
}

static void tell_note(const ExpPlanOptions *options, const TopoPoint *point,
                      const ExpPoint *result)
{
    if (result->note && options->note) {
        g_autofree char *text =
            *point->label ? g_strdup_printf("at point \"%s\": %s", point->label,
                                            result->note)
                          : g_strdup(result->note);

        options->note(options->data, text);
    }
}

/* A guess at how long @point takes: the largest number of its axes, which is
 * mostly a number of bytes. */
static int64_t point_weight(const TopoPoint *point)
{
    int64_t weight = 0;

    for (unsigned i = 0; i < point->n_values; i++) {
        if (point->values[i]->has_number) {
            weight = MAX(weight, point->values[i]->number);
        }
    }
    return weight;
}

static int compare_weights(const void *a, const void *b, void *data)
{
    const unsigned *x = a, *y = b;
    int64_t first = point_weight(point_of(data, *x));
    int64_t second = point_weight(point_of(data, *y));

    return first != second ? (first < second ? 1 : -1) : (*x > *y) - (*x < *y);
}

/* Puts the runs that may take long first. A long run that begins last would
 * keep one thread busy while the others have nothing to do. */
static void plan_sort(Plan *plan)
{
    plan->order = g_new(unsigned, plan->n_runs);
    for (unsigned i = 0; i < plan->n_runs; i++) {
        plan->order[i] = i;
    }
    g_qsort_with_data(plan->order, (int)plan->n_runs, sizeof(*plan->order),
                      compare_weights, plan);
}

/* Makes the points of the plan and drops those that the options exclude. */
static bool plan_init(Plan *plan, const ExpPlanOptions *options, GError **error)
{
    const TopoDescription *description = plan->description;
    g_autoptr(TopoErrors) errors = topo_errors_new();

    plan->points = topo_plan_all_points(description, errors);
    if (!plan->points) {
        g_propagate_error(error, topo_errors_to_gerror(errors));
        return false;
    }
    for (unsigned i = plan->points->len; i-- > 0;) {
        const TopoPoint *point = plan->points->pdata[i];

        if (is_beyond(description, point, options->limits) ||
            (options->only && !options->only[point->index]) ||
            (options->point && !strstr(point->label, options->point))) {
            g_ptr_array_remove_index(plan->points, i);
        }
    }
    if (!topo_plan_check_changes(description, plan->points, errors)) {
        g_propagate_error(error, topo_errors_to_gerror(errors));
        return false;
    }
    if (plan->points->len == 0) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "%s: no point is left to simulate; give fewer limits, "
                    "or another --point",
                    description->file);
        return false;
    }
    plan->whole = plan->points->len;
    /* Neighbours take about the same time, so a part gets every n-th point. */
    for (unsigned i = plan->whole; options->n_shards > 0 && i-- > 0;) {
        if (i % options->n_shards != options->shard) {
            g_ptr_array_remove_index(plan->points, i);
        }
    }
    plan->seeds = description->workload ? description->workload->seeds : 1;
    plan->n_runs = plan->points->len * plan->seeds;
    plan->results = g_new0(ExpPoint *, plan->n_runs);
    plan->errors = g_new0(GError *, plan->n_runs);
    plan->first_failed = G_MAXINT;
    plan_sort(plan);
    return true;
}

/* Takes the runs that the journal has. */
static void plan_resume(Plan *plan, ExpCost *cost)
{
    for (unsigned i = 0; plan->journal && i < plan->n_runs; i++) {
        plan->results[i] = exp_journal_take(plan->journal, number_of(plan, i));
        cost->resumed += !!plan->results[i];
    }
    plan->done = cost->resumed;
}

static void plan_done(Plan *plan)
{
    for (unsigned i = 0; plan->results && i < plan->n_runs; i++) {
        exp_point_free(plan->results[i]);
        g_clear_error(&plan->errors[i]);
    }
    g_clear_error(&plan->journal_error);
    g_mutex_clear(&plan->mutex);
    g_cond_clear(&plan->changed);
    g_free(plan->results);
    g_free(plan->errors);
    g_free(plan->order);
    g_clear_pointer(&plan->points, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Plan, plan_done)

/* Adds head lines for the part of the plan that the table has, and for points
 * that are missing because they failed. */
static void add_gaps(Plan *plan, const ExpPlanOptions *options, Table *table)
{
    if (options->n_shards > 0) {
        g_autofree char *text =
            g_strdup_printf("%u/%u of %u points", options->shard + 1,
                            options->n_shards, plan->whole);

        table_add_head(table, "shard", text);
    }
    for (unsigned i = 0; i < plan->points->len; i++) {
        const TopoPoint *point = plan->points->pdata[i];

        if (!is_complete(plan, i)) {
            table_add_head(table, "failed", point->label);
        }
    }
}

/* Tells the different notes of a point, and takes the trace and the explanation
 * of its first run. */
static void collect_options(Plan *plan, const ExpPlanOptions *options,
                            unsigned point)
{
    ExpPoint **runs = plan->results + point * plan->seeds;
    ExpPoint *first = runs[0];

    for (unsigned i = 0; i < plan->seeds; i++) {
        if (i == 0 || g_strcmp0(runs[i]->note, runs[i - 1]->note) != 0) {
            tell_note(options, plan->points->pdata[point], runs[i]);
        }
    }
    if (first->trace) {
        table_append(options->trace, first->trace);
    }
    if (options->explained) {
        exp_explained_add(options->explained, plan->description,
                          plan->points->pdata[point],
                          g_steal_pointer(&first->explain));
    }
}

/* Makes the table of results. */
static Table *plan_collect(Plan *plan, const ExpPlanOptions *options,
                           ExpCost *cost)
{
    Table *table = exp_plan_table_new(plan->description);

    add_gaps(plan, options, table);
    for (unsigned i = 0; i < plan->points->len; i++) {
        ExpPoint **runs = plan->results + i * plan->seeds;
        bool has_failed = false;

        if (!is_complete(plan, i)) {
            continue;
        }
        exp_plan_table_add(table, plan->description,
                           (const ExpPoint *const *)runs, plan->seeds);
        for (unsigned j = 0; j < plan->seeds; j++) {
            has_failed |= runs[j]->has_failed;
            cost->hops += runs[j]->hops;
            cost->events += runs[j]->events;
        }
        cost->failed += has_failed;
        if (options->latencies) {
            exp_latency_table_add(options->latencies, plan->description,
                                  ((TopoPoint *)plan->points->pdata[i])->label,
                                  (const ExpPoint *const *)runs, plan->seeds);
        }
        collect_options(plan, options, i);
    }
    return table;
}

Table *exp_plan_run(const TopoDescription *description,
                    const ExpPlanOptions *options, ExpCost *ret_cost,
                    GError **error)
{
    g_auto(Plan) plan = {
        .description = description,
        .keep_going = options->failed,
        .journal = options->journal,
        .again = {.latencies = options->latencies},
        .first = {.explain = options->explained,
                  .latencies = options->latencies,
                  .trace_records = options->trace ? options->trace_records : 0},
    };
    gint64 begin = g_get_monotonic_time();
    ExpCost cost = {0};
    GError *first;
    Table *table;

    g_mutex_init(&plan.mutex);
    g_cond_init(&plan.changed);
    if (!plan_init(&plan, options, error)) {
        return NULL;
    }
    plan_resume(&plan, &cost);
    plan_run(&plan, options);
    first = plan.journal_error ? g_steal_pointer(&plan.journal_error)
            : options->failed  ? take_failed(&plan, options->failed)
                               : first_error(&plan);
    if (first) {
        g_propagate_error(error, first);
        return NULL;
    }
    table = plan_collect(&plan, options, &cost);
    cost.points = table_n_rows(table);
    cost.seconds = (g_get_monotonic_time() - begin) / 1e6;
    if (ret_cost) {
        *ret_cost = cost;
    }
    return table;
}

void exp_plan_check(const TopoDescription *description, TopoErrors *errors)
{
    /* The description itself, if its plan has errors. */
    const TopoPoint whole = {.label = (char *)""};
    g_autoptr(GPtrArray) points = description->sound >= TOPO_SOUND_PLAN
                                      ? topo_plan_points(description, errors)
                                      : NULL;

    if (!points) {
        exp_point_check(description, &whole, errors);
    }
    for (unsigned i = 0; points && i < points->len; i++) {
        const TopoPoint *point = points->pdata[i];
        g_autoptr(TopoErrors) own = topo_errors_new();

        exp_point_check(description, point, own);
        topo_errors_add_all(errors, own, point->label);
    }
}

Table *exp_plan_outline(const TopoDescription *description,
                        const ExpPlanOptions *options, GError **error)
{
    g_auto(Plan) plan = {.description = description};
    Table *table;

    g_mutex_init(&plan.mutex);
    g_cond_init(&plan.changed);
    if (!plan_init(&plan, options, error)) {
        return NULL;
    }
    table = exp_plan_table_new(description);
    for (unsigned i = 0; i < plan.points->len; i++) {
        ExpPoint *outline = g_new0(ExpPoint, 1);

        outline->count = description->columns->len;
        outline->cells = g_new0(ExpCell, outline->count);
        for (unsigned j = 0; j < outline->count; j++) {
            outline->cells[j] = exp_point_known_cell(
                plan.points->pdata[i], description->columns->pdata[j]);
        }
        exp_plan_table_add(table, description,
                           (const ExpPoint *const *)&outline, 1);
        exp_point_free(outline);
    }
    return table;
}

Table *exp_plan_outline_whole(const TopoDescription *description,
                              TopoErrors *errors)
{
    const TopoPlace file = {description->file, 0, 0};
    const ExpPlanOptions options = {0};
    g_autoptr(GError) error = NULL;
    Table *outline = exp_plan_outline(description, &options, &error);

    if (!outline && topo_errors_count(errors) == 0) {
        topo_errors_add(errors, file, "%s", error->message);
    }
    return outline;
}
