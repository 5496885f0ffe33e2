/* SPDX-License-Identifier: MIT */
#ifndef REP_GRAPH_H
#define REP_GRAPH_H

#include <stdbool.h>

#include <glib.h>

/* Draws @dot, a graph in graphviz' language, to @path. The ending of @path is
 * the format: .svg, .png, .pdf, or .dot for the text itself. */
bool rep_graph_write(const char *dot, const char *path, GError **error);

#endif
