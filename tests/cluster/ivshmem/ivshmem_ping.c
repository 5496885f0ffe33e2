// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures doorbells of QEMU's ivshmem device with interrupts: see ping.h. The
 * registers are described in QEMU's docs/specs/ivshmem-spec.txt.
 *
 * Files in debugfs folder ivshmem_ping, beside "run":
 *   id	the ID of this device
 *   peer	the ID of the other end; written on both ends before a run
 */
#include <linux/module.h>
#include <linux/pci.h>

#include "ping.h"

#define IVSHMEM_VENDOR		0x1af4
#define IVSHMEM_DEVICE		0x1110
#define IVSHMEM_BAR		0
#define IVSHMEM_POSITION	0x08
#define IVSHMEM_DOORBELL	0x0c

struct ivshmem_ping {
	struct ping ping;
	void __iomem *regs;
	u32 id;
	u32 peer;
	int irqs[PING_BELLS];
};

static struct ivshmem_ping *to_ivshmem(struct ping *ping)
{
	return container_of(ping, struct ivshmem_ping, ping);
}

static void ivshmem_ring(struct ping *ping, unsigned int bell)
{
	struct ivshmem_ping *ivshmem = to_ivshmem(ping);

	writel(ivshmem->peer << 16 | bell, ivshmem->regs + IVSHMEM_DOORBELL);
}

/* Each doorbell has its own vector; no register has to be read or cleared. */
static irqreturn_t ivshmem_irq(int irq, void *data)
{
	struct ivshmem_ping *ivshmem = data;

	ping_hear(&ivshmem->ping,
		  irq == ivshmem->irqs[PING_PING] ? PING_PING : PING_PONG);
	return IRQ_HANDLED;
}

static int ivshmem_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct ivshmem_ping *ivshmem;
	unsigned int i;
	int err;

	ivshmem = devm_kzalloc(&pdev->dev, sizeof(*ivshmem), GFP_KERNEL);
	if (!ivshmem)
		return -ENOMEM;
	ping_init(&ivshmem->ping, ivshmem_ring);

	err = pcim_enable_device(pdev);
	if (err)
		return err;
	err = pcim_iomap_regions(pdev, BIT(IVSHMEM_BAR), KBUILD_MODNAME);
	if (err)
		return err;
	ivshmem->regs = pcim_iomap_table(pdev)[IVSHMEM_BAR];
	ivshmem->id = readl(ivshmem->regs + IVSHMEM_POSITION);

	pci_set_master(pdev);
	/* The vectors are freed with the device, which is managed. */
	err = pci_alloc_irq_vectors(pdev, PING_BELLS, PING_BELLS, PCI_IRQ_MSIX);
	if (err < 0)
		return err;
	for (i = 0; i < PING_BELLS; i++)
		ivshmem->irqs[i] = pci_irq_vector(pdev, i);
	for (i = 0; i < PING_BELLS; i++) {
		err = devm_request_irq(&pdev->dev, ivshmem->irqs[i],
				       ivshmem_irq, 0, KBUILD_MODNAME, ivshmem);
		if (err)
			return err;
	}

	pci_set_drvdata(pdev, ivshmem);
	ping_publish(&ivshmem->ping);
	debugfs_create_u32("id", 0400, ivshmem->ping.dir, &ivshmem->id);
	debugfs_create_u32("peer", 0600, ivshmem->ping.dir, &ivshmem->peer);
	return 0;
}

static void ivshmem_remove(struct pci_dev *pdev)
{
	struct ivshmem_ping *ivshmem = pci_get_drvdata(pdev);

	ping_remove(&ivshmem->ping);
}

static const struct pci_device_id ivshmem_ids[] = {
	{ PCI_DEVICE(IVSHMEM_VENDOR, IVSHMEM_DEVICE) },
	{}
};
MODULE_DEVICE_TABLE(pci, ivshmem_ids);

static struct pci_driver ivshmem_driver = {
	.name = KBUILD_MODNAME,
	.id_table = ivshmem_ids,
	.probe = ivshmem_probe,
	.remove = ivshmem_remove,
};
module_pci_driver(ivshmem_driver);

MODULE_DESCRIPTION("Time of doorbells of ivshmem devices");
MODULE_LICENSE("GPL");
