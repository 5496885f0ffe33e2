/* SPDX-License-Identifier: MIT */
/*
 * A program that knows only what is installed: farside.h and libfarside. The
 * test compiles it as a user would. It prints the rows of a scenario as CSV, so
 * that they can be compared with the file of `farside run`, and checks points
 * and errors.
 *
 *   use_library BROKEN    # BROKEN is a file with an error in line 3, column 1
 */
#include <farside.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUIRE(condition)                                                     \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "line %d: %s does not hold\n", __LINE__,           \
                    #condition);                                               \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

static FarsideScenario *load(const char *name, const char *const *changes)
{
    FarsideError *error = NULL;
    FarsideScenario *scenario = farside_load(name, changes, &error);

    if (!scenario) {
        fputs(error->message, stderr);
        exit(1);
    }
    return scenario;
}

/* The columns of teaching/one-link.yaml, as its CSV file has them. */
static void print_rows(const FarsideTable *table)
{
    REQUIRE(farside_table_columns(table) == 3);
    REQUIRE(strcmp(farside_column_name(table, 1), "payload_bytes") == 0);
    REQUIRE(farside_column_type(table, 0) == FARSIDE_TEXT);
    REQUIRE(farside_column_type(table, 1) == FARSIDE_INTEGER);
    REQUIRE(farside_column_type(table, 2) == FARSIDE_DECIMAL);
    for (unsigned row = 0; row < farside_table_rows(table); row++) {
        printf("%s,%.0f,%.4f\n", farside_cell_text(table, row, 0),
               farside_cell_number(table, row, 1),
               farside_cell_number(table, row, 2));
    }
}

/* A point alone has the row that it has among all. */
static void check_point(const FarsideScenario *scenario,
                        const FarsideTable *all)
{
    unsigned last = farside_scenario_points(scenario) - 1;
    FarsideTable *table = farside_run_point(scenario, last, NULL);

    REQUIRE(table && farside_table_rows(table) == 1);
    REQUIRE(farside_table_rows(all) == last + 1);
    REQUIRE(farside_cell_number(table, 0, 2) ==
            farside_cell_number(all, last, 2));
    REQUIRE(*farside_scenario_label(scenario, last) != '\0');
    farside_table_free(table);
}

static void check_errors(const char *broken)
{
    const char *const changes[] = {"links.none.width=x4", NULL};
    FarsideError *error = NULL;

    REQUIRE(!farside_load(broken, NULL, &error));
    REQUIRE(error->file && strcmp(error->file, broken) == 0);
    REQUIRE(error->line == 3 && error->column == 1);
    REQUIRE(strstr(error->message, "hots"));
    farside_error_free(error);

    REQUIRE(!farside_load("teaching/one-link.yaml", changes, &error));
    REQUIRE(error->line == 0 && strstr(error->message, "links.none.width"));
    farside_error_free(error);

    REQUIRE(!farside_load("/does/not/exist.yaml", NULL, &error));
    REQUIRE(strstr(error->message, "/does/not/exist.yaml"));
    farside_error_free(error);

    /* The error may be left out. */
    REQUIRE(!farside_load(broken, NULL, NULL));
    farside_error_free(NULL);
    farside_table_free(NULL);
    farside_scenario_free(NULL);
}

int main(int argc, char **argv)
{
    FarsideScenario *scenario = load("teaching/one-link.yaml", NULL);
    FarsideTable *all = farside_run(scenario, 2, NULL);

    REQUIRE(argc == 2);
    REQUIRE(strcmp(farside_scenario_name(scenario), "one-link") == 0);
    REQUIRE(farside_scenarios());
    print_rows(all);
    check_point(scenario, all);
    check_errors(argv[1]);
    farside_table_free(all);
    farside_scenario_free(scenario);
    return 0;
}
