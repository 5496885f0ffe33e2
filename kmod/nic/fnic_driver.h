/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private to fnic.ko. A file calls only files below it:
 *
 *	fnic_main.c	the PCI driver, interrupts of the function
 *	fnic_ethtool.c	settings and counters
 *	fnic_netdev.c	the interface
 *	fnic_rules.c	flow steering
 *	fnic_rx.c  fnic_tx.c
 *			queues
 */
#ifndef FNIC_DRIVER_H
#define FNIC_DRIVER_H

#include <linux/if_vlan.h>
#include <linux/iopoll.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/u64_stats_sync.h>
#include <linux/workqueue.h>

#include "compat_net.h"
#include "uapi/nic_regs.h"

#define FNIC_RX_ENTRIES		128
#define FNIC_TX_ENTRIES		256
/* Room for the parts of two frames, at least. */
#define FNIC_ENTRIES_MIN	64

/* Ethernet header and two VLAN tags, which the MTU does not count. */
#define FNIC_MTU_MAX (NIC_FRAME_MASK - ETH_HLEN - 2 * VLAN_HLEN)

struct fnic_stats {
	struct u64_stats_sync sync;
	u64 packets, bytes, dropped;
};

/* The memory of a receive queue that runs; the kernel takes it out and puts in another. */
struct fnic_rx_mem {
	struct page_pool *pool;		/* NULL: there is nothing here */
	u32 entries;
	struct nic_rx_desc *ring;
	dma_addr_t ring_dma;
	struct nic_rx_done *done;
	dma_addr_t done_dma;
	void *headers;
	dma_addr_t headers_dma;
	netmem_ref *pages;		/* of each descriptor */
	bool split;
	bool is_device_memory;		/* a process has bound it */
};

struct fnic_rx {
	struct fnic *nic;
	unsigned int index;
	int irq;
	void __iomem *regs;
	struct napi_struct napi;
	struct fnic_rx_mem mem;
	u32 next;			/* completion that comes next; counts on for ever */
	struct sk_buff *skb;		/* begins in completions before that */
	bool dropping;			/* the rest of a packet is dropped */
	/* Held while the device's queue starts and stops, and guards what follows. */
	struct mutex lock;
	bool on;
	void *revoked;			/* binding whose memory has gone */

	struct fnic_stats stats;
	u64 device_frags, page_frags, empty, broken;
};

enum fnic_tx_part { FNIC_TX_HEAD, FNIC_TX_PAGE, FNIC_TX_DEVICE_MEMORY };

struct fnic_tx_slot {
	struct sk_buff *skb;		/* of the last part of a frame, else NULL */
	dma_addr_t addr;		/* 0: the entry is not used */
	u32 length;
	enum fnic_tx_part part;
};

struct fnic_tx {
	struct fnic *nic;
	unsigned int index;
	int irq;
	void __iomem *regs;
	struct napi_struct napi;
	u32 entries;
	struct nic_tx_desc *ring;
	dma_addr_t ring_dma;
	__le32 *writeback;
	dma_addr_t writeback_dma;
	struct fnic_tx_slot *slots;
	u32 next, clean;		/* both count on for ever */
	struct mutex lock;		/* held while the device's queue starts and stops */
	bool on;			/* guarded by it */
	struct fnic_stats stats;
	u64 device_frags;
};

struct fnic_rule {
	struct ethtool_rx_flow_spec spec;
	bool valid;
};

struct fnic {
	struct net_device *dev;
	struct pci_dev *pdev;
	void __iomem *regs;
	unsigned int rx_max, tx_max;	/* queues of the function */
	bool is_virtual;
	unsigned int vectors;
	bool stuck;			/* a queue did not stop: no DMA until a reset */
	struct work_struct event;
	struct delayed_work restart;
	struct notifier_block notices;

	/* Guarded by dlend_netdev_lock(). */
	bool up;			/* the queues run */
	bool split;			/* header split is on */
	bool flush;			/* queues with device memory order payload and completion */
	/* Memory that was bound for sending, and how much of it dl_notice has told. */
	u32 tx_binds, tx_seen;
	u32 rx_entries, tx_entries;
	u8 key[NIC_KEY_SIZE];
	u8 indir[NIC_INDIR_ENTRIES];
	struct fnic_rule rules[NIC_RULE_COUNT];

	struct fnic_rx rx[NIC_QUEUES_MAX];
	struct fnic_tx tx[NIC_QUEUES_MAX];
};

/* Return: false if it does not answer: all ones are no status of a queue. */
static inline bool fnic_is_there(struct fnic *nic)
{
	return !pci_channel_offline(nic->pdev) && readl(nic->regs + NIC_ID) == NIC_ID_VALUE;
}

static inline void fnic_count(struct fnic_stats *stats, u64 packets, u64 bytes, u64 dropped)
{
	u64_stats_update_begin(&stats->sync);
	stats->packets += packets;
	stats->bytes += bytes;
	stats->dropped += dropped;
	u64_stats_update_end(&stats->sync);
}

/* fnic_tx.c */

/*
 * Stops a queue of either kind. When it returns, the device does no DMA for the queue, and
 * none is in flight. Sleeps. Return: false if the device has not said so, and has lost the
 * right to do any DMA; or if what it has written last may still be on its way.
 */
bool fnic_queue_stop(struct fnic *nic, void __iomem *regs);
/* Starts a queue whose registers but for these are set. Return: 0 or -EIO. */
int fnic_queue_start(struct fnic *nic, void __iomem *regs, dma_addr_t base, u32 entries,
		     u32 control);
netdev_tx_t fnic_xmit(struct sk_buff *skb, struct net_device *dev);
int fnic_tx_poll(struct napi_struct *napi, int budget);
int fnic_tx_start(struct fnic_tx *tx);
/* Ends the queue's poll, and so all that wakes the queue. It may take frames still. */
void fnic_tx_quiet(struct fnic_tx *tx);
/* Stops a quiet queue that takes no frame any more (netif_tx_disable()). */
void fnic_tx_stop(struct fnic_tx *tx);
struct dlend_notice;
/*
 * Stops the queues that have frames in the range, and has them started again without these.
 * Return: whether nobody reads it any more.
 */
bool fnic_tx_revoke(struct fnic *nic, const struct dlend_notice *notice);

/* fnic_rx.c */
int fnic_rx_poll(struct napi_struct *napi, int budget);
int fnic_rx_start(struct fnic_rx *rx);
void fnic_rx_stop(struct fnic_rx *rx);
/* Has queues that were given device memory: they can start one by one. */
void fnic_rx_offer_queues(struct net_device *dev);
/* Stops the queues that write to the range. Return: whether nothing is on its way to it. */
bool fnic_rx_revoke(struct fnic *nic, const struct dlend_notice *notice);

/* fnic_rules.c */
void fnic_rules_write(struct fnic *nic);
void fnic_rules_clear(struct fnic *nic);
/* Return: whether a rule leads to a queue from @first on. */
bool fnic_rules_use(struct fnic *nic, unsigned int first);
int fnic_get_rxnfc(struct net_device *dev, struct ethtool_rxnfc *c, u32 *locs);
int fnic_set_rxnfc(struct net_device *dev, struct ethtool_rxnfc *c);

/* fnic_netdev.c. dlend_netdev_lock() is held. */
int fnic_up(struct fnic *nic);
void fnic_down(struct fnic *nic);
/* Resets the device, and writes all that its registers had. */
void fnic_set_up(struct fnic *nic);
/* Writes key and table of the hash. */
void fnic_rss_write(struct fnic *nic);
void fnic_rss_default(struct fnic *nic);
extern const struct net_device_ops fnic_netdev_ops;

/* fnic_ethtool.c */
extern const struct ethtool_ops fnic_ethtool_ops;

#endif
