/* SPDX-License-Identifier: MIT */
#ifndef TOPO_ERROR_H
#define TOPO_ERROR_H

#include <stdbool.h>

#include <glib.h>

/*
 * A place in a description. Line and column count from 1; line 0 says that
 * the place is @file as a whole, or, with @file "--set", the command line.
 * @file lives as long as the process.
 */
typedef struct TopoPlace {
    const char *file;
    unsigned line;
    unsigned column;
} TopoPlace;

/* Returns "file:line:column", "file:line" or "file", to be freed. */
char *topo_place_to_string(TopoPlace place);

/*
 * A collection of errors: a description is read to its end, and everything
 * wrong with it is reported together. Errors past a limit are only counted.
 */
typedef struct TopoErrors TopoErrors;

#define TOPO_ERRORS_MAX 50 /* errors kept with their text */

TopoErrors *topo_errors_new(void);

/* Frees @errors (nullable). */
void topo_errors_free(TopoErrors *errors);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TopoErrors, topo_errors_free)

/* Adds an error: what is wrong, a semicolon, and what would be right. An error
 * of the same place and text is added once. */
void topo_errors_add(TopoErrors *errors, TopoPlace place, const char *format,
                     ...) G_GNUC_PRINTF(3, 4);

/* The number of errors added, which may exceed the number kept. */
unsigned topo_errors_count(const TopoErrors *errors);

/* Returns whether further errors would only be counted, so that their text does
 * not matter. */
bool topo_errors_is_full(const TopoErrors *errors);

/* All errors sorted by place, a line "file:line:column: message" each, and a
 * last line if some were not kept. Empty if there is none. To be freed. */
char *topo_errors_to_string(const TopoErrors *errors);

/* The same as a GError of domain TOPO_ERROR, to be freed; NULL if there is no
 * error. */
GError *topo_errors_to_gerror(const TopoErrors *errors);

#define TOPO_ERROR (topo_error_quark())

typedef enum TopoErrorCode {
    TOPO_ERROR_DESCRIPTION, /* one or more errors in a description */
    TOPO_ERROR_SYNTAX,      /* a value that does not parse */
} TopoErrorCode;

GQuark topo_error_quark(void);

#endif
