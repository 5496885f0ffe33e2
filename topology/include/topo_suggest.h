/* SPDX-License-Identifier: MIT */
#ifndef TOPO_SUGGEST_H
#define TOPO_SUGGEST_H

#include <glib.h>

/* Returns a hint for @name, which is not among @candidates (of char *): "; did
 * you mean NAME?" or "; there are A, B, C". The caller frees it. */
char *topo_suggest(const char *name, const GPtrArray *candidates);

/* Sets @error, a G_OPTION_ERROR: the host @name is none of @hosts (of char *).
 */
void topo_no_such_host(const char *name, const GPtrArray *hosts,
                       GError **error);

#endif
