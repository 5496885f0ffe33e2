/* SPDX-License-Identifier: MIT */
#include "stu_run.h"

#include "rep_bounds.h"
#include "rep_latency.h"
#include "rep_waterfall.h"
#include "table_file.h"

/* The run of one scenario. */
typedef struct Study {
    const StuRun *how;
    const StuTerminal *terminal;
    const TopoDescription *description;
    ExpRun *run;
    ExpProgress progress;
    RepResult result;
} Study;

/* Writes PREFIX.explain.csv, and a drawing of where the time goes. */
static bool write_explained(const Study *self, GError **error)
{
    const GPtrArray *explained = self->run->explained;
    g_autoptr(Table) table = exp_explained_table(explained, self->description);
    g_autofree char *base = g_strconcat(self->run->prefix, ".explain", NULL);
    g_autofree char *title =
        g_strdup_printf("%s: where the time goes", self->description->name);
    g_autoptr(Table) bars = exp_explained_bars(explained);

    if (!self->how->is_quiet) {
        g_autofree char *text = exp_explained_text(explained);
        g_autofree char *line = g_strconcat(text, "\n", NULL);

        self->terminal->print(line);
    }
    return exp_run_write(self->run, table, ".explain.csv", error) &&
           (self->how->no_plot || !bars ||
            rep_waterfall_write(title, bars, exp_explained_segments(), base,
                                error));
}

/* Writes PREFIX.latencies.csv, and draws it if there is room. */
static bool write_latencies(Study *self, GError **error)
{
    const TopoDescription *description = self->description;
    const Table *latencies = self->run->latencies;
    g_autofree char *base = g_strconcat(self->run->prefix, ".latencies", NULL);

    if (!exp_run_write(self->run, latencies, ".latencies.csv", error)) {
        return false;
    }
    if (self->how->no_plot || table_n_rows(latencies) == 0) {
        return true;
    }
    if (!rep_latency_fits(latencies)) {
        g_autofree char *text = g_strdup_printf(
            "the latencies are not drawn: a drawing has room for %d points and "
            "%d flows; select points with --point",
            REP_PLOT_CURVES_MAX, REP_PLOT_PANELS_MAX);

        self->terminal->note(&self->progress, text);
        return true;
    }
    return rep_latency_write(description->plot ? description->plot->title
                                               : description->name,
                             latencies, base, error);
}

/* Prints and draws the results. */
static bool show(Study *self, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    bool is_shown =
        self->how->is_quiet || rep_result_append(text, &self->result, error);

    self->terminal->print(text->str);
    return is_shown &&
           (!self->description->plot || self->how->no_plot ||
            rep_result_draw(&self->result, self->run->prefix, NULL, error)) &&
           (!self->run->explained || write_explained(self, error)) &&
           (!self->run->latencies || write_latencies(self, error));
}

static bool judge(const Study *self, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    bool is_good = rep_bounds_append(text, &self->result, error);

    self->terminal->print(text->str);
    return is_good;
}

/* Fails if the plot of the results could not be drawn. It runs before the
 * simulation, which may take an hour. */
static bool check_plot(const Study *self, GError **error)
{
    const ExpPlanOptions plan = {.limits = self->how->options.limits,
                                 .point = self->how->options.plan.point};
    g_autoptr(Table) outline = NULL;

    if (self->how->no_plot || !self->description->plot) {
        return true;
    }
    outline = exp_plan_outline(self->description, &plan, error);
    return outline && rep_result_can_draw(self->description, outline, error);
}

static bool simulate(const Study *self, GError **error)
{
    const StuTerminal *terminal = self->terminal;
    void *guard = terminal->guard ? terminal->guard(self->run) : NULL;
    bool is_done = exp_run_simulate(self->run, error);

    if (guard) {
        terminal->unguard(guard);
    }
    if (!is_done) {
        exp_run_tell_kept(self->run);
    }
    return is_done && exp_run_finish(self->run, error);
}

static bool simulate_and_show(Study *self, GError **error)
{
    g_autofree char *cost = NULL;
    g_autofree char *line = NULL;

    if (!simulate(self, error)) {
        return false;
    }
    self->result.model = self->run->table;
    if (self->how->options.plan.n_shards == 0 && !show(self, error)) {
        return false;
    }
    cost = exp_run_cost_text(self->run);
    line = g_strconcat(cost, "\n", NULL);
    self->terminal->print(line);
    exp_run_tell_failed(self->run);
    return true;
}

/* Runs one scenario. False and @error if there are no results, or if a bound
 * does not hold. Sets *ret_failed if points are missing in them, or tell that a
 * flow failed. */
static bool study(const TopoDescription *description, const StuRun *how,
                  const StuTerminal *terminal, bool *ret_failed, GError **error)
{
    const TopoWorkload *workload = description->workload;
    g_autoptr(Table) published = NULL;
    g_autoptr(Table) measured = NULL;
    g_autoptr(ExpRun) run = NULL;
    ExpRunOptions options = how->options;
    Study self = {.how = how,
                  .terminal = terminal,
                  .description = description,
                  .progress = {.name = description->name,
                               .unit = workload && workload->seeds > 1
                                           ? "runs"
                                           : "points"}};

    options.plan.progress = terminal->progress;
    options.plan.note = terminal->note;
    options.plan.data = &self.progress;
    run = self.run = exp_run_new(description, &options);
    if (!check_plot(&self, error) ||
        !rep_result_read(description, how->bounds, &published, &measured,
                         error)) {
        return false;
    }
    self.result = (RepResult){.description = description,
                              .published = published,
                              .measured = measured};
    if (!simulate_and_show(&self, error)) {
        return false;
    }
    *ret_failed =
        *ret_failed || exp_run_n_failed(run) > 0 || run->cost.failed > 0;
    return !how->bounds || judge(&self, error);
}

StuResult stu_run(const GPtrArray *descriptions, const StuRun *run,
                  const StuTerminal *terminal)
{
    bool has_failed = false;
    GError *error = NULL;

    if (!exp_run_check(descriptions, run->options.limits, &error)) {
        terminal->complain(error);
        return STU_INPUT;
    }
    for (unsigned i = 0; i < descriptions->len; i++) {
        if (!study(descriptions->pdata[i], run, terminal, &has_failed,
                   &error)) {
            bool is_input =
                g_error_matches(error, TABLE_ERROR, TABLE_ERROR_VALUE);

            terminal->complain(g_steal_pointer(&error));
            if (is_input || !run->options.keep_going) {
                return is_input ? STU_INPUT : STU_FAILED;
            }
            has_failed = true;
        }
    }
    return has_failed ? STU_FAILED : STU_DONE;
}
