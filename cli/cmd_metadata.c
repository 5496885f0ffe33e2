/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>

#include "cmd_hosts.h"
#include "cmd_load.h"
#include "inv_metadata.h"

typedef struct Options {
    CmdHosts hosts;
    TopoRequestWords words;
    char *output;
    const char *wanted; /* the host; NULL: the only one, or all */
} Options;

/* Allocates for all hosts, so that the numbers of one do not depend on who
 * asks, and prints or writes. Returns the exit status. */
static int answer(const Options *options, Inventory *inventory,
                  const GPtrArray *requests)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    const InvHost *host = options->wanted
                              ? inv_find_host(inventory, options->wanted)
                              : inventory->hosts->pdata[0];
    g_autoptr(GPtrArray) interfaces = NULL;
    GError *error = NULL;

    if (!host) {
        inv_keep_host(inventory, options->wanted, &error);
        return cmd_complain("metadata", error);
    }
    interfaces = inv_interfaces_allocate(inventory, requests, errors);
    if (!interfaces) {
        cmd_print_errors("metadata", errors);
        return CMD_DIFFERENT;
    }
    if (!options->output) {
        g_autofree char *text = inv_metadata_to_json(host, interfaces);

        puts(text);
    } else if (!inv_metadata_write(inventory, interfaces, options->output,
                                   &error)) {
        return cmd_complain("metadata", error);
    }
    return CMD_OK;
}

static int run_verb(const CmdVerb *verb, int argc, char **argv)
{
    Options options = {.words.virtual_function = -1};
    const GOptionEntry entries[] = {
        {"request", 'r', 0, G_OPTION_ARG_FILENAME, &options.words.file,
         "The file of requests (needed)", "FILE"},
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output,
         "Write the answers for all hosts below this folder", "DIR"},
        CMD_HOSTS_ENTRIES(&options.hosts),
        G_OPTION_ENTRY_NULL,
    };
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(Inventory) inventory = NULL;
    g_autoptr(GPtrArray) requests = NULL;
    g_auto(CmdArgs) args = {.words = NULL};
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    if (!options.words.file) {
        return cmd_usage("metadata", "give a file of requests: --request FILE");
    }
    /* --host names a live host, and chooses among others. */
    if (!options.hosts.sysfs) {
        options.wanted = options.hosts.host;
        options.hosts.host = NULL;
    }
    inventory = cmd_hosts_load("metadata", &options.hosts, args.words[0]);
    if (!inventory) {
        return CMD_USAGE;
    }
    if (!options.output == !options.wanted && inventory->hosts->len != 1) {
        return cmd_usage("metadata",
                         "an answer is for one host; give --host NAME, or "
                         "-o DIR for all of them");
    }
    requests = topo_requests_of_words(&options.words, errors);
    if (!requests) {
        return cmd_print_errors("metadata", errors);
    }
    return answer(&options, inventory, requests);
}

const CmdVerb cmd_metadata = {
    .name = "metadata",
    .summary = "tell hosts what a site gives the interfaces they requested",
    .synopsis = "[FILE]",
    .words = {0, 1},
    .run = run_verb};
