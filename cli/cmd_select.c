/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>

#include "cmd_hosts.h"
#include "cmd_load.h"
#include "inv_select.h"

typedef struct Options {
    CmdHosts hosts;
    TopoRequestWords words;
    gboolean json, verbose;
} Options;

/* Selects on all hosts, prints, and returns the exit status. */
static int select_all(const Options *options, const Inventory *inventory,
                      const GPtrArray *requests)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(GPtrArray) selections =
        inv_select_all(inventory, requests, errors);

    if (topo_errors_count(errors) > 0) {
        cmd_print_errors("select", errors);
        return CMD_DIFFERENT;
    }
    if (options->json) {
        g_autofree char *text = inv_selections_to_json(selections);

        puts(text);
    } else {
        g_autoptr(GString) text = g_string_new(NULL);

        inv_selections_append(text, selections);
        fputs(text->str, stdout);
    }
    if (options->verbose) {
        g_autofree char *text = inv_shared_cards(selections);

        fputs(text, options->json ? stderr : stdout);
    }
    return CMD_OK;
}

static int run_verb(const CmdVerb *verb, int argc, char **argv)
{
    Options options = {.words.virtual_function = -1};
    const GOptionEntry entries[] = {
        {"device", 'd', 0, G_OPTION_ARG_STRING, &options.words.device,
         "Name of the device, as the inventory has it", "NAME"},
        {"slot", 0, 0, G_OPTION_ARG_STRING, &options.words.slot,
         "PCI address of the device, in place of its attributes", "ADDRESS"},
        {"vendor", 0, 0, G_OPTION_ARG_STRING, &options.words.vendor,
         "Its vendor, if several have a device of that name", "NAME"},
        {"fabric", 'f', 0, G_OPTION_ARG_STRING, &options.words.fabric,
         "The network behind it", "NAME"},
        {"instance", 'i', 0, G_OPTION_ARG_INT, &options.words.instance,
         "Number among such devices in the order of slots (default: 0)", "N"},
        {"virtual-function", 0, 0, G_OPTION_ARG_INT,
         &options.words.virtual_function, "Select this virtual function of it",
         "N"},
        {"request", 'r', 0, G_OPTION_ARG_FILENAME, &options.words.file,
         "Take the requests from a file", "FILE"},
        {"json", 'j', 0, G_OPTION_ARG_NONE, &options.json, "Print JSON", NULL},
        {"verbose", 'v', 0, G_OPTION_ARG_NONE, &options.verbose,
         "Say which devices are ports of one card", NULL},
        CMD_HOSTS_ENTRIES(&options.hosts),
        G_OPTION_ENTRY_NULL,
    };
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(Inventory) inventory = NULL;
    g_autoptr(GPtrArray) requests = NULL;
    g_auto(CmdArgs) args = {.words = NULL};
    GError *error = NULL;
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    if (!topo_request_words_check(&options.words, &error)) {
        return cmd_complain("select", error);
    }
    inventory = cmd_hosts_load("select", &options.hosts, args.words[0]);
    if (!inventory) {
        return CMD_USAGE;
    }
    requests = topo_requests_of_words(&options.words, errors);
    if (!requests) {
        return cmd_print_errors("select", errors);
    }
    return select_all(&options, inventory, requests);
}

const CmdVerb cmd_select = {
    .name = "select",
    .summary = "find the function of each host that a request means",
    .synopsis = "[FILE]",
    .words = {0, 1},
    .run = run_verb};
