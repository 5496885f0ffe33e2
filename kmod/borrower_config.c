// SPDX-License-Identifier: GPL-2.0-only
/*
 * The configuration space of a borrowed device. Reads are answered from an image, except
 * for registers that change by themselves, which the lender is asked for. Writes go to the
 * lender, which decides whether they have an effect. The BARs hold addresses of this node,
 * so writes to them stay here.
 *
 * Accesses may come with interrupts off and spinlocks held: from user space (pci_lock), or
 * where an interrupt is masked in an MSI capability. They must not sleep, and with
 * interrupts off they must not wait for long either, whatever the lender does:
 *
 *	write	is put into a queue, and a work sends it. Only with interrupts on, the
 *		writer itself sends what is in the queue before it goes on.
 *	read	with interrupts off asks the lender for READ_OFF_US at most, and is then
 *		answered from the image.
 *
 * With interrupts on, a read that the lender does not answer returns all ones.
 */
#include <linux/pci.h>
#include <linux/preempt.h>
#include <linux/timekeeping.h>

#include "borrower.h"
#include "dl_caps.h"

/* Longest wait of a read with interrupts off. */
#define READ_OFF_US 2000

/* Longest wait of a write with interrupts on for those that were written before it. */
#define DRAIN_NS (1000 * NSEC_PER_MSEC)

#define BAR_END (PCI_BASE_ADDRESS_0 + 4 * DLEND_BARS)

static bool is_bar(unsigned int at)
{
	return at >= PCI_BASE_ADDRESS_0 && at < BAR_END;
}

static struct borrower_loan *loan_of(struct pci_bus *bus)
{
	struct borrower_loan *loan =
		READ_ONCE(((struct borrower_bus *)bus->sysdata)->loan);

	/* A scan of the bus must not find again what was removed from it. */
	return loan && !READ_ONCE(loan->removed) ? loan : NULL;
}

static u32 part(u32 dword, int at, int size)
{
	dword >>= 8 * (at & 3);
	return size == 4 ? dword : dword & (BIT(8 * size) - 1);
}

/* Return: whether an access must not wait for the lender. */
static bool in_a_hurry(void)
{
	return irqs_disabled() || in_interrupt();
}

static u32 ask(struct borrower_loan *loan, u16 op, int at, int size, u32 value,
	       unsigned int timeout_us, bool *ok)
{
	struct dlend_msg_cfg req = {
		.fdid = cpu_to_le32(loan->fdid),
		.loan = cpu_to_le32(loan->number),
		.offset = cpu_to_le16(at),
		.size = cpu_to_le16(size),
		.value = cpu_to_le32(value),
	};
	struct dlend_msg_cfg_answer answer;
	int ret;

	ret = dlend_call_polled(loan->peer, op, &req, sizeof(req), &answer,
				sizeof(answer), timeout_us);
	*ok = ret == sizeof(answer);
	if (!*ok) {
		atomic64_inc(&borrower_counts.config_failed);
		return ~0;
	}
	return le32_to_cpu(answer.value);
}

/* Return: the bits of the dword @at that the lender may change. */
static u32 lenders_bits(const struct borrower_loan *loan, unsigned int at)
{
	if (at < DLEND_CFG_SIZE)
		return loan->lenders[at / 4];
	/* Of the extended capabilities only this one has registers that can be written. */
	return loan->aer && at > loan->aer && at < loan->aer + DLEND_AER_SIZE ? ~0 : 0;
}

/*
 * Return: the lender's @dword where the lender may change bits, else the image.
 * config_lock is held.
 */
static u32 merge(struct borrower_loan *loan, int at, u32 dword)
{
	u32 image = get_unaligned_le32(loan->config + at);
	u32 lenders = lenders_bits(loan, at);

	return (dword & lenders) | (image & ~lenders);
}

/* Sends the oldest write of the queue. Return: false if the queue is empty. */
static bool send_one(struct borrower_loan *loan)
{
	struct borrower_write write;
	unsigned long flags;
	u32 value;
	bool ok;
	int at;

	spin_lock_irqsave(&loan->config_lock, flags);
	if (loan->sent == loan->written) {
		spin_unlock_irqrestore(&loan->config_lock, flags);
		return false;
	}
	write = loan->writes[loan->sent % ARRAY_SIZE(loan->writes)];
	spin_unlock_irqrestore(&loan->config_lock, flags);

	value = ask(loan, DLEND_OP_CFG_WRITE, write.at, write.size, write.value, 0, &ok);
	at = write.at & ~3;
	spin_lock_irqsave(&loan->config_lock, flags);
	if (ok)
		put_unaligned_le32(merge(loan, at, value), loan->config + at);
	WRITE_ONCE(loan->sent, loan->sent + 1);
	spin_unlock_irqrestore(&loan->config_lock, flags);
	return true;
}

/*
 * Sends the queue until write @upto was sent, or until @end and the time of one call: each
 * write may wait for a lender whose heart beats and that does not answer. The work sends
 * the rest. Interrupts are on.
 */
static void drain(struct borrower_loan *loan, u32 upto, u64 end)
{
	while ((s32)(READ_ONCE(loan->sent) - upto) < 0) {
		if (ktime_get_mono_fast_ns() > end) {
			queue_work(system_highpri_wq, &loan->send);
			return;
		}
		if (!test_and_set_bit_lock(0, &loan->sending)) {
			send_one(loan);
			clear_bit_unlock(0, &loan->sending);
		} else {
			cpu_relax();
		}
	}
}

static void send_work(struct work_struct *work)
{
	struct borrower_loan *loan = container_of(work, struct borrower_loan, send);
	u32 upto;

	while ((s32)((upto = READ_ONCE(loan->written)) - READ_ONCE(loan->sent)) > 0) {
		drain(loan, upto, ktime_get_mono_fast_ns() + DRAIN_NS);
		cond_resched();
	}
}

static void write_later(struct borrower_loan *loan, int at, int size, u32 value)
{
	unsigned long flags;
	bool full;
	u32 number;

	spin_lock_irqsave(&loan->config_lock, flags);
	full = loan->written - loan->sent == ARRAY_SIZE(loan->writes);
	if (!full) {
		loan->writes[loan->written % ARRAY_SIZE(loan->writes)] =
			(struct borrower_write){ at, size, value };
		WRITE_ONCE(loan->written, loan->written + 1);
	}
	number = loan->written;
	spin_unlock_irqrestore(&loan->config_lock, flags);
	if (full) {
		/* The lender has not answered for so long that it is as good as lost. */
		atomic64_inc(&borrower_counts.config_failed);
		return;
	}
	if (in_a_hurry())
		queue_work(system_highpri_wq, &loan->send);
	else
		drain(loan, number, ktime_get_mono_fast_ns() + DRAIN_NS);
}

/* Return: whether all writes were sent; with interrupts off after a short wait only. */
static bool writes_are_sent(struct borrower_loan *loan)
{
	u64 end;

	if (!in_a_hurry())
		drain(loan, READ_ONCE(loan->written), ktime_get_mono_fast_ns() + DRAIN_NS);
	end = ktime_get_mono_fast_ns() + READ_OFF_US * NSEC_PER_USEC;
	while (READ_ONCE(loan->sent) != READ_ONCE(loan->written)) {
		if (ktime_get_mono_fast_ns() > end)
			return false;
		cpu_relax();
	}
	return true;
}

/* Reads a register that changes by itself. Return: false if there is no value for it. */
static bool read_live(struct borrower_loan *loan, int at, u32 *dword)
{
	bool off = in_a_hurry(), ok = false;
	unsigned long flags;

	atomic64_inc(&borrower_counts.config_reads);
	if (writes_are_sent(loan))
		*dword = ask(loan, DLEND_OP_CFG_READ, at, 4, 0, off ? READ_OFF_US : 0, &ok);
	if (!ok && !off)
		return false;
	spin_lock_irqsave(&loan->config_lock, flags);
	if (ok)
		put_unaligned_le32(merge(loan, at, *dword), loan->config + at);
	*dword = get_unaligned_le32(loan->config + at);
	spin_unlock_irqrestore(&loan->config_lock, flags);
	return true;
}

static int config_read(struct pci_bus *bus, unsigned int devfn, int where,
		       int size, u32 *value)
{
	struct borrower_loan *loan = loan_of(bus);
	unsigned long flags;
	int at = where & ~3;
	u32 dword;

	*value = ~0;
	if (!loan || devfn != loan->devfn)
		return PCIBIOS_DEVICE_NOT_FOUND;
	if (where + size > DLEND_CFG_SPACE || READ_ONCE(loan->dead))
		return PCIBIOS_SUCCESSFUL;
	if (where < DLEND_CFG_SIZE && loan->live & BIT_ULL(where / 4)) {
		if (!read_live(loan, at, &dword)) {
			/* A driver that takes the ones for a value fails for no clear reason. */
			if (!READ_ONCE(loan->dead))
				pr_warn_ratelimited("dl_borrower: device %x: node %u does not answer, and configuration register %#x reads as all ones\n",
						    loan->fdid, dlend_peer_node(loan->peer), at);
			return PCIBIOS_SUCCESSFUL;
		}
	} else {
		spin_lock_irqsave(&loan->config_lock, flags);
		dword = get_unaligned_le32(loan->config + at);
		spin_unlock_irqrestore(&loan->config_lock, flags);
	}
	*value = part(dword, where, size);
	return PCIBIOS_SUCCESSFUL;
}

/* Stores the address that is written to a BAR. Size and kind of the BAR do not change. */
static void write_bar(struct borrower_loan *loan, int where, int size,
		      u32 value)
{
	unsigned int i = (where - PCI_BASE_ADDRESS_0) / 4;
	struct borrower_bar *bar = &loan->bars[i];
	u8 *at = loan->config + (where & ~3);

	if (size != 4)
		return;
	if (bar->size)
		put_unaligned_le32((value & ~(u32)(bar->size - 1)) | bar->flags,
				   at);
	else if (i && loan->bars[i - 1].size &&
		 loan->bars[i - 1].flags & PCI_BASE_ADDRESS_MEM_TYPE_64)
		put_unaligned_le32(value & ~(u32)((loan->bars[i - 1].size - 1) >> 32),
				   at);
}

static int config_write(struct pci_bus *bus, unsigned int devfn, int where,
			int size, u32 value)
{
	struct borrower_loan *loan = loan_of(bus);
	unsigned long flags;

	if (!loan || devfn != loan->devfn)
		return PCIBIOS_DEVICE_NOT_FOUND;
	if (where + size > DLEND_CFG_SPACE || READ_ONCE(loan->dead))
		return PCIBIOS_SUCCESSFUL;
	if (is_bar(where)) {
		spin_lock_irqsave(&loan->config_lock, flags);
		write_bar(loan, where, size, value);
		spin_unlock_irqrestore(&loan->config_lock, flags);
		return PCIBIOS_SUCCESSFUL;
	}
	/* The function has no ROM, so the kernel's writes to find its size do nothing. */
	if (where >= PCI_ROM_ADDRESS && where < PCI_ROM_ADDRESS + 4)
		return PCIBIOS_SUCCESSFUL;

	atomic64_inc(&borrower_counts.config_writes);
	write_later(loan, where, size, value);
	return PCIBIOS_SUCCESSFUL;
}

struct pci_ops borrower_config_ops = {
	.read = config_read,
	.write = config_write,
};

/*
 * Chooses which bits of the configuration space the lender may change later. A hostile
 * lender may answer differently each time. The kernel relies on the IDs and the kind of
 * the function, on the offsets of its capabilities and on its MSI-X table, so these keep
 * their first values, which borrower_check_attach() has checked.
 */
static void choose_lenders_bits(struct borrower_loan *loan)
{
	u32 *bits = loan->lenders;
	unsigned int at;

	memset(bits, 0xff, sizeof(loan->lenders));
	memset(bits, 0, PCI_STD_HEADER_SIZEOF);
	bits[PCI_COMMAND / 4] = ~0;
	bits[PCI_CACHE_LINE_SIZE / 4] = 0xffff;	/* and latency */
	bits[PCI_INTERRUPT_LINE / 4] = 0xff;
	/* Stop at a capability that was visited already, because a list may be a loop. */
	at = loan->config[PCI_CAPABILITY_LIST] & ~3;
	while (at >= PCI_STD_HEADER_SIZEOF && bits[at / 4] == ~0) {
		bits[at / 4] = 0xffff0000;
		if (loan->config[at] == PCI_CAP_ID_MSIX) {
			bits[at / 4] = (PCI_MSIX_FLAGS_ENABLE |
					PCI_MSIX_FLAGS_MASKALL) << 16;
			bits[at / 4 + 1] = 0;
			bits[at / 4 + 2] = 0;
		}
		at = loan->config[at + PCI_CAP_LIST_NEXT] & ~3;
	}
}

void borrower_config_init(struct borrower_loan *loan)
{
	unsigned int i;

	/* In the header only Command and Status change by themselves. */
	loan->live &= ~GENMASK_ULL(15, 0) | BIT_ULL(PCI_COMMAND / 4);
	loan->config[PCI_HEADER_TYPE] = PCI_HEADER_TYPE_NORMAL;
	loan->config[PCI_INTERRUPT_PIN] = 0;
	memset(loan->config + PCI_ROM_ADDRESS, 0, 4);
	memset(loan->config + PCI_BASE_ADDRESS_0, 0, 4 * DLEND_BARS);

	for (i = 0; i < DLEND_BARS; i++) {
		struct borrower_bar *bar = &loan->bars[i];
		u8 *at = loan->config + PCI_BASE_ADDRESS_0 + 4 * i;

		if (!bar->size)
			continue;
		put_unaligned_le32(lower_32_bits(bar->phys) | bar->flags, at);
		if (bar->flags & PCI_BASE_ADDRESS_MEM_TYPE_64)
			put_unaligned_le32(upper_32_bits(bar->phys), at + 4);
	}
	choose_lenders_bits(loan);
	INIT_WORK(&loan->send, send_work);
}

void borrower_config_stop(struct borrower_loan *loan)
{
	cancel_work_sync(&loan->send);
}

/* Some devices need seconds for a reset. */
#define RESET_TIMEOUT_MS 20000

int dlend_guest_reset(struct pci_dev *pdev)
{
	struct borrower_loan *loan = borrower_loan_of(&pdev->dev);
	struct dlend_msg_return req;
	int ret;

	if (!loan || READ_ONCE(loan->dead))
		return -ENODEV;
	req.fdid = cpu_to_le32(loan->fdid);
	req.loan = cpu_to_le32(loan->number);
	/* All earlier writes to the configuration space must have reached the lender. */
	flush_work(&loan->send);
	ret = dlend_call(loan->peer, DLEND_OP_RESET, &req, sizeof(req), NULL, 0,
			 RESET_TIMEOUT_MS);
	return min(ret, 0);
}
EXPORT_SYMBOL_GPL(dlend_guest_reset);
