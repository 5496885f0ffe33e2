// SPDX-License-Identifier: GPL-2.0-only
/*
 * The loopback: two peers in one kernel, each the far end of the other. Everything
 * above a backend runs as between two nodes. This backend has memory in place of
 * scratchpads, an interrupt of this CPU in place of a doorbell, and a table in
 * place of an adapter, with as many windows as a Switchtec would have.
 *
 * The importer gets the exporter's address unchanged, because devices and CPUs of
 * this node reach the range at that address.
 */
#include <linux/debugfs.h>
#include <linux/dma-mapping.h>
#include <linux/irq_work.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/platform_device.h>
#include <linux/slab.h>

#include "fabric.h"

static bool loopback;
module_param(loopback, bool, 0444);
MODULE_PARM_DESC(loopback, "join this node with itself, as nodes node_id and node_id + 1");

static unsigned int loop_luts = 32;
module_param(loop_luts, uint, 0444);
MODULE_PARM_DESC(loop_luts, "number of LUT entries of each end of the loopback, 64 KiB each (32)");

static unsigned int loop_direct_mib[2] = { 2, 65536 };
module_param_array(loop_direct_mib, uint, NULL, 0444);
MODULE_PARM_DESC(loop_direct_mib, "sizes of the two direct windows of each end, in MiB (2,65536)");

#define LOOP_DIRECT 2
#define LOOP_LUT_SIZE SZ_64K
#define LOOP_LUTS_MAX (DLEND_WINDOWS_MAX - LOOP_DIRECT + 1)

struct loop_end {
	struct dlend_peer peer;
	struct loop_end *other;
	struct platform_device *pdev;
	struct dlend_area *area;
	u32 hello[DLEND_HELLO_WORDS];	/* written by the other end */
	struct irq_work irq;
	struct mutex trans_mutex;	/* guards @trans */
	/* The targets of the windows of the other end. This end sets them. */
	struct {
		u64 addr, size;
	} trans[DLEND_WINDOWS_MAX];
};

static struct loop_end *ends[2];
static struct dentry *link_file;

static struct loop_end *loop_end(struct dlend_peer *peer)
{
	return container_of(peer, struct loop_end, peer);
}

static void loop_hello_write(struct dlend_peer *peer, unsigned int word, u32 value)
{
	/* A reader that sees this word also sees everything written before it. */
	smp_store_release(&loop_end(peer)->other->hello[word], value);
}

static u32 loop_hello_read(struct dlend_peer *peer, unsigned int word)
{
	/* Pairs with the other end's loop_hello_write(). */
	return smp_load_acquire(&loop_end(peer)->hello[word]);
}

static void loop_ring(struct dlend_peer *peer)
{
	irq_work_queue(&loop_end(peer)->other->irq);
}

static void loop_irq(struct irq_work *work)
{
	dlend_mailbox_doorbell(&container_of(work, struct loop_end, irq)->peer);
}

/*
 * While interrupts are off, the other end gets no doorbell on this CPU, so this end
 * handles the other end's requests itself.
 */
static void loop_poll(struct dlend_peer *peer)
{
	struct dlend_peer *other = &loop_end(peer)->other->peer;

	if (!dlend_peer_enter(other))
		return;
	dlend_mailbox_serve_polled(other);
	dlend_peer_exit(other);
}

/*
 * The layout of the windows is that of a Switchtec. One BAR has the LUT at its start
 * and a direct window behind it; the first entry of the LUT is not used here. A second
 * BAR has another direct window.
 */
static int loop_window_own(struct dlend_peer *peer, unsigned int window,
			   u64 *ret_addr, u64 *ret_size)
{
	u64 luts = (u64)roundup_pow_of_two(loop_luts) * LOOP_LUT_SIZE;

	if (window >= LOOP_DIRECT + loop_luts - 1)
		return -EINVAL;
	if (window >= LOOP_DIRECT) {
		*ret_addr = BIT_ULL(40) +
			    (u64)(window - LOOP_DIRECT + 1) * LOOP_LUT_SIZE;
		*ret_size = LOOP_LUT_SIZE;
		return 0;
	}
	*ret_size = (u64)loop_direct_mib[window] << 20;
	*ret_addr = window ? BIT_ULL(52) :
			     BIT_ULL(40) + max(luts, roundup_pow_of_two(*ret_size));
	return *ret_size ? 0 : -EINVAL;
}

static int loop_area_open(struct dlend_peer *peer, u32 *ret_window, u64 *ret_addr)
{
	unsigned int i;
	u64 addr, size;

	mutex_lock(&peer->windows.mutex);
	peer->windows.n = LOOP_DIRECT + loop_luts - 1;
	for (i = 0; i < peer->windows.n; i++) {
		struct dlend_window *window = &peer->windows.window[i];

		window->hw_kind = 0;
		if (loop_window_own(peer, i, &addr, &size))
			continue;
		window->max = size;
		window->hw_kind = i < LOOP_DIRECT ? DLEND_WINDOW_DIRECT :
						    DLEND_WINDOW_LUT;
	}
	/* The last entry leads to the area. */
	peer->windows.window[--peer->windows.n].hw_kind = 0;
	mutex_unlock(&peer->windows.mutex);
	*ret_window = peer->windows.n;
	*ret_addr = virt_to_phys(loop_end(peer)->area);
	return 0;
}

static void __iomem *loop_area_map(struct dlend_peer *peer, u32 window, u64 addr)
{
	return (void __iomem __force *)loop_end(peer)->other->area;
}

static void loop_area_unmap(struct dlend_peer *peer)
{
}

static int loop_window_set(struct dlend_peer *peer, unsigned int window,
			   dma_addr_t addr, u64 size)
{
	struct loop_end *end = loop_end(peer);

	/* A Switchtec refuses the same values. */
	if (size && (size < SZ_4K || !is_power_of_2(size) || addr & (size - 1)))
		return -EINVAL;
	mutex_lock(&end->trans_mutex);
	end->trans[window].addr = addr;
	end->trans[window].size = size;
	mutex_unlock(&end->trans_mutex);
	return 0;
}

/* Return: the BAR of a device here that holds the range, or NULL. */
static struct resource *loop_parent(phys_addr_t phys, u64 size)
{
	struct resource *found = NULL;
	struct pci_dev *pdev = NULL;
	int i;

	for_each_pci_dev(pdev) {
		for (i = 0; i < PCI_STD_NUM_BARS; i++) {
			struct resource *bar = &pdev->resource[i];

			if (resource_type(bar) == IORESOURCE_MEM && bar->parent &&
			    phys >= bar->start && phys + size - 1 <= bar->end)
				found = bar;
		}
		if (found) {
			pci_dev_put(pdev);
			break;
		}
	}
	return found;
}

static int loop_import(struct dlend_peer *peer, u32 window, u64 offset, u64 size,
		       u64 addr, struct dlend_import *ret_import,
		       dma_addr_t *ret_bus)
{
	struct loop_end *other = loop_end(peer)->other;
	u64 base = 0, left = offset + size;
	u32 i = window;
	int err = 0;

	mutex_lock(&other->trans_mutex);
	base = other->trans[window].addr;
	for (;;) {
		if (i >= DLEND_WINDOWS_MAX || !other->trans[i].size ||
		    other->trans[i].addr != base + (offset + size - left)) {
			err = -EINVAL;
			break;
		}
		if (other->trans[i].size >= left)
			break;
		left -= other->trans[i++].size;
	}
	mutex_unlock(&other->trans_mutex);
	if (err)
		return err;
	ret_import->phys = base + offset;
	ret_import->parent = loop_parent(ret_import->phys, size);
	*ret_bus = base + offset;
	return 0;
}

static struct device *loop_requester(struct dlend_peer *peer, u32 bdf)
{
	struct pci_dev *pdev;

	pdev = pci_get_domain_bus_and_slot(bdf >> 16, (bdf >> 8) & 0xff,
					   bdf & 0xff);
	return pdev ? &pdev->dev : NULL;
}

static void loop_release(struct dlend_peer *peer)
{
	struct loop_end *end = loop_end(peer);

	platform_device_unregister(end->pdev);
	kfree(end->area);
	kfree(end);
}

static const struct dlend_backend loop_backend = {
	.hello_write = loop_hello_write,
	.hello_read = loop_hello_read,
	.ring = loop_ring,
	.poll = loop_poll,
	.area_open = loop_area_open,
	.area_map = loop_area_map,
	.area_unmap = loop_area_unmap,
	.window_own = loop_window_own,
	.window_set = loop_window_set,
	.import = loop_import,
	.requester = loop_requester,
	.release = loop_release,
	.is_loopback = true,
};

/* The file "loop_link" in debugfs stands for the cable. */
static int link_get(void *unused, u64 *value)
{
	*value = READ_ONCE(ends[0]->peer.link);
	return 0;
}

static int link_set(void *unused, u64 value)
{
	int i;

	for (i = 0; i < 2; i++)
		dlend_peer_link(&ends[i]->peer, value);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(link_fops, link_get, link_set, "%llu\n");

static struct loop_end *loop_new(unsigned int i)
{
	struct loop_end *end = kzalloc(sizeof(*end), GFP_KERNEL);
	char name[8];
	int err = -ENOMEM;

	if (!end)
		return ERR_PTR(-ENOMEM);
	end->area = kzalloc(DLEND_AREA_SIZE, GFP_KERNEL);
	if (!end->area)
		goto free_end;
	end->pdev = platform_device_register_simple("dl_loop", i, NULL, 0);
	if (IS_ERR(end->pdev)) {
		err = PTR_ERR(end->pdev);
		goto free_area;
	}
	err = dma_coerce_mask_and_coherent(&end->pdev->dev, DMA_BIT_MASK(64));
	if (err)
		goto unregister;
	mutex_init(&end->trans_mutex);
	init_irq_work(&end->irq, loop_irq);
	snprintf(name, sizeof(name), "loop%u", i);
	err = dlend_peer_init(&end->peer, &loop_backend, &end->pdev->dev, name,
			      dlend_node_id + i, end->area);
	if (err)
		goto unregister;
	return end;

unregister:
	platform_device_unregister(end->pdev);
free_area:
	kfree(end->area);
free_end:
	kfree(end);
	return ERR_PTR(err);
}

int dlend_loop_init(void)
{
	int i;

	if (!loopback)
		return 0;
	if (loop_luts < 2 || loop_luts > LOOP_LUTS_MAX) {
		pr_err("dl_fabric: loop_luts is %u, but must be 2 to %u\n",
		       loop_luts, LOOP_LUTS_MAX);
		return -EINVAL;
	}
	for (i = 0; i < 2; i++) {
		ends[i] = loop_new(i);
		if (IS_ERR(ends[i])) {
			int err = PTR_ERR(ends[i]);

			if (i) {
				dlend_peer_stop(&ends[0]->peer);
				dlend_peer_put(&ends[0]->peer);
			}
			return err;
		}
	}
	for (i = 0; i < 2; i++)
		ends[i]->other = ends[!i];
	for (i = 0; i < 2; i++)
		dlend_peer_start(&ends[i]->peer);
	link_set(NULL, 1);
	link_file = debugfs_create_file_unsafe("loop_link", 0600,
					       dlend_debugfs_root(), NULL,
					       &link_fops);
	return 0;
}

void dlend_loop_done(void)
{
	int i;

	if (!loopback)
		return;
	debugfs_remove(link_file);
	/* Stop both before either is freed, because each rings the other. */
	for (i = 0; i < 2; i++)
		dlend_peer_stop(&ends[i]->peer);
	for (i = 0; i < 2; i++)
		irq_work_sync(&ends[i]->irq);
	for (i = 0; i < 2; i++)
		dlend_peer_put(&ends[i]->peer);
}
