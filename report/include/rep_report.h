/* SPDX-License-Identifier: MIT */
#ifndef REP_REPORT_H
#define REP_REPORT_H

#include "topo_description.h"

#include "rep_fidelity.h"
#include "table.h"

/*
 * A folder of results with their scenarios. The HTML page and the list of
 * fidelity are made from it.
 */
typedef struct RepReport RepReport;

/* One scenario of the folder. It belongs to the report and is read-only. */
typedef struct RepScenario {
    TopoDescription *description;
    char *text; /* contents of the scenario's file */
    Table *table;
    RepFidelity *fidelity; /* NULL if the scenario has no plot */
    char *plot;            /* contents of NAME.svg; NULL if there is none */
    gsize plot_length;
    char *waterfall; /* contents of NAME.explain.svg; NULL if there is none */
    gsize waterfall_length;
    Table *explain; /* contents of NAME.explain.csv; NULL if there is none */
} RepScenario;

/* A part that at least one element of a scenario uses. */
typedef struct RepPartUse {
    const TopoPart *part;
    GPtrArray *scenarios; /* of const char *: the scenarios that use it */
} RepPartUse;

/* Reads the results in the folder @dir. @files (nullable, NULL-terminated)
 * names scenarios whose results must be there. Without it, the scenarios are
 * those that the heads of results name. Fails if there are no results, if a
 * file is wrong, or if the scenario or its parts have changed since the run. */
RepReport *rep_report_read(const char *dir, char **files, GError **error);

/* Frees @report (nullable). */
void rep_report_free(RepReport *report);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RepReport, rep_report_free)

/* Return the scenarios, sorted by name in natural order. */
unsigned rep_report_n_scenarios(const RepReport *report);
const RepScenario *rep_report_scenario(const RepReport *report, unsigned index);

/* Return the parts, sorted by kind and name. If a scenario overrides values of
 * a part, that is another part. */
unsigned rep_report_n_parts(const RepReport *report);
const RepPartUse *rep_report_part(const RepReport *report, unsigned index);

/* Returns the title of the scenario's plot, or else the scenario's name. */
const char *rep_scenario_title(const RepScenario *scenario);

/* Returns true if texts are compared, such as the way through the fabric, not
 * bandwidths or times. */
bool rep_scenario_has_texts(const RepScenario *scenario);

/* Returns true if the scenario names published values. */
bool rep_scenario_has_published(const RepScenario *scenario);

#endif
