// SPDX-License-Identifier: GPL-2.0-only
/*
 * Driver of farside-gpu, the emulated accelerator, and of its virtual functions.
 *
 * The device may go away at any time. Removal first takes the device from its
 * users: it waits for the commands that run, unmaps its memory from processes, and
 * revokes the dma-bufs that other devices use. The way to a borrowed device may close before
 * that; then the importers that nobody else tells hear of it by a notice.
 */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "compat.h"
#include "dl_notice.h"
#include "fgpu_driver.h"

static struct fgpu *fgpu_new(struct pci_dev *pdev)
{
	struct fgpu *gpu = fgpu_alloc();

	if (!gpu)
		return NULL;
	init_rwsem(&gpu->use);
	mutex_init(&gpu->lists_lock);
	INIT_LIST_HEAD(&gpu->files);
	INIT_LIST_HEAD(&gpu->exports);
	mutex_init(&gpu->importers_lock);
	INIT_LIST_HEAD(&gpu->importers);
	gpu->pdev = pdev;
	gpu->misc.minor = MISC_DYNAMIC_MINOR;
	gpu->misc.name = kasprintf(GFP_KERNEL, "fgpu%d", gpu->number);
	gpu->misc.fops = &fgpu_file_ops;
	gpu->misc.mode = 0600;
	gpu->misc.parent = &pdev->dev;
	if (!gpu->misc.name) {
		fgpu_put(gpu);
		return NULL;
	}
	return gpu;
}

/* Maps the registers, and finds the memory. */
static int fgpu_map(struct fgpu *gpu)
{
	struct pci_dev *pdev = gpu->pdev;
	u32 id;

	gpu->regs = pci_iomap(pdev, GPU_BAR_REGS, 0);
	if (!gpu->regs)
		return -ENOMEM;
	id = readl(gpu->regs + GPU_ID);
	gpu->memory = pci_resource_start(pdev, GPU_BAR_MEMORY);
	gpu->memory_size = readl(gpu->regs + GPU_MEMORY);
	if (id != GPU_ID_VALUE || !gpu->memory ||
	    gpu->memory_size > pci_resource_len(pdev, GPU_BAR_MEMORY)) {
		pci_err(pdev, "ID register 0x%08x, not 0x%08x, or no memory in BAR %d\n",
			id, GPU_ID_VALUE, GPU_BAR_MEMORY);
		pci_iounmap(pdev, gpu->regs);
		return -ENODEV;
	}
	return 0;
}

static int fgpu_start(struct fgpu *gpu)
{
	struct pci_dev *pdev = gpu->pdev;
	u32 bits = readl(gpu->regs + GPU_ADDRESS);
	int ret;

	if (bits > 63)
		return -ENODEV;
	ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(bits));
	if (ret) {
		pci_err(pdev, "no memory within its %u address bits can be given to it\n",
			bits);
		return ret;
	}
	gpu->host = dma_alloc_coherent(&pdev->dev, FGPU_HOST_SIZE, &gpu->host_dma,
				       GFP_KERNEL);
	if (!gpu->host)
		return -ENOMEM;
	ret = dma_get_sgtable(&pdev->dev, &gpu->host_pages, gpu->host, gpu->host_dma,
			      FGPU_HOST_SIZE);
	if (ret)
		goto free_host;
	ret = pci_alloc_irq_vectors(pdev, GPU_QUEUE_COUNT, GPU_QUEUE_COUNT, PCI_IRQ_MSIX);
	if (ret < 0)
		goto free_pages;
	ret = fgpu_queues_start(gpu);
	if (ret)
		goto free_vectors;
	return 0;

free_vectors:
	pci_free_irq_vectors(pdev);
free_pages:
	sg_free_table(&gpu->host_pages);
free_host:
	dma_free_coherent(&pdev->dev, FGPU_HOST_SIZE, gpu->host, gpu->host_dma);
	return ret;
}

static void fgpu_stop(struct fgpu *gpu)
{
	struct pci_dev *pdev = gpu->pdev;

	fgpu_queues_stop(gpu);
	pci_free_irq_vectors(pdev);
	sg_free_table(&gpu->host_pages);
	dma_free_coherent(&pdev->dev, FGPU_HOST_SIZE, gpu->host, gpu->host_dma);
}

/* For a struct dlend_bars_notice: the way to the memory closes. */
static int fgpu_notice(struct notifier_block *nb, unsigned long event, void *data)
{
	struct fgpu *gpu = container_of(nb, struct fgpu, notices);
	const struct dlend_bars_notice *notice = data;

	if (gpu->memory >= notice->start && gpu->memory - notice->start < notice->size)
		fgpu_importers_stop(gpu);
	return NOTIFY_DONE;
}

static int fgpu_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct fgpu *gpu;
	int ret;

	gpu = fgpu_new(pdev);
	if (!gpu)
		return -ENOMEM;
	ret = pci_enable_device_mem(pdev);
	if (ret)
		goto put;
	ret = pci_request_mem_regions(pdev, gpu->misc.name);
	if (ret)
		goto disable;
	pci_set_master(pdev);
	ret = fgpu_map(gpu);
	if (ret)
		goto release_regions;
	ret = fgpu_start(gpu);
	if (ret)
		goto unmap;
	pci_set_drvdata(pdev, gpu);
	ret = misc_register(&gpu->misc);
	if (ret)
		goto stop;
	gpu->notices.notifier_call = fgpu_notice;
	dlend_notice_bars_register(&gpu->notices);
	dlend_report_errors(pdev, true);
	/* A reset of the link to the device loses it. */
	pci_save_state(pdev);
	pci_info(pdev, "/dev/%s, %llu MiB\n", gpu->misc.name, gpu->memory_size >> 20);
	return 0;

stop:
	fgpu_stop(gpu);
unmap:
	pci_iounmap(pdev, gpu->regs);
release_regions:
	pci_clear_master(pdev);
	pci_release_mem_regions(pdev);
disable:
	pci_disable_device(pdev);
put:
	fgpu_put(gpu);
	return ret;
}

/* Ends the imports of all files: they are attached to the device that goes. */
static void fgpu_end_imports(struct fgpu *gpu)
{
	struct fgpu_file *file;

	mutex_lock(&gpu->lists_lock);
	list_for_each_entry(file, &gpu->files, node)
		fgpu_buffers_release(file);
	mutex_unlock(&gpu->lists_lock);
}

static void fgpu_remove(struct pci_dev *pdev)
{
	struct fgpu *gpu = pci_get_drvdata(pdev);

	pci_disable_sriov(pdev);
	dlend_report_errors(pdev, false);
	misc_deregister(&gpu->misc);
	dlend_notice_bars_unregister(&gpu->notices);
	fgpu_importers_stop(gpu);
	/* A device that was pulled out does not end its commands. */
	if (pci_channel_offline(pdev))
		fgpu_queues_halt(gpu);
	down_write(&gpu->use);
	fgpu_files_unmap(gpu);
	fgpu_end_imports(gpu);
	fgpu_buffers_revoke(gpu);
	fgpu_stop(gpu);
	pci_iounmap(pdev, gpu->regs);
	gpu->pdev = NULL;
	up_write(&gpu->use);
	pci_clear_master(pdev);
	pci_release_mem_regions(pdev);
	pci_disable_device(pdev);
	fgpu_put(gpu);
}

/* The machine restarts: no DMA may go on into the next kernel. */
static void fgpu_shutdown(struct pci_dev *pdev)
{
	struct fgpu *gpu = pci_get_drvdata(pdev);

	writel(GPU_CONTROL_RESET, gpu->regs + GPU_CONTROL);
	pci_clear_master(pdev);
}

/* The machine sleeps, and the device may lose its queues and what is in its memory. */
static int fgpu_suspend(struct device *dev)
{
	fgpu_queues_halt(dev_get_drvdata(dev));
	return 0;
}

static int fgpu_resume(struct device *dev)
{
	int ret = fgpu_queues_restart(dev_get_drvdata(dev));

	pci_save_state(to_pci_dev(dev));
	return ret;
}

static DEFINE_SIMPLE_DEV_PM_OPS(fgpu_pm, fgpu_suspend, fgpu_resume);

/* After an error nothing says which of the commands were done, so all end. */
static pci_ers_result_t fgpu_error_detected(struct pci_dev *pdev, pci_channel_state_t state)
{
	fgpu_queues_halt(pci_get_drvdata(pdev));
	return state == pci_channel_io_perm_failure ? PCI_ERS_RESULT_DISCONNECT :
						      PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t fgpu_slot_reset(struct pci_dev *pdev)
{
	int ret;

	pci_restore_state(pdev);
	pci_save_state(pdev);
	ret = fgpu_queues_restart(pci_get_drvdata(pdev));
	return ret ? PCI_ERS_RESULT_DISCONNECT : PCI_ERS_RESULT_RECOVERED;
}

/* Somebody resets the function. */
static void fgpu_reset_prepare(struct pci_dev *pdev)
{
	fgpu_queues_halt(pci_get_drvdata(pdev));
}

static void fgpu_reset_done(struct pci_dev *pdev)
{
	fgpu_queues_restart(pci_get_drvdata(pdev));
	pci_save_state(pdev);
}

static const struct pci_error_handlers fgpu_error_handlers = {
	.error_detected = fgpu_error_detected,
	.slot_reset = fgpu_slot_reset,
	.reset_prepare = fgpu_reset_prepare,
	.reset_done = fgpu_reset_done,
};

/* Importers that attach for good, such as NICs; the device is in use while there are any. */
static ssize_t importers_show(struct device *dev, struct device_attribute *attr, char *text)
{
	return fgpu_importers_show(dev_get_drvdata(dev), text);
}

static DEVICE_ATTR_RO(importers);

static struct attribute *fgpu_attrs[] = {
	&dev_attr_importers.attr,
	NULL
};
ATTRIBUTE_GROUPS(fgpu);

static const struct pci_device_id fgpu_ids[] = {
	{ PCI_DEVICE(GPU_VENDOR_ID, GPU_DEVICE_ID) },
	{ }
};
MODULE_DEVICE_TABLE(pci, fgpu_ids);

static struct pci_driver fgpu_driver = {
	.name = KBUILD_MODNAME,
	.id_table = fgpu_ids,
	.probe = fgpu_probe,
	.remove = fgpu_remove,
	.shutdown = fgpu_shutdown,
	.sriov_configure = pci_sriov_configure_simple,
	.driver.pm = pm_sleep_ptr(&fgpu_pm),
	.dev_groups = fgpu_groups,
	.err_handler = &fgpu_error_handlers,
};
module_pci_driver(fgpu_driver);

MODULE_DESCRIPTION("Farside accelerator");
MODULE_LICENSE("GPL");
