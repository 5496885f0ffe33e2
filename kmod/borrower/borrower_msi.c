// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupts of a borrowed device. The device writes its messages straight to this
 * node's interrupt controller, through a window of the lender's adapter that leads to
 * 0xfee00000 here. A message address is the address of that window on the device's own
 * node plus an offset. This node's kernel composes the offset and the data.
 *
 * With interrupt remapping a message names an entry of a table, and the entry holds the
 * allowed requester. The device's writes arrive here with the requester of the NTB, so
 * the vector is allocated for loan->requester and not for the borrowed function.
 */
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/log2.h>
#include <linux/msi.h>
#include <linux/sizes.h>
#ifdef DLEND_MSI_PARENT
#include <linux/irqchip/irq-msi-lib.h>
#endif
#include <asm/msi.h>
#include <asm/smp.h>

#include "borrower.h"

#define INTERRUPTS_START 0xfee00000ULL

#define REMAPPED_BYTES 32	/* of addresses, for each entry of the table */
#define REMAPPED_MIN 2048	/* entries that a window reaches at least */

/*
 * With remapping, bits 19:5 of the address have the number of an entry (Intel VT-d
 * 5.1.3). The kernel gives out the lowest free number, and each interrupt has one, so
 * twice as many as there can be interrupts leaves room for gaps and for new devices.
 * All 32,768 numbers would be 1 MiB, which takes a direct window of an adapter that has
 * two. is_in_window() refuses a number that is not in the window.
 *
 * Without remapping, bits 19:12 have the APIC ID of a CPU.
 */
static u64 window_size(struct borrower_loan *loan)
{
	unsigned int cpu, last = 0;
	u64 size;

	if (dlend_msi_parent(loan->requester) != x86_vector_domain) {
		size = max_t(u64, 2ULL * dlend_nr_irqs(), REMAPPED_MIN) * REMAPPED_BYTES;
	} else {
		/* A CPU that could be plugged in later has no APIC ID yet. */
		for_each_possible_cpu(cpu)
			if (cpu_physical_id(cpu) != BAD_APICID)
				last = max_t(unsigned int, last, cpu_physical_id(cpu));
		size = (u64)(last + 1) << 12;
	}
	return clamp_t(u64, roundup_pow_of_two(size), SZ_64K, SZ_1M);
}

/*
 * Several vectors of MSI have one address and data in a row, which the remapping has for
 * them. Without it Linux has no such vectors.
 */
static bool has_vectors(const struct irq_domain *parent)
{
	return parent != x86_vector_domain;
}

bool dlend_guest_has_vectors(struct pci_dev *pdev)
{
	struct borrower_loan *loan = borrower_loan_of(&pdev->dev);
	bool has = loan && (loan->forwards || has_vectors(dlend_msi_parent(loan->requester)));

	borrower_loan_put(loan);
	return has;
}
EXPORT_SYMBOL_GPL(dlend_guest_has_vectors);

int borrower_msi_prepare(struct borrower_loan *loan, struct dlend_msg_attach *req,
			 struct dlend_why *why)
{
	struct borrower_range range = {
		.start = INTERRUPTS_START,
		.purpose = "interrupts",
	};

	loan->msi_size = window_size(loan);
	range.size = loan->msi_size;
	return borrower_window_open(loan, &range, &loan->msi_export, &req->msi,
				    why);
}

/*
 * Makes the message as without a window.
 *
 * Return: its address as an offset in the window, which may be too large.
 */
static u64 compose_parent(struct irq_data *parent, struct msi_msg *msg)
{
	while (parent && !(parent->chip && parent->chip->irq_compose_msi_msg))
		parent = parent->parent_data;
	if (WARN_ON_ONCE(!parent)) {
		*msg = (struct msi_msg) { };
		return 0;
	}
	parent->chip->irq_compose_msi_msg(parent, msg);
	return ((u64)msg->address_hi << 32 | msg->address_lo) - INTERRUPTS_START;
}

static void compose(struct irq_data *data, struct msi_msg *msg)
{
	struct borrower_loan *loan = irq_data_get_irq_chip_data(data);
	u64 address = compose_parent(data->parent_data, msg);

	if (address >= loan->msi_size) {
		pr_err_ratelimited("dl_borrower: device %x: MSI address %#llx is outside the MSI window of %llu KiB\n",
				   loan->fdid, address + INTERRUPTS_START,
				   loan->msi_size / SZ_1K);
		/* Use vector 0 of CPU 0, which an interrupt controller ignores. */
		address = 0;
		msg->data = 0;
	}
	address += loan->msi_bus;
	msg->address_hi = upper_32_bits(address);
	msg->address_lo = lower_32_bits(address);
}

/* Refuses an interrupt whose messages would not go through the window. */
static bool is_in_window(struct borrower_loan *loan, struct irq_domain *parent,
			 unsigned int virq)
{
	struct msi_msg msg;
	u64 offset = compose_parent(irq_domain_get_irq_data(parent, virq), &msg);

	if (offset < loan->msi_size)
		return true;
	pr_err_ratelimited("dl_borrower: device %x: an interrupt with MSI address %#llx is refused: the MSI window has %llu KiB\n",
			   loan->fdid, offset + INTERRUPTS_START,
			   loan->msi_size / SZ_1K);
	return false;
}

/*
 * A function's interrupts have a domain that composes as compose() does. Its parent is the
 * domain of the vectors or of the remapping. Older kernels have one such domain for the
 * functions of a bus, newer ones make one for each function on top of ours.
 */
#ifdef DLEND_MSI_PARENT
static struct irq_chip msi_chip = {
	.name = "DL-MSI",
	.irq_ack = irq_chip_ack_parent,
	.irq_retrigger = irq_chip_retrigger_hierarchy,
	.irq_set_affinity = irq_chip_set_affinity_parent,
	.irq_compose_msi_msg = compose,
	.flags = IRQCHIP_SKIP_SET_WAKE | IRQCHIP_AFFINITY_PRE_STARTUP,
};

static int msi_alloc(struct irq_domain *domain, unsigned int virq, unsigned int n,
		     void *data)
{
	struct borrower_loan *loan = domain->host_data;
	msi_alloc_info_t *arg = data;
	struct msi_desc *desc = arg->desc;
	unsigned int i;
	int err;

	/* Several entries of the table in a row are for several vectors of MSI alone. */
	arg->type = n > 1 ? X86_IRQ_ALLOC_TYPE_PCI_MSI : X86_IRQ_ALLOC_TYPE_PCI_MSIX;
	arg->desc = &loan->msi_proxy;
	err = irq_domain_alloc_irqs_parent(domain, virq, n, arg);
	arg->desc = desc;
	if (err)
		return err;
	for (i = 0; i < n; i++) {
		if (!is_in_window(loan, domain->parent, virq + i)) {
			irq_domain_free_irqs_parent(domain, virq, n);
			return -ENOSPC;
		}
		irq_domain_set_hwirq_and_chip(domain, virq + i, desc->msi_index + i,
					      &msi_chip, loan);
	}
	return 0;
}

static const struct irq_domain_ops msi_domain_ops = {
	.alloc = msi_alloc,
	.free = irq_domain_free_irqs_parent,
};

static bool msi_init_info(struct device *dev, struct irq_domain *domain,
			  struct irq_domain *real_parent, struct msi_domain_info *info)
{
	if (info->bus_token != DOMAIN_BUS_PCI_DEVICE_MSIX ||
	    !msi_lib_init_dev_msi_info(dev, domain, real_parent, info))
		return false;
	info->handler = handle_edge_irq;
	info->handler_name = "edge";
	return true;
}

static const struct msi_parent_ops msi_parent_ops = {
	.supported_flags = MSI_GENERIC_FLAGS_MASK | MSI_FLAG_PCI_MSIX,
	.required_flags = MSI_FLAG_USE_DEF_DOM_OPS | MSI_FLAG_USE_DEF_CHIP_OPS,
	.chip_flags = MSI_CHIP_FLAG_SET_ACK,
	.bus_select_token = DOMAIN_BUS_VMD_MSI,
	.bus_select_mask = MATCH_PCI_MSI,
	.prefix = "DL-",
	.init_dev_msi_info = msi_init_info,
};

static struct irq_domain *create_domain(struct borrower_loan *loan,
					struct irq_domain *parent)
{
	struct irq_domain_info info = {
		.fwnode = loan->msi_fwnode,
		.ops = &msi_domain_ops,
		.parent = parent,
		.host_data = loan,
	};

	return msi_create_parent_irq_domain(&info, &msi_parent_ops);
}
#else
static struct irq_chip msi_chip = {
	.name = "DL-MSI",
	.irq_mask = pci_msi_mask_irq,
	.irq_unmask = pci_msi_unmask_irq,
	.irq_ack = irq_chip_ack_parent,
	.irq_retrigger = irq_chip_retrigger_hierarchy,
	.irq_compose_msi_msg = compose,
	.flags = IRQCHIP_SKIP_SET_WAKE | IRQCHIP_AFFINITY_PRE_STARTUP,
};

static void set_desc(msi_alloc_info_t *arg, struct msi_desc *desc)
{
	struct borrower_loan *loan;
	int idx;

	/* The function has a driver that asks for interrupts, so it is not removed. */
	loan = borrower_loan_enter(desc->dev, &idx);
	arg->desc = &loan->msi_proxy;
	arg->hwirq = desc->msi_index;
	borrower_loan_exit(idx);
}

static int msi_init(struct irq_domain *domain, struct msi_domain_info *info,
		    unsigned int virq, irq_hw_number_t hwirq, msi_alloc_info_t *arg)
{
	struct borrower_loan *loan = info->chip_data;

	if (!is_in_window(loan, domain->parent, virq))
		return -ENOSPC;
	irq_domain_set_info(domain, virq, hwirq, info->chip, loan, info->handler, NULL,
			    info->handler_name);
	return 0;
}

static struct msi_domain_ops msi_ops = {
	.msi_init = msi_init,
	.msi_prepare = pci_msi_prepare,
	.set_desc = set_desc,
};

static struct irq_domain *create_domain(struct borrower_loan *loan,
					struct irq_domain *parent)
{
	loan->msi_info = (struct msi_domain_info) {
		.flags = MSI_FLAG_USE_DEF_DOM_OPS | MSI_FLAG_USE_DEF_CHIP_OPS |
			 MSI_FLAG_PCI_MSIX |
			 (has_vectors(parent) ? MSI_FLAG_MULTI_PCI_MSI : 0),
		.ops = &msi_ops,
		.chip = &msi_chip,
		.chip_data = loan,
		.handler = handle_edge_irq,
		.handler_name = "edge",
	};
	return pci_msi_create_irq_domain(loan->msi_fwnode, &loan->msi_info, parent);
}
#endif

int borrower_msi_start(struct borrower_loan *loan)
{
	struct irq_domain *parent = dlend_msi_parent(loan->requester);

	if (!parent)
		return -ENODEV;
	loan->msi_proxy.dev = loan->requester;
	loan->msi_fwnode = irq_domain_alloc_named_id_fwnode("DL-MSI",
							    loan->fdid);
	if (!loan->msi_fwnode)
		return -ENOMEM;
	loan->msi_domain = create_domain(loan, parent);
	if (!loan->msi_domain) {
		irq_domain_free_fwnode(loan->msi_fwnode);
		loan->msi_fwnode = NULL;
		return -ENOMEM;
	}
	/* Otherwise the interrupt remapping would replace this domain by its own. */
	irq_domain_update_bus_token(loan->msi_domain, DOMAIN_BUS_VMD_MSI);
	return 0;
}

void borrower_msi_stop(struct borrower_loan *loan)
{
	if (loan->msi_domain) {
		irq_domain_remove(loan->msi_domain);
		irq_domain_free_fwnode(loan->msi_fwnode);
		loan->msi_domain = NULL;
	}
}
