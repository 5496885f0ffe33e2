/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Within dl_borrower.
 *
 * A loan has a host bridge and a PCI domain of its own, with one function on it:
 * what there is to it comes and goes with the loan, and one loan knows nothing of
 * another.
 *
 * Locks, outermost first: borrower_admin, for the life of loans; then those of
 * the PCI core and of drivers; then borrower_lock, any context, for the list.
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
	struct device *requester;	/* counted; who sends what the device sends */
	struct dlend_device_info device;	/* as its lender describes it */

	/*
	 * Set when the device is lost: nothing of it is touched any more. By
	 * whom it may be set at any time; who relies on it takes the lock.
	 */
	bool dead;
	bool revoked;			/* the lender wants it back */

	/* The host bridge. */
	struct pci_host_bridge *bridge;
	struct pci_dev *pdev;		/* counted */
	unsigned int devfn;
	spinlock_t config_lock;
	u8 config[DLEND_CFG_SIZE];		/* config_lock */
	u64 live;			/* bit n: dword n has to be asked for */
	u32 lenders[DLEND_CFG_SIZE / 4];	/* bits that the lender may change */
	struct borrower_bar bars[DLEND_BARS];

	/* DMA. */
	struct dlend_export *dma_export;
	u64 dma_start, dma_size;	/* what is exported of this node's bus */
	u64 dma_bus;			/* what the device uses for dma_start */
	bool translated;		/* by an IOMMU here: mapped page by page */
	spinlock_t dma_lock;		/* dead, and changes to the domain */
	struct iommu_domain *domain;
	struct iova_domain iova;
	atomic64_t dma_used;

	/* Interrupts. */
	struct dlend_export *msi_export;
	u64 msi_size;
	u64 msi_bus;			/* what the device uses for the first one */
	struct fwnode_handle *msi_fwnode;
	struct irq_domain *msi_domain;
	struct msi_domain_info msi_info;
	struct msi_desc msi_proxy;	/* stands for the requester */
};

struct borrower_counts {
	atomic64_t loans, lost, returned;
	atomic64_t config_reads, config_writes, config_failed;
	atomic64_t no_room;
};

extern struct borrower_counts borrower_counts;

/*
 * What a bus has, in the memory of its host bridge: a driver may keep a function
 * for long after it was removed, and the bus with it.
 */
struct borrower_bus {
	struct pci_sysdata sysdata;	/* first: the kernel expects it there */
	struct borrower_loan *loan;	/* NULL once the function was removed */
};

/* Not before it was added, or after it was removed. */
static inline struct borrower_loan *borrower_loan_of(struct device *dev)
{
	return ((struct borrower_bus *)to_pci_dev(dev)->bus->sysdata)->loan;
}

/* borrower_bridge.c: what is given as bars and config is in the loan already. */
int borrower_bridge_add(struct borrower_loan *loan);
/* With @surprise the device has gone: its driver is told so first. */
void borrower_bridge_remove(struct borrower_loan *loan, bool surprise);

/* borrower_dma.c */
int borrower_dma_prepare(struct borrower_loan *loan, u64 window,
			 struct dlend_msg_attach *req, struct dlend_why *why);
/* After the lender has attached, with dma_bus known; and before the driver. */
int borrower_dma_start(struct borrower_loan *loan);
void borrower_dma_attach(struct borrower_loan *loan);
void borrower_dma_detach(struct borrower_loan *loan);
void borrower_dma_kill(struct borrower_loan *loan);
void borrower_dma_stop(struct borrower_loan *loan);
u64 borrower_dma_free(struct borrower_loan *loan);

/* borrower_msi.c */
int borrower_msi_prepare(struct borrower_loan *loan, struct dlend_msg_attach *req,
			 struct dlend_why *why);
int borrower_msi_start(struct borrower_loan *loan);
void borrower_msi_stop(struct borrower_loan *loan);

/* What there is for windows towards this node, in words. */
int borrower_no_window(struct borrower_loan *loan, int err, u64 size,
		       const char *what, struct dlend_why *why);

#endif
