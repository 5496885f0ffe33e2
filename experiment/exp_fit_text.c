/* SPDX-License-Identifier: MIT */
#include "exp_fit.h"
#include "table_format.h"

static void append_table(GString *text, const char *heading, const Table *table)
{
    g_string_append_printf(text, "%s\n", heading);
    table_format_append(text, table);
    g_string_append_c(text, '\n');
}

void exp_fit_append(GString *text, const ExpFit *fit, bool all)
{
    append_table(text, "Parameters", fit->params);
    append_table(text, "Sensitivity", fit->sensitivity);
    if (all) {
        append_table(text, "Values", fit->points);
    }
    append_table(text, "Errors", fit->sums);
    for (unsigned i = 0; i < fit->warnings->len; i++) {
        g_string_append_printf(text, "warning: %s\n",
                               (const char *)fit->warnings->pdata[i]);
    }
    for (unsigned i = 0; i < fit->settings->len; i++) {
        g_string_append_printf(text, "--set %s\n",
                               (const char *)fit->settings->pdata[i]);
    }
    g_string_append_printf(text, "%u points simulated\n", fit->simulations);
}
