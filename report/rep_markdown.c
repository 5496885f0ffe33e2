/* SPDX-License-Identifier: MIT */
#include "rep_markdown.h"

#include "rep_statements.h"

#include <string.h>

/* Returns @text for a table cell, with the special characters of markdown
 * escaped. The caller frees it. */
static char *cell(const char *text)
{
    GString *out = g_string_new(NULL);

    for (; *text != '\0'; text++) {
        if (strchr("|\\`*_<>[]", *text)) {
            g_string_append_c(out, '\\');
        }
        g_string_append_c(out, *text == '\n' ? ' ' : *text);
    }
    return g_string_free(out, FALSE);
}

static void add_row(GString *out, const char *first,
                    ...) G_GNUC_NULL_TERMINATED;

static void add_row(GString *out, const char *first, ...)
{
    const char *text;
    va_list args;

    va_start(args, first);
    for (text = first; text; text = va_arg(args, const char *)) {
        g_autofree char *escaped = cell(text);

        g_string_append_printf(out, "| %s ", escaped);
    }
    va_end(args);
    g_string_append(out, "|\n");
}

/* Returns for example "+1.250"; "" if there is no error. */
static char *percent(int64_t mpct)
{
    g_autofree char *text = rep_mpct_print(mpct);

    return g_strconcat(mpct > 0 ? "+" : "", text, NULL);
}

static void add_errors(GString *out, const char *scenario, const char *curve,
                       const char *column, const char *kind,
                       const RepErrors *errors)
{
    g_autofree char *count = g_strdup_printf("%u", errors->count);
    g_autofree char *mean = rep_mpct_print(errors->mean_mpct);
    g_autofree char *bias = percent(errors->bias_mpct);
    g_autofree char *most = percent(errors->max_mpct);

    if (errors->count > 0) {
        add_row(out, scenario, curve, column, kind, count, mean, bias, most,
                errors->max_x, NULL);
    }
}

static const char errors_head[] =
    "| scenario | curve | column | kind | points | mean % | bias % | largest % "
    "| at |\n| --- | --- | --- | --- | ---: | ---: | ---: | ---: | --- |\n";

/* Returns true if bandwidths or times are compared, not paths and hops. */
static bool is_numeric(const RepScenario *scenario)
{
    return scenario->fidelity && !rep_fidelity_has_texts(scenario->fidelity);
}

/* Returns the contents of the scenario's `calibrated:` in words. */
static char *describe_calibrated(const TopoDescription *description)
{
    const TopoPlot *plot = description->plot;
    GString *out = g_string_new(NULL);
    unsigned i, j;

    if (!plot || !plot->published) {
        return g_string_free(out, FALSE);
    }
    if (plot->calibrated_all) {
        g_string_append(out, "all");
    } else if (plot->calibrated->len == 0) {
        g_string_append(out, "none");
    }
    for (i = 0; i < plot->calibrated->len; i++) {
        const TopoSelection *selection = plot->calibrated->pdata[i];

        g_string_append(out, i > 0 ? "; " : "");
        for (j = 0; j < selection->terms->len; j++) {
            const TopoTerm *term = selection->terms->pdata[j];
            const TopoColumn *column =
                description->columns->pdata[term->column];

            g_string_append_printf(out, "%s%s %s", j > 0 ? ", " : "",
                                   column->name, term->text);
        }
    }
    return g_string_free(out, FALSE);
}

static void add_summary(const RepReport *report, GString *out)
{
    RepErrors calibrated = {0};
    RepErrors predicted = {0};
    unsigned i;

    g_string_append(
        out, "## What is calibrated, and what is predicted\n\n"
             "A published value is *calibrated* if numbers of the parts were "
             "chosen so that\nthe model meets it: its error says how well the "
             "model can be fitted, not how\nwell it predicts. Everything else "
             "is *predicted*. Which values were used is\ndeclared in each "
             "scenario (`plot.calibrated`). What decides each mechanism of "
             "the model, and\nwho measured it, is in "
             "[oracles](../user/oracles.md#what-decides-each-mechanism).\n\n"
             "| scenario | title | calibrated on | points calibrated | points "
             "predicted |\n| --- | --- | --- | ---: | ---: |\n");
    for (i = 0; i < rep_report_n_scenarios(report); i++) {
        const RepScenario *scenario = rep_report_scenario(report, i);
        const TopoDescription *description = scenario->description;
        g_autofree char *on = describe_calibrated(description);
        g_autofree char *n_calibrated = NULL;
        g_autofree char *n_predicted = NULL;

        if (!is_numeric(scenario) || *on == '\0') {
            continue;
        }
        n_calibrated = g_strdup_printf(
            "%u", rep_fidelity_calibrated(scenario->fidelity)->count);
        n_predicted = g_strdup_printf(
            "%u", rep_fidelity_predicted(scenario->fidelity)->count);
        add_row(out, description->name, description->plot->title, on,
                n_calibrated, n_predicted, NULL);
        rep_errors_add(&calibrated,
                       rep_fidelity_calibrated(scenario->fidelity));
        rep_errors_add(&predicted, rep_fidelity_predicted(scenario->fidelity));
    }
    g_string_append_printf(out, "\n## Overall\n\n%s", errors_head);
    for (i = 0; i < rep_report_n_scenarios(report); i++) {
        const RepScenario *scenario = rep_report_scenario(report, i);
        const char *name = scenario->description->name;

        if (is_numeric(scenario)) {
            add_errors(out, name, "all", "all", "calibrated",
                       rep_fidelity_calibrated(scenario->fidelity));
            add_errors(out, name, "all", "all", "predicted",
                       rep_fidelity_predicted(scenario->fidelity));
            add_errors(out, name, "all", "all", "measured",
                       rep_fidelity_measured(scenario->fidelity));
        }
    }
    add_errors(out, "all", "all", "all", "calibrated", &calibrated);
    add_errors(out, "all", "all", "all", "predicted", &predicted);
}

static void add_curves(const RepReport *report, GString *out)
{
    unsigned i, j;

    g_string_append_printf(out, "\n## Error of each curve\n\n%s", errors_head);
    for (i = 0; i < rep_report_n_scenarios(report); i++) {
        const RepScenario *scenario = rep_report_scenario(report, i);
        const char *name = scenario->description->name;

        for (j = 0; is_numeric(scenario) &&
                    j < rep_fidelity_n_curves(scenario->fidelity);
             j++) {
            const RepFidelityCurve *curve =
                rep_fidelity_curve(scenario->fidelity, j);

            add_errors(out, name, curve->name, curve->column, "calibrated",
                       &curve->calibrated);
            add_errors(out, name, curve->name, curve->column, "predicted",
                       &curve->predicted);
            add_errors(out, name, curve->name, curve->column, "measured",
                       &curve->measured);
        }
    }
    g_string_append(out, "\n## Plateaus\n\nThe mean of 16 MiB and more.\n\n"
                         "| scenario | curve | published | model | error % |\n"
                         "| --- | --- | ---: | ---: | ---: |\n");
    for (i = 0; i < rep_report_n_scenarios(report); i++) {
        const RepScenario *scenario = rep_report_scenario(report, i);

        for (j = 0; is_numeric(scenario) &&
                    j < rep_fidelity_n_curves(scenario->fidelity);
             j++) {
            const RepFidelityCurve *curve =
                rep_fidelity_curve(scenario->fidelity, j);
            g_autofree char *error = percent(curve->plateau_mpct);

            if (curve->has_plateau) {
                add_row(out, scenario->description->name, curve->name,
                        curve->plateau_published, curve->plateau_model, error,
                        NULL);
            }
        }
    }
}

/* Adds the scenarios with paths and hops: the number of cells that equal the
 * published ones. */
static void add_texts(const RepReport *report, GString *out)
{
    unsigned i, j;

    g_string_append(out, "\n## Paths and hops\n\n"
                         "| scenario | column | cells | as published |\n"
                         "| --- | --- | ---: | ---: |\n");
    for (i = 0; i < rep_report_n_scenarios(report); i++) {
        const RepScenario *scenario = rep_report_scenario(report, i);

        for (j = 0; scenario->fidelity && !is_numeric(scenario) &&
                    j < rep_fidelity_n_curves(scenario->fidelity);
             j++) {
            const RepFidelityCurve *curve =
                rep_fidelity_curve(scenario->fidelity, j);
            g_autofree char *n = g_strdup_printf("%u", curve->n_published);
            g_autofree char *same = g_strdup_printf("%u", curve->n_equal);

            if (curve->n_published > 0) {
                add_row(out, scenario->description->name, curve->column, n,
                        same, NULL);
            }
        }
    }
}

static void add_statements(const GPtrArray *statements, GString *out)
{
    if (!statements) {
        return;
    }
    g_string_append(
        out,
        "\n## Sentences of the text\n\nSentences that name a direction or "
        "a bound: the difference of the first result to the\nsecond, and "
        "the range of it that agrees with the sentence.\n\n"
        "| scenario | sentence | first | second | model | agrees in | | why "
        "not |\n| --- | --- | --- | --- | ---: | --- | --- | --- |\n");
    for (unsigned i = 0; i < statements->len; i++) {
        const RepStatement *it = statements->pdata[i];

        add_row(out, it->scenario, it->text, it->first, it->second, it->value,
                it->range, it->holds ? "agrees" : "does not agree", it->why,
                NULL);
    }
}

static const char *kind_of(const RepFidelityPoint *point, bool is_of_texts)
{
    if (*point->published == '\0') {
        return "";
    }
    if (is_of_texts) {
        return point->is_equal ? "same" : "differs";
    }
    return point->is_calibrated ? "calibrated" : "predicted";
}

static void add_points(const RepScenario *scenario, GString *out)
{
    const RepFidelity *fidelity = scenario->fidelity;
    bool has_measured = rep_fidelity_measured(fidelity)->count > 0;
    unsigned i;

    g_string_append_printf(
        out,
        "\n### %s: %s\n\n| curve | column | at | published | model | "
        "error %% | |%s\n| --- | --- | --- | ---: | ---: | ---: | --- |%s\n",
        scenario->description->name, scenario->description->plot->title,
        has_measured ? " measured | error % |" : "",
        has_measured ? " ---: | ---: |" : "");
    for (i = 0; i < rep_fidelity_n_points(fidelity); i++) {
        const RepFidelityPoint *point = rep_fidelity_point(fidelity, i);
        const RepFidelityCurve *curve =
            rep_fidelity_curve(fidelity, point->curve);
        g_autofree char *error = percent(point->published_mpct);
        g_autofree char *other = percent(point->measured_mpct);

        if (*point->published == '\0' && *point->measured == '\0') {
            continue;
        }
        if (has_measured) {
            add_row(out, curve->name, curve->column, point->x, point->published,
                    point->model, error,
                    kind_of(point, rep_fidelity_has_texts(fidelity)),
                    point->measured, other, NULL);
        } else {
            add_row(out, curve->name, curve->column, point->x, point->published,
                    point->model, error,
                    kind_of(point, rep_fidelity_has_texts(fidelity)), NULL);
        }
    }
}

static void add_part(const RepPartUse *use, GString *out)
{
    const TopoPart *part = use->part;
    const char *description = topo_part_description(part);
    unsigned i;

    g_string_append_printf(out, "\n### %s\n\n", topo_part_name(part));
    if (description) {
        g_string_append_printf(out, "%s. ", description);
    }
    g_string_append_printf(out, "Kind %s, used by ",
                           topo_part_kind_name(topo_part_kind(part)));
    for (i = 0; i < use->scenarios->len; i++) {
        g_string_append_printf(out, "%s%s", i > 0 ? ", " : "",
                               (const char *)use->scenarios->pdata[i]);
    }
    g_string_append(out, ".\n\n| parameter | value | source |\n"
                         "| --- | --- | --- |\n");
    for (i = 0; i < topo_part_n_values(part); i++) {
        g_auto(TopoPartValue) value = {0};

        topo_part_value(part, i, &value);
        if (value.text) {
            add_row(out, value.key, value.text,
                    value.source  ? value.source
                    : value.given ? "given without a source"
                                  : "default of the description",
                    NULL);
        }
    }
}

char *rep_report_to_markdown(const RepReport *report, const char *path,
                             GError **error)
{
    g_autoptr(GPtrArray) statements =
        path ? rep_statements_read(report, path, error) : NULL;
    GString *out = g_string_new(
        "# Fidelity\n\n"
        "`make fidelity` writes this page from the results in "
        "`results/baseline/`; do not\nedit it. Errors are in percent of the "
        "published value: the mean of their\nmagnitudes, the bias (their mean "
        "with signs), and the largest one with its place.\nEach scenario says "
        "where its published values come from, and in what units they\nare.\n\n");
    unsigned i;

    if (path && !statements) {
        g_string_free(out, TRUE);
        return NULL;
    }
    add_summary(report, out);
    add_curves(report, out);
    add_texts(report, out);
    add_statements(statements, out);
    g_string_append(out, "\n## Every published point\n");
    for (i = 0; i < rep_report_n_scenarios(report); i++) {
        const RepScenario *scenario = rep_report_scenario(report, i);

        if (scenario->fidelity &&
            (scenario->description->plot->published ||
             scenario->description->plot->measured->len > 0)) {
            add_points(scenario, out);
        }
    }
    g_string_append(out, "\n## Every parameter of every part\n");
    for (i = 0; i < rep_report_n_parts(report); i++) {
        add_part(rep_report_part(report, i), out);
    }
    return g_string_free(out, FALSE);
}
