/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernels that only a network driver meets; compat.h has the others.
 * Linux 6.1 has neither memory of devices in packets (netmem) nor queues that start one by
 * one: there the driver is one of an ordinary NIC, and a netmem is a page.
 */
#ifndef COMPAT_NET_H
#define COMPAT_NET_H

#include <linux/dma-buf.h>
#include <linux/ethtool.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <linux/uaccess.h>

#include "compat.h"

#ifdef DLEND_NETMEM
#include <net/netdev_queues.h>
#include <net/netdev_rx_queue.h>
#include <net/page_pool/helpers.h>
#else
#include <net/page_pool.h>

#define netmem_ref struct page *
#define PP_FLAG_ALLOW_UNREADABLE_NETMEM 0
#define page_pool_alloc_netmems page_pool_alloc_pages
#define page_pool_put_full_netmem page_pool_put_full_page
#define page_pool_get_dma_addr_netmem page_pool_get_dma_addr
#define skb_add_rx_frag_netmem skb_add_rx_frag

static inline bool netmem_is_net_iov(netmem_ref netmem)
{
	return false;
}

static inline void page_pool_dma_sync_netmem_for_cpu(const struct page_pool *pool,
						     netmem_ref netmem, u32 offset, u32 size)
{
	dma_sync_single_range_for_cpu(pool->p.dev, page_pool_get_dma_addr(netmem), offset,
				      size, pool->p.dma_dir);
}
#endif

/**
 * dlend_page_pool_queue() - say which receive queue a page pool is for
 * @params: of the pool
 * @dev: the interface
 * @queue: index of the queue
 *
 * The kernel gives a queue's pool the memory that a process has bound to the queue.
 */
static inline void dlend_page_pool_queue(struct page_pool_params *params,
					 struct net_device *dev, unsigned int queue)
{
#ifdef DLEND_NETMEM
	params->netdev = dev;
	params->queue_idx = queue;
#endif
}

/**
 * dlend_queue_binding() - the memory that a process has bound to a receive queue
 * @dev: the interface
 * @queue: index of the queue
 *
 * Context: the lock of dlend_netdev_lock() is held.
 * Return: a pointer that tells bindings from each other, or NULL.
 */
static inline void *dlend_queue_binding(struct net_device *dev, unsigned int queue)
{
#ifdef DLEND_NETMEM
	return __netif_get_rx_queue(dev, queue)->mp_params.mp_priv;
#else
	return NULL;
#endif
}

/**
 * dlend_pool_binding() - the memory that a page pool gives out
 * @pool: the pool
 *
 * Return: as of dlend_queue_binding() when the pool was made.
 */
static inline void *dlend_pool_binding(const struct page_pool *pool)
{
#ifdef DLEND_NETMEM
	return pool->mp_priv;
#else
	return NULL;
#endif
}

/**
 * dlend_queue_attachment() - the dma-buf that a process has bound to a receive queue
 * @dev: the interface
 * @queue: index of the queue
 *
 * The binding is private to net/core, and the attachment is its second member. So this looks
 * carefully, and finds nothing in memory that is something else.
 *
 * Context: the lock of dlend_netdev_lock() is held.
 * Return: the attachment to the interface's device, or NULL.
 */
static inline struct dma_buf_attachment *dlend_queue_attachment(struct net_device *dev,
								unsigned int queue)
{
	struct dma_buf_attachment attach;
	struct {
		struct dma_buf *dmabuf;
		struct dma_buf_attachment *attach;
	} binding;

	if (copy_from_kernel_nofault(&binding, dlend_queue_binding(dev, queue), sizeof(binding)) ||
	    copy_from_kernel_nofault(&attach, binding.attach, sizeof(attach)) ||
	    attach.dmabuf != binding.dmabuf || attach.dev != dev->dev.parent)
		return NULL;
	return binding.attach;
}

/* Since 6.15 an interface whose queues start one by one has a lock of its own. */
#ifdef DLEND_NETDEV_LOCK
#include <net/netdev_lock.h>

#define dlend_napi_enable napi_enable_locked
#define dlend_napi_disable napi_disable_locked
#else
#define dlend_napi_enable napi_enable
#define dlend_napi_disable napi_disable

static inline void netdev_lock_ops(struct net_device *dev)
{
}

static inline void netdev_unlock_ops(struct net_device *dev)
{
}
#endif

/**
 * dlend_netdev_lock() - the locks under which the core calls an interface's operations
 * @dev: the interface
 */
static inline void dlend_netdev_lock(struct net_device *dev)
{
	rtnl_lock();
	netdev_lock_ops(dev);
}

static inline void dlend_netdev_unlock(struct net_device *dev)
{
	netdev_unlock_ops(dev);
	rtnl_unlock();
}

/* Since 7.0 these operations have the queue's configuration as a further parameter. */
#ifdef DLEND_QUEUE_CONFIG
#define DLEND_QUEUE_ARGS struct net_device *dev, struct netdev_queue_config *qcfg
#else
#define DLEND_QUEUE_ARGS struct net_device *dev
#endif

/*
 * Since 6.8 the hash's parameters are members of a struct. DLEND_DEFINE_RXFH() makes the
 * operations NAME_get_rxfh() and NAME_set_rxfh() of
 *
 *	void NAME_rss_get(struct net_device *dev, u32 *indir, u8 *key);
 *	int NAME_rss_set(struct net_device *dev, const u32 *indir, const u8 *key);
 *
 * in which each pointer may be NULL. The function of the hash is always Toeplitz's.
 */
static inline bool dlend_is_toeplitz(u8 hfunc)
{
	return hfunc == ETH_RSS_HASH_NO_CHANGE || hfunc == ETH_RSS_HASH_TOP;
}

#ifdef DLEND_RXFH_PARAM
#define DLEND_DEFINE_RXFH(name) \
static int name##_get_rxfh(struct net_device *dev, struct ethtool_rxfh_param *rxfh) \
{ \
	rxfh->hfunc = ETH_RSS_HASH_TOP; \
	name##_rss_get(dev, rxfh->indir, rxfh->key); \
	return 0; \
} \
\
static int name##_set_rxfh(struct net_device *dev, struct ethtool_rxfh_param *rxfh, \
			   struct netlink_ext_ack *extack) \
{ \
	return dlend_is_toeplitz(rxfh->hfunc) ? \
	       name##_rss_set(dev, rxfh->indir, rxfh->key) : -EOPNOTSUPP; \
}
#else
#define DLEND_DEFINE_RXFH(name) \
static int name##_get_rxfh(struct net_device *dev, u32 *indir, u8 *key, u8 *hfunc) \
{ \
	if (hfunc) \
		*hfunc = ETH_RSS_HASH_TOP; \
	name##_rss_get(dev, indir, key); \
	return 0; \
} \
\
static int name##_set_rxfh(struct net_device *dev, const u32 *indir, const u8 *key, \
			   const u8 hfunc) \
{ \
	return dlend_is_toeplitz(hfunc) ? name##_rss_set(dev, indir, key) : -EOPNOTSUPP; \
}
#endif

/* Since 6.19 the number of receive queues is an operation of its own. */
#ifdef DLEND_RX_RING_COUNT
#define DLEND_RX_RING_COUNT_OP(fn) .get_rx_ring_count = (fn),
#else
#define DLEND_RX_RING_COUNT_OP(fn)
#endif

/*
 * Since 7.3 at the latest, an interface with a lock of its own sets its filters in an operation
 * that may sleep. DLEND_DEFINE_RX_MODE() makes it of NAME_set_rx_mode(struct net_device *dev).
 */
#ifdef DLEND_RX_MODE_ASYNC
#define DLEND_DEFINE_RX_MODE(name) \
static int name##_set_rx_mode_async(struct net_device *dev, struct netdev_hw_addr_list *uc, \
				    struct netdev_hw_addr_list *mc) \
{ \
	name##_set_rx_mode(dev); \
	return 0; \
}

#define DLEND_RX_MODE_OP(name) .ndo_set_rx_mode_async = name##_set_rx_mode_async,
#else
#define DLEND_DEFINE_RX_MODE(name)
#define DLEND_RX_MODE_OP(name) .ndo_set_rx_mode = name##_set_rx_mode,
#endif

/* Since 6.12 header split can be switched; 6.1 can only show it. */
#ifndef DLEND_NETMEM
#define ETHTOOL_RING_USE_TCP_DATA_SPLIT 0
#endif

/*
 * Newer kernels, 7.3 among them, ask which device maps memory for a queue before they bind the
 * memory: for sending always that of queue 0.
 */
#ifdef DLEND_QUEUE_DMA_DEV
#define DLEND_QUEUE_DMA_DEV_OP(fn) .ndo_queue_get_dma_dev = (fn),
#else
#define DLEND_QUEUE_DMA_DEV_OP(fn)
#endif

/*
 * Since 6.16 a frame to be sent may be in memory of a device, whose address is fixed: it was
 * mapped when the memory was bound.
 */
#ifdef DLEND_NETMEM_TX
#define dlend_frag_is_device_memory(frag) skb_frag_is_net_iov(frag)
#define DLEND_SENDS_DEVICE_MEMORY(dev) ((dev)->netmem_tx = NETMEM_TX_DMA)
#else
#define dlend_frag_is_device_memory(frag) false
#define DLEND_SENDS_DEVICE_MEMORY(dev)
#endif

#endif
