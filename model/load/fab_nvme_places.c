/* SPDX-License-Identifier: MIT */
#include "fab_nvme_places_priv.h"

#include "fab_flow_priv.h"
#include "fab_lend.h"
#include "fab_mapper_priv.h"

#define ENTRIES_MAX  (1u << FAB_NVME_CID_BITS)
#define DEPTH_MAX    (ENTRIES_MAX - 1)
#define TRANSFER_MAX (2u << 20) /* a PRP list then fits into one page */

/* ---- Parameters -------------------------------------------------------- */

static bool is_power(uint64_t value, uint64_t min, uint64_t max)
{
    return value >= min && value <= max && (value & (value - 1)) == 0;
}

/* drive_wrong() and flow_wrong() return a message, or NULL if nothing is
 * wrong. */
static const char *drive_wrong(const FabNvmeParams *drive)
{
    if (drive->overhead < 0 || drive->read_latency < 0 ||
        drive->write_latency < 0 || drive->jitter < 0) {
        return "the times of the drive must not be negative";
    } else if (drive->read_bandwidth_bytes_s < 1000000 ||
               drive->write_bandwidth_bytes_s < 1000000) {
        return "the media must move at least 1000000 bytes a second";
    } else if (drive->commands < 1 || drive->commands > 65535) {
        return "the drive must work on 1 to 65535 commands at a time";
    } else if (!is_power(drive->block_bytes, 512, FAB_NVME_PAGE_BYTES)) {
        return "a block must have 512 to 4096 bytes, a power of two";
    } else if (!is_power(drive->max_transfer_bytes, FAB_NVME_PAGE_BYTES,
                         TRANSFER_MAX)) {
        return "a command must move 4 KiB to 2 MiB, a power of two";
    }
    return NULL;
}

static const char *flow_wrong(const FabNvmeFlowParams *params)
{
    uint64_t block = params->drive.block_bytes;

    if (params->size_bytes == 0 || params->size_bytes % block != 0 ||
        params->size_bytes / block > FAB_NVME_BLOCKS) {
        return "an operation must move whole blocks, no more than the drive "
               "has";
    } else if (params->count == 0) {
        return "there must be at least 1 operation";
    } else if (params->depth < 1 || params->depth > DEPTH_MAX) {
        return "there must be 1 to 4095 operations at a time";
    } else if (params->entries < 2 || params->entries > ENTRIES_MAX) {
        return "a queue must have 2 to 4096 entries";
    } else if (params->timeout <= 0 || params->timeout > SIM_TIME_NONE / 4) {
        return "the time-out must be above 0 and below 26 days";
    } else if (params->by && !params->polling) {
        return "threads of a GPU poll; they take no interrupts";
    } else if (params->by && params->shadow_doorbells) {
        return "threads of a GPU have no shadow doorbells";
    } else if (params->start > SIM_TIME_NONE / 4) {
        return "the start must be below 26 days";
    } else if (params->maps_each &&
               params->buffer.component != fab_root_component(params->driver)) {
        return "only the memory of the driver's host can be mapped for each "
               "command";
    } else if (fab_endpoint_params(params->device)->write_bytes <
               FAB_NVME_CQE_BYTES) {
        return "the device must be able to write a completion entry in one TLP";
    }
    return NULL;
}

static bool is_same_drive(const FabNvmeParams *a, const FabNvmeParams *b)
{
    return a->overhead == b->overhead && a->read_latency == b->read_latency &&
           a->write_latency == b->write_latency && a->jitter == b->jitter &&
           a->read_bandwidth_bytes_s == b->read_bandwidth_bytes_s &&
           a->write_bandwidth_bytes_s == b->write_bandwidth_bytes_s &&
           a->commands == b->commands && a->serial == b->serial &&
           a->max_transfer_bytes == b->max_transfer_bytes &&
           a->block_bytes == b->block_bytes && a->read_ahead == b->read_ahead;
}

bool fab_nvme_check(const char *name, const FabNvmeFlowParams *params,
                    const FabNvme *peer, GError **error)
{
    const char *wrong = drive_wrong(&params->drive);

    if (!wrong) {
        wrong = flow_wrong(params);
    }
    if (!wrong && peer &&
        !is_same_drive(fab_nvme_params(peer), &params->drive)) {
        wrong = "another flow gives this drive other numbers";
    }
    if (!wrong && fab_endpoint_component(params->device)->bars[0].size_bytes <
                      fab_nvme_next_bells(peer) + 2 * FAB_NVME_BELL_BYTES) {
        wrong = "BAR 0 of the device is too small for its doorbells";
    }
    return fab_flow_accept(name, wrong, error);
}

/* ---- Areas -------------------------------------------------------------- */

/* Takes the place, in the address space of its host. */
static bool place_take(FabEndpoint *device, const FabTarget *target,
                       FabNvmeArea *area, GError **error)
{
    FabComponent *drive = fab_endpoint_component(device);
    uint64_t end = area->offset + area->size_bytes;
    bool is_memory = fab_component_as_root(area->home);

    if (!fab_target_take(target, is_memory ? area->size_bytes : end,
                         &area->addr, error)) {
        return false;
    }
    if (is_memory) {
        return true;
    }
    if (area->home == drive && area->addr == drive->bars[0].addr) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "%s: BAR 0 has the registers of the drive, so it can have "
                    "no queue; name another BAR",
                    drive->name);
        return false;
    }
    area->addr += area->offset;
    return true;
}

/* Maps @area for the drive. */
static bool device_map(FabEndpoint *device, FabNvmeArea *area, GError **error)
{
    FabComponent *drive = fab_endpoint_component(device);
    const FabLend *lend = fab_lend_of(device);

    if (area->in_drive) {
        area->device = area->addr;
        return true;
    }
    if (!lend || area->home != drive->root) {
        return fab_route_map(drive, area->home, area->addr, area->size_bytes,
                             &area->device, error);
    }
    if (fab_lend_is_vm(lend)) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_LENT,
                    "%s is lent to a guest, which cannot use the memory of %s",
                    drive->name, area->home->name);
        return false;
    }
    /* Memory that the lender offers for queues is mapped outside the window. */
    return fab_root_map_dma(fab_component_as_root(area->home), drive->bdf,
                            area->addr, area->size_bytes, &area->device, error);
}

/* Places @size_bytes at @target for the drive @device and a driver on @driver.
 * @offset is the end of the areas that the BAR has already. */
static bool area_take(FabRoot *driver, FabEndpoint *device,
                      const FabTarget *target, uint64_t offset,
                      uint64_t size_bytes, FabNvmeArea *ret_area,
                      GError **error)
{
    FabComponent *host = fab_root_component(driver);

    *ret_area = (FabNvmeArea){
        .home = target->component,
        .bar = target->bar,
        .offset = offset,
        .size_bytes = size_bytes,
        .in_drive = target->component == fab_endpoint_component(device),
    };
    if (!place_take(device, target, ret_area, error)) {
        return false;
    }
    ret_area->cpu = ret_area->addr;
    if (target->component != host &&
        !fab_route_map(host, target->component, ret_area->addr, size_bytes,
                       &ret_area->cpu, error)) {
        return false;
    }
    return device_map(device, ret_area, error);
}

static uint64_t whole_pages(uint64_t bytes)
{
    return (bytes + FAB_NVME_PAGE_BYTES - 1) &
           ~(uint64_t)(FAB_NVME_PAGE_BYTES - 1);
}

/* The end of the areas that @placed and other flows have in the BAR @target. */
static uint64_t bar_used(FabFabric *fabric, const FabTarget *target,
                         const FabNvmeArea *placed)
{
    uint64_t end = 0;
    FabFlow *flow = NULL;

    for (uint32_t i = 0; i == 0 || (flow = fab_flow_nth(fabric, i)); i++) {
        const FabNvmeArea *areas = placed;

        if (flow) {
            areas = flow->ops->areas ? flow->ops->areas(flow) : NULL;
        }
        for (unsigned n = 0; areas && n < FAB_NVME_AREAS; n++) {
            if (areas[n].home == target->component &&
                areas[n].bar == target->bar) {
                end = MAX(end, areas[n].offset + areas[n].size_bytes);
            }
        }
    }
    return end;
}

/* Places the queues and lists of @bytes each. */
static bool find_areas(const FabNvmeFlowParams *params, const uint64_t *bytes,
                       FabNvmePlaces *places, GError **error)
{
    const FabTarget none = {NULL, -1};
    const FabTarget *targets[FAB_NVME_AREAS] = {&params->sq, &params->cq,
                                                &params->lists, &none};
    FabComponent *driver = fab_root_component(params->driver);
    FabComponent *device = fab_endpoint_component(params->device);
    FabTarget own = {driver, -1};
    FabBusAddr cpu = 0, drive = 0;
    uint64_t own_bytes = 0;

    for (unsigned i = 0; i < FAB_NVME_AREAS; i++) {
        own_bytes += targets[i]->component ? 0 : bytes[i];
    }
    if (own_bytes > 0 &&
        (!fab_target_take(&own, own_bytes, &cpu, error) ||
         !fab_route_map(device, driver, cpu, own_bytes, &drive, error))) {
        return false;
    }
    for (unsigned i = 0; i < FAB_NVME_AREAS; i++) {
        FabNvmeArea *area = &places->placed[i];

        if (!targets[i]->component) {
            places->cpu[i] = cpu;
            places->device[i] = drive;
            cpu += bytes[i];
            drive += bytes[i];
            continue;
        }
        if (bytes[i] == 0) {
            continue;
        }
        if (!area_take(params->driver, params->device, targets[i],
                       bar_used(driver->fabric, targets[i], places->placed),
                       bytes[i], area, error)) {
            return false;
        }
        places->cpu[i] = area->cpu;
        places->device[i] = area->device;
    }
    return true;
}

static bool maps_each(const FabNvmeFlowParams *params)
{
    return params->maps_each &&
           fab_mapper_is_needed(params->device, params->driver);
}

bool fab_nvme_find_places(const FabNvmeFlowParams *params, const FabNvme *peer,
                          FabNvmePlaces *places, GError **error)
{
    FabComponent *device = fab_endpoint_component(params->device);
    FabComponent *driver = fab_root_component(params->driver);
    uint64_t transfer = params->drive.max_transfer_bytes;
    uint64_t commands = (params->size_bytes + transfer - 1) / transfer;
    uint64_t buffer_bytes;
    uint64_t bytes[FAB_NVME_AREAS] = {
        whole_pages(params->entries * FAB_NVME_SQE_BYTES),
        whole_pages(params->entries * FAB_NVME_CQE_BYTES),
    };

    places->commands =
        MIN(commands * params->depth, (uint64_t)params->entries - 1);
    places->stride_bytes = whole_pages(params->size_bytes);
    buffer_bytes = places->stride_bytes * params->depth;
    if (fab_nvme_list_bytes(MIN(params->size_bytes, transfer)) > 0) {
        bytes[2] = (uint64_t)places->commands * FAB_NVME_PAGE_BYTES;
    }
    if (params->shadow_doorbells) {
        bytes[3] = UINT64_C(2) * FAB_NVME_PAGE_BYTES;
    }
    return find_areas(params, bytes, places, error) &&
           fab_target_take(&params->buffer, buffer_bytes, &places->buffer,
                           error) &&
           fab_route_map(
               params->by ? fab_endpoint_component(params->by) : driver, device,
               device->bars[0].addr + fab_nvme_next_bells(peer),
               2 * FAB_NVME_BELL_BYTES, &places->bells, error) &&
           (maps_each(params) ||
            fab_route_map(device, params->buffer.component, places->buffer,
                          buffer_bytes, &places->buffer, error)) &&
           (params->polling || device->root == driver ||
            fab_lend_of(params->device) ||
            fab_route_map(device, driver, FAB_MSI_BASE, FAB_NVME_BELL_BYTES,
                          &places->msi, error));
}

unsigned fab_nvme_area_watch(const FabNvmeArea *area, FabWatchFn fn,
                             void *owner)
{
    FabRoot *root = fab_component_as_root(area->home);

    return root ? fab_root_watch(root, area->addr, area->size_bytes, fn, owner)
                : fab_endpoint_watch(fab_component_as_endpoint(area->home),
                                     area->addr, area->size_bytes, fn, owner);
}

void fab_nvme_area_unwatch(const FabNvmeArea *area, unsigned handle)
{
    FabRoot *root = fab_component_as_root(area->home);

    if (root) {
        fab_root_unwatch(root, handle);
    } else {
        fab_endpoint_unwatch(fab_component_as_endpoint(area->home), handle);
    }
}
