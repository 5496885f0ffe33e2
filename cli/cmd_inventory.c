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
    gboolean raw;
    gboolean slots;
    gboolean choices;
    gboolean verbose;
} Options;

static char *to_json(const Options *options, const Inventory *inventory,
                     GError **error)
{
    const InvHost *host = inventory->hosts->pdata[0];

    if (options->raw) {
        return inv_raw_devices_to_json(host, error);
    }
    if (options->devices) {
        return inv_devices_to_json(host);
    }
    if (options->choices) {
        return inv_choices_to_json(host);
    }
    return inventory->hosts->len == 1 &&
                   (options->hosts.host || options->hosts.sysfs)
               ? inv_capabilities_to_json(host, options->slots)
               : inv_types_to_json(inventory, options->slots);
}

static void print_text(const Options *options, const Inventory *inventory)
{
    g_autoptr(GString) text = g_string_new(NULL);

    if (options->devices) {
        inv_devices_append(text, inventory);
    } else if (options->choices) {
        inv_choices_append(text, inventory);
    } else {
        inv_types_append(text, inventory, options->slots);
    }
    if (options->verbose) {
        inv_cards_append(text, inventory);
    }
    fputs(text->str, stdout);
}

/* Returns NULL, or what to do about options that exclude each other. */
static const char *check_options(const Options *options)
{
    if (options->devices + options->slots + options->choices > 1) {
        return "--devices, --slots and --choices are different lists; give "
               "one of them";
    }
    if (options->raw && !(options->devices && options->json)) {
        return "--raw is a form of --devices --json; add these";
    }
    return NULL;
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
        {"raw", 0, 0, G_OPTION_ARG_NONE, &options.raw,
         "With --devices --json: paths and numbers in place of slots and names",
         NULL},
        {"slots", 0, 0, G_OPTION_ARG_NONE, &options.slots,
         "Devices of one type are told apart by their slots", NULL},
        {"choices", 0, 0, G_OPTION_ARG_NONE, &options.choices,
         "List what a user can choose, a line each", NULL},
        {"verbose", 'v', 0, G_OPTION_ARG_NONE, &options.verbose,
         "Say which devices are ports of one card", NULL},
        CMD_HOSTS_ENTRIES(&options.hosts),
        G_OPTION_ENTRY_NULL,
    };
    g_autoptr(Inventory) inventory = NULL;
    g_autofree char *json = NULL;
    g_auto(CmdArgs) args = {.words = NULL};
    const char *wrong;
    GError *error = NULL;
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    wrong = check_options(&options);
    if (wrong) {
        return cmd_usage("inventory", "%s", wrong);
    }
    inventory = cmd_hosts_load("inventory", &options.hosts, args.words[0]);
    if (!inventory) {
        return CMD_USAGE;
    }
    if (options.json && (options.devices || options.choices) &&
        inventory->hosts->len != 1) {
        return cmd_usage("inventory",
                         "%s --json shows one host; add --host "
                         "NAME",
                         options.devices ? "--devices" : "--choices");
    }
    if (!options.json) {
        print_text(&options, inventory);
        return CMD_OK;
    }
    json = to_json(&options, inventory, &error);
    if (!json) {
        return cmd_complain("inventory", error);
    }
    puts(json);
    return CMD_OK;
}

const CmdVerb cmd_inventory = {
    .name = "inventory",
    .summary = "list the devices of hosts as users select them",
    .synopsis = "[FILE]",
    .words = {0, 1},
    .run = run_verb};
