/* SPDX-License-Identifier: MIT */
#ifndef REP_COMPARE_FILES_H
#define REP_COMPARE_FILES_H

#include "rep_compare.h"

typedef struct RepCompareFiles {
    RepCompareOptions options;
    const char *plot; /* nullable: draw to PLOT.svg; of folders PLOT-NAME.svg */
    const char *junit; /* nullable: a report for this file */
    int n_worst;       /* points of a file that are shown */
    gboolean only_failures;
    gboolean markdown;
} RepCompareFiles;

/*
 * Compares two files of results, or two folders of them, and appends what a
 * user reads to @text. False and @error if a file cannot be read or written, a
 * tolerance has no column, or @how is wrong; @text has what was found before.
 */
bool rep_compare_files(const RepCompareFiles *how, const char *baseline,
                       const char *fresh, GString *text, bool *ret_different,
                       GError **error);

#endif
