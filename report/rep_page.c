/* SPDX-License-Identifier: MIT */
#include "rep_page.h"

#include <string.h>

#include <gio/gio.h>

#include "rep_html_priv.h"
#include "rep_page_priv.h"
#include "rep_resources.h"

static void add_part(GString *out, const RepPartUse *use)
{
    static const char *const columns[] = {"parameter", "value", "source", NULL};
    const char *description = topo_part_description(use->part);
    g_autofree char *summary = g_strdup_printf(
        "%s%s%s", topo_part_name(use->part), description ? ": " : "",
        description ? description : "");
    unsigned i;

    rep_html_begin_details(out, summary);
    rep_html_begin_table(out, columns);
    for (i = 0; i < topo_part_n_values(use->part); i++) {
        g_auto(TopoPartValue) value = {0};

        topo_part_value(use->part, i, &value);
        if (!value.text) {
            continue;
        }
        g_string_append(out, "<tr>");
        rep_html_add_element(out, "td", "k", value.key);
        rep_html_add_element(out, "td", NULL, value.text);
        rep_html_add_element(out, "td", NULL,
                             value.source  ? value.source
                             : value.given ? "given without a source"
                                           : "default of the description");
        g_string_append(out, "</tr>\n");
    }
    rep_html_end_table(out);
    g_string_append(out, "</details>\n");
}

static void add_parts(GString *out, const RepReport *report)
{
    unsigned i;

    for (i = 0; i < rep_report_n_parts(report); i++) {
        add_part(out, rep_report_part(report, i));
    }
}

static void add_contents(GString *out, const RepReport *report)
{
    unsigned i;

    for (i = 0; i < rep_report_n_scenarios(report); i++) {
        const RepScenario *scenario = rep_report_scenario(report, i);

        g_string_append_printf(out, "<li><a href=\"#%s\">",
                               scenario->description->name);
        rep_html_add_text(out, rep_scenario_title(scenario));
        g_string_append(out, "</a></li>\n");
    }
}

static bool add_scenarios(GString *out, const RepReport *report, GError **error)
{
    unsigned i;

    for (i = 0; i < rep_report_n_scenarios(report); i++) {
        if (!rep_page_add_scenario(out, rep_report_scenario(report, i),
                                   error)) {
            return false;
        }
    }
    return true;
}

/* HTML that replaces "@NAME@" in the template. */
typedef struct Field {
    const char *name;
    const char *html;
} Field;

/* Replaces the @fields in the template. The inserted HTML is not searched
 * again, so it may hold any text. */
static char *fill_template(const char *template, const Field *fields,
                           unsigned n_fields)
{
    g_auto(GStrv) pieces = g_strsplit(template, "@", -1);
    GString *page = g_string_new(pieces[0]);
    unsigned i, j;

    /* Pieces with even index are text, those with odd index are names. */
    for (i = 1; pieces[i]; i++) {
        for (j = 0; i % 2 == 1 && j < n_fields; j++) {
            if (strcmp(pieces[i], fields[j].name) == 0) {
                g_string_append(page, fields[j].html);
            }
        }
        g_string_append(page, i % 2 == 0 ? pieces[i] : "");
    }
    return g_string_free(page, FALSE);
}

/* Returns a file that is built into the program. GResource puts a NUL behind
 * the data, so it can be read as a string. */
static GBytes *find_resource(const char *path)
{
    GBytes *bytes = g_resource_lookup_data(rep_resources_get_resource(), path,
                                           G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);

    g_assert(bytes);
    return bytes;
}

char *rep_page(const RepReport *report, const char *title, GError **error)
{
    g_autoptr(GBytes) template = find_resource("/farside/report/page.html");
    g_autoptr(GBytes) style = find_resource("/farside/report/page.css");
    g_autoptr(GString) heading = g_string_new(NULL);
    g_autoptr(GString) contents = g_string_new(NULL);
    g_autoptr(GString) fidelity = g_string_new(NULL);
    g_autoptr(GString) scenarios = g_string_new(NULL);
    g_autoptr(GString) parts = g_string_new(NULL);

    rep_html_add_text(heading, title);
    add_contents(contents, report);
    rep_page_add_summary(fidelity, report);
    add_parts(parts, report);
    if (!add_scenarios(scenarios, report, error)) {
        return NULL;
    }
    {
        const Field fields[] = {
            {"TITLE", heading->str},
            {"VERSION", FARSIDE_VERSION},
            {"CONTENTS", contents->str},
            {"FIDELITY", fidelity->str},
            {"PARTS", parts->str},
            {"SCENARIOS", scenarios->str},
            {"STYLE", g_bytes_get_data(style, NULL)},
        };

        return fill_template(g_bytes_get_data(template, NULL), fields,
                             G_N_ELEMENTS(fields));
    }
}
