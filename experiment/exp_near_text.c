/* SPDX-License-Identifier: MIT */
#include "exp_near.h"
#include "table_format.h"

/* Returns GB/s with two decimals, as a number of hundredths. */
static int64_t hundredths(int64_t bytes_s)
{
    return (bytes_s + 5000000) / 10000000;
}

/* Returns ns with one decimal, as a number of tenths. */
static int64_t tenths(int64_t ps)
{
    return (ps + 50) / 100;
}

static void append_table(GString *text, const ExpNear *near)
{
    static const TableColumn columns[] = {
        {"rank", TABLE_INTEGER, 0},
        {"device", TABLE_TEXT, 0},
        {"hops", TABLE_INTEGER, 0},
        {"roots", TABLE_INTEGER, 0},
        {"write_ns", TABLE_DECIMAL, 1},
        {"read_ns", TABLE_DECIMAL, 1},
        {"write_alone", TABLE_DECIMAL, 2},
        {"read_alone", TABLE_DECIMAL, 2},
        {"write", TABLE_DECIMAL, 2},
        {"read", TABLE_DECIMAL, 2},
        {"way", TABLE_TEXT, 0},
    };
    g_autoptr(Table) table = table_new();

    table_add_columns(table, columns, G_N_ELEMENTS(columns));
    for (unsigned i = 0; i < near->rows->len; i++) {
        const ExpNearRow *row = near->rows->pdata[i];
        unsigned at = table_add_row(table);

        table_set_text(table, at, 1, row->device->path);
        if (row->refusal) {
            table_set_text(table, at, 10, "none");
            continue;
        }
        table_set_number(table, at, 0, i + 1);
        table_set_number(table, at, 2, row->hops);
        table_set_number(table, at, 3, row->roots);
        table_set_number(table, at, 4, tenths(row->write_ps));
        table_set_number(table, at, 5, tenths(row->read_ps));
        table_set_number(table, at, 6, hundredths(row->write_alone));
        table_set_number(table, at, 7, hundredths(row->read_alone));
        table_set_number(table, at, 8, hundredths(row->write_shared));
        table_set_number(table, at, 9, hundredths(row->read_shared));
        table_set_text(table, at, 10, row->way);
    }
    table_format_append(text, table);
}

/* Says of each candidate what limits it, or why it is none. */
static void append_reasons(GString *text, const ExpNear *near)
{
    g_string_append_printf(
        text, "Rates in GB/s: alone, and under %u flow%s of the description.\n",
        near->n_flows, near->n_flows == 1 ? "" : "s");
    for (unsigned i = 0; i < near->rows->len; i++) {
        const ExpNearRow *row = near->rows->pdata[i];

        if (row->refusal) {
            g_string_append_printf(text, "%s: no way: %s\n", row->device->path,
                                   row->refusal);
        } else {
            g_string_append_printf(
                text, "%s: %s is slower. %s\n", row->device->path,
                row->write_shared < row->read_shared ? "writing" : "reading",
                row->limit ? row->limit : "");
        }
    }
}

void exp_near_append(GString *text, const ExpNear *near)
{
    append_table(text, near);
    append_reasons(text, near);
}
