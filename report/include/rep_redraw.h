/* SPDX-License-Identifier: MIT */
#ifndef REP_REDRAW_H
#define REP_REDRAW_H

#include "rep_result.h"

/* A drawing of results that a run has written, in the words of a user. */
typedef struct RepRedraw {
    RepLook look;            /* its ranges are made from the texts */
    char *x_range, *y_range; /* nullable: "LEAST:MOST" */
    char *prefix;            /* nullable: the file's name without .csv */
} RepRedraw;

/* Parses the ranges, and checks the other words. False and G_OPTION_ERROR if
 * one is wrong. */
bool rep_redraw_parse(RepRedraw *redraw, GError **error);

/*
 * Draws the results in @file as the `plot:` of the scenario that its head
 * names. Returns the paths of the drawings, to be freed. NULL and @error if
 * that fails; *ret_is_input says if the reason is in a file that was read.
 */
char *rep_redraw(const RepRedraw *redraw, const char *file, bool *ret_is_input,
                 GError **error);

#endif
