/* SPDX-License-Identifier: MIT */
#include "rep_waterfall.h"

#include "rep_waterfall.h"

#include <math.h>
#include <string.h>

#include "rep_gnuplot_priv.h"
#include "table_file.h"

/* Measures in pixels of the SVG; the PNG has twice as many. */
#define PANEL_WIDTH     430
#define BAR_HEIGHT      24
#define MARGIN_TOP      30 /* above a panel, for its name */
#define MARGIN_BOTTOM   52
#define MARGIN_RIGHT    24
#define GAP             34
#define TITLE_HEIGHT    36
#define LEGEND_LINE     24
#define CHARACTER_WIDTH 7
#define LABEL_MOST      46 /* most characters of a bar's name */
#define LINES_ALONG     5  /* most lines along the x axis */

/* Times are in ps. */
#define NS INT64_C(1000)
#define US (1000 * NS)
#define MS (1000 * US)

/* The colours of Okabe and Ito, followed by paler ones. */
static const char *const palette[] = {
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C6D31",
    "#000000", "#F0E442", "#B0B0B0", "#7FB8D8", "#EAAF7F", "#7FCEB9", "#E5BCD3",
};

typedef struct Sheet {
    const Table *table;
    TableSegments known;          /* nullable */
    GPtrArray *panels, *segments; /* of const char *; borrowed */
    GPtrArray **bars; /* of const char *, one array for each panel; borrowed */
    bool is_shared;   /* all panels have the same bars */
    unsigned rows;    /* number of bars in the panel with the most */
    unsigned label_width, width, height, legend_height, per_line;
    GString *script;
} Sheet;

static const char *color_of(const Sheet *sheet, unsigned segment)
{
    for (unsigned i = 0; sheet->known && sheet->known[i]; i++) {
        if (strcmp(sheet->known[i], sheet->segments->pdata[segment]) == 0) {
            return palette[i % G_N_ELEMENTS(palette)];
        }
    }
    return palette[segment % G_N_ELEMENTS(palette)];
}

/* Returns the index of @text in @texts. Adds it if it is new. */
static unsigned index_of(GPtrArray *texts, const char *text)
{
    for (unsigned i = 0; i < texts->len; i++) {
        if (strcmp(texts->pdata[i], text) == 0) {
            return i;
        }
    }
    g_ptr_array_add(texts, (void *)text);
    return texts->len - 1;
}

/* Returns the index of the row's bar in its panel. */
static unsigned bar_of(const Sheet *sheet, unsigned row)
{
    unsigned panel = index_of(
        sheet->panels, table_text(sheet->table, row, TABLE_WATERFALL_PANEL));

    return index_of(sheet->bars[panel],
                    table_text(sheet->table, row, TABLE_WATERFALL_BAR));
}

/* Quotes @text and shortens it to LABEL_MOST characters. */
static char *quote(const char *text)
{
    g_autofree char *head = NULL;
    g_autofree char *shorter = NULL;

    if (g_utf8_strlen(text, -1) <= LABEL_MOST) {
        return rep_gnuplot_quote(text);
    }
    head = g_utf8_substring(text, 0, LABEL_MOST - 1);
    shorter = g_strconcat(head, "…", NULL);
    return rep_gnuplot_quote(shorter);
}

static void sheet_read(Sheet *sheet)
{
    unsigned count = table_n_rows(sheet->table);

    for (unsigned i = 0; i < count; i++) {
        index_of(sheet->panels,
                 table_text(sheet->table, i, TABLE_WATERFALL_PANEL));
        index_of(sheet->segments,
                 table_text(sheet->table, i, TABLE_WATERFALL_SEGMENT));
    }
    sheet->bars = g_new0(GPtrArray *, sheet->panels->len);
    for (unsigned i = 0; i < sheet->panels->len; i++) {
        sheet->bars[i] = g_ptr_array_new();
    }
    for (unsigned i = 0; i < count; i++) {
        bar_of(sheet, i);
    }
    sheet->is_shared = true;
    for (unsigned i = 0; i < sheet->panels->len; i++) {
        sheet->rows = MAX(sheet->rows, sheet->bars[i]->len);
        sheet->is_shared &= sheet->bars[i]->len == sheet->bars[0]->len;
        for (unsigned j = 0; sheet->is_shared && j < sheet->bars[i]->len; j++) {
            sheet->is_shared =
                strcmp(sheet->bars[i]->pdata[j], sheet->bars[0]->pdata[j]) == 0;
        }
    }
}

static void sheet_done(Sheet *sheet)
{
    for (unsigned i = 0; sheet->bars && i < sheet->panels->len; i++) {
        g_ptr_array_unref(sheet->bars[i]);
    }
    g_free(sheet->bars);
    g_ptr_array_unref(sheet->panels);
    g_ptr_array_unref(sheet->segments);
    if (sheet->script) {
        g_string_free(sheet->script, TRUE);
    }
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Sheet, sheet_done)

/* Returns the left edge of a panel, in pixels. */
static unsigned panel_left(const Sheet *sheet, unsigned panel)
{
    unsigned labels = sheet->is_shared ? 1 : panel + 1;

    return labels * sheet->label_width + panel * (PANEL_WIDTH + GAP);
}

static void sheet_lay_out(Sheet *sheet)
{
    glong longest = 0, segment = 0;
    unsigned lines;

    for (unsigned i = 0; i < sheet->panels->len; i++) {
        for (unsigned j = 0; j < sheet->bars[i]->len; j++) {
            longest = MAX(longest, g_utf8_strlen(sheet->bars[i]->pdata[j], -1));
        }
    }
    for (unsigned i = 0; i < sheet->segments->len; i++) {
        segment = MAX(segment, g_utf8_strlen(sheet->segments->pdata[i], -1));
    }
    sheet->label_width = 24 + MIN(longest, LABEL_MOST) * CHARACTER_WIDTH;
    sheet->width =
        panel_left(sheet, sheet->panels->len - 1) + PANEL_WIDTH + MARGIN_RIGHT;
    sheet->per_line = MAX(1, sheet->width / ((segment + 6) * CHARACTER_WIDTH));
    lines = (sheet->segments->len + sheet->per_line - 1) / sheet->per_line;
    sheet->legend_height = lines * LEGEND_LINE + 10;
    sheet->height = TITLE_HEIGHT + MARGIN_TOP + (sheet->rows + 1) * BAR_HEIGHT +
                    MARGIN_BOTTOM + sheet->legend_height;
}

static void emit_head(Sheet *sheet, const char *title, const char *terminal)
{
    g_autofree char *text = quote(title);

    rep_gnuplot_begin(sheet->script, terminal, sheet->width, sheet->height, 0);
    g_string_append(
        sheet->script,
        "set border 1 lc rgb '" REP_GNUPLOT_INK "' lw 1\n"
        "set tics nomirror out scale 0.6 textcolor rgb '" REP_GNUPLOT_INK "'\n"
        "set grid noxtics xtics noytics lt 1 lw 0.8 lc rgb '" REP_GNUPLOT_GRID
        "'\n"
        "set style fill solid 1.0 noborder\n"
        "set key off\nset multiplot\n");
    rep_gnuplot_add_title(sheet->script, terminal, text, 0.5,
                          1.0 - TITLE_HEIGHT * 0.55 / sheet->height);
}

/* Returns a step of 1, 2 or 5 times a power of ten. */
static double choose_step(double span)
{
    double power = pow(10, floor(log10(span / LINES_ALONG)));

    if (power * LINES_ALONG >= span) {
        return power;
    }
    if (2 * power * LINES_ALONG >= span) {
        return 2 * power;
    }
    return 5 * power * LINES_ALONG >= span ? 5 * power : 10 * power;
}

/* Returns the end of the longest bar in @panel, in ps. */
static int64_t panel_end(const Sheet *sheet, unsigned panel)
{
    int64_t end = 1;

    for (unsigned i = 0; i < table_n_rows(sheet->table); i++) {
        if (strcmp(table_text(sheet->table, i, TABLE_WATERFALL_PANEL),
                   sheet->panels->pdata[panel]) == 0) {
            end = MAX(end, table_number(sheet->table, i, TABLE_WATERFALL_TO));
        }
    }
    return end;
}

/* Emits a block of rectangles for each kind of segment. Appends the names of
 * blocks that are not empty to @plots. */
static void emit_blocks(Sheet *sheet, unsigned panel, GString *plots,
                        int64_t unit_ps)
{
    for (unsigned s = 0; s < sheet->segments->len; s++) {
        unsigned count = 0;

        for (unsigned i = 0; i < table_n_rows(sheet->table); i++) {
            g_autofree char *from = NULL, *to = NULL;
            unsigned bar;

            if (strcmp(table_text(sheet->table, i, TABLE_WATERFALL_PANEL),
                       sheet->panels->pdata[panel]) != 0 ||
                strcmp(table_text(sheet->table, i, TABLE_WATERFALL_SEGMENT),
                       sheet->segments->pdata[s]) != 0) {
                continue;
            }
            if (count++ == 0) {
                g_string_append_printf(sheet->script, "$b_%u_%u << END\n",
                                       panel, s);
            }
            bar = bar_of(sheet, i);
            from = rep_gnuplot_number(
                (double)table_number(sheet->table, i, TABLE_WATERFALL_FROM) /
                (double)unit_ps);
            to = rep_gnuplot_number(
                (double)table_number(sheet->table, i, TABLE_WATERFALL_TO) /
                (double)unit_ps);
            g_string_append_printf(sheet->script, "%s %u %s %s %u.64 %u.36\n",
                                   from, bar + 1, from, to, bar, bar + 1);
        }
        if (count == 0) {
            continue;
        }
        g_string_append(sheet->script, "END\n");
        g_string_append_printf(
            plots, "%s$b_%u_%u using 1:2:3:4:5:6 with boxxyerror lc rgb '%s'",
            plots->len ? ", \\\n" : "", panel, s, color_of(sheet, s));
    }
}

static void emit_panel(Sheet *sheet, unsigned panel)
{
    int64_t end = panel_end(sheet, panel);
    int64_t unit_ps = end >= 20 * MS ? MS : end >= 20 * US ? US : NS;
    const char *unit = unit_ps == MS ? "ms" : unit_ps == US ? "us" : "ns";
    double span = (double)end / (double)unit_ps;
    unsigned left = panel_left(sheet, panel);
    unsigned bottom = sheet->legend_height + MARGIN_BOTTOM;
    g_autofree char *high = rep_gnuplot_number(span * 1.03);
    g_autofree char *step = rep_gnuplot_number(choose_step(span));
    g_autofree char *title = quote(sheet->panels->pdata[panel]);
    g_autoptr(GString) plots = g_string_new(NULL);

    emit_blocks(sheet, panel, plots, unit_ps);
    g_string_append_printf(
        sheet->script,
        "set lmargin at screen %.6f\nset rmargin at screen %.6f\n"
        "set bmargin at screen %.6f\nset tmargin at screen %.6f\n"
        "set title %s textcolor rgb '" REP_GNUPLOT_INK "' offset 0,-0.4\n"
        "set xlabel 'time of an operation, %s' textcolor rgb '" REP_GNUPLOT_INK
        "'\n"
        "set xrange [0:%s]\nset xtics %s\nset yrange [%u.6:0.4]\n",
        (double)left / sheet->width,
        (double)(left + PANEL_WIDTH) / sheet->width,
        (double)bottom / sheet->height,
        (double)(bottom + (sheet->rows + 1) * BAR_HEIGHT) / sheet->height,
        title, unit, high, step, sheet->rows);
    g_string_append(sheet->script, "set ytics scale 0 (");
    for (unsigned i = 0; i < sheet->bars[panel]->len; i++) {
        bool is_named = panel == 0 || !sheet->is_shared;
        g_autofree char *name =
            quote(is_named ? sheet->bars[panel]->pdata[i] : "");

        g_string_append_printf(sheet->script, "%s%s %u", i ? ", " : "", name,
                               i + 1);
    }
    g_string_append_printf(sheet->script, ")\nplot %s\nunset label 1\n",
                           plots->str);
}

/* Draws boxes with names, line by line. */
static void emit_legend(Sheet *sheet)
{
    double cell = (double)sheet->width / sheet->per_line;
    g_autoptr(GString) plots = g_string_new(NULL);

    g_string_append_printf(
        sheet->script,
        "unset title\nunset xlabel\nunset border\nunset tics\nunset grid\n"
        "set lmargin at screen 0\nset rmargin at screen 1\n"
        "set bmargin at screen 0\nset tmargin at screen %.6f\n"
        "set xrange [0:%u]\nset yrange [0:%u]\n",
        (double)sheet->legend_height / sheet->height, sheet->width,
        sheet->legend_height);
    for (unsigned i = 0; i < sheet->segments->len; i++) {
        unsigned x = (unsigned)(i % sheet->per_line * cell) + 16;
        unsigned y = sheet->legend_height -
                     (i / sheet->per_line + 1) * LEGEND_LINE + LEGEND_LINE / 2;
        g_autofree char *name = quote(sheet->segments->pdata[i]);

        g_string_append_printf(sheet->script,
                               "$l_%u << END\n%u %u %u %u %u %u\nEND\n"
                               "set label %u %s at %u,%u left "
                               "textcolor rgb '" REP_GNUPLOT_INK "'\n",
                               i, x, y, x, x + 16, y - 6, y + 6, i + 2, name,
                               x + 22, y);
        g_string_append_printf(plots,
                               "%s$l_%u using 1:2:3:4:5:6 with boxxyerror "
                               "lc rgb '%s'",
                               i ? ", \\\n" : "", i, color_of(sheet, i));
    }
    g_string_append_printf(sheet->script, "plot %s\nunset multiplot\n",
                           plots->str);
}

char *rep_waterfall_script(const char *title, const Table *table,
                           TableSegments segments, const char *terminal,
                           GError **error)
{
    g_auto(Sheet) sheet = {
        .table = table,
        .known = segments,
        .panels = g_ptr_array_new(),
        .segments = g_ptr_array_new(),
    };

    if (table_n_rows(table) == 0) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "plot: there is nothing to draw");
        return NULL;
    }
    sheet_read(&sheet);
    sheet_lay_out(&sheet);
    sheet.script = g_string_new(NULL);
    emit_head(&sheet, title, terminal);
    for (unsigned i = 0; i < sheet.panels->len; i++) {
        emit_panel(&sheet, i);
    }
    emit_legend(&sheet);
    return g_string_free(g_steal_pointer(&sheet.script), FALSE);
}

/* The arguments of rep_waterfall_script(). */
typedef struct Drawing {
    const char *title;
    const Table *table;
    TableSegments segments; /* nullable */
} Drawing;

static char *make_script(const void *drawing, const char *terminal,
                         GError **error)
{
    const Drawing *self = drawing;

    return rep_waterfall_script(self->title, self->table, self->segments,
                                terminal, error);
}

bool rep_waterfall_write(const char *title, const Table *table,
                         TableSegments segments, const char *prefix,
                         GError **error)
{
    const Drawing drawing = {title, table, segments};

    return rep_gnuplot_write(prefix, make_script, &drawing, error);
}
