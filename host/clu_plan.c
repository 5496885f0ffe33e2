/* SPDX-License-Identifier: MIT */
#include "clu_plan.h"

#include <string.h>

#include "clu_plan_devices.h"
#include "clu_plan_chips.h"
#include "clu_plan_links.h"
#include "clu_plan_options.h"

/* Device numbers on PCI bus 0 of q35: 0 is the host bridge, 1 the virtio-serial
 * device of the agent, 2 is left free, and 31 belongs to the chip set. */
#define SLOT_MIN 3
#define SLOT_MAX 30

static void device_free(void *data)
{
    CluPlanDevice *device = data;

    g_free(device->id);
    g_free(device->type);
    g_free(device->properties);
    g_free(device);
}

static void host_free(void *data)
{
    CluPlanHost *host = data;

    g_ptr_array_unref(host->devices);
    g_free(host);
}

void clu_plan_free(CluPlan *plan)
{
    if (plan) {
        g_ptr_array_unref(plan->hosts);
        g_ptr_array_unref(plan->links);
        g_ptr_array_unref(plan->networks);
        g_ptr_array_unref(plan->regions);
        g_ptr_array_unref(plan->absent);
        g_free(plan);
    }
}

char *clu_plan_address(const CluPlanDevice *device)
{
    return g_strdup_printf("0000:%02x:%02x.0", device->bus,
                           device->bus ? 0 : device->slot);
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

static void plan_addresses(TopoErrors *errors, CluPlanHost *host)
{
    bool taken[SLOT_MAX + 1] = {false};
    bool has_inner = host->host->vm->runs_inner;
    unsigned slots = SLOT_MAX - SLOT_MIN + 1 - (has_inner ? 1 : 0);
    unsigned slot = SLOT_MIN;
    int fd = CLU_FD_DEVICE;
    unsigned i;

    if (host->devices->len > slots) {
        topo_errors_add(errors, host->host->place,
                        "host '%s' has %u devices and cables; it can have %u "
                        "at most",
                        host->host->name, host->devices->len, slots);
        return;
    }
    taken[CLU_PLAN_INNER_SLOT] = has_inner;
    for (i = 0; i < host->devices->len; i++) {
        take_slot(errors, host->devices->pdata[i], taken);
    }
    for (i = 0; i < host->devices->len; i++) {
        CluPlanDevice *device = host->devices->pdata[i];

        if (device->slot == 0) {
            while (slot <= SLOT_MAX && taken[slot]) {
                slot++;
            }
            device->slot = slot++;
        }
        if (device->backend == CLU_BACKEND_DISK ||
            device->backend == CLU_BACKEND_NETWORK) {
            device->fd = fd++;
        }
    }
}

/* The firmware numbers the buses behind root ports in the order of slots. */
static void plan_buses(CluPlanHost *host)
{
    unsigned bus = 1;
    unsigned slot, i;

    for (slot = SLOT_MIN; slot <= SLOT_MAX; slot++) {
        for (i = 0; i < host->devices->len; i++) {
            CluPlanDevice *device = host->devices->pdata[i];

            if (device->slot == slot && device->device->vm &&
                device->device->vm->hotplug) {
                device->bus = bus++;
            }
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
    plan_addresses(errors, host);
    plan_buses(host);
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
        g_ptr_array_add(plan->hosts, host);
        plan_host(plan, host, errors);
    }
    if (topo_errors_count(errors) > before) {
        return NULL;
    }
    return g_steal_pointer(&plan);
}
