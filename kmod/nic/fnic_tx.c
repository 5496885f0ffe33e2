// SPDX-License-Identifier: GPL-2.0-only
/* Start and stop of queues; transmit queues. */
#include <linux/dma-mapping.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/slab.h>

#include "dl_notice.h"
#include "fnic_driver.h"

/* A stop takes some completion time-outs of the device at most. */
#define STOP_US (5 * USEC_PER_SEC)
#define STOP_POLL_US 20

/* Free entries that wake a queue: those of a frame. */
#define WAKE_ENTRIES (MAX_SKB_FRAGS + 1)

bool fnic_queue_stop(struct fnic *nic, void __iomem *regs)
{
	u32 status;
	int err;

	/* Behind a link with a fault nothing arrives, and the device reaches nothing. */
	if (!fnic_is_there(nic))
		return true;
	/* One wait is enough for a device that does not answer. */
	if (nic->stuck)
		return false;
	writel(0, regs + NIC_Q_CONTROL);
	err = readl_poll_timeout(regs + NIC_Q_STATUS, status,
				 !(status & NIC_Q_RUNNING) || status == ~0u, STOP_POLL_US,
				 STOP_US);
	if (err) {
		nic->stuck = true;
		pci_clear_master(nic->pdev);
		pci_err(nic->pdev, "the queue at 0x%lx does not stop: RUNNING was 1 for 5 s; it may do no DMA any more\n",
			(unsigned long)(regs - nic->regs));
		return false;
	}
	return status == ~0u || !(status & NIC_Q_UNFLUSHED);
}

int fnic_queue_start(struct fnic *nic, void __iomem *regs, dma_addr_t base, u32 entries,
		     u32 control)
{
	lo_hi_writeq(base, regs + NIC_Q_BASE);
	writel(entries, regs + NIC_Q_ENTRIES);
	writel(control | NIC_Q_ENABLE, regs + NIC_Q_CONTROL);
	if (readl(regs + NIC_Q_CONTROL) == (control | NIC_Q_ENABLE))
		return 0;
	pci_err(nic->pdev, "the device did not start its queue at 0x%lx\n",
		(unsigned long)(regs - nic->regs));
	return -EIO;
}

static u32 fnic_tx_free_entries(struct fnic_tx *tx)
{
	return tx->entries - 1 - (tx->next - READ_ONCE(tx->clean));
}

static void fnic_tx_unmap(struct fnic_tx *tx, struct fnic_tx_slot *slot)
{
	struct device *dev = &tx->nic->pdev->dev;

	if (slot->part == FNIC_TX_PAGE && slot->addr)
		dma_unmap_page(dev, slot->addr, slot->length, DMA_TO_DEVICE);
	else if (slot->part == FNIC_TX_HEAD && slot->addr)
		dma_unmap_single(dev, slot->addr, slot->length, DMA_TO_DEVICE);
	WRITE_ONCE(slot->addr, 0);
}

/* Puts a part of a frame, which is mapped, into the next entry but @n. */
static struct nic_tx_desc *fnic_tx_put(struct fnic_tx *tx, u32 n, dma_addr_t addr, u32 length)
{
	struct nic_tx_desc *desc = &tx->ring[(tx->next + n) & (tx->entries - 1)];

	*desc = (struct nic_tx_desc){
		.address = cpu_to_le64(addr),
		.length = cpu_to_le16(length),
	};
	return desc;
}

/* Maps a part of a frame, @frag or without it the linear part. Return: 0 or an error. */
static int fnic_tx_map_part(struct fnic_tx *tx, struct fnic_tx_slot *slot, struct sk_buff *skb,
			    const skb_frag_t *frag)
{
	struct device *dev = &tx->nic->pdev->dev;
	dma_addr_t addr;

	slot->skb = NULL;
	slot->length = frag ? skb_frag_size(frag) : skb_headlen(skb);
	slot->part = !frag ? FNIC_TX_HEAD : dlend_frag_is_device_memory(frag) ?
		     FNIC_TX_DEVICE_MEMORY : FNIC_TX_PAGE;
	addr = frag ? skb_frag_dma_map(dev, frag, 0, slot->length, DMA_TO_DEVICE) :
		      dma_map_single(dev, skb->data, slot->length, DMA_TO_DEVICE);
	if (dma_mapping_error(dev, addr))
		return -ENOMEM;
	/* Its next user's bytes must not be sent. */
	if (slot->part == FNIC_TX_DEVICE_MEMORY && dlend_mapping_has_gone(dev, addr))
		return -ENODEV;
	slot->addr = addr;
	return 0;
}

/* Maps the parts of a frame. Return: their number, or 0 if one of them cannot be mapped. */
static u32 fnic_tx_map(struct fnic_tx *tx, struct sk_buff *skb)
{
	u32 n, device_frags = 0, parts = skb_shinfo(skb)->nr_frags + 1;
	struct nic_tx_desc *desc = NULL;

	for (n = 0; n < parts; n++) {
		struct fnic_tx_slot *slot = &tx->slots[(tx->next + n) & (tx->entries - 1)];

		if (fnic_tx_map_part(tx, slot, skb, n ? &skb_shinfo(skb)->frags[n - 1] : NULL))
			goto undo;
		desc = fnic_tx_put(tx, n, slot->addr, slot->length);
		device_frags += slot->part == FNIC_TX_DEVICE_MEMORY;
	}
	/* Parts of a frame that is dropped are not sent, so they do not count. */
	tx->device_frags += device_frags;
	desc->flags = cpu_to_le16(NIC_TX_LAST | NIC_TX_REPORT);
	return parts;

undo:
	while (n--)
		fnic_tx_unmap(tx, &tx->slots[(tx->next + n) & (tx->entries - 1)]);
	return 0;
}

static void fnic_tx_checksum(struct fnic_tx *tx, struct sk_buff *skb)
{
	struct nic_tx_desc *desc = &tx->ring[tx->next & (tx->entries - 1)];

	if (skb->ip_summed != CHECKSUM_PARTIAL)
		return;
	desc->flags |= cpu_to_le16(NIC_TX_CSUM);
	desc->csum_start = cpu_to_le16(skb_checksum_start_offset(skb));
	desc->csum_offset = cpu_to_le16(skb->csum_offset);
}

netdev_tx_t fnic_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct fnic *nic = netdev_priv(dev);
	struct fnic_tx *tx = &nic->tx[skb_get_queue_mapping(skb)];
	struct netdev_queue *queue = netdev_get_tx_queue(dev, tx->index);
	bool kick;
	u32 parts;

	/* A frame of more parts than the device takes. */
	if (skb_shinfo(skb)->nr_frags >= NIC_TX_PARTS_MAX && skb_linearize(skb))
		goto drop;
	if (fnic_tx_free_entries(tx) < skb_shinfo(skb)->nr_frags + 1) {
		netif_tx_stop_queue(queue);
		return NETDEV_TX_BUSY;
	}
	parts = fnic_tx_map(tx, skb);
	if (!parts)
		goto drop;
	fnic_tx_checksum(tx, skb);
	tx->slots[(tx->next + parts - 1) & (tx->entries - 1)].skb = skb;
	skb_tx_timestamp(skb);
	kick = __netdev_tx_sent_queue(queue, skb->len, netdev_xmit_more());
	/* The entries are written before the poll sees that they are used. */
	smp_store_release(&tx->next, tx->next + parts);
	if (fnic_tx_free_entries(tx) < WAKE_ENTRIES) {
		netif_tx_stop_queue(queue);
		smp_mb(); /* the poll may have made room before it could see the stop */
		if (fnic_tx_free_entries(tx) >= WAKE_ENTRIES)
			netif_tx_start_queue(queue);
		kick = true;
	}
	/* writel() orders the entries before TAIL. */
	if (kick)
		writel(tx->next & (tx->entries - 1), tx->regs + NIC_Q_TAIL);
	return NETDEV_TX_OK;

drop:
	dev_core_stats_tx_dropped_inc(dev);
	dev_kfree_skb_any(skb);
	if (!netdev_xmit_more())
		writel(tx->next & (tx->entries - 1), tx->regs + NIC_Q_TAIL);
	return NETDEV_TX_OK;
}

/* Frees what the device has sent up to entry @end. */
static void fnic_tx_clean(struct fnic_tx *tx, u32 end, int budget)
{
	u32 clean = tx->clean, packets = 0, bytes = 0;

	while (clean != end) {
		struct fnic_tx_slot *slot = &tx->slots[clean++ & (tx->entries - 1)];

		fnic_tx_unmap(tx, slot);
		if (!slot->skb)
			continue;
		packets++;
		bytes += slot->skb->len;
		napi_consume_skb(slot->skb, budget);
		slot->skb = NULL;
	}
	/* The slots are free before fnic_xmit() sees that they are. */
	smp_store_release(&tx->clean, clean);
	fnic_count(&tx->stats, packets, bytes, 0);
	netdev_tx_completed_queue(netdev_get_tx_queue(tx->nic->dev, tx->index), packets,
				  bytes);
}

int fnic_tx_poll(struct napi_struct *napi, int budget)
{
	struct fnic_tx *tx = container_of(napi, struct fnic_tx, napi);
	struct netdev_queue *queue = netdev_get_tx_queue(tx->nic->dev, tx->index);
	u32 done = le32_to_cpu(READ_ONCE(*tx->writeback));
	u32 n = (done - tx->clean) & (tx->entries - 1);

	dma_rmb();
	/* Entries that the device was never given are not done. */
	if (n <= smp_load_acquire(&tx->next) - tx->clean)
		fnic_tx_clean(tx, tx->clean + n, budget);
	else
		netdev_warn_once(tx->nic->dev, "it says that entry %u of transmit queue %u is done, which it does not have\n",
				 done, tx->index);
	smp_mb(); /* pairs with that of fnic_xmit() */
	if (netif_tx_queue_stopped(queue) && fnic_tx_free_entries(tx) >= WAKE_ENTRIES)
		netif_tx_wake_queue(queue);
	if (napi_complete_done(napi, 0))
		writel(tx->clean & (tx->entries - 1), tx->regs + NIC_Q_ARM);
	return 0;
}

static void fnic_tx_free(struct fnic_tx *tx)
{
	struct device *dev = &tx->nic->pdev->dev;

	kvfree(tx->slots);
	if (tx->writeback)
		dma_free_coherent(dev, sizeof(*tx->writeback), tx->writeback,
				  tx->writeback_dma);
	if (tx->ring)
		dma_free_coherent(dev, tx->entries * sizeof(*tx->ring), tx->ring,
				  tx->ring_dma);
	tx->slots = NULL;
	tx->writeback = NULL;
	tx->ring = NULL;
}

int fnic_tx_start(struct fnic_tx *tx)
{
	struct device *dev = &tx->nic->pdev->dev;
	int err;

	tx->entries = tx->nic->tx_entries;
	tx->next = 0;
	tx->clean = 0;
	tx->slots = kvcalloc(tx->entries, sizeof(*tx->slots), GFP_KERNEL);
	tx->ring = dma_alloc_coherent(dev, tx->entries * sizeof(*tx->ring), &tx->ring_dma,
				      GFP_KERNEL);
	tx->writeback = dma_alloc_coherent(dev, sizeof(*tx->writeback), &tx->writeback_dma,
					   GFP_KERNEL);
	if (!tx->slots || !tx->ring || !tx->writeback) {
		fnic_tx_free(tx);
		return -ENOMEM;
	}
	lo_hi_writeq(tx->writeback_dma, tx->regs + NIC_TX_WRITEBACK);
	err = fnic_queue_start(tx->nic, tx->regs, tx->ring_dma, tx->entries,
			       NIC_TX_CONTROL_WRITEBACK);
	if (err) {
		fnic_queue_stop(tx->nic, tx->regs);
		fnic_tx_free(tx);
		return err;
	}
	tx->on = true;
	netdev_tx_reset_queue(netdev_get_tx_queue(tx->nic->dev, tx->index));
	dlend_napi_enable(&tx->napi);
	writel(0, tx->regs + NIC_Q_ARM);
	return 0;
}

void fnic_tx_quiet(struct fnic_tx *tx)
{
	if (tx->ring)
		dlend_napi_disable(&tx->napi);
}

void fnic_tx_stop(struct fnic_tx *tx)
{
	if (!tx->ring)
		return;
	mutex_lock(&tx->lock);
	if (tx->on)
		fnic_queue_stop(tx->nic, tx->regs);
	tx->on = false;
	mutex_unlock(&tx->lock);
	fnic_tx_clean(tx, tx->next, 0);
	fnic_tx_free(tx);
}

/* The end of device memory */

/* The lock of the queue is held. */
static bool fnic_tx_uses(struct fnic_tx *tx, const struct dlend_notice *notice)
{
	struct netdev_queue *queue = netdev_get_tx_queue(tx->nic->dev, tx->index);
	bool found = false;
	u32 n;

	if (!tx->on)
		return false;
	/* fnic_xmit() has entered its frame, or will see that the mapping has gone. */
	__netif_tx_lock_bh(queue);
	for (n = READ_ONCE(tx->clean); n != tx->next; n++) {
		struct fnic_tx_slot *slot = &tx->slots[n & (tx->entries - 1)];
		dma_addr_t addr = READ_ONCE(slot->addr);

		found |= slot->part == FNIC_TX_DEVICE_MEMORY && addr >= notice->start &&
			 addr - notice->start < notice->size;
	}
	__netif_tx_unlock_bh(queue);
	return found;
}

/* Frames of other memory in the queue are lost, too; their senders repeat them. */
bool fnic_tx_revoke(struct fnic *nic, const struct dlend_notice *notice)
{
	unsigned int q;
	bool ok = true;

	for (q = 0; q < nic->tx_max; q++) {
		struct fnic_tx *tx = &nic->tx[q];

		mutex_lock(&tx->lock);
		if (fnic_tx_uses(tx, notice)) {
			tx->on = false;
			ok &= fnic_queue_stop(nic, tx->regs);
			netdev_warn(nic->dev, "transmit queue %u starts again: memory whose frames it has goes away\n",
				    q);
			schedule_delayed_work(&nic->restart, 0);
		}
		mutex_unlock(&tx->lock);
	}
	return ok;
}
