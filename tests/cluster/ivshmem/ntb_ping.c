// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures doorbells of an NTB: see ping.h. Also gives each end a memory window
 * onto memory of the other end, for programs that copy.
 *
 * Files in debugfs folder ntb_ping, beside "run":
 *   link	Y when the link is up and the other end's window is set
 *   window	physical address and size of the window onto the other end
 */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/ntb.h>
#include <linux/sizes.h>
#include <linux/workqueue.h>

#include "ping.h"

#define PEER		0
#define BUFFER_SIZE	SZ_4M

static unsigned int window = 1;
module_param(window, uint, 0400);
MODULE_PARM_DESC(window, "Number of the memory window (default: the one that is a BAR of Switchtec); the last one if there are fewer");

struct ntb_ping {
	struct ping ping;
	struct ntb_dev *ntb;
	struct work_struct link_work;
	int window;
	bool link;
	void *buffer;
	dma_addr_t bus;
};

static void ntb_ping_ring(struct ping *ping, unsigned int bell)
{
	struct ntb_ping *np = container_of(ping, struct ntb_ping, ping);

	ntb_peer_db_set(np->ntb, BIT_ULL(bell));
}

static void ntb_ping_db_event(void *ctx, int vec)
{
	struct ntb_ping *np = ctx;
	u64 bits = ntb_db_read(np->ntb);
	unsigned int bell;

	ntb_db_clear(np->ntb, bits);
	for (bell = 0; bell < PING_BELLS; bell++)
		if (bits & BIT_ULL(bell))
			ping_hear(&np->ping, bell);
}

/* The other end writes into this memory through its window. */
static int ntb_ping_set_window(struct ntb_ping *np)
{
	resource_size_t addr_align, size_align, size_max;
	int err;

	err = ntb_mw_get_align(np->ntb, PEER, np->window, &addr_align,
			       &size_align, &size_max);
	if (err)
		return err;
	if (size_max < BUFFER_SIZE || !IS_ALIGNED(np->bus, addr_align) ||
	    !IS_ALIGNED(BUFFER_SIZE, size_align))
		return -ENOSPC;
	return ntb_mw_set_trans(np->ntb, PEER, np->window, np->bus,
				BUFFER_SIZE);
}

static void ntb_ping_link_work(struct work_struct *work)
{
	struct ntb_ping *np = container_of(work, struct ntb_ping, link_work);
	int err;

	WRITE_ONCE(np->link, false);
	if (ntb_link_is_up(np->ntb, NULL, NULL) != BIT_ULL(PEER))
		return;
	err = ntb_ping_set_window(np);
	if (err)
		dev_err(&np->ntb->dev, "window %d cannot be set: %d\n",
			np->window, err);
	else
		WRITE_ONCE(np->link, true);
}

static void ntb_ping_link_event(void *ctx)
{
	struct ntb_ping *np = ctx;

	schedule_work(&np->link_work);
}

static const struct ntb_ctx_ops ntb_ping_ops = {
	.link_event = ntb_ping_link_event,
	.db_event = ntb_ping_db_event,
};

static int ntb_ping_window_show(struct seq_file *s, void *unused)
{
	struct ntb_ping *np = s->private;
	resource_size_t size;
	phys_addr_t address;
	int err;

	err = ntb_peer_mw_get_addr(np->ntb, np->window, &address, &size);
	if (err)
		return err;
	seq_printf(s, "%pa %pa\n", &address, &size);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(ntb_ping_window);

static int ntb_ping_probe(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct device *dma = ntb_get_dma_dev(ntb);
	struct ntb_ping *np;
	int err;

	if (ntb_peer_port_count(ntb) != 1 ||
	    (ntb_db_valid_mask(ntb) & GENMASK_ULL(PING_BELLS - 1, 0)) !=
		    GENMASK_ULL(PING_BELLS - 1, 0))
		return -EINVAL;
	np = devm_kzalloc(&ntb->dev, sizeof(*np), GFP_KERNEL);
	if (!np)
		return -ENOMEM;
	np->ntb = ntb;
	np->window = min_t(int, window, ntb_mw_count(ntb, PEER) - 1);
	INIT_WORK(&np->link_work, ntb_ping_link_work);
	ping_init(&np->ping, ntb_ping_ring);
	np->buffer = dma_alloc_coherent(dma, BUFFER_SIZE, &np->bus, GFP_KERNEL);
	if (!np->buffer)
		return -ENOMEM;

	ntb_db_set_mask(ntb, ntb_db_valid_mask(ntb));
	ntb_db_clear(ntb, ntb_db_valid_mask(ntb));
	err = ntb_set_ctx(ntb, np, &ntb_ping_ops);
	if (err)
		goto err_free;
	ntb_db_clear_mask(ntb, GENMASK_ULL(PING_BELLS - 1, 0));
	/* The secondary side of AMD's refuses this although it enables the link. */
	ntb_link_enable(ntb, NTB_SPEED_AUTO, NTB_WIDTH_AUTO);
	ntb_link_event(ntb);

	ping_publish(&np->ping);
	debugfs_create_bool("link", 0400, np->ping.dir, &np->link);
	debugfs_create_file("window", 0400, np->ping.dir, np,
			    &ntb_ping_window_fops);
	return 0;

err_free:
	dma_free_coherent(dma, BUFFER_SIZE, np->buffer, np->bus);
	return err;
}

static void ntb_ping_remove(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct ntb_ping *np = ntb->ctx;

	ping_remove(&np->ping);
	ntb_db_set_mask(ntb, GENMASK_ULL(PING_BELLS - 1, 0));
	ntb_clear_ctx(ntb);
	cancel_work_sync(&np->link_work);
	ntb_mw_clear_trans(ntb, PEER, np->window);
	ntb_link_disable(ntb);
	dma_free_coherent(ntb_get_dma_dev(ntb), BUFFER_SIZE, np->buffer,
			  np->bus);
}

static struct ntb_client ntb_ping_client = {
	.ops = {
		.probe = ntb_ping_probe,
		.remove = ntb_ping_remove,
	},
};
module_ntb_client(ntb_ping_client);

MODULE_DESCRIPTION("Time of doorbells of NTBs");
MODULE_LICENSE("GPL");
