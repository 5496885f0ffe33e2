/* SPDX-License-Identifier: MIT */
#include "exp_point.h"

#include "exp_build.h"
#include "exp_errors_priv.h"
#include "exp_fabric.h"
#include "exp_failure_priv.h"
#include "exp_flow.h"
#include "exp_interval.h"
#include "exp_latency.h"
#include "exp_metric.h"
#include "exp_path.h"
#include "exp_trace.h"
#include "fab_account.h"
#include "fab_deadlock.h"
#include "fab_flow_observe.h"
#include "fab_flow_pace.h"
#include "fab_lend.h"
#include "table.h"
#include "topo_units.h"

#include <math.h>

/* The state while one point is simulated and its columns are read. */
typedef struct Run {
    const TopoDescription *description; /* with the changes of the point */
    TopoDescription *loaded; /* the same, if this run has loaded it; owned */
    const TopoPoint *point;
    ExpFabric *fabric; /* NULL if all flows are of kind path */
    GPtrArray *flows;  /* of FabFlow, by index in the description; NULL for a
                          flow of kind path */
    GPtrArray *paths;  /* of ExpPath, by the same index; NULL for other flows */
    FabProfile *profile; /* NULL unless asked for */
    bool leaves_out;     /* flows may leave work out */
    GArray *warm; /* of ExpValue: the columns at the end of the warm-up */
} Run;

static void run_done(Run *run)
{
    fab_profile_free(run->profile);
    exp_fabric_free(run->fabric);
    g_ptr_array_unref(run->flows);
    g_ptr_array_unref(run->paths);
    g_clear_pointer(&run->warm, g_array_unref);
    topo_description_free(run->loaded);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Run, run_done)

static void path_free(void *path)
{
    exp_path_free(path);
}

static bool has_shared_flow(const TopoWorkload *workload)
{
    for (unsigned i = 0; workload && i < workload->flows->len; i++) {
        if (!topo_flow_has_own_fabric(workload->flows->pdata[i])) {
            return true;
        }
    }
    return false;
}

/* Runs the flows that have a fabric of their own. */
static void run_paths(Run *run, TopoErrors *errors)
{
    const TopoWorkload *workload = run->description->workload;

    for (unsigned i = 0; workload && i < workload->flows->len; i++) {
        const TopoFlow *flow = workload->flows->pdata[i];
        ExpPath *path = NULL;
        GError *error = NULL;

        if (topo_flow_has_own_fabric(flow)) {
            path = exp_path_of_flow(run->description, flow, &error);
        }
        if (error) {
            g_prefix_error(&error, "flow %s: ", topo_flow_name(flow));
            exp_errors_take(errors, topo_flow_place(flow), error);
        }
        g_ptr_array_add(run->paths, path);
    }
}

/* Makes the fabric that flows share, if there are such flows or @always, and
 * all flows in it. Runs the others in fabrics of their own. Leaves out what
 * depends on sections with errors. */
static void run_make(Run *run, bool always, TopoErrors *errors)
{
    const TopoDescription *description = run->description;
    unsigned before = topo_errors_count(errors);

    if (description->sound < TOPO_SOUND_HARDWARE) {
        return;
    }
    if (always || has_shared_flow(description->workload)) {
        run->fabric = exp_build_all(description, errors);
    }
    if (description->sound < TOPO_SOUND_WORKLOAD) {
        return;
    }
    if (topo_errors_count(errors) == before) {
        run_paths(run, errors); /* else each would repeat the errors */
    }
    if (run->fabric) {
        exp_flow_new_all(
            run->fabric, description,
            description->workload ? description->workload->warmup_ps : 0,
            run->flows, errors);
    } else if (description->workload) {
        g_ptr_array_set_size(run->flows,
                             (int)description->workload->flows->len);
    }
}

/* ---- Columns ---------------------------------------------------------- */

/* Returns the scope of the metric that @column names; 0 if its element or flow
 * does not exist, or has an error. */
static ExpScope column_scope(const TopoDescription *description,
                             const TopoColumn *column)
{
    const TopoDevice *device;
    const TopoFlow *flow;

    switch (column->source) {
    case TOPO_SOURCE_FABRIC:
        return EXP_SCOPE_FABRIC;
    case TOPO_SOURCE_FLOW:
        flow = topo_find_flow(description, column->source_name);
        if (!flow) {
            return 0;
        }
        return topo_flow_has_own_fabric(flow) ? EXP_SCOPE_PATH : EXP_SCOPE_FLOW;
    case TOPO_SOURCE_ELEMENT:
        if (topo_find_host(description, column->source_name)) {
            return EXP_SCOPE_ROOT;
        }
        if (topo_find_switch(description, column->source_name)) {
            return EXP_SCOPE_SWITCH;
        }
        device = topo_find_device(description, column->source_name);
        if (!device || !device->part) {
            return 0;
        }
        return topo_part_kind(device->part) == TOPO_PART_NTB ? EXP_SCOPE_NTB
                                                             : EXP_SCOPE_DEVICE;
    default:
        return 0;
    }
}

static bool is_metric(const TopoColumn *column)
{
    return column->source == TOPO_SOURCE_FLOW ||
           column->source == TOPO_SOURCE_FABRIC ||
           column->source == TOPO_SOURCE_ELEMENT;
}

void exp_point_check_columns(const TopoDescription *description,
                             TopoErrors *errors)
{
    for (unsigned i = 0; i < description->columns->len; i++) {
        const TopoColumn *column = description->columns->pdata[i];
        const ExpMetric *metric;
        ExpScope scope;

        /* A source with an error, which was reported, has no names. */
        if (!is_metric(column) || !column->metric) {
            continue;
        }
        scope = column_scope(description, column);
        if (!scope && description->sound < (column->source == TOPO_SOURCE_FLOW
                                                ? TOPO_SOUND_WORKLOAD
                                                : TOPO_SOUND_HARDWARE)) {
            continue; /* an error that is known already may be the cause */
        }
        if (!scope) {
            topo_errors_add(errors, column->place,
                            "there is no %s \"%s\"; name one of the "
                            "description",
                            column->source == TOPO_SOURCE_FLOW ? "flow"
                                                               : "element",
                            column->source_name);
            continue;
        }
        metric = exp_metric_find(scope, column->metric);
        if (!metric) {
            g_autofree char *hint = exp_metric_suggest(scope, column->metric);

            topo_errors_add(errors, column->place,
                            "there is no metric \"%s\" here%s", column->metric,
                            hint);
        } else if (column->statistic != TOPO_STATISTIC_NONE &&
                   !exp_metric_is_distribution(metric)) {
            topo_errors_add(errors, column->place,
                            "%s is one number; it takes no .mean, .p50 and so "
                            "on",
                            column->metric);
        }
    }
}

bool exp_column_is_text(const TopoDescription *description,
                        const TopoColumn *column)
{
    const ExpMetric *metric;

    if (column->source == TOPO_SOURCE_VARIANT) {
        return true;
    }
    if (column->source == TOPO_SOURCE_AXIS) {
        const TopoAxis *axis = description->axes->pdata[column->axis];

        for (unsigned i = 0; i < axis->values->len; i++) {
            const TopoAxisValue *value = axis->values->pdata[i];

            if (!value->has_number) {
                return true;
            }
        }
        return false;
    }
    metric = exp_metric_find(column_scope(description, column), column->metric);
    return metric && exp_metric_is_text(metric);
}

/* Returns the value in units of the column's last digit, rounded half up. */
static int64_t scaled(ExpValue value, const TopoColumn *column)
{
    __int128 num = value.num * column->scale_den;
    __int128 den = value.den * column->scale_num, result;

    if (den == 0) {
        return TABLE_NONE;
    }
    for (int i = 0; i < column->digits; i++) {
        num *= 10;
    }
    result = (2 * num + den) / (2 * den);
    return result > G_MAXINT64 ? TABLE_NONE : (int64_t)result;
}

/* Sets @ret_subject to what @column is about. Returns its metric. */
static const ExpMetric *run_subject(const Run *run, const TopoColumn *column,
                                    ExpSubject *ret_subject)
{
    *ret_subject = (ExpSubject){
        .scope = column_scope(run->description, column),
        .fabric = run->fabric,
        .flows = run->flows,
        .statistic = column->statistic,
    };
    if (column->source == TOPO_SOURCE_FLOW) {
        const TopoFlow *flow =
            topo_find_flow(run->description, column->source_name);

        ret_subject->described = flow;
        ret_subject->flow = run->flows->pdata[topo_flow_index(flow)];
        ret_subject->path = run->paths->pdata[topo_flow_index(flow)];
    } else if (run->fabric && column->source == TOPO_SOURCE_ELEMENT) {
        ret_subject->component =
            fab_fabric_find(exp_fabric(run->fabric), column->source_name);
    }
    return exp_metric_find(ret_subject->scope, column->metric);
}

static ExpValue run_metric(const Run *run, const TopoColumn *column)
{
    ExpSubject subject;
    const ExpMetric *metric = run_subject(run, column, &subject);

    if (!run->fabric && column->source != TOPO_SOURCE_FLOW) {
        return (ExpValue){0}; /* all flows are of kind path */
    }
    return exp_metric_get(metric, &subject);
}

static bool has_failed(const Run *run, const TopoColumn *column)
{
    ExpSubject subject;
    const ExpMetric *metric = run_subject(run, column, &subject);

    return exp_metric_has_failed(metric, &subject);
}

/* True if @column counts from the start of the simulation on. */
static bool column_counts(const TopoDescription *description,
                          const TopoColumn *column)
{
    const ExpMetric *metric =
        column->source == TOPO_SOURCE_ELEMENT
            ? exp_metric_find(column_scope(description, column), column->metric)
            : NULL;

    return metric && exp_metric_is_count(metric);
}

ExpCell exp_point_known_cell(const TopoPoint *point, const TopoColumn *column)
{
    ExpCell cell = {.number = TABLE_NONE};

    if (column->source == TOPO_SOURCE_VARIANT) {
        cell.text = g_strdup(point->variant ? point->variant->name : "");
    } else if (column->source == TOPO_SOURCE_AXIS) {
        const TopoAxisValue *axis = point->values[column->axis];

        cell.text = g_strdup(axis->label);
        cell.number = scaled(
            (ExpValue){.num = axis->number, .den = axis->has_number}, column);
    }
    return cell;
}

static void set_interval(const Run *run, const TopoColumn *column,
                         ExpCell *cell)
{
    ExpSubject subject;
    double share;

    (void)run_subject(run, column, &subject);
    share = exp_interval_share(&subject, column->metric,
                               run->description->workload->stop_ps > 0);
    /* The exact number is rounded, too. */
    cell->half =
        share > 0 ? (int64_t)ceil(share * fabs((double)cell->number)) + 1 : 0;
    cell->seen = exp_interval_seen(&subject, column->metric);
    if (cell->seen > 0 && cell->half == 0) {
        cell->half = TABLE_NONE; /* it depends on single operations */
    }
}

static ExpCell run_cell(const Run *run, unsigned number)
{
    const TopoColumn *column = run->description->columns->pdata[number];
    ExpCell cell = {.number = TABLE_NONE};
    ExpValue value;

    if (!is_metric(column)) {
        return exp_point_known_cell(run->point, column);
    }
    value = run_metric(run, column);
    if (run->warm) {
        value.num -= g_array_index(run->warm, ExpValue, number).num;
    }
    cell.text = g_strdup(value.text);
    cell.has_failed = has_failed(run, column);
    cell.number = cell.has_failed ? TABLE_NONE : scaled(value, column);
    if (run->leaves_out && cell.number != TABLE_NONE) {
        set_interval(run, column, &cell);
    }
    return cell;
}

/* ---- Running ---------------------------------------------------------- */

/* Sets an error that says how the flow @stuck, or a part of the fabric if it is
 * NULL, waits for itself. @cycle (nullable) has the steps. */
static void set_stuck(const Run *run, const FabFlow *stuck, const GArray *cycle,
                      GError **error)
{
    const FabFabric *fabric = exp_fabric(run->fabric);
    g_autofree char *now = topo_units_format(
        TOPO_UNIT_TIME, sim_engine_now(exp_engine(run->fabric)));
    g_autoptr(GString) why = g_string_new(NULL);
    bool whole;
    g_autofree char *failures = exp_failure_note(fabric, &whole);

    if (cycle) {
        g_autofree char *steps = fab_deadlock_text(cycle);

        g_string_append(why, steps);
    } else if (failures) {
        g_string_append(why, "it waits for what was lost, and nothing sends "
                             "that again");
    } else {
        FabFlowWait wait;

        fab_flow_observe(stuck, &wait);
        g_string_append_printf(
            why,
            "its step \"%s\"%s%s never ends, for no event is left; check that "
            "every receive buffer holds the largest TLP that it gets",
            wait.step, wait.device ? " of " : "",
            wait.device ? fab_component_name(fab_endpoint_component(
                              (FabEndpoint *)wait.device))
                        : "");
    }
    if (failures) {
        g_string_append_printf(why, "; %s", failures);
    }
    g_set_error(error, FAB_ERROR, FAB_ERROR_STUCK, "%s%s is stuck at %s: %s",
                stuck ? "flow " : "",
                stuck ? fab_flow_name(stuck) : "a part of the fabric", now,
                why->str);
}

/* Notes the present values of columns that count from the start on. */
static void note_warm(Run *run)
{
    const GPtrArray *columns = run->description->columns;

    run->warm = g_array_new(FALSE, TRUE, sizeof(ExpValue));
    g_array_set_size(run->warm, columns->len);
    for (unsigned i = 0; i < columns->len; i++) {
        const TopoColumn *column = columns->pdata[i];

        if (column_counts(run->description, column)) {
            g_array_index(run->warm, ExpValue, i) = run_metric(run, column);
        }
    }
}

/* Lets flows leave work out, if the description asks for that and all columns
 * are known even so. What options ask for needs all TLPs. Faults come at their
 * times. */
static void run_set_accuracy(Run *run, const ExpPointOptions *options)
{
    const TopoDescription *description = run->description;
    double accuracy =
        description->workload ? description->workload->accuracy : 0;

    if (!run->fabric || accuracy <= 0 || options->explain ||
        options->latencies || options->trace_records > 0 ||
        description->faults->len > 0) {
        return;
    }
    for (unsigned i = 0; i < description->columns->len; i++) {
        const TopoColumn *column = description->columns->pdata[i];

        if (is_metric(column) &&
            !exp_interval_has(column_scope(description, column),
                              column->metric)) {
            return;
        }
    }
    run->leaves_out = true;
    fab_flows_set_accuracy(exp_fabric(run->fabric), accuracy);
}

/* Adds a note on flows that were simulated whole although they were long. */
static void add_never_steady(const Run *run, GString *note)
{
    for (unsigned i = 0; run->leaves_out && i < run->flows->len; i++) {
        FabFlow *flow = run->flows->pdata[i];
        FabFlowSkipped skipped;

        if (!flow) {
            continue;
        }
        fab_flow_skipped(flow, &skipped);
        if (skipped.never_steady && skipped.time == 0) {
            g_string_append_printf(note,
                                   "%sflow %s was simulated whole: it never "
                                   "became steady",
                                   note->len > 0 ? "; " : "",
                                   fab_flow_name(flow));
        }
    }
}

/* Runs the flows. Fails if they, or some of the TLPs, can never go on. */
static bool run_flows(Run *run, GError **error)
{
    const TopoWorkload *workload = run->description->workload;
    FabFlow *stuck = NULL;
    g_autoptr(GArray) cycle = NULL;
    bool is_over;

    if (!run->fabric) {
        return true;
    }
    is_over = true;
    if (workload->warmup_ps) {
        is_over =
            fab_flows_run(exp_fabric(run->fabric), workload->warmup_ps, &stuck);
        note_warm(run);
    }
    is_over = is_over && fab_flows_run(exp_fabric(run->fabric),
                                       workload->stop_ps ? workload->stop_ps
                                                         : SIM_TIME_NONE,
                                       &stuck);
    if (!is_over || workload->stop_ps) {
        cycle = fab_deadlock_find(exp_fabric(run->fabric));
    }
    if (is_over && !cycle) {
        return true;
    }
    set_stuck(run, stuck, cycle, error);
    return false;
}

static ExpExplain *run_explain(const Run *run)
{
    const GPtrArray *flows = run->description->workload->flows;
    g_autoptr(GPtrArray) names = g_ptr_array_new();

    for (unsigned i = 0; i < flows->len; i++) {
        g_ptr_array_add(names, (void *)topo_flow_name(flows->pdata[i]));
    }
    if (run->profile) {
        fab_profile_finish(run->profile);
    }
    return exp_explain_new(run->profile, run->flows, run->paths, names);
}

/* Adds a note on DMA windows that were too small for the memory that devices
 * had to reach. */
static void add_no_room(const Run *run, GString *note)
{
    for (unsigned i = 0; i < run->description->lends->len; i++) {
        const TopoLend *lend = run->description->lends->pdata[i];
        FabLend *lent = fab_lend_of(
            fab_component_as_endpoint(exp_device(run->fabric, lend->device)));
        const FabLendCounters *counters = lent ? fab_lend_counters(lent) : NULL;
        uint64_t failed = counters ? counters->no_room - counters->waits : 0;

        if (failed > 0) {
            g_string_append_printf(
                note,
                "%s%s: " FAB_LEND_NO_ROOM ": its DMA window to %s had no room "
                "for %" G_GUINT64_FORMAT " mapping%s, whose operations failed; "
                "give the lend a larger window",
                note->len > 0 ? "; " : "", lend->device->path, lend->to->name,
                failed, failed == 1 ? "" : "s");
        }
    }
}

/* Notes in @point what went wrong, if something did. A failure that the
 * description asks for by `faults:` is a result. */
static void run_note(const Run *run, ExpPoint *point)
{
    g_autoptr(GString) note = g_string_new(NULL);
    bool whole;
    g_autofree char *failures =
        exp_failure_note(exp_fabric(run->fabric), &whole);

    add_no_room(run, note);
    add_never_steady(run, note);
    if (failures) {
        g_string_append_printf(note, "%s%s", note->len > 0 ? "; " : "",
                               failures);
    }
    point->note =
        note->len > 0 ? g_string_free(g_steal_pointer(&note), FALSE) : NULL;
    point->has_failed = whole && run->description->faults->len == 0;
}

/* Sets an error if bytes are neither at their end, nor lost, nor on their way.
 * That would be an error of the model, not of the description. */
static bool run_check(const Run *run, GError **error)
{
    g_autofree char *wrong =
        run->fabric ? fab_account_check(exp_fabric(run->fabric)) : NULL;

    if (wrong) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_BUG,
                    "the model does not account for all bytes, so no number of "
                    "this point is printed: %s; this is a bug of farside, "
                    "please report it with the description",
                    wrong);
    }
    return !wrong;
}

/* Sets the seed for the given turn. A point has as many turns as its plan: if a
 * variant or an axis asks for another number, that is an error. */
static void run_set_seed(Run *run, const TopoDescription *plan, unsigned turn,
                         TopoErrors *errors)
{
    TopoWorkload *workload = run->loaded->workload;

    if (workload && plan->workload &&
        workload->seeds != plan->workload->seeds) {
        topo_errors_add(errors, workload->place,
                        "seeds: a variant or an axis changes it to %u; set it "
                        "in workload, for all points",
                        workload->seeds);
    } else if (workload) {
        workload->seed += turn;
    }
}

/* Loads the description of @point, and sets the seed for @turn. The only point
 * of a plan needs no description of its own for its first turn. */
static void run_load(Run *run, const TopoDescription *plan,
                     const TopoPoint *point, unsigned turn, TopoErrors *errors)
{
    if (!point->variant && point->n_values == 0 && turn == 0) {
        run->description = plan;
    } else {
        run->loaded = topo_load_again_partly(plan, point->changes, errors);
        run->description = run->loaded;
    }
    if (run->description) {
        exp_point_check_columns(run->description, errors);
    }
    if (run->loaded) {
        run_set_seed(run, plan, turn, errors);
    }
}

/* Loads the description of @point, and makes all flows, and the fabric that
 * they share; that one also without flows if @always. */
static void run_begin(Run *run, const TopoDescription *plan,
                      const TopoPoint *point, unsigned turn, bool always,
                      TopoErrors *errors)
{
    run->point = point;
    run->flows = g_ptr_array_new();
    run->paths = g_ptr_array_new_with_free_func(path_free);
    run_load(run, plan, point, turn, errors);
    if (run->description) {
        run_make(run, always, errors);
    }
}

void exp_point_check(const TopoDescription *plan, const TopoPoint *point,
                     TopoErrors *errors)
{
    g_auto(Run) run = {0};

    run_begin(&run, plan, point, 0, true, errors);
}

ExpPoint *exp_point_new(const TopoDescription *plan, const TopoPoint *point,
                        unsigned turn, const ExpPointOptions *options,
                        GError **error)
{
    g_auto(Run) run = {0};
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(ExpPoint) result = NULL;
    g_autoptr(ExpTrace) trace = NULL;

    run_begin(&run, plan, point, turn, false, errors);
    if (!exp_errors_none(errors, error)) {
        return NULL;
    }
    if (options->trace_records > 0 && run.fabric) {
        trace = exp_trace_new(run.fabric, options->trace_records);
    }
    if (options->explain && run.fabric) {
        run.profile = fab_profile_new(exp_fabric(run.fabric),
                                      run.description->workload->warmup_ps);
    }
    run_set_accuracy(&run, options);
    if (!run_flows(&run, error) || !run_check(&run, error)) {
        return NULL;
    }
    result = g_new0(ExpPoint, 1);
    result->count = plan->columns->len;
    result->cells = g_new0(ExpCell, result->count);
    for (unsigned i = 0; i < result->count; i++) {
        result->cells[i] = run_cell(&run, i);
    }
    if (run.fabric) {
        result->hops = fab_fabric_tlp_hops(exp_fabric(run.fabric));
        result->events = sim_engine_executed(exp_engine(run.fabric));
        run_note(&run, result);
    }
    if (trace) {
        result->trace = exp_trace_table_new();
        exp_trace_add_rows(trace, point->label, result->trace);
    }
    if (options->latencies) {
        result->latencies = exp_latency_new(run.flows);
    }
    if (options->explain) {
        result->explain = run_explain(&run);
        result->explain->failure = g_strdup(result->note);
    }
    return g_steal_pointer(&result);
}

void exp_point_free(ExpPoint *point)
{
    if (point) {
        for (unsigned i = 0; i < point->count; i++) {
            g_free(point->cells[i].text);
        }
        g_free(point->cells);
        g_free(point->note);
        g_clear_pointer(&point->latencies, g_array_unref);
        table_free(point->trace);
        exp_explain_free(point->explain);
        g_free(point);
    }
}
