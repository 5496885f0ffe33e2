// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queues of the accelerator. A command runs alone in its queue, and its caller
 * sleeps until the queue's interrupt says that it is done.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/io-64-nonatomic-lo-hi.h>

#include "fgpu_driver.h"

/* The longest copy through a slow window takes less. */
#define FGPU_TIMEOUT_MS 30000

#define FGPU_RING_SIZE (FGPU_RING_ENTRIES * sizeof(struct gpu_command))

static irqreturn_t fgpu_interrupt(int irq, void *data)
{
	struct fgpu_queue *queue = data;

	wake_up(&queue->wait);
	return IRQ_HANDLED;
}

static bool fgpu_queue_ended(struct fgpu_queue *queue)
{
	u32 head;

	if (READ_ONCE(queue->gpu->halted))
		return true;
	head = readl(queue->regs + GPU_HEAD);
	/* All ones: the device does not answer any more. */
	return head == queue->tail || head == ~0u ||
	       readl(queue->regs + GPU_ERROR);
}

/* Returns when the device does no more DMA for the queue. */
static void fgpu_queue_disable(struct fgpu_queue *queue)
{
	/* Behind a link with a fault nothing arrives, and the device reaches nothing. */
	if (pci_channel_offline(queue->gpu->pdev))
		return;
	writel(0, queue->regs + GPU_QUEUE_CONTROL);
	readl(queue->regs + GPU_QUEUE_CONTROL);
}

static int fgpu_queue_enable(struct fgpu_queue *queue)
{
	writel(0, queue->regs + GPU_QUEUE_CONTROL);
	lo_hi_writeq(queue->ring_dma, queue->regs + GPU_BASE);
	writel(FGPU_RING_ENTRIES, queue->regs + GPU_ENTRIES);
	queue->tail = 0;
	writel(GPU_QUEUE_ENABLE | GPU_QUEUE_INTERRUPTS,
	       queue->regs + GPU_QUEUE_CONTROL);
	return readl(queue->regs + GPU_QUEUE_CONTROL) ==
	       (GPU_QUEUE_ENABLE | GPU_QUEUE_INTERRUPTS) ? 0 : -EIO;
}

/* Runs a command. Sets *ret_error to the device's reason if it returns -EIO. */
int fgpu_queue_run(struct fgpu_queue *queue, const struct gpu_command *command,
		   u32 *ret_error, u64 *ret_result)
{
	long left;
	int ret = 0;

	*ret_error = 0;
	*ret_result = 0;
	mutex_lock(&queue->lock);
	if (READ_ONCE(queue->gpu->halted)) {
		mutex_unlock(&queue->lock);
		return -ECANCELED;
	}
	queue->ring[queue->tail] = *command;
	queue->ring[queue->tail].flags = GPU_FLAG_INTERRUPT;
	queue->tail = (queue->tail + 1) % FGPU_RING_ENTRIES;
	/* writel() orders the command before TAIL. */
	writel(queue->tail, queue->regs + GPU_TAIL);
	left = wait_event_timeout(queue->wait, fgpu_queue_ended(queue),
				  msecs_to_jiffies(FGPU_TIMEOUT_MS));
	if (READ_ONCE(queue->gpu->halted)) {
		fgpu_queue_disable(queue);
		mutex_unlock(&queue->lock);
		return -ECANCELED;
	}
	if (readl(queue->regs + GPU_HEAD) == ~0u) {
		ret = -ENODEV;
	} else if (!left) {
		/* Stops the command: its memory may be freed when this returns. */
		fgpu_queue_enable(queue);
		ret = -ETIMEDOUT;
	} else {
		*ret_error = readl(queue->regs + GPU_ERROR);
		if (*ret_error) {
			writel(1, queue->regs + GPU_RESUME);
			ret = -EIO;
		}
	}
	*ret_result = lo_hi_readq(queue->regs + (command->operation == FGPU_SUM ?
						 GPU_SUM : GPU_FENCE));
	mutex_unlock(&queue->lock);
	return ret;
}

static int fgpu_queue_start(struct fgpu *gpu, unsigned int index)
{
	struct fgpu_queue *queue = &gpu->queue[index];
	int ret;

	queue->gpu = gpu;
	queue->regs = gpu->regs + GPU_QUEUE + index * GPU_QUEUE_STRIDE;
	mutex_init(&queue->lock);
	init_waitqueue_head(&queue->wait);
	queue->ring = dma_alloc_coherent(&gpu->pdev->dev, FGPU_RING_SIZE,
					 &queue->ring_dma, GFP_KERNEL);
	if (!queue->ring)
		return -ENOMEM;
	queue->irq = pci_irq_vector(gpu->pdev, index);
	ret = request_irq(queue->irq, fgpu_interrupt, 0, gpu->misc.name, queue);
	if (ret) {
		dma_free_coherent(&gpu->pdev->dev, FGPU_RING_SIZE, queue->ring,
				  queue->ring_dma);
		queue->ring = NULL;
		return ret;
	}
	ret = fgpu_queue_enable(queue);
	if (ret)
		pci_err(gpu->pdev, "queue %u: the device did not enable it\n", index);
	return ret;
}

/* Stops all queues that were started. The caller makes sure that no command runs. */
void fgpu_queues_stop(struct fgpu *gpu)
{
	unsigned int i;

	writel(GPU_CONTROL_RESET, gpu->regs + GPU_CONTROL);
	/* Reads back: the device does no more DMA when this returns. */
	readl(gpu->regs + GPU_ID);
	for (i = 0; i < GPU_QUEUE_COUNT; i++) {
		struct fgpu_queue *queue = &gpu->queue[i];

		if (!queue->ring)
			continue;
		free_irq(queue->irq, queue);
		dma_free_coherent(&gpu->pdev->dev, FGPU_RING_SIZE, queue->ring,
				  queue->ring_dma);
		queue->ring = NULL;
	}
}

int fgpu_queues_start(struct fgpu *gpu)
{
	unsigned int i;
	int ret;

	writel(GPU_CONTROL_RESET, gpu->regs + GPU_CONTROL);
	for (i = 0; i < GPU_QUEUE_COUNT; i++) {
		ret = fgpu_queue_start(gpu, i);
		if (ret) {
			fgpu_queues_stop(gpu);
			return ret;
		}
	}
	return 0;
}

/* Ends the commands that run, with ECANCELED. Others fail until fgpu_queues_restart(). */
void fgpu_queues_halt(struct fgpu *gpu)
{
	unsigned int i;

	WRITE_ONCE(gpu->halted, true);
	for (i = 0; i < GPU_QUEUE_COUNT; i++)
		wake_up(&gpu->queue[i].wait);
	/* Waits for their callers. */
	down_write(&gpu->use);
	up_write(&gpu->use);
}

/* The device has lost its queues, or may have. No command runs. */
int fgpu_queues_restart(struct fgpu *gpu)
{
	unsigned int i;
	int ret = 0;

	writel(GPU_CONTROL_RESET, gpu->regs + GPU_CONTROL);
	for (i = 0; i < GPU_QUEUE_COUNT && !ret; i++)
		ret = fgpu_queue_enable(&gpu->queue[i]);
	if (ret)
		pci_err(gpu->pdev, "its queues could not be enabled again\n");
	else
		WRITE_ONCE(gpu->halted, false);
	return ret;
}
