/* SPDX-License-Identifier: MIT */
#include "bld_trace.h"

#include "sim_trace.h"

/* A record's source: the component's place among all, and its port. */
#define SOURCE(component, port) ((component) << 8 | (port))
#define NO_SOURCE               UINT32_MAX

struct BldTrace {
    SimTrace *trace;
    FabFabric *fabric;
    GHashTable *places; /* component to its place among all */
};

static uint32_t source_of(const BldTrace *self, const FabPort *port)
{
    if (!port) {
        return NO_SOURCE;
    }
    return SOURCE(GPOINTER_TO_UINT(
                      g_hash_table_lookup(self->places, fab_port_owner(port))),
                  fab_port_index(port));
}

/* Times within a record are short: what does not fit is cut off at 4 ms. */
static uint64_t short_time(SimTime time)
{
    return CLAMP(time, 0, (SimTime)UINT32_MAX);
}

static void trace_fabric(void *data, const FabTraceRecord *record)
{
    BldTrace *self = data;
    const FabTlp *tlp = record->tlp;
    uint32_t bytes =
        tlp->type == FAB_TLP_MRD ? tlp->request_bytes : tlp->payload_bytes;

    if (sim_trace_wants(self->trace, record->category)) {
        sim_trace_add(self->trace,
                      &(SimTraceRecord){
                          .time = record->start,
                          .categories = record->category,
                          .source = source_of(self, record->port),
                          .kind = tlp->type | (uint32_t)tlp->status << 8 |
                                  tlp->flow << 16,
                          .a = tlp->addr,
                          .b = (uint64_t)bytes << 32 |
                               (uint32_t)tlp->requester_id << 16 | tlp->tag,
                          .c = short_time(record->end - record->start) << 32 |
                               short_time(record->seen - record->start),
                      });
    }
}

BldTrace *bld_trace_new(const BldFabric *bld, uint64_t records)
{
    BldTrace *self = g_new0(BldTrace, 1);
    FabComponent *const *components;
    unsigned count;

    self->fabric = bld_fabric(bld);
    self->trace = sim_trace_new();
    sim_trace_set_categories(self->trace, FAB_TRACE_LINK | FAB_TRACE_UR);
    sim_trace_set_ring(self->trace, records);
    self->places = g_hash_table_new(NULL, NULL);
    components = fab_fabric_components(self->fabric, &count);
    for (unsigned i = 0; i < count; i++) {
        g_hash_table_insert(self->places, components[i], GUINT_TO_POINTER(i));
    }
    fab_fabric_set_trace(self->fabric, FAB_TRACE_LINK | FAB_TRACE_UR,
                         trace_fabric, self);
    return self;
}

void bld_trace_free(BldTrace *self)
{
    if (self) {
        sim_trace_free(self->trace);
        g_hash_table_unref(self->places);
        g_free(self);
    }
}

RepTable *bld_trace_table_new(void)
{
    RepTable *table = rep_table_new();

    rep_table_add_column(table, "point", REP_TEXT, 0);
    rep_table_add_column(table, "start_ns", REP_DECIMAL, 3);
    rep_table_add_column(table, "wire_ns", REP_DECIMAL, 3);
    rep_table_add_column(table, "seen_ns", REP_DECIMAL, 3);
    rep_table_add_column(table, "event", REP_TEXT, 0);
    rep_table_add_column(table, "from", REP_TEXT, 0);
    rep_table_add_column(table, "to", REP_TEXT, 0);
    rep_table_add_column(table, "tlp", REP_TEXT, 0);
    rep_table_add_column(table, "status", REP_TEXT, 0);
    rep_table_add_column(table, "address", REP_TEXT, 0);
    rep_table_add_column(table, "bytes", REP_INTEGER, 0);
    rep_table_add_column(table, "requester", REP_TEXT, 0);
    rep_table_add_column(table, "tag", REP_INTEGER, 0);
    rep_table_add_column(table, "flow", REP_INTEGER, 0);
    return table;
}

static void set_port(RepTable *table, unsigned row, unsigned column,
                     const FabPort *port)
{
    g_autofree char *name =
        port
            ? g_strdup_printf("%s %s", fab_component_name(fab_port_owner(port)),
                              fab_port_name(port))
            : g_strdup("");

    rep_table_set_text(table, row, column, name);
}

static const char *status_name(FabTlpType type, FabStatus status)
{
    if (type != FAB_TLP_CPL && type != FAB_TLP_CPLD) {
        return "";
    }
    return status == FAB_STATUS_SC   ? "SC"
           : status == FAB_STATUS_UR ? "UR"
                                     : "CA";
}

static void add_row(const BldTrace *self, const SimTraceRecord *record,
                    const char *label, RepTable *table)
{
    static const char *const types[] = {"MRd", "MWr", "FetchAdd", "Swap",
                                        "CAS", "Cpl", "CplD"};
    unsigned row = rep_table_add_row(table), count;
    FabTlpType type = record->kind & 0xff;
    FabBdf id = record->b >> 16;
    g_autofree char *addr =
        g_strdup_printf("0x%" G_GINT64_MODIFIER "x", record->a);
    g_autofree char *requester = g_strdup_printf(
        "%02x:%02x.%x", FAB_BDF_BUS(id), FAB_BDF_DEV(id), FAB_BDF_FN(id));
    const FabPort *port = NULL;

    if (record->source != NO_SOURCE) {
        FabComponent *const *components =
            fab_fabric_components(self->fabric, &count);

        port = fab_component_port(components[record->source >> 8],
                                  record->source & 0xff);
    }
    rep_table_set_text(table, row, 0, label);
    rep_table_set_number(table, row, 1, record->time);
    rep_table_set_number(table, row, 2, record->c >> 32);
    rep_table_set_number(table, row, 3,
                         record->time + (SimTime)(record->c & UINT32_MAX));
    rep_table_set_text(table, row, 4,
                       record->categories == FAB_TRACE_UR ? "refused" : "link");
    set_port(table, row, 5, port);
    set_port(table, row, 6, port ? fab_port_peer(port) : NULL);
    rep_table_set_text(table, row, 7, types[type]);
    rep_table_set_text(table, row, 8,
                       status_name(type, record->kind >> 8 & 0xff));
    rep_table_set_text(table, row, 9, addr);
    rep_table_set_number(table, row, 10, record->b >> 32);
    rep_table_set_text(table, row, 11, requester);
    rep_table_set_number(table, row, 12, record->b & 0xffff);
    rep_table_set_number(table, row, 13, record->kind >> 16);
}

void bld_trace_add_rows(const BldTrace *self, const char *label,
                        RepTable *table)
{
    uint64_t count = sim_trace_ring_count(self->trace);

    for (uint64_t i = 0; i < count; i++) {
        add_row(self, sim_trace_ring_get(self->trace, i), label, table);
    }
}
