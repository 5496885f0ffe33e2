/* SPDX-License-Identifier: MIT */
#include "rep_page_priv.h"

#include <string.h>

#include "rep_html_priv.h"
#include "topo_units.h"

static const char *const kinds[] = {"calibrated", "predicted", "measured"};

static void add_errors(GString *out, const char *kind, const RepErrors *errors)
{
    if (errors->count == 0) {
        g_string_append(out, "<td></td><td></td><td></td><td></td><td></td>");
    } else {
        rep_html_add_element(out, "td", kind, kind);
        rep_html_add_number(out, errors->count);
        rep_html_add_percent(out, errors->mean_mpct, false);
        rep_html_add_percent(out, errors->bias_mpct, true);
        rep_html_add_percent(out, errors->max_mpct, true);
    }
}

static void add_summary_rows(GString *out, const RepScenario *scenario,
                             RepErrors *totals)
{
    const RepErrors *all[] = {
        rep_fidelity_calibrated(scenario->fidelity),
        rep_fidelity_predicted(scenario->fidelity),
        rep_fidelity_measured(scenario->fidelity),
    };
    const char *name = scenario->description->name;
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(all); i++) {
        if (all[i]->count == 0) {
            continue;
        }
        rep_errors_add(&totals[i], all[i]);
        g_string_append_printf(out, "<tr><td><a href=\"#%s\">", name);
        rep_html_add_text(out, rep_scenario_title(scenario));
        g_string_append(out, "</a></td>");
        add_errors(out, kinds[i], all[i]);
        g_string_append(out, "</tr>\n");
    }
}

void rep_page_add_summary(GString *out, const RepReport *report)
{
    static const char *const columns[] = {"experiment", "values",  "#points",
                                          "#mean %",    "#bias %", "#largest %",
                                          NULL};
    RepErrors totals[G_N_ELEMENTS(kinds)] = {0};
    unsigned i;

    rep_html_begin_table(out, columns);
    for (i = 0; i < rep_report_n_scenarios(report); i++) {
        const RepScenario *scenario = rep_report_scenario(report, i);

        if (scenario->fidelity && !rep_scenario_has_texts(scenario)) {
            add_summary_rows(out, scenario, totals);
        }
    }
    for (i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (totals[i].count > 0) {
            g_string_append(out, "<tr class=\"total\"><td>All</td>");
            add_errors(out, kinds[i], &totals[i]);
            g_string_append(out, "</tr>\n");
        }
    }
    rep_html_end_table(out);
}

/* Adds a cell with @x, a value of @column. It may be a number of bytes. */
static void add_place(GString *out, const char *column, const char *x)
{
    int64_t bytes;
    unsigned digits;

    if (g_str_has_suffix(column, "_bytes") &&
        table_number_parse(x, &bytes, &digits) && digits == 0 && bytes > 0) {
        g_autofree char *text = topo_units_format(TOPO_UNIT_BYTES, bytes);

        rep_html_add_element(out, "td", "n", text);
    } else {
        rep_html_add_element(out, "td", "n", x);
    }
}

static const char *x_column_of(const RepScenario *scenario)
{
    const TopoDescription *description = scenario->description;
    const TopoColumn *column =
        description->columns->pdata[description->plot->x];

    return column->name;
}

static void add_curve_row(GString *out, const char *x_column,
                          const RepFidelityCurve *curve, const char *kind,
                          const RepErrors *errors, bool with_plateaus)
{
    g_string_append(out, "<tr>");
    rep_html_add_element(out, "td", "k", curve->name);
    add_errors(out, kind, errors);
    add_place(out, x_column, errors->max_x);
    if (curve->has_plateau &&
        strcmp(kind, curve->predicted.count > 0 ? "predicted" : "calibrated") ==
            0) {
        rep_html_add_element(out, "td", "n", curve->plateau_published);
        rep_html_add_element(out, "td", "n", curve->plateau_model);
        rep_html_add_percent(out, curve->plateau_mpct, true);
    } else if (with_plateaus) {
        g_string_append(out, "<td></td><td></td><td></td>");
    }
    g_string_append(out, "</tr>\n");
}

static bool has_plateaus(const RepFidelity *fidelity)
{
    unsigned i;

    for (i = 0; i < rep_fidelity_n_curves(fidelity); i++) {
        if (rep_fidelity_curve(fidelity, i)->has_plateau) {
            return true;
        }
    }
    return false;
}

void rep_page_add_curves(GString *out, const RepScenario *scenario)
{
    const char *columns[] = {
        "curve",   "values",     "#points", "#mean %",
        "#bias %", "#largest %", "#at",     "#plateau published",
        "#model",  "#error %",   NULL,
    };
    bool with_plateaus = has_plateaus(scenario->fidelity);
    unsigned i;

    if (!with_plateaus) {
        columns[7] = NULL;
    }
    rep_html_begin_table(out, columns);
    for (i = 0; i < rep_fidelity_n_curves(scenario->fidelity); i++) {
        const RepFidelityCurve *curve =
            rep_fidelity_curve(scenario->fidelity, i);
        const RepErrors *all[] = {&curve->calibrated, &curve->predicted,
                                  &curve->measured};
        unsigned j;

        for (j = 0; j < G_N_ELEMENTS(all); j++) {
            if (all[j]->count > 0) {
                add_curve_row(out, x_column_of(scenario), curve, kinds[j],
                              all[j], with_plateaus);
            }
        }
    }
    rep_html_end_table(out);
}

static const char *kind_of(const RepFidelityPoint *point)
{
    if (*point->published == '\0') {
        return "";
    }
    return point->is_calibrated ? "calibrated" : "predicted";
}

void rep_page_add_points(GString *out, const RepScenario *scenario)
{
    static const char *const columns[] = {
        "curve",  "at",        "#model",   "#published", "#error %",
        "values", "#measured", "#error %", NULL,
    };
    const char *some[G_N_ELEMENTS(columns)] = {NULL};
    const RepFidelity *fidelity = scenario->fidelity;
    bool has_measured = rep_fidelity_measured(fidelity)->count > 0;
    unsigned i;

    memcpy(some, columns, sizeof(columns));
    if (!has_measured) {
        some[6] = NULL;
    }
    rep_html_begin_table(out, some);
    for (i = 0; i < rep_fidelity_n_points(fidelity); i++) {
        const RepFidelityPoint *point = rep_fidelity_point(fidelity, i);

        g_string_append(out, "<tr>");
        rep_html_add_element(out, "td", "k",
                             rep_fidelity_curve(fidelity, point->curve)->name);
        add_place(out, x_column_of(scenario), point->x);
        rep_html_add_element(out, "td", "n", point->model);
        rep_html_add_element(out, "td", "n", point->published);
        rep_html_add_percent(out, point->published_mpct, true);
        rep_html_add_element(out, "td", kind_of(point), kind_of(point));
        if (has_measured) {
            rep_html_add_element(out, "td", "n", point->measured);
            rep_html_add_percent(out, point->measured_mpct, true);
        }
        g_string_append(out, "</tr>\n");
    }
    rep_html_end_table(out);
}
