/* SPDX-License-Identifier: GPL-2.0-only */
/* Private header of borrower_p2p.c and borrower_place.c. */
#ifndef BORROWER_P2P_H
#define BORROWER_P2P_H

#include "borrower.h"

struct p2p {
	struct kref ref;
	struct list_head node;
	u32 source, target;
	/* Both counted. */
	struct borrower_loan *source_loan;	/* NULL: the source is this node's own */
	struct borrower_loan *target_loan;	/* NULL: the target is this node's own */
	struct pci_dev *local;	/* counted: the function that is this node's own, or NULL */
	struct dlend_msg_p2p msg;
	struct work_struct end;
	/* Held while windows open or close, and guards them. */
	struct mutex mutex;
	bool closed;	/* no window is opened any more */
	bool admitted;	/* the adapter forwards the requests of @local */
	/* Guarded by place_mutex of @source_loan. */
	bool placed;		/* the source's lender has the target's BARs at @place */
	bool failed;		/* it has not done what it was told last, or not said so */
	u64 place[DLEND_BARS];

	/* Guarded by borrower_p2p_lock. */
	bool busy;		/* somebody begins or ends the pair, and nobody else ends it */
	bool ready;		/* the source reaches the target */
	bool lost;		/* somebody else has closed the windows, or a loan ends */
	bool open;		/* there may be windows */
	unsigned int moves;	/* of a device in a virtual machine */
	unsigned int told;	/* value of @moves when the source's lender was told last */
	unsigned int mapped;	/* mappings that a driver has */

	struct {
		phys_addr_t phys;	/* here */
		u64 size;		/* 0 if there is no such BAR */
		u64 bus;		/* for the source */
		struct dlend_export *export;	/* or NULL */
		dma_addr_t addr;	/* of the export */
	} bars[DLEND_BARS];
};

/*
 * Guards the list, also against borrower_p2p_map(), which is called in any context; and the
 * virtual machines of loans.
 */
extern spinlock_t borrower_p2p_lock;
extern struct list_head borrower_pairs;

/* borrower_place.c */

/* For kref_put(). */
void borrower_pair_free(struct kref *ref);
/* See there. borrower_p2p_lock is held. */
void borrower_pair_lose(struct p2p *p2p);
/* See there, both. place_mutex of the source's loan is held. */
bool borrower_pair_place(struct p2p *p2p);
void borrower_pairs_place_failed(struct borrower_loan *source);

#endif
