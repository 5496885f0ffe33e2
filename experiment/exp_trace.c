/* SPDX-License-Identifier: MIT */
#include "exp_trace.h"

#include "sim_trace.h"

/* A record's source: the component's place among all, and its port. */
#define SOURCE(component, port) ((component) << 8 | (port))
#define NO_SOURCE               UINT32_MAX

struct ExpTrace {
    SimTrace *trace;
    FabFabric *fabric;
    GHashTable *places; /* component to its place among all */
};

static uint32_t source_of(const ExpTrace *self, const FabPort *port)
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
    ExpTrace *self = data;
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

ExpTrace *exp_trace_new(const ExpFabric *bld, uint64_t records)
{
    ExpTrace *self = g_new0(ExpTrace, 1);
    FabComponent *const *components;
    unsigned count;

    self->fabric = exp_fabric(bld);
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

void exp_trace_free(ExpTrace *self)
{
    if (self) {
        sim_trace_free(self->trace);
        g_hash_table_unref(self->places);
        g_free(self);
    }
}

Table *exp_trace_table_new(void)
{
    Table *table = table_new();

    table_add_column(table, "point", TABLE_TEXT, 0);
    table_add_column(table, "start_ns", TABLE_DECIMAL, 3);
    table_add_column(table, "wire_ns", TABLE_DECIMAL, 3);
    table_add_column(table, "seen_ns", TABLE_DECIMAL, 3);
    table_add_column(table, "event", TABLE_TEXT, 0);
    table_add_column(table, "from", TABLE_TEXT, 0);
    table_add_column(table, "to", TABLE_TEXT, 0);
    table_add_column(table, "tlp", TABLE_TEXT, 0);
    table_add_column(table, "status", TABLE_TEXT, 0);
    table_add_column(table, "address", TABLE_TEXT, 0);
    table_add_column(table, "bytes", TABLE_INTEGER, 0);
    table_add_column(table, "requester", TABLE_TEXT, 0);
    table_add_column(table, "tag", TABLE_INTEGER, 0);
    table_add_column(table, "flow", TABLE_INTEGER, 0);
    return table;
}

static void set_port(Table *table, unsigned row, unsigned column,
                     const FabPort *port)
{
    g_autofree char *name =
        port
            ? g_strdup_printf("%s %s", fab_component_name(fab_port_owner(port)),
                              fab_port_name(port))
            : g_strdup("");

    table_set_text(table, row, column, name);
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

static void add_row(const ExpTrace *self, const SimTraceRecord *record,
                    const char *label, Table *table)
{
    static const char *const types[] = {"MRd", "MWr", "FetchAdd", "Swap",
                                        "CAS", "Cpl", "CplD"};
    unsigned row = table_add_row(table), count;
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
    table_set_text(table, row, 0, label);
    table_set_number(table, row, 1, record->time);
    table_set_number(table, row, 2, record->c >> 32);
    table_set_number(table, row, 3,
                     record->time + (SimTime)(record->c & UINT32_MAX));
    table_set_text(table, row, 4,
                   record->categories == FAB_TRACE_UR ? "refused" : "link");
    set_port(table, row, 5, port);
    set_port(table, row, 6, port ? fab_port_peer(port) : NULL);
    table_set_text(table, row, 7, types[type]);
    table_set_text(table, row, 8, status_name(type, record->kind >> 8 & 0xff));
    table_set_text(table, row, 9, addr);
    table_set_number(table, row, 10, record->b >> 32);
    table_set_text(table, row, 11, requester);
    table_set_number(table, row, 12, record->b & 0xffff);
    table_set_number(table, row, 13, record->kind >> 16);
}

void exp_trace_add_rows(const ExpTrace *self, const char *label, Table *table)
{
    uint64_t count = sim_trace_ring_count(self->trace);

    for (uint64_t i = 0; i < count; i++) {
        add_row(self, sim_trace_ring_get(self->trace, i), label, table);
    }
}
