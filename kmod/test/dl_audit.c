// SPDX-License-Identifier: GPL-2.0-only
/*
 * Says what the hardware of this node has open to others, as its registers and its IOMMU
 * have it, whatever the modules of Device Lending believe.
 *
 * debugfs: dl_audit has for each Switchtec NTB of this node
 *
 *	FUNCTION lut N 0xENTRY		an entry of the table that is enabled
 *	FUNCTION bar N 0xADDRESS	a direct window that is enabled
 *	FUNCTION id N 0xENTRY		an entry for a Requester ID that is enabled
 *	FUNCTION mapped N		pages that its IOMMU maps in the range of DMA windows
 *
 * The windows are those of the partition of the NTB itself: by them this node reaches the
 * far one. Those by which the far node reaches this one are in the audit there.
 */
#include <linux/debugfs.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/iommu.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/switchtec.h>

/* The range of translated DMA windows: see borrower_space.c. */
#define RANGE_START BIT_ULL(38)

#define BARS 6

static struct dentry *file;

static void show_windows(struct seq_file *out, struct pci_dev *pdev,
			 struct ntb_ctrl_regs __iomem *ctl)
{
	unsigned int i, n;
	u64 value;

	for (i = 0; i < BARS; i++)
		if (ioread32(&ctl->bar_entry[i].ctl) & NTB_CTRL_BAR_DIR_WIN_EN)
			seq_printf(out, "%s bar %u %#llx\n", pci_name(pdev), i,
				   ioread64(&ctl->bar_entry[i].xlate_addr));
	n = min_t(unsigned int, ioread16(&ctl->lut_table_entries),
		  ARRAY_SIZE(ctl->lut_entry));
	for (i = 0; i < n; i++) {
		value = ioread64(&ctl->lut_entry[i]);
		if (value & NTB_CTRL_LUT_EN)
			seq_printf(out, "%s lut %u %#llx\n", pci_name(pdev), i, value);
	}
	n = min_t(unsigned int, ioread16(&ctl->req_id_table_size),
		  ARRAY_SIZE(ctl->req_id_table));
	for (i = 0; i < n; i++) {
		value = ioread32(&ctl->req_id_table[i]);
		if (value & NTB_CTRL_REQ_ID_EN)
			seq_printf(out, "%s id %u %#llx\n", pci_name(pdev), i, value);
	}
}

static void show_mapped(struct seq_file *out, struct pci_dev *pdev)
{
	struct iommu_domain *domain = NULL;
	u64 size = pci_resource_len(pdev, 4), at, n = 0;

	if (device_iommu_mapped(&pdev->dev))
		domain = iommu_get_domain_for_dev(&pdev->dev);
	if (domain && domain->type != IOMMU_DOMAIN_IDENTITY) {
		for (at = 0; at < size; at += PAGE_SIZE) {
			n += !!iommu_iova_to_phys(domain, RANGE_START + at);
			cond_resched();
		}
	}
	seq_printf(out, "%s mapped %llu\n", pci_name(pdev), n);
}

static int audit_show(struct seq_file *out, void *unused)
{
	struct ntb_info_regs __iomem *info;
	struct ntb_ctrl_regs __iomem *ctl;
	struct pci_dev *pdev = NULL;
	void __iomem *bar;

	while ((pdev = pci_get_device(PCI_VENDOR_ID_MICROSEMI, PCI_ANY_ID, pdev))) {
		if (pdev->class >> 8 != PCI_CLASS_BRIDGE_OTHER)
			continue;
		bar = pci_iomap_range(pdev, 0, SWITCHTEC_GAS_NTB_OFFSET,
				      SWITCHTEC_NTB_REG_DBMSG_OFFSET);
		if (!bar)
			continue;
		info = bar + SWITCHTEC_NTB_REG_INFO_OFFSET;
		ctl = bar + SWITCHTEC_NTB_REG_CTRL_OFFSET;
		show_windows(out, pdev, ctl + ioread8(&info->partition_id));
		show_mapped(out, pdev);
		pci_iounmap(pdev, bar);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(audit);

static int __init audit_init(void)
{
	file = debugfs_create_file("dl_audit", 0444, NULL, NULL, &audit_fops);
	return 0;
}

static void __exit audit_exit(void)
{
	debugfs_remove(file);
}

module_init(audit_init);
module_exit(audit_exit);
MODULE_DESCRIPTION("What the hardware has open, for tests of Device Lending");
MODULE_LICENSE("GPL");
