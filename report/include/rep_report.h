/* SPDX-License-Identifier: MIT */
#ifndef REP_REPORT_H
#define REP_REPORT_H

#include "topo_description.h"

#include "rep_fidelity.h"
#include "table.h"

/*
 * A folder of results with their scenarios: the material of a page and of a
 * list of fidelity.
 */
typedef struct RepReport RepReport;

/* One scenario of the folder. Owned by the report, and read-only. */
typedef struct RepScenario {
    TopoDescription *description;
    char *text; /* the file of the scenario */
    Table *table;
    RepFidelity *fidelity; /* NULL if it has no plot */
    char *plot;            /* NAME.svg, NULL if there is none */
    gsize plot_length;
    char *waterfall; /* NAME.explain.svg, likewise */
    gsize waterfall_length;
    Table *explain; /* NAME.explain.csv, likewise */
    bool is_stale;  /* the scenario or its parts have changed since */
} RepScenario;

/* A part, as at least one element of one scenario uses it. */
typedef struct RepPartUse {
    const TopoPart *part;
    GPtrArray *scenarios; /* of const char *: names of those that use it */
} RepPartUse;

/* Reads the results in the folder @dir. If @files (nullable, NULL-terminated)
 * names scenarios, it reads the results of these, which must be there;
 * otherwise of all scenarios that heads of results name. Fails if there are
 * none, or a file is wrong. */
RepReport *rep_report_read(const char *dir, char **files, GError **error);

/* Frees @report (nullable). */
void rep_report_free(RepReport *report);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RepReport, rep_report_free)

/* Scenarios in the order of their names,
 * in which numbers count as such. */
unsigned rep_report_n_scenarios(const RepReport *report);
const RepScenario *rep_report_scenario(const RepReport *report, unsigned index);

/* Parts in the order of their kind and name. A part that a scenario overrides
 * is another part. */
unsigned rep_report_n_parts(const RepReport *report);
const RepPartUse *rep_report_part(const RepReport *report, unsigned index);

/* The title of its plot, or else the scenario's name. */
const char *rep_scenario_title(const RepScenario *scenario);

/* Returns true if texts are compared, such as the way through the fabric, and
 * not bandwidths or times. */
bool rep_scenario_has_texts(const RepScenario *scenario);

/* Returns true if the scenario names published values. */
bool rep_scenario_has_published(const RepScenario *scenario);

#endif
