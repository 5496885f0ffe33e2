/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private header of dl_lender.
 *
 * A file calls only files below it:
 *
 *	lender_main.c		orders of the administrator, our driver
 *	lender_loan.c		requests of borrowers: begin and end of a loan
 *	lender_p2p.c		windows between devices, at the lender of the one that uses them
 *	lender_grant.c		the same at the lender of the other one
 *	lender_config.c  lender_iommu.c  lender_irq.c  lender_check.c
 *				configuration space, IOMMU, interrupts that are handled
 *				here, devices that cannot be lent
 *	lender_revoke.c		messages to borrowers
 *	lender_table.c		the devices
 *	lender_stats.c		counters, and the log of what was refused
 *
 * lender_span.h has spans of addresses.
 *
 * Locks, outermost first:
 *
 *	order_mutex	of a device. Serializes the orders of the administrator for it.
 *			Held while a driver of the device is bound and unbound, and the
 *			driver of a physical function may then remove virtual functions;
 *			so it is not taken where the driver core calls this module.
 *	device lock	of a function; the driver core holds it in probe and
 *			remove. Guards the loan of the device, the windows of the
 *			loan, and the reset.
 *	mutex of a grant
 *			held while its windows open or close, and while the lender of
 *			its source is told.
 *	unplug_mutex	a function whose entry is made does not go away.
 *	p2p_mutex, grant_mutex
 *			each guards the list of the windows between devices at one end,
 *			and what sources reach. Neither is taken with the other. Nobody
 *			waits for a peer while holding one.
 *	lender_lock	taken with interrupts off. Guards the table, and the data
 *			for accesses to configuration space, which come in any
 *			context.
 *
 * A lock that is held over a wait for one peer is not needed for the loans of another
 * one: whoever ends the loans of a peer takes the device locks of these loans only.
 */
#ifndef LENDER_H
#define LENDER_H

#include <linux/completion.h>
#include <linux/iommu.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "dl_fabric.h"
#include "dl_lender.h"
#include "dl_proto.h"
#include "lender_span.h"

/*
 * The configuration space of a device, as its borrower sees it and may change it.
 * The other arrays are masks: a bit that is set has that property.
 */
struct lender_config {
	u8 shown[DLEND_CFG_SPACE];	/* values of the bits that are not live */
	u8 keep[DLEND_CFG_SPACE];	/* written to @shown only, without effect */
	/* No bit of an extended capability has these properties. */
	u8 live[DLEND_CFG_SIZE];	/* read from the device */
	u8 pass[DLEND_CFG_SIZE];	/* written to the device */
	u8 clear[DLEND_CFG_SIZE];	/* written to the device; a 1 clears the bit */
	u8 zero[DLEND_CFG_SIZE];	/* always written to the device as 0 */
	u8 msi, msi_end;	/* start and end of the MSI registers; 0 if none */
	u64 msi_bus, msi_size;	/* address and size of the MSI window, for the device */
};

struct lender_loan {
	struct dlend_peer *peer;	/* counted */
	u32 number;			/* names the loan in requests */
	bool attached;			/* the windows are open */
	unsigned long attach_by;	/* the loan ends then if it is not attached; jiffies */
	bool failed;			/* the device had an error, which ends the loan */
	bool guest;			/* for a virtual machine, with DLEND_ATTACH_GUEST */
	u64 dma_size;			/* bytes of the DMA window */
	u64 dma_bus;			/* its address for the device */
	struct iommu_domain *domain;	/* NULL without an IOMMU */
	struct dlend_import *dma, *msi;
	bool admitted;			/* the NTB forwards the device's requests */
	bool misused;	/* the log says so; guarded by lender_lock */
	/* NULL, or those that this node handles. Guarded as lender_device.loan. */
	struct lender_irqs *irqs;
	struct {
		struct dlend_export *export;
		dma_addr_t addr;	/* bus address of the BAR, for the peer */
		u64 size;		/* 0 if there is nothing to undo */
	} bars[DLEND_BARS];
};

struct lender_device {
	struct kref ref;
	u32 fdid;
	struct pci_dev *pdev;		/* counted */
	u64 fabric;			/* network behind its port; 0: not known */
	/* Of the physical function, which may leave before a virtual function does. */
	u16 physical, physical_device, virtual_number;

	struct mutex order_mutex;	/* guards the three below */
	bool taken;			/* taken from its old driver, or being taken */
	bool driven;			/* it had a driver then */
	char *old_override;		/* driver_override as it was */

	/* Guarded by the device lock. */
	bool bound;			/* bound to our driver, and may be lent */
	bool was_untrusted;		/* the function, for the kernel, before that */
	struct iommu_group *group;	/* NULL without an IOMMU */
	struct pci_saved_state *saved;
	struct completion idle;		/* completed when a loan ends */
	struct work_struct fail;	/* ends a loan that has failed */
	struct delayed_work expire;	/* ends a loan that nobody attaches */
	struct lender_loan *ending;	/* loan that the kernel's reset ends, or NULL */

	/* A writer holds the device lock and lender_lock, a reader one of them. */
	struct lender_loan *loan;
	struct lender_loan *leaving;	/* no loan any more, but its windows are still open */

	/* Guarded by lender_lock. */
	bool config_open;		/* the borrower may access @config */
	bool resetting;			/* and soon may again */
	struct lender_config config;
};

/* lender_stats.c: counted since the module was loaded */

extern struct lender_counts {
	atomic64_t loans, resets, reset_failures;
	atomic64_t config_reads, config_writes;
	atomic64_t config_refused;	/* bits that a borrower tried to write but may not */
	atomic64_t requests_refused;	/* malformed, or for a loan of another borrower */
	atomic64_t p2p_routes;	/* windows to other devices, opened for devices of this node */
	atomic64_t p2p_grants;	/* devices of this node opened to other lenders */
	atomic64_t interrupts;	/* that were handled here for borrowers */
	atomic64_t p2p_placed;	/* BARs that devices of virtual machines reach */
} lender_counts;

/* Reasons that several requests are refused for. */
#define LENDER_NO_LOAN "it names a loan that it does not have"
#define LENDER_NO_WINDOWS "its windows are not open"
#define LENDER_NO_REGISTER "there is no such register"

/*
 * Counts a request of @peer that is refused, and writes it into the log, unless there are
 * very many. @what: the reason. Any context. Return: @err.
 */
int lender_refuse(struct dlend_peer *peer, int err, const char *what);

void lender_stats_init(void);
void lender_stats_exit(void);

/* lender_table.c */

/* For works that wait for peers. */
extern struct workqueue_struct *lender_wq;
int lender_table_init(void);
/* Waits for the works. */
void lender_table_exit(void);

extern spinlock_t lender_lock;	/* see above */
extern struct lender_device *lender_devices[DLEND_DEVICES_MAX];

/* Return: a reference, or NULL if no device has this ID. */
struct lender_device *lender_get(u32 fdid);
/* NULL does nothing. */
void lender_put(struct lender_device *d);
/*
 * lender_lock is held. Return: the device of a loan of @peer, without a reference, or
 * NULL if there is no such loan.
 */
struct lender_device *lender_of_loan(struct dlend_peer *peer, u32 fdid,
				     u32 loan);
/* Return: a reference to a device that is lent to @peer, in use and not lost; or NULL. */
struct lender_device *lender_get_lent(struct dlend_peer *peer, u32 fdid, u32 loan);
/* Return: the weight of @d and of all devices that are not lent, see dl_window.h. */
u32 lender_weight(const struct lender_device *d);
/* Gives the caller references to all devices, in the order of IDs. Return: how many. */
unsigned int lender_collect(struct lender_device **devices, unsigned int max);
/*
 * Return: the node to which the device is lent, or whose loan of it has not ended; 0.
 * @but: (nullable) a peer whose loans do not count
 */
u32 lender_holder(struct lender_device *d, struct dlend_peer *but);
/* Return: whether a loan of the device to @peer has not ended. */
bool lender_is_held_by(struct lender_device *d, struct dlend_peer *peer);
/* Gives the device an ID. The table takes the caller's reference if it succeeds. */
int lender_enter(struct lender_device *d, struct dlend_why *why);
/*
 * Takes the device from the table, if it is still there, and drops the table's
 * reference. Any context that may sleep.
 */
void lender_leave(struct lender_device *d);
void lender_describe(struct lender_device *d, struct dlend_device_info *info);

/* lender_check.c. Return: 0 if the function can be lent; -EINVAL with the reason in @why. */

int lender_check(struct pci_dev *pdev, struct dlend_why *why);
/*
 * Return: whether the function's interrupts cross an NTB. An MSI message is a memory write;
 * a line interrupt (INTx) is none, and this node has to handle it.
 */
bool lender_check_interrupts(struct pci_dev *pdev);
/* Return: also -EBUSY, if the function has virtual functions. */
int lender_check_virtual(struct pci_dev *pdev, struct dlend_why *why);
int lender_check_taken(struct pci_dev *pdev, struct dlend_why *why);
/*
 * Checks that a window that leads to BAR @bar opens no other function: the physical
 * addresses from @start to @start + @size - 1. Return: 0, or -EPERM after a message.
 */
int lender_check_neighbours(struct pci_dev *pdev, unsigned int bar, u64 start, u64 size);
/* The same for all that @peer would reach by an export of the BAR. Comes before it. */
int lender_check_reach(struct pci_dev *pdev, unsigned int bar, struct dlend_peer *peer);

/* lender_loan.c */

/* Prepares a new entry of the table. */
void lender_loan_prepare(struct lender_device *d);
int lender_loan_init(void);
/* From here on there is no new loan. */
void lender_loan_stop(void);
/*
 * From here on there is no new loan, until it is called with false. A request that was
 * earlier has the device lock until its loan is there.
 */
void lender_loan_sleep(bool asleep);
/* Ends all loans. */
void lender_loan_exit(void);
/* Resets the device, so that nothing of its last user is left. The device lock is held. */
void lender_reset(struct lender_device *d);
/*
 * The PCI core resets the device, for another reason than a loan: the loan ends. Between
 * the two calls the core holds the device lock, and keeps programs from configuration
 * space, as lender_reset() does by itself.
 */
void lender_reset_begins(struct lender_device *d);
void lender_reset_ends(struct lender_device *d);
/* Ends the loan of the device, if there is one. The device lock is held. */
void lender_end_loan(struct lender_device *d);
/* The loan ends soon. From now on the device is silent. The device lock is held. */
void lender_fail(struct lender_device *d);
/* Makes the device as it was before its first loan, after a reset. The device lock is held. */
void lender_restore(struct lender_device *d);

/* lender_revoke.c */

/*
 * Asks the borrower to return the device, or tells it that the device is gone. It does not
 * wait for the answer. Sleeps. Return: whether there is a borrower.
 */
bool lender_revoke(struct lender_device *d, bool gone);
/* Tells the borrower, if there is one, that the device is gone. Waits for 2 s at most. */
void lender_tell_gone(struct lender_device *d);

/* lender_p2p.c */

int lender_p2p_init(void);
void lender_p2p_exit(void);
/*
 * Closes all windows to the device, and from it to others. The loan of the device is over
 * for requests, but its domain is still there. The device lock is held. Sleeps.
 */
void lender_p2p_end(struct lender_device *d);
/* Closes the windows that lead to or from a node that is lost. */
void lender_p2p_peer_down(struct dlend_peer *peer);

/* lender_config.c */

/* Makes the image of the device as it is now. config_open is false. */
void lender_config_make(struct lender_device *d);
/* Return: a mask; bit n is set if dword n has bits that are live. */
u64 lender_config_live(const struct lender_config *config);
/* @size: 1, 2 or 4, and @at a multiple of it. lender_lock is held. */
u32 lender_config_read(struct lender_device *d, unsigned int at,
		       unsigned int size);
void lender_config_write(struct lender_device *d, unsigned int at,
			 unsigned int size, u32 value);

/* lender_irq.c */

int lender_irq_init(void);
void lender_irq_exit(void);
/* Return: whether this node can handle the function's line interrupt for a borrower. */
bool lender_irq_has_line(struct pci_dev *pdev);
/*
 * Handles the first @count interrupts of a kind, in place of those before; see IRQ_SET in
 * dl_proto.h. @count is 1 to DLEND_IRQ_VECTORS unless @kind is DLEND_IRQ_NONE. The device
 * lock is held. Return: 0 or a negative errno, with none left.
 */
int lender_irq_open(struct lender_device *d, struct lender_loan *loan,
		    enum dlend_irq_kind kind, unsigned int count);
/* The borrower is told of no more. The device lock is held. Waits for a call at most. */
void lender_irq_close(struct lender_loan *loan);
/*
 * The borrower has served the line; @number as in IRQ_UNMASK. lender_lock is held. Return:
 * 0 or -EINVAL.
 */
int lender_irq_unmask(struct lender_device *d, u32 number);

/* lender_iommu.c. All but the first three are called with the device lock held. */

/* Return: whether the administrator has allowed borrowers to reach all of this node. */
bool lender_iommu_is_waived(void);
/*
 * Return: whether @peer reaches here only what is opened for it, or may reach all; if not,
 * @why has the reason.
 */
bool lender_iommu_bounds(struct dlend_peer *peer, struct dlend_why *why);
/* Return: whether the device may be lent; if not, @why has the reason. */
bool lender_iommu_permitted(struct lender_device *d, struct dlend_why *why);
/*
 * Keeps other users away from the device's IOMMU group until lender_iommu_release().
 * Return: 0 or a negative errno.
 */
int lender_iommu_claim(struct lender_device *d);
void lender_iommu_release(struct lender_device *d);
/*
 * Lets the device reach the imported windows of a loan, and nothing else.
 * @dma_bus, @msi_bus: set to the addresses that the device uses for them
 * Return: 0 or a negative errno.
 */
int lender_iommu_open(struct lender_device *d, struct lender_loan *loan,
		      const struct dlend_msg_attach *req, u64 *dma_bus,
		      u64 *msi_bus);
void lender_iommu_close(struct lender_device *d, struct lender_loan *loan);

/*
 * Lets the device of a loan reach more physical addresses, at the lowest addresses that
 * overlap none of @busy.
 * @n: number of entries of @busy
 * @ret: set to whole pages; @ret_bus: set to the address of @phys for the device
 * Return: 0 or a negative errno.
 */
int lender_iommu_map(struct lender_device *d, struct lender_loan *loan, phys_addr_t phys,
		     u64 size, const struct lender_span *busy, unsigned int n,
		     struct lender_span *ret, u64 *ret_bus);
/*
 * The same at an address of choice. @phys, @size and @bus are multiples of a page.
 * Return: also -EBUSY if the addresses overlap others in use or are no memory's.
 */
int lender_iommu_map_at(struct lender_device *d, struct lender_loan *loan,
			phys_addr_t phys, u64 size, const struct lender_span *busy,
			unsigned int n, u64 bus, struct lender_span *ret);
void lender_iommu_unmap(struct iommu_domain *domain, const struct lender_span *span);

#endif
