/* SPDX-License-Identifier: MIT */
#include "clu_plan_devices.h"

#include <string.h>

#include "clu_broker_types.h"
#include "clu_plan_chips.h"
#include "clu_plan_options.h"
#include "clu_property.h"
#include "topo_units.h"

#define REGION_BYTES (4LL << 20) /* default size of a region */
#define NULL_DISK    "null-co:"

static bool is_ivshmem(const char *type)
{
    return g_str_has_prefix(type, "ivshmem-");
}

static void plan_disk(TopoErrors *errors, CluPlanDevice *device,
                      const TopoVmDevice *vm)
{
    g_autoptr(GError) error = NULL;

    device->name = vm->image;
    if (g_str_has_prefix(vm->image, NULL_DISK)) {
        device->backend = CLU_BACKEND_NULL;
        if (!topo_units_parse(TOPO_UNIT_BYTES, vm->image + strlen(NULL_DISK),
                              &device->bytes, &error)) {
            topo_errors_add(errors, vm->image_place, "image: %s",
                            error->message);
        }
    } else if (topo_units_parse(TOPO_UNIT_BYTES, vm->image, &device->bytes,
                                NULL)) {
        device->backend = CLU_BACKEND_DISK;
    } else {
        device->backend = CLU_BACKEND_FILE;
    }
    if (device->backend != CLU_BACKEND_FILE &&
        (device->bytes % 512 != 0 || device->bytes == 0)) {
        topo_errors_add(
            errors, vm->image_place,
            "image: a disk cannot have %s; write a multiple of 512B, at least "
            "512B",
            vm->image);
    }
}

static CluPlanRegion *get_region(CluPlan *plan, const TopoVmDevice *vm,
                                 unsigned *ret_index)
{
    CluPlanRegion *region;
    unsigned i;

    for (i = 0; i < plan->regions->len; i++) {
        region = plan->regions->pdata[i];
        if (strcmp(region->name, vm->region) == 0) {
            *ret_index = i;
            return region;
        }
    }
    *ret_index = i;
    region = g_new0(CluPlanRegion, 1);
    region->name = vm->region;
    region->bytes = REGION_BYTES;
    region->place = vm->region_place;
    g_ptr_array_add(plan->regions, region);
    return region;
}

static void plan_region(CluPlan *plan, TopoErrors *errors,
                        CluPlanDevice *device, const TopoVmDevice *vm)
{
    CluPlanRegion *region = get_region(plan, vm, &device->region);
    const char *text = clu_plan_option_value(vm, "vectors");
    uint64_t vectors = 1;

    device->backend = strcmp(device->type, "ivshmem-plain") == 0
                          ? CLU_BACKEND_REGION
                          : CLU_BACKEND_DOORBELL;
    if (vm->size_bytes != 0 && region->is_sized &&
        vm->size_bytes != region->bytes) {
        g_autofree char *place = topo_place_to_string(region->place);
        g_autofree char *here =
            topo_units_format(TOPO_UNIT_BYTES, vm->size_bytes);
        g_autofree char *there =
            topo_units_format(TOPO_UNIT_BYTES, region->bytes);

        topo_errors_add(errors, vm->region_place,
                        "region '%s' has a size of %s here and of %s at %s; "
                        "write the same",
                        region->name, here, there, place);
    } else if (vm->size_bytes != 0) {
        region->bytes = vm->size_bytes;
        region->place = vm->region_place;
        region->is_sized = true;
    }
    if (device->backend != CLU_BACKEND_DOORBELL) {
        return;
    }
    if (text && (!clu_property_parse_size(text, &vectors) || vectors == 0 ||
                 vectors > CLU_BROKER_VECTORS_MAX)) {
        topo_errors_add(errors, clu_plan_option_place(vm, "vectors"),
                        "vectors is '%s'; write a number from 1 to %d", text,
                        CLU_BROKER_VECTORS_MAX);
    } else if (region->vectors != 0 && region->vectors != vectors) {
        topo_errors_add(errors,
                        text ? clu_plan_option_place(vm, "vectors")
                             : vm->region_place,
                        "a device of region '%s' has %u vectors, and another "
                        "one %u; give all the same",
                        region->name, (unsigned)vectors, region->vectors);
    }
    region->vectors = (unsigned)vectors;
}

static void plan_network(CluPlan *plan, CluPlanDevice *device,
                         const TopoVmDevice *vm)
{
    GPtrArray *networks = plan->networks;
    unsigned i;

    device->backend = CLU_BACKEND_NETWORK;
    for (i = 0; i < networks->len; i++) {
        if (strcmp(networks->pdata[i], vm->network) == 0) {
            device->name = networks->pdata[i];
            return;
        }
    }
    g_ptr_array_add(networks, vm->network);
    device->name = vm->network;
}

/* Queues and interrupts that a virtual function gets if the drive shares its
 * own out equally: one queue for administration, two for data. */
#define VF_QUEUES     3
#define VF_INTERRUPTS 2

/* Makes the drive a controller of a subsystem, with virtual functions. */
static void plan_virtual(TopoErrors *errors, CluPlanDevice *device,
                         const TopoVmDevice *vm, GString *properties)
{
    const struct {
        const char *name;
        unsigned value;
    } own[] = {
        {"sriov_max_vfs", vm->virtual_functions},
        {"sriov_vq_flexible", vm->virtual_functions * VF_QUEUES},
        {"sriov_vi_flexible", vm->virtual_functions * VF_INTERRUPTS},
        {"max_ioqpairs", vm->virtual_functions * VF_QUEUES + 2},
    };
    unsigned i;

    if (strcmp(vm->device, "nvme") != 0 || !vm->image) {
        topo_errors_add(errors, vm->virtual_place,
                        "virtual_functions: only a device 'nvme' with an image "
                        "has some; leave the key out");
        return;
    }
    device->subsys = true;
    g_string_append_printf(properties, ",subsys=%s-subsystem", device->id);
    for (i = 0; i < G_N_ELEMENTS(own); i++) {
        if (!clu_plan_has_option(vm, own[i].name)) {
            g_string_append_printf(properties, ",%s=%u", own[i].name,
                                   own[i].value);
        }
    }
}

CluPlanDevice *clu_plan_add_device(CluPlanHost *host, const TopoDevice *topo,
                                   const char *type)
{
    CluPlanDevice *device = g_new0(CluPlanDevice, 1);

    device->device = topo;
    device->type = g_strdup(type);
    /* QEMU requires that an ID begins with a letter. */
    device->id = g_strconcat(g_ascii_isalpha(*topo->name) ? "" : "d..",
                             topo->name, NULL);
    device->fd = -1;
    g_ptr_array_add(host->devices, device);
    return device;
}

void clu_plan_add_endpoint(CluPlan *plan, CluPlanHost *host,
                           const TopoDevice *topo, TopoErrors *errors)
{
    const TopoVmDevice *vm = topo->vm;
    g_autoptr(GString) own = g_string_new(NULL);
    CluPlanDevice *device;

    if (!vm) {
        g_ptr_array_add(plan->absent, topo->path);
        return;
    }
    if (!vm->device) {
        topo_errors_add(errors, vm->place,
                        "%s: vm needs the key 'device', the name of a QEMU "
                        "device; add it",
                        topo->path);
        return;
    }
    if (clu_plan_is_ntb_type(vm->device)) {
        topo_errors_add(errors, vm->device_place,
                        "%s: part '%s' is no NTB adapter; give device %s to "
                        "parts of kind ntb",
                        topo->path, topo_part_name(topo->part), vm->device);
        return;
    }
    clu_plan_check_options(vm, errors);
    device = clu_plan_add_device(host, topo, vm->device);
    if (is_ivshmem(vm->device) != !!vm->region) {
        topo_errors_add(
            errors, vm->region ? vm->region_place : vm->device_place,
            vm->region ? "%s: '%s' has no region; only ivshmem-plain and "
                         "ivshmem-doorbell do"
                       : "%s: '%s' needs the key 'region', the name of "
                         "the memory it shares; add it",
            topo->path, vm->device);
    } else if (vm->region) {
        plan_region(plan, errors, device, vm);
    } else if (vm->network) {
        plan_network(plan, device, vm);
    } else if (vm->image) {
        plan_disk(errors, device, vm);
    }
    if (vm->image && !clu_plan_has_option(vm, "serial") &&
        (strcmp(vm->device, "nvme") == 0 ||
         g_str_has_prefix(vm->device, "virtio-blk"))) {
        /* QEMU takes at most 20 characters. */
        g_autofree char *serial = g_strndup(topo->path, 20);

        clu_property_append(own, "serial", serial);
    }
    if (vm->virtual_functions > 0) {
        plan_virtual(errors, device, vm, own);
    }
    if (vm->network && !clu_plan_has_option(vm, "mac")) {
        unsigned index = 0;

        while (host->host->devices->pdata[index] != topo) {
            index++;
        }
        /* The address is the same in each run, and unique in the cluster. */
        g_string_append_printf(own, ",mac=52:54:00:%02x:%02x:%02x",
                               host->index >> 8 & 0xff, host->index & 0xff,
                               index & 0xff);
    }
    if (vm->network && !clu_plan_has_option(vm, "romfile")) {
        g_string_append(own, ",romfile="); /* no guest boots from the network */
    }
    clu_plan_append_options(own, vm, NULL);
    device->properties = g_string_free(g_steal_pointer(&own), FALSE);
}
