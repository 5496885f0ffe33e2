/* SPDX-License-Identifier: MIT */
/* Prints the tables that docs/reference/description.md holds between its
 * markers. */
#include <stdio.h>

#include "topo_schema.h"

int main(void)
{
    g_autoptr(GString) tables = g_string_new(NULL);

    topo_schema_write_markdown(tables);
    fputs(tables->str, stdout);
    return 0;
}
