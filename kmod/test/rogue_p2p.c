// SPDX-License-Identifier: GPL-2.0-only
/* Misdeeds of dl_rogue with peer-to-peer. */
#include <linux/kernel.h>

#include "rogue.h"

static struct dlend_msg_p2p pair_of(u32 source, u32 source_loan, u32 target,
				    u32 target_loan)
{
	return (struct dlend_msg_p2p){
		.version = cpu_to_le32(DLEND_P2P_VERSION),
		.source = cpu_to_le32(source),
		.source_loan = cpu_to_le32(source_loan),
		.target = cpu_to_le32(target),
		.target_loan = cpu_to_le32(target_loan),
	};
}

static int ask_p2p(u16 op, struct dlend_msg_p2p pair)
{
	return call(op, &pair, sizeof(pair));
}

/* The target's BARs as those of the borrower itself, behind any window. */
static int ask_open(struct dlend_msg_p2p pair, u32 number, u64 offset)
{
	struct dlend_msg_p2p_open req = { .p2p = pair };

	if (pair.flags) {
		req.bars[0].window = cpu_to_le32(number);
		req.bars[0].offset = cpu_to_le64(offset);
		req.bars[0].size = cpu_to_le64(AREA);
	}
	return call(DLEND_OP_P2P_OPEN, &req, sizeof(req));
}

static int open_to_other(u32 number)
{
	return ask_open(pair_of(mine, loan, other, number), 0, 0);
}

static int p2p_open_others(void)
{
	return take() ?: all_numbers(open_to_other);
}

static int grant_other(u32 number)
{
	return ask_p2p(DLEND_OP_P2P_GRANT,
		       pair_of(dlend_node() << 16, 1, other, number));
}

static int p2p_grant_others(void)
{
	return all_numbers(grant_other);
}

static int fetch_other(u32 number)
{
	return ask_p2p(DLEND_OP_P2P_FETCH,
		       pair_of(dlend_node() << 16, 1, other, number));
}

static int p2p_fetch_others(void)
{
	return all_numbers(fetch_other);
}

static int place_other(u32 number)
{
	struct dlend_msg_p2p_place req = { .p2p = pair_of(mine, loan, other, number) };

	return call(DLEND_OP_P2P_PLACE, &req, sizeof(req));
}

static int p2p_place_others(void)
{
	return take() ?: all_numbers(place_other);
}

/* A grant for a source of another node is not for this one. */
static int p2p_fetch_foreign(void)
{
	return take() ?: ask_p2p(DLEND_OP_P2P_GRANT, pair_of(0x90000, 1, mine, loan)) ?:
	       ask_p2p(DLEND_OP_P2P_FETCH, pair_of(0x90000, 1, mine, loan));
}

static int p2p_version(void)
{
	struct dlend_msg_p2p pair = pair_of(dlend_node() << 16, 1, mine, loan);

	pair.version = cpu_to_le32(77);
	return ask_p2p(DLEND_OP_P2P_GRANT, pair);
}

static int p2p_itself(void)
{
	return take() ?: ask_open(pair_of(mine, loan, mine, loan), 0, 0);
}

static int p2p_window(void)
{
	struct dlend_msg_p2p pair;
	int err = take();

	pair = pair_of(mine, loan, dlend_node() << 16, 0);
	pair.flags = cpu_to_le32(DLEND_P2P_BORROWERS);
	return err ?: ask_open(pair, 9999, 0);
}

static int p2p_window_beyond(void)
{
	struct dlend_msg_p2p pair;
	int err = take();

	pair = pair_of(mine, loan, dlend_node() << 16, 0);
	pair.flags = cpu_to_le32(DLEND_P2P_BORROWERS);
	return err ?: ask_open(pair, le32_to_cpu(window.window), BIT_ULL(50));
}

static int p2p_too_many(void)
{
	int i, err = take();

	for (i = 0; i <= DLEND_P2P_MAX && !err; i++)
		err = ask_p2p(DLEND_OP_P2P_GRANT,
			      pair_of((dlend_node() << 16) + i, 1, mine, loan));
	return err;
}

/* Nobody's windows are closed by this, and it is no error. */
static int p2p_close_others(void)
{
	int err = 0;
	u32 i;

	for (i = 0; i < NUMBERS && !err; i++)
		err = ask_p2p(DLEND_OP_P2P_CLOSE, pair_of(other, i, mine, i)) ?:
		      ask_p2p(DLEND_OP_P2P_REVOKE, pair_of(other, i, mine, i));
	return err;
}

const struct rogue_misdeed rogue_p2p[] = {
	{ "p2p-open-others", p2p_open_others },
	{ "p2p-grant-others", p2p_grant_others },
	{ "p2p-fetch-others", p2p_fetch_others },
	{ "p2p-place-others", p2p_place_others },
	{ "p2p-fetch-foreign", p2p_fetch_foreign },
	{ "p2p-version", p2p_version },
	{ "p2p-itself", p2p_itself },
	{ "p2p-window", p2p_window },
	{ "p2p-window-beyond", p2p_window_beyond },
	{ "p2p-too-many", p2p_too_many },
	{ "p2p-close-others", p2p_close_others },
	{ }
};
