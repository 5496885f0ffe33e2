/* SPDX-License-Identifier: MIT */
#ifndef REP_PAGE_PRIV_H
#define REP_PAGE_PRIV_H

#include "rep_report.h"

/* The sections of the page. */

/* The errors of all scenarios together. */
void rep_page_add_summary(GString *out, const RepReport *report);

/* The tables of errors of one scenario: of each curve, and of each point. */
void rep_page_add_curves(GString *out, const RepScenario *scenario);
void rep_page_add_points(GString *out, const RepScenario *scenario);

/* One scenario: its claims, plot, tables and text. Fails if a drawing is no
 * SVG. */
bool rep_page_add_scenario(GString *out, const RepScenario *scenario,
                           GError **error);

#endif
