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
 * With interrupts on, an access waits while the lender stands still. A driver's next access
 * may be one of a BAR, which does not wait for the lender's CPUs, and must not pass a write
 * that sets Bus Master Enable. A read that the lender does not answer returns all ones for
 * the bits that only the lender knows.
 */
#include <linux/delay.h>
#include <linux/pci.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/timekeeping.h>

#include "borrower.h"
#include "dl_caps.h"

/* Longest wait of a read with interrupts off. */
#define READ_OFF_US 2000

/* Longest wait of a write with interrupts on for those that were written before it. */
#define DRAIN_NS (1000 * NSEC_PER_MSEC)

/* Longest wait for a lender that stands still, which is lost earlier by default. */
#define STILL_NS (3000 * NSEC_PER_MSEC)

/* The work sends a write that has no answer again after this pause, and for so long. */
#define AGAIN_MS 20
#define WRITE_NS (5000 * NSEC_PER_MSEC)

#define BAR_END (PCI_BASE_ADDRESS_0 + 4 * DLEND_BARS)

static bool is_bar(unsigned int at)
{
	return at >= PCI_BASE_ADDRESS_0 && at < BAR_END;
}

/* Return: the loan that has the function @devfn, or NULL. In a section of borrower_srcu. */
static struct borrower_loan *loan_of(struct pci_bus *bus, unsigned int devfn)
{
	struct borrower_loan *loan =
		READ_ONCE(((struct borrower_bus *)bus->sysdata)->loan);

	/* A scan of the bus must not find again what was removed from it. */
	if (!loan || READ_ONCE(loan->removed) || loan->devfn != devfn)
		return NULL;
	return loan;
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

/* Return: 0 with @answer set, or the error of the call. */
static int ask(struct borrower_loan *loan, u16 op, int at, int size, u32 value,
	       unsigned int timeout_us, u32 *answer)
{
	struct dlend_msg_cfg req = {
		.fdid = cpu_to_le32(loan->fdid),
		.loan = cpu_to_le32(loan->number),
		.offset = cpu_to_le16(at),
		.size = cpu_to_le16(size),
		.value = cpu_to_le32(value),
	};
	struct dlend_msg_cfg_answer got;
	int ret;

	ret = dlend_call_polled(loan->peer, op, &req, sizeof(req), &got, sizeof(got),
				timeout_us);
	if (ret != sizeof(got))
		return ret < 0 ? ret : -EPROTO;
	*answer = le32_to_cpu(got.value);
	return 0;
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

/* Return: the bits of the dword @at that change only when this node writes them. */
static u32 own_bits(const struct borrower_loan *loan, int at)
{
	if (at == (PCI_COMMAND & ~3))
		return 0xffff;
	return loan->msix && at == loan->msix ? loan->lenders[at / 4] : 0;
}

/*
 * Return: the dword @at of the image, in which the own bits are as after the writes that
 * wait. A kernel that reads, changes and writes them must not lose the change before.
 * config_lock is held.
 */
static u32 expected(const struct borrower_loan *loan, int at)
{
	u32 image = get_unaligned_le32(loan->config + at);
	u32 own = own_bits(loan, at);
	u8 bytes[4];
	u32 i;

	put_unaligned_le32(image, bytes);
	for (i = loan->sent; own && i != loan->written; i++) {
		const struct borrower_write *write =
			&loan->writes[i % ARRAY_SIZE(loan->writes)];
		u8 value[4];

		if ((write->at & ~3) != at)
			continue;
		put_unaligned_le32(write->value, value);
		memcpy(bytes + (write->at & 3), value, write->size);
	}
	return (get_unaligned_le32(bytes) & own) | (image & ~own);
}

/*
 * Return: the dword of a read that nobody answers: all ones (PCIe 5.0 s2.3.2), but not for
 * what is known here, or the kernel would write them back. It also takes the size of the
 * MSI-X table from the capability without a check (msix_capability_init()), and masks its
 * entries: beyond the end of the BAR, a window may lead to other functions. Of a function
 * that is gone the header has ones only.
 */
static u32 unanswered(struct borrower_loan *loan, int at)
{
	bool dead = READ_ONCE(loan->dead);
	unsigned long flags;
	u32 dword, ones;

	if (at >= DLEND_CFG_SIZE || (dead && at < PCI_STD_HEADER_SIZEOF))
		return ~0;
	spin_lock_irqsave(&loan->config_lock, flags);
	ones = lenders_bits(loan, at);
	if (!dead)
		ones &= ~own_bits(loan, at);
	dword = expected(loan, at) | ones;
	spin_unlock_irqrestore(&loan->config_lock, flags);
	return dword;
}

/*
 * Return: whether the oldest write, which the lender has not answered, is sent again. The
 * driver is not told of a write that is lost, so that is the end of a long silence only.
 */
static bool is_sent_again(struct borrower_loan *loan, int err)
{
	u64 now = ktime_get_mono_fast_ns();

	if (err != -ETIMEDOUT || READ_ONCE(loan->dead))
		return false;
	if (!loan->silent_since)
		loan->silent_since = now;
	return now - loan->silent_since < WRITE_NS;
}

/*
 * Sends the oldest write of the queue. The caller has "sending".
 * Return: false if it must be sent again.
 */
static bool send_one(struct borrower_loan *loan)
{
	struct borrower_write write;
	unsigned long flags;
	u32 value;
	int at, err;

	spin_lock_irqsave(&loan->config_lock, flags);
	if (loan->sent == loan->written) {
		spin_unlock_irqrestore(&loan->config_lock, flags);
		return true;
	}
	write = loan->writes[loan->sent % ARRAY_SIZE(loan->writes)];
	spin_unlock_irqrestore(&loan->config_lock, flags);

	err = ask(loan, DLEND_OP_CFG_WRITE, write.at, write.size, write.value, 0, &value);
	if (err && is_sent_again(loan, err))
		return false;
	/* After a long silence each write that follows is tried once, until there is an answer. */
	if (err != -ETIMEDOUT)
		loan->silent_since = 0;
	if (err)
		atomic64_inc(&borrower_counts.config_failed);
	at = write.at & ~3;
	spin_lock_irqsave(&loan->config_lock, flags);
	if (!err)
		put_unaligned_le32(merge(loan, at, value), loan->config + at);
	WRITE_ONCE(loan->sent, loan->sent + 1);
	spin_unlock_irqrestore(&loan->config_lock, flags);
	return true;
}

/*
 * Waits while the lender stands still, until @end. Interrupts are on. This CPU's works run
 * meanwhile if they may: the NTB's driver learns by one that the link went down.
 */
static void await_lender(struct borrower_loan *loan, u64 end)
{
	while (dlend_peer_stands_still(loan->peer) && !READ_ONCE(loan->dead) &&
	       ktime_get_mono_fast_ns() < end) {
		if (preemptible() && !rcu_preempt_depth())
			usleep_range(100, 200);
		else
			cpu_relax();
	}
}

static void send_after(struct borrower_loan *loan, unsigned int ms)
{
	mod_delayed_work(system_highpri_wq, &loan->send, msecs_to_jiffies(ms));
}

/*
 * Sends the queue until write @until was sent, or for DRAIN_NS and the time of one call: each
 * write may wait for a lender whose heart beats and that does not answer. If @waits, the time
 * for which the lender stands still does not count. The work sends the rest. Interrupts are
 * on. Return: whether all were sent.
 */
static bool drain(struct borrower_loan *loan, u32 until, bool waits)
{
	u64 begin = ktime_get_mono_fast_ns(), end = begin + DRAIN_NS;

	while ((s32)(READ_ONCE(loan->sent) - until) < 0) {
		bool again = false;

		if (ktime_get_mono_fast_ns() > end) {
			send_after(loan, 0);
			return false;
		}
		if (!test_and_set_bit_lock(0, &loan->sending)) {
			again = !send_one(loan);
			clear_bit_unlock(0, &loan->sending);
		} else {
			cpu_relax();
		}
		if (again && !waits) {
			send_after(loan, AGAIN_MS);
			return false;
		}
		if (again) {
			await_lender(loan, begin + STILL_NS);
			end = ktime_get_mono_fast_ns() + DRAIN_NS;
			waits = false;
		}
	}
	return true;
}

static void send_work(struct work_struct *work)
{
	struct borrower_loan *loan =
		container_of(to_delayed_work(work), struct borrower_loan, send);
	u32 until;

	while ((s32)((until = READ_ONCE(loan->written)) - READ_ONCE(loan->sent)) > 0) {
		if (!drain(loan, until, false))
			break;
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
		send_after(loan, 0);
	else
		drain(loan, number, true);
}

/* Return: whether all writes were sent; with interrupts off after a short wait only. */
static bool writes_are_sent(struct borrower_loan *loan)
{
	u64 end;

	if (!in_a_hurry())
		drain(loan, READ_ONCE(loan->written), true);
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
	unsigned int limit = off ? READ_OFF_US : 0;
	unsigned long flags;
	int err;

	atomic64_inc(&borrower_counts.config_reads);
	if (writes_are_sent(loan)) {
		err = ask(loan, DLEND_OP_CFG_READ, at, 4, 0, limit, dword);
		if (err == -ETIMEDOUT && !off && dlend_peer_stands_still(loan->peer)) {
			await_lender(loan, ktime_get_mono_fast_ns() + STILL_NS);
			err = ask(loan, DLEND_OP_CFG_READ, at, 4, 0, limit, dword);
		}
		ok = !err;
	}
	if (!ok)
		atomic64_inc(&borrower_counts.config_failed);
	if (!ok && !off)
		return false;
	spin_lock_irqsave(&loan->config_lock, flags);
	if (ok)
		put_unaligned_le32(merge(loan, at, *dword), loan->config + at);
	*dword = expected(loan, at);
	spin_unlock_irqrestore(&loan->config_lock, flags);
	return true;
}

static void read_loan(struct borrower_loan *loan, int where, int size, u32 *value)
{
	unsigned long flags;
	int at = where & ~3;
	u32 dword;

	if (READ_ONCE(loan->dead)) {
		dword = unanswered(loan, at);
	} else if (where < DLEND_CFG_SIZE && loan->live & BIT_ULL(where / 4)) {
		if (!read_live(loan, at, &dword)) {
			/* A driver that takes the ones for a value fails for no clear reason. */
			if (!READ_ONCE(loan->dead))
				pr_warn_ratelimited("dl_borrower: device %x: node %u does not answer, and configuration register %#x has ones for what only that node knows\n",
						    loan->fdid, dlend_peer_node(loan->peer), at);
			dword = unanswered(loan, at);
		}
	} else {
		spin_lock_irqsave(&loan->config_lock, flags);
		dword = get_unaligned_le32(loan->config + at);
		spin_unlock_irqrestore(&loan->config_lock, flags);
	}
	*value = part(dword, where, size);
}

static int config_read(struct pci_bus *bus, unsigned int devfn, int where,
		       int size, u32 *value)
{
	int idx = srcu_read_lock(&borrower_srcu);
	struct borrower_loan *loan = loan_of(bus, devfn);

	*value = ~0;
	if (loan && where + size <= DLEND_CFG_SPACE)
		read_loan(loan, where, size, value);
	srcu_read_unlock(&borrower_srcu, idx);
	return loan ? PCIBIOS_SUCCESSFUL : PCIBIOS_DEVICE_NOT_FOUND;
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

static void write_loan(struct borrower_loan *loan, int where, int size, u32 value)
{
	unsigned long flags;

	if (is_bar(where)) {
		spin_lock_irqsave(&loan->config_lock, flags);
		write_bar(loan, where, size, value);
		spin_unlock_irqrestore(&loan->config_lock, flags);
		return;
	}
	/* The function has no ROM, so the kernel's writes to find its size do nothing. */
	if (where >= PCI_ROM_ADDRESS && where < PCI_ROM_ADDRESS + 4)
		return;
	atomic64_inc(&borrower_counts.config_writes);
	write_later(loan, where, size, value);
}

static int config_write(struct pci_bus *bus, unsigned int devfn, int where,
			int size, u32 value)
{
	int idx = srcu_read_lock(&borrower_srcu);
	struct borrower_loan *loan = loan_of(bus, devfn);

	if (loan && where + size <= DLEND_CFG_SPACE && !READ_ONCE(loan->dead))
		write_loan(loan, where, size, value);
	srcu_read_unlock(&borrower_srcu, idx);
	return loan ? PCIBIOS_SUCCESSFUL : PCIBIOS_DEVICE_NOT_FOUND;
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
			loan->msix = at;
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
	INIT_DELAYED_WORK(&loan->send, send_work);
}

void borrower_config_stop(struct borrower_loan *loan)
{
	cancel_delayed_work_sync(&loan->send);
}

/* Some devices need seconds for a reset. */
#define RESET_TIMEOUT_MS 20000

static int reset(struct borrower_loan *loan)
{
	struct dlend_msg_return req = {
		.fdid = cpu_to_le32(loan->fdid),
		.loan = cpu_to_le32(loan->number),
	};
	int ret;

	if (READ_ONCE(loan->dead))
		return -ENODEV;
	/* All earlier writes to the configuration space must have reached the lender. */
	flush_delayed_work(&loan->send);
	if (READ_ONCE(loan->sent) != READ_ONCE(loan->written))
		return -ETIMEDOUT;
	ret = dlend_call(loan->peer, DLEND_OP_RESET, &req, sizeof(req), NULL, 0,
			 RESET_TIMEOUT_MS);
	return min(ret, 0);
}

int dlend_guest_reset(struct pci_dev *pdev)
{
	struct borrower_loan *loan = borrower_loan_of(&pdev->dev);
	int err = loan ? reset(loan) : -ENODEV;

	borrower_loan_put(loan);
	return err;
}
EXPORT_SYMBOL_GPL(dlend_guest_reset);
