/* SPDX-License-Identifier: MIT */
#ifndef TOPO_SUGGEST_H
#define TOPO_SUGGEST_H

#include <glib.h>

/* "; did you mean NAME?" or "; there are A, B, C" for a name that is not among
 * @candidates (of char *); to be freed. */
char *topo_suggest(const char *name, const GPtrArray *candidates);

#endif
