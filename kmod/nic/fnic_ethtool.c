// SPDX-License-Identifier: GPL-2.0-only
/* Settings and counters of the interface, for ethtool. */
#include <linux/ethtool_netlink.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/log2.h>

#include "fnic_driver.h"

/* Applies a setting that the queues have while they run. Return: 0, or what fnic_up() says. */
static int fnic_restart_queues(struct fnic *nic)
{
	bool was_up = nic->up;

	fnic_down(nic);
	return was_up ? fnic_up(nic) : 0;
}

/* Return: whether a process has bound memory to a queue from @first on. */
static bool fnic_is_bound(struct fnic *nic, unsigned int first)
{
	unsigned int q;

	for (q = first; q < nic->rx_max; q++)
		if (dlend_queue_binding(nic->dev, q))
			return true;
	return false;
}

static void fnic_get_ringparam(struct net_device *dev, struct ethtool_ringparam *ring,
			       struct kernel_ethtool_ringparam *kring,
			       struct netlink_ext_ack *extack)
{
	struct fnic *nic = netdev_priv(dev);

	ring->rx_pending = nic->rx_entries;
	ring->rx_max_pending = NIC_ENTRIES_MAX;
	ring->tx_pending = nic->tx_entries;
	ring->tx_max_pending = NIC_ENTRIES_MAX;
	kring->tcp_data_split = nic->split ? ETHTOOL_TCP_DATA_SPLIT_ENABLED :
					     ETHTOOL_TCP_DATA_SPLIT_DISABLED;
}

static int fnic_set_ringparam(struct net_device *dev, struct ethtool_ringparam *ring,
			      struct kernel_ethtool_ringparam *kring,
			      struct netlink_ext_ack *extack)
{
	struct fnic *nic = netdev_priv(dev);
	bool split = kring->tcp_data_split == ETHTOOL_TCP_DATA_SPLIT_ENABLED, old_split;
	u32 rx = ring->rx_pending, tx = ring->tx_pending, old_rx, old_tx;
	int err;

	if (!is_power_of_2(rx) || !is_power_of_2(tx) || rx < FNIC_ENTRIES_MIN ||
	    tx < FNIC_ENTRIES_MIN) {
		NL_SET_ERR_MSG(extack, "a ring has a power of 2 of entries, 64 at least");
		return -EINVAL;
	}
	if (!split && fnic_is_bound(nic, 0)) {
		NL_SET_ERR_MSG(extack, "memory is bound to a queue, and needs header split");
		return -EBUSY;
	}
	if (rx == nic->rx_entries && tx == nic->tx_entries && split == nic->split)
		return 0;
	old_rx = nic->rx_entries;
	old_tx = nic->tx_entries;
	old_split = nic->split;
	nic->rx_entries = rx;
	nic->tx_entries = tx;
	nic->split = split;
	err = fnic_restart_queues(nic);
	if (!err)
		return 0;
	nic->rx_entries = old_rx;
	nic->tx_entries = old_tx;
	nic->split = old_split;
	if (fnic_up(nic))
		netdev_err(dev, "its queues do not start any more; set the interface down and up\n");
	return err;
}

static void fnic_get_channels(struct net_device *dev, struct ethtool_channels *c)
{
	struct fnic *nic = netdev_priv(dev);

	c->max_rx = nic->rx_max;
	c->max_tx = nic->tx_max;
	c->rx_count = dev->real_num_rx_queues;
	c->tx_count = dev->real_num_tx_queues;
}

static int fnic_set_channels(struct net_device *dev, struct ethtool_channels *c)
{
	struct fnic *nic = netdev_priv(dev);
	bool was_up = nic->up;
	int err;

	if (!c->rx_count || !c->tx_count)
		return -EINVAL;
	if (fnic_is_bound(nic, c->rx_count) || fnic_rules_use(nic, c->rx_count))
		return -EBUSY;
	fnic_down(nic);
	err = netif_set_real_num_queues(dev, c->tx_count, c->rx_count);
	if (!err && !netif_is_rxfh_configured(dev)) {
		fnic_rss_default(nic);
		fnic_rss_write(nic);
	}
	return was_up ? fnic_up(nic) ?: err : err;
}

static u32 fnic_get_indir_size(struct net_device *dev)
{
	return NIC_INDIR_ENTRIES;
}

static u32 fnic_get_key_size(struct net_device *dev)
{
	return NIC_KEY_SIZE;
}

static void fnic_rss_get(struct net_device *dev, u32 *indir, u8 *key)
{
	struct fnic *nic = netdev_priv(dev);
	unsigned int i;

	for (i = 0; indir && i < NIC_INDIR_ENTRIES; i++)
		indir[i] = nic->indir[i];
	if (key)
		memcpy(key, nic->key, sizeof(nic->key));
}

static int fnic_rss_set(struct net_device *dev, const u32 *indir, const u8 *key)
{
	struct fnic *nic = netdev_priv(dev);
	unsigned int i;

	/* The core has compared the entries with the number of queues. */
	for (i = 0; indir && i < NIC_INDIR_ENTRIES; i++)
		nic->indir[i] = indir[i];
	if (key)
		memcpy(nic->key, key, sizeof(nic->key));
	fnic_rss_write(nic);
	return 0;
}

DLEND_DEFINE_RXFH(fnic)

#ifdef DLEND_RX_RING_COUNT
static u32 fnic_get_rx_ring_count(struct net_device *dev)
{
	return dev->real_num_rx_queues;
}
#endif

/* Private flags */

static const char fnic_flag_names[][ETH_GSTRING_LEN] = { "flush" };

static u32 fnic_get_priv_flags(struct net_device *dev)
{
	struct fnic *nic = netdev_priv(dev);

	return nic->flush;
}

static int fnic_set_priv_flags(struct net_device *dev, u32 flags)
{
	struct fnic *nic = netdev_priv(dev);

	if (nic->flush == (flags & 1))
		return 0;
	nic->flush = flags & 1;
	return fnic_restart_queues(nic);
}

/* Counters: those of the device, those of the driver, and those of each queue */

static const char fnic_stat_names[][ETH_GSTRING_LEN] = {
	[NIC_STAT_RX_FRAMES] = "dev_rx_frames",
	[NIC_STAT_RX_BYTES] = "dev_rx_bytes",
	[NIC_STAT_RX_SPLIT] = "dev_rx_split",
	[NIC_STAT_RX_HEADER_BYTES] = "dev_rx_header_bytes",
	[NIC_STAT_RX_PAYLOAD_BYTES] = "dev_rx_payload_bytes",
	[NIC_STAT_RX_NO_BUFFER] = "dev_rx_no_buffer",
	[NIC_STAT_RX_LONG] = "dev_rx_long",
	[NIC_STAT_RX_FILTERED] = "dev_rx_filtered",
	[NIC_STAT_RX_RULE] = "dev_rx_rule",
	[NIC_STAT_RX_RULE_DROPS] = "dev_rx_rule_drops",
	[NIC_STAT_RX_BAD_CSUM] = "dev_rx_bad_csum",
	[NIC_STAT_RX_OVERRUN] = "dev_rx_overrun",
	[NIC_STAT_RX_DESCRIPTORS] = "dev_rx_descriptors",
	[NIC_STAT_RX_COMPLETIONS] = "dev_rx_completions",
	[NIC_STAT_FLUSHES] = "dev_flushes",
	[NIC_STAT_TX_FRAMES] = "dev_tx_frames",
	[NIC_STAT_TX_BYTES] = "dev_tx_bytes",
	[NIC_STAT_TX_DESCRIPTORS] = "dev_tx_descriptors",
	[NIC_STAT_TX_SPOOFED] = "dev_tx_spoofed",
	[NIC_STAT_DMA_ERRORS] = "dev_dma_errors",
	[NIC_STAT_INTERRUPTS] = "dev_interrupts",
};

static const char fnic_queue_stat_names[][ETH_GSTRING_LEN] = {
	"packets", "dropped", "device_frags", "page_frags", "empty", "broken",
};

static const char fnic_tx_stat_names[][ETH_GSTRING_LEN] = {
	"packets", "device_frags",
};

#define QUEUE_STATS ARRAY_SIZE(fnic_queue_stat_names)
#define TX_STATS ARRAY_SIZE(fnic_tx_stat_names)

static int fnic_get_sset_count(struct net_device *dev, int set)
{
	struct fnic *nic = netdev_priv(dev);

	switch (set) {
	case ETH_SS_STATS:
		return NIC_STATS + nic->rx_max * QUEUE_STATS + nic->tx_max * TX_STATS;
	case ETH_SS_PRIV_FLAGS:
		return ARRAY_SIZE(fnic_flag_names);
	default:
		return -EOPNOTSUPP;
	}
}

static void fnic_get_strings(struct net_device *dev, u32 set, u8 *data)
{
	struct fnic *nic = netdev_priv(dev);
	unsigned int q, i;

	BUILD_BUG_ON(ARRAY_SIZE(fnic_stat_names) != NIC_STATS);
	if (set == ETH_SS_PRIV_FLAGS)
		memcpy(data, fnic_flag_names, sizeof(fnic_flag_names));
	if (set != ETH_SS_STATS)
		return;
	memcpy(data, fnic_stat_names, sizeof(fnic_stat_names));
	data += sizeof(fnic_stat_names);
	for (q = 0; q < nic->rx_max; q++)
		for (i = 0; i < QUEUE_STATS; i++)
			ethtool_sprintf(&data, "rx%u_%s", q, fnic_queue_stat_names[i]);
	for (q = 0; q < nic->tx_max; q++)
		for (i = 0; i < TX_STATS; i++)
			ethtool_sprintf(&data, "tx%u_%s", q, fnic_tx_stat_names[i]);
}

static void fnic_get_ethtool_stats(struct net_device *dev, struct ethtool_stats *stats,
				   u64 *data)
{
	struct fnic *nic = netdev_priv(dev);
	unsigned int i;

	for (i = 0; i < NIC_STATS; i++)
		*data++ = lo_hi_readq(nic->regs + NIC_STAT + 8 * i);
	for (i = 0; i < nic->rx_max; i++) {
		const struct fnic_rx *rx = &nic->rx[i];

		*data++ = rx->stats.packets;
		*data++ = rx->stats.dropped;
		*data++ = rx->device_frags;
		*data++ = rx->page_frags;
		*data++ = rx->empty;
		*data++ = rx->broken;
	}
	for (i = 0; i < nic->tx_max; i++) {
		*data++ = nic->tx[i].stats.packets;
		*data++ = nic->tx[i].device_frags;
	}
}

const struct ethtool_ops fnic_ethtool_ops = {
	.supported_ring_params = ETHTOOL_RING_USE_TCP_DATA_SPLIT,
	.get_link = ethtool_op_get_link,
	.get_ringparam = fnic_get_ringparam,
	.set_ringparam = fnic_set_ringparam,
	.get_channels = fnic_get_channels,
	.set_channels = fnic_set_channels,
	.get_rxfh_indir_size = fnic_get_indir_size,
	.get_rxfh_key_size = fnic_get_key_size,
	.get_rxfh = fnic_get_rxfh,
	.set_rxfh = fnic_set_rxfh,
	.get_rxnfc = fnic_get_rxnfc,
	.set_rxnfc = fnic_set_rxnfc,
	DLEND_RX_RING_COUNT_OP(fnic_get_rx_ring_count)
	.get_priv_flags = fnic_get_priv_flags,
	.set_priv_flags = fnic_set_priv_flags,
	.get_sset_count = fnic_get_sset_count,
	.get_strings = fnic_get_strings,
	.get_ethtool_stats = fnic_get_ethtool_stats,
};
