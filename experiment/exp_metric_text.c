/* SPDX-License-Identifier: MIT */
#include "exp_metric_priv.h"

#include "topo_suggest.h"

char *exp_metric_suggest(ExpScope scope, const char *name)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();

    for (unsigned i = 0; i < exp_metric_count; i++) {
        if (exp_metrics[i].scopes & scope) {
            g_ptr_array_add(names, (void *)exp_metrics[i].name);
        }
    }
    return topo_suggest(name, names);
}

/* The scopes in the order of the help. */
static const struct {
    unsigned scopes;
    const char *title;
    const char *example; /* what stands before the metric, in an example */
} groups[] = {
    {EXP_SCOPE_FLOW, "flow.NAME.METRIC (any kind but path)", "flow.f"},
    {EXP_SCOPE_PATH, "flow.NAME.METRIC (kind path)", "flow.way"},
    {EXP_SCOPE_FABRIC, "fabric.METRIC", "fabric"},
    {ELEMENT, "element.NAME.METRIC (any element)", "element.a.sw0"},
    {EXP_SCOPE_ROOT, "element.HOST.METRIC", "element.a"},
    {EXP_SCOPE_NTB, "element.HOST.NTB.METRIC", "element.a.ntb0"},
    {EXP_SCOPE_DEVICE, "element.HOST.DEVICE.METRIC", "element.a.gpu0"},
};

char *exp_metric_help(void)
{
    g_autoptr(GString) help = g_string_new(NULL);

    for (unsigned i = 0; i < G_N_ELEMENTS(groups); i++) {
        g_string_append_printf(help, "%s\n", groups[i].title);
        for (unsigned j = 0; j < exp_metric_count; j++) {
            if (exp_metrics[j].scopes == groups[i].scopes) {
                g_string_append_printf(help, "  %-21s %s\n",
                                       exp_metrics[j].name,
                                       exp_metrics[j].help);
            }
        }
    }
    return g_string_free(g_steal_pointer(&help), FALSE);
}

void exp_metric_write_markdown(GString *out)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(groups); i++) {
        g_string_append_printf(out,
                               "%s## %s\n\n| metric | example | meaning |\n"
                               "| --- | --- | --- |\n",
                               i > 0 ? "\n" : "", groups[i].title);
        for (unsigned j = 0; j < exp_metric_count; j++) {
            const ExpMetric *metric = &exp_metrics[j];

            if (metric->scopes == groups[i].scopes) {
                g_string_append_printf(
                    out, "| `%s` | `{name: %s, from: %s.%s%s}` | %s |\n",
                    metric->name, metric->name, groups[i].example, metric->name,
                    metric->kind == DISTRIBUTION ? ".p99" : "", metric->help);
            }
        }
    }
}
