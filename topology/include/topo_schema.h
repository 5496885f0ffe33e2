/* SPDX-License-Identifier: MIT */
#ifndef TOPO_SCHEMA_H
#define TOPO_SCHEMA_H

#include <glib.h>

/* Writes the tables of all sections and kinds of parts, the same tables that
 * drive the loader, as markdown. */
void topo_schema_write_markdown(GString *out);

#endif
