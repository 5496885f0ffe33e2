/* SPDX-License-Identifier: MIT */
/* The least time that anything takes over a link of the idle fabric. */
#include "exp_crossing_priv.h"

/* Between two probes, in ns */
#define PAUSE_NS 100000

typedef struct Probe {
    ExpCrossings *crossings;
    int64_t arrived;
} Probe;

static void probe_arrived(void *owner, unsigned link, unsigned end, uint64_t id,
                          int64_t time)
{
    Probe *probe = owner;

    probe->arrived = time;
}

static int64_t probe_run(Probe *probe, const ExpCrossing *crossing)
{
    probe->arrived = -1;
    exp_crossings_enter(probe->crossings, crossing);
    while (probe->arrived < 0) {
        exp_crossings_run(probe->crossings, INT64_MAX);
    }
    return probe->arrived;
}

/* The least times of a write, a read and its completion, after one of each has
 * filled the IOTLBs. */
static void probe_access(Probe *probe, ExpCrossing *crossing, int64_t *least)
{
    ExpCrossing back = *crossing;

    for (unsigned i = 0; i < 2; i++) {
        int64_t arrived;

        crossing->time += PAUSE_NS;
        crossing->kind = EXP_CROSSING_WRITE;
        arrived = probe_run(probe, crossing) - crossing->time;
        *least = i ? MIN(*least, arrived) : *least;
        crossing->time += PAUSE_NS;
        crossing->kind = EXP_CROSSING_READ;
        back.time = probe_run(probe, crossing);
        arrived = back.time - crossing->time;
        *least = i ? MIN(*least, arrived) : *least;
        back.kind = EXP_CROSSING_COMPLETION;
        back.end = 1 - crossing->end;
        arrived = probe_run(probe, &back) - back.time;
        *least = i ? MIN(*least, arrived) : *least;
    }
}

/* All pairs of elements that may use @link in this direction. */
static void probe_direction(Probe *probe, const TopoLink *link,
                            ExpCrossing *crossing, int64_t *least)
{
    const TopoHost *from = link->end[crossing->end]->host;
    const TopoHost *to = link->end[1 - crossing->end]->host;

    for (unsigned i = 0; i <= from->devices->len; i++) {
        const TopoDevice *source = i > 0 ? from->devices->pdata[i - 1] : NULL;

        if (source && topo_part_kind(source->part) == TOPO_PART_NTB) {
            continue;
        }
        crossing->device = source ? source->name : NULL;
        for (unsigned j = 0; j <= to->devices->len; j++) {
            const TopoDevice *target = j > 0 ? to->devices->pdata[j - 1] : NULL;

            if (target && topo_part_kind(target->part) == TOPO_PART_NTB) {
                continue;
            }
            exp_crossings_place(probe->crossings, to->index, 0,
                                target ? target->name : NULL, 0, 0);
            probe_access(probe, crossing, least);
        }
        exp_crossings_place(probe->crossings, to->index, 0, NULL, 0, 0);
    }
}

bool exp_crossings_least(const TopoDescription *description, int64_t *ret_ns,
                         GError **error)
{
    static const ExpCrossingsOps ops = {.arrived = probe_arrived};
    g_autoptr(GPtrArray) none = g_ptr_array_new();
    TopoDescription whole = *description;
    Probe probe = {.crossings = NULL};
    ExpCrossing crossing = {.bytes = DW_BYTES};

    /* Faults make nothing quicker. */
    whole.faults = none;
    probe.crossings = exp_crossings_new(&whole, &ops, &probe, error);
    if (!probe.crossings) {
        return false;
    }
    for (unsigned i = 0; i < probe.crossings->links->len; i++) {
        crossing.link = i;
        ret_ns[i] = INT64_MAX;
        for (unsigned end = 0; end < 2; end++) {
            crossing.end = end;
            probe_direction(&probe, probe.crossings->links->pdata[i], &crossing,
                            &ret_ns[i]);
        }
        ret_ns[i] = MAX(ret_ns[i], 1);
    }
    exp_crossings_free(probe.crossings);
    return true;
}
