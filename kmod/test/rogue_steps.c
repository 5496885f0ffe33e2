// SPDX-License-Identifier: GPL-2.0-only
/* The state of dl_rogue, and the steps of a good borrower. */
#include <linux/module.h>

#include "rogue.h"

uint mine = 0x10000, other = 0x10001;
module_param(mine, uint, 0644);
MODULE_PARM_DESC(mine, "ID of the device that is borrowed (0x10000)");
module_param(other, uint, 0644);
MODULE_PARM_DESC(other, "ID of a device that another node has borrowed (0x10001)");

/* Guards all below, and serializes the misdeeds. */
DEFINE_MUTEX(rogue_mutex);
struct dlend_peer *peer;
void *memory;
struct dlend_window_desc window;
u32 loan;
int result;
union rogue_answer answer;

int call(u16 op, const void *req, size_t len)
{
	int ret = dlend_call(peer, op, req, len, &answer, sizeof(answer), PATIENCE_MS);

	return min(ret, 0);
}

int ask_borrow(u32 fdid)
{
	struct dlend_msg_borrow req = { .fdid = cpu_to_le32(fdid) };
	int err = call(DLEND_OP_BORROW, &req, sizeof(req));

	if (err)
		return err;
	switch (le32_to_cpu(answer.borrow.status)) {
	case DLEND_BORROW_OK:
		loan = le32_to_cpu(answer.borrow.loan);
		return 0;
	case DLEND_BORROW_UNKNOWN:
		return -ENOENT;
	case DLEND_BORROW_TAKEN:
		return -EBUSY;
	default:
		return -EAGAIN;
	}
}

struct dlend_msg_attach attach_request(void)
{
	return (struct dlend_msg_attach){
		.fdid = cpu_to_le32(mine),
		.loan = cpu_to_le32(loan),
		.dma = window,
		.msi = window,
	};
}

int ask_attach(const struct dlend_msg_attach *req)
{
	return call(DLEND_OP_ATTACH, req, sizeof(*req));
}

int take(void)
{
	struct dlend_msg_attach req;
	int err = ask_borrow(mine);

	if (err)
		return err;
	req = attach_request();
	return ask_attach(&req);
}

int ask(u16 op, u32 fdid, u32 number)
{
	struct dlend_msg_return req = { cpu_to_le32(fdid), cpu_to_le32(number) };

	return call(op, &req, sizeof(req));
}

int ask_config(u32 fdid, u32 number, unsigned int at, unsigned int size, const u32 *value)
{
	struct dlend_msg_cfg req = {
		.fdid = cpu_to_le32(fdid),
		.loan = cpu_to_le32(number),
		.offset = cpu_to_le16(at),
		.size = cpu_to_le16(size),
		.value = cpu_to_le32(value ? *value : 0),
	};
	int ret = dlend_call_polled(peer,
				    value ? DLEND_OP_CFG_WRITE : DLEND_OP_CFG_READ, &req,
				    sizeof(req), &answer, sizeof(answer), 0);

	return min(ret, 0);
}

int ask_extended(u32 fdid, u32 number, u32 at)
{
	struct dlend_msg_extended req = {
		.fdid = cpu_to_le32(fdid),
		.loan = cpu_to_le32(number),
		.offset = cpu_to_le32(at),
	};

	return call(DLEND_OP_CFG_EXTENDED, &req, sizeof(req));
}

void give_back(void)
{
	if (loan)
		ask(DLEND_OP_RETURN, mine, loan);
	loan = 0;
}

/* Return: -ENODEV if each number was refused so. */
int all_numbers(int (*try)(u32 number))
{
	int err, ret = -ENODEV;
	u32 i;

	for (i = 0; i < NUMBERS; i++) {
		err = try(i);
		if (err != -ENODEV)
			ret = err;
	}
	return ret;
}
