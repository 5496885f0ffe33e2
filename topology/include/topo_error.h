/* SPDX-License-Identifier: MIT */
#ifndef TOPO_ERROR_H
#define TOPO_ERROR_H

#include <stdbool.h>

#include <glib.h>

/*
 * A place in a description. Lines and columns count from 1. Line 0 stands
 * for the whole file, or for an option, such as "--set", if that is @file.
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
 * A collection of errors. A description is read to its end, so that all
 * errors are reported together. Errors beyond TOPO_ERRORS_MAX are only
 * counted.
 */
typedef struct TopoErrors TopoErrors;

#define TOPO_ERRORS_MAX 50 /* most errors that are kept */

TopoErrors *topo_errors_new(void);

/* Frees @errors (nullable). */
void topo_errors_free(TopoErrors *errors);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TopoErrors, topo_errors_free)

/* Adds an error. A message says what is wrong and, after a semicolon, what
 * would be right. The same message at the same place is added only once. */
void topo_errors_add(TopoErrors *errors, TopoPlace place, const char *format,
                     ...) G_GNUC_PRINTF(3, 4);

/* Adds those of @others that @errors does not have yet, as errors of the point
 * @label; "" if it has none. */
void topo_errors_add_all(TopoErrors *errors, const TopoErrors *others,
                         const char *label);

/* Returns the number of errors added. It may exceed the number kept. */
unsigned topo_errors_count(const TopoErrors *errors);

/* Returns whether further errors are only counted. Their texts do not matter
 * then. */
bool topo_errors_is_full(const TopoErrors *errors);

/* Returns all errors sorted by place, each as a line "file:line:column:
 * message". A last line counts those that were not kept. The text is empty if
 * there are no errors. The caller frees it. */
char *topo_errors_to_string(const TopoErrors *errors);

/* Returns the text of topo_errors_to_string() as a GError of domain TOPO_ERROR;
 * NULL if there are no errors. The caller frees it. */
GError *topo_errors_to_gerror(const TopoErrors *errors);

#define TOPO_ERROR (topo_error_quark())

typedef enum TopoErrorCode {
    TOPO_ERROR_DESCRIPTION, /* one or more errors in a description */
    TOPO_ERROR_SYNTAX,      /* a value that does not parse */
} TopoErrorCode;

GQuark topo_error_quark(void);

/* Sets @error (nullable) to TOPO_ERROR_SYNTAX with this text. Returns false. */
bool topo_refuse(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* The same with G_OPTION_ERROR: an option of a command line has a wrong value.
 */
bool topo_refuse_option(GError **error, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

#endif
