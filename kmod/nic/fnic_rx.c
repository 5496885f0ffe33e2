// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receive queues. A descriptor has a buffer for headers, which is the driver's, and a page for
 * payload, which comes from the queue's page pool: pages of this machine, or of a device's
 * memory that a process has bound to the queue (Documentation/networking/devmem.rst). Pages
 * of a device are never read here. The kernel gives them to a queue only if header split is
 * on, because headers must be readable.
 */
#include <linux/dma-mapping.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/slab.h>

#include "dl_notice.h"
#include "fnic_driver.h"

/* Of the longest headers: Ethernet, two VLAN tags, IPv4 and TCP with all options. */
#define HEADER_SIZE 256

/* Memory of a queue */

static void fnic_rx_mem_free(struct net_device *dev, void *per_queue_mem)
{
	struct fnic *nic = netdev_priv(dev);
	struct fnic_rx_mem *mem = per_queue_mem;
	struct device *d = &nic->pdev->dev;
	u32 i;

	for (i = 0; mem->pages && i < mem->entries; i++)
		if (mem->pages[i])
			page_pool_put_full_netmem(mem->pool, mem->pages[i], false);
	kvfree(mem->pages);
	if (mem->headers)
		dma_free_coherent(d, mem->entries * HEADER_SIZE, mem->headers,
				  mem->headers_dma);
	if (mem->done)
		dma_free_coherent(d, mem->entries * sizeof(*mem->done), mem->done,
				  mem->done_dma);
	if (mem->ring)
		dma_free_coherent(d, mem->entries * sizeof(*mem->ring), mem->ring,
				  mem->ring_dma);
	if (mem->pool)
		page_pool_destroy(mem->pool);
	memset(mem, 0, sizeof(*mem));
}

static int fnic_rx_pool(struct fnic *nic, struct fnic_rx_mem *mem, int queue)
{
	struct page_pool_params params = {
		.pool_size = mem->entries,
		.nid = NUMA_NO_NODE,
		.dev = &nic->pdev->dev,
		.dma_dir = DMA_FROM_DEVICE,
		.max_len = PAGE_SIZE,
		/* The kernel binds memory to no pool without these two. */
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
	};
	struct page_pool *pool;

	if (mem->split)
		params.flags |= PP_FLAG_ALLOW_UNREADABLE_NETMEM;
	dlend_page_pool_queue(&params, nic->dev, queue);
	pool = page_pool_create(&params);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	mem->pool = pool;
	return 0;
}

/* Writes the descriptor of an entry, whose page the device may use next. */
static void fnic_rx_fill(struct fnic_rx_mem *mem, u32 entry)
{
	mem->ring[entry] = (struct nic_rx_desc){
		.header = cpu_to_le64(mem->headers_dma + entry * HEADER_SIZE),
		.payload = cpu_to_le64(page_pool_get_dma_addr_netmem(mem->pages[entry])),
		.header_size = cpu_to_le16(HEADER_SIZE),
		.payload_size = cpu_to_le16(PAGE_SIZE),
		.id = cpu_to_le32(entry),
	};
}

static int fnic_rx_pages(struct fnic_rx_mem *mem)
{
	u32 i;

	for (i = 0; i < mem->entries; i++) {
		mem->pages[i] = page_pool_alloc_netmems(mem->pool, GFP_KERNEL | __GFP_NOWARN);
		if (!mem->pages[i])
			return -ENOMEM;
		fnic_rx_fill(mem, i);
	}
	mem->is_device_memory = netmem_is_net_iov(mem->pages[0]);
	return 0;
}

/* Return: -ENODEV if the memory that is bound to the queue has gone. */
static int fnic_rx_check_binding(struct fnic_rx *rx)
{
	void *binding = dlend_queue_binding(rx->nic->dev, rx->index);
	int err = 0;

	mutex_lock(&rx->lock);
	if (rx->revoked != binding)
		rx->revoked = NULL;
	if (rx->revoked)
		err = -ENODEV;
	mutex_unlock(&rx->lock);
	return err;
}

static int fnic_rx_mem_alloc(struct fnic *nic, struct fnic_rx_mem *mem, int queue)
{
	struct device *d = &nic->pdev->dev;
	int err;

	memset(mem, 0, sizeof(*mem));
	err = fnic_rx_check_binding(&nic->rx[queue]);
	if (err)
		return err;
	mem->entries = nic->rx_entries;
	mem->split = nic->split;
	err = fnic_rx_pool(nic, mem, queue);
	if (err)
		return err;
	mem->ring = dma_alloc_coherent(d, mem->entries * sizeof(*mem->ring), &mem->ring_dma,
				       GFP_KERNEL);
	mem->done = dma_alloc_coherent(d, mem->entries * sizeof(*mem->done), &mem->done_dma,
				       GFP_KERNEL);
	mem->headers = dma_alloc_coherent(d, mem->entries * HEADER_SIZE, &mem->headers_dma,
					  GFP_KERNEL);
	mem->pages = kvcalloc(mem->entries, sizeof(*mem->pages), GFP_KERNEL);
	if (mem->ring && mem->done && mem->headers && mem->pages)
		err = fnic_rx_pages(mem);
	else
		err = -ENOMEM;
	if (err)
		fnic_rx_mem_free(nic->dev, mem);
	return err;
}

/* Start and stop */

/* Return: whether memory has gone of which the queue, which was off, has heard no notice. */
static bool fnic_rx_has_gone(struct fnic_rx *rx, const struct fnic_rx_mem *mem)
{
	dma_addr_t addr = page_pool_get_dma_addr_netmem(mem->pages[0]);

	if (!mem->is_device_memory || !dlend_mapping_has_gone(&rx->nic->pdev->dev, addr))
		return false;
	netdev_warn(rx->nic->dev, "queue %u stays off: the memory that is bound to it has gone\n",
		    rx->index);
	return true;
}

/* Return: 0, -ENODEV if the memory has gone, or another error. */
static int fnic_rx_attach(struct fnic_rx *rx, const struct fnic_rx_mem *mem)
{
	struct fnic *nic = rx->nic;
	u32 control = 0;
	int err;

	if (mem->split)
		control |= NIC_RX_CONTROL_SPLIT;
	/* Payload and completion take two ways, perhaps to two hosts. */
	if (mem->is_device_memory && nic->flush)
		control |= NIC_RX_CONTROL_FLUSH;
	mutex_lock(&rx->lock);
	if (fnic_rx_has_gone(rx, mem)) {
		mutex_unlock(&rx->lock);
		return -ENODEV;
	}
	rx->mem = *mem;
	rx->next = 0;
	rx->dropping = false;
	/* A completion of an earlier round has no bit that the first round sets. */
	memset(rx->mem.done, 0, rx->mem.entries * sizeof(*rx->mem.done));
	lo_hi_writeq(mem->done_dma, rx->regs + NIC_RX_COMPLETIONS);
	err = fnic_queue_start(nic, rx->regs, mem->ring_dma, mem->entries, control);
	rx->on = !err;
	if (err) {
		fnic_queue_stop(nic, rx->regs);
		memset(&rx->mem, 0, sizeof(rx->mem));
	} else {
		writel(mem->entries - 1, rx->regs + NIC_Q_TAIL);
	}
	mutex_unlock(&rx->lock);
	if (err)
		return err;
	dlend_napi_enable(&rx->napi);
	writel(0, rx->regs + NIC_Q_ARM);
	return 0;
}

/* Takes the memory out of a queue. @mem is empty if the queue has none. */
static void fnic_rx_detach(struct fnic_rx *rx, struct fnic_rx_mem *mem)
{
	memset(mem, 0, sizeof(*mem));
	if (!rx->mem.pool)
		return;
	mutex_lock(&rx->lock);
	if (rx->on)
		fnic_queue_stop(rx->nic, rx->regs);
	rx->on = false;
	mutex_unlock(&rx->lock);
	dlend_napi_disable(&rx->napi);
	kfree_skb(rx->skb);
	rx->skb = NULL;
	mutex_lock(&rx->lock);
	*mem = rx->mem;
	memset(&rx->mem, 0, sizeof(rx->mem));
	mutex_unlock(&rx->lock);
}

int fnic_rx_start(struct fnic_rx *rx)
{
	struct fnic_rx_mem mem;
	int err = fnic_rx_mem_alloc(rx->nic, &mem, rx->index);

	if (!err) {
		err = fnic_rx_attach(rx, &mem);
		if (err)
			fnic_rx_mem_free(rx->nic->dev, &mem);
	}
	/* The other queues work without this one, until its memory is unbound. */
	return err == -ENODEV ? 0 : err;
}

void fnic_rx_stop(struct fnic_rx *rx)
{
	struct fnic_rx_mem mem;

	fnic_rx_detach(rx, &mem);
	fnic_rx_mem_free(rx->nic->dev, &mem);
}

#ifdef DLEND_NETMEM
static int fnic_queue_mem_alloc(DLEND_QUEUE_ARGS, void *per_queue_mem, int queue)
{
	struct fnic *nic = netdev_priv(dev);

	/* Linux 6.12 restarts queues of an interface that is down, too. */
	if (!nic->up) {
		fnic_rx_check_binding(&nic->rx[queue]);
		return -ENETDOWN;
	}
	return fnic_rx_mem_alloc(nic, per_queue_mem, queue);
}

static int fnic_queue_mem_start(DLEND_QUEUE_ARGS, void *per_queue_mem, int queue)
{
	struct fnic *nic = netdev_priv(dev);
	struct fnic_rx_mem *mem = per_queue_mem;

	/* The queue had no memory that it could have used. */
	return mem->pool ? fnic_rx_attach(&nic->rx[queue], mem) : 0;
}

static int fnic_queue_mem_stop(struct net_device *dev, void *per_queue_mem, int queue)
{
	struct fnic *nic = netdev_priv(dev);

	fnic_rx_detach(&nic->rx[queue], per_queue_mem);
	return 0;
}

#ifdef DLEND_QUEUE_DMA_DEV
/* The lock of dlend_netdev_lock() is held until the memory is bound. */
static struct device *fnic_queue_dma_dev(struct net_device *dev, int queue)
{
	struct fnic *nic = netdev_priv(dev);

	if (!queue)
		nic->tx_binds++;
	return &nic->pdev->dev;
}
#endif

static const struct netdev_queue_mgmt_ops fnic_queue_mgmt_ops = {
	.ndo_queue_mem_size = sizeof(struct fnic_rx_mem),
	.ndo_queue_mem_alloc = fnic_queue_mem_alloc,
	.ndo_queue_mem_free = fnic_rx_mem_free,
	.ndo_queue_start = fnic_queue_mem_start,
	.ndo_queue_stop = fnic_queue_mem_stop,
	DLEND_QUEUE_DMA_DEV_OP(fnic_queue_dma_dev)
};

void fnic_rx_offer_queues(struct net_device *dev)
{
	dev->queue_mgmt_ops = &fnic_queue_mgmt_ops;
	DLEND_SENDS_DEVICE_MEMORY(dev);
}
#else
void fnic_rx_offer_queues(struct net_device *dev)
{
}
#endif

/* The end of device memory */

/* The lock of the queue is held. */
static bool fnic_rx_uses(struct fnic_rx *rx, const struct dlend_notice *notice)
{
	u32 i;

	if (!rx->on || !rx->mem.is_device_memory)
		return false;
	for (i = 0; i < rx->mem.entries; i++) {
		dma_addr_t addr = page_pool_get_dma_addr_netmem(READ_ONCE(rx->mem.pages[i]));

		if (addr >= notice->start && addr - notice->start < notice->size)
			return true;
	}
	return false;
}

/*
 * A queue whose memory goes is off until the memory is unbound from it: no page of it may be
 * given to the device again.
 */
bool fnic_rx_revoke(struct fnic *nic, const struct dlend_notice *notice)
{
	unsigned int q;
	bool ok = true;

	for (q = 0; q < nic->rx_max; q++) {
		struct fnic_rx *rx = &nic->rx[q];

		mutex_lock(&rx->lock);
		if (fnic_rx_uses(rx, notice)) {
			rx->on = false;
			rx->revoked = dlend_pool_binding(rx->mem.pool);
			ok &= fnic_queue_stop(nic, rx->regs);
			netdev_warn(nic->dev, "queue %u is off: the memory that is bound to it goes away\n",
				    q);
		}
		mutex_unlock(&rx->lock);
	}
	return ok;
}

/* Reception */

/*
 * Data in the linear part of a packet whose other data nobody can read must stay there. When
 * packets merge, the kernel makes it a fragment among the others, and then refuses them all
 * (tcp_recvmsg_dmabuf()). It cannot do that with memory of kmalloc().
 */
static struct sk_buff *fnic_rx_alloc(struct fnic_rx *rx, u32 length, u32 flags)
{
	struct sk_buff *skb;

	if (flags & NIC_DONE_SPLIT || !rx->mem.is_device_memory)
		return napi_alloc_skb(&rx->napi, length);
	skb = alloc_skb(NET_SKB_PAD + NET_IP_ALIGN + length, GFP_ATOMIC | __GFP_NOWARN);
	if (skb)
		skb_reserve(skb, NET_SKB_PAD + NET_IP_ALIGN);
	return skb;
}

/* Begins a packet with the headers of its first completion. Return: NULL if it is dropped. */
static struct sk_buff *fnic_rx_begin(struct fnic_rx *rx, u32 entry,
				     const struct nic_rx_done *done)
{
	u32 length = le16_to_cpu(done->header_length);
	u32 flags = le32_to_cpu(done->flags);
	struct sk_buff *skb;

	if (length < ETH_HLEN || length > HEADER_SIZE) {
		rx->broken++;
		return NULL;
	}
	skb = fnic_rx_alloc(rx, length, flags);
	if (!skb)
		return NULL;
	skb_put_data(skb, rx->mem.headers + entry * HEADER_SIZE, length);
	skb_mark_for_recycle(skb);
	skb_record_rx_queue(skb, rx->index);
	if (flags & NIC_DONE_CSUM_OK)
		skb->ip_summed = CHECKSUM_UNNECESSARY;
	if (flags & NIC_DONE_HASH)
		skb_set_hash(skb, le32_to_cpu(done->hash), flags & NIC_DONE_HASH_L4 ?
			     PKT_HASH_TYPE_L4 : PKT_HASH_TYPE_L3);
	return skb;
}

/* Gives the page of an entry to the packet, and another page to the entry. */
static bool fnic_rx_add(struct fnic_rx *rx, u32 entry, u32 length)
{
	struct fnic_rx_mem *mem = &rx->mem;
	struct sk_buff *skb = rx->skb;
	netmem_ref page = mem->pages[entry];
	netmem_ref fresh;

	if (length > PAGE_SIZE || skb_shinfo(skb)->nr_frags >= MAX_SKB_FRAGS) {
		rx->broken++;
		return false;
	}
	/* If the memory is used up, the packet is lost, and the queue keeps its pages. */
	fresh = page_pool_alloc_netmems(mem->pool, GFP_ATOMIC | __GFP_NOWARN);
	if (!fresh) {
		rx->empty++;
		return false;
	}
	if (netmem_is_net_iov(page)) {
		rx->device_frags++;
	} else {
		page_pool_dma_sync_netmem_for_cpu(mem->pool, page, 0, length);
		rx->page_frags++;
	}
	skb_add_rx_frag_netmem(skb, skb_shinfo(skb)->nr_frags, page, 0, length, PAGE_SIZE);
	WRITE_ONCE(mem->pages[entry], fresh);
	return true;
}

/* Return: whether a packet, received or dropped, ends with this completion. */
static bool fnic_rx_part(struct fnic_rx *rx, u32 entry, const struct nic_rx_done *done)
{
	u32 payload = le16_to_cpu(done->payload_length);
	struct sk_buff *skb;

	if (!rx->skb && !rx->dropping) {
		rx->skb = fnic_rx_begin(rx, entry, done);
		rx->dropping = !rx->skb;
	}
	if (!rx->dropping && payload && !fnic_rx_add(rx, entry, payload)) {
		kfree_skb(rx->skb);
		rx->skb = NULL;
		rx->dropping = true;
	}
	if (done->flags & cpu_to_le32(NIC_DONE_MORE))
		return false;
	skb = rx->skb;
	rx->skb = NULL;
	/* The kernel would add up memory that it cannot read. */
	if (skb && rx->mem.is_device_memory && skb_shinfo(skb)->nr_frags &&
	    skb->ip_summed == CHECKSUM_NONE) {
		kfree_skb(skb);
		rx->dropping = true;
	}
	if (rx->dropping) {
		fnic_count(&rx->stats, 0, 0, 1);
		rx->dropping = false;
		return true;
	}
	fnic_count(&rx->stats, 1, skb->len, 0);
	skb->protocol = eth_type_trans(skb, rx->nic->dev);
	napi_gro_receive(&rx->napi, skb);
	return true;
}

int fnic_rx_poll(struct napi_struct *napi, int budget)
{
	struct fnic_rx *rx = container_of(napi, struct fnic_rx, napi);
	struct fnic_rx_mem *mem = &rx->mem;
	u32 mask = mem->entries - 1, first = rx->next;
	int packets = 0;

	while (packets < budget) {
		u32 entry = rx->next & mask;
		struct nic_rx_done *from = &mem->done[entry], done;
		u32 phase = rx->next & mem->entries ? 0 : NIC_DONE_PHASE;

		if ((le32_to_cpu(READ_ONCE(from->flags)) & NIC_DONE_PHASE) != phase)
			break;
		dma_rmb();
		/* A copy: the device may belong to another host, and may lie. */
		done = *from;
		packets += fnic_rx_part(rx, entry, &done);
		fnic_rx_fill(mem, entry);
		rx->next++;
		/* A packet has no more parts than the ring. */
		if (rx->next - first >= mem->entries)
			break;
	}
	/* One entry stays free. */
	if (rx->next != first)
		writel((rx->next - 1) & mask, rx->regs + NIC_Q_TAIL);
	if (rx->next - first >= mem->entries)
		return budget;
	if (packets < budget && napi_complete_done(napi, packets))
		writel(rx->next & mask, rx->regs + NIC_Q_ARM);
	return packets;
}
