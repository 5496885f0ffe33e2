/* SPDX-License-Identifier: MIT */
#ifndef REP_PAGE_H
#define REP_PAGE_H

#include "rep_report.h"

/*
 * Returns the report as one page of HTML. The page loads no other file: no
 * script, font, style or drawing. It has neither date nor path, so the same
 * results give the same bytes. @title is its heading. Fails if a drawing is
 * not SVG. The caller frees it.
 */
char *rep_page(const RepReport *report, const char *title, GError **error);

#endif
