// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls. The caller writes a request into a slot of the peer's area. The peer writes
 * the response into the slot with the same number of our area. The slots are
 * independent of each other, so there is no ring whose indices the peer could spoil.
 */
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <linux/timekeeping.h>

#include "fabric.h"

static unsigned int call_timeout_ms = 5000;
module_param(call_timeout_ms, uint, 0644);
MODULE_PARM_DESC(call_timeout_ms, "longest wait of a call that can sleep, in ms (5000)");

static unsigned int poll_timeout_us = 500000;
module_param(poll_timeout_us, uint, 0644);
MODULE_PARM_DESC(poll_timeout_us,
		 "longest wait of a call that cannot sleep, in us (500000)");

static const struct dlend_op __rcu *ops[DLEND_OPS_MAX];
static DEFINE_MUTEX(ops_mutex);
/* Read-locked while a handler runs, also in an interrupt. */
static struct srcu_struct ops_srcu;

/* A copy of a slot's head in the CPU's byte order. The peer cannot change the copy. */
struct head {
	u32 seq;
	u32 epoch;
	u16 op;
	u16 len;
	u32 status;
};

static void slot_write(struct dlend_slot __iomem *to, const struct head *head,
		       const void *data)
{
	/* The reader compares seq before and after it reads the rest. */
	writel(0, &to->seq);
	writel(head->epoch, &to->epoch);
	writel(head->op | (u32)head->len << 16, &to->op);
	writel(head->status, &to->status);
	if (head->len)
		memcpy_toio(to->data, data, head->len);
	/* Write all of it before seq. */
	wmb();
	writel(head->seq, &to->seq);
}

/*
 * Copies a slot while the peer may be writing it. Copies at most @room bytes of data,
 * even if the head claims more.
 *
 * Return: false if the slot changed meanwhile.
 */
static bool slot_read(const struct dlend_slot *from, u32 seq, struct head *head,
		      void *data, size_t room)
{
	/* Read the rest after seq. */
	dma_rmb();
	head->seq = seq;
	head->epoch = le32_to_cpu(READ_ONCE(from->epoch));
	head->op = le16_to_cpu(READ_ONCE(from->op));
	head->len = le16_to_cpu(READ_ONCE(from->len));
	head->status = le32_to_cpu(READ_ONCE(from->status));
	memcpy(data, from->data, min_t(size_t, head->len, room));
	/* Read seq again after the rest. */
	dma_rmb();
	return le32_to_cpu(READ_ONCE(from->seq)) == seq;
}

/* The peer's requests. */

/*
 * Counts a request that no handler gets. It is no warning: nodes ask those that lend
 * nothing for their devices, too. Return: @err.
 */
static int refuse(struct dlend_peer *peer, const struct head *head, int err)
{
	dlend_count(peer, DLEND_COUNT_REFUSED);
	if (dlend_peer_may_log(peer))
		pr_info("dl_fabric: %s: request %u of %u bytes is refused: error %d\n",
			peer->name, head->op, head->len, -err);
	return err;
}

static int request_handle(struct dlend_peer *peer, struct dlend_inbox *inbox,
			  const struct head *head, bool polled)
{
	const struct dlend_op *op;
	unsigned long flags;
	int idx, ret;

	if (head->len > DLEND_MSG_MAX || head->status)
		return refuse(peer, head, -EPROTO);
	idx = srcu_read_lock(&ops_srcu);
	op = head->op < DLEND_OPS_MAX ?
		     srcu_dereference(ops[array_index_nospec(head->op,
							     DLEND_OPS_MAX)],
				      &ops_srcu) : NULL;
	if (!op || (polled && !(op->flags & DLEND_ATOMIC))) {
		ret = refuse(peer, head, -EOPNOTSUPP);
	} else if (head->len < op->req_min || head->len > op->req_max) {
		ret = refuse(peer, head, -EINVAL);
	} else if (op->flags & DLEND_ATOMIC) {
		local_irq_save(flags);
		ret = op->handler(peer, inbox->request.data, head->len,
				  inbox->response, DLEND_MSG_MAX);
		local_irq_restore(flags);
	} else {
		ret = op->handler(peer, inbox->request.data, head->len,
				  inbox->response, DLEND_MSG_MAX);
	}
	srcu_read_unlock(&ops_srcu, idx);
	if (WARN_ON_ONCE(ret > DLEND_MSG_MAX))
		ret = -EMSGSIZE;
	return ret;
}

static void response_send(struct dlend_peer *peer, unsigned int slot,
			  const struct head *request, int ret)
{
	struct head head = {
		.seq = request->seq,
		.epoch = peer->far_epoch,
		.op = request->op,
		.len = max(ret, 0),
		.status = min(ret, 0),
	};

	slot_write(&peer->far_area->response[slot], &head,
		   peer->mailbox.inbox[slot].response);
	peer->backend->ring(peer);
}

/* Return: whether there was a new request in the slot. */
static bool slot_serve(struct dlend_peer *peer, unsigned int i, bool polled)
{
	struct dlend_mailbox *mailbox = &peer->mailbox;
	struct dlend_inbox *inbox = &mailbox->inbox[i];
	struct head head;
	u32 seq;

	seq = le32_to_cpu(READ_ONCE(peer->area->request[i].seq));
	/* If another CPU handles the slot, that CPU looks at it again afterwards. */
	if (!seq || seq == READ_ONCE(inbox->seen) ||
	    test_and_set_bit_lock(i, mailbox->busy))
		return false;
	if (seq == inbox->seen ||
	    !slot_read(&peer->area->request[i], seq, &head, inbox->request.data,
		       DLEND_MSG_MAX)) {
		clear_bit_unlock(i, mailbox->busy);
		return false;
	}
	WRITE_ONCE(inbox->seen, seq);
	if (head.epoch != peer->epoch) {
		dlend_count(peer, DLEND_COUNT_STALE);
	} else {
		dlend_count(peer, DLEND_COUNT_SERVED);
		response_send(peer, i, &head,
			      request_handle(peer, inbox, &head, polled));
	}
	clear_bit_unlock(i, mailbox->busy);
	return true;
}

void dlend_mailbox_serve_polled(struct dlend_peer *peer)
{
	unsigned int i, n;

	/*
	 * Serve each slot at most twice. The second time is for a request that
	 * came during the first: another CPU that saw it has left it to this
	 * one. The limit keeps a peer that never stops asking from occupying
	 * this CPU.
	 */
	for (i = DLEND_SLOTS_CALL; i < DLEND_SLOTS; i++) {
		for (n = 0; n < 2 && slot_serve(peer, i, true); n++)
			;
	}
}

static void serve_new(struct dlend_peer *peer, unsigned int i)
{
	struct dlend_inbox *inbox = &peer->mailbox.inbox[i];
	u32 seq = le32_to_cpu(READ_ONCE(peer->area->request[i].seq));

	if (seq && seq != READ_ONCE(inbox->seen))
		queue_work(peer->mailbox.wq, &inbox->serve);
}

/*
 * Each slot has a work of its own. A handler may wait for another node, and the peer's
 * other requests do not wait with it.
 */
static void serve(struct work_struct *work)
{
	struct dlend_inbox *inbox = container_of(work, struct dlend_inbox, serve);
	struct dlend_peer *peer = inbox->peer;
	unsigned int i = inbox - peer->mailbox.inbox;

	if (!dlend_peer_enter(peer))
		return;
	WRITE_ONCE(inbox->server, current);
	slot_serve(peer, i, false);
	WRITE_ONCE(inbox->server, NULL);
	serve_new(peer, i);
	dlend_peer_exit(peer);
}

/* Return: whether the caller is a handler of a request of @peer. */
static bool is_server(struct dlend_peer *peer)
{
	unsigned int i;

	for (i = 0; i < DLEND_SLOTS_CALL; i++)
		if (READ_ONCE(peer->mailbox.inbox[i].server) == current)
			return true;
	return false;
}

void dlend_mailbox_look(struct dlend_peer *peer)
{
	unsigned int i;
	u32 epoch;

	if (!dlend_peer_enter(peer))
		return;
	epoch = peer->backend->hello_read(peer, DLEND_HELLO_EPOCH);
	if (epoch != peer->far_epoch) {
		dlend_peer_lose(peer, "it ended the session");
	} else {
		dlend_mailbox_serve_polled(peer);
		for (i = 0; i < DLEND_SLOTS_CALL; i++)
			serve_new(peer, i);
		wake_up_all(&peer->wait);
	}
	dlend_peer_exit(peer);
}

void dlend_mailbox_doorbell(struct dlend_peer *peer)
{
	dlend_count(peer, DLEND_COUNT_DOORBELLS);
	dlend_mailbox_look(peer);
}

/* Own requests. */

static bool response_is_there(struct dlend_peer *peer, unsigned int slot,
			      u32 seq)
{
	return le32_to_cpu(READ_ONCE(peer->area->response[slot].seq)) == seq;
}

/*
 * Takes a slot of [from, to) that nobody uses. If the caller of an earlier request has
 * given up, the peer may still be at work on it, and looks at the slot only afterwards. So
 * such a slot is the last choice until the response is there. The new request has another
 * number, and nobody takes the late response for its own.
 *
 * Return: the number of the slot, or -1.
 */
static int slot_take(struct dlend_peer *peer, unsigned int from,
		     unsigned int to)
{
	struct dlend_mailbox *mailbox = &peer->mailbox;
	unsigned int i, n = to - from;

	for (i = 0; i < 2 * n; i++) {
		unsigned int slot = from + i % n;

		if (test_and_set_bit_lock(slot, mailbox->outbox))
			continue;
		if (i >= n || !test_bit(slot, mailbox->late) ||
		    response_is_there(peer, slot, mailbox->seq[slot])) {
			clear_bit(slot, mailbox->late);
			return slot;
		}
		clear_bit_unlock(slot, mailbox->outbox);
	}
	return -1;
}

static void slot_give(struct dlend_peer *peer, unsigned int slot)
{
	struct dlend_mailbox *mailbox = &peer->mailbox;

	if (!response_is_there(peer, slot, mailbox->seq[slot]))
		set_bit(slot, mailbox->late);
	clear_bit_unlock(slot, mailbox->outbox);
}

/* Return: seq of the request. The response will have the same seq. */
static u32 request_send(struct dlend_peer *peer, unsigned int slot, u16 op,
			const void *req, size_t len)
{
	u32 *seq = &peer->mailbox.seq[slot];
	struct head head = {
		.epoch = peer->far_epoch,
		.op = op,
		.len = len,
	};

	/* Only the caller that has the slot changes its number; 0 is not used. */
	if (!++*seq)
		*seq = 1;
	head.seq = *seq;
	slot_write(&peer->far_area->request[slot], &head, req);
	peer->backend->ring(peer);
	return head.seq;
}

/* The peer may have written anything, so the response is checked here. */
static int response_take(struct dlend_peer *peer, unsigned int slot, u32 seq,
			 u16 op, void *resp, size_t room)
{
	struct head head;
	s32 status;

	if (!slot_read(&peer->area->response[slot], seq, &head, resp, room) ||
	    head.epoch != peer->epoch || head.op != op ||
	    head.len > DLEND_MSG_MAX)
		goto bad;
	status = head.status;
	/* Errnos above EHWPOISON are internal to a kernel. */
	if (status > 0 || status < -EHWPOISON)
		goto bad;
	if (status)
		return status;
	return head.len > room ? -EMSGSIZE : head.len;
bad:
	dlend_count(peer, DLEND_COUNT_BAD_RESPONSE);
	return -EPROTO;
}

/* Return: the error of a call that has no answer. @left: result of its wait. */
static int no_answer(long left)
{
	if (left < 0)
		return -EINTR;
	return left ? -ENOTCONN : -ETIMEDOUT;
}

int dlend_call(struct dlend_peer *peer, u16 op, const void *req, size_t len,
	       void *resp, size_t room, unsigned int timeout_ms)
{
	int slot = -1;
	long left;
	int ret;
	u32 seq;

	might_sleep();
	if (len > DLEND_MSG_MAX)
		return -EMSGSIZE;
	if (is_server(peer))
		return -EDEADLK;
	if (!dlend_peer_enter(peer))
		return -ENOTCONN;
	dlend_count(peer, DLEND_COUNT_CALLS);
	left = msecs_to_jiffies(timeout_ms ?: READ_ONCE(call_timeout_ms));
	left = wait_event_killable_timeout(peer->wait,
					   !dlend_peer_is_up(peer) ||
					   (slot = slot_take(peer, 0,
							     DLEND_SLOTS_CALL)) >= 0,
					   left);
	if (slot < 0) {
		ret = no_answer(left);
		goto exit;
	}
	seq = request_send(peer, slot, op, req, len);
	left = wait_event_killable_timeout(peer->wait,
					   !dlend_peer_is_up(peer) ||
					   response_is_there(peer, slot, seq), left);
	if (response_is_there(peer, slot, seq))
		ret = response_take(peer, slot, seq, op, resp, room);
	else
		ret = no_answer(left);
	slot_give(peer, slot);
	/* Another caller may wait for the slot. */
	wake_up(&peer->wait);
exit:
	if (ret == -ETIMEDOUT)
		dlend_count(peer, DLEND_COUNT_TIMEOUTS);
	dlend_peer_exit(peer);
	return ret;
}
EXPORT_SYMBOL_GPL(dlend_call);

static void poll_once(struct dlend_peer *peer)
{
	dlend_mailbox_serve_polled(peer);
	if (peer->backend->poll)
		peer->backend->poll(peer);
	cpu_relax();
}

/* Return: a mark for the peer's present heartbeat; never 0. */
static u64 beat_mark(struct dlend_peer *peer)
{
	return BIT_ULL(32) | le32_to_cpu(READ_ONCE(peer->area->beat));
}

/*
 * A driver that repeats calls to such a peer would keep a CPU busy for poll_timeout_us each
 * time, until our own heartbeat finds out that the peer is lost.
 */
bool dlend_peer_stands_still(struct dlend_peer *peer)
{
	bool still;

	if (!dlend_peer_enter(peer))
		return false;
	still = READ_ONCE(peer->mailbox.unanswered) == beat_mark(peer);
	dlend_peer_exit(peer);
	return still;
}
EXPORT_SYMBOL_GPL(dlend_peer_stands_still);

/* Return: a slot of polled calls, -ENOTCONN, or -ETIMEDOUT after @end. */
static int poll_slot(struct dlend_peer *peer, u64 end)
{
	int slot;

	while ((slot = slot_take(peer, DLEND_SLOTS_CALL, DLEND_SLOTS)) < 0) {
		if (!dlend_peer_is_up(peer))
			return -ENOTCONN;
		if (ktime_get_mono_fast_ns() > end)
			return -ETIMEDOUT;
		poll_once(peer);
	}
	return slot;
}

/* Return: 0 when the response is there, -ENOTCONN, or -ETIMEDOUT after @end. */
static int poll_response(struct dlend_peer *peer, unsigned int slot, u32 seq,
			 u64 end, bool patient)
{
	bool late;

	for (;;) {
		/*
		 * Read the time before the slot: if this CPU itself was stopped
		 * past @end, the response may have come meanwhile.
		 */
		late = ktime_get_mono_fast_ns() > end;
		if (response_is_there(peer, slot, seq))
			return 0;
		if (!dlend_peer_is_up(peer))
			return -ENOTCONN;
		if (late) {
			if (patient)
				WRITE_ONCE(peer->mailbox.unanswered, beat_mark(peer));
			return -ETIMEDOUT;
		}
		poll_once(peer);
	}
}

int dlend_call_polled(struct dlend_peer *peer, u16 op, const void *req,
		      size_t len, void *resp, size_t room,
		      unsigned int timeout_us)
{
	int slot, ret;
	u64 end;
	u32 seq;

	if (len > DLEND_MSG_MAX)
		return -EMSGSIZE;
	if (!dlend_peer_enter(peer))
		return -ENOTCONN;
	if (dlend_peer_stands_still(peer)) {
		dlend_count(peer, DLEND_COUNT_SKIPPED);
		dlend_peer_exit(peer);
		return -ETIMEDOUT;
	}
	dlend_count(peer, DLEND_COUNT_CALLS_POLLED);
	end = ktime_get_mono_fast_ns() +
	      (timeout_us ?: READ_ONCE(poll_timeout_us)) * (u64)NSEC_PER_USEC;
	slot = poll_slot(peer, end);
	if (slot < 0) {
		ret = slot;
		goto exit;
	}
	seq = request_send(peer, slot, op, req, len);
	ret = poll_response(peer, slot, seq, end, !timeout_us);
	if (!ret)
		ret = response_take(peer, slot, seq, op, resp, room);
	slot_give(peer, slot);
exit:
	if (ret == -ETIMEDOUT)
		dlend_count(peer, DLEND_COUNT_TIMEOUTS);
	dlend_peer_exit(peer);
	return ret;
}
EXPORT_SYMBOL_GPL(dlend_call_polled);

/* Handlers. */

int dlend_ops_register(const struct dlend_op *table, size_t n)
{
	size_t i;
	int err = 0;

	mutex_lock(&ops_mutex);
	for (i = 0; i < n && !err; i++) {
		if (table[i].op >= DLEND_OPS_MAX || !table[i].handler ||
		    table[i].req_min > table[i].req_max ||
		    table[i].req_max > DLEND_MSG_MAX)
			err = -EINVAL;
		else if (rcu_access_pointer(ops[table[i].op]))
			err = -EBUSY;
		else
			rcu_assign_pointer(ops[table[i].op], &table[i]);
	}
	/* Remove only the entries before the one that failed. */
	for (i = err ? i - 1 : 0; err && i > 0; i--)
		rcu_assign_pointer(ops[table[i - 1].op], NULL);
	mutex_unlock(&ops_mutex);
	if (err)
		synchronize_srcu(&ops_srcu);
	return err;
}
EXPORT_SYMBOL_GPL(dlend_ops_register);

void dlend_ops_unregister(const struct dlend_op *table, size_t n)
{
	size_t i;

	mutex_lock(&ops_mutex);
	for (i = 0; i < n; i++)
		rcu_assign_pointer(ops[table[i].op], NULL);
	mutex_unlock(&ops_mutex);
	synchronize_srcu(&ops_srcu);
}
EXPORT_SYMBOL_GPL(dlend_ops_unregister);

/* Begin and end. */

int dlend_mailbox_setup(struct dlend_peer *peer)
{
	struct dlend_mailbox *mailbox = &peer->mailbox;
	unsigned int i;

	mailbox->inbox = kcalloc(DLEND_SLOTS, sizeof(*mailbox->inbox),
				 GFP_KERNEL);
	if (!mailbox->inbox)
		return -ENOMEM;
	for (i = 0; i < DLEND_SLOTS; i++) {
		mailbox->inbox[i].peer = peer;
		INIT_WORK(&mailbox->inbox[i].serve, serve);
	}
	mailbox->wq = alloc_workqueue("dl_serve_%s", WQ_UNBOUND, DLEND_SLOTS_CALL,
				      peer->name);
	if (!mailbox->wq) {
		kfree(mailbox->inbox);
		return -ENOMEM;
	}
	return 0;
}

void dlend_mailbox_free(struct dlend_peer *peer)
{
	destroy_workqueue(peer->mailbox.wq);
	kfree(peer->mailbox.inbox);
}

void dlend_mailbox_reset(struct dlend_peer *peer)
{
	int i;

	for (i = 0; i < DLEND_SLOTS; i++)
		peer->mailbox.inbox[i].seen = 0;
	bitmap_zero(peer->mailbox.late, DLEND_SLOTS);
	peer->mailbox.unanswered = 0;
}

void dlend_mailbox_stop(struct dlend_peer *peer)
{
	unsigned int i;

	for (i = 0; i < DLEND_SLOTS_CALL; i++)
		cancel_work_sync(&peer->mailbox.inbox[i].serve);
}

int dlend_mailbox_init(void)
{
	return init_srcu_struct(&ops_srcu);
}

void dlend_mailbox_done(void)
{
	cleanup_srcu_struct(&ops_srcu);
}
