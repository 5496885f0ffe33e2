/* SPDX-License-Identifier: MIT */
#include "inv_machine_priv.h"

#include <string.h>

#include "dl_select.h"
#include "inv_inventory.h"
#include "topo_units.h"

static void function_free(void *data)
{
    InvFunction *function = data;

    g_free(function->pub.name);
    g_free(function->label);
    g_free(function);
}

static void note_free(void *data)
{
    InvNote *note = data;

    g_free(note->text);
    g_ptr_array_unref(note->names);
    g_free(note);
}

InvMachine *inv_machine_new(void)
{
    InvMachine *machine = g_new0(InvMachine, 1);

    machine->functions = g_ptr_array_new_with_free_func(function_free);
    machine->notes = g_ptr_array_new_with_free_func(note_free);
    return machine;
}

void inv_machine_free(InvMachine *machine)
{
    if (machine) {
        g_ptr_array_unref(machine->functions);
        g_ptr_array_unref(machine->notes);
        g_free(machine);
    }
}

InvFunction *inv_machine_add(InvMachine *machine, TopoPciAddress address)
{
    InvFunction *function = g_new0(InvFunction, 1);

    function->pub.address = address;
    function->pub.class_code = -1;
    function->pub.vendor_id = -1;
    function->pub.device_id = -1;
    function->pub.numa_node = -1;
    function->port = INV_PORT_NONE;
    function->settings = (InvSettings){.extended_tags = -1,
                                       .ten_bit_tags = -1,
                                       .fourteen_bit_tags = -1,
                                       .relaxed_ordering = -1,
                                       .id_ordering = -1,
                                       .flits_off = -1,
                                       .acs_can_redirect = -1,
                                       .acs_redirect = -1,
                                       .acs_completions = -1,
                                       .acs_direct = -1};
    g_ptr_array_add(machine->functions, function);
    return function;
}

InvFunction *inv_machine_find(const InvMachine *machine, TopoPciAddress address)
{
    for (unsigned i = 0; i < machine->functions->len; i++) {
        InvFunction *function = machine->functions->pdata[i];

        if (topo_address_compare(function->pub.address, address) == 0) {
            return function;
        }
    }
    return NULL;
}

void inv_machine_note(InvMachine *machine, const char *text, const char *name)
{
    InvNote *note = NULL;

    for (unsigned i = 0; i < machine->notes->len && !note; i++) {
        InvNote *other = machine->notes->pdata[i];

        note = strcmp(other->text, text) == 0 ? other : NULL;
    }
    if (!note) {
        note = g_new0(InvNote, 1);
        note->text = g_strdup(text);
        note->names = g_ptr_array_new_with_free_func(g_free);
        g_ptr_array_add(machine->notes, note);
    }
    /* Capabilities and status of a link say the same of one function. */
    if (name && (note->names->len == 0 ||
                 strcmp(note->names->pdata[note->names->len - 1], name) != 0)) {
        g_ptr_array_add(note->names, g_strdup(name));
    }
}

static void note_link(InvMachine *machine, const InvFunction *function,
                      const char *text, const char *format, ...)
    G_GNUC_PRINTF(4, 5);

static void note_link(InvMachine *machine, const InvFunction *function,
                      const char *text, const char *format, ...)
{
    g_autofree char *address = topo_address_to_string(function->pub.address);
    g_autofree char *what = NULL;
    g_autofree char *name = NULL;
    va_list args;

    va_start(args, format);
    what = g_strdup_vprintf(format, args);
    va_end(args);
    name = g_strdup_printf("%s (%s)", address, what);
    inv_machine_note(machine, text, name);
}

unsigned inv_machine_speed(InvMachine *machine, const InvFunction *function,
                           double gtps)
{
    static const unsigned speeds[] = {2500,  5000,  8000,
                                      16000, 32000, INV_SPEED_MAX};
    unsigned best = 0;
    double mtps = gtps * 1000;

    if (!(mtps > 0)) {
        return 0;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(speeds); i++) {
        best = speeds[i] <= mtps ? speeds[i] : best;
    }
    if (best != mtps) {
        g_autofree char *used = best ? topo_units_format(TOPO_UNIT_SPEED, best)
                                     : g_strdup("not known");
        g_autofree char *text = g_strdup_printf(
            "the model has no such link speed; it is taken as %s", used);

        note_link(machine, function, text, "%gGT/s", gtps);
    }
    return best;
}

unsigned inv_machine_width(InvMachine *machine, const InvFunction *function,
                           unsigned lanes)
{
    unsigned best = 0;

    for (unsigned width = 1; width <= MIN(lanes, INV_WIDTH_MAX); width *= 2) {
        best = width;
    }
    if (best != lanes) {
        g_autofree char *text = g_strdup_printf(
            "the model has no such link width; it is taken as x%u", best);

        note_link(machine, function, text, "x%u", lanes);
    }
    return best;
}

static int compare_functions(const void *a, const void *b)
{
    const TopoFunction *first = *(TopoFunction *const *)a;
    const TopoFunction *second = *(TopoFunction *const *)b;

    return topo_address_compare(first->address, second->address);
}

/* Takes the speed of FLIT mode from @function. */
static void take_flits(InvMachine *machine, InvFunction *function)
{
    if (function->pub.speed_mtps == INV_SPEED_MAX) {
        g_autofree char *address =
            topo_address_to_string(function->pub.address);

        function->pub.speed_mtps = INV_SPEED_NO_FLITS;
        inv_machine_note(
            machine,
            "Flit Mode Disable is set at an end of their links, so "
            "these are taken as ones of 32.0GT/s",
            address);
    }
}

/* A link whose port above or whose function below has Flit Mode Disable is not
 * in FLIT mode. In the model one is if both ends can do its speed. */
static void take_disabled_flits(InvMachine *machine)
{
    for (unsigned i = 0; i < machine->functions->len; i++) {
        InvFunction *function = machine->functions->pdata[i];

        if (function->settings.flits_off != 1) {
            continue;
        }
        take_flits(machine, function);
        for (unsigned j = i + 1; j < machine->functions->len &&
                                 (function->port == INV_PORT_ROOT ||
                                  function->port == INV_PORT_DOWNSTREAM);
             j++) {
            InvFunction *below = machine->functions->pdata[j];

            if (below->pub.address.domain == function->pub.address.domain &&
                below->pub.address.bus == function->pub.secondary) {
                take_flits(machine, below);
            }
        }
    }
}

bool inv_machine_finish(InvMachine *machine, const char *name, GError **error)
{
    g_ptr_array_sort(machine->functions, compare_functions);
    if (machine->functions->len == 0) {
        g_set_error(error, INV_ERROR, INV_ERROR_IMPORT,
                    "%s has no PCI function; give the output of lspci -vvv, "
                    "lspci -t or nvidia-smi topo -m, hwloc XML or NCCL XML",
                    name);
        return false;
    }
    for (unsigned i = 1; i < machine->functions->len; i++) {
        const TopoFunction *a = machine->functions->pdata[i - 1];
        const TopoFunction *b = machine->functions->pdata[i];

        if (topo_address_compare(a->address, b->address) == 0) {
            g_autofree char *address = topo_address_to_string(a->address);

            g_set_error(error, INV_ERROR, INV_ERROR_IMPORT,
                        "%s: function %s is there twice; give a file of one "
                        "machine",
                        name, address);
            return false;
        }
    }
    take_disabled_flits(machine);
    return true;
}

const char *inv_card_type(const TopoFunction *function, const char **ret_prefix)
{
    static const struct {
        const char *type, *prefix, *word;
    } kinds[] = {
        {"Infiniband", "nic", "infiniband"},   {"Network", "nic", "network"},
        {"Storage", "disk", "storage"},        {"GPU", "gpu", "gpu"},
        {"Accelerator", "acc", "accelerator"},
    };
    const char *type =
        function->class_code < 0
            ? NULL
            : dl_select_type((uint32_t)function->class_code,
                             (uint32_t)function->vendor_id, function->name);

    for (unsigned i = 0; type && i < G_N_ELEMENTS(kinds); i++) {
        if (strcmp(type, kinds[i].type) == 0) {
            *ret_prefix = kinds[i].prefix;
            return kinds[i].word;
        }
    }
    *ret_prefix = "dev";
    return "other";
}
