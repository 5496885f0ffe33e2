/* SPDX-License-Identifier: MIT */
#include "exp_trace.h"

/* A TLP at the time when the trace saw it. */
typedef struct Record {
    SimTime start; /* its first byte leaves the sender */
    SimTime end;   /* its last byte leaves the sender */
    SimTime seen;  /* the component at the far end acts on it */
    FabBusAddr addr;
    const FabPort
        *port; /* the sender; the ingress for a refused request; nullable */
    uint32_t category;
    uint32_t bytes;
    uint32_t flow;
    FabTlpType type;
    FabStatus status;
    FabBdf requester_id;
    uint16_t tag;
} Record;

struct ExpTrace {
    Record *ring; /* ring of the last records */
    uint64_t capacity;
    uint64_t added; /* number of all records, overwritten ones included */
};

static void trace_fabric(void *data, const FabTraceRecord *record)
{
    ExpTrace *self = data;
    const FabTlp *tlp = record->tlp;

    self->ring[self->added++ % self->capacity] = (Record){
        .start = record->start,
        .end = record->end,
        .seen = record->seen,
        .addr = tlp->addr,
        .port = record->port,
        .category = record->category,
        .bytes =
            tlp->type == FAB_TLP_MRD ? tlp->request_bytes : tlp->payload_bytes,
        .flow = tlp->flow,
        .type = tlp->type,
        .status = tlp->status,
        .requester_id = tlp->requester_id,
        .tag = tlp->tag,
    };
}

ExpTrace *exp_trace_new(const ExpFabric *fabric, uint64_t records)
{
    ExpTrace *self = g_new0(ExpTrace, 1);

    self->ring = g_new(Record, records);
    self->capacity = records;
    fab_fabric_set_trace(exp_fabric(fabric), FAB_TRACE_LINK | FAB_TRACE_UR,
                         trace_fabric, self);
    return self;
}

void exp_trace_free(ExpTrace *self)
{
    if (self) {
        g_free(self->ring);
        g_free(self);
    }
}

Table *exp_trace_table_new(void)
{
    static const TableColumn columns[] = {
        {"point", TABLE_TEXT, 0},      {"start_ns", TABLE_DECIMAL, 3},
        {"wire_ns", TABLE_DECIMAL, 3}, {"seen_ns", TABLE_DECIMAL, 3},
        {"event", TABLE_TEXT, 0},      {"from", TABLE_TEXT, 0},
        {"to", TABLE_TEXT, 0},         {"tlp", TABLE_TEXT, 0},
        {"status", TABLE_TEXT, 0},     {"address", TABLE_TEXT, 0},
        {"bytes", TABLE_INTEGER, 0},   {"requester", TABLE_TEXT, 0},
        {"tag", TABLE_INTEGER, 0},     {"flow", TABLE_INTEGER, 0},
    };
    Table *table = table_new();

    table_add_columns(table, columns, G_N_ELEMENTS(columns));
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

static void add_row(const Record *record, const char *label, Table *table)
{
    static const char *const types[] = {
        "MRd", "MWr", "FetchAdd", "Swap", "CAS", "Cpl", "CplD", "Msg", "MsgD"};
    unsigned row = table_add_row(table);
    FabBdf id = record->requester_id;
    const FabPort *port = record->port;
    g_autofree char *addr =
        g_strdup_printf("0x%" G_GINT64_MODIFIER "x", record->addr);
    g_autofree char *requester = g_strdup_printf(
        "%02x:%02x.%x", FAB_BDF_BUS(id), FAB_BDF_DEV(id), FAB_BDF_FN(id));

    table_set_text(table, row, 0, label);
    table_set_number(table, row, 1, record->start);
    table_set_number(table, row, 2, record->end - record->start);
    table_set_number(table, row, 3, record->seen);
    table_set_text(table, row, 4,
                   record->category == FAB_TRACE_UR ? "refused" : "link");
    set_port(table, row, 5, port);
    set_port(table, row, 6, port ? fab_port_peer(port) : NULL);
    table_set_text(table, row, 7, types[record->type]);
    table_set_text(table, row, 8, status_name(record->type, record->status));
    table_set_text(table, row, 9, addr);
    table_set_number(table, row, 10, record->bytes);
    table_set_text(table, row, 11, requester);
    table_set_number(table, row, 12, record->tag);
    table_set_number(table, row, 13, record->flow);
}

void exp_trace_add_rows(const ExpTrace *self, const char *label, Table *table)
{
    uint64_t kept = MIN(self->added, self->capacity);

    for (uint64_t i = self->added - kept; i < self->added; i++) {
        add_row(&self->ring[i % self->capacity], label, table);
    }
}
