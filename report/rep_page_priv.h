/* SPDX-License-Identifier: MIT */
#ifndef REP_PAGE_PRIV_H
#define REP_PAGE_PRIV_H

#include "rep_report.h"

/* The sections of the HTML page. */

/* Adds the errors of all scenarios together. */
void rep_page_add_summary(GString *out, const RepReport *report);

/* Add the errors of one scenario, for each curve and for each point. */
void rep_page_add_curves(GString *out, const RepScenario *scenario);
void rep_page_add_points(GString *out, const RepScenario *scenario);

/* Adds one scenario: its claims, plot, tables and text. Fails if a drawing is
 * not SVG. */
bool rep_page_add_scenario(GString *out, const RepScenario *scenario,
                           GError **error);

#endif
