/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private to fgpu.ko. A file calls only files below it:
 *
 *	fgpu_main.c	the PCI driver
 *	fgpu_file.c	/dev/fgpuN
 *	fgpu_buffer.c	dma-bufs
 *	fgpu_queue.c  fgpu_ref.c
 *			commands, references to a device
 */
#ifndef FGPU_DRIVER_H
#define FGPU_DRIVER_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/pci.h>
#include <linux/rwsem.h>
#include <linux/sizes.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "uapi/fgpu.h"
#include "uapi/gpu_regs.h"

#define FGPU_HOST_SIZE		SZ_1M
#define FGPU_RING_ENTRIES	64

struct fgpu_queue {
	struct fgpu *gpu;
	void __iomem *regs;
	struct mutex lock;		/* one command at a time */
	wait_queue_head_t wait;
	struct gpu_command *ring;
	dma_addr_t ring_dma;
	u32 tail;
	int irq;
};

struct fgpu {
	struct kref ref;		/* files and dma-bufs keep the struct */
	int number;			/* N of /dev/fgpuN */
	struct miscdevice misc;
	/*
	 * Held for reading while the device is used. User memory is not touched
	 * under it, because a page fault takes it with the mmap lock held.
	 */
	struct rw_semaphore use;
	struct pci_dev *pdev;		/* NULL: the device is gone */
	bool halted;			/* no command runs: the queues are being reset */

	void __iomem *regs;
	phys_addr_t memory;
	u64 memory_size;
	void *host;
	dma_addr_t host_dma;
	struct sg_table host_pages;	/* of @host */
	struct fgpu_queue queue[GPU_QUEUE_COUNT];

	struct mutex lists_lock;	/* guards the lists below */
	struct list_head files;		/* of fgpu_file */
	struct list_head exports;	/* of fgpu_export_buffer */

	/* Guards what follows. A holder takes no other lock of this driver. */
	struct mutex importers_lock;
	struct list_head importers;	/* of fgpu_importer: mapped, and heard no notice */
	bool memory_gone;		/* nobody maps the memory any more */
	struct notifier_block notices;
};

struct fgpu_file {
	struct fgpu *gpu;
	struct file *filp;
	struct list_head node;
	struct xarray imports;		/* of fgpu_imported, by handle */
	struct mutex imports_lock;	/* no import ends while a command uses it */
};

/* fgpu_ref.c */
/* Return: a device with a number and one reference, all else zero; or NULL. */
struct fgpu *fgpu_alloc(void);
void fgpu_get(struct fgpu *gpu);
void fgpu_put(struct fgpu *gpu);

/* fgpu_queue.c */
int fgpu_queues_start(struct fgpu *gpu);
void fgpu_queues_stop(struct fgpu *gpu);
void fgpu_queues_halt(struct fgpu *gpu);
int fgpu_queues_restart(struct fgpu *gpu);
int fgpu_queue_run(struct fgpu_queue *queue, const struct gpu_command *command,
		   u32 *ret_error, u64 *ret_result);

/* fgpu_buffer.c */
struct fgpu_imported;
int fgpu_buffer_export(struct fgpu *gpu, struct fgpu_export *args);
void fgpu_buffers_revoke(struct fgpu *gpu);
/* Ends DMA of importers that no dma-buf tells, and lets no further one begin. Sleeps. */
void fgpu_importers_stop(struct fgpu *gpu);
/* Writes the names of such importers. Return: the length. */
ssize_t fgpu_importers_show(struct fgpu *gpu, char *text);
int fgpu_buffer_import(struct fgpu_file *file, struct fgpu_import *args);
int fgpu_buffer_release(struct fgpu_file *file, u32 handle);
void fgpu_buffers_release(struct fgpu_file *file);
int fgpu_buffer_begin(struct fgpu_file *file, const struct fgpu_place *place, u64 size,
		      struct fgpu_imported **ret_imported, u64 *ret_address);
void fgpu_buffer_end(struct fgpu_imported *imported);

/* fgpu_file.c */
extern const struct file_operations fgpu_file_ops;
void fgpu_files_unmap(struct fgpu *gpu);

#endif
