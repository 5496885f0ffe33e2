/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Within dl_borrower: what its files share.
 *
 * A loan has a host bridge and a PCI domain of its own, with one function on it.
 * All of that comes and goes with the loan, and one loan knows nothing of another.
 *
 * A file calls only files below it:
 *
 *	borrower_main.c		loans: begin and end, requests of the lender
 *	borrower_bridge.c	host bridge and configuration space
 *	borrower_dma.c  borrower_msi.c
 *				DMA, interrupts
 *	borrower_window.c	windows onto this node
 *	borrower_stats.c	counters
 *
 * Locks, outermost first: borrower_admin, for the life of loans; then those of the
 * PCI core and of drivers; then borrower_lock, any context, for the list.
 */
#ifndef BORROWER_H
#define BORROWER_H

#include <linux/dma-mapping.h>
#include <linux/iova.h>
#include <linux/irqdomain.h>
#include <linux/list.h>
#include <linux/msi.h>
#include <linux/pci.h>
#include <linux/spinlock.h>

#include "dl_borrower.h"
#include "dl_fabric.h"
#include "dl_proto.h"

struct borrower_bar {
	u64 size;	/* 0: there is none */
	u32 flags;
	struct dlend_import *import;
	struct resource *parent;
};

struct borrower_loan {
	struct list_head node;
	u32 fdid;
	u32 number;
	struct dlend_peer *peer;		/* counted */
	struct device *requester;	/* counted; the device's writes are its */
	struct dlend_device_info device;	/* as its lender describes it */

	/*
	 * Set when the device is lost: nothing of it is touched any more. It may
	 * be set at any time, under dma_lock.
	 */
	bool dead;
	bool revoked;			/* the lender wants it back */

	/* The host bridge. */
	struct pci_host_bridge *bridge;
	struct pci_dev *pdev;		/* counted */
	unsigned int devfn;
	spinlock_t config_lock;		/* guards @config */
	u8 config[DLEND_CFG_SIZE];	/* the image */
	u64 live;			/* bit n: the lender is asked for dword n */
	u32 lenders[DLEND_CFG_SIZE / 4];	/* bits that the lender may change */
	struct borrower_bar bars[DLEND_BARS];

	/* DMA. */
	struct dlend_export *dma_export;
	u64 dma_start, dma_size;	/* range of this node's bus that is exported */
	u64 dma_bus;			/* address of dma_start for the device */
	bool translated;		/* an IOMMU here maps it page by page */
	spinlock_t dma_lock;		/* guards @dead, and changes to the domain */
	struct iommu_domain *domain;
	struct iova_domain iova;
	atomic64_t dma_used;

	/* Interrupts. */
	struct dlend_export *msi_export;
	u64 msi_size;
	u64 msi_bus;			/* address of the window for the device */
	struct fwnode_handle *msi_fwnode;
	struct irq_domain *msi_domain;
	struct msi_domain_info msi_info;
	struct msi_desc msi_proxy;	/* stands for the requester */
};

/*
 * Private data of a bus, in the memory of its host bridge: a driver may keep a
 * function, and the bus with it, for long after the function was removed.
 */
struct borrower_bus {
	struct pci_sysdata sysdata;	/* first, where the kernel expects it */
	struct borrower_loan *loan;	/* NULL after the function was removed */
};

/* The loan of a function that was added and not yet removed. */
static inline struct borrower_loan *borrower_loan_of(struct device *dev)
{
	return ((struct borrower_bus *)to_pci_dev(dev)->bus->sysdata)->loan;
}

/* borrower_stats.c: counted since the module was loaded */

extern struct borrower_counts {
	atomic64_t loans, lost, returned;
	atomic64_t config_reads, config_writes, config_failed;
	atomic64_t no_room;	/* mappings that did not fit into the window */
} borrower_counts;

void borrower_stats_init(void);
void borrower_stats_exit(void);

/* Errors of the functions below are negative errnos. All may sleep. */

/* borrower_window.c */

/* A range of this node's bus, for the device. */
struct borrower_range {
	u64 start, size;
	unsigned int kind;	/* DLEND_WINDOW_* */
	const char *purpose;	/* for messages */
};

/* The caller ends the export. Return: 0, or an error with its reason in @why. */
int borrower_window_open(struct borrower_loan *loan,
			 const struct borrower_range *range,
			 struct dlend_export **ret_export,
			 struct dlend_window_desc *desc,
			 struct dlend_why *why);

/* borrower_dma.c, in the order of a loan */

/* Opens the window; fills in its part of @req. */
int borrower_dma_prepare(struct borrower_loan *loan, u64 window,
			 struct dlend_msg_attach *req, struct dlend_why *why);
/* After the lender has attached: dma_bus is set. */
int borrower_dma_start(struct borrower_loan *loan);
/* Gives the function its DMA operations, before it has a driver. */
void borrower_dma_attach(struct borrower_loan *loan);
/* Hands the function over to dl_fabric, after it was removed. */
void borrower_dma_detach(struct borrower_loan *loan);
/* Ends all mapping because the device is lost. Any context. */
void borrower_dma_kill(struct borrower_loan *loan);
/* Undoes prepare and start, as far as they came. */
void borrower_dma_stop(struct borrower_loan *loan);
/* Return: bytes of the window that are not mapped. */
u64 borrower_dma_free(struct borrower_loan *loan);

/* borrower_msi.c, likewise */

int borrower_msi_prepare(struct borrower_loan *loan,
			 struct dlend_msg_attach *req, struct dlend_why *why);
/* After the lender has attached: msi_bus is set. */
int borrower_msi_start(struct borrower_loan *loan);
void borrower_msi_stop(struct borrower_loan *loan);

/* borrower_bridge.c */

/* Adds the function; bars and config of the loan are set. */
int borrower_bridge_add(struct borrower_loan *loan);
/* With @surprise the device has gone, and its driver is told so first. */
void borrower_bridge_remove(struct borrower_loan *loan, bool surprise);

#endif
