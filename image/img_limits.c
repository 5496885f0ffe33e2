/* SPDX-License-Identifier: MIT */
#include "img_timed.h"
#include "topo_units.h"

/* The times that hosts have in the description: `1ns`, or `1ns on a, 250ps on
 * b` if they differ. */
static char *instruction_times(const GPtrArray *hosts)
{
    g_autoptr(GString) each = g_string_new(NULL);
    int64_t first = 0;
    bool differ = false;

    for (unsigned i = 0; i < hosts->len; i++) {
        const TopoHost *host = hosts->pdata[i];
        g_autofree char *time =
            topo_units_format(TOPO_UNIT_TIME, host->vm->instruction_ps);

        g_string_append_printf(each, "%s%s on %s", i == 0 ? "" : ", ", time,
                               host->name);
        first = i == 0 ? host->vm->instruction_ps : first;
        differ = differ || host->vm->instruction_ps != first;
    }
    return differ ? g_string_free(g_steal_pointer(&each), FALSE)
                  : topo_units_format(TOPO_UNIT_TIME, first);
}

char *img_timed_limits(const TopoDescription *description)
{
    g_autofree char *times = instruction_times(description->hosts);

    return g_strdup_printf(
        "virtual time: an instruction takes %s, only a PAUSE takes another "
        "time, and what\ncrosses a cable takes the time that the model "
        "computes. Not modelled: caches, other\nspeeds of CPUs, accesses inside "
        "a machine. docs/user/timed.md tells what to believe.\n",
        times);
}
