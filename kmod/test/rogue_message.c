// SPDX-License-Identifier: GPL-2.0-only
/* Messages of dl_rogue that are wrong, or too many. */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/prandom.h>
#include <linux/slab.h>

#include "compat.h"
#include "rogue.h"

/* Return: -EINVAL if the lender has refused all wrong lengths so. */
static int lengths(void)
{
	static const struct {
		u16 op, len;
	} kinds[] = {
		{ DLEND_OP_LIST, sizeof(struct dlend_msg_list) },
		{ DLEND_OP_BORROW, sizeof(struct dlend_msg_borrow) },
		{ DLEND_OP_ATTACH, sizeof(struct dlend_msg_attach) },
		{ DLEND_OP_RETURN, sizeof(struct dlend_msg_return) },
		{ DLEND_OP_RESET, sizeof(struct dlend_msg_return) },
		{ DLEND_OP_CFG_READ, sizeof(struct dlend_msg_cfg) },
		{ DLEND_OP_CFG_WRITE, sizeof(struct dlend_msg_cfg) },
		{ DLEND_OP_CFG_EXTENDED, sizeof(struct dlend_msg_extended) },
		{ DLEND_OP_P2P_GRANT, sizeof(struct dlend_msg_p2p) },
		{ DLEND_OP_P2P_OPEN, sizeof(struct dlend_msg_p2p_open) },
		{ DLEND_OP_P2P_CLOSE, sizeof(struct dlend_msg_p2p) },
		{ DLEND_OP_P2P_FETCH, sizeof(struct dlend_msg_p2p) },
		{ DLEND_OP_P2P_REVOKE, sizeof(struct dlend_msg_p2p) },
		{ DLEND_OP_P2P_PLACE, sizeof(struct dlend_msg_p2p_place) },
		{ DLEND_OP_IRQ_SET, sizeof(struct dlend_msg_irq_set) },
		{ DLEND_OP_IRQ_UNMASK, sizeof(struct dlend_msg_irq_unmask) },
	};
	static const u8 zeros[DLEND_MSG_MAX];
	unsigned int i, j;
	int err;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		const u16 wrong[] = { 0, 1, kinds[i].len / 2, kinds[i].len - 1,
				      kinds[i].len + 1, DLEND_MSG_MAX };

		for (j = 0; j < ARRAY_SIZE(wrong); j++) {
			err = call(kinds[i].op, zeros, wrong[j]);
			if (err != -EINVAL)
				return err ?: -EBADMSG;
		}
	}
	return -EINVAL;
}

static int unknown_requests(void)
{
	static const u16 numbers[] = { 0, 15, DLEND_OP_IRQ + 1, 63, 128, 255, 256, 4096,
				       65535 };
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		err = call(numbers[i], memory, 16);
		if (err != -EOPNOTSUPP)
			return err ?: -EBADMSG;
	}
	return -EOPNOTSUPP;
}

/* A request that sleeps, in a slot whose requests are handled in an interrupt. */
static int borrow_polled(void)
{
	struct dlend_msg_borrow req = { .fdid = cpu_to_le32(mine) };
	int ret = dlend_call_polled(peer, DLEND_OP_BORROW, &req, sizeof(req), &answer,
				    sizeof(answer), 0);

	return min(ret, 0);
}

/* Floods. */

#define FLOOD_THREADS 8
#define FLOOD_CALLS 100
/* The threads compete for the slots of calls, and one of them may wait long. */
#define FLOOD_PATIENCE_MS 60000

static atomic_t flood_answers;
static DECLARE_COMPLETION(flood_done);

/* Random requests of the right length, most of them for nothing that there is. */
static int flood_thread(void *seed)
{
	static const u16 ops[] = {
		DLEND_OP_LIST, DLEND_OP_RETURN, DLEND_OP_RESET, DLEND_OP_CFG_EXTENDED,
		DLEND_OP_CFG_READ, DLEND_OP_CFG_WRITE, DLEND_OP_P2P_CLOSE,
		DLEND_OP_P2P_GRANT,
	};
	static const u16 len[] = { 8, 8, 8, 16, 16, 16, 24, 24 };
	struct rnd_state rnd;
	u32 words[6];
	u8 *room = kmalloc(DLEND_MSG_MAX, GFP_KERNEL);
	unsigned int i, j, kind;

	prandom_seed_state(&rnd, (uintptr_t)seed);
	for (i = 0; room && i < FLOOD_CALLS; i++) {
		kind = prandom_u32_state(&rnd) % ARRAY_SIZE(ops);
		for (j = 0; j < ARRAY_SIZE(words); j++)
			words[j] = prandom_u32_state(&rnd) % NUMBERS;
		words[0] = prandom_u32_state(&rnd) & 1 ? mine : other;
		if (dlend_call(peer, ops[kind], words, len[kind], room, DLEND_MSG_MAX,
			       FLOOD_PATIENCE_MS) != -ETIMEDOUT)
			atomic_inc(&flood_answers);
	}
	kfree(room);
	kthread_complete_and_exit(&flood_done, 0);
}

/* Return: 0 if the lender has answered each of the calls. */
static int flood(void)
{
	struct task_struct *task;
	int i, err = 0;

	atomic_set(&flood_answers, 0);
	for (i = 0; i < FLOOD_THREADS; i++) {
		task = kthread_run(flood_thread, (void *)(uintptr_t)(i + 1), "dl_rogue");
		if (IS_ERR(task)) {
			err = PTR_ERR(task);
			break;
		}
	}
	while (i--)
		wait_for_completion(&flood_done);
	if (!err && atomic_read(&flood_answers) != FLOOD_THREADS * FLOOD_CALLS)
		err = -ETIMEDOUT;
	return err;
}

/* Loans that nobody returns: each ends when the next one begins. */
static int flood_loans(void)
{
	int i, err = 0;

	for (i = 0; i < 10 && !err; i++)
		err = i & 1 ? ask_borrow(mine) : take();
	return err;
}

const struct rogue_misdeed rogue_message[] = {
	{ "borrow-polled", borrow_polled },
	{ "lengths", lengths },
	{ "unknown-requests", unknown_requests },
	{ "flood", flood },
	{ "flood-loans", flood_loans },
	{ }
};
