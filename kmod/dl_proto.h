/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What borrower and lender say to each other: requests and responses of
 * dl_call(). Little-endian, fixed size, no holes; every field is checked by who
 * receives it.
 *
 * A loan: BORROW makes the device the borrower's, so that a race is decided
 * before windows are set up. ATTACH tells of the borrower's windows, and opens
 * those onto the device's BARs. RETURN ends it, as does the loss of the peer.
 */
#ifndef DL_PROTO_H
#define DL_PROTO_H

#include <linux/build_bug.h>
#include <linux/types.h>

#include "dl_fabric.h"

enum dl_op_number {
	/* To the lender. */
	DL_OP_LIST = 16,
	DL_OP_BORROW,
	DL_OP_ATTACH,
	DL_OP_RETURN,
	DL_OP_CFG_READ,		/* DL_ATOMIC */
	DL_OP_CFG_WRITE,	/* DL_ATOMIC */
	/* To the borrower. */
	DL_OP_REVOKE = 32,
};

#define DL_BARS 6

/* Configuration space that a borrower sees; there is none beyond it. */
#define DL_CFG_SIZE 256

struct dl_msg_device {
	__le32 fdid;
	__le32 state;		/* enum dl_device_state */
	__le32 borrower;
	__le32 bdf;
	__le16 vendor, device, subsystem_vendor, subsystem_device;
	__le32 class;
	__le32 reserved;
	__le64 dma_window;
	u8 driver[32];		/* text, ends with 0 */
};

/* LIST: the devices from @first on, by ID, as many as fit into a response. */
struct dl_msg_list {
	__le32 first;
	__le32 reserved;
};

struct dl_msg_list_answer {
	__le32 count;
	__le32 reserved;
	struct dl_msg_device devices[];
};

struct dl_msg_borrow {
	__le32 fdid;
	__le32 reserved;
};

enum dl_borrow_status {
	DL_BORROW_OK,
	DL_BORROW_UNKNOWN,	/* no such device */
	DL_BORROW_UNAVAILABLE,	/* its own node uses it */
	DL_BORROW_TAKEN,	/* by @holder */
};

struct dl_msg_bar {
	__le64 size;		/* power of 2; 0 if there is none */
	__le32 flags;		/* low bits of the register, PCI_BASE_ADDRESS_* */
	__le32 reserved;
};

struct dl_msg_borrow_answer {
	__le32 status;		/* enum dl_borrow_status */
	__le32 holder;
	__le32 loan;		/* names this loan in what follows */
	__le32 reserved;
	struct dl_msg_bar bars[DL_BARS];
	struct dl_msg_device device;
};

/* The addresses of the window for DMA are translated by the borrower's IOMMU. */
#define DL_ATTACH_TRANSLATED 1

struct dl_msg_attach {
	__le32 fdid;
	__le32 loan;
	__le32 flags;
	__le32 reserved;
	struct dl_window_desc dma;	/* what the device may reach */
	struct dl_window_desc msi;	/* addresses of interrupt messages */
};

struct dl_msg_attach_answer {
	__le64 dma_bus;		/* what the device uses for the address dma.addr */
	__le64 msi_bus;		/* and for msi.addr */
	struct dl_window_desc bars[DL_BARS];
	__le64 live;		/* bit n: dword n of the configuration space changes */
	u8 config[DL_CFG_SIZE];	/* all of it, as it is now */
};

struct dl_msg_return {
	__le32 fdid;
	__le32 loan;
};

struct dl_msg_cfg {
	__le32 fdid;
	__le32 loan;
	__le16 offset;		/* naturally aligned */
	__le16 size;		/* 1, 2 or 4 */
	__le32 value;		/* to be written; 0 for a read */
};

struct dl_msg_cfg_answer {
	__le32 value;	/* of a read; after a write: the whole dword as it is now */
};

/* REVOKE: give the device back. It is taken some time after that. */
struct dl_msg_revoke {
	__le32 fdid;
	__le32 loan;
	__le32 gone;	/* 1: there is no use in being orderly */
	__le32 reserved;
};

static_assert(sizeof(struct dl_msg_device) == 72);
static_assert(sizeof(struct dl_msg_borrow_answer) == 184);
static_assert(sizeof(struct dl_msg_attach) == 80);
static_assert(sizeof(struct dl_msg_attach_answer) == 472);
static_assert(sizeof(struct dl_msg_cfg) == 16);
static_assert(sizeof(struct dl_msg_attach_answer) <= DL_MSG_MAX);

#define DL_LIST_MAX ((DL_MSG_MAX - sizeof(struct dl_msg_list_answer)) / \
		     sizeof(struct dl_msg_device))

#endif
