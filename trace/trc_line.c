/* SPDX-License-Identifier: MIT */
#include "trc_view_priv.h"

#include <inttypes.h>
#include <string.h>

#include "table_number.h"
#include "trc_text.h"

char *trc_view_line(const TrcView *view, const TrcCrossing *crossing,
                    int64_t since_ns)
{
    const TrcRecord *record = &crossing->record;
    const char *direction = trc_view_direction(view, crossing);
    const char *kind = trc_kind_name(record->kind);
    g_autofree char *time = table_number_print(since_ns, 9);
    g_autofree char *detail = trc_text_detail(record);
    GString *line = g_string_new(NULL);
    char id[8];

    g_string_append_printf(line, "%14s  %s%*s  %s", time, direction,
                           trc_view_direction_width(view) -
                               (int)g_utf8_strlen(direction, -1),
                           "", kind);
    if (trc_kind_is_request(record->kind) ||
        trc_kind_is_completion(record->kind)) {
        /* CplD is the longest name. */
        g_string_append_printf(line, "%*s ", 4 - (int)strlen(kind), "");
    }
    if (trc_kind_is_request(record->kind)) {
        if (record->has_near) {
            g_string_append_printf(line, " 0x%" PRIx64 " ->", record->near);
        }
        g_string_append_printf(line, " 0x%" PRIx64 " %uB %s", record->address,
                               record->bytes,
                               trc_text_id(record->requester_id, id));
    }
    if (record->kind == TRC_MRD) {
        g_string_append_printf(line, " tag %u%s", record->tag,
                               trc_view_is_unanswered(crossing) ? " unanswered"
                                                                : "");
    }
    if (trc_kind_is_completion(record->kind)) {
        if (crossing->latency_ns != TRC_NO_LATENCY) {
            g_string_append_printf(line, " 0x%" PRIx64, crossing->read_address);
        }
        g_string_append_printf(line, " %uB %s tag %u", record->bytes,
                               trc_text_id(record->requester_id, id),
                               record->tag);
        g_string_append_printf(line, " from %s %s",
                               trc_text_id(record->completer_id, id),
                               trc_status_name(record->status));
        if (crossing->latency_ns != TRC_NO_LATENCY) {
            g_autofree char *us = table_number_print(crossing->latency_ns, 3);

            g_string_append_printf(line, " after %sus", us);
        }
    }
    g_string_append_printf(line, "%s%s", *detail != '\0' ? "  " : "", detail);
    return g_string_free(line, FALSE);
}
