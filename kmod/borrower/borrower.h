/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private header of dl_borrower.
 *
 * A loan has a host bridge and a PCI domain of its own, with one function. They exist
 * as long as the loan, and no two loans share any of them.
 *
 * A file calls only files below it:
 *
 *	borrower_main.c		loans: begin and end, requests of the lender
 *	borrower_request.c	requests to the lender
 *	borrower_list.c		the devices of other nodes
 *	borrower_bridge.c	host bridge
 *	borrower_config.c	configuration space
 *	borrower_dma.c  borrower_msi.c  borrower_check.c
 *				DMA, interrupts, lenders that lie
 *	borrower_allow.c	devices that may be borrowed
 *	borrower_quirks.c	functions of the kernel that depend on IDs
 *	borrower_guest.c  borrower_irq.c
 *				memory of virtual machines, interrupts that the lender handles
 *	borrower_p2p.c  borrower_place.c
 *				peer-to-peer, and where virtual machines have the devices
 *	borrower_window.c  borrower_space.c
 *				windows onto this node, addresses of an IOMMU
 *	borrower_stats.c	counters
 *
 * Locks, outermost first:
 *
 *	mutex		of a loan. Held while the loan begins or ends.
 *	locks of the PCI core and of drivers
 *	windows_mutex	of a loan. Guards its windows.
 *	slices_mutex	guards the addresses of translated windows.
 *	place_mutex	of a loan. Held while its lender is told where its device reaches
 *			others of a virtual machine; taken below the locks of dl_mdev.
 *	mutex		of a pair of peer-to-peer. Guards its windows.
 *	allow_mutex	guards the list of devices that may be borrowed.
 *	borrower_lock, borrower_p2p_lock
 *			guard the lists of loans and of pairs; taken in any context.
 *	irq_lock	of a loan. Held while its user is told of interrupts; taken in any
 *			context.
 *
 * A mutex that is held over a wait for a lender belongs to one loan or one pair, so the
 * loans of other lenders do not wait. Each loan and each pair ends in a work of its own.
 * borrower_srcu is held by those who find a loan by its function.
 *
 * The fabric tells of a loss while an adapter is removed, and then the PCI core's lock
 * of removals is held. So peer_down closes the windows of its loans, for which it takes
 * windows_mutex only, and leaves the functions to the works "reap" of the loans.
 */
#ifndef BORROWER_H
#define BORROWER_H

#include <linux/dma-mapping.h>
#include <linux/iova.h>
#include <linux/irqdomain.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/msi.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "dl_borrower.h"
#include "dl_fabric.h"
#include "dl_proto.h"

struct borrower_bar {
	u64 size;	/* in bytes; 0 if there is no such BAR */
	u32 flags;	/* low bits of the register, PCI_BASE_ADDRESS_* */
	struct dlend_import *import;
	/* Of the import; they stay when the import is closed. */
	phys_addr_t phys;
	struct resource *parent;
};

/* A write to the configuration space that the lender was not told yet. */
struct borrower_write {
	u16 at, size;
	u32 value;
};

/* Addresses of an IOMMU domain that a loan has. See borrower_space.c. */
struct borrower_slice {
	struct list_head node;
	struct dlend_peer *peer;	/* NULL if the loan has no slice */
	struct iommu_domain *domain;
	u64 space;			/* bytes of the window that it is part of */
	u64 start, size;
};

struct borrower_loan {
	struct kref ref;
	struct list_head node;
	struct mutex mutex;			/* held while the loan begins or ends */
	struct work_struct reap;	/* ends the loan if it is dead or revoked */
	bool complete;		/* between begin and end; guarded by borrower_lock */
	bool ended;		/* guarded by @mutex */
	struct list_head p2p_node;		/* borrower_p2p.c, as the next two */
	bool p2p_ended;			/* no further pair; guarded by borrower_p2p_lock */
	struct mutex place_mutex;
	u32 fdid;
	u32 number;				/* names the loan in requests */
	u32 weight;	/* of all devices that share the lender's window, see dl_proto.h */
	struct dlend_peer *peer;		/* counted */
	struct device *requester;	/* counted; requester of the device's writes */
	struct dlend_device_info device;	/* as its lender describes it */

	/*
	 * Set when the device is lost, at any time, under dma_lock. From then on
	 * the device is not accessed.
	 */
	bool dead;
	bool gone;			/* the lender has the device no more */
	/* The lender wants the device back, or somebody has removed the function. */
	bool revoked;
	bool removed;			/* the function is not on its bus any more */

	struct mutex windows_mutex;	/* guards the windows below */
	bool closed;			/* no window is opened any more */

	/* The host bridge. */
	struct pci_host_bridge *bridge;
	struct pci_dev *pdev;		/* counted */
	unsigned int devfn;
	spinlock_t config_lock;		/* guards @config, and the writes */
	u8 config[DLEND_CFG_SPACE];	/* image of the configuration space */
	u64 live;			/* bit n: the lender is asked for dword n */
	u32 lenders[DLEND_CFG_SIZE / 4];	/* bits that the lender may change */
	unsigned int msix;		/* offset of the MSI-X capability; 0 if none */
	unsigned int aer;		/* offset of Advanced Error Reporting; 0 if none */
	struct borrower_bar bars[DLEND_BARS];
	struct borrower_write writes[64];	/* write n is at n modulo 64 */
	u32 written, sent;		/* number of writes so far, and of those sent */
	unsigned long sending;		/* bit 0: somebody sends a write now */
	u64 silent_since;	/* ns; since then no write had an answer; 0: the last had */
	struct delayed_work send;

	/* DMA. */
	struct dlend_export *dma_export;
	u64 dma_start, dma_size;	/* range of this node's bus that the device reaches */
	u64 dma_bus;			/* address of dma_start for the device */
	bool translated;		/* an IOMMU here translates the window */
	bool guest;			/* for a virtual machine of this node */
	bool forwards;			/* its lender handles MSI and MSI-X */
	bool once;			/* it is returned when its user closes it */
	bool left;			/* it is once, and its user has closed it */
	/* The virtual machine, and where its BARs are in it. Guarded by borrower_p2p_lock. */
	const void *machine;
	u64 machine_bars[DLEND_BARS];
	struct borrower_slice slice;	/* of a translated window that is not the loopback's */
	spinlock_t dma_lock;		/* guards @dead, @dma_pages and changes to the domain */
	struct iommu_domain *domain;	/* NULL while nothing is mapped or undone */
	u64 dma_mapped;		/* bytes that are mapped in it */
	unsigned long *dma_pages;	/* a bit for each page of the window that is mapped */
	void *sink;		/* a page, where mappings of a lost device lead */
	bool iova_ready;
	struct iova_domain iova;
	atomic64_t dma_used;		/* bytes of the window that are mapped */

	/* Interrupts. */
	struct dlend_export *msi_export;
	u64 msi_size;			/* bytes of the MSI window */
	u64 msi_bus;			/* address of the window for the device */
	struct fwnode_handle *msi_fwnode;
	struct irq_domain *msi_domain;
	struct msi_domain_info msi_info;
	struct msi_desc msi_proxy;	/* stands for the requester */
	spinlock_t irq_lock;		/* guards the four below */
	dlend_raise raise;		/* NULL if the lender handles none */
	void *raise_data;
	u32 irq_number;			/* of the lender's last message */
	u32 unmask_number;		/* of the last IRQ_UNMASK */
};

/*
 * Private data of a bus. It is part of the host bridge's memory, because a driver may
 * keep a function and its bus for a long time after the function was removed.
 */
struct borrower_bus {
	struct pci_sysdata sysdata;	/* first, where the kernel expects it */
	struct borrower_loan *loan;	/* NULL after the function was removed */
};

/* borrower_main.c */

/* Soon ends a loan that is dead, revoked or left. The caller has a reference. Any context. */
void borrower_reap(struct borrower_loan *loan);

/* borrower_window.c */

/* For works that wait for lenders or for the PCI core. */
extern struct workqueue_struct *borrower_wq;
extern struct srcu_struct borrower_srcu;

void borrower_loan_free(struct kref *ref);

static inline struct borrower_loan *borrower_loan_get(struct borrower_loan *loan)
{
	if (loan)
		kref_get(&loan->ref);
	return loan;
}

/* NULL does nothing. */
static inline void borrower_loan_put(struct borrower_loan *loan)
{
	if (loan)
		kref_put(&loan->ref, borrower_loan_free);
}

/*
 * borrower_loan_enter() - find the loan of a function, which stays until borrower_loan_exit()
 * @idx: set to what borrower_loan_exit() needs, also if there is no loan
 *
 * A driver may free memory after the function was removed, while its loan ends. Any context
 * but an NMI. Return: the loan, or NULL if the function is removed.
 */
static inline struct borrower_loan *borrower_loan_enter(struct device *dev, int *idx)
{
	*idx = srcu_read_lock(&borrower_srcu);
	return READ_ONCE(((struct borrower_bus *)to_pci_dev(dev)->bus->sysdata)->loan);
}

static inline void borrower_loan_exit(int idx)
{
	srcu_read_unlock(&borrower_srcu, idx);
}

/* Return: a reference to the loan of a function, or NULL if the function is removed. */
static inline struct borrower_loan *borrower_loan_of(struct device *dev)
{
	struct borrower_loan *loan;
	int idx;

	loan = borrower_loan_get(borrower_loan_enter(dev, &idx));
	borrower_loan_exit(idx);
	return loan;
}

/* borrower_stats.c: counted since the module was loaded */

extern struct borrower_counts {
	atomic64_t loans, lost, returned;
	atomic64_t config_reads, config_writes, config_failed;
	atomic64_t no_room;	/* mappings that did not fit into the window */
	atomic64_t mapped;	/* bytes that IOMMUs translate for loans now */
} borrower_counts;

void borrower_stats_init(void);
void borrower_stats_exit(void);

/* Errors of the functions below are negative errnos. All may sleep. */

/* A range of this node's bus that the device shall reach. */
struct borrower_range {
	u64 start, size;
	unsigned int kind;	/* DLEND_WINDOW_* */
	const char *purpose;	/* for messages */
};

/*
 * Exports a range. The caller ends the export by borrower_window_close(). Return: 0, or
 * an error with @why set.
 */
int borrower_window_open(struct borrower_loan *loan,
			 const struct borrower_range *range,
			 struct dlend_export **ret_export,
			 struct dlend_window_desc *desc,
			 struct dlend_why *why);
/* Ends an export, if there is one. windows_mutex is held. */
void borrower_window_close(struct dlend_export **export);

/* borrower_space.c */

/*
 * Takes addresses for a window of @size bytes in the domain of the requester, or of a
 * default size if @size is 0. Sets @slice of the loan. Return: 0, or an error with @why
 * set.
 */
int borrower_space_take(struct borrower_loan *loan, u64 size, struct dlend_why *why);
/* Gives the addresses back, if there are any. Nothing is mapped at them. */
void borrower_space_give(struct borrower_loan *loan);
/* Return: the first address of every translated window. */
u64 borrower_space_start(void);

/* borrower_quirks.c */

/*
 * Return: the name of a function that this kernel calls for a PCI function with these IDs
 * and this class, and that is not known to be harmless; NULL if there is none.
 */
const char *borrower_quirk(u16 vendor, u16 device, u32 class);
/* Return: the reason why borrower_quirk() does not know this kernel; NULL if it does. */
const char *borrower_quirks_unknown(void);

/* borrower_allow.c */

int borrower_allow_init(void);
/* Return: 0 if such a device may be borrowed, or -EACCES with @why set. */
int borrower_allow_check(u16 vendor, u16 device, u32 class, struct dlend_why *why);

/* borrower_check.c. Return: 0, or -EPROTO with @why set. */

/*
 * Checks the response to BORROW, and stores what it says of the BARs. -EACCES if this node
 * may not borrow such a device.
 */
int borrower_check_borrow(struct borrower_loan *loan,
			  const struct dlend_msg_borrow_answer *answer,
			  struct dlend_why *why);
/* Checks the response to ATTACH, as it is in @config, @dma_bus and @msi_bus. */
int borrower_check_attach(struct borrower_loan *loan, struct dlend_why *why);
/* Checks the extended capabilities in @config. */
int borrower_check_extended(struct borrower_loan *loan, struct dlend_why *why);
/* Checks the addresses at which the BARs can be reached here. */
int borrower_check_windows(struct borrower_loan *loan, struct dlend_why *why);

/* borrower_dma.c, in the order of use */

/* Opens the DMA window, and describes it in @req. */
int borrower_dma_prepare(struct borrower_loan *loan, u64 window,
			 struct dlend_msg_attach *req, struct dlend_why *why);
/* Called when the lender has answered ATTACH, so dma_bus is set. */
int borrower_dma_start(struct borrower_loan *loan);
/* Gives the function its DMA operations, before it has a driver. */
void borrower_dma_attach(struct borrower_loan *loan);
/* Hands the function over to dl_fabric after the function was removed. */
void borrower_dma_detach(struct borrower_loan *loan);
/* Sets @dead: from now on a mapping leads to no memory of others. Any context. */
void borrower_dma_kill(struct borrower_loan *loan);
/*
 * Undoes all mappings that are left. The device's writes do not arrive any more. After
 * this no mapping is made or undone, so the domain may go.
 */
void borrower_dma_purge(struct borrower_loan *loan);
/*
 * Undoes prepare and start, also if one of them has failed or was not called. The window
 * is closed already.
 */
void borrower_dma_stop(struct borrower_loan *loan);
/* Return: bytes of the window that are not mapped. */
u64 borrower_dma_free(struct borrower_loan *loan);
/* Return: whether a function has a loan's DMA operations. */
bool borrower_dma_is_ours(struct device *dev);
/* Maps a list of whole pages, @length bytes, at addresses of the IOMMU that the caller has. */
int borrower_dma_map_list(struct borrower_loan *loan, u64 start, struct scatterlist *list,
			  int n, size_t length);
/* Undoes a mapping, unless the purge has done, or does, so. */
void borrower_dma_unmap(struct borrower_loan *loan, u64 start, size_t length);

/* borrower_request.c. Each waits for the lender. Return: 0, or an error with @why set. */

/* Sets @number and @device of the loan, and what is known of the BARs. */
int borrower_send_borrow(struct borrower_loan *loan, struct dlend_why *why);
/* Sets @dma_bus, @msi_bus, @live and the first part of @config. */
int borrower_send_attach(struct borrower_loan *loan, struct dlend_msg_attach *req,
			 struct dlend_msg_attach_answer *answer, struct dlend_why *why);
/* Sets the rest of @config. */
int borrower_fetch_extended(struct borrower_loan *loan, struct dlend_why *why);
/* A lender that does not take the device back is named in the log. */
void borrower_send_return(struct borrower_loan *loan);

/* borrower_list.c */

/* Takes what a lender says of a device. */
void borrower_device_info(struct dlend_device_info *info,
			  const struct dlend_msg_device *msg);

/* borrower_p2p.c */

/* DMA operations of borrowed functions. Any context. */
dma_addr_t borrower_p2p_map(struct device *dev, phys_addr_t phys, size_t size,
			    enum dma_data_direction dir, unsigned long attrs);
void borrower_p2p_unmap(struct device *dev, dma_addr_t addr, size_t size,
			enum dma_data_direction dir, unsigned long attrs);
/* The BARs of the loan have addresses here. */
void borrower_p2p_add(struct borrower_loan *loan);
/*
 * Ends all pairs of the device, which has no driver any more. Their lenders close the windows
 * at the latest when the device is returned, so this waits for slow ones no longer than
 * 1.5 s; the rest is done later.
 */
void borrower_p2p_end(struct borrower_loan *loan);
/*
 * Lets one device reach another one; a device without a loan is this node's own, with the
 * function @local. Return: 0, or an error with @why set.
 */
int borrower_p2p_enable(u32 source, struct borrower_loan *source_loan, u32 target,
			struct borrower_loan *target_loan, struct pci_dev *local,
			struct dlend_why *why);
int borrower_p2p_disable(u32 source, u32 target, struct dlend_why *why);
unsigned int borrower_p2p_list(struct dlend_p2p_info *infos, unsigned int max);
/*
 * Notes which machine has the loan's device, and where, and tells the lenders. No lock of
 * this module is held.
 */
void borrower_p2p_place(struct borrower_loan *loan, const void *machine,
			const u64 bars[DLEND_BARS]);
/*
 * End pairs whose windows are gone: a lender has said so, or a function of this node was
 * unplugged. Any context that has interrupts on. Return: whether there are such windows.
 */
bool borrower_p2p_lose(struct dlend_peer *peer, const struct dlend_msg_p2p *msg);
bool borrower_p2p_unplugged(struct device *dev);
/* Closes the windows through which a lost node reaches this one. */
void borrower_p2p_peer_down(struct dlend_peer *peer);

/* borrower_msi.c, in the order of use */

int borrower_msi_prepare(struct borrower_loan *loan,
			 struct dlend_msg_attach *req, struct dlend_why *why);
/* Called when the lender has answered ATTACH, so msi_bus is set. */
int borrower_msi_start(struct borrower_loan *loan);
/* The window is closed already. */
void borrower_msi_stop(struct borrower_loan *loan);

/* borrower_irq.c */

/* Tells the user of the device of interrupts. irq_lock is held. */
void borrower_irq_raise(struct borrower_loan *loan, const struct dlend_msg_irq *msg);

/* borrower_config.c */

extern struct pci_ops borrower_config_ops;

/*
 * Completes the image: no bridge, no ROM, no line interrupt, and the BARs of this node.
 * @bars, @config and @live of the loan are set.
 */
void borrower_config_init(struct borrower_loan *loan);
/* Stops sending writes. The function is not on its bus any more. */
void borrower_config_stop(struct borrower_loan *loan);

/* borrower_bridge.c */

/* Adds the function. @bars, @config and @live of the loan are set. */
int borrower_bridge_add(struct borrower_loan *loan);
/* Removes the function. With @surprise the device is gone, and its driver is told first. */
void borrower_bridge_remove(struct borrower_loan *loan, bool surprise);
/*
 * Called when @gone, any device, has left its bus but still has its resources.
 *
 * The BARs of a borrowed function lie below a BAR of the NTB, or in the loopback below
 * the lent device's. If that device leaves first, the PCI core would take its BARs out of
 * the tree of resources with all that is below them: the function's driver could not
 * release its regions, and another device could get their addresses. So what is below a
 * resource for which @is_ours returns true moves up, and stays until the function leaves.
 */
void borrower_bridge_keep_bars(struct pci_dev *gone,
			       bool (*is_ours)(const struct resource *res));

#endif
