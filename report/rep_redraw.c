/* SPDX-License-Identifier: MIT */
#include "rep_redraw.h"

#include <string.h>

#include "rep_measured.h"
#include "table_csv.h"
#include "topo_units.h"

#define WIDTH_LEAST 40 /* mm */
#define WIDTH_MOST  1000
#define FONT_LEAST  4 /* points */
#define FONT_MOST   40

static bool parse_range(char axis, const char *text, RepRange *range,
                        GError **error)
{
    return !text || topo_units_parse_range(text, &range->least, &range->most) ||
           topo_refuse_option(
               error, "--%c-range takes LEAST:MOST, such as 0:64", axis);
}

bool rep_redraw_parse(RepRedraw *redraw, GError **error)
{
    double width = redraw->look.width_mm, font = redraw->look.font_pt;
    const char *prefix = redraw->prefix;

    if (width != 0 && !(width >= WIDTH_LEAST && width <= WIDTH_MOST)) {
        return topo_refuse_option(error, "--width takes %d to %d millimetres",
                                  WIDTH_LEAST, WIDTH_MOST);
    }
    if (font != 0 && !(font >= FONT_LEAST && font <= FONT_MOST)) {
        return topo_refuse_option(error, "--font-size takes %d to %d points",
                                  FONT_LEAST, FONT_MOST);
    }
    if (!parse_range('x', redraw->x_range, &redraw->look.x_range, error) ||
        !parse_range('y', redraw->y_range, &redraw->look.y_range, error)) {
        return false;
    }
    return !prefix || (*prefix && !g_str_has_suffix(prefix, "/")) ||
           topo_refuse_option(
               error, "--output takes the beginning of a file's name, such "
                      "as figures/fig12");
}

/* Reads what is drawn. NULL and @error if a file is wrong. */
static TopoDescription *read_all(const char *file, Table **ret_model,
                                 Table **ret_published, Table **ret_measured,
                                 GError **error)
{
    g_autoptr(TopoDescription) description = NULL;
    GError *cause = NULL;

    *ret_model = table_read(file, error);
    description =
        *ret_model ? rep_result_scenario(*ret_model, file, error) : NULL;
    if (!description) {
        return NULL;
    }
    if (description->plot->published) {
        *ret_published = table_read(description->plot->published, error);
        if (!*ret_published) {
            return NULL;
        }
    }
    *ret_measured = rep_measured_read(description, &cause);
    if (cause) {
        g_propagate_error(error, cause);
        return NULL;
    }
    return g_steal_pointer(&description);
}

char *rep_redraw(const RepRedraw *redraw, const char *file, bool *ret_is_input,
                 GError **error)
{
    g_autoptr(Table) model = NULL;
    g_autoptr(Table) published = NULL;
    g_autoptr(Table) measured = NULL;
    g_autoptr(TopoDescription) description =
        read_all(file, &model, &published, &measured, error);
    const RepResult result = {description, model, published, measured};
    size_t stem = strlen(file) - (g_str_has_suffix(file, ".csv") ? 4 : 0);
    g_autofree char *prefix =
        redraw->prefix ? g_strdup(redraw->prefix) : g_strndup(file, stem);
    GError *cause = NULL;
    GString *paths;

    *ret_is_input = !description;
    if (!description) {
        return NULL;
    }
    if (!rep_result_draw(&result, prefix, &redraw->look, &cause)) {
        *ret_is_input = g_error_matches(cause, TABLE_ERROR, TABLE_ERROR_VALUE);
        g_propagate_error(error, cause);
        return NULL;
    }
    paths = g_string_new(NULL);
    g_string_append_printf(paths, "%s.svg, %s.png", prefix, prefix);
    if (redraw->look.pdf) {
        g_string_append_printf(paths, ", %s.pdf", prefix);
    }
    if (redraw->look.tex) {
        g_string_append_printf(paths, ", %s.tex", prefix);
    }
    return g_string_free(paths, FALSE);
}
