/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * The ioctl() requests of /dev/dl_ctl, which dl_ctl.ko offers. They need
 * CAP_SYS_ADMIN.
 *
 * The number of a request contains the size of its struct, so a struct may grow at
 * its end. Fields that an older caller lacks count as zero. A newer caller must set
 * fields that an older kernel lacks to zero; otherwise the request fails with -E2BIG.
 * Fields that a request does not use, and reserved fields, must be zero; otherwise the
 * request fails with -EINVAL.
 */
#ifndef DL_CTL_H
#define DL_CTL_H

#ifdef __KERNEL__
#include <linux/build_bug.h>
#else
#include <assert.h>
#endif
#include <linux/ioctl.h>
#include <linux/types.h>

#define DL_CTL_DEVICE "dl_ctl"

/* Bytes for a message, with its NUL. It says what is wrong and how to correct it. */
#define DL_CTL_MESSAGE 256

/* Bytes of the text that describes devices which may be borrowed, with its NUL. */
#define DL_CTL_PATTERN 40

/* A PCI function. Borrowed functions are in segments above ffff. */
struct dl_ctl_function {
	__u32 segment;
	__u8 bus;
	__u8 devfn;	/* device << 3 | function */
	__u16 reserved;
};

/* The device is for a virtual machine of this node, by the driver dl_mdev. */
#define DL_CTL_GUEST 1
/* With DL_CTL_GUEST: its lender handles all its interrupts, and forwards them. */
#define DL_CTL_FORWARD 2
/* With DL_CTL_GUEST: it is returned when its user has closed it, or has ended. */
#define DL_CTL_ONCE 4

/*
 * struct dl_ctl_request - an order
 * @id: device, as in struct dl_ctl_device
 * @node: number of the far node
 * @function: a function of this node
 * @window: bytes of DMA window; 0 lets the kernel choose
 * @target: another device
 * @flags: DL_CTL_GUEST, DL_CTL_FORWARD, DL_CTL_ONCE
 * @fabric: number of the network behind a device's port, for InfiniBand the subnet
 *          prefix; 0 if it is not known
 * @reserved: 0
 * @message: written by the kernel: the reason of an error, or empty
 * @pattern: devices that may be borrowed, as text with its NUL
 */
struct dl_ctl_request {
	__u32 id;
	__u32 node;
	struct dl_ctl_function function;
	__u64 window;
	__u32 target;
	__u32 flags;
	__u64 fabric;
	__u64 reserved[2];
	char message[DL_CTL_MESSAGE];
	char pattern[DL_CTL_PATTERN];
};

enum dl_ctl_state {
	DL_CTL_LOCAL,		/* has an ID; its own node uses it */
	DL_CTL_AVAILABLE,	/* the first node that asks gets it */
	DL_CTL_BORROWED,
};

/* The device is this node's own. */
#define DL_CTL_OWN 1
/* This node has borrowed it: @local and @window_free are set. */
#define DL_CTL_HERE 2
/* It is a virtual function (SR-IOV): @virtual_number is set. */
#define DL_CTL_VIRTUAL 4

/*
 * struct dl_ctl_device - a device of this node or of a node that is connected
 * @id: ID of the device, the same on all nodes until its own node removes it
 * @state: enum dl_ctl_state
 * @flags: DL_CTL_OWN, DL_CTL_HERE, DL_CTL_VIRTUAL
 * @node: number of its own node, which it is plugged into
 * @borrower: node that has borrowed it, or 0
 * @class: class code, 24 bits
 * @function: its address on its own node
 * @local: its address on this node
 * @window: bytes of the borrower's memory that it can reach
 * @window_free: bytes of the window that are not mapped
 * @driver: its driver on this node if it is borrowed here, else on its own node
 * @fabric: as it was added; 0 if it is not known
 * @physical: bus << 8 | devfn of its physical function on its own node; its own unless
 *            it is virtual
 * @physical_device: the physical function's device ID
 * @virtual_number: number of a virtual function, from 0 on
 */
struct dl_ctl_device {
	__u32 id;
	__u32 state;
	__u32 flags;
	__u32 node;
	__u32 borrower;
	__u32 class;
	__u16 vendor;
	__u16 device;
	__u16 subsystem_vendor;
	__u16 subsystem_device;
	struct dl_ctl_function function;
	struct dl_ctl_function local;
	__u64 window;
	__u64 window_free;
	char driver[32];
	__u64 fabric;
	__u16 physical;
	__u16 physical_device;
	__u16 virtual_number;
	__u16 reserved;
};

enum dl_ctl_node_state {
	DL_CTL_NODE_DISCONNECTED,	/* by "disconnect" */
	DL_CTL_NODE_LINK_DOWN,
	DL_CTL_NODE_HELLO,		/* the nodes do not know each other yet */
	DL_CTL_NODE_UP,
	DL_CTL_NODE_LOST,
};

/*
 * struct dl_ctl_node - a node at the other end of one adapter
 * @node: its number, or 0 until it has said hello
 * @self: number by which that node knows this node
 * @state: enum dl_ctl_node_state
 * @direct_count: free direct windows of that node's adapter; through them it can
 *                reach memory and devices of this node
 * @direct_max: bytes of the largest of them
 * @lut_count: free entries of its lookup table
 * @lut_size: bytes of each
 * @adapter: name of the adapter here
 */
struct dl_ctl_node {
	__u32 node;
	__u32 self;
	__u32 state;
	__u32 direct_count;
	__u64 direct_max;
	__u64 lut_size;
	__u32 lut_count;
	__u32 reserved0;
	char adapter[32];
	__u64 reserved[2];
};

enum dl_ctl_p2p_path {
	DL_CTL_P2P_ONE_LENDER,	/* the data stay within the lender of both */
	DL_CTL_P2P_TWO_LENDERS,	/* they pass from one lender to the other */
	DL_CTL_P2P_BORROWER,	/* one of the devices is this node's own */
};

/*
 * struct dl_ctl_p2p - a device that may read and write the BARs of another one
 * @source: ID of the device that reads and writes
 * @target: ID of the other one
 * @path: enum dl_ctl_p2p_path
 * @mappings: how many mappings of @target the driver of @source has
 */
struct dl_ctl_p2p {
	__u32 source;
	__u32 target;
	__u32 path;
	__u32 mappings;
	__u64 reserved[2];
};

/*
 * struct dl_ctl_pattern - devices that this node may borrow
 * @text: VENDOR:DEVICE[:CLASS[:PROG-IF]], hexadecimal, as for "lspci -d": an empty field is
 *        any value, and an "x" any digit of the class; then "+quirks" if the kernel may run
 *        its quirks for them
 */
struct dl_ctl_pattern {
	char text[DL_CTL_PATTERN];
};

/*
 * struct dl_ctl_list - a request for all devices, nodes, pairs of devices, or patterns
 * @entries: address of an array of struct dl_ctl_device, dl_ctl_node, dl_ctl_p2p or
 *           dl_ctl_pattern
 * @entry_size: bytes of one entry of the array; if the kernel's struct is smaller,
 *              the rest of each entry is zeroed
 * @room: number of entries of the array
 * @count: written by the kernel: how many there are. If there are more than @room,
 *         only @room of them were written.
 * @message: as in struct dl_ctl_request
 */
struct dl_ctl_list {
	__u64 entries;
	__u32 entry_size;
	__u32 room;
	__u32 count;
	__u32 reserved0;
	__u64 reserved[2];
	char message[DL_CTL_MESSAGE];
};

#define DL_CTL_IOC 0xdc
#define DL_CTL_IOWR(nr, type) _IOWR(DL_CTL_IOC, nr, type)

/* Uses @function and @fabric, writes @id. */
#define DL_CTL_ADD DL_CTL_IOWR(1, struct dl_ctl_request)
/* These use @id. */
#define DL_CTL_REMOVE DL_CTL_IOWR(2, struct dl_ctl_request)
#define DL_CTL_MAKE_AVAILABLE DL_CTL_IOWR(3, struct dl_ctl_request)
#define DL_CTL_MAKE_UNAVAILABLE DL_CTL_IOWR(4, struct dl_ctl_request)
/* Uses @id, @window and @flags; writes @window, and the function here to @function. */
#define DL_CTL_BORROW DL_CTL_IOWR(5, struct dl_ctl_request)
/* Uses @id. */
#define DL_CTL_RETURN DL_CTL_IOWR(6, struct dl_ctl_request)
/* These use @node. */
#define DL_CTL_CONNECT DL_CTL_IOWR(7, struct dl_ctl_request)
#define DL_CTL_DISCONNECT DL_CTL_IOWR(8, struct dl_ctl_request)
#define DL_CTL_DEVICES DL_CTL_IOWR(9, struct dl_ctl_list)
#define DL_CTL_NODES DL_CTL_IOWR(10, struct dl_ctl_list)
/* These use @id, the source, and @target. */
#define DL_CTL_ENABLE_P2P DL_CTL_IOWR(11, struct dl_ctl_request)
#define DL_CTL_DISABLE_P2P DL_CTL_IOWR(12, struct dl_ctl_request)
#define DL_CTL_P2P DL_CTL_IOWR(13, struct dl_ctl_list)
/* These use @pattern. */
#define DL_CTL_ALLOW DL_CTL_IOWR(14, struct dl_ctl_request)
#define DL_CTL_DISALLOW DL_CTL_IOWR(15, struct dl_ctl_request)
#define DL_CTL_ALLOWED DL_CTL_IOWR(16, struct dl_ctl_list)

static_assert(sizeof(struct dl_ctl_request) == 56 + DL_CTL_MESSAGE + DL_CTL_PATTERN,
	      "fixed interface");
static_assert(sizeof(struct dl_ctl_pattern) == 40, "fixed interface");
static_assert(sizeof(struct dl_ctl_device) == 112, "fixed interface");
static_assert(sizeof(struct dl_ctl_node) == 88, "fixed interface");
static_assert(sizeof(struct dl_ctl_p2p) == 32, "fixed interface");
static_assert(sizeof(struct dl_ctl_list) == 40 + DL_CTL_MESSAGE, "fixed interface");

#endif
