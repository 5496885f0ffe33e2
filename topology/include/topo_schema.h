/* SPDX-License-Identifier: MIT */
#ifndef TOPO_SCHEMA_H
#define TOPO_SCHEMA_H

#include <glib.h>

/* Appends the tables of all sections and kinds of parts to @out, as markdown.
 * The loader uses the same tables. */
void topo_schema_write_markdown(GString *out);

#endif
