// SPDX-License-Identifier: GPL-2.0-only
/*
 * References to a device: files and dma-bufs outlive it.
 */
#include <linux/idr.h>
#include <linux/slab.h>

#include "fgpu_driver.h"

static DEFINE_IDA(fgpu_numbers);

static void fgpu_free(struct kref *ref)
{
	struct fgpu *gpu = container_of(ref, struct fgpu, ref);

	ida_free(&fgpu_numbers, gpu->number);
	kfree(gpu->misc.name);
	kfree(gpu);
}

void fgpu_get(struct fgpu *gpu)
{
	kref_get(&gpu->ref);
}

void fgpu_put(struct fgpu *gpu)
{
	kref_put(&gpu->ref, fgpu_free);
}

struct fgpu *fgpu_alloc(void)
{
	struct fgpu *gpu = kzalloc(sizeof(*gpu), GFP_KERNEL);

	if (!gpu)
		return NULL;
	gpu->number = ida_alloc(&fgpu_numbers, GFP_KERNEL);
	if (gpu->number < 0) {
		kfree(gpu);
		return NULL;
	}
	kref_init(&gpu->ref);
	return gpu;
}
