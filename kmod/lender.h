/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Within dl_lender.
 *
 * Locks, outermost first: lender_admin orders what the administrator does; the
 * device lock of a function, which the driver core holds in probe and remove,
 * guards whether and to whom it is lent, its windows and its reset; lender_lock,
 * taken with interrupts off, guards the table of devices and what accesses to
 * configuration space need: they come in any context.
 */
#ifndef LENDER_H
#define LENDER_H

#include <linux/completion.h>
#include <linux/iommu.h>
#include <linux/kref.h>
#include <linux/pci.h>
#include <linux/spinlock.h>

#include "dl_fabric.h"
#include "dl_lender.h"
#include "dl_proto.h"

/* What a borrower sees of the configuration space, and may change: by bit. */
struct lender_config {
	u8 shown[DLEND_CFG_SIZE];	/* where it is not live */
	u8 live[DLEND_CFG_SIZE];	/* read from the device */
	u8 pass[DLEND_CFG_SIZE];	/* written to the device */
	u8 clear[DLEND_CFG_SIZE];	/* likewise, where a 1 is written */
	u8 keep[DLEND_CFG_SIZE];	/* held in @shown, and without effect */
	u8 msi, msi_end;	/* the MSI capability: address and data are checked */
	u64 msi_bus, msi_size;	/* where messages may go */
};

struct lender_loan {
	struct dlend_peer *peer;	/* counted */
	u32 number;
	bool attached;
	u64 dma_size;
	struct iommu_domain *domain;	/* NULL without an IOMMU */
	struct dlend_import *dma, *msi;
	struct {
		struct dlend_export *export;
		dma_addr_t addr;	/* of the BAR, for the peer */
		u64 size;		/* 0 if there is nothing to undo */
	} bars[DLEND_BARS];
};

struct lender_device {
	struct kref ref;
	u32 fdid;
	struct pci_dev *pdev;		/* counted */

	/* lender_admin */
	bool taken;			/* from its old driver, or about to be */
	char *old_override;		/* driver_override as it was */

	/* The device lock. */
	bool bound;			/* to our driver: may be lent */
	struct iommu_group *group;	/* NULL without an IOMMU */
	struct pci_saved_state *saved;
	struct completion idle;		/* no loan */

	/* The device lock and lender_lock to change it, one of them to read. */
	struct lender_loan *loan;
	/* lender_lock */
	bool config_open;
	struct lender_config config;
};

extern spinlock_t lender_lock;
extern struct lender_device *lender_devices[DLEND_DEVICES_MAX];

/* Things that were counted since the module was loaded. */
struct lender_counts {
	atomic64_t loans, resets, reset_failures;
	atomic64_t config_reads, config_writes;
	atomic64_t config_refused;	/* bits that may not be written */
	atomic64_t requests_refused;	/* of no loan of theirs, or malformed */
};

extern struct lender_counts lender_counts;

/* lender_main.c */
struct lender_device *lender_get(u32 fdid);	/* NULL if there is none */
void lender_put(struct lender_device *d);
/* For a handler of requests that holds lender_lock; NULL if not this loan. */
struct lender_device *lender_of_loan(struct dlend_peer *peer, u32 fdid, u32 loan);
unsigned int lender_collect(struct lender_device **devices, unsigned int max);
void lender_describe(struct lender_device *d, struct dlend_device_info *info);

/* lender_check.c */
int lender_check(struct pci_dev *pdev, struct dlend_why *why);
int lender_check_taken(struct pci_dev *pdev, struct dlend_why *why);

/* lender_loan.c */
int lender_loan_init(void);
void lender_loan_stop(void);
void lender_loan_exit(void);
void lender_reset(struct lender_device *d);
/* The device lock is held. Does nothing without a loan. */
void lender_end_loan(struct lender_device *d);
/* Tells the borrower, if there is one, and returns whether there is. */
bool lender_revoke(struct lender_device *d, bool gone);

/* lender_config.c */
void lender_config_make(struct lender_device *d);
u64 lender_config_live(const struct lender_config *config);
/* lender_lock is held. */
u32 lender_config_read(struct lender_device *d, unsigned int at,
		       unsigned int size);
void lender_config_write(struct lender_device *d, unsigned int at,
			 unsigned int size, u32 value);

/* lender_iommu.c */
bool lender_iommu_permitted(struct lender_device *d, struct dlend_why *why);
int lender_iommu_claim(struct lender_device *d);
void lender_iommu_release(struct lender_device *d);
int lender_iommu_open(struct lender_device *d, struct lender_loan *loan,
		      const struct dlend_msg_attach *req, u64 *dma_bus,
		      u64 *msi_bus);
void lender_iommu_close(struct lender_device *d, struct lender_loan *loan);

#endif
