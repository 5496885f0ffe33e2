// SPDX-License-Identifier: GPL-2.0-only
/* The interface. */
#include <linux/etherdevice.h>
#include <linux/io-64-nonatomic-lo-hi.h>

#include "fnic_driver.h"

void fnic_rss_default(struct fnic *nic)
{
	unsigned int i;

	for (i = 0; i < NIC_INDIR_ENTRIES; i++)
		nic->indir[i] = ethtool_rxfh_indir_default(i, nic->dev->real_num_rx_queues);
}

void fnic_rss_write(struct fnic *nic)
{
	unsigned int i;

	for (i = 0; i < NIC_KEY_SIZE; i += 4)
		writel(get_unaligned_le32(nic->key + i), nic->regs + NIC_KEY + i);
	for (i = 0; i < NIC_INDIR_ENTRIES; i++)
		writel(nic->indir[i], nic->regs + NIC_INDIR + 4 * i);
	writel(NIC_RSS_ALL, nic->regs + NIC_RSS);
}

static void fnic_frame_write(struct fnic *nic, unsigned int mtu)
{
	writel(mtu + ETH_HLEN + 2 * VLAN_HLEN, nic->regs + NIC_FRAME);
}

static void fnic_mac_write(struct fnic *nic, const u8 *mac)
{
	u8 bytes[8] = {};

	if (nic->is_virtual)
		return;
	memcpy(bytes, mac, ETH_ALEN);
	lo_hi_writeq(get_unaligned_le64(bytes), nic->regs + NIC_MAC);
}

static void fnic_set_rx_mode(struct net_device *dev)
{
	struct fnic *nic = netdev_priv(dev);
	u32 accept = 0;

	if (dev->flags & IFF_PROMISC)
		accept |= NIC_ACCEPT_PROMISCUOUS | NIC_ACCEPT_MULTICAST;
	if (dev->flags & IFF_ALLMULTI || !netdev_mc_empty(dev))
		accept |= NIC_ACCEPT_MULTICAST;
	writel(accept, nic->regs + NIC_ACCEPT);
}

void fnic_set_up(struct fnic *nic)
{
	unsigned int q, n = nic->vectors - 1;

	writel(NIC_CONTROL_RESET, nic->regs + NIC_CONTROL);
	/* Reads back: the device has no memory of before. */
	readl(nic->regs + NIC_ID);
	nic->stuck = false;
	fnic_mac_write(nic, nic->dev->dev_addr);
	fnic_frame_write(nic, nic->dev->mtu);
	fnic_set_rx_mode(nic->dev);
	fnic_rss_write(nic);
	fnic_rules_write(nic);
	writel(0, nic->regs + NIC_EVENT_VECTOR);
	/* Vector 0 is that of events; the queues share the others if these are few. */
	for (q = 0; q < nic->rx_max; q++)
		writel(n ? 1 + q % n : 0, nic->rx[q].regs + NIC_Q_VECTOR);
	for (q = 0; q < nic->tx_max; q++)
		writel(n ? 1 + (nic->rx_max + q) % n : 0, nic->tx[q].regs + NIC_Q_VECTOR);
}

static void fnic_link_update(struct fnic *nic)
{
	u32 status = readl(nic->regs + NIC_STATUS);

	if (status != ~0u && status & NIC_STATUS_LINK)
		netif_carrier_on(nic->dev);
	else
		netif_carrier_off(nic->dev);
}

void fnic_down(struct fnic *nic)
{
	unsigned int q;

	if (!nic->up)
		return;
	nic->up = false;
	netif_carrier_off(nic->dev);
	/* A poll that still ran would wake a queue that is disabled. */
	for (q = 0; q < nic->tx_max; q++)
		fnic_tx_quiet(&nic->tx[q]);
	netif_tx_disable(nic->dev);
	for (q = 0; q < nic->tx_max; q++)
		fnic_tx_stop(&nic->tx[q]);
	for (q = 0; q < nic->rx_max; q++)
		fnic_rx_stop(&nic->rx[q]);
}

int fnic_up(struct fnic *nic)
{
	unsigned int q;
	int err = 0;

	if (!fnic_is_there(nic))
		return -ENODEV;
	nic->up = true;
	for (q = 0; q < nic->dev->real_num_tx_queues && !err; q++)
		err = fnic_tx_start(&nic->tx[q]);
	for (q = 0; q < nic->dev->real_num_rx_queues && !err; q++)
		err = fnic_rx_start(&nic->rx[q]);
	if (err) {
		fnic_down(nic);
		return err;
	}
	netif_tx_start_all_queues(nic->dev);
	fnic_link_update(nic);
	return 0;
}

static int fnic_open(struct net_device *dev)
{
	return fnic_up(netdev_priv(dev));
}

static int fnic_close(struct net_device *dev)
{
	fnic_down(netdev_priv(dev));
	return 0;
}

static int fnic_set_mac(struct net_device *dev, void *address)
{
	struct fnic *nic = netdev_priv(dev);
	int err;

	if (nic->is_virtual)
		return -EOPNOTSUPP;
	err = eth_mac_addr(dev, address);
	if (!err)
		fnic_mac_write(nic, dev->dev_addr);
	return err;
}

static int fnic_change_mtu(struct net_device *dev, int mtu)
{
	dev->mtu = mtu;
	fnic_frame_write(netdev_priv(dev), mtu);
	return 0;
}

static int fnic_set_features(struct net_device *dev, netdev_features_t features)
{
	if (!(features & NETIF_F_NTUPLE))
		fnic_rules_clear(netdev_priv(dev));
	return 0;
}

static void fnic_stats_read(const struct fnic_stats *stats, u64 *packets, u64 *bytes,
			    u64 *dropped)
{
	unsigned int start;
	u64 p, b, d;

	do {
		start = u64_stats_fetch_begin(&stats->sync);
		p = stats->packets;
		b = stats->bytes;
		d = stats->dropped;
	} while (u64_stats_fetch_retry(&stats->sync, start));
	*packets += p;
	*bytes += b;
	*dropped += d;
}

static void fnic_get_stats64(struct net_device *dev, struct rtnl_link_stats64 *stats)
{
	struct fnic *nic = netdev_priv(dev);
	unsigned int q;

	for (q = 0; q < nic->rx_max; q++)
		fnic_stats_read(&nic->rx[q].stats, &stats->rx_packets, &stats->rx_bytes,
				&stats->rx_dropped);
	for (q = 0; q < nic->tx_max; q++)
		fnic_stats_read(&nic->tx[q].stats, &stats->tx_packets, &stats->tx_bytes,
				&stats->tx_dropped);
}

static void fnic_tx_timeout(struct net_device *dev, unsigned int queue)
{
	struct fnic *nic = netdev_priv(dev);

	netdev_err(dev, "transmit queue %u has sent nothing for %d s; it is started again\n",
		   queue, dev->watchdog_timeo / HZ);
	schedule_delayed_work(&nic->restart, 0);
}

const struct net_device_ops fnic_netdev_ops = {
	.ndo_open = fnic_open,
	.ndo_stop = fnic_close,
	.ndo_start_xmit = fnic_xmit,
	.ndo_set_rx_mode = fnic_set_rx_mode,
	.ndo_set_mac_address = fnic_set_mac,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_change_mtu = fnic_change_mtu,
	.ndo_set_features = fnic_set_features,
	.ndo_get_stats64 = fnic_get_stats64,
	.ndo_tx_timeout = fnic_tx_timeout,
};
