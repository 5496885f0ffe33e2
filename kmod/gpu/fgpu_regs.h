/* SPDX-License-Identifier: GPL-2.0-only */
/* Registers and commands of the accelerator, see docs/reference/gpu.md. */
#ifndef FGPU_REGS_H
#define FGPU_REGS_H

#include <linux/bits.h>
#include <linux/types.h>

#define FGPU_VENDOR_ID		0x1234
#define FGPU_DEVICE_ID		0xfa90

#define FGPU_BAR_REGS		0
#define FGPU_BAR_MEMORY		2

#define FGPU_REG_ID		0x000
#define FGPU_ID_VALUE		0x55504746
#define FGPU_REG_VERSION	0x004
#define FGPU_REG_CONTROL	0x008
#define FGPU_CONTROL_RESET	BIT(0)
#define FGPU_REG_MEMORY		0x010
#define FGPU_REG_ADDRESS	0x020

#define FGPU_QUEUES		4
#define FGPU_QUEUE_REGS(q)	(0x100 + (q) * 0x40)
#define FGPU_REG_BASE		0x00
#define FGPU_REG_ENTRIES	0x08
#define FGPU_REG_QUEUE_CONTROL	0x0c
#define FGPU_QUEUE_ENABLE	BIT(0)
#define FGPU_QUEUE_INTERRUPTS	BIT(1)
#define FGPU_REG_HEAD		0x10
#define FGPU_REG_TAIL		0x14
#define FGPU_REG_FENCE		0x18
#define FGPU_REG_SUM		0x20
#define FGPU_REG_ERROR		0x28
#define FGPU_REG_RESUME		0x2c

struct fgpu_command {
	u8 operation;
	u8 flags;
	__le16 zero;
	__le32 length;
	__le64 source;
	__le64 destination;
	__le64 zero2;
};

#define FGPU_FLAG_INTERRUPT	BIT(0)
#define FGPU_LOCAL		BIT_ULL(63)
#define FGPU_NO_ADDRESS		(~0ULL)
#define FGPU_LENGTH_MAX		(64ULL << 20)

#endif
