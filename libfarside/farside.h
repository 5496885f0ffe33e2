/* SPDX-License-Identifier: MIT */
#ifndef FARSIDE_H
#define FARSIDE_H

/*
 * libfarside simulates scenarios inside another program: it loads a
 * description, runs one point of its sweep or all of them, and returns the
 * columns of the results.
 *
 *   FarsideError *error = NULL;
 *   FarsideScenario *scenario =
 *       farside_load("paper/fig10/fig10.yaml", NULL, &error);
 *   FarsideTable *table =
 *       scenario ? farside_run_point(scenario, 0, &error) : NULL;
 *
 * Ownership: each function that returns a FarsideScenario, a FarsideTable or a
 * FarsideError gives it to the caller, who frees it with the function
 * farside_..._free() of its type. All texts and other pointers stay the
 * library's and live as long as the object that they were asked from.
 *
 * Errors: a function that fails returns NULL. If its argument `error` is not
 * NULL, it then stores a FarsideError there. The library does not print, does
 * not end the process, and installs no signal handlers. It aborts the process
 * if memory is exhausted or an index is out of range.
 *
 * Threads: any number of threads may use the library, and the same scenario or
 * table, at the same time, but none while one thread frees it.
 *
 * Stability: programs that were linked with libfarside.so.1 keep working with
 * all later libraries of this name.
 */

#ifdef __cplusplus
extern "C" {
#endif

/* The Python module declares what is between the next line and "end". */
/* begin */

/* A scenario that was loaded and checked. It does not change. */
typedef struct FarsideScenario FarsideScenario;

/* A table of results. It does not change. */
typedef struct FarsideTable FarsideTable;

/* An error. */
typedef struct FarsideError {
    char *message;   /* all errors, one in a line, each with its place */
    char *file;      /* the file of the first one; NULL: it has no place */
    unsigned line;   /* its line from 1; 0: the whole file */
    unsigned column; /* its column from 1; 0: the whole line */
} FarsideError;

void farside_error_free(FarsideError *error);

/* Returns the version, such as "0.1.0". */
const char *farside_version(void);

/* Returns the folder of the scenarios that came with Farside; NULL if it is
 * not found. The text lives as long as the process. */
const char *farside_scenarios(void);

/*
 * Loads the description in the file @path and checks all of it. If there is no
 * such file, @path may be the name of a scenario that came with Farside, such
 * as "paper/fig10/fig10.yaml". @changes is NULL, or a list of changes
 * "PATH=VALUE" as for `farside run --set`, with a NULL at its end.
 */
FarsideScenario *farside_load(const char *path, const char *const *changes,
                              FarsideError **error);
void farside_scenario_free(FarsideScenario *scenario);

/* Returns the scenario's `name:`. */
const char *farside_scenario_name(const FarsideScenario *scenario);

/* Returns the number of points of the sweep. It is at least 1. */
unsigned farside_scenario_points(const FarsideScenario *scenario);

/* Returns the label of a point, such as "Loc, transfer=4KiB"; "" if the
 * scenario has one point alone. @point counts from 0. */
const char *farside_scenario_label(const FarsideScenario *scenario,
                                   unsigned point);

/* Simulates one point and returns a table with one row. */
FarsideTable *farside_run_point(const FarsideScenario *scenario, unsigned point,
                                FarsideError **error);

/* Simulates all points, @threads (from 1 to 1024) at a time, and returns a
 * table with a row for each, in the order of the points. The result does not
 * depend on @threads. */
FarsideTable *farside_run(const FarsideScenario *scenario, unsigned threads,
                          FarsideError **error);

void farside_table_free(FarsideTable *table);

unsigned farside_table_rows(const FarsideTable *table);
unsigned farside_table_columns(const FarsideTable *table);

/* Returns the name of a column as the scenario's `measure:` gives it. It also
 * tells the unit, by convention: `transfer_bytes`, `latency_us`. */
const char *farside_column_name(const FarsideTable *table, unsigned column);

typedef enum FarsideType {
    FARSIDE_TEXT = 0,
    FARSIDE_INTEGER = 1,
    FARSIDE_DECIMAL = 2, /* the CSV file has digits behind the point */
} FarsideType;

FarsideType farside_column_type(const FarsideTable *table, unsigned column);

/* Returns a cell of a column of texts. */
const char *farside_cell_text(const FarsideTable *table, unsigned row,
                              unsigned column);

/* Returns a cell of a column of numbers, in the unit of its column; NaN if the
 * cell is empty. */
double farside_cell_number(const FarsideTable *table, unsigned row,
                           unsigned column);

/* end */

#ifdef __cplusplus
}
#endif

#endif
