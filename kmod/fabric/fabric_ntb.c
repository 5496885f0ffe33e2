// SPDX-License-Identifier: GPL-2.0-only
/*
 * Peers behind an NTB, reached through the kernel's NTB interface.
 *
 * The NTB's driver has to offer scratchpads for hello, one doorbell, a memory window
 * that holds the control area, and further memory windows for exports. Some drivers
 * set the translation of a window at the target (Switchtec): the exporter calls
 * ntb_mw_set_trans(). Others set it at the initiator (IDT): the importer calls
 * ntb_peer_mw_set_trans(). This file calls both functions. A function that the driver
 * does not offer does nothing and succeeds.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/iopoll.h>
#include <linux/module.h>
#include <linux/ntb.h>
#include <linux/pci.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "compat.h"
#include "fabric.h"

/* An order to the NTB's driver for a window of the peer. See end_window_set(). */
struct window_order {
	struct work_struct work;
	wait_queue_head_t wait;
	atomic_t state;
	unsigned int window;
	dma_addr_t addr;
	u64 size;
	int ret;
	spinlock_t lock;	/* guards the two below */
	struct task_struct *runner;	/* calls the driver, and gets SIGTERM if it has to end */
	bool stopped;			/* the adapter goes: the driver is not called any more */
};

/* States of an order. */
enum {
	ORDER_NONE,
	ORDER_RUNS,
	ORDER_DONE,	/* its caller takes the result */
	ORDER_LEFT,	/* it still runs, and its caller has given up */
};

struct ntb_end {
	struct dlend_peer peer;
	struct ntb_dev *ntb;
	struct dlend_area *area;
	dma_addr_t area_dma;
	u64 db;			/* the bit of our doorbell */
	int area_window;	/* window of the peer that leads to @area, or -1 */
	bool exposed;		/* a window that cannot be closed leads to @area */
	void __iomem *far;	/* the peer's area, or NULL */
	u32 far_window;		/* window of this node that leads to the peer's area */
	struct delayed_work enable;	/* of the link */
	unsigned int looks;	/* times that @enable has looked for the peer */
	unsigned int silent;	/* of these, in a row with the link up, but not the peer */
	unsigned int patience;	/* limit of @silent; 0 before the link is enabled */
	struct dlend_switchtec *st;	/* NULL if the NTB is no Switchtec */
	struct window_order order;
};

/* Only the first peer of an NTB is used. See ntb_is_fit(). */
#define PIDX NTB_DEF_PEER_IDX

/* The link is enabled when the peer is ready, or after so many looks at it. */
#define ENABLE_LOOK_MS 20
#define ENABLE_LOOKS 250
/* Afterwards it waits for a minute that the peer comes up. */
#define GREET_LOOK_MS 500
#define GREET_LOOKS 120
/* Looks in a row that find the link up, but not the peer. The limit doubles each time. */
#define GREET_SILENT 4

/* A node that leaves waits as long until its peer's end of the link is down. */
#define PART_US 500000
#define PART_LOOK_US 5000
#define PART_GRACE_MS 20

static struct ntb_end *ntb_end(struct dlend_peer *peer)
{
	return container_of(peer, struct ntb_end, peer);
}

static void end_hello_write(struct dlend_peer *peer, unsigned int word, u32 value)
{
	ntb_peer_spad_write(ntb_end(peer)->ntb, PIDX, word, value);
}

static u32 end_hello_read(struct dlend_peer *peer, unsigned int word)
{
	return ntb_spad_read(ntb_end(peer)->ntb, word);
}

static void end_hello_mark(struct dlend_peer *peer, unsigned int word, u32 value)
{
	ntb_spad_write(ntb_end(peer)->ntb, word, value);
}

static void end_ring(struct dlend_peer *peer)
{
	ntb_peer_db_set(ntb_end(peer)->ntb, ntb_end(peer)->db);
}

static int end_window_own(struct dlend_peer *peer, unsigned int window,
			  u64 *ret_addr, u64 *ret_size)
{
	struct ntb_dev *ntb = ntb_end(peer)->ntb;
	resource_size_t size;
	phys_addr_t addr;
	int count, err;

	count = ntb_peer_mw_count(ntb);
	if (count < 0 || window >= count)
		return -EINVAL;
	err = ntb_peer_mw_get_addr(ntb, window, &addr, &size);
	if (err)
		return err;
	*ret_addr = addr;
	*ret_size = size;
	return 0;
}

/* Return: whether the driver may be called. */
static bool order_begin(struct window_order *order)
{
	bool stopped;

	/* A node that goes down sends SIGTERM to all threads, which must not end an order. */
	allow_kernel_signal(SIGTERM);
	spin_lock(&order->lock);
	stopped = order->stopped;
	order->runner = stopped ? NULL : current;
	spin_unlock(&order->lock);
	return !stopped;
}

/* The thread is again one that gets no signals. */
static void order_end(struct window_order *order)
{
	spin_lock(&order->lock);
	order->runner = NULL;
	spin_unlock(&order->lock);
	disallow_signal(SIGTERM);
	flush_signals(current);
}

/* The driver's wait for the lock ends by a signal. */
static void order_stop(struct window_order *order)
{
	spin_lock(&order->lock);
	order->stopped = true;
	if (order->runner)
		send_sig(SIGTERM, order->runner, 1);
	spin_unlock(&order->lock);
	flush_work(&order->work);
}

static int order_call(struct ntb_end *end, dma_addr_t addr, u64 size)
{
	unsigned int window = end->order.window;
	int err = -ESHUTDOWN;

	if (order_begin(&end->order))
		err = size ? ntb_mw_set_trans(end->ntb, PIDX, window, addr, size) :
			     ntb_mw_clear_trans(end->ntb, PIDX, window);
	order_end(&end->order);
	return err;
}

static void order_run(struct work_struct *work)
{
	struct window_order *order = container_of(work, struct window_order, work);
	struct ntb_end *end = container_of(order, struct ntb_end, order);

	order->ret = order_call(end, order->addr, order->size);
	if (atomic_cmpxchg(&order->state, ORDER_RUNS, ORDER_DONE) == ORDER_RUNS) {
		wake_up(&order->wait);
		return;
	}
	/* The caller believes that the window is shut, and what it leads to may have gone. */
	if (order->size && !order->ret)
		order_call(end, 0, 0);
	atomic_set(&order->state, ORDER_NONE);
}

/*
 * Switchtec's driver gives up half way if the calling thread has a signal pending, and
 * a window that it should close would stay open. The call is therefore made on a
 * workqueue, whose threads get no signals.
 *
 * The driver takes a lock that the peer can keep, and waits for it for 50 s. Nobody else
 * waits longer for the peer than it takes to find out that a peer is lost. Meanwhile
 * further orders fail at once. The removal of the adapter ends the driver's wait.
 */
static int end_window_set(struct dlend_peer *peer, unsigned int window,
			  dma_addr_t addr, u64 size)
{
	struct window_order *order = &ntb_end(peer)->order;
	int ret;

	if (atomic_cmpxchg(&order->state, ORDER_NONE, ORDER_RUNS) != ORDER_NONE)
		return -ETIMEDOUT;
	order->window = window;
	order->addr = addr;
	order->size = size;
	queue_work(system_dfl_wq, &order->work);
	wait_event_timeout(order->wait, atomic_read(&order->state) == ORDER_DONE,
			   msecs_to_jiffies(dlend_lost_ms));
	if (atomic_cmpxchg(&order->state, ORDER_RUNS, ORDER_LEFT) == ORDER_RUNS) {
		dev_warn(peer->dev,
			 "%s: the adapter has not set window %u within %u ms; its peer may keep the lock\n",
			 peer->name, window, dlend_lost_ms);
		return -ETIMEDOUT;
	}
	ret = order->ret;
	atomic_set(&order->state, ORDER_NONE);
	return ret;
}

/*
 * The sizes may come from the peer: Switchtec's driver reads them from a page that
 * the peer writes. They are bounded here. If a size is still wrong, the hardware
 * refuses it when the window is set.
 */
static void read_window(struct ntb_end *end, int i, struct dlend_window *window)
{
	resource_size_t addr_align, size_align, size;

	window->hw_kind = 0;
	window->max = 0;
	if (ntb_mw_get_align(end->ntb, PIDX, i, &addr_align, &size_align, &size) ||
	    size < SZ_4K || size > BIT_ULL(52))
		return;
	window->max = size;
	/* A window whose translation cannot be smaller than itself is a LUT entry. */
	if (size_align != size)
		window->hw_kind = DLEND_WINDOW_DIRECT;
	else if (is_power_of_2(size))
		window->hw_kind = DLEND_WINDOW_LUT;
}

static void area_close(struct ntb_end *end)
{
	/* The windows of an adapter that was pulled out are gone with it. */
	if (end->area_window >= 0 &&
	    end_window_set(&end->peer, end->area_window, 0, 0) &&
	    pci_device_is_present(end->ntb->pdev)) {
		end->exposed = true;
		end->peer.windows.window[end->area_window].stuck = true;
		dev_err(end->peer.dev,
			"window %d onto the control area cannot be closed; the peer can still write the area\n",
			end->area_window);
	}
	end->area_window = -1;
}

static int end_area_open(struct dlend_peer *peer, u32 *ret_window, u64 *ret_addr)
{
	struct ntb_end *end = ntb_end(peer);
	struct dlend_window *window;
	int count, i, err, best = -1;

	count = ntb_mw_count(end->ntb, PIDX);
	if (count < 0)
		return count;
	if (!(ntb_link_is_up(end->ntb, NULL, NULL) & BIT_ULL(PIDX)))
		return -ENOTCONN;
	mutex_lock(&peer->windows.mutex);
	peer->windows.n = min(count, DLEND_WINDOWS_MAX);
	for (i = 0; i < peer->windows.n; i++) {
		window = &peer->windows.window[i];
		read_window(end, i, window);
		/* Choose the smallest window that is large enough; if several, the last. */
		if (window->hw_kind && window->max >= DLEND_AREA_SIZE &&
		    !window->stuck &&
		    (best < 0 || window->max <= peer->windows.window[best].max))
			best = i;
	}
	/* The sizes may come from the peer, so the choice may differ from the last one. */
	if (best != end->area_window)
		area_close(end);
	if (best < 0) {
		err = -ENOSPC;
		goto unlock;
	}
	end->area_window = best;
	window = &peer->windows.window[best];
	err = end_window_set(peer, best, end->area_dma,
			     window->hw_kind == DLEND_WINDOW_LUT ? window->max :
							     DLEND_AREA_SIZE);
	window->hw_kind = 0;
unlock:
	mutex_unlock(&peer->windows.mutex);
	if (err)
		return err;
	*ret_window = best;
	*ret_addr = end->area_dma;
	return 0;
}

static void end_area_unmap(struct dlend_peer *peer)
{
	struct ntb_end *end = ntb_end(peer);

	if (!end->far)
		return;
	iounmap(end->far);
	ntb_peer_mw_clear_trans(end->ntb, PIDX, end->far_window);
	end->far = NULL;
}

static void __iomem *end_area_map(struct dlend_peer *peer, u32 window, u64 addr)
{
	struct ntb_end *end = ntb_end(peer);
	u64 phys, size;
	int err;

	if (window >= DLEND_WINDOWS_MAX ||
	    end_window_own(peer, window, &phys, &size) || size < DLEND_AREA_SIZE)
		return IOMEM_ERR_PTR(-EINVAL);
	err = ntb_peer_mw_set_trans(end->ntb, PIDX, window, addr, DLEND_AREA_SIZE);
	if (err)
		return IOMEM_ERR_PTR(err);
	end->far = ioremap(phys, DLEND_AREA_SIZE);
	if (!end->far) {
		ntb_peer_mw_clear_trans(end->ntb, PIDX, window);
		return IOMEM_ERR_PTR(-ENOMEM);
	}
	end->far_window = window;
	return end->far;
}

static struct resource *find_bar(struct pci_dev *pdev, phys_addr_t phys, u64 size)
{
	int i;

	for (i = 0; i < PCI_STD_NUM_BARS; i++) {
		struct resource *bar = &pdev->resource[i];

		if (resource_type(bar) == IORESOURCE_MEM && phys >= bar->start &&
		    phys + size - 1 <= bar->end)
			return bar;
	}
	return NULL;
}

static void end_unimport(struct dlend_peer *peer, u32 window, u64 offset, u64 size)
{
	u64 addr, own, done;

	for (done = 0; done < offset + size; done += own) {
		if (end_window_own(peer, window, &addr, &own))
			return;
		ntb_peer_mw_clear_trans(ntb_end(peer)->ntb, PIDX, window++);
	}
}

static int end_import(struct dlend_peer *peer, u32 window, u64 offset, u64 size,
		      u64 addr, struct dlend_import *ret_import,
		      dma_addr_t *ret_bus)
{
	struct ntb_end *end = ntb_end(peer);
	u64 first = 0, at, own, end_at = 0;
	struct pci_bus_region region;
	struct resource range = { .flags = IORESOURCE_MEM };
	u32 i = window, last;
	int err;

	if (addr < offset)
		return -EINVAL;
	/* The range lies in one window, or in several adjacent ones. */
	for (;; i++) {
		/* The window onto the control area is not for imports. */
		if (i == end->far_window || end_window_own(peer, i, &at, &own) ||
		    (i > window && at != end_at))
			return -EINVAL;
		if (i == window)
			first = at;
		end_at = at + own;
		if (offset + size <= end_at - first)
			break;
	}
	ret_import->phys = first + offset;
	ret_import->parent = find_bar(end->ntb->pdev, first + offset, size);
	if (!ret_import->parent)
		return -EINVAL;
	range.start = first + offset;
	range.end = range.start + size - 1;
	pcibios_resource_to_bus(end->ntb->pdev->bus, &region, &range);
	*ret_bus = region.start;

	last = i;
	for (i = window; i <= last; i++) {
		end_window_own(peer, i, &at, &own);
		err = ntb_peer_mw_set_trans(end->ntb, PIDX, i,
					    addr - offset + (at - first), own);
		if (err)
			goto clear;
	}
	return 0;

clear:
	/* Also clear the window that failed: it may be half set. */
	for (last = i, i = window; i <= last; i++)
		ntb_peer_mw_clear_trans(end->ntb, PIDX, i);
	return err;
}

static struct device *end_requester(struct dlend_peer *peer, u32 bdf)
{
	return get_device(&ntb_end(peer)->ntb->pdev->dev);
}

/* For walk_iomem_res_desc(), which gives the part of @res that is in the BAR */
static int covers(struct resource *res, void *bar)
{
	return resource_size(res) == resource_size(bar);
}

static bool end_keeps_bars(struct dlend_peer *peer)
{
	struct pci_dev *pdev = ntb_end(peer)->ntb->pdev;
	unsigned int window;
	u64 addr, size;

	for (window = 0; !end_window_own(peer, window, &addr, &size); window++) {
		struct resource *bar = find_bar(pdev, addr, size);

		if (bar && walk_iomem_res_desc(IORES_DESC_NONE,
					       IORESOURCE_MEM | IORESOURCE_BUSY,
					       bar->start, bar->end, bar, covers) != 1)
			return false;
	}
	return window > 0;
}

static int end_admit(struct dlend_peer *peer, u16 id)
{
	struct ntb_end *end = ntb_end(peer);

	return end->st ? dlend_switchtec_admit(end->st, id) : 0;
}

static void end_expel(struct dlend_peer *peer, u16 id)
{
	struct ntb_end *end = ntb_end(peer);

	if (end->st)
		dlend_switchtec_expel(end->st, id);
}

static void end_admitted_show(struct dlend_peer *peer, struct seq_file *file)
{
	struct ntb_end *end = ntb_end(peer);

	if (end->st)
		dlend_switchtec_show(end->st, file);
}

static void end_release(struct dlend_peer *peer)
{
	struct ntb_end *end = ntb_end(peer);

	dlend_switchtec_free(end->st);
	put_device(peer->dev);
	kfree(end);
}

static const struct dlend_backend end_backend = {
	.hello_write = end_hello_write,
	.hello_read = end_hello_read,
	.hello_mark = end_hello_mark,
	.ring = end_ring,
	.area_open = end_area_open,
	.area_map = end_area_map,
	.area_unmap = end_area_unmap,
	.window_own = end_window_own,
	.window_set = end_window_set,
	.import = end_import,
	.unimport = end_unimport,
	.requester = end_requester,
	.keeps_bars = end_keeps_bars,
	.admit = end_admit,
	.expel = end_expel,
	.admitted_show = end_admitted_show,
	.release = end_release,
};

static void link_event(void *ctx)
{
	struct ntb_end *end = ctx;

	dlend_peer_link(&end->peer, ntb_link_is_up(end->ntb, NULL, NULL) & BIT_ULL(PIDX));
}

static void db_event(void *ctx, int vec)
{
	struct ntb_end *end = ctx;

	if (!(ntb_db_read(end->ntb) & end->db))
		return;
	/* Clear the doorbell first: a ring during the handling causes a new event. */
	ntb_db_clear(end->ntb, end->db);
	dlend_mailbox_doorbell(&end->peer);
}

static const struct ntb_ctx_ops end_ctx_ops = {
	.link_event = link_event,
	.db_event = db_event,
};

/*
 * AMD's driver returns an error on the secondary side: only the primary side enables the
 * link. It has let events come nevertheless, and the link may be up.
 */
static void enable_link(struct ntb_end *end)
{
	struct ntb_dev *ntb = end->ntb;
	int err;

	err = ntb_link_enable(ntb, NTB_SPEED_AUTO, NTB_WIDTH_AUTO);
	if (err)
		dev_info(end->peer.dev,
			 "the link cannot be enabled from this side: error %d\n", err);
	/*
	 * A link that is up already causes no event, so report it here. A second
	 * "up" would count as a loss, so do this only if no event came meanwhile.
	 */
	if (!READ_ONCE(end->peer.link) &&
	    ntb_link_is_up(ntb, NULL, NULL) & BIT_ULL(PIDX))
		dlend_peer_link(&end->peer, true);
}

/*
 * Switchtec's driver tells the peer at its start that this node is new ("force down"),
 * and a message replaces one that was not read. If the messages of ntb_link_enable()
 * replace it, the peer does not open its scratchpads to this node again, and the link
 * stays down here. All ones mean that they are not open yet.
 *
 * If the peer acts on all these messages at once, it only takes the link down: it stays
 * down there, and is up here. Then the link is enabled anew, for another message.
 */
static void link_work(struct work_struct *work)
{
	struct ntb_end *end = container_of(to_delayed_work(work), struct ntb_end, enable);
	struct ntb_dev *ntb = end->ntb;

	if (!end->patience) {
		if (ntb_peer_spad_read(ntb, PIDX, DLEND_HELLO_MAGIC) == U32_MAX &&
		    ++end->looks < ENABLE_LOOKS) {
			schedule_delayed_work(&end->enable,
					      msecs_to_jiffies(ENABLE_LOOK_MS));
			return;
		}
		enable_link(end);
		end->patience = GREET_SILENT;
		end->looks = 0;
	}
	if (dlend_peer_is_up(&end->peer) || ++end->looks > GREET_LOOKS)
		return;
	end->silent = READ_ONCE(end->peer.link) ? end->silent + 1 : 0;
	if (end->silent > end->patience) {
		end->patience *= 2;
		end->silent = 0;
		ntb_link_disable(ntb);
		enable_link(end);
	}
	schedule_delayed_work(&end->enable, msecs_to_jiffies(GREET_LOOK_MS));
}

/* Ends the session, and closes the window through which the peer writes the area. */
static void end_stop(struct ntb_end *end)
{
	cancel_delayed_work_sync(&end->enable);
	dlend_peer_stop(&end->peer);
	area_close(end);
	/* The NTB's driver may free what an order uses. */
	order_stop(&end->order);
}

/* Call this only after the NTB has stopped calling event handlers. */
static void end_free(struct ntb_end *end)
{
	/* If a window onto this memory is still open, the memory is not freed. */
	if (!end->exposed)
		dma_free_coherent(end->peer.dev, DLEND_AREA_SIZE, end->area,
				  end->area_dma);
	dlend_peer_put(&end->peer);
}

/* Return: whether the NTB has what this file needs; if not, there is a message. */
static bool ntb_is_fit(struct ntb_dev *ntb)
{
	struct device *dev = &ntb->pdev->dev;

	if (ntb_spad_count(ntb) < DLEND_HELLO_WORDS || !ntb_db_valid_mask(ntb) ||
	    ntb_spad_is_unsafe(ntb) == 1 || ntb_db_is_unsafe(ntb) == 1) {
		dev_err(dev, "this NTB lacks the %u scratchpads or the doorbell that dl_fabric needs\n",
			DLEND_HELLO_WORDS);
		return false;
	}
	if (ntb_peer_port_count(ntb) != 1)
		dev_warn(dev, "this NTB has %d peers; dl_fabric uses the first\n",
			 ntb_peer_port_count(ntb));
	return true;
}

/* Return: an end that is not started yet, or ERR_PTR. */
static struct ntb_end *end_new(struct ntb_dev *ntb)
{
	struct device *dev = &ntb->pdev->dev;
	u64 valid = ntb_db_valid_mask(ntb);
	struct ntb_end *end;
	int err = -ENOMEM;

	end = kzalloc(sizeof(*end), GFP_KERNEL);
	if (!end)
		return ERR_PTR(-ENOMEM);
	end->ntb = ntb;
	end->db = valid & -valid;
	end->area_window = -1;
	end->far_window = U32_MAX;
	INIT_DELAYED_WORK(&end->enable, link_work);
	INIT_WORK(&end->order.work, order_run);
	init_waitqueue_head(&end->order.wait);
	spin_lock_init(&end->order.lock);
	end->area = dma_alloc_coherent(dev, DLEND_AREA_SIZE, &end->area_dma,
				       GFP_KERNEL);
	if (!end->area)
		goto free_end;
	if (!IS_ALIGNED(end->area_dma, DLEND_AREA_SIZE)) {
		dev_err(dev, "the memory for the control area is not aligned to its size of %u KiB\n",
			DLEND_AREA_SIZE / SZ_1K);
		goto free_area;
	}
	end->st = dlend_switchtec_new(ntb->pdev);
	if (IS_ERR(end->st)) {
		err = PTR_ERR(end->st);
		goto free_area;
	}
	err = dlend_peer_init(&end->peer, &end_backend, dev, pci_name(ntb->pdev),
			      dlend_node_id, end->area);
	if (err)
		goto free_st;
	get_device(dev);
	return end;

free_st:
	dlend_switchtec_free(end->st);
free_area:
	dma_free_coherent(dev, DLEND_AREA_SIZE, end->area, end->area_dma);
free_end:
	kfree(end);
	return ERR_PTR(err);
}

static int fabric_probe(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct ntb_end *end;
	u64 valid;
	int err;

	if (!ntb_is_fit(ntb))
		return -ENODEV;
	end = end_new(ntb);
	if (IS_ERR(end))
		return PTR_ERR(end);
	dlend_peer_start(&end->peer);
	valid = ntb_db_valid_mask(ntb);
	ntb_db_set_mask(ntb, valid);
	ntb_db_clear(ntb, valid);
	err = ntb_set_ctx(ntb, end, &end_ctx_ops);
	if (err)
		goto stop;
	ntb_db_clear_mask(ntb, end->db);
	schedule_delayed_work(&end->enable, 0);
	return 0;

stop:
	end_stop(end);
	end_free(end);
	return err;
}

/*
 * Switchtec's driver answers each message about the link with a read of the peer's
 * scratchpads, and this node has sent two. So this waits until the peer's end is down,
 * and then for the second read: the NTB's driver may free the scratchpads at once.
 */
static void part(struct ntb_dev *ntb)
{
	bool is_up = ntb_link_is_up(ntb, NULL, NULL) & BIT_ULL(PIDX);
	u32 magic;

	ntb_link_disable(ntb);
	if (!is_up)
		return;
	read_poll_timeout(ntb_peer_spad_read, magic,
			  magic == DLEND_PARTED || magic == U32_MAX,
			  PART_LOOK_US, PART_US, false, ntb, PIDX,
			  DLEND_HELLO_MAGIC);
	msleep(PART_GRACE_MS);
}

static void fabric_remove(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct ntb_end *end = ntb->ctx;

	end_stop(end);
	part(ntb);
	ntb_db_set_mask(ntb, end->db);
	ntb_clear_ctx(ntb);
	end_free(end);
}

static struct ntb_client fabric_client = {
	.ops = {
		.probe = fabric_probe,
		.remove = fabric_remove,
	},
};

int dlend_ntb_init(void)
{
	return ntb_register_client(&fabric_client);
}

void dlend_ntb_done(void)
{
	ntb_unregister_client(&fabric_client);
}
