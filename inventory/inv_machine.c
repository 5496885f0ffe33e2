/* SPDX-License-Identifier: MIT */
#include "inv_machine_priv.h"

#include "inv_inventory.h"

static void function_free(void *data)
{
    InvFunction *function = data;

    g_free(function->pub.name);
    g_free(function);
}

InvMachine *inv_machine_new(void)
{
    InvMachine *machine = g_new0(InvMachine, 1);

    machine->functions = g_ptr_array_new_with_free_func(function_free);
    return machine;
}

void inv_machine_free(InvMachine *machine)
{
    if (machine) {
        g_ptr_array_unref(machine->functions);
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

static int compare_functions(const void *a, const void *b)
{
    const TopoFunction *first = *(TopoFunction *const *)a;
    const TopoFunction *second = *(TopoFunction *const *)b;

    return topo_address_compare(first->address, second->address);
}

bool inv_machine_finish(InvMachine *machine, const char *name, GError **error)
{
    g_ptr_array_sort(machine->functions, compare_functions);
    if (machine->functions->len == 0) {
        g_set_error(error, INV_ERROR, INV_ERROR_IMPORT,
                    "%s has no PCI function; give the output of lspci -vvv or "
                    "lspci -t, hwloc XML or NCCL XML",
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
    return true;
}
