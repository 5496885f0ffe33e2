/* SPDX-License-Identifier: MIT */
/*
 * A driver of the accelerator over qtest. The rings of its queues are in the
 * machine's memory. docs/reference/gpu.md describes the device.
 */
#ifndef DEVICE_GPU_H
#define DEVICE_GPU_H

#include <stdint.h>
#include "device_rig.h"
#include "gpu_regs.h"

#define GPU_BAR0      0xea000000ull
/* Far from other BARs, because the memory may have 64 MiB. */
#define GPU_MEMORY_AT 0xb0000000ull
#define GPU_RING(q)                                                            \
    (0x300000ull + (q)*GPU_ENTRIES_MAX * sizeof(struct gpu_command))

typedef struct {
    DeviceRig *rig; /* borrowed */
    uint64_t bar;
    uint64_t memory;
    uint64_t msix;
    unsigned entries[GPU_QUEUE_COUNT];
    unsigned tail[GPU_QUEUE_COUNT];
} DeviceGpu;

/* Places the BARs of the function @devfn, and enables memory and DMA. */
DeviceGpu gpu_map(DeviceRig *rig, unsigned devfn, uint64_t bar);
/* The extended configuration space of a function of bus 0 */
uint64_t gpu_ecam(DeviceRig *rig, unsigned devfn);
/* The registers of a queue */
uint64_t gpu_queue(const DeviceGpu *gpu, unsigned queue);
/* Enables a queue with an empty ring. @flags are added to QUEUE_CONTROL. */
void gpu_enable(DeviceGpu *gpu, unsigned queue, unsigned entries,
                unsigned flags);
/* Puts a command into the ring, and nothing more. */
void gpu_put_command(DeviceGpu *gpu, unsigned queue,
                     const struct gpu_command *command);
void gpu_put(DeviceGpu *gpu, unsigned queue, unsigned operation,
             uint32_t length, uint64_t source, uint64_t destination);
/* Writes TAIL. */
void gpu_ring(DeviceGpu *gpu, unsigned queue);
/* Waits until the registers show @value. Fails at rig_deadline(). */
void gpu_wait(DeviceGpu *gpu, uint64_t address, unsigned size, uint64_t value);
/* Writes TAIL, and waits until all commands are done without an error. */
void gpu_run(DeviceGpu *gpu, unsigned queue);

#endif /* DEVICE_GPU_H */
