// SPDX-License-Identifier: GPL-2.0-only
/*
 * A malicious peer. It uses the NTB interface directly, says hello as dl_fabric does,
 * and then writes nonsense. It is loaded in place of dl_fabric on one node. The other
 * node must refuse and count the nonsense, and keep running.
 *
 * It plays rounds, each with a session of its own:
 *
 *   words	hello words, of which one or all are random
 *   requests	requests in the right places, with random numbers, lengths and bytes
 *   loans	nearly right requests of a borrower, for devices of others
 *   answers	random responses to the requests of the other node
 *   bytes	random bytes anywhere in the other node's control area
 *   bells	random doorbells as fast as possible
 *
 * Counters in debugfs: dl_hostile/rounds; dl_hostile/sessions, the handshakes that the
 * other node completed; dl_hostile/loans, the devices that the other node has lent.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/ntb.h>
#include <linux/pci.h>
#include <linux/prandom.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "dl_proto.h"
#include "fabric_wire.h"

static uint node = 666;
module_param(node, uint, 0444);

static uint seed = 1;
module_param(seed, uint, 0444);

static uint round_ms = 400;
module_param(round_ms, uint, 0444);

struct hostile {
	struct ntb_dev *ntb;
	struct task_struct *task;
	struct dlend_area *area;
	dma_addr_t dma;
	int window;		/* window of the peer that leads to @area */
	u32 window_link;	/* value of @links when the window was set, or 0 */
	u32 links;		/* 1 + number of link events */
	struct dlend_area __iomem *far;
	u32 epoch, far_epoch;
	u32 beats;
	u32 loan;		/* number of our loan of the first device, or 0 */
	struct rnd_state rnd;
};

static u32 rounds, sessions, loans;
static struct dentry *folder;

static u32 any(struct hostile *h)
{
	return prandom_u32_state(&h->rnd);
}

static void say(struct hostile *h, unsigned int word, u32 value)
{
	ntb_peer_spad_write(h->ntb, NTB_DEF_PEER_IDX, word, value);
}

static u32 hear(struct hostile *h, unsigned int word)
{
	return ntb_spad_read(h->ntb, word);
}

static void ring(struct hostile *h)
{
	u64 valid = ntb_db_valid_mask(h->ntb);

	ntb_peer_db_set(h->ntb, valid & -valid);
}

static void say_hello(struct hostile *h, u32 echo)
{
	say(h, DLEND_HELLO_MAGIC, DLEND_MAGIC | DLEND_VERSION);
	say(h, DLEND_HELLO_NODE, node);
	say(h, DLEND_HELLO_WINDOW, h->window);
	say(h, DLEND_HELLO_ADDR_LO, lower_32_bits(h->dma));
	say(h, DLEND_HELLO_ADDR_HI, upper_32_bits(h->dma));
	say(h, DLEND_HELLO_ECHO, echo);
	say(h, DLEND_HELLO_EPOCH, h->epoch);
}

static bool link_is_up(struct hostile *h)
{
	return ntb_link_is_up(h->ntb, NULL, NULL) & 1;
}

static void leave(struct hostile *h)
{
	if (h->far)
		iounmap(h->far);
	h->far = NULL;
}

static void write_table(struct hostile *h)
{
	struct dlend_area_window window;
	resource_size_t size;
	phys_addr_t addr;
	u32 i;

	for (i = 0; i < DLEND_WINDOWS_MAX; i++) {
		if (ntb_peer_mw_get_addr(h->ntb, i, &addr, &size))
			break;
		window.addr = cpu_to_le64(addr);
		window.size = cpu_to_le64(size);
		memcpy_toio(&h->far->window[i], &window, sizeof(window));
	}
	writel(i, &h->far->windows);
}

/* Does the handshake. Return: whether the other node must be up now. */
static bool meet(struct hostile *h)
{
	resource_size_t size;
	phys_addr_t addr;
	u32 far, window;
	int i;

	leave(h);
	/* Tell the other node that the last session is over. */
	say(h, DLEND_HELLO_EPOCH, 0);
	ring(h);
	msleep(50);
	if (!link_is_up(h))
		return false;
	if (h->window_link != h->links) {
		h->window = ntb_mw_count(h->ntb, NTB_DEF_PEER_IDX) - 1;
		if (ntb_mw_set_trans(h->ntb, NTB_DEF_PEER_IDX, h->window, h->dma,
				     DLEND_AREA_SIZE))
			return false;
		h->window_link = h->links;
	}
	h->epoch = any(h) | 1;
	say_hello(h, 0);
	for (i = 0; i < 100 && !kthread_should_stop(); i++) {
		msleep(20);
		far = hear(h, DLEND_HELLO_EPOCH);
		if (!far || hear(h, DLEND_HELLO_ECHO) != h->epoch)
			continue;
		if (!h->far) {
			window = hear(h, DLEND_HELLO_WINDOW);
			if (ntb_peer_mw_get_addr(h->ntb, window, &addr, &size))
				return false;
			h->far = ioremap(addr, DLEND_AREA_SIZE);
			if (!h->far)
				return false;
		}
		h->far_epoch = far;
		h->loan = 0;
		write_table(h);
		/* In one session of four the table claims a random number of windows. */
		if (any(h) % 4 == 0)
			writel(any(h), &h->far->windows);
		say_hello(h, far);
		sessions++;
		return true;
	}
	return false;
}

static void beat(struct hostile *h)
{
	if (h->far)
		writel(++h->beats, &h->far->beat);
}

static void words(struct hostile *h)
{
	int i;

	if (any(h) % 4 == 0) {
		for (i = 0; i < DLEND_HELLO_WORDS; i++)
			say(h, i, any(h));
	} else {
		say(h, DLEND_HELLO_EPOCH, 0);
		h->epoch = any(h) | 1;
		say_hello(h, hear(h, DLEND_HELLO_EPOCH));
		switch (any(h) % 4) {
		case 0:
			say(h, DLEND_HELLO_MAGIC, DLEND_MAGIC | (any(h) & 0xffff));
			break;
		case 1:
			say(h, DLEND_HELLO_NODE, any(h) & 1 ? any(h) : 0);
			break;
		case 2:
			say(h, DLEND_HELLO_WINDOW, any(h) & 1 ? any(h) : any(h) % 256);
			break;
		case 3:
			say(h, any(h) % DLEND_HELLO_WORDS, any(h));
			break;
		}
	}
	/* The other node reads the words within this time. */
	msleep(50);
}

static void write_slot(struct hostile *h, struct dlend_slot __iomem *slot, bool wild)
{
	u8 data[256];
	u32 len = any(h) % (DLEND_MSG_MAX + 1);
	unsigned int i;

	if (wild && any(h) % 4 == 0)
		len = any(h) & 0xffff;
	writel(0, &slot->seq);
	writel(any(h) % 16 ? h->far_epoch : any(h), &slot->epoch);
	writew(any(h) % 8 ? any(h) % 256 : any(h), &slot->op);
	writew(len, &slot->len);
	writel(wild && any(h) % 8 == 0 ? any(h) : 0, &slot->status);
	prandom_bytes_state(&h->rnd, data, sizeof(data));
	for (i = 0; i < DLEND_MSG_MAX; i += sizeof(data))
		memcpy_toio(slot->data + i, data, sizeof(data));
	/* Write seq last, as a good peer does; otherwise the slot would not be read. */
	wmb();
	writel(any(h), &slot->seq);
}

static void requests(struct hostile *h)
{
	int i;

	for (i = 0; i < 50; i++)
		write_slot(h, &h->far->request[any(h) % DLEND_SLOTS], true);
	ring(h);
}

/* Sends a request as a good peer does. Return: its seq. */
static u32 ask(struct hostile *h, unsigned int i, u16 op, const void *data,
	       size_t len)
{
	struct dlend_slot __iomem *slot = &h->far->request[i];
	u32 seq = any(h) | 1;

	writel(0, &slot->seq);
	writel(h->far_epoch, &slot->epoch);
	writew(op, &slot->op);
	writew(len, &slot->len);
	writel(0, &slot->status);
	memcpy_toio(slot->data, data, len);
	/* Write all of it before seq. */
	wmb();
	writel(seq, &slot->seq);
	ring(h);
	return seq;
}

static u32 first_device(struct hostile *h)
{
	return hear(h, DLEND_HELLO_NODE) << 16;
}

/* Return: the response to a request in slot 0, or NULL. */
static const void *answer(struct hostile *h, u32 seq)
{
	const struct dlend_slot *slot = &h->area->response[0];
	int i;

	for (i = 0; i < 400 && le32_to_cpu(READ_ONCE(slot->seq)) != seq; i++)
		usleep_range(2000, 3000);
	/* Read the rest after seq. */
	dma_rmb();
	return i == 400 || slot->status ? NULL : slot->data;
}

/* Borrows a device properly, with windows that the other node's adapter has. */
static void borrow(struct hostile *h)
{
	struct dlend_msg_borrow borrow = { .fdid = cpu_to_le32(first_device(h)) };
	struct dlend_msg_attach attach = {
		.fdid = borrow.fdid,
		.dma.size = cpu_to_le64(SZ_64K),
		.msi.window = cpu_to_le32(2),
		.msi.size = cpu_to_le64(SZ_64K),
	};
	const struct dlend_msg_borrow_answer *is;

	is = answer(h, ask(h, 0, DLEND_OP_BORROW, &borrow, sizeof(borrow)));
	if (!is || is->status)
		return;
	h->loan = le32_to_cpu(is->loan);
	attach.loan = is->loan;
	if (answer(h, ask(h, 0, DLEND_OP_ATTACH, &attach, sizeof(attach))))
		loans++;
}

/* Fills in a window that mostly exists, but leads elsewhere. */
static void fill_window(struct hostile *h, struct dlend_window_desc *desc)
{
	desc->window = cpu_to_le32(any(h) % 40);
	desc->reserved = 0;
	desc->offset = cpu_to_le64(any(h) & 1 ? 0 : any(h) % SZ_1M);
	desc->size = cpu_to_le64(any(h) & 1 ? SZ_4K << any(h) % 10 : any(h));
}

/*
 * Sends requests of borrowers and lenders with the right length. The device and the loan
 * are right in three of four requests.
 */
static void loan_requests(struct hostile *h)
{
	static const struct {
		u16 op, len;
	} kinds[] = {
		{ DLEND_OP_CFG_WRITE, sizeof(struct dlend_msg_cfg) },
		{ DLEND_OP_CFG_WRITE, sizeof(struct dlend_msg_cfg) },
		{ DLEND_OP_CFG_READ, sizeof(struct dlend_msg_cfg) },
		{ DLEND_OP_CFG_EXTENDED, sizeof(struct dlend_msg_extended) },
		{ DLEND_OP_ATTACH, sizeof(struct dlend_msg_attach) },
		{ DLEND_OP_LIST, sizeof(struct dlend_msg_list) },
		{ DLEND_OP_REVOKE, sizeof(struct dlend_msg_revoke) },
		{ DLEND_OP_RETURN, sizeof(struct dlend_msg_return) },
	};
	union {
		u8 bytes[128];
		struct dlend_msg_return loan;	/* how all requests but LIST begin */
		struct dlend_msg_attach attach;
		struct dlend_msg_cfg cfg;
		struct dlend_msg_extended extended;
	} req;
	unsigned int i, kind;

	if (!h->loan)
		borrow(h);
	for (i = 0; i < 30; i++) {
		/* A request that ends the loan is rare. */
		kind = any(h) % (any(h) % 16 ? ARRAY_SIZE(kinds) - 1 :
					       ARRAY_SIZE(kinds));
		prandom_bytes_state(&h->rnd, req.bytes, sizeof(req.bytes));
		if (any(h) % 4)
			req.loan.fdid = cpu_to_le32(first_device(h));
		if (any(h) % 4)
			req.loan.loan = cpu_to_le32(h->loan);
		switch (kinds[kind].op) {
		case DLEND_OP_ATTACH:
			req.attach.flags = cpu_to_le32(any(h) % 8 ? 0 : any(h));
			fill_window(h, &req.attach.dma);
			fill_window(h, &req.attach.msi);
			break;
		case DLEND_OP_CFG_READ:
		case DLEND_OP_CFG_WRITE:
			req.cfg.size = cpu_to_le16(any(h) % 8 ?
						   1 << any(h) % 3 : any(h));
			req.cfg.offset = cpu_to_le16(any(h) % 8 ?
						     any(h) % 64 * 4 : any(h));
			break;
		case DLEND_OP_CFG_EXTENDED:
			/* Half of the pieces begin where there is one, or just before. */
			req.extended.offset = cpu_to_le32(any(h) & 1 ? any(h) :
							  any(h) % (DLEND_CFG_SPACE + 8));
			break;
		case DLEND_OP_RETURN:
			h->loan = 0;
			break;
		}
		ask(h, any(h) % DLEND_SLOTS, kinds[kind].op, req.bytes,
		    kinds[kind].len);
		if (any(h) % 4 == 0)
			usleep_range(1000, 2000);
	}
}

/* Writes random responses. The op and the seq are each corrected in half of them. */
static void answers(struct hostile *h)
{
	struct dlend_slot __iomem *slot;
	int i;

	for (i = 0; i < DLEND_SLOTS; i++) {
		slot = &h->far->response[i];
		write_slot(h, slot, true);
		if (any(h) & 1)
			writel(h->far_epoch, &slot->epoch);
		if (any(h) & 1)
			writew(le16_to_cpu(h->area->request[i].op), &slot->op);
		if (any(h) & 1)
			writel(le32_to_cpu(h->area->request[i].seq), &slot->seq);
	}
	ring(h);
	usleep_range(100, 200);
}

static void bytes(struct hostile *h)
{
	u8 data[64];
	int i;

	for (i = 0; i < 200; i++) {
		prandom_bytes_state(&h->rnd, data, sizeof(data));
		memcpy_toio((u8 __iomem *)h->far +
				    any(h) % (DLEND_AREA_SIZE - sizeof(data)),
			    data, 1 + any(h) % sizeof(data));
	}
	ring(h);
}

static void bells(struct hostile *h)
{
	u64 valid = ntb_db_valid_mask(h->ntb);
	int i;

	for (i = 0; i < 500; i++)
		ntb_peer_db_set(h->ntb, ((u64)any(h) << 32 | any(h)) & valid);
	usleep_range(500, 1000);
}

static int hostile_run(void *data)
{
	static void (*const what[])(struct hostile *) = {
		words, requests, loan_requests, answers, bytes, bells,
	};
	struct hostile *h = data;
	unsigned long end;
	unsigned int i;

	while (!kthread_should_stop()) {
		i = rounds % ARRAY_SIZE(what);
		if (!link_is_up(h) || (what[i] != words && !meet(h))) {
			msleep(50);
			continue;
		}
		/* The other node needs a moment to go up. */
		if (what[i] != words) {
			beat(h);
			msleep(40);
		}
		end = jiffies + msecs_to_jiffies(round_ms);
		/* The other node first has to notice that the last session is over. */
		if (what[i] == words)
			end += msecs_to_jiffies(round_ms);
		while (time_before(jiffies, end) && !kthread_should_stop()) {
			what[i](h);
			beat(h);
			cond_resched();
		}
		rounds++;
	}
	leave(h);
	return 0;
}

static void link_event(void *ctx)
{
	((struct hostile *)ctx)->links++;
}

static void db_event(void *ctx, int vec)
{
	struct hostile *h = ctx;

	ntb_db_clear(h->ntb, ntb_db_valid_mask(h->ntb));
}

static const struct ntb_ctx_ops ctx_ops = {
	.link_event = link_event,
	.db_event = db_event,
};

static int hostile_probe(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct device *dev = &ntb->pdev->dev;
	struct hostile *h = kzalloc(sizeof(*h), GFP_KERNEL);
	int err = -ENOMEM;

	if (!h)
		return -ENOMEM;
	h->ntb = ntb;
	h->links = 1;
	prandom_seed_state(&h->rnd, seed);
	h->area = dma_alloc_coherent(dev, DLEND_AREA_SIZE, &h->dma, GFP_KERNEL);
	if (!h->area)
		goto free;
	err = ntb_set_ctx(ntb, h, &ctx_ops);
	if (err)
		goto free_area;
	ntb_link_enable(ntb, NTB_SPEED_AUTO, NTB_WIDTH_AUTO);
	h->task = kthread_run(hostile_run, h, "dl_hostile");
	if (!IS_ERR(h->task))
		return 0;
	err = PTR_ERR(h->task);
	ntb_link_disable(ntb);
	ntb_clear_ctx(ntb);
free_area:
	dma_free_coherent(dev, DLEND_AREA_SIZE, h->area, h->dma);
free:
	kfree(h);
	return err;
}

static void hostile_remove(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct hostile *h = ntb->ctx;

	kthread_stop(h->task);
	if (h->window_link)
		ntb_mw_clear_trans(ntb, NTB_DEF_PEER_IDX, h->window);
	ntb_link_disable(ntb);
	ntb_clear_ctx(ntb);
	dma_free_coherent(&ntb->pdev->dev, DLEND_AREA_SIZE, h->area, h->dma);
	kfree(h);
}

static struct ntb_client hostile_client = {
	.ops = {
		.probe = hostile_probe,
		.remove = hostile_remove,
	},
};

static int __init hostile_init(void)
{
	folder = debugfs_create_dir("dl_hostile", NULL);
	debugfs_create_u32("rounds", 0444, folder, &rounds);
	debugfs_create_u32("sessions", 0444, folder, &sessions);
	debugfs_create_u32("loans", 0444, folder, &loans);
	return ntb_register_client(&hostile_client);
}

static void __exit hostile_exit(void)
{
	ntb_unregister_client(&hostile_client);
	debugfs_remove_recursive(folder);
}

module_init(hostile_init);
module_exit(hostile_exit);
MODULE_DESCRIPTION("A malicious peer, for tests of dl_fabric");
MODULE_LICENSE("GPL");
