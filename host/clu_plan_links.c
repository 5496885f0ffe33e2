/* SPDX-License-Identifier: MIT */
#include "clu_plan_links.h"

#include <string.h>

#include "clu_plan_chips.h"
#include "clu_plan_devices.h"
#include "clu_plan_options.h"
#include "clu_property.h"

#define BAR4_MIN     (64LL << 20) /* smallest default size of BAR 4, in bytes */
#define BAR4_MAX_IDT (1LL << 30)  /* of a chip of IDT's */

/* Properties that must be the same at both ends of a link; ended by NULL. */
static const char *const geometry[] = {"generation", "lut-entries", "bar2-size",
                                       "bar4-size", NULL};

int64_t clu_plan_memory_end(const TopoHost *host)
{
    int64_t bytes = host->vm->memory_bytes;

    if (bytes < 0xb0000000LL) {
        return bytes;
    }
    return bytes - 0x80000000LL + (4LL << 30);
}

/* Text for a property that no option gives, to be freed; NULL: that of the
 * device. By default, BAR 4 covers all memory of either host. */
static char *default_of(const TopoLink *link, const char *name)
{
    bool is_bar4 = strcmp(name, "bar4-size") == 0;
    const char *aligned = clu_plan_aligned_bar(link->chip);
    int64_t need, size = BAR4_MIN;

    if (aligned && (is_bar4 || strcmp(name, "bar2-size") == 0)) {
        return g_strdup(aligned);
    }
    if (!is_bar4) {
        return NULL;
    }
    need = MAX(clu_plan_memory_end(link->end[0]->host),
               clu_plan_memory_end(link->end[1]->host));
    while (size < need) {
        size *= 2;
    }
    return g_strdup_printf("%" G_GINT64_FORMAT "M", size >> 20);
}

/* Appends the geometry of @end. If only one end gives a value, both use it. */
static void append_geometry(TopoErrors *errors, const TopoLink *link,
                            unsigned end, GString *own)
{
    const TopoVmDevice *vm[2] = {link->end[0]->vm, link->end[1]->vm};
    unsigned i;

    for (i = 0; geometry[i]; i++) {
        const char *name = geometry[i];
        const char *a = clu_plan_option_value(vm[0], name);
        const char *b = clu_plan_option_value(vm[1], name);

        if (a && b && end == 1 && !clu_property_is_same_size(a, b)) {
            g_autofree char *place =
                topo_place_to_string(clu_plan_option_place(vm[0], name));

            topo_errors_add(errors, clu_plan_option_place(vm[1], name),
                            "%s is %s, and %s at the other end of %s (%s); "
                            "both ends must have the same",
                            name, b, a, link->name, place);
        } else if (a || b) {
            clu_property_append(own, name, a ? a : b);
        } else {
            g_autofree char *size = default_of(link, name);

            if (size) {
                clu_property_append(own, name, size);
            }
        }
    }
}

CluPlanLink *clu_plan_find_link(const CluPlan *plan, const TopoLink *topo)
{
    unsigned i;

    for (i = 0; i < plan->links->len; i++) {
        CluPlanLink *link = plan->links->pdata[i];

        if (link->link == topo) {
            return link;
        }
    }
    g_assert_not_reached(); /* the plan has all links of the description */
}

/* Adds the device for the cable at @port of the adapter @topo. */
static void add_cable(CluPlan *plan, TopoErrors *errors, CluPlanHost *host,
                      const TopoDevice *topo, unsigned port, bool is_only)
{
    CluPlanLink *link = clu_plan_find_link(plan, topo->links->pdata[port]);
    g_autofree char *type = clu_plan_ntb_type(link->link->chip);
    CluPlanDevice *device = clu_plan_add_device(host, topo, type);
    g_autoptr(GString) own = g_string_new(NULL);

    device->backend = CLU_BACKEND_NTB;
    device->link = link;
    device->end =
        link->link->end[0] == topo && link->link->port[0] == port ? 0 : 1;
    link->host[device->end] = host;
    link->device[device->end] = device;
    if (!is_only) {
        g_autofree char *id = g_steal_pointer(&device->id);

        device->id = g_strdup_printf("%s.%u", id, port);
    }
    append_geometry(errors, link->link, device->end, own);
    clu_plan_append_options(own, topo->vm, geometry);
    device->properties = g_string_free(g_steal_pointer(&own), FALSE);
}

char *clu_plan_link_property(const CluPlanLink *link, unsigned end,
                             const char *name)
{
    unsigned peer = link->link->end[!end]->partition;

    return link->device[end]->chip ? g_strdup_printf("%s.%u", name, peer)
                                   : g_strdup(name);
}

/* The largest memory of the chip's hosts, for which BAR 4 is one window; IDT's
 * have 1 GiB at most. */
static char *chip_bar4(const TopoNtbChip *chip)
{
    int64_t size = BAR4_MIN, need = 0;

    for (unsigned i = 0; i < chip->ends->len; i++) {
        const TopoDevice *end = chip->ends->pdata[i];

        need = MAX(need, clu_plan_memory_end(end->host));
    }
    while (size < need && size < BAR4_MAX_IDT) {
        size *= 2;
    }
    return g_strdup_printf("%" G_GINT64_FORMAT "M", size >> 20);
}

/* An option of any end holds for all ends of the chip. */
static void append_chip_size(TopoErrors *errors, const TopoNtbChip *chip,
                             const char *name, const char *fallback,
                             GString *own)
{
    const char *chosen = NULL;

    for (unsigned i = 0; i < chip->ends->len; i++) {
        const TopoDevice *end = chip->ends->pdata[i];
        const char *value = clu_plan_option_value(end->vm, name);

        if (value && chosen && !clu_property_is_same_size(value, chosen)) {
            topo_errors_add(errors, clu_plan_option_place(end->vm, name),
                            "%s is %s, and %s at another end of %s; all ends "
                            "must have the same",
                            name, value, chosen, chip->name);
        }
        chosen = chosen ? chosen : value;
    }
    if (chosen || fallback) {
        clu_property_append(own, name, chosen ? chosen : fallback);
    }
}

/* Adds the device of one end of a chip, with links to all others. */
static void add_chip_end(CluPlan *plan, TopoErrors *errors, CluPlanHost *host,
                         const TopoDevice *topo)
{
    static const char *const sizes[] = {"bar2-size", "bar4-size", NULL};
    const TopoNtbChip *chip = topo->ntb_chip;
    g_autofree char *bar4 = chip_bar4(chip);
    g_autoptr(GString) own = g_string_new(NULL);
    g_autoptr(GString) ports = g_string_new(NULL);
    CluPlanDevice *device = clu_plan_add_device(host, topo, CLU_PLAN_IDT_TYPE);

    device->backend = CLU_BACKEND_NTB;
    device->chip = chip;
    device->end = topo->partition;
    for (unsigned i = 0; i < chip->pairs->len; i++) {
        CluPlanLink *link = clu_plan_find_link(plan, chip->pairs->pdata[i]);

        for (unsigned end = 0; end < 2; end++) {
            if (link->link->end[end] == topo) {
                link->host[end] = host;
                link->device[end] = device;
            }
        }
    }
    for (unsigned i = 0; i < chip->ends->len; i++) {
        g_string_append_printf(ports, "%s%u", i ? "," : "", chip->ports[i]);
    }
    g_string_append_printf(own, ",hosts=%u,lut=%u", chip->ends->len, chip->lut);
    clu_property_append(own, "model", chip->model);
    clu_property_append(own, "ports", ports->str);
    append_chip_size(errors, chip, "bar2-size", NULL, own);
    append_chip_size(errors, chip, "bar4-size", bar4, own);
    clu_plan_append_options(own, topo->vm, sizes);
    device->properties = g_string_free(g_steal_pointer(&own), FALSE);
}

void clu_plan_add_adapter(CluPlan *plan, CluPlanHost *host,
                          const TopoDevice *topo, TopoErrors *errors)
{
    const TopoVmDevice *vm = topo->vm;
    unsigned n_cables = 0;
    unsigned port;

    if (vm && vm->device && strcmp(vm->device, CLU_PLAN_NTB_TYPE) != 0) {
        topo_errors_add(errors, vm->device_place,
                        "%s: an NTB adapter is emulated by " CLU_PLAN_NTB_TYPE
                        ", or as the link's 'chip' says; leave 'device' out",
                        topo->path);
        return;
    }
    if (vm) {
        clu_plan_check_options(vm, errors);
    }
    if (topo->ntb_chip) {
        add_chip_end(plan, errors, host, topo);
        return;
    }
    for (port = 0; port < topo->links->len; port++) {
        n_cables += !!topo->links->pdata[port];
    }
    for (port = 0; port < topo->links->len; port++) {
        if (topo->links->pdata[port]) {
            add_cable(plan, errors, host, topo, port, n_cables == 1);
        }
    }
    if (n_cables == 0) {
        g_ptr_array_add(plan->absent, topo->path);
    }
}
