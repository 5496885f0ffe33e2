/* SPDX-License-Identifier: MIT */
#include "device_gpu.h"
#include <check.h>
#include <glib.h>
#include <string.h>

#define ECAM 0x80000000ull

uint64_t gpu_ecam(DeviceRig *rig, unsigned devfn)
{
    /* q35's PCIEXBAR, at 0x60 of the host bridge: enabled, 256 MiB */
    rig_pci_write(rig, 0, 0x60, (uint32_t)ECAM | 1);
    rig_pci_write(rig, 0, 0x64, 0);
    return ECAM + devfn * 4096ull;
}

DeviceGpu gpu_map(DeviceRig *rig, unsigned devfn, uint64_t bar)
{
    DeviceGpu gpu = {
        .rig = rig,
        .bar = bar,
        .memory = GPU_MEMORY_AT,
        .msix = bar + GPU_REGS_SIZE,
    };

    rig_pci_write(rig, devfn, 0x10, (uint32_t)gpu.bar);
    rig_pci_write(rig, devfn, 0x14, 0);
    rig_pci_write(rig, devfn, 0x18, (uint32_t)gpu.memory);
    rig_pci_write(rig, devfn, 0x1c, 0);
    rig_pci_write(rig, devfn, 0x20, (uint32_t)gpu.msix);
    rig_pci_write(rig, devfn, 0x24, 0);
    rig_pci_write(rig, devfn, 0x04, 0x6);
    return gpu;
}

uint64_t gpu_queue(const DeviceGpu *gpu, unsigned queue)
{
    return gpu->bar + GPU_QUEUE + queue * (uint64_t)GPU_QUEUE_STRIDE;
}

void gpu_enable(DeviceGpu *gpu, unsigned queue, unsigned entries,
                unsigned flags)
{
    uint64_t q = gpu_queue(gpu, queue);

    rig_write(gpu->rig, q + GPU_BASE, 8, GPU_RING(queue));
    rig_write(gpu->rig, q + GPU_ENTRIES, 4, entries);
    rig_write(gpu->rig, q + GPU_QUEUE_CONTROL, 4, GPU_QUEUE_ENABLE | flags);
    ck_assert_uint_eq(rig_read(gpu->rig, q + GPU_QUEUE_CONTROL, 4),
                      GPU_QUEUE_ENABLE | flags);
    gpu->entries[queue] = entries;
    gpu->tail[queue] = 0;
}

void gpu_put_command(DeviceGpu *gpu, unsigned queue,
                     const struct gpu_command *command)
{
    unsigned tail = gpu->tail[queue];

    memcpy(rig_ram(gpu->rig) + GPU_RING(queue) + tail * sizeof(*command),
           command, sizeof(*command));
    gpu->tail[queue] = (tail + 1) % gpu->entries[queue];
}

void gpu_put(DeviceGpu *gpu, unsigned queue, unsigned operation,
             uint32_t length, uint64_t source, uint64_t destination)
{
    struct gpu_command command = {
        .operation = operation,
        .length = length,
        .source = source,
        .destination = destination,
    };

    gpu_put_command(gpu, queue, &command);
}

void gpu_ring(DeviceGpu *gpu, unsigned queue)
{
    rig_write(gpu->rig, gpu_queue(gpu, queue) + GPU_TAIL, 4, gpu->tail[queue]);
}

void gpu_wait(DeviceGpu *gpu, uint64_t address, unsigned size, uint64_t value)
{
    gint64 deadline = rig_deadline();
    uint64_t now;

    while ((now = rig_read(gpu->rig, address, size)) != value) {
        ck_assert_msg(g_get_monotonic_time() < deadline,
                      "0x%" G_GINT64_MODIFIER "x is 0x%" G_GINT64_MODIFIER
                      "x, not 0x%" G_GINT64_MODIFIER "x",
                      address, now, value);
    }
}

void gpu_run(DeviceGpu *gpu, unsigned queue)
{
    uint64_t q = gpu_queue(gpu, queue);
    gint64 deadline = rig_deadline();
    unsigned error;

    gpu_ring(gpu, queue);
    while (rig_read(gpu->rig, q + GPU_HEAD, 4) != gpu->tail[queue]) {
        error = rig_read(gpu->rig, q + GPU_ERROR, 4);
        ck_assert_msg(error == 0, "queue %u: error %u", queue, error);
        ck_assert_msg(g_get_monotonic_time() < deadline,
                      "queue %u: commands are not done", queue);
    }
}
