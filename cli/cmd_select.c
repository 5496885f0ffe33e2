/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>

#include "cmd_hosts.h"
#include "cmd_load.h"
#include "inv_select.h"

typedef struct Options {
    CmdHosts hosts;
    char *file;
    char *device;
    char *vendor;
    char *fabric;
    int instance;
    int virtual_function; /* -1: the physical function */
    gboolean json;
    gboolean verbose;
} Options;

static void request_destroy(void *request)
{
    topo_request_free(request);
}

/* Returns the request of the command line. */
static GPtrArray *request_of(const Options *options)
{
    GPtrArray *requests = g_ptr_array_new_with_free_func(request_destroy);
    TopoRequest *request = g_new0(TopoRequest, 1);

    request->place.file = "--device";
    request->device = g_strdup(options->device);
    request->device_place.file = "--device";
    request->vendor = g_strdup(options->vendor);
    request->vendor_place.file = "--vendor";
    request->fabric = g_strdup(options->fabric);
    request->fabric_place.file = "--fabric";
    request->instance = (unsigned)options->instance;
    request->instance_place.file = "--instance";
    request->is_virtual = options->virtual_function >= 0;
    request->virtual_function = (unsigned)MAX(options->virtual_function, 0);
    request->virtual_place.file = "--virtual-function";
    g_ptr_array_add(requests, request);
    return requests;
}

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

/* Returns false after reporting wrong usage. */
static bool check_options(const Options *options)
{
    bool has_parts = options->device || options->vendor || options->fabric ||
                     options->instance != 0 || options->virtual_function != -1;

    if (options->file ? has_parts : !options->device) {
        cmd_usage("select", "give --device, or --request alone");
        return false;
    }
    if (options->instance < 0 || options->virtual_function < -1) {
        cmd_usage("select", "--instance and --virtual-function count from 0");
        return false;
    }
    return true;
}

static int run_verb(const CmdVerb *verb, int argc, char **argv)
{
    Options options = {.virtual_function = -1};
    const GOptionEntry entries[] = {
        {"device", 'd', 0, G_OPTION_ARG_STRING, &options.device,
         "Name of the device, as the inventory has it", "NAME"},
        {"vendor", 0, 0, G_OPTION_ARG_STRING, &options.vendor,
         "Its vendor, if several have a device of that name", "NAME"},
        {"fabric", 'f', 0, G_OPTION_ARG_STRING, &options.fabric,
         "The network behind it", "NAME"},
        {"instance", 'i', 0, G_OPTION_ARG_INT, &options.instance,
         "Number among such devices in the order of slots (default: 0)", "N"},
        {"virtual-function", 0, 0, G_OPTION_ARG_INT, &options.virtual_function,
         "Select this virtual function of it", "N"},
        {"request", 'r', 0, G_OPTION_ARG_FILENAME, &options.file,
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
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    if (!check_options(&options)) {
        return CMD_USAGE;
    }
    inventory = cmd_hosts_load("select", &options.hosts, args.words[0]);
    if (!inventory) {
        return CMD_USAGE;
    }
    requests = options.file ? topo_requests_load(options.file, errors)
                            : request_of(&options);
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
