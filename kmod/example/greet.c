// SPDX-License-Identifier: GPL-2.0-only
/*
 * A client of NTBs: it rings the doorbell of the peer when the link comes up, and
 * reports the doorbells that the peer rings. docs/user/cluster.md uses it.
 */
#include <linux/module.h>
#include <linux/ntb.h>

static void greet_db_event(void *context, int vector)
{
	struct ntb_dev *ntb = context;
	u64 bits = ntb_db_read(ntb);

	ntb_db_clear(ntb, bits);
	dev_info(&ntb->dev, "hello, bits %#llx\n", bits);
}

static void greet_link_event(void *context)
{
	struct ntb_dev *ntb = context;

	if (ntb_link_is_up(ntb, NULL, NULL))
		ntb_peer_db_set(ntb, BIT_ULL(0));
}

static const struct ntb_ctx_ops greet_ops = {
	.link_event = greet_link_event,
	.db_event = greet_db_event,
};

static int greet_probe(struct ntb_client *client, struct ntb_dev *ntb)
{
	int err = ntb_set_ctx(ntb, ntb, &greet_ops);

	if (err)
		return err;
	ntb_db_clear_mask(ntb, ntb_db_valid_mask(ntb));
	ntb_link_enable(ntb, NTB_SPEED_AUTO, NTB_WIDTH_AUTO);
	ntb_link_event(ntb);
	return 0;
}

static void greet_remove(struct ntb_client *client, struct ntb_dev *ntb)
{
	ntb_link_disable(ntb);
	ntb_clear_ctx(ntb);
}

static struct ntb_client greet_client = {
	.ops = {
		.probe = greet_probe,
		.remove = greet_remove,
	},
};
module_ntb_client(greet_client);

MODULE_DESCRIPTION("Rings the peer's doorbell when the link comes up");
MODULE_LICENSE("GPL");
