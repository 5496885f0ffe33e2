// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of dl_fabric from above, by its own functions.
 *
 *	insmod dl_test.ko		tests on the loopback: TAP in the log, and
 *					the module is refused if one fails
 *	insmod dl_test.ko traffic=1	calls of both kinds and windows on all
 *					peers, compared, until it is removed; what
 *					came of it is in debugfs, dl/traffic
 *
 * Invariants: a response is that of the request, whoever else calls; every wait
 * ends; what is exported is what the other end imports, and nothing stays behind.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "dl_fabric.h"

static bool traffic;
module_param(traffic, bool, 0444);
MODULE_PARM_DESC(traffic, "calls on all peers until removed");

static uint seed = 1;
module_param(seed, uint, 0444);
MODULE_PARM_DESC(seed, "of all random numbers (1)");

enum {
	OP_ECHO = 240,		/* sleeping */
	OP_ECHO_ATOMIC,
	OP_SLOW,		/* sleeps for le32 ms, then echoes */
	OP_ERROR,		/* returns the errno that it is sent */
	OP_LONG,		/* le32 bytes in response */
	OP_BACK,		/* calls back, which is not allowed */
	OP_NOBODY,		/* nobody handles it */
	OP_END,
};

static atomic_t callbacks_up, callbacks_lost, callbacks_down, callbacks_wrong;

static int op_echo(struct dl_peer *peer, const void *req, size_t len, void *resp,
		   size_t room)
{
	u8 *out = resp;
	size_t i;

	/* Not the same bytes, so that no stale buffer passes for the answer. */
	for (i = 0; i < len; i++)
		out[i] = ~((const u8 *)req)[i];
	return len;
}

static int op_echo_atomic(struct dl_peer *peer, const void *req, size_t len,
			  void *resp, size_t room)
{
	if (!irqs_disabled())
		return -EUCLEAN;
	return op_echo(peer, req, len, resp, room);
}

static int op_slow(struct dl_peer *peer, const void *req, size_t len, void *resp,
		   size_t room)
{
	/* The peer may be a malicious one. */
	if (le32_to_cpup(req) > 2000)
		return -EINVAL;
	msleep(le32_to_cpup(req));
	return op_echo(peer, req, len, resp, room);
}

static int op_error(struct dl_peer *peer, const void *req, size_t len, void *resp,
		    size_t room)
{
	u32 number = le32_to_cpup(req);

	return number && number <= MAX_ERRNO ? -(int)number : -EINVAL;
}

static int op_long(struct dl_peer *peer, const void *req, size_t len, void *resp,
		   size_t room)
{
	u32 n = le32_to_cpup(req);

	if (n > room)
		return -EINVAL;
	memset(resp, 0x5a, n);
	return n;
}

static int op_back(struct dl_peer *peer, const void *req, size_t len, void *resp,
		   size_t room)
{
	return dl_call(peer, OP_ECHO, req, len, resp, room, 100);
}

static const struct dl_op ops[] = {
	{ OP_ECHO, 0, 0, DL_MSG_MAX, op_echo },
	{ OP_ECHO_ATOMIC, DL_ATOMIC, 0, DL_MSG_MAX, op_echo_atomic },
	{ OP_SLOW, 0, 4, DL_MSG_MAX, op_slow },
	{ OP_ERROR, 0, 4, 4, op_error },
	{ OP_LONG, 0, 4, 4, op_long },
	{ OP_BACK, 0, 4, 4, op_back },
};

/* One call, compared. Return: 0, or what is wrong. */
static int echo(struct dl_peer *peer, struct rnd_state *rnd, size_t len,
		bool polled, u8 *buffer)
{
	u8 *resp = buffer + DL_MSG_MAX;
	unsigned long flags;
	size_t i;
	int ret;

	prandom_bytes_state(rnd, buffer, len);
	memset(resp, 0, DL_MSG_MAX);
	if (polled) {
		local_irq_save(flags);
		ret = dl_call_polled(peer, OP_ECHO_ATOMIC, buffer, len, resp,
				     DL_MSG_MAX, 2000000);
		local_irq_restore(flags);
	} else {
		ret = dl_call(peer, OP_ECHO, buffer, len, resp, DL_MSG_MAX, 10000);
	}
	if (ret < 0)
		return ret;
	if (ret != len)
		return -EBADMSG;
	for (i = 0; i < len; i++) {
		if (resp[i] != (u8)~buffer[i])
			return -EBADMSG;
	}
	return 0;
}

/* Tests on the loopback. */

static struct dl_peer *ends[2];
static unsigned int tests, failed;

#define CHECK(condition)                                                       \
	do {                                                                   \
		if (!(condition)) {                                            \
			pr_err("dl_test: line %d: not so: %s\n", __LINE__,     \
			       #condition);                                    \
			return false;                                          \
		}                                                              \
	} while (0)

#define CHECK_IS(expression, expected)                                         \
	do {                                                                   \
		long is_ = (expression), expected_ = (expected);               \
									       \
		if (is_ != expected_) {                                        \
			pr_err("dl_test: line %d: %s is %ld, not %ld\n",       \
			       __LINE__, #expression, is_, expected_);         \
			return false;                                          \
		}                                                              \
	} while (0)

static bool wait_for_state(enum dl_peer_state state)
{
	int i;

	for (i = 0; i < 1000; i++) {
		if (dl_peer_state(ends[0]) == state &&
		    dl_peer_state(ends[1]) == state)
			return true;
		msleep(10);
	}
	return false;
}

static u8 *buffer;
static struct rnd_state rnd;

static bool test_lengths(void)
{
	size_t len;
	int end;

	for (end = 0; end < 2; end++) {
		for (len = 0; len <= DL_MSG_MAX; len++) {
			CHECK_IS(echo(ends[end], &rnd, len, false, buffer), 0);
			CHECK_IS(echo(ends[end], &rnd, len, true, buffer), 0);
		}
	}
	return true;
}

static bool test_refusals(void)
{
	__le32 word = cpu_to_le32(8);
	u8 small[8];

	CHECK_IS(dl_call(ends[0], OP_NOBODY, &word, 4, small, 8, 0), -EOPNOTSUPP);
	CHECK_IS(dl_call(ends[0], DL_OPS_MAX, &word, 4, small, 8, 0), -EOPNOTSUPP);
	CHECK_IS(dl_call(ends[0], 0xffff, &word, 4, small, 8, 0), -EOPNOTSUPP);
	CHECK_IS(dl_call(ends[0], OP_ERROR, &word, 3, small, 8, 0), -EINVAL);
	CHECK_IS(dl_call(ends[0], OP_ERROR, buffer, 5, small, 8, 0), -EINVAL);
	CHECK_IS(dl_call(ends[0], OP_ECHO, buffer, DL_MSG_MAX + 1, small, 8, 0),
		 -EMSGSIZE);
	CHECK_IS(dl_call_polled(ends[0], OP_ECHO, &word, 4, small, 8, 0),
		 -EOPNOTSUPP);
	/* An op of an interrupt may also be called by who can sleep. */
	CHECK_IS(dl_call(ends[0], OP_ECHO_ATOMIC, &word, 4, small, 8, 0), 4);
	CHECK_IS(dl_call(ends[1], OP_BACK, &word, 4, small, 8, 0), -EDEADLK);
	return true;
}

static bool test_results(void)
{
	__le32 word;
	u8 small[8];
	int e;

	for (e = 1; e <= EHWPOISON; e++) {
		word = cpu_to_le32(e);
		CHECK_IS(dl_call(ends[1], OP_ERROR, &word, 4, NULL, 0, 0), -e);
	}
	/* What is special within one kernel does not come from another. */
	word = cpu_to_le32(512); /* ERESTARTSYS */
	CHECK_IS(dl_call(ends[1], OP_ERROR, &word, 4, NULL, 0, 0), -EPROTO);
	word = cpu_to_le32(8);
	CHECK_IS(dl_call(ends[1], OP_LONG, &word, 4, small, 8, 0), 8);
	CHECK_IS(small[7], 0x5a);
	memset(small, 0, 8);
	word = cpu_to_le32(5);
	CHECK_IS(dl_call(ends[1], OP_LONG, &word, 4, small, 4, 0), -EMSGSIZE);
	/* Not a byte more than there is room for. */
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

	CHECK_IS(dl_call(ends[0], OP_SLOW, &req, sizeof(req), resp, sizeof(resp),
			 50), -ETIMEDOUT);
	CHECK(ktime_ms_delta(ktime_get(), begin) >= 40);
	CHECK(ktime_ms_delta(ktime_get(), begin) < 280);
	/* Its late response is not taken for that of another. */
	req.ms = cpu_to_le32(1);
	for (i = 0; i < 100; i++) {
		req.number = i;
		CHECK_IS(dl_call(ends[0], OP_SLOW, &req, sizeof(req), resp,
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
	irq_call.ret = dl_call_polled(ends[1], OP_ECHO_ATOMIC, "0123456789abcdef",
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

struct caller {
	struct task_struct *task;
	struct dl_peer *peer;
	struct rnd_state rnd;
	unsigned int n;
	bool polled;
	int ret;
	struct completion done;
	u8 buffer[2 * DL_MSG_MAX];
};

static int caller_run(void *data)
{
	struct caller *caller = data;
	unsigned int i;

	for (i = 0; i < caller->n && !caller->ret; i++) {
		caller->ret = echo(caller->peer, &caller->rnd,
				   prandom_u32_state(&caller->rnd) %
					   (DL_MSG_MAX + 1),
				   caller->polled, caller->buffer);
		cond_resched();
	}
	complete(&caller->done);
	while (!kthread_should_stop())
		msleep(1);
	return 0;
}

static void caller_start(struct caller *caller, unsigned int i, bool polled,
			 unsigned int n)
{
	caller->peer = ends[i % 2];
	caller->polled = polled;
	caller->n = n;
	init_completion(&caller->done);
	prandom_seed_state(&caller->rnd, seed + i);
	caller->task = kthread_run(caller_run, caller, "dl_test%u", i);
}

/* Return: what its last call gave. */
static int caller_end(struct caller *caller)
{
	if (IS_ERR(caller->task))
		return PTR_ERR(caller->task);
	if (!wait_for_completion_timeout(&caller->done, 60 * HZ))
		pr_err("dl_test: a caller hangs\n");
	kthread_stop(caller->task);
	return caller->ret;
}

/* Return: 0, or the last that is wrong. */
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

/*
 * Windows, against a model that tries everything. It knows the loopback's
 * parameters: 32 LUT entries of 64 KiB, of which the first and the last are not
 * to be had, and direct windows of 2 MiB and 64 GiB.
 */
#define LUT_FIRST 2
#define LUTS 30
#define LUT SZ_64K
#define EXPORTS 24

static const u64 direct_size[2] = { SZ_2M, 65536ULL << 20 };

struct model {
	bool direct[2];
	bool lut[LUTS];
	/* Windows taken by each. */
	struct {
		struct dl_export *export;
		u64 addr, size;
		unsigned int first, n;
		bool direct;
	} exports[EXPORTS];
};

static u64 model_align(u64 addr, u64 size)
{
	u64 align = 1;

	/* The largest power of two that divides addr, up to that holding size. */
	while (align < size && !(addr & align))
		align <<= 1;
	return align;
}

static bool model_lut_fits(const struct model *m, unsigned int at, u64 addr,
			   u64 size, unsigned int *n)
{
	u64 align = max_t(u64, LUT, model_align(addr, size));
	u64 base = addr / LUT * LUT;
	unsigned int i;

	*n = DIV_ROUND_UP_ULL(addr + size, LUT) - addr / LUT;
	/* Entry 1 of the LUT is the first: its address is 64 KiB. */
	if (((at + 1) * (u64)LUT) % align != base % align)
		return false;
	for (i = at; i < at + *n; i++) {
		if (i >= LUTS || m->lut[i])
			return false;
	}
	return true;
}

static bool model_direct_fits(const struct model *m, unsigned int at, u64 addr,
			      u64 size)
{
	u64 span = SZ_4K;

	while (addr / span != (addr + size - 1) / span)
		span <<= 1;
	return !m->direct[at] && span <= direct_size[at];
}

static bool model_fits(const struct model *m, u64 addr, u64 size,
		       unsigned int flags)
{
	unsigned int i, n;

	for (i = 0; i < LUTS && flags != DL_WINDOW_DIRECT; i++) {
		if (model_lut_fits(m, i, addr, size, &n))
			return true;
	}
	for (i = 0; i < 2 && flags != DL_WINDOW_LUT; i++) {
		if (model_direct_fits(m, i, addr, size))
			return true;
	}
	return false;
}

static bool check_room(const struct model *m)
{
	unsigned int i, luts = 0, directs = 0, run = 0, longest = 0;
	struct dl_window_room room;
	u64 largest = 0;

	for (i = 0; i < LUTS; i++) {
		run = m->lut[i] ? 0 : run + 1;
		longest = max(longest, run);
		luts += !m->lut[i];
	}
	for (i = 0; i < 2; i++) {
		directs += !m->direct[i];
		if (!m->direct[i])
			largest = max(largest, direct_size[i]);
	}
	CHECK_IS(dl_windows_free(ends[0], &room), 0);
	CHECK_IS(room.lut_count, luts);
	CHECK_IS(room.lut_run, longest);
	CHECK_IS(room.direct_count, directs);
	CHECK_IS(room.direct_max, largest);
	return true;
}

static bool check_import(const struct dl_window_desc *desc, u64 addr, u64 size)
{
	struct dl_import *import = dl_import(ends[1], desc);

	CHECK(!IS_ERR(import));
	CHECK_IS(import->phys, addr);
	CHECK_IS(import->size, size);
	CHECK_IS(dl_import_bus(import), addr);
	dl_unimport(import);
	return true;
}

static bool model_export(struct model *m, unsigned int slot)
{
	static const unsigned int kinds[] = { 0, DL_WINDOW_LUT, DL_WINDOW_DIRECT };
	unsigned int flags = kinds[prandom_u32_state(&rnd) % 3], i, n, first;
	u64 size = 1ULL << prandom_u32_state(&rnd) % 24;
	u64 addr = (u64)prandom_u32_state(&rnd) << 8;
	struct dl_window_desc desc;
	struct dl_export *export;
	u64 offset;

	/* Half of them as BARs are: a power of two, aligned. */
	if (prandom_u32_state(&rnd) % 2)
		addr &= ~(size - 1);
	else
		size += prandom_u32_state(&rnd) % size;
	export = dl_export(ends[0], addr, size, flags, &desc);
	if (!model_fits(m, addr, size, flags)) {
		CHECK(IS_ERR(export));
		CHECK_IS(PTR_ERR(export), -ENOSPC);
		return true;
	}
	CHECK(!IS_ERR(export));
	first = le32_to_cpu(desc.window);
	offset = le64_to_cpu(desc.offset);
	m->exports[slot].export = export;
	m->exports[slot].addr = addr;
	m->exports[slot].size = size;
	m->exports[slot].direct = first < LUT_FIRST;
	if (first < LUT_FIRST) {
		CHECK(flags != DL_WINDOW_LUT);
		CHECK(model_direct_fits(m, first, addr, size));
		m->direct[first] = true;
		m->exports[slot].first = first;
	} else {
		first -= LUT_FIRST;
		CHECK(flags != DL_WINDOW_DIRECT);
		CHECK(model_lut_fits(m, first, addr, size, &n));
		CHECK_IS(offset, addr % LUT);
		for (i = first; i < first + n; i++)
			m->lut[i] = true;
		m->exports[slot].first = first;
		m->exports[slot].n = n;
	}
	return check_import(&desc, addr, size);
}

static void model_unexport(struct model *m, unsigned int slot)
{
	unsigned int i;

	if (!m->exports[slot].export)
		return;
	dl_unexport(m->exports[slot].export);
	m->exports[slot].export = NULL;
	if (m->exports[slot].direct) {
		m->direct[m->exports[slot].first] = false;
		return;
	}
	for (i = 0; i < m->exports[slot].n; i++)
		m->lut[m->exports[slot].first + i] = false;
}

static bool test_windows(void)
{
	static struct model model;
	unsigned int i, slot;
	bool good = true;

	for (i = 0; i < 5000 && good; i++) {
		slot = prandom_u32_state(&rnd) % EXPORTS;
		if (model.exports[slot].export)
			model_unexport(&model, slot);
		else
			good = model_export(&model, slot);
		if (good)
			good = check_room(&model);
	}
	for (slot = 0; slot < EXPORTS; slot++)
		model_unexport(&model, slot);
	return good && check_room(&model);
}

static bool test_same_export(void)
{
	struct dl_window_desc one, two;
	struct dl_window_room room;
	struct dl_export *a, *b;

	a = dl_export(ends[0], SZ_1G, SZ_1G, DL_WINDOW_DIRECT, &one);
	CHECK(!IS_ERR(a));
	b = dl_export(ends[0], SZ_1G, SZ_1G, DL_WINDOW_DIRECT, &two);
	CHECK(a == b);
	CHECK(!memcmp(&one, &two, sizeof(one)));
	dl_unexport(a);
	CHECK_IS(dl_windows_free(ends[0], &room), 0);
	CHECK_IS(room.direct_count, 1);
	CHECK(check_import(&two, SZ_1G, SZ_1G));
	dl_unexport(b);
	CHECK_IS(dl_windows_free(ends[0], &room), 0);
	CHECK_IS(room.direct_count, 2);
	CHECK(IS_ERR(dl_import(ends[1], &two)));
	return true;
}

static bool test_bad_exports(void)
{
	struct dl_window_desc desc;

	CHECK(dl_export(ends[0], 0, 0, 0, &desc) == ERR_PTR(-EINVAL));
	CHECK(dl_export(ends[0], 0, U64_MAX, 0, &desc) == ERR_PTR(-EINVAL));
	CHECK(dl_export(ends[0], U64_MAX, 2, 0, &desc) == ERR_PTR(-EINVAL));
	CHECK(dl_export(ends[0], 0, 1, 3, &desc) == ERR_PTR(-EINVAL));
	CHECK(dl_export(ends[0], 0, BIT_ULL(60), 0, &desc) == ERR_PTR(-ENOSPC));
	return true;
}

/* Whatever a peer sends as a descriptor is refused or is within the export. */
static bool test_bad_imports(void)
{
	struct dl_window_desc good, bad;
	struct dl_import *import;
	struct dl_export *export;
	unsigned int i, imported = 0;
	bool fine = true;

	export = dl_export(ends[0], 0x10000000, 3 * LUT, DL_WINDOW_LUT, &good);
	CHECK(!IS_ERR(export));
	for (i = 0; i < 20000; i++) {
		u64 words[4];

		bad = good;
		prandom_bytes_state(&rnd, words, sizeof(words));
		if (words[0] & 1)
			bad.window = cpu_to_le32(words[0] >> 1 & 2 ?
							 words[1] : words[1] % 140);
		if (words[0] & 4)
			bad.offset = cpu_to_le64(words[2] >> (words[0] >> 8) % 64);
		if (words[0] & 8)
			bad.size = cpu_to_le64(words[3] >> (words[0] >> 16) % 64);
		if (!(words[0] & 0x70))
			bad.reserved = cpu_to_le32(1);
		import = dl_import(ends[1], &bad);
		if (IS_ERR(import))
			continue;
		imported++;
		fine = fine && !bad.reserved && import->phys >= 0x10000000 &&
		       import->size &&
		       import->phys + import->size <= 0x10000000 + 3 * LUT;
		dl_unimport(import);
	}
	dl_unexport(export);
	CHECK(fine);
	/* The generator must not be so wild that nothing is ever right. */
	CHECK(imported > 1000);
	CHECK(imported < 19000);
	return true;
}

/* Loss. */

static int slow_run(void *data)
{
	__le32 ms = cpu_to_le32(800);
	u8 resp[4];

	*(int *)data = dl_call(ends[0], OP_SLOW, &ms, 4, resp, 4, 5000);
	while (!kthread_should_stop())
		msleep(1);
	return 0;
}

static bool test_loss(void)
{
	u32 session = dl_peer_session(ends[0]);
	int up = atomic_read(&callbacks_up), down = atomic_read(&callbacks_down);
	int lost = atomic_read(&callbacks_lost), ret = 1, i;
	struct dl_window_desc desc;
	struct task_struct *task;
	struct dl_export *export;
	ktime_t begin;

	export = dl_export(ends[0], SZ_1M, LUT, DL_WINDOW_LUT, &desc);
	CHECK(!IS_ERR(export));
	task = kthread_run(slow_run, &ret, "dl_test_slow");
	CHECK(!IS_ERR(task));
	msleep(100);
	CHECK_IS(ret, 1);
	begin = ktime_get();
	dl_peer_disconnect(ends[0]);
	/* Known at once, and by everybody. */
	CHECK(!dl_peer_is_up(ends[0]));
	CHECK_IS(atomic_read(&callbacks_lost), lost + 1);
	for (i = 0; i < 100 && READ_ONCE(ret) == 1; i++)
		msleep(10);
	kthread_stop(task);
	CHECK_IS(ret, -ENOTCONN);
	CHECK(ktime_ms_delta(ktime_get(), begin) < 700);
	CHECK_IS(dl_call(ends[0], OP_ECHO, NULL, 0, NULL, 0, 0), -ENOTCONN);
	CHECK_IS(dl_call_polled(ends[0], OP_ECHO_ATOMIC, NULL, 0, NULL, 0, 0),
		 -ENOTCONN);
	CHECK(dl_import(ends[1], &desc) == ERR_PTR(-ENOTCONN));
	for (i = 0; i < 300 && atomic_read(&callbacks_down) < down + 2; i++)
		msleep(10);
	CHECK_IS(atomic_read(&callbacks_down), down + 2);
	CHECK_IS(atomic_read(&callbacks_lost), lost + 2);
	/* Closed with the session; what remains is the handle. */
	dl_unexport(export);
	dl_peer_connect(ends[0]);
	CHECK(wait_for_state(DL_PEER_UP));
	for (i = 0; i < 300 && atomic_read(&callbacks_up) < up + 2; i++)
		msleep(10);
	CHECK_IS(atomic_read(&callbacks_up), up + 2);
	CHECK(dl_peer_session(ends[0]) != session);
	CHECK_IS(echo(ends[0], &rnd, 100, false, buffer), 0);
	CHECK_IS(echo(ends[1], &rnd, 100, true, buffer), 0);
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
		dl_peer_disconnect(ends[i % 2]);
		for (k = 0, others = 0; k < 4; k++)
			others += caller_end(&callers[k]) != -ENOTCONN;
		kvfree(callers);
		dl_peer_connect(ends[i % 2]);
		CHECK_IS(others, 0);
		CHECK(wait_for_state(DL_PEER_UP));
	}
	return true;
}

static void note_up(struct dl_peer *peer)
{
	atomic_inc(&callbacks_up);
}

static void note_lost(struct dl_peer *peer)
{
	if (!irqs_disabled() || dl_peer_is_up(peer))
		atomic_inc(&callbacks_wrong);
	atomic_inc(&callbacks_lost);
}

static void note_down(struct dl_peer *peer)
{
	/* Nobody calls a peer that has gone. */
	if (dl_call(peer, OP_ECHO, NULL, 0, NULL, 0, 0) != -ENOTCONN &&
	    atomic_read(&callbacks_down) < atomic_read(&callbacks_lost))
		atomic_inc(&callbacks_wrong);
	atomic_inc(&callbacks_down);
}

static struct dl_client notes = {
	.name = "test",
	.owner = THIS_MODULE,
	.peer_up = note_up,
	.peer_lost = note_lost,
	.peer_down = note_down,
};

static bool test_clients(void)
{
	static struct dl_client more[DL_CLIENTS_MAX + 1];
	int i, n;

	for (n = 0; n < DL_CLIENTS_MAX; n++) {
		if (dl_client_register(&more[n]))
			break;
	}
	for (i = 0; i < n; i++)
		dl_client_unregister(&more[i]);
	/* This module has one; others may have some. */
	CHECK(n > 0 && n < DL_CLIENTS_MAX);
	CHECK_IS(atomic_read(&callbacks_wrong), 0);
	return true;
}

static bool test_ops(void)
{
	static const struct dl_op taken = { OP_ECHO, 0, 0, 0, op_echo };
	static const struct dl_op mixed[] = {
		{ OP_NOBODY, 0, 0, 0, op_echo },
		{ OP_ECHO, 0, 0, 0, op_echo },
	};
	static const struct dl_op wrong[] = {
		{ DL_OPS_MAX, 0, 0, 0, op_echo },
		{ OP_NOBODY, 0, 2, 1, op_echo },
		{ OP_NOBODY, 0, 0, DL_MSG_MAX + 1, op_echo },
		{ OP_NOBODY, 0, 0, 0, NULL },
	};
	unsigned int i;

	CHECK_IS(dl_ops_register(&taken, 1, THIS_MODULE), -EBUSY);
	CHECK_IS(dl_ops_register(mixed, 2, THIS_MODULE), -EBUSY);
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		CHECK_IS(dl_ops_register(&wrong[i], 1, THIS_MODULE), -EINVAL);
	/* What failed has left nothing, and has taken nothing away. */
	CHECK_IS(dl_call(ends[0], OP_NOBODY, NULL, 0, NULL, 0, 0), -EOPNOTSUPP);
	CHECK_IS(echo(ends[0], &rnd, 1, false, buffer), 0);
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
	struct dl_peer *peer;
	int i, found = 0;

	prandom_seed_state(&rnd, seed);
	buffer = kzalloc(2 * DL_MSG_MAX, GFP_KERNEL);
	if (!buffer)
		return -ENOMEM;
	for (i = 0; i < DL_PEERS_MAX && found < 2; i++) {
		peer = dl_peer_at(i);
		if (peer && dl_peer_is_loopback(peer))
			ends[found++] = peer;
		else
			dl_peer_put(peer);
	}
	if (found < 2 || !wait_for_state(DL_PEER_UP)) {
		pr_err("dl_test: the loopback is not up\n");
		failed++;
		goto out;
	}
	run("requests of all lengths are answered", test_lengths);
	run("what nobody handles is refused", test_refusals);
	run("results arrive as they were returned", test_results);
	run("a call that takes too long ends in time", test_time_out);
	run("a call in an interrupt", test_interrupt);
	run("calls in both directions at once", test_both_directions);
	run("more calls than slots", test_more_than_slots);
	run("handlers are registered as a whole or not", test_ops);
	run("windows as in a model that tries everything", test_windows);
	run("the same export twice is one", test_same_export);
	run("exports that cannot be", test_bad_exports);
	run("imports of what was not exported", test_bad_imports);
	run("a loss ends calls and is told", test_loss);
	run("losses under load", test_loss_under_load);
	run("clients, as many as there may be", test_clients);
	pr_info("dl_test: 1..%u\n", tests);
out:
	for (i = 0; i < found; i++)
		dl_peer_put(ends[i]);
	kfree(buffer);
	return failed ? -EIO : 0;
}

/* Traffic. */

static struct {
	atomic_long_t calls, polled, exports, timeouts, wrong, up, down;
} sums;

struct flow {
	struct dl_peer *peer;
	struct task_struct *task[2];
	struct caller *caller[2];
};

static struct flow flows[DL_PEERS_MAX];
static DEFINE_MUTEX(flows_mutex);

static int traffic_run(void *data)
{
	struct caller *caller = data;
	struct dl_window_desc desc;
	struct dl_export *export;
	unsigned int i;
	int ret;

	for (i = 0; !kthread_should_stop(); i++) {
		ret = echo(caller->peer, &caller->rnd,
			   prandom_u32_state(&caller->rnd) % (DL_MSG_MAX + 1),
			   caller->polled, caller->buffer);
		if (!ret) {
			atomic_long_inc(caller->polled ? &sums.polled :
							 &sums.calls);
		} else if (ret == -ENOTCONN) {
			msleep(1);
		} else if (ret == -ETIMEDOUT || ret == -EOPNOTSUPP) {
			/* The far end is held up, or has not loaded this yet. */
			atomic_long_inc(&sums.timeouts);
			msleep(10);
		} else {
			pr_err_ratelimited("dl_test: a call failed: %d\n", ret);
			atomic_long_inc(&sums.wrong);
			msleep(10);
		}
		if (!caller->polled && i % 64 == 63) {
			export = dl_export(caller->peer, SZ_1M, SZ_64K,
					   DL_WINDOW_LUT, &desc);
			if (!IS_ERR(export)) {
				atomic_long_inc(&sums.exports);
				dl_unexport(export);
			}
		}
		if (i % 16 == 15)
			usleep_range(500, 1000);
	}
	return 0;
}

static void traffic_up(struct dl_peer *peer)
{
	struct caller *caller;
	struct flow *flow;
	int i;

	atomic_long_inc(&sums.up);
	mutex_lock(&flows_mutex);
	for (flow = flows; flow < flows + DL_PEERS_MAX && flow->peer; flow++)
		;
	if (flow == flows + DL_PEERS_MAX)
		goto unlock;
	flow->peer = dl_peer_get(peer);
	for (i = 0; i < 2; i++) {
		flow->task[i] = NULL;
		caller = flow->caller[i] = kzalloc(sizeof(*caller), GFP_KERNEL);
		if (!caller)
			continue;
		caller->peer = peer;
		caller->polled = i;
		prandom_seed_state(&caller->rnd, seed + i);
		flow->task[i] = kthread_run(traffic_run, caller, "dl_traffic");
		if (IS_ERR(flow->task[i]))
			flow->task[i] = NULL;
	}
unlock:
	mutex_unlock(&flows_mutex);
}

static void traffic_down(struct dl_peer *peer)
{
	struct flow *flow;
	int i;

	atomic_long_inc(&sums.down);
	mutex_lock(&flows_mutex);
	for (flow = flows; flow < flows + DL_PEERS_MAX; flow++) {
		if (flow->peer != peer)
			continue;
		for (i = 0; i < 2; i++) {
			if (flow->task[i])
				kthread_stop(flow->task[i]);
			kfree(flow->caller[i]);
		}
		dl_peer_put(peer);
		flow->peer = NULL;
	}
	mutex_unlock(&flows_mutex);
}

static struct dl_client traffic_client = {
	.name = "traffic",
	.owner = THIS_MODULE,
	.peer_up = traffic_up,
	.peer_down = traffic_down,
};

static int traffic_show(struct seq_file *file, void *unused)
{
	seq_printf(file, "calls %ld\npolled %ld\nexports %ld\ntimeouts %ld\n",
		   atomic_long_read(&sums.calls), atomic_long_read(&sums.polled),
		   atomic_long_read(&sums.exports),
		   atomic_long_read(&sums.timeouts));
	seq_printf(file, "wrong %ld\nup %ld\ndown %ld\n",
		   atomic_long_read(&sums.wrong), atomic_long_read(&sums.up),
		   atomic_long_read(&sums.down));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(traffic);

static struct dentry *traffic_file;

static int __init test_init(void)
{
	struct dl_client *client = traffic ? &traffic_client : &notes;
	int err;

	err = dl_ops_register(ops, ARRAY_SIZE(ops), THIS_MODULE);
	if (err)
		return err;
	err = dl_client_register(client);
	if (err)
		goto unregister_ops;
	if (traffic) {
		traffic_file = debugfs_create_file("traffic", 0444,
						   dl_debugfs_root(), NULL,
						   &traffic_fops);
		return 0;
	}
	err = run_tests();
	if (!err)
		return 0;
	dl_client_unregister(client);
unregister_ops:
	dl_ops_unregister(ops, ARRAY_SIZE(ops));
	return err;
}

static void __exit test_exit(void)
{
	debugfs_remove(traffic_file);
	dl_client_unregister(traffic ? &traffic_client : &notes);
	dl_ops_unregister(ops, ARRAY_SIZE(ops));
}

module_init(test_init);
module_exit(test_exit);
MODULE_DESCRIPTION("Tests of dl_fabric");
MODULE_LICENSE("GPL");
