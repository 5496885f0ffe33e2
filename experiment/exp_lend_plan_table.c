/* SPDX-License-Identifier: MIT */
#include "exp_lend_plan.h"
#include "fab_size.h"
#include "table_format.h"

/* The table while the rows of one adapter are added. */
typedef struct Rows {
    Table *table;
    const char *adapter;
    uint64_t entry_bytes;
} Rows;

Table *exp_lend_plan_table_new(void)
{
    static const TableColumn columns[] = {
        {"adapter", TABLE_TEXT, 0},    {"term", TABLE_TEXT, 0},
        {"entries", TABLE_INTEGER, 0}, {"bytes", TABLE_INTEGER, 0},
        {"note", TABLE_TEXT, 0},
    };
    Table *table = table_new();

    table_add_columns(table, columns, G_N_ELEMENTS(columns));
    return table;
}

G_GNUC_PRINTF(4, 5)
static void add_row(const Rows *rows, const char *term, uint64_t bytes,
                    const char *format, ...)
{
    unsigned row = table_add_row(rows->table);
    g_autofree char *note = NULL;
    va_list args;

    va_start(args, format);
    note = g_strdup_vprintf(format, args);
    va_end(args);
    table_set_text(rows->table, row, EXP_LEND_PLAN_ADAPTER, rows->adapter);
    table_set_text(rows->table, row, EXP_LEND_PLAN_TERM, term);
    table_set_number(rows->table, row, EXP_LEND_PLAN_ENTRIES,
                     bytes / rows->entry_bytes);
    table_set_number(rows->table, row, EXP_LEND_PLAN_BYTES,
                     MIN(bytes, G_MAXINT64));
    table_set_text(rows->table, row, EXP_LEND_PLAN_NOTE, note);
}

static char *window_note(const ExpLendPlan *plan, unsigned index,
                         uint64_t bytes)
{
    const FabPlanWindow *window = &plan->params.windows[index];
    const char *name = plan->window_names->pdata[index];
    const char *how = "automatic: a fair share";

    if (window->covers_ram) {
        how = bytes ? "covers all of the memory" : "the same window";
    } else if (window->bytes) {
        how = "set by hand";
    }
    return g_strdup_printf("%s (%s)", name, how);
}

static char *target_note(const ExpLendPlan *plan)
{
    g_autoptr(GString) note = g_string_new(NULL);

    for (unsigned i = 0; i < plan->target_names->len; i++) {
        g_string_append_printf(note, "%s%s", i ? ", " : "",
                               (char *)plan->target_names->pdata[i]);
    }
    return g_string_free(g_steal_pointer(&note), FALSE);
}

static void add_rows(const Rows *rows, const ExpLendPlan *plan,
                     const FabPlan *sums, const uint64_t *windows)
{
    const FabPlanParams *params = &plan->params;
    g_autofree char *targets = target_note(plan);

    add_row(rows, "prefetch_total", params->window_bytes, "%s",
            "the prefetchable size");
    add_row(rows, "mapping_entry_size", sums->entry_bytes, "1/%u of it",
            params->entries);
    add_row(rows, "reserved", sums->reserved_bytes,
            "ntb_lut2_switch_max_entries = %u, %u remote node%s%s",
            params->reserved, params->nodes - 1, params->nodes == 2 ? "" : "s",
            params->spared ? "; less for those whose IOMMU is off" : "");
    add_row(rows, "prefetch_ondemand", sums->ondemand_bytes, "%s", "");
    add_row(rows, "prefetch_msi", sums->msi_bytes, "%u borrower%s",
            params->borrowers, params->borrowers == 1 ? "" : "s");
    add_row(rows, "prefetch_BARs", sums->bars_bytes, "%s", targets);
    add_row(rows, "prefetch_free", sums->free_bytes, "%s", "");
    for (unsigned i = 0; i < params->window_count; i++) {
        g_autofree char *note = window_note(plan, i, windows[i]);

        add_row(rows, "dma_window_size", windows[i], "%s", note);
    }
    add_row(rows, "left", sums->left_bytes, "%s", "");
}

bool exp_lend_plan_add_rows(const ExpLendPlan *plan, Table *table,
                            FabPlan *ret_sums, GError **error)
{
    g_autofree uint64_t *windows =
        g_new0(uint64_t, plan->params.window_count + 1);
    Rows rows = {.table = table, .adapter = plan->adapter};

    if (!fab_plan_compute(&plan->params, ret_sums, windows, error)) {
        return false;
    }
    rows.entry_bytes = ret_sums->entry_bytes;
    add_rows(&rows, plan, ret_sums, windows);
    return true;
}

void exp_lend_machines_append(GString *text, Table *table,
                              const ExpLendMachine *machines, unsigned count)
{
    static const TableColumn columns[] = {
        {"adapter", TABLE_TEXT, 0},
        {"window", TABLE_TEXT, 0},
        {"DMA window", TABLE_TEXT, 0},
        {"note", TABLE_TEXT, 0},
    };
    g_autoptr(Table) shown = table_new();

    table_add_columns(shown, columns, G_N_ELEMENTS(columns));
    for (unsigned i = 0; i < count; i++) {
        const ExpLendMachine *machine = &machines[i];
        g_autofree char *space = fab_size_text(machine->space_bytes);
        g_autofree char *window = fab_size_text(machine->window_bytes);
        unsigned row = table_add_row(table);

        table_set_text(table, row, EXP_LEND_PLAN_ADAPTER, machine->adapter);
        table_set_text(table, row, EXP_LEND_PLAN_TERM, "machine_dma_window");
        table_set_number(table, row, EXP_LEND_PLAN_BYTES,
                         MIN(machine->window_bytes, G_MAXINT64));
        table_set_text(table, row, EXP_LEND_PLAN_NOTE, machine->note);
        table_add_row(shown);
        table_set_text(shown, i, 0, machine->adapter);
        table_set_text(shown, i, 1, space);
        table_set_text(shown, i, 2, window);
        table_set_text(shown, i, 3, machine->note);
    }
    table_format_append(text, shown);
}
