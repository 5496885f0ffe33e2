/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#include "rep_measured.h"
#include "rep_result.h"
#include "table_csv.h"
#include "topo_units.h"

#define WIDTH_LEAST 40 /* mm */
#define WIDTH_MOST  1000
#define FONT_LEAST  4 /* points */
#define FONT_MOST   40

typedef struct Options {
    char *prefix;
    char *title;
    double width, font;
    gboolean pdf;
    gboolean tex;
    gboolean no_legend;
    char *range_texts[2]; /* of x and of y */
    RepRange ranges[2];
} Options;

/* Returns the exit status; @error is set unless it is CMD_OK. */
static int draw(const Options *options, const char *file, GError **error)
{
    g_autoptr(Table) table = table_read(file, error);
    g_autoptr(TopoDescription) description =
        table ? rep_result_scenario(table, file, error) : NULL;
    g_autoptr(Table) published = NULL;
    g_autoptr(Table) measured = NULL;
    RepLook look = {.width_mm = options->width,
                    .font_pt = options->font,
                    .title = options->title,
                    .pdf = options->pdf,
                    .tex = options->tex,
                    .no_legend = options->no_legend,
                    .x_range = options->ranges[0],
                    .y_range = options->ranges[1]};
    RepResult result = {description, table, NULL, NULL};
    GError *cause = NULL;

    if (!description) {
        return CMD_USAGE;
    }
    if (description->plot->published) {
        published = table_read(description->plot->published, error);
        if (!published) {
            return CMD_USAGE;
        }
    }
    measured = rep_measured_read(description, &cause);
    if (cause) {
        g_propagate_error(error, cause);
        return CMD_USAGE;
    }
    result.published = published;
    result.measured = measured;
    if (!rep_result_draw(&result, options->prefix, &look, &cause)) {
        bool is_input = g_error_matches(cause, TABLE_ERROR, TABLE_ERROR_VALUE);

        g_propagate_error(error, cause);
        return is_input ? CMD_USAGE : CMD_DIFFERENT;
    }
    return CMD_OK;
}

static int run_verb(const CmdVerb *verb, int argc, char **argv)
{
    Options options = {0};
    const GOptionEntry entries[] = {
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options.prefix,
         "Draw to PREFIX.svg and PREFIX.png (default: RESULT without .csv)",
         "PREFIX"},
        {"pdf", 0, 0, G_OPTION_ARG_NONE, &options.pdf, "Draw PREFIX.pdf, too",
         NULL},
        {"tex", 0, 0, G_OPTION_ARG_NONE, &options.tex,
         "Draw PREFIX.tex for TikZ, too", NULL},
        {"x-range", 0, 0, G_OPTION_ARG_STRING, &options.range_texts[0],
         "Ends of the x axis, in units of its column", "LEAST:MOST"},
        {"y-range", 0, 0, G_OPTION_ARG_STRING, &options.range_texts[1],
         "The same for the y axis", "LEAST:MOST"},
        {"no-legend", 0, 0, G_OPTION_ARG_NONE, &options.no_legend,
         "Draw no legend", NULL},
        {"width", 'w', 0, G_OPTION_ARG_DOUBLE, &options.width,
         "Width of the drawing in millimetres", "MM"},
        {"font-size", 0, 0, G_OPTION_ARG_DOUBLE, &options.font,
         "Size of the text in points, for --width (default: 7)", "PT"},
        {"title", 't', 0, G_OPTION_ARG_STRING, &options.title,
         "Another title, or none", "TEXT"},
        G_OPTION_ENTRY_NULL,
    };
    g_auto(CmdArgs) args = {.words = NULL};
    GError *error = NULL;
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    if (options.width != 0 &&
        !(options.width >= WIDTH_LEAST && options.width <= WIDTH_MOST)) {
        return cmd_usage("plot", "--width takes %d to %d millimetres",
                         WIDTH_LEAST, WIDTH_MOST);
    }
    if (options.font != 0 &&
        !(options.font >= FONT_LEAST && options.font <= FONT_MOST)) {
        return cmd_usage("plot", "--font-size takes %d to %d points",
                         FONT_LEAST, FONT_MOST);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(options.ranges); i++) {
        RepRange *range = &options.ranges[i];

        if (options.range_texts[i] &&
            !topo_units_parse_range(options.range_texts[i], &range->least,
                                    &range->most)) {
            return cmd_usage("plot",
                             "--%c-range takes LEAST:MOST, such as "
                             "0:64",
                             "xy"[i]);
        }
    }
    if (options.prefix &&
        (*options.prefix == '\0' || g_str_has_suffix(options.prefix, "/"))) {
        return cmd_usage("plot", "--output takes the beginning of a file's "
                                 "name, such as figures/fig12");
    }
    if (!options.prefix) {
        const char *end = g_str_has_suffix(args.words[0], ".csv")
                              ? strrchr(args.words[0], '.')
                              : args.words[0] + strlen(args.words[0]);

        options.prefix = g_strndup(args.words[0], (gsize)(end - args.words[0]));
    }
    status = draw(&options, args.words[0], &error);
    if (status != CMD_OK) {
        cmd_complain("plot", error);
        return status;
    }
    printf("%s.svg, %s.png", options.prefix, options.prefix);
    if (options.pdf) {
        printf(", %s.pdf", options.prefix);
    }
    if (options.tex) {
        printf(", %s.tex", options.prefix);
    }
    putchar('\n');
    return CMD_OK;
}

const CmdVerb cmd_plot = {.name = "plot",
                          .summary = "draw results again, without simulating",
                          .synopsis = "RESULT",
                          .words = {1, 1},
                          .run = run_verb};
