/* SPDX-License-Identifier: MIT */
/*
 * The switches of the description in a machine. A switch is an Upstream Port
 * below a root port of its own, or below a Downstream Port of another switch.
 * It has the Downstream Ports that the description uses, at the device number
 * that is the port's number. A device is alone behind its port. Only an NTB
 * adapter is several devices, one for each cable: they are functions there.
 */
#include "clu_plan_switches.h"

#include <string.h>

#include "clu_plan_options.h"

static CluPlanSwitch *add_switch(CluPlanHost *host, const TopoSwitch *topo,
                                 TopoErrors *errors);

static void check_port(const CluPlanSwitch *sw, unsigned port, TopoPlace place,
                       TopoErrors *errors)
{
    if (port >= CLU_PLAN_PORTS_MAX) {
        topo_errors_add(errors, place,
                        "port %u of %s: an emulated switch has the ports 0 to "
                        "%d; choose one of them",
                        port, sw->topo->path, CLU_PLAN_PORTS_MAX - 1);
    }
}

/* Returns the planned switch of @topo, after it was added if need be. */
static CluPlanSwitch *get_switch(CluPlanHost *host, const TopoSwitch *topo,
                                 TopoErrors *errors)
{
    for (unsigned i = 0; i < host->switches->len; i++) {
        CluPlanSwitch *sw = host->switches->pdata[i];

        if (sw->topo == topo) {
            return sw;
        }
    }
    return add_switch(host, topo, errors);
}

static CluPlanSwitch *add_switch(CluPlanHost *host, const TopoSwitch *topo,
                                 TopoErrors *errors)
{
    CluPlanSwitch *sw = g_new0(CluPlanSwitch, 1);

    sw->topo = topo;
    /* As the ID of a device: it begins with a letter. */
    sw->id = g_strconcat(g_ascii_isalpha(*topo->name) ? "" : "d..", topo->name,
                         NULL);
    if (topo->at.parent) {
        sw->above = get_switch(host, topo->at.parent, errors);
        check_port(sw->above, topo->at.port, topo->at.place, errors);
    }
    g_ptr_array_add(host->switches, sw);
    return sw;
}

/* The number of functions that @device has before it behind its port */
static unsigned functions_before(const CluPlanHost *host,
                                 const CluPlanDevice *device)
{
    unsigned count = 0;

    for (unsigned i = 0; host->devices->pdata[i] != device; i++) {
        const CluPlanDevice *other = host->devices->pdata[i];

        count += other->device == device->device;
    }
    return count;
}

void clu_plan_add_switches(CluPlanHost *host, TopoErrors *errors)
{
    for (unsigned i = 0; i < host->devices->len; i++) {
        CluPlanDevice *device = host->devices->pdata[i];
        const TopoAttach *at = &device->device->at;
        const TopoVmDevice *vm = device->device->vm;

        if (!at->parent) {
            continue;
        }
        device->above = get_switch(host, at->parent, errors);
        device->function = functions_before(host, device);
        check_port(device->above, at->port, at->place, errors);
        if (clu_plan_has_option(vm, "addr") && device->function == 0) {
            topo_errors_add(errors, clu_plan_option_place(vm, "addr"),
                            "%s: the port of %s decides about its address; "
                            "leave addr out",
                            device->device->path, at->parent->path);
        }
        if (device->function == CLU_PLAN_FUNCTIONS_MAX) {
            topo_errors_add(errors, device->device->place,
                            "%s: an adapter below a switch has at most %d "
                            "cables, its functions; use two adapters",
                            device->device->path, CLU_PLAN_FUNCTIONS_MAX);
        }
    }
}

/* Buses */

static unsigned number_switch(CluPlanHost *host, CluPlanSwitch *sw,
                              unsigned bus);

/* Numbers the bus behind the Downstream Port @port of @sw, and those below.
 * Returns the last bus so far. */
static unsigned number_port(CluPlanHost *host, CluPlanSwitch *sw, unsigned port,
                            unsigned bus)
{
    bool has_device = false;

    for (unsigned i = 0; i < host->switches->len; i++) {
        CluPlanSwitch *below = host->switches->pdata[i];

        if (below->above == sw && below->topo->at.port == port) {
            return number_switch(host, below, bus);
        }
    }
    for (unsigned i = 0; i < host->devices->len; i++) {
        CluPlanDevice *device = host->devices->pdata[i];

        if (device->above == sw && device->device->at.port == port) {
            device->bus = bus + 1;
            has_device = true;
        }
    }
    return bus + has_device;
}

static unsigned number_switch(CluPlanHost *host, CluPlanSwitch *sw,
                              unsigned bus)
{
    sw->bus = ++bus;
    sw->inside = ++bus;
    for (unsigned port = 0; port < CLU_PLAN_PORTS_MAX; port++) {
        bus = number_port(host, sw, port, bus);
    }
    return bus;
}

void clu_plan_number_buses(CluPlanHost *host)
{
    unsigned bus = 0;

    for (unsigned slot = 0; slot <= CLU_PLAN_SLOT_MAX; slot++) {
        for (unsigned i = 0; i < host->devices->len; i++) {
            CluPlanDevice *device = host->devices->pdata[i];

            if (!device->above && device->slot == slot &&
                clu_plan_is_hotplug(device)) {
                device->bus = ++bus;
            }
        }
        for (unsigned i = 0; i < host->switches->len; i++) {
            CluPlanSwitch *sw = host->switches->pdata[i];

            if (!sw->above && sw->slot == slot) {
                bus = number_switch(host, sw, bus);
            }
        }
    }
}

/* Names */

char *clu_plan_switch_address(const CluPlanSwitch *sw)
{
    return g_strdup_printf("0000:%02x:00.0", sw->bus);
}

char *clu_plan_port_id(const CluPlanSwitch *sw, unsigned port)
{
    return g_strdup_printf("%s.port%u", sw->id, port);
}

static bool has_port(const CluPlanHost *host, const CluPlanSwitch *sw,
                     unsigned port)
{
    for (unsigned i = 0; i < host->switches->len; i++) {
        const CluPlanSwitch *below = host->switches->pdata[i];

        if (below->above == sw && below->topo->at.port == port) {
            return true;
        }
    }
    for (unsigned i = 0; i < host->devices->len; i++) {
        const CluPlanDevice *device = host->devices->pdata[i];

        if (device->above == sw && device->device->at.port == port) {
            return true;
        }
    }
    return false;
}

void clu_plan_append_ports(GString *text, const CluPlanHost *host,
                           const CluPlanSwitch *sw)
{
    for (unsigned port = 0; port < CLU_PLAN_PORTS_MAX; port++) {
        if (has_port(host, sw, port)) {
            g_string_append_printf(text, "%s0000:%02x:%02x.0",
                                   text->len ? ";" : "", sw->inside, port);
        }
    }
}

bool clu_plan_has_sibling(const CluPlanHost *host, const CluPlanDevice *device)
{
    for (unsigned i = 0; i < host->devices->len; i++) {
        const CluPlanDevice *other = host->devices->pdata[i];

        if (other != device && other->device == device->device) {
            return true;
        }
    }
    return false;
}

/* Links inside a host */

static void add_inside(CluPlan *plan, const CluPlanHost *host, const char *path,
                       const char *name, const CluPlanSwitch *above,
                       const char *id)
{
    CluPlanInside *inside = g_new0(CluPlanInside, 1);

    inside->name = path;
    inside->index = plan->insides->len;
    inside->host = host;
    inside->id = g_strdup(id);
    inside->lower = name;
    inside->upper = above ? above->topo->name : host->host->name;
    g_ptr_array_add(plan->insides, inside);
}

void clu_plan_add_insides(CluPlan *plan, const CluPlanHost *host)
{
    for (unsigned i = 0; i < host->switches->len; i++) {
        const CluPlanSwitch *sw = host->switches->pdata[i];
        g_autofree char *id =
            sw->above ? clu_plan_port_id(sw->above, sw->topo->at.port)
                      : g_strdup(sw->id);

        add_inside(plan, host, sw->topo->path, sw->topo->name, sw->above, id);
    }
    for (unsigned i = 0; i < host->devices->len; i++) {
        const CluPlanDevice *device = host->devices->pdata[i];
        const TopoDevice *topo = device->device;

        if (device->above && device->function == 0) {
            g_autofree char *id =
                clu_plan_port_id(device->above, topo->at.port);

            add_inside(plan, host, topo->path, topo->name, device->above, id);
        }
    }
}

const CluPlanInside *clu_plan_find_inside(const CluPlan *plan, const char *name)
{
    for (unsigned i = 0; i < plan->insides->len; i++) {
        const CluPlanInside *inside = plan->insides->pdata[i];

        if (strcmp(inside->name, name) == 0) {
            return inside;
        }
    }
    return NULL;
}

/* Gaps of the machines */

/* The switch of @host before number @index that is of the same chip, or NULL */
static const TopoSwitch *find_partition(const CluPlanHost *host, unsigned index)
{
    const CluPlanSwitch *sw = host->switches->pdata[index];

    for (unsigned i = 0; sw->topo->chip && i < index; i++) {
        const CluPlanSwitch *other = host->switches->pdata[i];

        if (g_strcmp0(other->topo->chip, sw->topo->chip) == 0) {
            return other->topo;
        }
    }
    return NULL;
}

static char *direct_gap(const TopoSwitch *sw)
{
    g_autofree char *place = topo_place_to_string(sw->place);

    return g_strdup_printf(
        "%s: warning: %s has acs_direct, which is the simulation's alone: no "
        "emulated device sends translated addresses, so a port that redirects "
        "sends all requests up",
        place, sw->path);
}

static char *chip_gap(const TopoSwitch *sw, const TopoSwitch *other)
{
    g_autofree char *place = topo_place_to_string(sw->place);

    return g_strdup_printf(
        "%s: warning: %s and %s are partitions of chip '%s' in the simulation "
        "alone: the machine has two switches, and what goes from one to the "
        "other passes the root",
        place, other->path, sw->path, sw->chip);
}

void clu_plan_tell_gaps(const CluPlan *plan,
                        void (*tell)(void *owner, const char *text),
                        void *owner)
{
    for (unsigned i = 0; i < plan->hosts->len; i++) {
        const CluPlanHost *host = plan->hosts->pdata[i];

        for (unsigned j = 0; j < host->switches->len; j++) {
            const CluPlanSwitch *sw = host->switches->pdata[j];
            const TopoSwitch *other = find_partition(host, j);
            g_autofree char *direct =
                sw->topo->acs_direct ? direct_gap(sw->topo) : NULL;
            g_autofree char *chip = other ? chip_gap(sw->topo, other) : NULL;

            if (direct) {
                tell(owner, direct);
            }
            if (chip) {
                tell(owner, chip);
            }
        }
    }
}
