/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>

#include "cmd_hosts.h"
#include "cmd_load.h"
#include "inv_report.h"

static const char details[] =
    "Prints the devices of the hosts in FILE: each port of a NIC, each drive,\n"
    "GPU and accelerator is a device. Hosts with the same devices are one type.\n"
    "\n"
    "  farside inventory CLUSTER.yaml             types of hosts and their "
    "devices\n"
    "  farside inventory CLUSTER.yaml --devices   also slots and names of "
    "interfaces\n"
    "  farside inventory CLUSTER.yaml --host a --json\n"
    "                                             capabilities of host a\n"
    "  farside inventory --sysfs /sys             the devices of this machine\n"
    "  farside inventory --cluster lab            those of a running cluster\n"
    "\n"
    "Virtual functions and NTB adapters are not listed.\n"
    "\n"
    "Exit status: 0 done, 2 bad usage or description.";

typedef struct Options {
    CmdHosts hosts;
    gboolean json;
    gboolean devices;
    gboolean verbose;
} Options;

static void set_text(Table *table, unsigned row, unsigned column,
                     const char *text)
{
    table_set_text(table, row, column, text ? text : "-");
}

static void print_types(const Inventory *inventory)
{
    static const TableColumn columns[] = {
        {"type", TABLE_TEXT, 0},   {"count", TABLE_INTEGER, 0},
        {"device", TABLE_TEXT, 0}, {"vendor", TABLE_TEXT, 0},
        {"fabric", TABLE_TEXT, 0},
    };
    g_autoptr(GPtrArray) types = inv_host_types(inventory);

    for (unsigned i = 0; i < types->len; i++) {
        const GPtrArray *hosts = types->pdata[i];
        g_autoptr(GArray) capabilities = inv_capabilities(hosts->pdata[0]);
        g_autoptr(Table) table = table_new();

        printf("%shost%s", i > 0 ? "\n" : "", hosts->len == 1 ? "" : "s");
        for (unsigned j = 0; j < hosts->len; j++) {
            const InvHost *host = hosts->pdata[j];

            printf("%s %s", j > 0 ? "," : "", host->name);
        }
        putchar('\n');
        table_add_columns(table, columns, G_N_ELEMENTS(columns));
        for (unsigned j = 0; j < capabilities->len; j++) {
            const InvCapability *capability =
                &g_array_index(capabilities, InvCapability, j);
            unsigned row = table_add_row(table);

            set_text(table, row, 0, inv_type_name(capability->device->type));
            table_set_number(table, row, 1, capability->count);
            set_text(table, row, 2, capability->device->name);
            set_text(table, row, 3, capability->device->vendor);
            set_text(table, row, 4, capability->device->fabric);
        }
        if (capabilities->len > 0) {
            cmd_print_table(table);
        } else {
            puts("no devices");
        }
    }
}

static void print_devices(const Inventory *inventory)
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
    cmd_print_table(table);
}

/* Says which devices are ports of one card. */
static void print_cards(const Inventory *inventory)
{
    for (unsigned i = 0; i < inventory->hosts->len; i++) {
        const InvHost *host = inventory->hosts->pdata[i];

        for (unsigned j = 0; j + 1 < host->devices->len; j++) {
            const InvDevice *first = host->devices->pdata[j];
            const InvDevice *second = host->devices->pdata[j + 1];

            if (inv_is_same_card(first, second)) {
                printf("%s: %s and %s are ports of one card: they have one "
                       "serial number, and a setting of the card's firmware "
                       "changes both\n",
                       host->name, first->interface, second->interface);
            }
        }
    }
}

static void print_json(const Options *options, const Inventory *inventory)
{
    const InvHost *host = inventory->hosts->pdata[0];
    g_autofree char *text =
        options->devices ? inv_devices_to_json(host)
        : inventory->hosts->len == 1 &&
                (options->hosts.host || options->hosts.sysfs)
            ? inv_capabilities_to_json(host)
            : inv_types_to_json(inventory);

    puts(text);
}

static int run_verb(const CmdVerb *verb, int argc, char **argv)
{
    Options options = {0};
    const GOptionEntry entries[] = {
        {"json", 'j', 0, G_OPTION_ARG_NONE, &options.json,
         "Print JSON: with --host or --sysfs an array of capabilities, else an "
         "array of types of hosts",
         NULL},
        {"devices", 'd', 0, G_OPTION_ARG_NONE, &options.devices,
         "List each device with its slot and interface", NULL},
        {"verbose", 'v', 0, G_OPTION_ARG_NONE, &options.verbose,
         "Say which devices are ports of one card", NULL},
        CMD_HOSTS_ENTRIES(&options.hosts),
        G_OPTION_ENTRY_NULL,
    };
    g_autoptr(Inventory) inventory = NULL;
    g_auto(CmdArgs) args = {.words = NULL};
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    inventory = cmd_hosts_load("inventory", &options.hosts, args.words[0]);
    if (!inventory) {
        return CMD_USAGE;
    }
    if (options.json && options.devices && inventory->hosts->len != 1) {
        return cmd_usage("inventory",
                         "--devices --json shows one host; add --host NAME");
    }
    if (options.json) {
        print_json(&options, inventory);
        return CMD_OK;
    }
    if (options.devices) {
        print_devices(inventory);
    } else {
        print_types(inventory);
    }
    if (options.verbose) {
        print_cards(inventory);
    }
    return CMD_OK;
}

const CmdVerb cmd_inventory = {
    .name = "inventory",
    .summary = "list the devices of hosts as users select them",
    .synopsis = "[FILE]",
    .min_words = 0,
    .max_words = 1,
    .details = details,
    .run = run_verb};
