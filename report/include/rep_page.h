/* SPDX-License-Identifier: MIT */
#ifndef REP_PAGE_H
#define REP_PAGE_H

#include "rep_report.h"

/*
 * Returns the report as one page of HTML that needs nothing but itself: no
 * script, no font, no style, no drawing from elsewhere. The same results give
 * the same bytes; neither date nor path is in it. @title is its heading. Fails
 * if a drawing is no SVG. The caller frees it.
 */
char *rep_page(const RepReport *report, const char *title, GError **error);

#endif
