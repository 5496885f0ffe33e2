/* SPDX-License-Identifier: MIT */
#include "clu_plan.h"

#include <string.h>

#include "clu_plan_devices.h"
#include "clu_plan_chips.h"
#include "clu_plan_links.h"
#include "clu_plan_options.h"
#include "clu_plan_switches.h"

#define SLOT_MIN CLU_PLAN_SLOT_MIN
#define SLOT_MAX CLU_PLAN_SLOT_MAX

static void device_free(void *data)
{
    CluPlanDevice *device = data;

    g_free(device->id);
    g_free(device->type);
    g_free(device->properties);
    g_free(device);
}

static void switch_free(void *data)
{
    CluPlanSwitch *sw = data;

    g_free(sw->id);
    g_free(sw);
}

static void inside_free(void *data)
{
    CluPlanInside *inside = data;

    g_free(inside->id);
    g_free(inside);
}

static void host_free(void *data)
{
    CluPlanHost *host = data;

    g_ptr_array_unref(host->devices);
    g_ptr_array_unref(host->switches);
    g_free(host);
}

void clu_plan_free(CluPlan *plan)
{
    if (plan) {
        g_ptr_array_unref(plan->hosts);
        g_ptr_array_unref(plan->links);
        g_ptr_array_unref(plan->insides);
        g_ptr_array_unref(plan->networks);
        g_ptr_array_unref(plan->regions);
        g_ptr_array_unref(plan->absent);
        g_free(plan);
    }
}

char *clu_plan_address(const CluPlanDevice *device)
{
    return g_strdup_printf("0000:%02x:%02x.%u", device->bus,
                           device->bus ? 0 : device->slot, device->function);
}

/* Addresses */

/* Takes the slot that `options: {addr: 5}` asks for. QEMU and lspci write slots
 * in hexadecimal. A number that would be another slot in decimal is refused
 * without its 0x. */
static void take_slot(TopoErrors *errors, CluPlanDevice *device, bool *taken)
{
    const TopoVmDevice *vm = device->device->vm;
    const char *text = clu_plan_option_value(vm, "addr");
    char *end, *end_decimal;
    uint64_t slot, decimal;

    if (!text) {
        return;
    }
    slot = g_ascii_strtoull(text, &end, 16);
    decimal = g_ascii_strtoull(text, &end_decimal, 10);
    if (end == text || (*end != '\0' && strcmp(end, ".0") != 0) ||
        slot < SLOT_MIN || slot > SLOT_MAX) {
        topo_errors_add(errors, clu_plan_option_place(vm, "addr"),
                        "addr is '%s'; write a slot from 0x%x to 0x%x", text,
                        SLOT_MIN, SLOT_MAX);
    } else if (end == end_decimal && slot != decimal) {
        topo_errors_add(errors, clu_plan_option_place(vm, "addr"),
                        "addr is '%s'; write 0x%x, or 0x%x if the number is "
                        "decimal",
                        text, (unsigned)slot, (unsigned)decimal);
    } else if (taken[slot]) {
        topo_errors_add(errors, clu_plan_option_place(vm, "addr"),
                        "slot 0x%x has a device already; choose another addr",
                        (unsigned)slot);
    } else {
        device->slot = (unsigned)slot;
        taken[slot] = true;
    }
}

/* Takes the lowest slot that is free. There is one: slots_are_enough(). */
static unsigned next_slot(bool *taken)
{
    unsigned slot = SLOT_MIN;

    while (taken[slot]) {
        slot++;
    }
    taken[slot] = true;
    return slot;
}

static bool has_southbridge(const CluPlanHost *host)
{
    return host->host->iommu && host->host->vm->iommu == TOPO_VM_IOMMU_AMD;
}

/* Returns whether the devices and switches of @host fit onto bus 0, each with a
 * slot, and @n_fds devices have their descriptors. */
static bool slots_are_enough(TopoErrors *errors, const CluPlanHost *host,
                             unsigned n_fds)
{
    unsigned slots = SLOT_MAX - SLOT_MIN + 1 - !!host->host->vm->runs_inner -
                     has_southbridge(host);
    unsigned count = 0;

    for (unsigned i = 0; i < host->devices->len; i++) {
        const CluPlanDevice *device = host->devices->pdata[i];

        count += !device->above;
    }
    for (unsigned i = 0; i < host->switches->len; i++) {
        const CluPlanSwitch *sw = host->switches->pdata[i];

        count += !sw->above;
    }
    if (count > slots) {
        topo_errors_add(errors, host->host->place,
                        "host '%s' has %u devices, cables and switches at its "
                        "root; it can have %u at most",
                        host->host->name, count, slots);
    } else if (n_fds > CLU_FD_DEVICES_MAX) {
        topo_errors_add(errors, host->host->place,
                        "host '%s' has %u drives with an empty disk and "
                        "adapters of networks; it can have %d at most",
                        host->host->name, n_fds, CLU_FD_DEVICES_MAX);
    }
    return count <= slots && n_fds <= CLU_FD_DEVICES_MAX;
}

/* Gives numbers to the descriptors that QEMU inherits for devices. Returns the
 * number of them. */
static unsigned plan_descriptors(CluPlanHost *host)
{
    int fd = CLU_FD_DEVICE;

    for (unsigned i = 0; i < host->devices->len; i++) {
        CluPlanDevice *device = host->devices->pdata[i];

        if (device->backend == CLU_BACKEND_DISK ||
            device->backend == CLU_BACKEND_NETWORK) {
            device->fd = fd++;
        }
    }
    return (unsigned)(fd - CLU_FD_DEVICE);
}

/* Switches come behind the devices, so that these keep their slots. */
static void plan_addresses(TopoErrors *errors, CluPlanHost *host)
{
    bool taken[SLOT_MAX + 1] = {false};
    unsigned i;

    if (!slots_are_enough(errors, host, plan_descriptors(host))) {
        return;
    }
    taken[CLU_PLAN_INNER_SLOT] = host->host->vm->runs_inner;
    taken[CLU_PLAN_SOUTHBRIDGE_SLOT] = has_southbridge(host);
    for (i = 0; i < host->devices->len; i++) {
        CluPlanDevice *device = host->devices->pdata[i];

        if (!device->above) {
            take_slot(errors, device, taken);
        }
    }
    for (i = 0; i < host->devices->len; i++) {
        CluPlanDevice *device = host->devices->pdata[i];

        if (!device->above && device->slot == 0) {
            device->slot = next_slot(taken);
        }
    }
    for (i = 0; i < host->switches->len; i++) {
        CluPlanSwitch *sw = host->switches->pdata[i];

        if (!sw->above) {
            sw->slot = next_slot(taken);
        }
    }
}

static void plan_host(CluPlan *plan, CluPlanHost *host, TopoErrors *errors)
{
    unsigned i;

    for (i = 0; i < host->host->devices->len; i++) {
        const TopoDevice *device = host->host->devices->pdata[i];

        if (topo_part_kind(device->part) == TOPO_PART_NTB) {
            clu_plan_add_adapter(plan, host, device, errors);
        } else {
            clu_plan_add_endpoint(plan, host, device, errors);
        }
    }
    clu_plan_add_switches(host, errors);
    plan_addresses(errors, host);
    clu_plan_number_buses(host);
    clu_plan_add_insides(plan, host);
}

static void add_link(CluPlan *plan, const TopoLink *topo)
{
    CluPlanLink *link = g_new0(CluPlanLink, 1);

    link->link = topo;
    link->index = plan->links->len;
    g_ptr_array_add(plan->links, link);
}

CluPlan *clu_plan_new(const TopoDescription *description, TopoErrors *errors)
{
    g_autoptr(CluPlan) plan = g_new0(CluPlan, 1);
    g_autoptr(GPtrArray) joins = topo_joins(description);
    unsigned before = topo_errors_count(errors);
    unsigned i;

    plan->description = description;
    plan->hosts = g_ptr_array_new_with_free_func(host_free);
    plan->links = g_ptr_array_new_with_free_func(g_free);
    plan->insides = g_ptr_array_new_with_free_func(inside_free);
    plan->networks = g_ptr_array_new();
    plan->regions = g_ptr_array_new_with_free_func(g_free);
    plan->absent = g_ptr_array_new();
    for (i = 0; i < joins->len; i++) {
        add_link(plan, joins->pdata[i]);
    }
    clu_plan_check_chips(description, errors);
    for (i = 0; i < description->hosts->len; i++) {
        CluPlanHost *host = g_new0(CluPlanHost, 1);

        host->host = description->hosts->pdata[i];
        host->index = i;
        host->devices = g_ptr_array_new_with_free_func(device_free);
        host->switches = g_ptr_array_new_with_free_func(switch_free);
        g_ptr_array_add(plan->hosts, host);
        plan_host(plan, host, errors);
    }
    if (topo_errors_count(errors) > before) {
        return NULL;
    }
    return g_steal_pointer(&plan);
}
