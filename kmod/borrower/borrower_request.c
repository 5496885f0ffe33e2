// SPDX-License-Identifier: GPL-2.0-only
/*
 * The requests of a loan to its lender, and what their errors mean.
 */
#include "borrower.h"

/* A lender opens windows for all BARs, which takes up to 100 ms for each LUT entry. */
#define ATTACH_TIMEOUT_MS 20000

int borrower_send_borrow(struct borrower_loan *loan, struct dlend_why *why)
{
	struct dlend_msg_borrow req = { .fdid = cpu_to_le32(loan->fdid) };
	struct dlend_msg_borrow_answer answer;
	u32 node = loan->fdid >> 16;
	int ret;

	ret = dlend_call(loan->peer, DLEND_OP_BORROW, &req, sizeof(req), &answer,
			 sizeof(answer), 0);
	if (ret == -EOPNOTSUPP)
		return dlend_why_set(why, ret,
				     "node %u does not lend: it has not loaded dl_lender",
				     node);
	if (ret == -EHOSTDOWN)
		return dlend_why_set(why, ret, "node %u goes to sleep", node);
	if (ret == -EPERM)
		return dlend_why_set(why, ret,
				     "this node could reach all of node %u, whose log says why; this needs permission there (allow_no_iommu)",
				     node);
	if (ret >= 0 && ret != sizeof(answer))
		ret = -EPROTO;
	if (ret < 0)
		return dlend_why_set(why, ret, "node %u does not answer: error %d",
				     node, -ret);
	switch (le32_to_cpu(answer.status)) {
	case DLEND_BORROW_OK:
		break;
	case DLEND_BORROW_TAKEN:
		return dlend_why_set(why, -EBUSY,
				     "device %x is borrowed by node %u",
				     loan->fdid, le32_to_cpu(answer.holder));
	case DLEND_BORROW_UNAVAILABLE:
		return dlend_why_set(why, -EBUSY,
				     "device %x is not available: its own node %u uses it; make it available there",
				     loan->fdid, node);
	default:
		return dlend_why_set(why, -ENOENT, "node %u has no device %x",
				     node, loan->fdid);
	}
	loan->number = le32_to_cpu(answer.loan);
	borrower_device_info(&loan->device, &answer.device);
	return borrower_check_borrow(loan, &answer, why);
}

int borrower_send_attach(struct borrower_loan *loan, struct dlend_msg_attach *req,
			 struct dlend_msg_attach_answer *answer, struct dlend_why *why)
{
	u32 node = loan->fdid >> 16;
	int ret;

	req->fdid = cpu_to_le32(loan->fdid);
	req->loan = cpu_to_le32(loan->number);
	ret = dlend_call(loan->peer, DLEND_OP_ATTACH, req, sizeof(*req), answer,
			 sizeof(*answer), ATTACH_TIMEOUT_MS);
	if (ret == -ENOSPC)
		return dlend_why_set(why, ret,
				     "node %u has no window left for the device's BARs, or its IOMMU has no addresses left for this node's memory",
				     node);
	if (ret == -EUSERS)
		return dlend_why_set(why, ret,
				     "the NTB of node %u has no entry left for the Requester ID of this device; a device that is lent over it must be returned first",
				     node);
	if (ret == -EOPNOTSUPP && loan->guest)
		return dlend_why_set(why, ret,
				     "a device for a virtual machine needs an IOMMU on its own node, too, and node %u has none",
				     node);
	if (ret == -ENOTTY)
		return dlend_why_set(why, ret,
				     "the device has neither MSI nor MSI-X, and its line interrupt reaches only a virtual machine (--guest)");
	if (ret == -EPERM)
		return dlend_why_set(why, ret,
				     "a BAR of the device shares a window with other devices of node %u, whose log names them; this needs permission there (allow_neighbours)",
				     node);
	if (ret == -ENODEV)
		return dlend_why_set(why, ret,
				     "node %u has ended the loan: the device is gone there, or this node was too slow to attach it (attach_ms of its dl_lender); try again",
				     node);
	if (ret >= 0 && ret != sizeof(*answer))
		ret = -EPROTO;
	if (ret < 0)
		return dlend_why_set(why, ret,
				     "node %u could not open its windows: error %d",
				     node, -ret);
	loan->dma_bus = le64_to_cpu(answer->dma_bus);
	loan->msi_bus = le64_to_cpu(answer->msi_bus);
	loan->live = le64_to_cpu(answer->live);
	memcpy(loan->config, answer->config, sizeof(answer->config));
	return borrower_check_attach(loan, why);
}

int borrower_fetch_extended(struct borrower_loan *loan, struct dlend_why *why)
{
	struct dlend_msg_extended req = {
		.fdid = cpu_to_le32(loan->fdid),
		.loan = cpu_to_le32(loan->number),
	};
	unsigned int at;
	int ret;

	for (at = DLEND_CFG_SIZE; at < DLEND_CFG_SPACE; at += DLEND_CFG_PIECE) {
		req.offset = cpu_to_le32(at);
		ret = dlend_call(loan->peer, DLEND_OP_CFG_EXTENDED, &req, sizeof(req),
				 loan->config + at, DLEND_CFG_PIECE, 0);
		if (ret >= 0 && ret != sizeof(struct dlend_msg_extended_answer))
			ret = -EPROTO;
		if (ret < 0)
			return dlend_why_set(why, ret,
					     "node %u does not show the configuration space of the device from %#x on: error %d",
					     loan->fdid >> 16, at, -ret);
	}
	return borrower_check_extended(loan, why);
}

void borrower_send_return(struct borrower_loan *loan)
{
	struct dlend_msg_return req = {
		.fdid = cpu_to_le32(loan->fdid),
		.loan = cpu_to_le32(loan->number),
	};
	int ret;

	/* After a loss the lender has ended the loan by itself. */
	if (READ_ONCE(loan->dead) &&
	    (READ_ONCE(loan->gone) || !dlend_peer_is_up(loan->peer)))
		return;
	ret = dlend_call(loan->peer, DLEND_OP_RETURN, &req, sizeof(req), NULL, 0,
			 ATTACH_TIMEOUT_MS);
	if (ret < 0 && !READ_ONCE(loan->dead))
		pr_warn("dl_borrower: device %x: node %u has not taken it back: error %d\n",
			loan->fdid, dlend_peer_node(loan->peer), -ret);
}
