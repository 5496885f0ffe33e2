// SPDX-License-Identifier: GPL-2.0-only
/* /dev/fgpuN: commands, mappings, and dma-bufs; see uapi/fgpu.h. */
#include <linux/compat.h>
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "fgpu_driver.h"

/* Takes gpu->use for reading. Fails if the device is gone. */
static int fgpu_use(struct fgpu *gpu)
{
	down_read(&gpu->use);
	if (gpu->pdev)
		return 0;
	up_read(&gpu->use);
	return -ENODEV;
}

static void fgpu_unuse(struct fgpu *gpu)
{
	up_read(&gpu->use);
}

static int fgpu_info(struct fgpu *gpu, struct fgpu_info *info)
{
	memset(info, 0, sizeof(*info));
	info->memory = gpu->memory_size;
	info->host = FGPU_HOST_SIZE;
	info->queues = GPU_QUEUE_COUNT;
	info->version = readl(gpu->regs + GPU_VERSION);
	strscpy(info->name, pci_name(gpu->pdev), sizeof(info->name));
	return 0;
}

/* Commands */

/* The address of a place that is no import. Sets it to GPU_NOWHERE for nowhere. */
static int fgpu_address(struct fgpu *gpu, const struct fgpu_place *place, u64 size,
			u64 *ret_address)
{
	u64 limit;

	switch (place->kind) {
	case FGPU_NOWHERE:
		*ret_address = GPU_NOWHERE;
		return 0;
	case FGPU_MEMORY:
		/* The device checks its own memory. */
		if (place->offset & GPU_LOCAL)
			return -EINVAL;
		*ret_address = GPU_LOCAL | place->offset;
		return 0;
	case FGPU_HOST:
		limit = FGPU_HOST_SIZE;
		if (place->offset > limit || size > limit - place->offset)
			return -EINVAL;
		*ret_address = gpu->host_dma + place->offset;
		return 0;
	default:
		return -EINVAL;
	}
}

/* Bytes that a command reads from its source, and writes to its destination */
static u64 fgpu_source_size(const struct fgpu_run *run)
{
	return run->operation == FGPU_COPY || run->operation == FGPU_SUM ? run->length : 0;
}

static u64 fgpu_destination_size(const struct fgpu_run *run)
{
	return run->operation == FGPU_SUM || run->operation == FGPU_FENCE ? 8 : run->length;
}

static int fgpu_run_locked(struct fgpu_file *file, struct fgpu_run *run)
{
	const bool has_source = run->operation == FGPU_COPY || run->operation == FGPU_SUM;
	struct fgpu_imported *imported = NULL;
	struct fgpu *gpu = file->gpu;
	struct gpu_command command;
	u64 source = run->value, destination;
	int ret;

	if (has_source && run->source.kind == FGPU_IMPORT)
		ret = fgpu_buffer_begin(file, &run->source, fgpu_source_size(run),
					&imported, &source);
	else if (has_source)
		ret = fgpu_address(gpu, &run->source, fgpu_source_size(run), &source);
	else
		ret = 0;
	if (ret)
		return ret;
	if (run->destination.kind != FGPU_IMPORT)
		ret = fgpu_address(gpu, &run->destination, fgpu_destination_size(run),
				   &destination);
	else if (imported)
		ret = -EOPNOTSUPP;
	else
		ret = fgpu_buffer_begin(file, &run->destination,
					fgpu_destination_size(run), &imported,
					&destination);
	if (!ret) {
		command = (struct gpu_command){
			.operation = run->operation,
			.length = cpu_to_le32(run->length),
			.source = cpu_to_le64(source),
			.destination = cpu_to_le64(destination),
		};
		ret = fgpu_queue_run(&gpu->queue[run->queue], &command, &run->error,
				     &run->result);
	}
	if (imported)
		fgpu_buffer_end(imported);
	return ret;
}

static int fgpu_run(struct fgpu_file *file, struct fgpu_run *run)
{
	int ret;

	if (run->queue >= GPU_QUEUE_COUNT || run->reserved || run->operation > U8_MAX ||
	    run->length > U32_MAX)
		return -EINVAL;
	ret = mutex_lock_interruptible(&file->imports_lock);
	if (ret)
		return ret;
	ret = fgpu_run_locked(file, run);
	mutex_unlock(&file->imports_lock);
	return ret;
}

/* The structs of all orders; each is copied whole. */
union fgpu_args {
	struct fgpu_info info;
	struct fgpu_run run;
	struct fgpu_export export;
	struct fgpu_import import;
	u32 handle;
};

static int fgpu_order(struct fgpu_file *file, unsigned int order, union fgpu_args *args)
{
	struct fgpu *gpu = file->gpu;

	switch (order) {
	case FGPU_IOC_INFO:
		return fgpu_info(gpu, &args->info);
	case FGPU_IOC_RUN:
		return fgpu_run(file, &args->run);
	case FGPU_IOC_EXPORT:
		return fgpu_buffer_export(gpu, &args->export);
	case FGPU_IOC_IMPORT:
		return fgpu_buffer_import(file, &args->import);
	case FGPU_IOC_RELEASE:
		return fgpu_buffer_release(file, args->handle);
	default:
		return -ENOTTY;
	}
}

static long fgpu_ioctl(struct file *filp, unsigned int order, unsigned long arg)
{
	struct fgpu_file *file = filp->private_data;
	void __user *user = (void __user *)arg;
	union fgpu_args args;
	int ret;

	if (_IOC_SIZE(order) > sizeof(args))
		return -ENOTTY;
	memset(&args, 0, sizeof(args));
	if ((_IOC_DIR(order) & _IOC_WRITE) &&
	    copy_from_user(&args, user, _IOC_SIZE(order)))
		return -EFAULT;
	ret = fgpu_use(file->gpu);
	if (ret)
		return ret;
	ret = fgpu_order(file, order, &args);
	fgpu_unuse(file->gpu);
	/* After -EIO the caller reads the device's reason. */
	if ((!ret || ret == -EIO) && (_IOC_DIR(order) & _IOC_READ) &&
	    copy_to_user(user, &args, _IOC_SIZE(order)))
		return -EFAULT;
	return ret;
}

/* Mappings */

/*
 * The page frame at an offset of mmap(). The device is there, so the memory is. The buffer
 * of the machine's memory has pages, but they need not be adjacent.
 */
static int fgpu_frame(struct fgpu *gpu, unsigned long pgoff, unsigned long *ret_pfn)
{
	struct sg_page_iter page;

	if (pgoff < FGPU_MMAP_HOST >> PAGE_SHIFT) {
		*ret_pfn = (gpu->memory >> PAGE_SHIFT) + pgoff;
		return 0;
	}
	for_each_sgtable_page(&gpu->host_pages, &page,
			      pgoff - (FGPU_MMAP_HOST >> PAGE_SHIFT)) {
		*ret_pfn = page_to_pfn(sg_page_iter_page(&page));
		return 0;
	}
	return -EINVAL;
}

/*
 * Pages are inserted here and not by mmap(), which knows no moment at which
 * fgpu_files_unmap() finds the mapping and the device cannot go.
 */
static vm_fault_t fgpu_fault(struct vm_fault *fault)
{
	struct vm_area_struct *vma = fault->vma;
	struct fgpu_file *file = vma->vm_private_data;
	vm_fault_t ret = VM_FAULT_SIGBUS;
	unsigned long pfn;

	if (fgpu_use(file->gpu))
		return ret;
	if (!fgpu_frame(file->gpu, fault->pgoff, &pfn))
		ret = vmf_insert_pfn(vma, fault->address & PAGE_MASK, pfn);
	fgpu_unuse(file->gpu);
	return ret;
}

static const struct vm_operations_struct fgpu_vm_ops = {
	.fault = fgpu_fault,
};

static int fgpu_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct fgpu_file *file = filp->private_data;
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	u64 size = vma->vm_end - vma->vm_start;
	bool is_memory = offset < FGPU_MMAP_HOST;
	u64 limit = is_memory ? file->gpu->memory_size : FGPU_HOST_SIZE;

	if (!is_memory)
		offset -= FGPU_MMAP_HOST;
	if (!READ_ONCE(file->gpu->pdev))
		return -ENODEV;
	/* A private mapping would be a copy that the device does not see. */
	if (!(vma->vm_flags & VM_SHARED) || offset > limit || size > limit - offset)
		return -EINVAL;
	if (is_memory)
		vma->vm_page_prot = pgprot_noncached(vma->vm_page_prot);
	dlend_vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_private_data = file;
	vma->vm_ops = &fgpu_vm_ops;
	return 0;
}

/* Removes all mappings. A later access of a process is a bus error. */
void fgpu_files_unmap(struct fgpu *gpu)
{
	struct fgpu_file *file;

	mutex_lock(&gpu->lists_lock);
	list_for_each_entry(file, &gpu->files, node)
		unmap_mapping_range(file->filp->f_mapping, 0, 0, 1);
	mutex_unlock(&gpu->lists_lock);
}

/* Files */

static int fgpu_open(struct inode *inode, struct file *filp)
{
	/* The misc core keeps the device registered while it calls this. */
	struct fgpu *gpu = container_of(filp->private_data, struct fgpu, misc);
	struct fgpu_file *file = kzalloc(sizeof(*file), GFP_KERNEL);

	if (!file)
		return -ENOMEM;
	file->gpu = gpu;
	file->filp = filp;
	mutex_init(&file->imports_lock);
	xa_init_flags(&file->imports, XA_FLAGS_ALLOC1);
	fgpu_get(gpu);
	mutex_lock(&gpu->lists_lock);
	list_add(&file->node, &gpu->files);
	mutex_unlock(&gpu->lists_lock);
	filp->private_data = file;
	return 0;
}

static int fgpu_release(struct inode *inode, struct file *filp)
{
	struct fgpu_file *file = filp->private_data;
	struct fgpu *gpu = file->gpu;

	/* Removal releases the imports itself, under this lock. */
	down_read(&gpu->use);
	fgpu_buffers_release(file);
	up_read(&gpu->use);
	mutex_lock(&gpu->lists_lock);
	list_del(&file->node);
	mutex_unlock(&gpu->lists_lock);
	xa_destroy(&file->imports);
	kfree(file);
	fgpu_put(gpu);
	return 0;
}

const struct file_operations fgpu_file_ops = {
	.owner = THIS_MODULE,
	.open = fgpu_open,
	.release = fgpu_release,
	.unlocked_ioctl = fgpu_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = fgpu_mmap,
	.llseek = noop_llseek,
};
