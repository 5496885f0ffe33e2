/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * Registers and commands of the accelerator. docs/reference/gpu.md is the
 * specification. The device and its driver compile this file.
 */
#ifndef GPU_REGS_H
#define GPU_REGS_H

#include <linux/types.h>

#define GPU_VENDOR_ID 0x1234
#define GPU_DEVICE_ID 0xfa90

#define GPU_BAR_REGS   0
#define GPU_BAR_MEMORY 2
#define GPU_REGS_SIZE  0x4000u

#define GPU_ID       0x000u
#define GPU_VERSION  0x004u
#define GPU_CONTROL  0x008u
#define GPU_STATUS   0x00cu
#define GPU_MEMORY   0x010u
#define GPU_QUEUES   0x018u
#define GPU_COMMANDS 0x01cu
#define GPU_ADDRESS  0x020u

#define GPU_ID_VALUE      0x55504746u /* "FGPU" */
#define GPU_VERSION_VALUE 1u
#define GPU_CONTROL_RESET 1u
#define GPU_QUEUE_COUNT   4u

/* Bits of an address on the bus. Bit 63 means GPU_LOCAL. */
#define GPU_ADDRESS_MIN 24u
#define GPU_ADDRESS_MAX 63u

/* Of queue q: GPU_QUEUE + q * GPU_QUEUE_STRIDE */
#define GPU_QUEUE        0x100u
#define GPU_QUEUE_STRIDE 0x40u

#define GPU_BASE          0x00u
#define GPU_ENTRIES       0x08u
#define GPU_QUEUE_CONTROL 0x0cu
#define GPU_HEAD          0x10u
#define GPU_TAIL          0x14u
#define GPU_FENCE         0x18u
#define GPU_SUM           0x20u
#define GPU_ERROR         0x28u
#define GPU_RESUME        0x2cu

#define GPU_QUEUE_ENABLE     1u
#define GPU_QUEUE_INTERRUPTS 2u
#define GPU_ENTRIES_MIN      2u
#define GPU_ENTRIES_MAX      4096u

/* A command. */
struct gpu_command {
	__u8 operation;
	__u8 flags;
	__le16 zero;
	__le32 length;	/* bytes */
	__le64 source;
	__le64 destination;
	__le64 zero2;
};

#define GPU_COPY     1
#define GPU_FILL     2
#define GPU_SUM_OF   3
#define GPU_FENCE_OP 4

#define GPU_FLAG_INTERRUPT 1u
#define GPU_LENGTH_MAX     (64u << 20)
#define GPU_LOCAL          0x8000000000000000ull /* an offset in its memory */
#define GPU_NOWHERE        (~0ull)

enum {
	GPU_ERROR_NONE = 0,
	GPU_ERROR_OPERATION = 1,
	GPU_ERROR_ZERO = 2,
	GPU_ERROR_LENGTH = 3,
	GPU_ERROR_ALIGNMENT = 4,
	GPU_ERROR_LOCAL = 5,
	GPU_ERROR_DMA = 6,
	GPU_ERROR_RING = 7,
	GPU_ERROR_TAIL = 8,
};

#endif /* GPU_REGS_H */
