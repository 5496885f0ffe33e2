/* SPDX-License-Identifier: MIT */
#ifndef TRC_SHOW_H
#define TRC_SHOW_H

#include "trc_view.h"

/* The output of traces. */
typedef struct TrcShow {
    gboolean is_summary;
    char *csv; /* nullable: the path of a table that is written instead */
    int (*print)(const char *text); /* gets a line, or a table; both without
                                       the end of the last line */
} TrcShow;

/*
 * Prints or writes what @filter lets through of the files @paths (ended by
 * NULL). Appends lines, which begin with @before, to @losses: for ends whose
 * packets are missing, packets of other link types, and damage. *ret_is_whole
 * says if there is no damage. False and @error if a file cannot be read at all
 * (TRC_ERROR), or the table cannot be written.
 */
bool trc_show(char *const *paths, const TrcFilter *filter, const TrcShow *show,
              const char *before, GString *losses, bool *ret_is_whole,
              GError **error);

#endif
