/* SPDX-License-Identifier: GPL-2.0-only */
/* Private header of lender_p2p.c and lender_grant.c. */
#ifndef LENDER_P2P_H
#define LENDER_P2P_H

#include "lender.h"

/* A node that does not answer for so long is about to be lost. */
#define LENDER_P2P_REVOKE_MS 1500

#define LENDER_PAIR_TWICE "there is such a pair already"
#define LENDER_PAIRS_MANY "the device has as many pairs as there may be"

/* Names of a source and a target, as in struct dlend_msg_p2p. */
struct lender_pair {
	u32 source, source_loan;
	u32 target, target_loan;
};

/* Return: 0, or an error if the message is of another version or malformed. */
static inline int lender_pair_get(struct dlend_peer *peer, const struct dlend_msg_p2p *msg,
				  u32 flags, struct lender_pair *ret)
{
	ret->source = le32_to_cpu(msg->source);
	ret->source_loan = le32_to_cpu(msg->source_loan);
	ret->target = le32_to_cpu(msg->target);
	ret->target_loan = le32_to_cpu(msg->target_loan);
	if (le32_to_cpu(msg->version) != DLEND_P2P_VERSION)
		return lender_refuse(peer, -EPROTONOSUPPORT, "unknown version");
	if (le32_to_cpu(msg->flags) & ~flags || ret->source == ret->target)
		return lender_refuse(peer, -EINVAL,
				     "unknown flags, or a device that reaches itself");
	return 0;
}

static inline void lender_pair_put(struct dlend_msg_p2p *msg, const struct lender_pair *pair)
{
	*msg = (struct dlend_msg_p2p){
		.version = cpu_to_le32(DLEND_P2P_VERSION),
		.source = cpu_to_le32(pair->source),
		.source_loan = cpu_to_le32(pair->source_loan),
		.target = cpu_to_le32(pair->target),
		.target_loan = cpu_to_le32(pair->target_loan),
	};
}

static inline bool lender_pair_is(const struct lender_pair *a, const struct lender_pair *b)
{
	return a->source == b->source && a->source_loan == b->source_loan &&
	       a->target == b->target && a->target_loan == b->target_loan;
}

static inline bool lender_is_memory_bar(struct pci_dev *pdev, unsigned int i)
{
	return pci_resource_len(pdev, i) &&
	       pci_resource_flags(pdev, i) & IORESOURCE_MEM;
}

/* lender_grant.c */

/* A borrower allows the lender of the source to fetch windows to a target of this node. */
int lender_grant_make(struct dlend_peer *peer, const void *data, size_t len, void *resp,
		      size_t room);
/* Only the lender of the source may ask, and only for what the borrower has granted. */
int lender_grant_fetch(struct dlend_peer *peer, const void *data, size_t len, void *resp,
		       size_t room);
/* Begins to end the grants of @target. */
void lender_grant_begin_end(struct lender_device *target);
/* Ends the grants of @target, or only that for @pair (nullable). Sleeps. */
void lender_grant_end(struct lender_device *target, const struct lender_pair *pair);
/* Closes the windows to a node that is lost. */
void lender_grant_peer_down(struct dlend_peer *peer);

#endif
