// SPDX-License-Identifier: GPL-2.0-only
/*
 * dl_nvme: an NVMe driver for tests, which reads and writes blocks to and from the memory
 * of another device. The kernel's own driver does that only with CONFIG_PCI_P2PDMA, which
 * Debian's kernels lack, and a borrowed function has no IOMMU group for VFIO.
 *
 * Loading the module carries out one command:
 *
 *	modprobe dl_nvme drive=1f002:00:07.0 peer=1f001:00:05.0 bar=2 offset=4096 \
 *		block=8 bytes=131072 write=1
 *
 * The drive has no driver. modprobe fails if the command does. Register names are those of
 * NVMe 1.4, section 3.1.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/iopoll.h>
#include <linux/module.h>
#include <linux/nvme.h>
#include <linux/pci.h>

static char *drive = "";
module_param(drive, charp, 0444);
MODULE_PARM_DESC(drive, "function of the drive, SEGMENT:BUS:DEVICE.FUNCTION");

static char *peer = "";
module_param(peer, charp, 0444);
MODULE_PARM_DESC(peer, "function that has the memory");

static uint bar = 2;
module_param(bar, uint, 0444);
MODULE_PARM_DESC(bar, "its BAR (2)");

static ulong offset;
module_param(offset, ulong, 0444);
MODULE_PARM_DESC(offset, "place in the BAR, a multiple of 4096 (0)");

static ulong block;
module_param(block, ulong, 0444);
MODULE_PARM_DESC(block, "first block of 512 bytes (0)");

static uint bytes = 4096;
module_param(bytes, uint, 0444);
MODULE_PARM_DESC(bytes, "bytes, a multiple of 4096 up to 524288 (4096)");

static bool write;
module_param(write, bool, 0444);
MODULE_PARM_DESC(write, "write to the drive what is in the BAR, instead of reading (off)");

/* Page size in CC: 4 KiB. */
#define NVME_CTRL_PAGE_SIZE SZ_4K

#define ENTRIES 4
#define BYTES_MAX SZ_512K	/* one page of PRP entries, and what QEMU's drive takes */
#define WAIT_US (5 * USEC_PER_SEC)

/* Memory that the drive reads and writes. */
struct shared {
	struct nvme_command admin[ENTRIES];
	u8 pad0[NVME_CTRL_PAGE_SIZE - ENTRIES * sizeof(struct nvme_command)];
	struct nvme_completion admin_done[ENTRIES];
	u8 pad1[NVME_CTRL_PAGE_SIZE - ENTRIES * sizeof(struct nvme_completion)];
	struct nvme_command io[ENTRIES];
	u8 pad2[NVME_CTRL_PAGE_SIZE - ENTRIES * sizeof(struct nvme_command)];
	struct nvme_completion io_done[ENTRIES];
	u8 pad3[NVME_CTRL_PAGE_SIZE - ENTRIES * sizeof(struct nvme_completion)];
	__le64 prp[NVME_CTRL_PAGE_SIZE / sizeof(__le64)];
};

struct test {
	struct pci_dev *pdev, *peer;	/* counted */
	void __iomem *regs;
	struct shared *shared;
	dma_addr_t bus;			/* of @shared, for the drive */
	unsigned int admins;		/* admin commands so far */
};

static struct pci_dev *find(const char *name)
{
	unsigned int domain, bus, slot, function;

	if (sscanf(name, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4)
		return NULL;
	return pci_get_domain_bus_and_slot(domain, bus, PCI_DEVFN(slot, function));
}

static dma_addr_t bus_of(struct test *t, const void *member)
{
	return t->bus + (member - (const void *)t->shared);
}

static int enable(struct test *t, bool on)
{
	u32 status, value = on ? NVME_CC_ENABLE | NVME_CC_IOSQES | NVME_CC_IOCQES : 0;

	writel(value, t->regs + NVME_REG_CC);
	return readl_poll_timeout(t->regs + NVME_REG_CSTS, status,
				  (status & NVME_CSTS_RDY) == (on ? NVME_CSTS_RDY : 0),
				  1000, WAIT_US);
}

static u16 status_of(const struct nvme_completion *done)
{
	return le16_to_cpu(READ_ONCE(done->status));
}

/*
 * Rings the doorbell of queue @queue for its entry @at, and waits for the completion. The
 * queues go around at most once, so the phase of a new completion is 1.
 */
static int run(struct test *t, unsigned int queue, unsigned int at,
	       struct nvme_completion *done)
{
	unsigned int stride = 4 << NVME_CAP_STRIDE(lo_hi_readq(t->regs + NVME_REG_CAP));
	u16 status;
	int err;

	/* The command is in memory before the drive is told. */
	dma_wmb();
	writel(at + 1, t->regs + NVME_REG_DBS + 2 * queue * stride);
	err = read_poll_timeout(status_of, status, status & 1, 100, WAIT_US, false,
				&done[at]);
	if (err)
		return err;
	writel(at + 1, t->regs + NVME_REG_DBS + (2 * queue + 1) * stride);
	if (status >> 1)
		pci_err(t->pdev, "the drive has refused a command: status %#x\n",
			status >> 1);
	return status >> 1 ? -EIO : 0;
}

static int admin(struct test *t, const struct nvme_command *command)
{
	unsigned int at = t->admins++;

	t->shared->admin[at] = *command;
	return run(t, 0, at, t->shared->admin_done);
}

static int start(struct test *t)
{
	struct nvme_command command = {};
	int err = enable(t, false);

	if (err)
		return err;
	writel((ENTRIES - 1) << 16 | (ENTRIES - 1), t->regs + NVME_REG_AQA);
	lo_hi_writeq(bus_of(t, t->shared->admin), t->regs + NVME_REG_ASQ);
	lo_hi_writeq(bus_of(t, t->shared->admin_done), t->regs + NVME_REG_ACQ);
	err = enable(t, true);
	if (err)
		return err;
	command.create_cq.opcode = nvme_admin_create_cq;
	command.create_cq.prp1 = cpu_to_le64(bus_of(t, t->shared->io_done));
	command.create_cq.cqid = cpu_to_le16(1);
	command.create_cq.qsize = cpu_to_le16(ENTRIES - 1);
	command.create_cq.cq_flags = cpu_to_le16(NVME_QUEUE_PHYS_CONTIG);
	err = admin(t, &command);
	if (err)
		return err;
	memset(&command, 0, sizeof(command));
	command.create_sq.opcode = nvme_admin_create_sq;
	command.create_sq.prp1 = cpu_to_le64(bus_of(t, t->shared->io));
	command.create_sq.sqid = cpu_to_le16(1);
	command.create_sq.qsize = cpu_to_le16(ENTRIES - 1);
	command.create_sq.sq_flags = cpu_to_le16(NVME_QUEUE_PHYS_CONTIG);
	command.create_sq.cqid = cpu_to_le16(1);
	return admin(t, &command);
}

/* @data: address of the other device's memory, for the drive */
static int transfer(struct test *t, dma_addr_t data)
{
	struct nvme_command *command = &t->shared->io[0];
	unsigned int i, pages = bytes / NVME_CTRL_PAGE_SIZE;

	memset(command, 0, sizeof(*command));
	command->rw.opcode = write ? nvme_cmd_write : nvme_cmd_read;
	command->rw.nsid = cpu_to_le32(1);
	command->rw.slba = cpu_to_le64(block);
	command->rw.length = cpu_to_le16(bytes / 512 - 1);
	command->rw.dptr.prp1 = cpu_to_le64(data);
	for (i = 1; i < pages; i++)
		t->shared->prp[i - 1] = cpu_to_le64(data + i * NVME_CTRL_PAGE_SIZE);
	if (pages == 2)
		command->rw.dptr.prp2 = t->shared->prp[0];
	else if (pages > 2)
		command->rw.dptr.prp2 = cpu_to_le64(bus_of(t, t->shared->prp));
	return run(t, 1, 0, t->shared->io_done);
}

static int use(struct test *t)
{
	struct device *dev = &t->pdev->dev;
	dma_addr_t data;
	int err;

	err = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(64));
	if (err)
		return err;
	data = dma_map_resource(dev, pci_resource_start(t->peer, bar) + offset, bytes,
				DMA_BIDIRECTIONAL, 0);
	if (dma_mapping_error(dev, data)) {
		pci_err(t->pdev, "it does not reach BAR %u of %s\n", bar,
			pci_name(t->peer));
		return -EIO;
	}
	t->shared = dma_alloc_coherent(dev, sizeof(*t->shared), &t->bus, GFP_KERNEL);
	if (!t->shared) {
		err = -ENOMEM;
		goto unmap;
	}
	err = start(t);
	if (!err)
		err = transfer(t, data);
	enable(t, false);
	dma_free_coherent(dev, sizeof(*t->shared), t->shared, t->bus);
unmap:
	dma_unmap_resource(dev, data, bytes, DMA_BIDIRECTIONAL, 0);
	return err;
}

static bool is_sane(struct test *t)
{
	return t->pdev && t->peer && t->pdev->class == PCI_CLASS_STORAGE_EXPRESS &&
	       bar < PCI_STD_NUM_BARS && bytes && bytes <= BYTES_MAX &&
	       !(bytes % NVME_CTRL_PAGE_SIZE) && !(offset % NVME_CTRL_PAGE_SIZE) &&
	       offset < pci_resource_len(t->peer, bar) &&
	       bytes <= pci_resource_len(t->peer, bar) - offset;
}

static int __init nvme_init(void)
{
	struct test t = { .pdev = find(drive), .peer = find(peer) };
	int err = -EINVAL;

	if (!is_sane(&t))
		goto put;
	device_lock(&t.pdev->dev);
	err = t.pdev->dev.driver ? -EBUSY : pci_enable_device_mem(t.pdev);
	if (err)
		goto unlock;
	pci_set_master(t.pdev);
	t.regs = pci_iomap(t.pdev, 0, 0);
	err = t.regs ? use(&t) : -ENOMEM;
	if (t.regs)
		pci_iounmap(t.pdev, t.regs);
	pci_clear_master(t.pdev);
	pci_disable_device(t.pdev);
unlock:
	device_unlock(&t.pdev->dev);
put:
	pci_dev_put(t.peer);
	pci_dev_put(t.pdev);
	return err;
}

static void __exit nvme_exit(void)
{
}

module_init(nvme_init);
module_exit(nvme_exit);
MODULE_DESCRIPTION("Device Lending: test of an NVMe drive that uses another device's memory");
MODULE_LICENSE("GPL");
