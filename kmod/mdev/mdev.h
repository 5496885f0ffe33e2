/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private header of dl_mdev: borrowed devices for virtual machines of this node, by VFIO.
 *
 * A borrowed function that dl_mdev has is a "slot", in which one mediated device can be
 * made. The mediated device is no child of the function: it may have a user for a long
 * time after the function has gone, and reads as all ones then.
 *
 * A file calls only files below it:
 *
 *	mdev_main.c		slots, and the mediated devices in them
 *	mdev_device.c		VFIO: regions, ioctls
 *	mdev_config.c		configuration space
 *	mdev_bar.c  mdev_irq.c  mdev_memory.c
 *				BARs, interrupts, guest memory
 *	mdev_stats.c		counters
 *
 * Locks, outermost first:
 *
 *	slot->lock	guards all of a slot and of its mediated device. VFIO's and mm's locks
 *			are taken below it.
 *	guest->bar_lock	taken by a page fault, which holds the mm's lock.
 *	guest->trigger_lock
 *			taken with interrupts off, when the lender tells of interrupts.
 */
/* <linux/mdev.h> has the guard MDEV_H. */
#ifndef DL_MDEV_H
#define DL_MDEV_H

#include <linux/mdev.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/vfio.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "dl_borrower.h"
#include "dl_fabric.h"

/* Bits of the offset of a region in the file of a device, as vfio-pci has them. */
#define MDEV_OFFSET_SHIFT 40

struct mdev_slot {
	struct device dev;		/* parent of the mediated device */
	struct list_head node;
	struct mdev_parent parent;
	struct mdev_type type, *types[1];
	struct work_struct end;
	struct mutex lock;		/* guards what is below */
	struct pci_dev *pdev;		/* NULL after the function was removed */
	struct mdev_guest *guest;	/* NULL while there is no mediated device */
};

/* The line is masked by the user, or by the machine with INTx Disable. */
#define MDEV_LINE_USER		1
#define MDEV_LINE_MACHINE	2

struct mdev_vector {
	struct eventfd_ctx *trigger;	/* NULL: the vector is not used */
	char name[32];
};

struct mdev_guest {
	struct vfio_device vdev;	/* first */
	struct mdev_slot *slot;		/* counted */
	bool open;

	/* The configuration space. */
	u8 config[PCI_CFG_SPACE_EXP_SIZE];
	u8 writable[PCI_CFG_SPACE_EXP_SIZE];	/* bits that the guest may write */

	/* BARs. */
	struct mutex bar_lock;		/* guards bar_file, ones and bars_dead */
	struct file *bar_file;		/* of the user's mappings; NULL: not open */
	struct page *ones;		/* shown in place of a lost BAR */
	void __iomem *bars[PCI_STD_NUM_BARS];
	u64 bar_phys[PCI_STD_NUM_BARS], bar_size[PCI_STD_NUM_BARS];
	unsigned int table_bar;		/* BAR of the MSI-X table */
	u64 table_start, table_end;	/* its pages; 0 if there is none */
	bool bars_dead;
	struct mm_struct *machine;	/* counted: the user, which names the machine */
	u64 bar_places[PCI_STD_NUM_BARS];	/* in the guest, as the borrower knows them */

	/* Interrupts: those of one index of VFIO at a time. */
	bool has_line, forwards;	/* as the lender and the loan have it */
	unsigned int irq_index;
	bool told;			/* the lender handles them, and tells of them */
	spinlock_t trigger_lock;	/* guards @vectors, @line_off and the triggers */
	unsigned int vectors;		/* that the function has; 0 if there are none */
	struct mdev_vector *vector;
	unsigned int line_off;		/* MDEV_LINE_*: why the line is masked here */
	struct virqfd *unmask;		/* NULL, or signalled when the line was served */

	/* Guest memory. */
	u64 window;			/* bytes */
	bool memory_on;			/* the device may master the bus */
	unsigned long *pinned;		/* bit n: guest page n is pinned and mapped */
	struct page **pages;		/* room for those of one chunk */
	struct delayed_work again;	/* pins what was mapped meanwhile */
	unsigned int tries;		/* of @again that are left */
	struct list_head user;		/* mdev_memory.c guards this and the two below */
	bool unmapping;			/* VFIO tells it now that memory is unmapped */
	unsigned long unmapped_at;	/* and has done so last then; jiffies */
};

/* mdev_stats.c: counted since the module was loaded */

extern struct mdev_counts {
	atomic64_t users;	/* mediated devices that are open */
	atomic64_t pinned;	/* pages of guests that are pinned */
	atomic64_t unmapped;	/* times that a user has unmapped pinned memory */
	atomic64_t resets, reset_failures;
	atomic64_t interrupts;
} mdev_counts;

void mdev_stats_init(void);
void mdev_stats_exit(void);

/* Return: whether the device has gone. slot->lock is held. */
static inline bool mdev_is_lost(struct mdev_guest *guest)
{
	return !guest->slot->pdev;
}

/*
 * Errors are negative errnos. Of the functions below, slot->lock is held unless their
 * comment says otherwise.
 */

/* mdev_device.c */

int mdev_device_add(struct mdev_device *mdev);
void mdev_device_remove(struct mdev_device *mdev);
/* The function leaves: releases all that the guest has of it. */
void mdev_device_lose(struct mdev_guest *guest);

/* mdev_config.c */

/* Makes the image from the function. */
void mdev_config_open(struct mdev_guest *guest);
/* Bus mastering and memory are off, as after a reset. */
void mdev_config_reset(struct mdev_guest *guest);
/* No machine has the BARs any more. The function is still there. */
void mdev_config_close(struct mdev_guest *guest);
void mdev_config_read(struct mdev_guest *guest, unsigned int at, u8 *data, size_t size);
/* Writes one register. */
void mdev_config_write(struct mdev_guest *guest, unsigned int at, const u8 *data,
		       size_t size);

/* mdev_bar.c */

int mdev_bar_open(struct mdev_guest *guest);
void mdev_bar_close(struct mdev_guest *guest);
/* From now on all BARs read as all ones. */
void mdev_bar_lose(struct mdev_guest *guest);
/* Reads or writes one register of 1, 2, 4 or 8 bytes. */
void mdev_bar_access(struct mdev_guest *guest, unsigned int bar, u64 at, u8 *data,
		     size_t size, bool write);
/* Without slot->lock. */
int mdev_bar_mmap(struct mdev_guest *guest, struct vm_area_struct *vma);

/* mdev_irq.c */

/* Return: how many interrupts the guest can have of an index of VFIO. */
unsigned int mdev_irq_count(struct mdev_guest *guest, unsigned int index);
/* Return: VFIO_IRQ_INFO_* of an index. Without slot->lock. */
u32 mdev_irq_flags(unsigned int index);
/* Masks the line, or undoes that. @who: MDEV_LINE_* */
void mdev_irq_line_off(struct mdev_guest *guest, unsigned int who, bool off);
int mdev_irq_set(struct mdev_guest *guest, const struct vfio_irq_set *set, void *data);
void mdev_irq_close(struct mdev_guest *guest);

/* mdev_memory.c */

int mdev_memory_open(struct mdev_guest *guest);
/* Bus mastering is off. */
void mdev_memory_close(struct mdev_guest *guest);
/* Pins and maps all of the guest's memory, before bus mastering is enabled. */
void mdev_memory_on(struct mdev_guest *guest);
/* Releases it, after bus mastering was disabled. */
void mdev_memory_off(struct mdev_guest *guest);
/* The user has unmapped a range of the guest's addresses. Without slot->lock. */
void mdev_memory_unmapped(struct mdev_guest *guest, u64 addr, u64 size);

#endif
