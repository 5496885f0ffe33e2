// SPDX-License-Identifier: GPL-2.0-only
/*
 * The driver of functions that were borrowed for virtual machines. For each of them it
 * makes a slot: /sys/class/mdev_bus/ADDRESS, in which the user makes a mediated device.
 */
#include <linux/module.h>
#include <linux/reboot.h>
#include <linux/slab.h>

#include "mdev.h"

static struct workqueue_struct *ends;
/* This node goes down, or another kernel starts. */
static bool going_down;
static DEFINE_MUTEX(slots_mutex);
static LIST_HEAD(slots);

static struct class slot_class = {
	.name = "dl_mdev",
};

static unsigned int available(struct mdev_type *type)
{
	return atomic_read(&type->parent->available_instances);
}

static ssize_t describe(struct mdev_type *type, char *text)
{
	struct mdev_slot *slot = container_of(type->parent, struct mdev_slot, parent);
	ssize_t n = 0;

	mutex_lock(&slot->lock);
	if (slot->pdev)
		n = sysfs_emit(text, "%04x:%04x, DMA window of %llu MiB\n", slot->pdev->vendor,
			       slot->pdev->device, dlend_guest_window(slot->pdev) >> 20);
	mutex_unlock(&slot->lock);
	return n;
}

static struct mdev_driver mdev_driver = {
	.device_api = VFIO_DEVICE_API_PCI_STRING,
	.max_instances = 1,
	.probe = mdev_device_add,
	.remove = mdev_device_remove,
	.get_available = available,
	.show_description = describe,
	.driver = {
		.name = "dl_mdev",
		.owner = THIS_MODULE,
		.mod_name = KBUILD_MODNAME,
	},
};

static void free_slot(struct device *dev)
{
	kfree(container_of(dev, struct mdev_slot, dev));
}

/* Waits for the user of the mediated device, who does not delay the loan's end. */
static void end_work(struct work_struct *work)
{
	struct mdev_slot *slot = container_of(work, struct mdev_slot, end);

	mdev_unregister_parent(&slot->parent);
	mutex_lock(&slots_mutex);
	list_del(&slot->node);
	device_del(&slot->dev);
	mutex_unlock(&slots_mutex);
	put_device(&slot->dev);
}

static bool is_taken(const char *name)
{
	struct mdev_slot *slot;
	bool taken = false;

	mutex_lock(&slots_mutex);
	list_for_each_entry(slot, &slots, node)
		taken |= !strcmp(dev_name(&slot->dev), name);
	mutex_unlock(&slots_mutex);
	return taken;
}

/* A slot whose function has gone keeps its name while it has a user. */
static int add_named(struct mdev_slot *slot, struct pci_dev *pdev)
{
	unsigned int n = 0;
	int err;

	do
		err = n++ ? dev_set_name(&slot->dev, "%s-%u", pci_name(pdev), n) :
		      dev_set_name(&slot->dev, "%s", pci_name(pdev));
	while (!err && is_taken(dev_name(&slot->dev)));
	return err ?: device_add(&slot->dev);
}

static int add_slot(struct mdev_slot *slot, struct pci_dev *pdev)
{
	int err;

	slot->pdev = pdev;
	slot->type.sysfs_name = "pci";
	slot->type.pretty_name = "borrowed PCI function";
	slot->types[0] = &slot->type;
	err = add_named(slot, pdev);
	if (err)
		return err;
	err = mdev_register_parent(&slot->parent, &slot->dev, &mdev_driver, slot->types, 1);
	if (err) {
		device_del(&slot->dev);
		return err;
	}
	mutex_lock(&slots_mutex);
	list_add_tail(&slot->node, &slots);
	mutex_unlock(&slots_mutex);
	return 0;
}

static int mdev_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct mdev_slot *slot;
	int err;

	if (!dlend_guest_window(pdev)) {
		pci_err(pdev, "was not borrowed for a virtual machine; lendctl borrow --guest\n");
		return -ENODEV;
	}
	err = pci_enable_device(pdev);
	if (err)
		return err;
	err = pci_request_regions(pdev, "dl_mdev");
	if (err)
		goto disable;
	slot = kzalloc(sizeof(*slot), GFP_KERNEL);
	if (!slot) {
		err = -ENOMEM;
		goto regions;
	}
	device_initialize(&slot->dev);
	slot->dev.class = &slot_class;
	slot->dev.release = free_slot;
	mutex_init(&slot->lock);
	INIT_WORK(&slot->end, end_work);
	err = add_slot(slot, pdev);
	if (err) {
		put_device(&slot->dev);
		goto regions;
	}
	pci_set_drvdata(pdev, slot);
	return 0;

regions:
	pci_release_regions(pdev);
disable:
	pci_disable_device(pdev);
	return err;
}

static void mdev_remove(struct pci_dev *pdev)
{
	struct mdev_slot *slot = pci_get_drvdata(pdev);

	mutex_lock(&slot->lock);
	if (slot->guest)
		mdev_device_lose(slot->guest);
	slot->pdev = NULL;
	mutex_unlock(&slot->lock);
	/*
	 * The end would hold the lock of the mediated device until its user has closed it,
	 * and the kernel, which takes the locks of all devices when it goes down, would wait
	 * for a user that nobody ends.
	 */
	if (!READ_ONCE(going_down))
		queue_work(ends, &slot->end);
	pci_release_regions(pdev);
	pci_disable_device(pdev);
}

/* Only functions that name this driver in their driver_override get it. */
static const struct pci_device_id mdev_ids[] = {
	{ PCI_DRIVER_OVERRIDE_DEVICE_VFIO(PCI_ANY_ID, PCI_ANY_ID) },
	{}
};

/*
 * dl_borrower takes the function away before the drivers are shut down, and the node does
 * not sleep while it has the function. The device reports errors to its lender's root port.
 * So the driver is asked to do nothing for any of these.
 */
static struct pci_driver slot_driver = {
	.name = "dl_mdev",
	.id_table = mdev_ids,
	.probe = mdev_probe,
	.remove = mdev_remove,
};

static int mdev_reboot(struct notifier_block *nb, unsigned long event, void *unused)
{
	WRITE_ONCE(going_down, true);
	return NOTIFY_DONE;
}

/* Called before dl_borrower's, which takes the functions away. */
static struct notifier_block mdev_reboot_notifier = {
	.notifier_call = mdev_reboot,
	.priority = 1,
};

static int __init mdev_module_init(void)
{
	int err;

	/* An end may wait for a user, so no other end waits for it. */
	ends = alloc_workqueue("dl_mdev", WQ_UNBOUND, 0);
	if (!ends)
		return -ENOMEM;
	err = class_register(&slot_class);
	if (err)
		goto queue;
	err = mdev_register_driver(&mdev_driver);
	if (err)
		goto class;
	err = register_reboot_notifier(&mdev_reboot_notifier);
	if (err)
		goto driver;
	err = pci_register_driver(&slot_driver);
	if (err)
		goto reboot;
	mdev_stats_init();
	return 0;

reboot:
	unregister_reboot_notifier(&mdev_reboot_notifier);
driver:
	mdev_unregister_driver(&mdev_driver);
class:
	class_unregister(&slot_class);
queue:
	destroy_workqueue(ends);
	return err;
}

static void __exit mdev_module_exit(void)
{
	mdev_stats_exit();
	pci_unregister_driver(&slot_driver);
	unregister_reboot_notifier(&mdev_reboot_notifier);
	destroy_workqueue(ends);
	mdev_unregister_driver(&mdev_driver);
	class_unregister(&slot_class);
}

module_init(mdev_module_init);
module_exit(mdev_module_exit);
MODULE_DESCRIPTION("Device Lending: borrowed PCI functions for virtual machines");
MODULE_LICENSE("GPL");
