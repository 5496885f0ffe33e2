/* SPDX-License-Identifier: MIT */
#include "exp_timeline.h"

#include "exp_crossing.h"
#include "exp_end_priv.h"

#define PAGE_BYTES 4096u
/* The longest virtual time: SimTime counts ps. */
#define LONGEST_NS (INT64_MAX / SIM_NS)

typedef struct End {
    ExpEnd end;
    unsigned link, side; /* of the description's link */
} End;

typedef struct Timeline {
    const TrcFile *file;
    const ExpTimelineOps *ops;
    void *owner;
    ExpCrossings *crossings;
    End *ends;
    unsigned n_ends;
    int64_t *least;      /* latencies of the links, as the machines know them */
    GHashTable *packets; /* index + 1 by number of the TLPs' flow */
} Timeline;

static void on_arrived(void *owner, unsigned link, unsigned end, uint64_t id,
                       int64_t time)
{
    Timeline *self = owner;

    self->ops->arrived(self->owner, (size_t)id, time);
}

static void on_accepted(void *owner, unsigned host, uint64_t id, int64_t time)
{
}

static void on_hop(void *owner, const FabTraceRecord *record)
{
    Timeline *self = owner;
    size_t packet = GPOINTER_TO_SIZE(g_hash_table_lookup(
        self->packets, GUINT_TO_POINTER(record->tlp->flow)));
    const ExpTimelineHop hop = {.packet = packet - 1, .record = record};

    if (packet > 0) {
        self->ops->hop(self->owner, &hop);
    }
}

/* Finds the end among @links that the trace calls HOST:LINK. */
static bool find_end(Timeline *self, const TopoDescription *description,
                     const GPtrArray *links, unsigned index, GError **error)
{
    const char *name = trc_file_interface(self->file, index)->name;
    End *end = &self->ends[index];

    exp_end_init(&end->end, description, name);
    for (unsigned i = 0; i < links->len; i++) {
        const TopoLink *link = links->pdata[i];

        for (unsigned side = 0; side < 2; side++) {
            if (end->end.host && link->end[side]->host == end->end.host &&
                g_strcmp0(link->name, end->end.link) == 0) {
                end->link = i;
                end->side = side;
                return true;
            }
        }
    }
    g_set_error(error, TRC_ERROR, TRC_ERROR_FORMAT,
                "%s is no end of a link of the description; take the one that "
                "the cluster was started with",
                name);
    return false;
}

/* Tells the model which pages of a machine are BARs of devices. */
static void place_bars(Timeline *self, const End *end)
{
    for (unsigned i = 0; i < end->end.functions->len; i++) {
        const TrcFunction *function =
            &g_array_index(end->end.functions, TrcFunction, i);

        if (!exp_end_device(&end->end, function->name)) {
            continue;
        }
        for (unsigned j = 0; j < TRC_BARS; j++) {
            uint64_t size = MIN(function->bar[j].size, 1u << 20);

            for (uint64_t at = 0; at < size; at += PAGE_BYTES) {
                exp_crossings_place(self->crossings, end->end.host->index,
                                    function->bar[j].address + at,
                                    function->name, j, at);
            }
        }
    }
}

static bool describe(const Timeline *self, const TrcRecord *record,
                     ExpCrossing *ret_crossing)
{
    const End *end = &self->ends[record->interface];
    const TrcFunction *function;
    ExpCrossing crossing = {.kind = EXP_CROSSING_WRITE,
                            .link = end->link,
                            .end = end->side,
                            .time = record->time_ns - EXP_TIMELINE_EPOCH_NS,
                            .bytes = 4};

    switch (record->kind) {
    case TRC_MRD:
        crossing.kind = EXP_CROSSING_READ;
        crossing.tag = record->transaction;
        break;
    case TRC_CPL:
    case TRC_CPLD:
        crossing.kind = EXP_CROSSING_COMPLETION;
        crossing.tag = record->transaction;
        crossing.bytes = record->bytes;
        *ret_crossing = crossing;
        return true;
    case TRC_MWR:
    case TRC_MSI:
        break;
    case TRC_DOORBELL:
    case TRC_MESSAGE:
        *ret_crossing = crossing;
        return true;
    default:
        return false;
    }
    function = exp_end_function(&end->end, record->requester_id);
    crossing.address = record->address;
    crossing.bytes = record->bytes;
    crossing.device = function && record->requester_id != end->end.ntb
                          ? function->name
                          : NULL;
    *ret_crossing = crossing;
    return true;
}

static bool enter(Timeline *self, size_t index, GError **error)
{
    ExpCrossing crossing;
    TrcRecord record;
    uint32_t number;

    trc_file_record(self->file, index, &record);
    if (record.time_ns < EXP_TIMELINE_EPOCH_NS ||
        record.time_ns - EXP_TIMELINE_EPOCH_NS > LONGEST_NS / 2) {
        g_set_error(error, TRC_ERROR, TRC_ERROR_FORMAT,
                    "packet %zu: its time is no virtual time; record in a "
                    "timed cluster",
                    index + 1);
        return false;
    }
    if (record.kind == TRC_START) {
        End *end = &self->ends[record.interface];

        exp_end_start(&end->end, &record);
        place_bars(self, end);
    }
    if (!describe(self, &record, &crossing)) {
        return true;
    }
    crossing.id = index;
    crossing.least = crossing.time + self->least[crossing.link];
    while (exp_crossings_run(self->crossings, crossing.time)) {
        continue;
    }
    number = exp_crossings_enter(self->crossings, &crossing);
    if (number > 0) {
        g_hash_table_insert(self->packets, GUINT_TO_POINTER(number),
                            GSIZE_TO_POINTER(index + 1));
    }
    return true;
}

static void timeline_done(Timeline *self)
{
    for (unsigned i = 0; i < self->n_ends; i++) {
        exp_end_done(&self->ends[i].end);
    }
    exp_crossings_free(self->crossings);
    g_clear_pointer(&self->packets, g_hash_table_unref);
    g_free(self->least);
    g_free(self->ends);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Timeline, timeline_done)

bool exp_timeline_run(const TopoDescription *description, const TrcFile *file,
                      const ExpTimelineOps *ops, void *owner, GError **error)
{
    static const ExpCrossingsOps crossing_ops = {
        .arrived = on_arrived, .accepted = on_accepted, .hop = on_hop};
    g_auto(Timeline) self = {.file = file, .ops = ops, .owner = owner};
    g_autoptr(GPtrArray) links = topo_joins(description);
    unsigned count = trc_file_n_interfaces(file);

    self.ends = g_new0(End, count);
    self.packets = g_hash_table_new(NULL, NULL);
    for (; self.n_ends < count; self.n_ends++) {
        if (!find_end(&self, description, links, self.n_ends, error)) {
            self.n_ends++;
            return false;
        }
    }
    self.least = g_new0(int64_t, links->len + 1);
    if (!exp_crossings_least(description, self.least, error)) {
        return false;
    }
    self.crossings =
        exp_crossings_new(description, &crossing_ops, &self, error);
    if (!self.crossings) {
        return false;
    }
    for (size_t i = 0; i < trc_file_n_records(file); i++) {
        if (!enter(&self, i, error)) {
            return false;
        }
    }
    while (exp_crossings_run(self.crossings, INT64_MAX)) {
        continue;
    }
    return true;
}
