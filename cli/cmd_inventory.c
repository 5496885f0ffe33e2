/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>

#include "cmd_hosts.h"
#include "cmd_load.h"
#include "inv_report.h"

typedef struct Options {
    CmdHosts hosts;
    gboolean json;
    gboolean devices;
    gboolean verbose;
} Options;

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
    g_autoptr(GString) text = g_string_new(NULL);
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
        inv_devices_append(text, inventory);
    } else {
        inv_types_append(text, inventory);
    }
    if (options.verbose) {
        inv_cards_append(text, inventory);
    }
    fputs(text->str, stdout);
    return CMD_OK;
}

const CmdVerb cmd_inventory = {
    .name = "inventory",
    .summary = "list the devices of hosts as users select them",
    .synopsis = "[FILE]",
    .words = {0, 1},
    .run = run_verb};
