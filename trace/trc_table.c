/* SPDX-License-Identifier: MIT */
#include "trc_view_priv.h"

#include <inttypes.h>

#include "trc_text.h"

enum {
    TIME,
    EPOCH,
    FROM,
    TO,
    KIND,
    BAR,
    NEAR,
    ADDRESS,
    BYTES,
    REQUESTER,
    COMPLETER,
    TAG,
    STATUS,
    LATENCY,
    DETAIL
};

static Table *crossings_table(void)
{
    static const TableColumn columns[] = {
        {"time_ns", TABLE_INTEGER, 0}, {"epoch_ns", TABLE_INTEGER, 0},
        {"from", TABLE_TEXT, 0},       {"to", TABLE_TEXT, 0},
        {"kind", TABLE_TEXT, 0},       {"bar", TABLE_INTEGER, 0},
        {"near", TABLE_TEXT, 0},       {"address", TABLE_TEXT, 0},
        {"bytes", TABLE_INTEGER, 0},   {"requester", TABLE_TEXT, 0},
        {"completer", TABLE_TEXT, 0},  {"tag", TABLE_INTEGER, 0},
        {"status", TABLE_TEXT, 0},     {"latency_ns", TABLE_INTEGER, 0},
        {"detail", TABLE_TEXT, 0},
    };
    Table *table = table_new();

    table_add_columns(table, columns, G_N_ELEMENTS(columns));
    return table;
}

static void set_address(Table *table, unsigned row, unsigned column,
                        uint64_t address)
{
    g_autofree char *text = g_strdup_printf("0x%" PRIx64, address);

    table_set_text(table, row, column, text);
}

static void add_row(const TrcView *view, const TrcCrossing *crossing,
                    int64_t since_ns, void *data)
{
    const TrcRecord *record = &crossing->record;
    const TrcInterface *sender = trc_view_sender(crossing);
    Table *table = data;
    unsigned row = table_add_row(table);
    g_autofree char *detail = trc_text_detail(record);
    char id[8];

    table_set_number(table, row, TIME, since_ns);
    table_set_number(table, row, EPOCH, record->time_ns);
    table_set_text(table, row, FROM, sender->name);
    table_set_text(table, row, TO,
                   trc_file_interface(crossing->file, sender->peer)->name);
    table_set_text(table, row, KIND, trc_kind_name(record->kind));
    table_set_text(table, row, DETAIL, detail);
    if (trc_kind_is_request(record->kind) && record->has_near) {
        table_set_number(table, row, BAR, record->bar);
        set_address(table, row, NEAR, record->near);
    }
    if (trc_kind_is_request(record->kind) ||
        trc_kind_is_completion(record->kind)) {
        table_set_number(table, row, BYTES, record->bytes);
        table_set_text(table, row, REQUESTER,
                       trc_text_id(record->requester_id, id));
    }
    if (trc_kind_is_request(record->kind)) {
        set_address(table, row, ADDRESS, record->address);
    }
    if (record->kind == TRC_MRD || trc_kind_is_completion(record->kind)) {
        table_set_number(table, row, TAG, record->tag);
    }
    if (trc_kind_is_completion(record->kind)) {
        table_set_text(table, row, COMPLETER,
                       trc_text_id(record->completer_id, id));
        table_set_text(table, row, STATUS, trc_status_name(record->status));
        if (crossing->latency_ns != TRC_NO_LATENCY) {
            set_address(table, row, ADDRESS, crossing->read_address);
            table_set_number(table, row, LATENCY, crossing->latency_ns);
        }
    }
}

Table *trc_view_table(const TrcView *view)
{
    Table *table = crossings_table();

    trc_view_each(view, add_row, table);
    return table;
}
