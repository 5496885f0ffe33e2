/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * /dev/fgpuN, the emulated accelerator. docs/reference/gpu.md says what its
 * commands do.
 *
 * mmap() at FGPU_MMAP_MEMORY maps the device's memory, at FGPU_MMAP_HOST a buffer
 * in the machine's memory that the device reaches by DMA. All that open the device
 * share both.
 */
#ifndef FGPU_UAPI_H
#define FGPU_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define FGPU_MMAP_MEMORY	0
#define FGPU_MMAP_HOST		0x10000000000ULL

struct fgpu_info {
	__u64 memory;		/* bytes of the device's memory */
	__u64 host;		/* bytes of the buffer in the machine's memory */
	__u32 queues;
	__u32 version;		/* of the register table */
	char name[32];		/* of the PCI function */
};

/* The kind of a place; offset counts from its start. */
enum fgpu_kind {
	FGPU_NOWHERE = 0,	/* destination of FGPU_SUM and FGPU_FENCE */
	FGPU_MEMORY = 1,
	FGPU_HOST = 2,
	FGPU_IMPORT = 3,	/* a dma-buf that this file imported */
};

struct fgpu_place {
	__u32 kind;
	__u32 handle;		/* FGPU_IMPORT */
	__u64 offset;
};

enum fgpu_operation {
	FGPU_COPY = 1,
	FGPU_FILL = 2,
	FGPU_SUM = 3,
	FGPU_FENCE = 4,
};

/*
 * Runs one command and waits for its end. At most one of its places is an import.
 * EIO: the device refused the command; error says why. ECANCELED: the device was reset
 * meanwhile, by an error or by a user, and the command may have been done in part.
 * EHOSTUNREACH: the device has no way to the memory of the import.
 */
struct fgpu_run {
	__u32 operation;
	__u32 queue;
	__u64 length;		/* bytes */
	struct fgpu_place source;
	struct fgpu_place destination;
	__u64 value;		/* FGPU_FILL: pattern; FGPU_FENCE: value */
	__u64 result;		/* set: of FGPU_SUM or FGPU_FENCE */
	__u32 error;		/* set: the device's reason, or 0 */
	__u32 reserved;		/* 0 */
};

/* Makes a dma-buf of a part of the device's memory, in whole pages. */
struct fgpu_export {
	__u64 offset;
	__u64 size;
	__s32 fd;		/* set */
	__u32 reserved;		/* 0 */
};

/* Makes a dma-buf, such as another device's memory, a place for commands. */
struct fgpu_import {
	__s32 fd;
	__u32 handle;		/* set */
	__u64 size;		/* set: bytes */
};

#define FGPU_IOC_INFO		_IOR('G', 0, struct fgpu_info)
#define FGPU_IOC_RUN		_IOWR('G', 1, struct fgpu_run)
#define FGPU_IOC_EXPORT		_IOWR('G', 2, struct fgpu_export)
#define FGPU_IOC_IMPORT		_IOWR('G', 3, struct fgpu_import)
#define FGPU_IOC_RELEASE	_IOW('G', 4, __u32)

#endif
