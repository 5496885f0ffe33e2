/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "exp_lend_plan.h"
#include "fab_size.h"
#include "table_format.h"

/* The text behind "device N" in @note, and N; NULL if it has no such form. */
static const char *device_note(const char *note, unsigned *ret_number)
{
    char *end;

    if (!g_str_has_prefix(note, "device ")) {
        return NULL;
    }
    *ret_number =
        (unsigned)g_ascii_strtoull(note + strlen("device "), &end, 10);
    return end;
}

/* Returns the row behind those that begin with @row and differ only in the
 * number of the device. */
static unsigned run_end(const Table *table, unsigned row)
{
    unsigned number, next = row + 1;
    const char *rest =
        device_note(table_text(table, row, EXP_LEND_PLAN_NOTE), &number);

    while (rest && next < table_n_rows(table)) {
        const char *other =
            device_note(table_text(table, next, EXP_LEND_PLAN_NOTE), &number);

        if (g_strcmp0(rest, other) != 0 ||
            table_number(table, row, EXP_LEND_PLAN_BYTES) !=
                table_number(table, next, EXP_LEND_PLAN_BYTES)) {
            break;
        }
        next++;
    }
    return next;
}

/* The note of the rows from @row to @end - 1; to be freed. */
static char *run_note(const Table *table, unsigned row, unsigned end)
{
    const char *note = table_text(table, row, EXP_LEND_PLAN_NOTE);
    unsigned first = 0, last = 0;
    const char *rest = device_note(note, &first);

    if (end == row + 1) {
        return g_strdup(note);
    }
    device_note(table_text(table, end - 1, EXP_LEND_PLAN_NOTE), &last);
    return g_strdup_printf("each of devices %u to %u%s", first, last, rest);
}

/* Appends the rows of one adapter, beginning with row @first, with readable
 * sizes, and equal devices in one row. */
static void append_rows(GString *text, const Table *table, const char *adapter,
                        unsigned first)
{
    static const TableColumn columns[] = {
        {"term", TABLE_TEXT, 0},
        {"entries", TABLE_INTEGER, 0},
        {"size", TABLE_TEXT, 0},
        {"note", TABLE_TEXT, 0},
    };
    g_autoptr(Table) shown = table_new();

    table_add_columns(shown, columns, G_N_ELEMENTS(columns));
    for (unsigned i = first, end; i < table_n_rows(table); i = end) {
        unsigned row = table_add_row(shown);
        g_autofree char *size =
            fab_size_text(table_number(table, i, EXP_LEND_PLAN_BYTES));
        g_autofree char *note = NULL;

        end = run_end(table, i);
        note = run_note(table, i, end);

        table_set_text(shown, row, 0, table_text(table, i, EXP_LEND_PLAN_TERM));
        table_set_number(shown, row, 1,
                         table_number(table, i, EXP_LEND_PLAN_ENTRIES));
        table_set_text(shown, row, 2, size);
        table_set_text(shown, row, 3, note);
    }
    g_string_append_printf(text, "%s%s", adapter, *adapter ? "\n" : "");
    table_format_append(text, shown);
}

/* If something does not fit, appends the first term that does not. */
static void append_verdict(GString *text, const ExpLendPlan *plan,
                           const FabPlan *sums)
{
    bool automatic = false;

    for (unsigned i = 0; i < plan->params.window_count; i++) {
        const FabPlanWindow *window = &plan->params.windows[i];

        automatic = automatic || (!window->bytes && !window->covers_ram);
    }
    if (sums->broken) {
        g_autofree char *lacking = fab_size_text(sums->short_bytes);

        g_string_append_printf(text,
                               "It does not fit: for %s %s (%" G_GUINT64_FORMAT
                               " entries) are missing.\n",
                               fab_plan_term_name(sums->broken), lacking,
                               sums->short_bytes / sums->entry_bytes);
        if (sums->broken == FAB_PLAN_RESERVED) {
            g_string_append_printf(
                text,
                "Of %u entries, %u at most can be reserved for each of %u "
                "remote nodes.\n",
                plan->params.entries,
                plan->params.entries / (plan->params.nodes - 1),
                plan->params.nodes - 1);
        }
    } else if (automatic && plan->has_p2p) {
        g_string_append(
            text, "The automatic size of a window does not count P2P, which is "
                  "mapped later.\nSet the windows by hand to at most the "
                  "sizes above."
                  "\n");
    }
}

static bool append_plan(GString *text, const ExpLendPlan *plan, Table *table,
                        bool *ret_fits, GError **error)
{
    unsigned first = table_n_rows(table);
    FabPlan sums;

    if (!exp_lend_plan_add_rows(plan, table, &sums, error)) {
        return false;
    }
    append_rows(text, table, plan->adapter, first);
    append_verdict(text, plan, &sums);
    *ret_fits = !sums.broken;
    return true;
}

bool exp_lend_plans_append(GString *text, const GPtrArray *plans, Table *table,
                           bool *ret_fit, GError **error)
{
    bool fits;

    *ret_fit = true;
    for (unsigned i = 0; i < plans->len; i++) {
        if (i > 0) {
            g_string_append_c(text, '\n');
        }
        if (!append_plan(text, plans->pdata[i], table, &fits, error)) {
            return false;
        }
        *ret_fit = *ret_fit && fits;
    }
    return true;
}
