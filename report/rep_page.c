/* SPDX-License-Identifier: MIT */
#include "rep_page.h"

#include <string.h>

#include "topo_units.h"

#include "rep_compare.h"
#include "rep_svg.h"
#include "table_pivot.h"

static const char style[] =
    ":root{color-scheme:light}\n"
    "html{background:#fff;color:#222;font:16px/1.55 \"Source Serif 4\","
    "Charter,\"Bitstream Charter\",Georgia,\"DejaVu Serif\",serif}\n"
    "body{max-width:66rem;margin:0 auto;padding:2.5rem 1.5rem 5rem}\n"
    "h1,h2,h3,nav,table,summary,.note,figcaption{font-family:system-ui,"
    "\"Helvetica Neue\",Arial,\"DejaVu Sans\",sans-serif}\n"
    "h1{font-size:2rem;line-height:1.2;margin:0 0 .4rem}\n"
    "h2{font-size:1.4rem;margin:3.5rem 0 .6rem;padding-top:.8rem;"
    "border-top:2px solid #1f3a5f;color:#1f3a5f}\n"
    "h3{font-size:1.05rem;margin:1.8rem 0 .5rem}\n"
    "p{max-width:44rem;margin:.5rem 0}\n"
    ".lead{color:#555;font-size:1.05rem}\n"
    "a{color:#0b5394;text-decoration:none}\n"
    "a:hover{text-decoration:underline}\n"
    "nav ol{columns:2;column-gap:3rem;padding-left:1.4rem;font-size:.92rem;"
    "line-height:1.7}\n"
    ".scroll{overflow-x:auto;margin:.6rem 0}\n"
    "table{border-collapse:collapse;font-size:.82rem;line-height:1.35;"
    "font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.22rem .7rem;text-align:left;vertical-align:top;"
    "border-bottom:1px solid #e4e4e4}\n"
    "thead th{border-bottom:1.5px solid #444;font-weight:600;"
    "white-space:nowrap}\n"
    "table{border-top:1.5px solid #444;border-bottom:1.5px solid #444}\n"
    "tr.total td{border-top:1.5px solid #444;font-weight:600}\n"
    ".n{text-align:right;white-space:nowrap}\n"
    ".k{white-space:nowrap}\n"
    ".calibrated{color:#8a5a00}\n"
    ".predicted{color:#0b6b3a}\n"
    ".measured{color:#6a2c91}\n"
    ".differs{background:#fde8e4}\n"
    ".note{background:#fff6dd;border-left:4px solid #e0a800;"
    "padding:.5rem .9rem;font-size:.9rem}\n"
    "figure{margin:1.2rem 0;overflow-x:auto}\n"
    "figure svg{max-width:100%;height:auto;display:block}\n"
    "figcaption{font-size:.85rem;color:#555;margin-top:.3rem}\n"
    "details{margin:.5rem 0}\n"
    "summary{cursor:pointer;font-size:.9rem;color:#0b5394}\n"
    "pre{font-size:.78rem;line-height:1.4;background:#f6f7f9;padding:.9rem;"
    "overflow-x:auto;border:1px solid #e4e4e4}\n"
    "footer{margin-top:4rem;color:#777;font-size:.85rem}\n"
    "@media print{details{display:block}}\n";

/* ---- Pieces ----------------------------------------------------------- */

static void add_text(GString *out, const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    g_autofree char *escaped = g_markup_escape_text(valid, -1);

    g_string_append(out, escaped);
}

/* <TAG CLASS>text</TAG>; @class (nullable) is ours, and needs no escape. */
static void add_element(GString *out, const char *tag, const char *class,
                        const char *text)
{
    g_string_append_printf(out, "<%s", tag);
    if (class != NULL) {
        g_string_append_printf(out, " class=\"%s\"", class);
    }
    g_string_append_c(out, '>');
    add_text(out, text);
    g_string_append_printf(out, "</%s>", tag);
}

static void add_number(GString *out, unsigned number)
{
    g_autofree char *text = g_strdup_printf("%u", number);

    add_element(out, "td", "n", text);
}

/* A true minus, and a plus where the sign is what matters. */
static void add_percent(GString *out, int64_t mpct, bool has_sign)
{
    g_autofree char *plain = mpct != TABLE_NONE
                                 ? table_number_print((ABS(mpct) + 5) / 10, 2)
                                 : g_strdup("");
    const char *sign = "";

    if (mpct != TABLE_NONE && has_sign && ABS(mpct) >= 5) {
        sign = mpct < 0 ? "\342\210\222" : "+";
    }
    g_string_append_printf(out, "<td class=\"n\">%s%s</td>", sign, plain);
}

/* A table begins with the names of its columns, of which those that begin with
 * "#" are to the right. */
static void begin_table(GString *out, const char *const *columns)
{
    g_string_append(out, "<div class=\"scroll\"><table><thead><tr>");
    for (; *columns != NULL; columns++) {
        bool is_number = **columns == '#';

        add_element(out, "th", is_number ? "n" : NULL, *columns + is_number);
    }
    g_string_append(out, "</tr></thead><tbody>\n");
}

static void end_table(GString *out)
{
    g_string_append(out, "</tbody></table></div>\n");
}

static void begin_details(GString *out, const char *summary)
{
    g_string_append(out, "<details>");
    add_element(out, "summary", NULL, summary);
    g_string_append_c(out, '\n');
}

static void add_table(GString *out, const Table *table)
{
    unsigned row, i;

    g_string_append(out, "<div class=\"scroll\"><table><thead><tr>");
    for (i = 0; i < table_n_columns(table); i++) {
        add_element(out, "th",
                    table_column_type(table, i) != TABLE_TEXT ? "n" : NULL,
                    table_column_name(table, i));
    }
    g_string_append(out, "</tr></thead><tbody>\n");
    for (row = 0; row < table_n_rows(table); row++) {
        g_string_append(out, "<tr>");
        for (i = 0; i < table_n_columns(table); i++) {
            g_autofree char *cell = table_dup_cell(table, row, i);

            add_element(out, "td",
                        table_column_type(table, i) != TABLE_TEXT ? "n" : NULL,
                        cell);
        }
        g_string_append(out, "</tr>\n");
    }
    end_table(out);
}

static const char *title_of(const RepScenario *scenario)
{
    const TopoDescription *description = scenario->description;

    return description->plot != NULL ? description->plot->title
                                     : description->name;
}

/* A table of ways and hops. */
static bool is_of_texts(const RepScenario *scenario)
{
    return scenario->fidelity != NULL &&
           rep_fidelity_has_texts(scenario->fidelity);
}

static bool has_published(const RepScenario *scenario)
{
    return scenario->fidelity != NULL &&
           scenario->description->plot->published != NULL;
}

/* ---- Fidelity --------------------------------------------------------- */

static const char *const kinds[] = {"calibrated", "predicted", "measured"};

static void add_errors(GString *out, const char *kind, const RepErrors *errors)
{
    if (errors->count == 0) {
        g_string_append(out, "<td></td><td></td><td></td><td></td><td></td>");
    } else {
        add_element(out, "td", kind, kind);
        add_number(out, errors->count);
        add_percent(out, errors->mean_mpct, false);
        add_percent(out, errors->bias_mpct, true);
        add_percent(out, errors->max_mpct, true);
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
        add_text(out, title_of(scenario));
        g_string_append(out, "</a></td>");
        add_errors(out, kinds[i], all[i]);
        g_string_append(out, "</tr>\n");
    }
}

static void add_summary(GString *out, const RepReport *report)
{
    static const char *const columns[] = {"experiment", "values",  "#points",
                                          "#mean %",    "#bias %", "#largest %",
                                          NULL};
    RepErrors totals[G_N_ELEMENTS(kinds)] = {0};
    unsigned i;

    g_string_append(
        out,
        "<section id=\"fidelity\"><h2>Fidelity</h2>\n"
        "<p>Errors are in percent of the published value: the mean of their "
        "magnitudes, the bias (their mean with signs) and the largest. A "
        "<span class=\"calibrated\">calibrated</span> value was used to choose "
        "numbers of the parts, so its error says how well the model can be "
        "fitted; a <span class=\"predicted\">predicted</span> one was not, and "
        "its error says how well the model predicts.</p>\n");
    begin_table(out, columns);
    for (i = 0; i < rep_report_n_scenarios(report); i++) {
        const RepScenario *scenario = rep_report_scenario(report, i);

        if (scenario->fidelity != NULL && !is_of_texts(scenario)) {
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
    end_table(out);
    g_string_append(out, "</section>\n");
}

/* The cell of an x: of @column, so perhaps a number of bytes. */
static void add_place(GString *out, const char *column, const char *x)
{
    int64_t bytes;
    unsigned digits;

    if (g_str_has_suffix(column, "_bytes") &&
        table_number_parse(x, &bytes, &digits) && digits == 0 && bytes > 0) {
        g_autofree char *text = topo_units_format(TOPO_UNIT_BYTES, bytes);

        add_element(out, "td", "n", text);
    } else {
        add_element(out, "td", "n", x);
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
    add_element(out, "td", "k", curve->name);
    add_errors(out, kind, errors);
    add_place(out, x_column, errors->max_x);
    if (curve->has_plateau &&
        strcmp(kind, curve->predicted.count > 0 ? "predicted" : "calibrated") ==
            0) {
        add_element(out, "td", "n", curve->plateau_published);
        add_element(out, "td", "n", curve->plateau_model);
        add_percent(out, curve->plateau_mpct, true);
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

static void add_curves(GString *out, const RepScenario *scenario)
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
    begin_table(out, columns);
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
    end_table(out);
}

static const char *kind_of(const RepFidelityPoint *point)
{
    if (*point->published == '\0') {
        return "";
    }
    return point->is_calibrated ? "calibrated" : "predicted";
}

static void add_points(GString *out, const RepScenario *scenario)
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
    begin_table(out, some);
    for (i = 0; i < rep_fidelity_n_points(fidelity); i++) {
        const RepFidelityPoint *point = rep_fidelity_point(fidelity, i);

        g_string_append(out, "<tr>");
        add_element(out, "td", "k",
                    rep_fidelity_curve(fidelity, point->curve)->name);
        add_place(out, x_column_of(scenario), point->x);
        add_element(out, "td", "n", point->model);
        add_element(out, "td", "n", point->published);
        add_percent(out, point->published_mpct, true);
        add_element(out, "td", kind_of(point), kind_of(point));
        if (has_measured) {
            add_element(out, "td", "n", point->measured);
            add_percent(out, point->measured_mpct, true);
        }
        g_string_append(out, "</tr>\n");
    }
    end_table(out);
}

/* ---- A scenario ------------------------------------------------------- */

/* What the head comment of the scenario says under @word, on one line; NULL if
 * nothing. The caller frees it. */
static char *head_words(const char *text, const char *word)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autofree char *begin = g_strdup_printf("# %s ", word);
    GString *words = NULL;
    unsigned i;

    for (i = 0; lines[i] != NULL && *lines[i] == '#'; i++) {
        if (words == NULL && g_str_has_prefix(lines[i], begin)) {
            words = g_string_new(g_strstrip(lines[i] + strlen(begin)));
        } else if (words != NULL && g_str_has_prefix(lines[i], "#   ")) {
            g_string_append_printf(words, " %s", g_strstrip(lines[i] + 1));
        } else if (words != NULL) {
            break;
        }
    }
    return words != NULL ? g_string_free(words, FALSE) : NULL;
}

static bool add_drawing(GString *out, const RepScenario *scenario,
                        const char *data, gsize length, const char *what,
                        const char *caption, GError **error)
{
    const char *name = scenario->description->name;
    g_autofree char *prefix = g_strdup_printf("%s-%s", name, what);
    g_autofree char *svg =
        rep_svg_inline(data, length, prefix, prefix, title_of(scenario), error);

    if (svg == NULL) {
        return false;
    }
    g_string_append_printf(out, "<figure>%s", svg);
    add_element(out, "figcaption", NULL, caption);
    g_string_append(out, "</figure>\n");
    return true;
}

static char *caption_of(const RepScenario *scenario)
{
    const TopoPlot *plot = scenario->description->plot;
    bool is_measured = plot != NULL && plot->measured->len > 0;
    bool is_lines = plot != NULL && plot->curves >= 0;
    GString *out = g_string_new("The model");

    if (has_published(scenario) || is_measured) {
        g_string_append(out, is_lines ? " (lines)" : " (full bars)");
    }
    if (has_published(scenario)) {
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

    if (scenario->description->text != NULL) {
        add_element(out, "p", "lead", scenario->description->text);
        g_string_append_c(out, '\n');
    }
    for (i = 0; scenario->text != NULL && i < G_N_ELEMENTS(words); i++) {
        g_autofree char *said = head_words(scenario->text, words[i]);

        if (said != NULL) {
            g_string_append_printf(out, "<p><strong>%s.</strong> ", words[i]);
            add_text(out, said);
            g_string_append(out, "</p>\n");
        }
    }
}

static void add_notes(GString *out, const RepScenario *scenario)
{
    const GPtrArray *changes = scenario->description->changes;
    unsigned i;

    if (scenario->is_stale) {
        g_string_append(out, "<p class=\"note\">These results were made by "
                             "another version of the scenario or its "
                             "parts.</p>\n");
    }
    for (i = 0; i < changes->len; i++) {
        const TopoChange *change = changes->pdata[i];
        g_autofree char *text =
            g_strdup_printf("Changed: %s = %s", topo_change_path(change),
                            topo_change_value(change));

        add_element(out, "p", "note", text);
        g_string_append_c(out, '\n');
    }
}

/* The point whose model is the cell; NULL if there is none. */
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

/* The whole table; where something else was published, both. */
static void add_hops(GString *out, const RepScenario *scenario)
{
    const Table *table = scenario->table;
    unsigned differ = 0;
    unsigned same = 0;
    unsigned x = scenario->description->plot->x;
    unsigned row, i;
    const char *const columns[] = {NULL};

    begin_table(out, columns);
    g_string_truncate(out, out->len - strlen("</tr></thead><tbody>\n"));
    for (i = 0; i < table_n_columns(table); i++) {
        add_element(out, "th",
                    table_column_type(table, i) != TABLE_TEXT ? "n" : NULL,
                    table_column_name(table, i));
    }
    g_string_append(out, "</tr></thead><tbody>\n");
    for (row = 0; row < table_n_rows(table); row++) {
        g_autofree char *at = table_dup_cell(table, row, x);

        g_string_append(out, "<tr>");
        for (i = 0; i < table_n_columns(table); i++) {
            g_autofree char *cell = table_dup_cell(table, row, i);
            const RepFidelityPoint *point =
                find_point(scenario->fidelity, table_column_name(table, i), at);
            bool is_number = table_column_type(table, i) != TABLE_TEXT;

            if (point == NULL || *point->published == '\0' || point->is_equal) {
                same += point != NULL && point->is_equal;
                add_element(out, "td",
                            is_number ? "n"
                            : i == 0  ? "k"
                                      : NULL,
                            cell);
            } else {
                g_autofree char *both = g_strdup_printf("%s (published %s)",
                                                        cell, point->published);

                differ++;
                add_element(out, "td", is_number ? "n differs" : "differs",
                            both);
            }
        }
        g_string_append(out, "</tr>\n");
    }
    end_table(out);
    g_string_append_printf(out,
                           "<p>%u published cells are the same, %u %s.</p>\n",
                           same, differ, differ == 1 ? "differs" : "differ");
}

/* One row an x, one column a curve. */
static void add_results(GString *out, const RepScenario *scenario)
{
    const TopoPlot *plot = scenario->description->plot;
    unsigned curves[2];
    unsigned count = 0;

    if (plot == NULL || plot->curves < 0) {
        add_table(out, scenario->table);
        return;
    }
    if (plot->panels >= 0) {
        curves[count++] = (unsigned)plot->panels;
    }
    curves[count++] = (unsigned)plot->curves;
    {
        g_autoptr(Table) pivot =
            table_pivot(scenario->table, plot->x, curves, count, plot->y);

        add_table(out, pivot);
    }
}

static void add_tables(GString *out, const RepScenario *scenario)
{
    bool is_measured = scenario->fidelity != NULL &&
                       rep_fidelity_measured(scenario->fidelity)->count > 0;

    if (is_of_texts(scenario)) {
        add_hops(out, scenario);
    } else {
        if (has_published(scenario) || is_measured) {
            g_string_append(out, "<h3>Errors</h3>\n");
            add_curves(out, scenario);
            begin_details(out, "Every point");
            add_points(out, scenario);
            g_string_append(out, "</details>\n");
        }
        begin_details(out, "The results as a table");
        add_results(out, scenario);
        g_string_append(out, "</details>\n");
    }
}

/* What limits each point: of all that was found out, what is said in words. */
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
    begin_table(out, columns);
    for (row = 0; row < table_n_rows(explain); row++) {
        g_autofree char *point = table_dup_cell(explain, row, at[0]);
        g_autofree char *record = table_dup_cell(explain, row, at[1]);
        g_autofree char *text = table_dup_cell(explain, row, at[2]);

        if (strcmp(record, "bottleneck") == 0) {
            g_string_append(out, "<tr>");
            add_element(out, "td", "k", point);
            add_element(out, "td", NULL, text);
            g_string_append(out, "</tr>\n");
        }
    }
    end_table(out);
}

static bool add_scenario(GString *out, const RepScenario *scenario,
                         GError **error)
{
    g_autofree char *caption = caption_of(scenario);

    g_string_append_printf(out, "<section id=\"%s\">",
                           scenario->description->name);
    add_element(out, "h2", NULL, title_of(scenario));
    g_string_append_c(out, '\n');
    add_claims(out, scenario);
    add_notes(out, scenario);
    if (scenario->plot != NULL &&
        !add_drawing(out, scenario, scenario->plot, scenario->plot_length,
                     "plot", caption, error)) {
        return false;
    }
    add_tables(out, scenario);
    if (scenario->waterfall != NULL || scenario->explain != NULL) {
        g_string_append(out, "<h3>Where the time goes</h3>\n");
    }
    if (scenario->waterfall != NULL &&
        !add_drawing(out, scenario, scenario->waterfall,
                     scenario->waterfall_length, "waterfall",
                     "What each element adds to the time on the way.", error)) {
        return false;
    }
    if (scenario->explain != NULL) {
        begin_details(out, "What limits each point");
        add_limits(out, scenario->explain);
        g_string_append(out, "</details>\n");
    }
    if (scenario->text != NULL) {
        begin_details(out, "The scenario");
        add_element(out, "pre", NULL, scenario->text);
        g_string_append(out, "</details>\n");
    }
    g_string_append(out, "</section>\n");
    return true;
}

/* ---- Parts ------------------------------------------------------------ */

static void add_part(GString *out, const RepPartUse *use)
{
    static const char *const columns[] = {"parameter", "value", "source", NULL};
    const char *description = topo_part_description(use->part);
    g_autofree char *summary = g_strdup_printf(
        "%s%s%s", topo_part_name(use->part), description != NULL ? ": " : "",
        description != NULL ? description : "");
    unsigned i;

    begin_details(out, summary);
    begin_table(out, columns);
    for (i = 0; i < topo_part_n_values(use->part); i++) {
        g_auto(TopoPartValue) value = {0};

        topo_part_value(use->part, i, &value);
        if (value.text == NULL) {
            continue;
        }
        g_string_append(out, "<tr>");
        add_element(out, "td", "k", value.key);
        add_element(out, "td", NULL, value.text);
        add_element(out, "td", NULL,
                    value.source != NULL ? value.source
                    : value.given        ? "given without a source"
                                         : "default of the description");
        g_string_append(out, "</tr>\n");
    }
    end_table(out);
    g_string_append(out, "</details>\n");
}

static void add_contents(GString *out, const RepReport *report)
{
    unsigned i;

    g_string_append(out, "<nav><ol>\n"
                         "<li><a href=\"#fidelity\">Fidelity</a></li>\n");
    for (i = 0; i < rep_report_n_scenarios(report); i++) {
        const RepScenario *scenario = rep_report_scenario(report, i);

        g_string_append_printf(out, "<li><a href=\"#%s\">",
                               scenario->description->name);
        add_text(out, title_of(scenario));
        g_string_append(out, "</a></li>\n");
    }
    g_string_append(out, "<li><a href=\"#parts\">The parts, and where their "
                         "numbers are from</a></li>\n</ol></nav>\n");
}

char *rep_page(const RepReport *report, const char *title, GError **error)
{
    g_autoptr(GString) out =
        g_string_new("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
                     "<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
                     "content=\"width=device-width, initial-scale=1\">\n");
    unsigned i;

    add_element(out, "title", NULL, title);
    g_string_append_printf(out, "\n<style>\n%s</style>\n</head>\n<body>\n",
                           style);
    add_element(out, "h1", NULL, title);
    g_string_append(out, "\n<p class=\"lead\">Simulated by farside " //
                    FARSIDE_VERSION
                         ", beside what was published and measured.</p>\n");
    add_contents(out, report);
    add_summary(out, report);
    for (i = 0; i < rep_report_n_scenarios(report); i++) {
        if (!add_scenario(out, rep_report_scenario(report, i), error)) {
            return NULL;
        }
    }
    g_string_append(out,
                    "<section id=\"parts\"><h2>Parts</h2>\n<p>Every parameter "
                    "of every part, with the source of its value. The same "
                    "part has the same numbers in all experiments.</p>\n");
    for (i = 0; i < rep_report_n_parts(report); i++) {
        add_part(out, rep_report_part(report, i));
    }
    g_string_append(out, "</section>\n</body>\n</html>\n");
    return g_string_free(g_steal_pointer(&out), FALSE);
}
