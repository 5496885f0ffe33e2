// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of dl_fabric through its exported functions.
 *
 *	insmod dl_test.ko		tests on the loopback: TAP in the log;
 *					insmod fails if a test fails
 *	insmod dl_test.ko traffic=1	sleeping calls, polled calls and exports on
 *					all peers until the module is removed;
 *					debugfs shows the counts in dl/traffic
 *	insmod dl_test.ko imports=1	imports from the first NTB peer that is up
 *	insmod dl_test.ko requesters=1	fills the table of Requester IDs of that peer's
 *					adapter until the module is removed
 *
 * Invariants: a response belongs to its request, even with many callers; every wait
 * ends; the importer gets the range that was exported; nothing is left open.
 */
#include <linux/delay.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "test.h"

static bool traffic;
module_param(traffic, bool, 0444);
MODULE_PARM_DESC(traffic, "make calls on all peers until the module is removed");

static bool imports;
module_param(imports, bool, 0444);
MODULE_PARM_DESC(imports, "import what the window of the control area would reach");

static bool requesters;
module_param(requesters, bool, 0444);
MODULE_PARM_DESC(requesters, "fill the table of Requester IDs until the module is removed");

static atomic_t callbacks_up, callbacks_lost, callbacks_down, callbacks_wrong;

static int op_echo(struct dlend_peer *peer, const void *req, size_t len, void *resp,
		   size_t room)
{
	u8 *out = resp;
	size_t i;

	/* Inverted, so that a stale buffer does not pass for the response. */
	for (i = 0; i < len; i++)
		out[i] = ~((const u8 *)req)[i];
	return len;
}

static int op_echo_atomic(struct dlend_peer *peer, const void *req, size_t len,
			  void *resp, size_t room)
{
	if (!irqs_disabled())
		return -EUCLEAN;
	return op_echo(peer, req, len, resp, room);
}

static int op_slow(struct dlend_peer *peer, const void *req, size_t len, void *resp,
		   size_t room)
{
	/* Limit the time, because the peer may be dl_hostile. */
	if (le32_to_cpup(req) > 2000)
		return -EINVAL;
	msleep(le32_to_cpup(req));
	return op_echo(peer, req, len, resp, room);
}

static int op_error(struct dlend_peer *peer, const void *req, size_t len, void *resp,
		    size_t room)
{
	u32 number = le32_to_cpup(req);

	return number && number <= MAX_ERRNO ? -(int)number : -EINVAL;
}

static int op_long(struct dlend_peer *peer, const void *req, size_t len, void *resp,
		   size_t room)
{
	u32 n = le32_to_cpup(req);

	if (n > room)
		return -EINVAL;
	memset(resp, 0x5a, n);
	return n;
}

static int op_back(struct dlend_peer *peer, const void *req, size_t len, void *resp,
		   size_t room)
{
	return dlend_call(peer, OP_ECHO, req, len, resp, room, 100);
}

static const struct dlend_op ops[] = {
	{ OP_ECHO, 0, 0, DLEND_MSG_MAX, op_echo },
	{ OP_ECHO_ATOMIC, DLEND_ATOMIC, 0, DLEND_MSG_MAX, op_echo_atomic },
	{ OP_SLOW, 0, 4, DLEND_MSG_MAX, op_slow },
	{ OP_ERROR, 0, 4, 4, op_error },
	{ OP_LONG, 0, 4, 4, op_long },
	{ OP_BACK, 0, 4, 4, op_back },
};

/* Tests on the loopback. */

static unsigned int tests, failed;

static bool wait_for_state(enum dlend_peer_state state)
{
	int i;

	for (i = 0; i < 1000; i++) {
		if (dlend_peer_state(dlend_test_ends[0]) == state &&
		    dlend_peer_state(dlend_test_ends[1]) == state)
			return true;
		fsleep(10 * USEC_PER_MSEC);
	}
	return false;
}

static u8 *buffer;

static bool test_lengths(void)
{
	size_t len;
	int end;

	for (end = 0; end < 2; end++) {
		for (len = 0; len <= DLEND_MSG_MAX; len++) {
			CHECK_IS(dlend_test_echo(dlend_test_ends[end],
						 &dlend_test_rnd, len, false,
						 buffer), 0);
			CHECK_IS(dlend_test_echo(dlend_test_ends[end],
						 &dlend_test_rnd, len, true,
						 buffer), 0);
		}
	}
	return true;
}

static bool test_refusals(void)
{
	__le32 word = cpu_to_le32(8);
	u8 small[8];

	CHECK_IS(dlend_call(dlend_test_ends[0], OP_NOBODY, &word, 4, small, 8, 0), -EOPNOTSUPP);
	CHECK_IS(dlend_call(dlend_test_ends[0], DLEND_OPS_MAX, &word, 4, small, 8, 0), -EOPNOTSUPP);
	CHECK_IS(dlend_call(dlend_test_ends[0], 0xffff, &word, 4, small, 8, 0), -EOPNOTSUPP);
	CHECK_IS(dlend_call(dlend_test_ends[0], OP_ERROR, &word, 3, small, 8, 0), -EINVAL);
	CHECK_IS(dlend_call(dlend_test_ends[0], OP_ERROR, buffer, 5, small, 8, 0), -EINVAL);
	CHECK_IS(dlend_call(dlend_test_ends[0], OP_ECHO, buffer, DLEND_MSG_MAX + 1, small, 8, 0),
		 -EMSGSIZE);
	CHECK_IS(dlend_call_polled(dlend_test_ends[0], OP_ECHO, &word, 4, small, 8, 0),
		 -EOPNOTSUPP);
	/* A call that can sleep may also use an atomic request. */
	CHECK_IS(dlend_call(dlend_test_ends[0], OP_ECHO_ATOMIC, &word, 4, small, 8, 0), 4);
	CHECK_IS(dlend_call(dlend_test_ends[1], OP_BACK, &word, 4, small, 8, 0), -EDEADLK);
	return true;
}

static bool test_results(void)
{
	__le32 word;
	u8 small[8];
	int e;

	for (e = 1; e <= EHWPOISON; e++) {
		word = cpu_to_le32(e);
		CHECK_IS(dlend_call(dlend_test_ends[1], OP_ERROR, &word, 4, NULL, 0, 0), -e);
	}
	/* Errnos that are internal to a kernel are refused. */
	word = cpu_to_le32(512); /* ERESTARTSYS */
	CHECK_IS(dlend_call(dlend_test_ends[1], OP_ERROR, &word, 4, NULL, 0, 0), -EPROTO);
	word = cpu_to_le32(8);
	CHECK_IS(dlend_call(dlend_test_ends[1], OP_LONG, &word, 4, small, 8, 0), 8);
	CHECK_IS(small[7], 0x5a);
	memset(small, 0, 8);
	word = cpu_to_le32(5);
	CHECK_IS(dlend_call(dlend_test_ends[1], OP_LONG, &word, 4, small, 4, 0), -EMSGSIZE);
	/* Nothing was written behind the room of 4 bytes. */
	CHECK_IS(small[4], 0);
	return true;
}

static bool test_time_out(void)
{
	struct {
		__le32 ms;
		u8 number;
	} __packed req = { .ms = cpu_to_le32(300) };
	u8 resp[sizeof(req)];
	ktime_t begin = ktime_get();
	int i;

	CHECK_IS(dlend_call(dlend_test_ends[0], OP_SLOW, &req, sizeof(req), resp, sizeof(resp),
			    50), -ETIMEDOUT);
	CHECK(ktime_ms_delta(ktime_get(), begin) >= 40);
	CHECK(ktime_ms_delta(ktime_get(), begin) < 280);
	/* The late response must not be taken for the response of another request. */
	req.ms = cpu_to_le32(1);
	for (i = 0; i < 100; i++) {
		req.number = i;
		CHECK_IS(dlend_call(dlend_test_ends[0], OP_SLOW, &req, sizeof(req), resp,
				    sizeof(resp), 5000), sizeof(resp));
		CHECK_IS(resp[4], (u8)~i);
	}
	return true;
}

static struct {
	struct irq_work work;
	struct completion done;
	int ret;
	bool hard;
} irq_call;

static void call_in_irq(struct irq_work *work)
{
	static u8 resp[16];

	irq_call.hard = in_hardirq();
	irq_call.ret = dlend_call_polled(dlend_test_ends[1], OP_ECHO_ATOMIC, "0123456789abcdef",
					 16, resp, 16, 2000000);
	if (irq_call.ret == 16 && resp[3] != (u8)~'3')
		irq_call.ret = -EBADMSG;
	complete(&irq_call.done);
}

static bool test_interrupt(void)
{
	int i;

	init_irq_work(&irq_call.work, call_in_irq);
	for (i = 0; i < 20; i++) {
		init_completion(&irq_call.done);
		irq_work_queue(&irq_call.work);
		wait_for_completion(&irq_call.done);
		irq_work_sync(&irq_call.work);
		CHECK(irq_call.hard);
		CHECK_IS(irq_call.ret, 16);
	}
	return true;
}

/* Many callers at once. */

static int caller_run(void *data)
{
	struct caller *caller = data;
	unsigned int i;
	size_t len;

	for (i = 0; i < caller->n && !caller->ret; i++) {
		len = prandom_u32_state(&caller->rnd) % (DLEND_MSG_MAX + 1);
		caller->ret = dlend_test_echo(caller->peer, &caller->rnd, len,
					      caller->polled, caller->buffer);
		cond_resched();
	}
	complete(&caller->done);
	while (!kthread_should_stop())
		fsleep(USEC_PER_MSEC);
	return 0;
}

static void caller_start(struct caller *caller, unsigned int i, bool polled,
			 unsigned int n)
{
	caller->peer = dlend_test_ends[i % 2];
	caller->polled = polled;
	caller->n = n;
	init_completion(&caller->done);
	prandom_seed_state(&caller->rnd, dlend_test_seed + i);
	caller->task = kthread_run(caller_run, caller, "dl_test%u", i);
}

/* Return: the result of the caller's last call. */
static int caller_end(struct caller *caller)
{
	if (IS_ERR(caller->task))
		return PTR_ERR(caller->task);
	if (!wait_for_completion_timeout(&caller->done, 60 * HZ))
		pr_err("dl_test: a caller has not ended after 60 s\n");
	kthread_stop(caller->task);
	return caller->ret;
}

/* Return: 0, or the last error of a caller. */
static int call_at_once(unsigned int n, unsigned int each)
{
	struct caller *callers = kvcalloc(n, sizeof(*callers), GFP_KERNEL);
	unsigned int i;
	int ret = 0;

	if (!callers)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		caller_start(&callers[i], i, i / 2 % 2, each);
	for (i = 0; i < n; i++)
		ret = caller_end(&callers[i]) ?: ret;
	kvfree(callers);
	return ret;
}

static bool test_both_directions(void)
{
	CHECK_IS(call_at_once(8, 300), 0);
	return true;
}

static bool test_more_than_slots(void)
{
	CHECK_IS(call_at_once(64, 20), 0);
	return true;
}

/* Loss. */

static int slow_run(void *data)
{
	__le32 ms = cpu_to_le32(800);
	u8 resp[4];

	*(int *)data = dlend_call(dlend_test_ends[0], OP_SLOW, &ms, 4, resp, 4, 5000);
	while (!kthread_should_stop())
		fsleep(USEC_PER_MSEC);
	return 0;
}

static bool test_loss(void)
{
	u32 session = dlend_peer_session(dlend_test_ends[0]);
	int up = atomic_read(&callbacks_up), down = atomic_read(&callbacks_down);
	int lost = atomic_read(&callbacks_lost), told, early, ret = 1, i;
	struct dlend_window_desc desc;
	struct task_struct *task;
	struct dlend_export *export;
	ktime_t begin;
	bool is_up;

	export = dlend_export(dlend_test_ends[0], SZ_1M, SZ_64K, DLEND_WINDOW_LUT, &desc);
	CHECK(!IS_ERR(export));
	task = kthread_run(slow_run, &ret, "dl_test_slow");
	CHECK(!IS_ERR(task));
	msleep(100);
	early = READ_ONCE(ret);
	begin = ktime_get();
	dlend_peer_disconnect(dlend_test_ends[0]);
	is_up = dlend_peer_is_up(dlend_test_ends[0]);
	told = atomic_read(&callbacks_lost);
	for (i = 0; i < 100 && READ_ONCE(ret) == 1; i++)
		fsleep(10 * USEC_PER_MSEC);
	/* Stop the task before any check: a check that fails returns. */
	kthread_stop(task);
	CHECK_IS(early, 1);
	/* The state changes and the client is told before the function returns. */
	CHECK(!is_up);
	CHECK_IS(told, lost + 1);
	CHECK_IS(ret, -ENOTCONN);
	CHECK(ktime_ms_delta(ktime_get(), begin) < 700);
	CHECK_IS(dlend_call(dlend_test_ends[0], OP_ECHO, NULL, 0, NULL, 0, 0), -ENOTCONN);
	CHECK_IS(dlend_call_polled(dlend_test_ends[0], OP_ECHO_ATOMIC, NULL, 0, NULL, 0, 0),
		 -ENOTCONN);
	/* The other end learns of it a little later. */
	for (i = 0; i < 300 && atomic_read(&callbacks_down) < down + 2; i++)
		fsleep(10 * USEC_PER_MSEC);
	CHECK_IS(atomic_read(&callbacks_down), down + 2);
	CHECK_IS(atomic_read(&callbacks_lost), lost + 2);
	CHECK(dlend_import(dlend_test_ends[1], &desc) == ERR_PTR(-ENOTCONN));
	/* The end of the session has closed the export; this frees the handle. */
	dlend_unexport(export);
	dlend_peer_connect(dlend_test_ends[0]);
	CHECK(wait_for_state(DLEND_PEER_UP));
	for (i = 0; i < 300 && atomic_read(&callbacks_up) < up + 2; i++)
		fsleep(10 * USEC_PER_MSEC);
	CHECK_IS(atomic_read(&callbacks_up), up + 2);
	CHECK(dlend_peer_session(dlend_test_ends[0]) != session);
	CHECK_IS(dlend_test_echo(dlend_test_ends[0], &dlend_test_rnd, 100, false, buffer), 0);
	CHECK_IS(dlend_test_echo(dlend_test_ends[1], &dlend_test_rnd, 100, true, buffer), 0);
	return true;
}

static bool test_loss_under_load(void)
{
	struct caller *callers;
	int i, k, others;

	for (i = 0; i < 10; i++) {
		callers = kvcalloc(4, sizeof(*callers), GFP_KERNEL);
		CHECK(callers);
		for (k = 0; k < 4; k++)
			caller_start(&callers[k], k, k / 2, U32_MAX);
		msleep(20 + 5 * i);
		dlend_peer_disconnect(dlend_test_ends[i % 2]);
		for (k = 0, others = 0; k < 4; k++)
			others += caller_end(&callers[k]) != -ENOTCONN;
		kvfree(callers);
		dlend_peer_connect(dlend_test_ends[i % 2]);
		CHECK_IS(others, 0);
		CHECK(wait_for_state(DLEND_PEER_UP));
	}
	return true;
}

static void note_up(struct dlend_peer *peer)
{
	atomic_inc(&callbacks_up);
}

static void note_lost(struct dlend_peer *peer)
{
	if (!irqs_disabled() || dlend_peer_is_up(peer))
		atomic_inc(&callbacks_wrong);
	atomic_inc(&callbacks_lost);
}

static void note_down(struct dlend_peer *peer)
{
	/* After a loss, a call to the peer must fail. */
	if (dlend_call(peer, OP_ECHO, NULL, 0, NULL, 0, 0) != -ENOTCONN &&
	    atomic_read(&callbacks_down) < atomic_read(&callbacks_lost))
		atomic_inc(&callbacks_wrong);
	atomic_inc(&callbacks_down);
}

static struct dlend_client notes = {
	.peer_up = note_up,
	.peer_lost = note_lost,
	.peer_down = note_down,
};

static bool test_clients(void)
{
	static struct dlend_client more[DLEND_CLIENTS_MAX + 1];
	int i, n;

	for (n = 0; n < DLEND_CLIENTS_MAX; n++) {
		if (dlend_client_register(&more[n]))
			break;
	}
	for (i = 0; i < n; i++)
		dlend_client_unregister(&more[i]);
	/* This module has one client, and other modules may have some. */
	CHECK(n > 0 && n < DLEND_CLIENTS_MAX);
	CHECK_IS(atomic_read(&callbacks_wrong), 0);
	return true;
}

static bool test_ops(void)
{
	static const struct dlend_op taken = { OP_ECHO, 0, 0, 0, op_echo };
	static const struct dlend_op mixed[] = {
		{ OP_NOBODY, 0, 0, 0, op_echo },
		{ OP_ECHO, 0, 0, 0, op_echo },
	};
	static const struct dlend_op wrong[] = {
		{ DLEND_OPS_MAX, 0, 0, 0, op_echo },
		{ OP_NOBODY, 0, 2, 1, op_echo },
		{ OP_NOBODY, 0, 0, DLEND_MSG_MAX + 1, op_echo },
		{ OP_NOBODY, 0, 0, 0, NULL },
	};
	unsigned int i;

	CHECK_IS(dlend_ops_register(&taken, 1), -EBUSY);
	CHECK_IS(dlend_ops_register(mixed, 2), -EBUSY);
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		CHECK_IS(dlend_ops_register(&wrong[i], 1), -EINVAL);
	/* A failed registration adds no handler and removes none. */
	CHECK_IS(dlend_call(dlend_test_ends[0], OP_NOBODY, NULL, 0, NULL, 0, 0), -EOPNOTSUPP);
	CHECK_IS(dlend_test_echo(dlend_test_ends[0], &dlend_test_rnd, 1, false, buffer), 0);
	return true;
}

static void run(const char *name, bool (*test)(void))
{
	bool good = test();

	tests++;
	failed += !good;
	pr_info("dl_test: %s %u - %s\n", good ? "ok" : "not ok", tests, name);
}

static int run_tests(void)
{
	struct dlend_peer *peer;
	int i, found = 0;

	prandom_seed_state(&dlend_test_rnd, dlend_test_seed);
	buffer = kzalloc(2 * DLEND_MSG_MAX, GFP_KERNEL);
	if (!buffer)
		return -ENOMEM;
	for (i = 0; i < DLEND_PEERS_MAX && found < 2; i++) {
		peer = dlend_peer_at(i);
		if (peer && dlend_peer_is_loopback(peer))
			dlend_test_ends[found++] = peer;
		else
			dlend_peer_put(peer);
	}
	if (found < 2 || !wait_for_state(DLEND_PEER_UP)) {
		pr_err("dl_test: the loopback is not up; load dl_fabric with loopback=1\n");
		failed++;
		goto out;
	}
	run("requests of all lengths are answered", test_lengths);
	run("requests without a handler are refused", test_refusals);
	run("results arrive as they were returned", test_results);
	run("a call that takes too long ends in time", test_time_out);
	run("a call in an interrupt", test_interrupt);
	run("calls in both directions at once", test_both_directions);
	run("more calls than slots", test_more_than_slots);
	run("handlers are registered as a whole or not", test_ops);
	run("exports agree with a model that tries everything", dlend_test_windows);
	run("two exports of one range are the same", dlend_test_same_export);
	run("impossible exports are refused", dlend_test_bad_exports);
	run("ranges that were not exported are not imported", dlend_test_bad_imports);
	run("a loss ends calls, and clients are told", test_loss);
	run("losses under load", test_loss_under_load);
	run("as many clients as the limit allows", test_clients);
	pr_info("dl_test: 1..%u\n", tests);
out:
	for (i = 0; i < found; i++)
		dlend_peer_put(dlend_test_ends[i]);
	kfree(buffer);
	return failed ? -EIO : 0;
}

/* Return: a reference to the first peer behind an NTB that is up, or NULL after a message. */
static struct dlend_peer *first_ntb(void)
{
	struct dlend_peer *peer = NULL;
	int i;

	for (i = 0; i < DLEND_PEERS_MAX && !peer; i++) {
		peer = dlend_peer_at(i);
		if (!peer || (dlend_peer_is_up(peer) && !dlend_peer_is_loopback(peer)))
			continue;
		dlend_peer_put(peer);
		peer = NULL;
	}
	if (!peer)
		pr_err("dl_test: no NTB leads to a peer that is up\n");
	return peer;
}

static int run_imports(void)
{
	struct dlend_peer *peer = first_ntb();
	bool good;

	if (!peer)
		return -ENODEV;
	good = dlend_test_far_imports(peer);
	dlend_peer_put(peer);
	return good ? 0 : -EIO;
}

/* Requester IDs that no function of the machine has: bus 254. */
#define ID_FIRST 0xfe00
#define IDS_MAX 512

static struct dlend_peer *filled;
static unsigned int ids;

static void empty_requesters(void)
{
	while (ids)
		dlend_expel(filled, ID_FIRST + --ids);
	dlend_peer_put(filled);
}

static int fill_requesters(void)
{
	int err = 0;

	filled = first_ntb();
	if (!filled)
		return -ENODEV;
	while (!err && ids < IDS_MAX) {
		err = dlend_admit(filled, ID_FIRST + ids);
		if (!err)
			ids++;
	}
	pr_info("dl_test: %u Requester IDs until error %d\n", ids, -err);
	if (err == -ENOSPC && ids)
		return 0;
	empty_requesters();
	return -EINVAL;
}

static int __init test_init(void)
{
	int err;

	err = dlend_ops_register(ops, ARRAY_SIZE(ops));
	if (err)
		return err;
	if (traffic) {
		dlend_test_poll_us = 0;
		err = dlend_traffic_init();
		if (err)
			goto unregister_ops;
		return 0;
	}
	if (requesters) {
		err = fill_requesters();
		if (err)
			goto unregister_ops;
		return 0;
	}
	err = dlend_client_register(&notes);
	if (err)
		goto unregister_ops;
	err = imports ? run_imports() : run_tests();
	if (!err)
		return 0;
	dlend_client_unregister(&notes);
unregister_ops:
	dlend_ops_unregister(ops, ARRAY_SIZE(ops));
	return err;
}

static void __exit test_exit(void)
{
	if (traffic)
		dlend_traffic_done();
	else if (requesters)
		empty_requesters();
	else
		dlend_client_unregister(&notes);
	dlend_ops_unregister(ops, ARRAY_SIZE(ops));
}

module_init(test_init);
module_exit(test_exit);
MODULE_DESCRIPTION("Tests of dl_fabric");
MODULE_LICENSE("GPL");
