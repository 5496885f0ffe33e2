/* SPDX-License-Identifier: MIT */
#include "rep_page_priv.h"

#include <string.h>

#include "rep_html_priv.h"
#include "rep_svg_priv.h"
#include "table_pivot.h"

/* Returns the paragraph that begins with @word in the head comment of the
 * scenario, as one line. Returns NULL if there is none. The caller frees it. */
static char *head_words(const char *text, const char *word)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autofree char *begin = g_strdup_printf("# %s ", word);
    GString *words = NULL;
    unsigned i;

    for (i = 0; lines[i] && *lines[i] == '#'; i++) {
        if (!words && g_str_has_prefix(lines[i], begin)) {
            words = g_string_new(g_strstrip(lines[i] + strlen(begin)));
        } else if (words && g_str_has_prefix(lines[i], "#   ")) {
            g_string_append_printf(words, " %s", g_strstrip(lines[i] + 1));
        } else if (words) {
            break;
        }
    }
    return words ? g_string_free(words, FALSE) : NULL;
}

static bool add_drawing(GString *out, const RepScenario *scenario,
                        const char *data, gsize length, const char *what,
                        const char *caption, GError **error)
{
    g_autofree char *name =
        g_strdup_printf("%s-%s", scenario->description->name, what);
    g_autofree char *uri = rep_svg_to_uri(data, length, name, error);

    if (!uri) {
        return false;
    }
    g_string_append(out, "<figure><img alt=\"");
    rep_html_add_text(out, rep_scenario_title(scenario));
    g_string_append_printf(out, "\" src=\"%s\"/>", uri);
    rep_html_add_element(out, "figcaption", NULL, caption);
    g_string_append(out, "</figure>\n");
    return true;
}

static char *caption_of(const RepScenario *scenario)
{
    const TopoPlot *plot = scenario->description->plot;
    bool is_measured = plot && plot->measured->len > 0;
    bool is_lines = plot && plot->curves >= 0;
    GString *out = g_string_new("The model");

    if (rep_scenario_has_published(scenario) || is_measured) {
        g_string_append(out, is_lines ? " (lines)" : " (full bars)");
    }
    if (rep_scenario_has_published(scenario)) {
        g_string_append(out, is_lines
                                 ? " and the published values (points)"
                                 : " and the published values (pale bars)");
    }
    if (is_measured) {
        g_string_append(out, is_lines ? ", and what was measured (crosses)"
                                      : ", and what was measured (palest "
                                        "bars)");
    }
    g_string_append_c(out, '.');
    return g_string_free(out, FALSE);
}

static void add_claims(GString *out, const RepScenario *scenario)
{
    static const char *const words[] = {"Claim", "Expect"};
    unsigned i;

    if (scenario->description->text) {
        rep_html_add_element(out, "p", "lead", scenario->description->text);
        g_string_append_c(out, '\n');
    }
    for (i = 0; scenario->text && i < G_N_ELEMENTS(words); i++) {
        g_autofree char *said = head_words(scenario->text, words[i]);

        if (said) {
            g_string_append_printf(out, "<p><strong>%s.</strong> ", words[i]);
            rep_html_add_text(out, said);
            g_string_append(out, "</p>\n");
        }
    }
}

static void add_notes(GString *out, const RepScenario *scenario)
{
    const GPtrArray *changes = scenario->description->changes;
    unsigned i;

    for (i = 0; i < changes->len; i++) {
        const TopoChange *change = changes->pdata[i];
        g_autofree char *text =
            g_strdup_printf("Changed: %s = %s", topo_change_path(change),
                            topo_change_value(change));

        rep_html_add_element(out, "p", "note", text);
        g_string_append_c(out, '\n');
    }
}

/* Returns the point of @column at @x; NULL if there is none. */
static const RepFidelityPoint *find_point(const RepFidelity *fidelity,
                                          const char *column, const char *x)
{
    unsigned i;

    for (i = 0; i < rep_fidelity_n_points(fidelity); i++) {
        const RepFidelityPoint *point = rep_fidelity_point(fidelity, i);

        if (strcmp(point->x, x) == 0 &&
            strcmp(rep_fidelity_curve(fidelity, point->curve)->column,
                   column) == 0) {
            return point;
        }
    }
    return NULL;
}

/* Adds the whole table. A cell that differs from the published one shows
 * both. */
static void add_hops(GString *out, const RepScenario *scenario)
{
    const Table *table = scenario->table;
    unsigned differ = 0;
    unsigned same = 0;
    unsigned x = scenario->description->plot->x;
    unsigned row, i;

    rep_html_begin_table_like(out, table);
    for (row = 0; row < table_n_rows(table); row++) {
        g_autofree char *at = table_dup_cell(table, row, x);

        g_string_append(out, "<tr>");
        for (i = 0; i < table_n_columns(table); i++) {
            g_autofree char *cell = table_dup_cell(table, row, i);
            const RepFidelityPoint *point =
                find_point(scenario->fidelity, table_column_name(table, i), at);
            bool is_number = table_column_type(table, i) != TABLE_TEXT;

            if (!point || *point->published == '\0' || point->is_equal) {
                same += point && point->is_equal;
                rep_html_add_element(out, "td",
                                     is_number ? "n"
                                     : i == 0  ? "k"
                                               : NULL,
                                     cell);
            } else {
                g_autofree char *both = g_strdup_printf("%s (published %s)",
                                                        cell, point->published);

                differ++;
                rep_html_add_element(out, "td",
                                     is_number ? "n differs" : "differs", both);
            }
        }
        g_string_append(out, "</tr>\n");
    }
    rep_html_end_table(out);
    g_string_append_printf(out,
                           "<p>%u published cells are the same, %u %s.</p>\n",
                           same, differ, differ == 1 ? "differs" : "differ");
}

/* Adds a table with a row for each x and a column for each curve. */
static void add_results(GString *out, const RepScenario *scenario)
{
    const TopoPlot *plot = scenario->description->plot;
    unsigned curves[2];
    unsigned count = 0;

    if (!plot || plot->curves < 0) {
        rep_html_add_table(out, scenario->table);
        return;
    }
    if (plot->panels >= 0) {
        curves[count++] = (unsigned)plot->panels;
    }
    curves[count++] = (unsigned)plot->curves;
    {
        g_autoptr(Table) pivot =
            table_pivot(scenario->table, plot->x, curves, count, plot->y);

        rep_html_add_table(out, pivot ? pivot : scenario->table);
    }
}

static void add_tables(GString *out, const RepScenario *scenario)
{
    bool is_measured = scenario->fidelity &&
                       rep_fidelity_measured(scenario->fidelity)->count > 0;

    if (rep_scenario_has_texts(scenario)) {
        add_hops(out, scenario);
    } else {
        if (rep_scenario_has_published(scenario) || is_measured) {
            g_string_append(out, "<h3>Errors</h3>\n");
            rep_page_add_curves(out, scenario);
            rep_html_begin_details(out, "Every point");
            rep_page_add_points(out, scenario);
            g_string_append(out, "</details>\n");
        }
        rep_html_begin_details(out, "The results as a table");
        add_results(out, scenario);
        g_string_append(out, "</details>\n");
    }
}

/* Adds the bottleneck of each point as a sentence. */
static void add_limits(GString *out, const Table *explain)
{
    static const char *const names[] = {"point", "record", "text"};
    static const char *const columns[] = {"point", "what limits it", NULL};
    unsigned at[G_N_ELEMENTS(names)];
    unsigned row, i;

    for (i = 0; i < G_N_ELEMENTS(names); i++) {
        if (!table_find_column(explain, names[i], &at[i])) {
            return;
        }
    }
    rep_html_begin_table(out, columns);
    for (row = 0; row < table_n_rows(explain); row++) {
        g_autofree char *point = table_dup_cell(explain, row, at[0]);
        g_autofree char *record = table_dup_cell(explain, row, at[1]);
        g_autofree char *text = table_dup_cell(explain, row, at[2]);

        if (strcmp(record, "bottleneck") == 0) {
            g_string_append(out, "<tr>");
            rep_html_add_element(out, "td", "k", point);
            rep_html_add_element(out, "td", NULL, text);
            g_string_append(out, "</tr>\n");
        }
    }
    rep_html_end_table(out);
}

bool rep_page_add_scenario(GString *out, const RepScenario *scenario,
                           GError **error)
{
    g_autofree char *caption = caption_of(scenario);

    g_string_append_printf(out, "<section id=\"%s\">",
                           scenario->description->name);
    rep_html_add_element(out, "h2", NULL, rep_scenario_title(scenario));
    g_string_append_c(out, '\n');
    add_claims(out, scenario);
    add_notes(out, scenario);
    if (scenario->plot &&
        !add_drawing(out, scenario, scenario->plot, scenario->plot_length,
                     "plot", caption, error)) {
        return false;
    }
    add_tables(out, scenario);
    if (scenario->waterfall || scenario->explain) {
        g_string_append(out, "<h3>Where the time goes</h3>\n");
    }
    if (scenario->waterfall &&
        !add_drawing(out, scenario, scenario->waterfall,
                     scenario->waterfall_length, "waterfall",
                     "What each element adds to the time on the way.", error)) {
        return false;
    }
    if (scenario->explain) {
        rep_html_begin_details(out, "What limits each point");
        add_limits(out, scenario->explain);
        g_string_append(out, "</details>\n");
    }
    if (scenario->text) {
        rep_html_begin_details(out, "The scenario");
        rep_html_add_element(out, "pre", NULL, scenario->text);
        g_string_append(out, "</details>\n");
    }
    g_string_append(out, "</section>\n");
    return true;
}
