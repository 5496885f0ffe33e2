// SPDX-License-Identifier: GPL-2.0-only
/*
 * Driver of farside-nic, the emulated NIC, and of its virtual functions. On Linux 6.12 and
 * later a receive queue may write its payloads to memory of another device (devmem TCP).
 */
#include <linux/dma-mapping.h>
#include <linux/etherdevice.h>
#include <linux/interrupt.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/module.h>

#include "dl_notice.h"
#include "fnic_driver.h"

/* A queue that stops with an error again and again is started this seldom. */
#define RESTART_MS 1000

/* Interrupts */

static irqreturn_t fnic_rx_interrupt(int irq, void *data)
{
	struct fnic_rx *rx = data;

	napi_schedule(&rx->napi);
	return IRQ_HANDLED;
}

static irqreturn_t fnic_tx_interrupt(int irq, void *data)
{
	struct fnic_tx *tx = data;

	napi_schedule(&tx->napi);
	return IRQ_HANDLED;
}

static irqreturn_t fnic_event_interrupt(int irq, void *data)
{
	struct fnic *nic = data;

	schedule_work(&nic->event);
	return IRQ_HANDLED;
}

/*
 * A queue with device memory stays off after an error: the memory may have gone. Any other
 * queue is started again.
 */
static void fnic_say_errors(struct fnic *nic)
{
	u32 errors = readl(nic->regs + NIC_ERRORS);
	bool restart = false;
	unsigned int q;

	if (errors == ~0u && !fnic_is_there(nic))
		return;
	for (q = 0; q < nic->rx_max; q++) {
		if (!(errors & NIC_ERRORS_RX(q)))
			continue;
		restart |= !nic->rx[q].mem.is_device_memory;
		netdev_warn(nic->dev, "receive queue %u has stopped with error %u\n", q,
			    readl(nic->rx[q].regs + NIC_Q_ERROR));
	}
	for (q = 0; q < nic->tx_max; q++) {
		if (!(errors & NIC_ERRORS_TX(q)))
			continue;
		restart = true;
		netdev_warn(nic->dev, "transmit queue %u has stopped with error %u\n", q,
			    readl(nic->tx[q].regs + NIC_Q_ERROR));
	}
	if (restart)
		schedule_delayed_work(&nic->restart, msecs_to_jiffies(RESTART_MS));
}

static void fnic_event_work(struct work_struct *work)
{
	struct fnic *nic = container_of(work, struct fnic, event);
	u32 event, status;

	dlend_netdev_lock(nic->dev);
	event = readl(nic->regs + NIC_EVENT);
	if (nic->up && event != ~0u) {
		writel(event, nic->regs + NIC_EVENT);
		status = readl(nic->regs + NIC_STATUS);
		if (status & NIC_STATUS_LINK)
			netif_carrier_on(nic->dev);
		else
			netif_carrier_off(nic->dev);
		if (event & NIC_EVENT_ERROR)
			fnic_say_errors(nic);
	}
	dlend_netdev_unlock(nic->dev);
}

static void fnic_restart_work(struct work_struct *work)
{
	struct fnic *nic = container_of(to_delayed_work(work), struct fnic, restart);

	dlend_netdev_lock(nic->dev);
	if (nic->up) {
		fnic_down(nic);
		if (fnic_up(nic))
			netdev_err(nic->dev, "its queues do not start any more; set the interface down and up\n");
	}
	dlend_netdev_unlock(nic->dev);
}

/* For a struct dlend_notice */
static int fnic_notice(struct notifier_block *nb, unsigned long event, void *data)
{
	struct fnic *nic = container_of(nb, struct fnic, notices);
	struct dlend_notice *notice = data;
	bool reads_stopped;

	if (notice->importer != &nic->pdev->dev)
		return NOTIFY_DONE;
	if (event == DLEND_MEMORY_IS_MAPPED) {
		nic->tx_seen++;
		return NOTIFY_DONE;
	}
	reads_stopped = fnic_tx_revoke(nic, notice);
	notice->stopped = fnic_rx_revoke(nic, notice) && reads_stopped;
	return NOTIFY_DONE;
}

static void fnic_free_irqs(struct fnic *nic)
{
	unsigned int q;

	free_irq(pci_irq_vector(nic->pdev, 0), nic);
	for (q = 0; q < nic->rx_max && nic->rx[q].irq; q++)
		free_irq(nic->rx[q].irq, &nic->rx[q]);
	for (q = 0; q < nic->tx_max && nic->tx[q].irq; q++)
		free_irq(nic->tx[q].irq, &nic->tx[q]);
	pci_free_irq_vectors(nic->pdev);
}

/* Return: the interrupt of queue @q, or a negative error. */
static int fnic_queue_irq(struct fnic *nic, unsigned int q, irq_handler_t handler, void *data)
{
	unsigned int n = nic->vectors - 1;
	int irq = pci_irq_vector(nic->pdev, n ? 1 + q % n : 0);
	int err = request_irq(irq, handler, IRQF_SHARED, pci_name(nic->pdev), data);

	return err ?: irq;
}

static int fnic_request_irqs(struct fnic *nic)
{
	unsigned int q;
	int ret;

	ret = pci_alloc_irq_vectors(nic->pdev, 1, 1 + nic->rx_max + nic->tx_max, PCI_IRQ_MSIX);
	if (ret < 0)
		return ret;
	nic->vectors = ret;
	ret = request_irq(pci_irq_vector(nic->pdev, 0), fnic_event_interrupt, IRQF_SHARED,
			  pci_name(nic->pdev), nic);
	if (ret) {
		pci_free_irq_vectors(nic->pdev);
		return ret;
	}
	for (q = 0; q < nic->rx_max && ret >= 0; q++) {
		ret = fnic_queue_irq(nic, q, fnic_rx_interrupt, &nic->rx[q]);
		nic->rx[q].irq = max(ret, 0);
	}
	for (q = 0; q < nic->tx_max && ret >= 0; q++) {
		ret = fnic_queue_irq(nic, nic->rx_max + q, fnic_tx_interrupt, &nic->tx[q]);
		nic->tx[q].irq = max(ret, 0);
	}
	if (ret >= 0)
		return 0;
	fnic_free_irqs(nic);
	return ret;
}

/* Probe */

/* Return: 0, or -ENODEV if this is no NIC whose registers the driver knows. */
static int fnic_identify(struct fnic *nic)
{
	u32 id = readl(nic->regs + NIC_ID);

	nic->rx_max = readl(nic->regs + NIC_RX_QUEUES);
	nic->tx_max = readl(nic->regs + NIC_TX_QUEUES);
	nic->is_virtual = readl(nic->regs + NIC_STATUS) & NIC_STATUS_VIRTUAL;
	if (id == NIC_ID_VALUE && nic->rx_max && nic->rx_max <= NIC_QUEUES_MAX && nic->tx_max &&
	    nic->tx_max <= NIC_QUEUES_MAX)
		return 0;
	pci_err(nic->pdev, "ID register 0x%08x, not 0x%08x, or not 1 to %u queues\n", id,
		NIC_ID_VALUE, NIC_QUEUES_MAX);
	return -ENODEV;
}

static void fnic_prepare(struct fnic *nic)
{
	struct net_device *dev = nic->dev;
	unsigned int q;
	u8 mac[8];

	put_unaligned_le64(lo_hi_readq(nic->regs + NIC_MAC), mac);
	if (is_valid_ether_addr(mac))
		eth_hw_addr_set(dev, mac);
	else
		eth_hw_addr_random(dev);
	nic->rx_entries = FNIC_RX_ENTRIES;
	nic->tx_entries = FNIC_TX_ENTRIES;
	nic->flush = true;
	netdev_rss_key_fill(nic->key, sizeof(nic->key));
	INIT_WORK(&nic->event, fnic_event_work);
	INIT_DELAYED_WORK(&nic->restart, fnic_restart_work);
	nic->notices.notifier_call = fnic_notice;
	for (q = 0; q < nic->rx_max; q++) {
		nic->rx[q].nic = nic;
		nic->rx[q].index = q;
		nic->rx[q].regs = nic->regs + NIC_RX + q * NIC_QUEUE_STRIDE;
		mutex_init(&nic->rx[q].lock);
		u64_stats_init(&nic->rx[q].stats.sync);
		netif_napi_add(dev, &nic->rx[q].napi, fnic_rx_poll);
	}
	for (q = 0; q < nic->tx_max; q++) {
		nic->tx[q].nic = nic;
		nic->tx[q].index = q;
		nic->tx[q].regs = nic->regs + NIC_TX + q * NIC_QUEUE_STRIDE;
		mutex_init(&nic->tx[q].lock);
		u64_stats_init(&nic->tx[q].stats.sync);
		netif_napi_add_tx(dev, &nic->tx[q].napi, fnic_tx_poll);
	}
}

static void fnic_describe(struct fnic *nic)
{
	struct net_device *dev = nic->dev;

	dev->netdev_ops = &fnic_netdev_ops;
	dev->ethtool_ops = &fnic_ethtool_ops;
	fnic_rx_offer_queues(dev);
	dev->hw_features = NETIF_F_SG | NETIF_F_HW_CSUM | NETIF_F_RXCSUM | NETIF_F_RXHASH |
			   NETIF_F_NTUPLE;
	dev->features = dev->hw_features | NETIF_F_HIGHDMA;
	dev->vlan_features = NETIF_F_SG | NETIF_F_HW_CSUM;
	dev->max_mtu = FNIC_MTU_MAX;
	dev->watchdog_timeo = 5 * HZ;
}

static int fnic_register(struct fnic *nic)
{
	struct net_device *dev = nic->dev;
	int err;

	err = fnic_identify(nic);
	if (err)
		return err;
	fnic_prepare(nic);
	fnic_describe(nic);
	err = fnic_request_irqs(nic);
	if (err)
		return err;
	err = netif_set_real_num_tx_queues(dev, min(nic->tx_max, num_online_cpus()));
	if (!err)
		err = netif_set_real_num_rx_queues(dev, nic->rx_max);
	if (!err) {
		fnic_rss_default(nic);
		fnic_set_up(nic);
		netif_carrier_off(dev);
		dlend_notice_register(&nic->notices);
		err = register_netdev(dev);
		if (err)
			dlend_notice_unregister(&nic->notices);
	}
	if (err)
		fnic_free_irqs(nic);
	return err;
}

static int fnic_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct net_device *dev;
	struct fnic *nic;
	int err;

	dev = alloc_etherdev_mqs(sizeof(*nic), NIC_QUEUES_MAX, NIC_QUEUES_MAX);
	if (!dev)
		return -ENOMEM;
	/* Its parent is the device for which the kernel maps memory that is bound to a queue. */
	SET_NETDEV_DEV(dev, &pdev->dev);
	nic = netdev_priv(dev);
	nic->dev = dev;
	nic->pdev = pdev;
	err = pci_enable_device_mem(pdev);
	if (err)
		goto free;
	err = pci_request_mem_regions(pdev, KBUILD_MODNAME);
	if (err)
		goto disable;
	pci_set_master(pdev);
	err = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	nic->regs = err ? NULL : pci_iomap(pdev, NIC_BAR_REGS, 0);
	if (!nic->regs) {
		err = err ?: -ENOMEM;
		goto release;
	}
	err = fnic_register(nic);
	if (err)
		goto unmap;
	pci_set_drvdata(pdev, nic);
	dlend_report_errors(pdev, true);
	/* A reset of the link to the device loses it. */
	pci_save_state(pdev);
	netdev_info(dev, "%u receive and %u transmit queues\n", nic->rx_max, nic->tx_max);
	return 0;

unmap:
	pci_iounmap(pdev, nic->regs);
release:
	pci_clear_master(pdev);
	pci_release_mem_regions(pdev);
disable:
	pci_disable_device(pdev);
free:
	free_netdev(dev);
	return err;
}

/*
 * The kernel unmaps memory that a process has bound when the process closes its socket, for
 * this device even if it has gone by then, and keeps no reference to it.
 */
static void fnic_keep_bound(struct fnic *nic)
{
	struct dma_buf_attachment *attach;
	unsigned int q;

	dlend_netdev_lock(nic->dev);
	for (q = 0; q < nic->rx_max; q++) {
		if (!dlend_queue_binding(nic->dev, q))
			continue;
		attach = dlend_queue_attachment(nic->dev, q);
		if (attach) {
			dlend_keep_attached(attach);
		} else {
			/* A binding of another kernel, whose end nobody can see. */
			get_device(&nic->pdev->dev);
			pci_warn(nic->pdev, "memory is bound to queue %u; the device is kept for good\n",
				 q);
		}
	}
	dlend_netdev_unlock(nic->dev);
}

/*
 * Memory of this machine (udmabuf) may be bound for sending, too. Nobody sees how long, and the
 * kernel locks the interface and unmaps for the device at its end.
 */
static void fnic_free(struct fnic *nic)
{
	if (nic->tx_binds <= nic->tx_seen) {
		dlend_free_netdev(nic->dev);
		return;
	}
	get_device(&nic->pdev->dev);
	pci_warn(nic->pdev, "memory may be bound to it for sending; the device and its interface are kept for good\n");
}

static void fnic_remove(struct pci_dev *pdev)
{
	struct fnic *nic = pci_get_drvdata(pdev);

	pci_disable_sriov(pdev);
	dlend_report_errors(pdev, false);
	fnic_keep_bound(nic);
	unregister_netdev(nic->dev);
	dlend_notice_unregister(&nic->notices);
	writel(NIC_CONTROL_RESET, nic->regs + NIC_CONTROL);
	readl(nic->regs + NIC_ID);
	fnic_free_irqs(nic);
	cancel_work_sync(&nic->event);
	cancel_delayed_work_sync(&nic->restart);
	pci_clear_master(pdev);
	pci_iounmap(pdev, nic->regs);
	pci_release_mem_regions(pdev);
	pci_disable_device(pdev);
	fnic_free(nic);
}

/* The machine restarts: no DMA may go on into the next kernel. */
static void fnic_shutdown(struct pci_dev *pdev)
{
	struct fnic *nic = pci_get_drvdata(pdev);

	writel(NIC_CONTROL_RESET, nic->regs + NIC_CONTROL);
	pci_clear_master(pdev);
}

/* Sleep, errors, resets */

static void fnic_halt(struct fnic *nic)
{
	dlend_netdev_lock(nic->dev);
	fnic_down(nic);
	netif_device_detach(nic->dev);
	dlend_netdev_unlock(nic->dev);
}

static int fnic_go_on(struct fnic *nic)
{
	int err = 0;

	dlend_netdev_lock(nic->dev);
	if (!fnic_is_there(nic)) {
		err = -ENODEV;
	} else {
		fnic_set_up(nic);
		if (netif_running(nic->dev))
			err = fnic_up(nic);
	}
	if (!err)
		netif_device_attach(nic->dev);
	dlend_netdev_unlock(nic->dev);
	pci_save_state(nic->pdev);
	return err;
}

static int fnic_suspend(struct device *dev)
{
	fnic_halt(dev_get_drvdata(dev));
	return 0;
}

static int fnic_resume(struct device *dev)
{
	return fnic_go_on(dev_get_drvdata(dev));
}

static DEFINE_SIMPLE_DEV_PM_OPS(fnic_pm, fnic_suspend, fnic_resume);

static pci_ers_result_t fnic_error_detected(struct pci_dev *pdev, pci_channel_state_t state)
{
	fnic_halt(pci_get_drvdata(pdev));
	return state == pci_channel_io_perm_failure ? PCI_ERS_RESULT_DISCONNECT :
						      PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t fnic_slot_reset(struct pci_dev *pdev)
{
	pci_restore_state(pdev);
	return fnic_go_on(pci_get_drvdata(pdev)) ? PCI_ERS_RESULT_DISCONNECT :
						   PCI_ERS_RESULT_RECOVERED;
}

static void fnic_reset_prepare(struct pci_dev *pdev)
{
	fnic_halt(pci_get_drvdata(pdev));
}

static void fnic_reset_done(struct pci_dev *pdev)
{
	fnic_go_on(pci_get_drvdata(pdev));
}

static const struct pci_error_handlers fnic_error_handlers = {
	.error_detected = fnic_error_detected,
	.slot_reset = fnic_slot_reset,
	.reset_prepare = fnic_reset_prepare,
	.reset_done = fnic_reset_done,
};

static const struct pci_device_id fnic_ids[] = {
	{ PCI_DEVICE(NIC_VENDOR_ID, NIC_DEVICE_ID) },
	{ }
};
MODULE_DEVICE_TABLE(pci, fnic_ids);

static struct pci_driver fnic_driver = {
	.name = KBUILD_MODNAME,
	.id_table = fnic_ids,
	.probe = fnic_probe,
	.remove = fnic_remove,
	.shutdown = fnic_shutdown,
	.sriov_configure = pci_sriov_configure_simple,
	.driver.pm = pm_sleep_ptr(&fnic_pm),
	.err_handler = &fnic_error_handlers,
};
module_pci_driver(fnic_driver);

MODULE_DESCRIPTION("Farside NIC");
MODULE_LICENSE("GPL");
