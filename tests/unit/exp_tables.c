/* SPDX-License-Identifier: MIT */
/* Prints the tables that docs/reference/metrics.md holds between its markers.
 */
#include <stdio.h>

#include "exp_metric.h"

int main(void)
{
    g_autoptr(GString) tables = g_string_new(NULL);

    exp_metric_write_markdown(tables);
    fputs(tables->str, stdout);
    return 0;
}
