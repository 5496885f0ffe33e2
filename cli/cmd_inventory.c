/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>

#include "cmd_hosts.h"
#include "cmd_load.h"
#include "inv_report.h"

typedef struct Options {
    CmdHosts hosts;
    gboolean json, devices, raw, slots, choices, verbose;
} Options;

/* Returns NULL, or what to do about options that exclude each other. */
static const char *choose_view(const Options *options, InvView *ret_view)
{
    if (options->devices + options->slots + options->choices > 1) {
        return "--devices, --slots and --choices are different lists; give "
               "one of them";
    }
    if (options->raw && !(options->devices && options->json)) {
        return "--raw is a form of --devices --json; add these";
    }
    *ret_view = options->raw       ? INV_VIEW_RAW
                : options->devices ? INV_VIEW_DEVICES
                : options->choices ? INV_VIEW_CHOICES
                : options->slots   ? INV_VIEW_SLOTS
                                   : INV_VIEW_TYPES;
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
    g_autoptr(GString) text = g_string_new(NULL);
    g_auto(CmdArgs) args = {.words = NULL};
    GError *error = NULL;
    const char *wrong;
    InvView view;
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    wrong = choose_view(&options, &view);
    if (wrong) {
        return cmd_usage("inventory", "%s", wrong);
    }
    inventory = cmd_hosts_load("inventory", &options.hosts, args.words[0]);
    if (!inventory) {
        return CMD_USAGE;
    }
    if (!options.json) {
        inv_view_append(text, inventory, view);
    } else if (!inv_view_append_json(text, inventory, view,
                                     options.hosts.host || options.hosts.sysfs,
                                     &error)) {
        return cmd_complain("inventory", error);
    }
    if (options.verbose && !options.json) {
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
