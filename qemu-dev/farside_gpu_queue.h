/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The queues of the accelerator: their registers, and the commands. Commands
 * run in the main loop, a piece at a time, so that they do not hold up the
 * machine.
 */
#ifndef FARSIDE_GPU_QUEUE_H
#define FARSIDE_GPU_QUEUE_H

#include "hw/pci/pci.h"
#include "gpu_regs.h"

typedef struct FarsideGpuQueues FarsideGpuQueues;

/*
 * @memory (borrowed) is the device's own RAM, of @size bytes. Addresses on the
 * bus have @address_bits bits; DMA to any other address fails.
 */
FarsideGpuQueues *farside_gpu_queues_new(PCIDevice *pci, MemoryRegion *memory,
                                         uint64_t size, unsigned address_bits);
void farside_gpu_queues_free(FarsideGpuQueues *s); /* nullable */
/* Stops all queues. Their registers get their reset values. */
void farside_gpu_queues_reset(FarsideGpuQueues *s);

/* STATUS of the device */
uint32_t farside_gpu_queues_status(const FarsideGpuQueues *s);
/* A register of a queue. @offset is a multiple of 4. */
uint32_t farside_gpu_queues_read(const FarsideGpuQueues *s, unsigned queue,
                                 unsigned offset);
void farside_gpu_queues_write(FarsideGpuQueues *s, unsigned queue,
                              unsigned offset, uint32_t value);

#endif /* FARSIDE_GPU_QUEUE_H */
