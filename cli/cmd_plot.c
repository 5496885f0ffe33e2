/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>

#include "rep_redraw.h"

static int run_verb(const CmdVerb *verb, int argc, char **argv)
{
    RepRedraw redraw = {0};
    const GOptionEntry entries[] = {
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &redraw.prefix,
         "Draw to PREFIX.svg and PREFIX.png (default: RESULT without .csv)",
         "PREFIX"},
        {"pdf", 0, 0, G_OPTION_ARG_NONE, &redraw.look.pdf,
         "Draw PREFIX.pdf, too", NULL},
        {"tex", 0, 0, G_OPTION_ARG_NONE, &redraw.look.tex,
         "Draw PREFIX.tex for TikZ, too", NULL},
        {"x-range", 0, 0, G_OPTION_ARG_STRING, &redraw.x_range,
         "Ends of the x axis, in units of its column", "LEAST:MOST"},
        {"y-range", 0, 0, G_OPTION_ARG_STRING, &redraw.y_range,
         "The same for the y axis", "LEAST:MOST"},
        {"no-legend", 0, 0, G_OPTION_ARG_NONE, &redraw.look.no_legend,
         "Draw no legend", NULL},
        {"width", 'w', 0, G_OPTION_ARG_DOUBLE, &redraw.look.width_mm,
         "Width of the drawing in millimetres", "MM"},
        {"font-size", 0, 0, G_OPTION_ARG_DOUBLE, &redraw.look.font_pt,
         "Size of the text in points, for --width (default: 7)", "PT"},
        {"title", 't', 0, G_OPTION_ARG_STRING, &redraw.look.title,
         "Another title, or none", "TEXT"},
        G_OPTION_ENTRY_NULL,
    };
    g_auto(CmdArgs) args = {.words = NULL};
    g_autofree char *paths = NULL;
    GError *error = NULL;
    bool is_input;
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    if (!rep_redraw_parse(&redraw, &error)) {
        return cmd_complain("plot", error);
    }
    paths = rep_redraw(&redraw, args.words[0], &is_input, &error);
    if (!paths) {
        cmd_complain("plot", error);
        return is_input ? CMD_USAGE : CMD_DIFFERENT;
    }
    puts(paths);
    return CMD_OK;
}

const CmdVerb cmd_plot = {.name = "plot",
                          .summary = "draw results again, without simulating",
                          .synopsis = "RESULT",
                          .words = {1, 1},
                          .run = run_verb};
