/* SPDX-License-Identifier: MIT */
/* Reports and selections for a terminal. */
#include "inv_report.h"
#include "inv_json_priv.h"
#include "inv_select.h"
#include "table_format.h"

static void set_text(Table *table, unsigned row, unsigned column,
                     const char *text)
{
    table_set_text(table, row, column, text ? text : "-");
}

/* Appends "hosts a, b". */
static void append_hosts(GString *text, const GPtrArray *hosts)
{
    g_string_append_printf(text, "%shost%s", text->len > 0 ? "\n" : "",
                           hosts->len == 1 ? "" : "s");
    for (unsigned i = 0; i < hosts->len; i++) {
        const InvHost *host = hosts->pdata[i];

        g_string_append_printf(text, "%s %s", i > 0 ? "," : "", host->name);
    }
    g_string_append_c(text, '\n');
}

static void append_capabilities(GString *text, const InvHost *host,
                                bool by_slot)
{
    static const TableColumn columns[] = {
        {"type", TABLE_TEXT, 0},   {"count", TABLE_INTEGER, 0},
        {"device", TABLE_TEXT, 0}, {"vendor", TABLE_TEXT, 0},
        {"fabric", TABLE_TEXT, 0}, {"slot", TABLE_TEXT, 0},
    };
    g_autoptr(GArray) capabilities = inv_capabilities(host, by_slot);
    g_autoptr(Table) table = table_new();

    table_add_columns(table, columns,
                      G_N_ELEMENTS(columns) - (by_slot ? 0 : 1));
    for (unsigned i = 0; i < capabilities->len; i++) {
        const InvCapability *capability =
            &g_array_index(capabilities, InvCapability, i);
        unsigned row = table_add_row(table);

        set_text(table, row, 0, inv_type_name(capability->device->type));
        table_set_number(table, row, 1, capability->count);
        set_text(table, row, 2, capability->device->name);
        set_text(table, row, 3, capability->device->vendor);
        set_text(table, row, 4, capability->device->fabric);
        if (by_slot) {
            g_autofree char *slot =
                topo_address_to_string(capability->device->slot);

            set_text(table, row, 5, slot);
        }
    }
    if (capabilities->len > 0) {
        table_format_append(text, table);
    } else {
        g_string_append(text, "no devices\n");
    }
}

static void types_append(GString *text, const Inventory *inventory,
                         bool by_slot)
{
    g_autoptr(GPtrArray) types = inv_host_types(inventory, by_slot);

    for (unsigned i = 0; i < types->len; i++) {
        const GPtrArray *hosts = types->pdata[i];

        append_hosts(text, hosts);
        append_capabilities(text, hosts->pdata[0], by_slot);
    }
}

/* Returns the label of number @n of the devices like @device. */
static char *choice_label(const InvDevice *device, unsigned n)
{
    GString *label = g_string_new(NULL);

    if (device->fabric) {
        g_string_append_printf(label, "[%s]: ", device->fabric);
    }
    if (device->vendor) {
        g_string_append_printf(label, "%s ", device->vendor);
    }
    g_string_append_printf(label, "%s - Nr %u", device->name, n);
    return g_string_free(label, FALSE);
}

static void choices_append(GString *text, const Inventory *inventory)
{
    g_autoptr(GPtrArray) types = inv_host_types(inventory, false);

    for (unsigned i = 0; i < types->len; i++) {
        const GPtrArray *hosts = types->pdata[i];
        g_autoptr(GArray) capabilities =
            inv_capabilities(hosts->pdata[0], false);

        append_hosts(text, hosts);
        for (unsigned j = 0; j < capabilities->len; j++) {
            const InvCapability *capability =
                &g_array_index(capabilities, InvCapability, j);

            for (unsigned n = 0; n < capability->count; n++) {
                g_autofree char *label = choice_label(capability->device, n);

                g_string_append_printf(text, "%s\n", label);
            }
        }
    }
}

char *inv_choices_to_json(const InvHost *host)
{
    g_autoptr(GArray) capabilities = inv_capabilities(host, false);
    g_autoptr(JsonBuilder) builder = json_builder_new();

    json_builder_begin_array(builder);
    for (unsigned i = 0; i < capabilities->len; i++) {
        const InvCapability *capability =
            &g_array_index(capabilities, InvCapability, i);
        const InvDevice *device = capability->device;

        for (unsigned n = 0; n < capability->count; n++) {
            g_autofree char *label = choice_label(device, n);

            json_builder_begin_object(builder);
            inv_json_add_text(builder, "label", label);
            inv_json_add_text(builder, "device", device->name);
            inv_json_add_text(builder, "device_vendor", device->vendor);
            inv_json_add_text(builder, "fabric", device->fabric);
            json_builder_set_member_name(builder, "device_instance");
            json_builder_add_int_value(builder, n);
            json_builder_end_object(builder);
        }
    }
    json_builder_end_array(builder);
    return inv_json_finish(builder);
}

static void devices_append(GString *text, const Inventory *inventory)
{
    static const TableColumn columns[] = {
        {"host", TABLE_TEXT, 0},   {"path", TABLE_TEXT, 0},
        {"slot", TABLE_TEXT, 0},   {"interface", TABLE_TEXT, 0},
        {"device", TABLE_TEXT, 0}, {"fabric", TABLE_TEXT, 0},
        {"vfs", TABLE_INTEGER, 0},
    };
    g_autoptr(Table) table = table_new();

    table_add_columns(table, columns, G_N_ELEMENTS(columns));
    for (unsigned i = 0; i < inventory->hosts->len; i++) {
        const InvHost *host = inventory->hosts->pdata[i];

        for (unsigned j = 0; j < host->devices->len; j++) {
            const InvDevice *device = host->devices->pdata[j];
            g_autofree char *slot = topo_address_to_string(device->slot);
            unsigned row = table_add_row(table);

            set_text(table, row, 0, host->name);
            set_text(table, row, 1, device->path);
            set_text(table, row, 2, slot);
            set_text(table, row, 3, device->interface);
            set_text(table, row, 4, device->name);
            set_text(table, row, 5, device->fabric);
            table_set_number(table, row, 6, device->vfs);
        }
    }
    table_format_append(text, table);
}

void inv_view_append(GString *text, const Inventory *inventory, InvView view)
{
    switch (view) {
    case INV_VIEW_TYPES:
    case INV_VIEW_SLOTS:
        types_append(text, inventory, view == INV_VIEW_SLOTS);
        break;
    case INV_VIEW_CHOICES:
        choices_append(text, inventory);
        break;
    case INV_VIEW_DEVICES:
    case INV_VIEW_RAW:
        devices_append(text, inventory);
        break;
    }
}

void inv_cards_append(GString *text, const Inventory *inventory)
{
    for (unsigned i = 0; i < inventory->hosts->len; i++) {
        const InvHost *host = inventory->hosts->pdata[i];

        for (unsigned j = 0; j + 1 < host->devices->len; j++) {
            const InvDevice *first = host->devices->pdata[j];
            const InvDevice *second = host->devices->pdata[j + 1];

            if (inv_is_same_card(first, second)) {
                g_string_append_printf(
                    text,
                    "%s: %s and %s are ports of one card: they have one "
                    "serial number, and a setting of the card's firmware "
                    "changes both\n",
                    host->name, first->interface, second->interface);
            }
        }
    }
}

void inv_selections_append(GString *text, const GPtrArray *selections)
{
    static const TableColumn columns[] = {
        {"host", TABLE_TEXT, 0},      {"device", TABLE_TEXT, 0},
        {"fabric", TABLE_TEXT, 0},    {"instance", TABLE_INTEGER, 0},
        {"function", TABLE_TEXT, 0},  {"slot", TABLE_TEXT, 0},
        {"interface", TABLE_TEXT, 0},
    };
    g_autoptr(Table) table = table_new();

    table_add_columns(table, columns, G_N_ELEMENTS(columns));
    for (unsigned i = 0; i < selections->len; i++) {
        const InvSelection *selection = selections->pdata[i];
        const InvDevice *device = selection->device;
        g_autofree char *slot = topo_address_to_string(selection->slot);
        g_autofree char *function =
            selection->is_virtual
                ? g_strdup_printf("VF %u", selection->virtual_function)
                : g_strdup("PF");
        unsigned row = table_add_row(table);

        table_set_text(table, row, 0, selection->host->name);
        table_set_text(table, row, 1, device->name);
        table_set_text(table, row, 2, device->fabric ? device->fabric : "-");
        table_set_number(table, row, 3, selection->instance);
        table_set_text(table, row, 4, function);
        table_set_text(table, row, 5, slot);
        table_set_text(table, row, 6, selection->interface);
    }
    table_format_append(text, table);
}
