/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The protocol of borrower and lender: requests and responses of dlend_call().
 * Little-endian, fixed size, no holes. The receiver checks every field.
 *
 * A loan: BORROW grants the device to one borrower, before any window is opened. With
 * ATTACH the borrower names its windows, and the lender opens windows onto the
 * device's BARs. RETURN or the loss of the peer ends the loan.
 */
#ifndef DL_PROTO_H
#define DL_PROTO_H

#include <linux/build_bug.h>
#include <linux/types.h>

#include "dl_fabric.h"

enum dlend_op_number {
	/* To the lender. */
	DLEND_OP_LIST = 16,
	DLEND_OP_BORROW,
	DLEND_OP_ATTACH,
	DLEND_OP_RETURN,
	DLEND_OP_CFG_READ,		/* DLEND_ATOMIC */
	DLEND_OP_CFG_WRITE,	/* DLEND_ATOMIC */
	/* To the borrower. */
	DLEND_OP_REVOKE = 32,
};

#define DLEND_BARS 6

/* Bytes of configuration space that a borrower sees. */
#define DLEND_CFG_SIZE 256

/* The fields are those of struct dlend_device_info. */
struct dlend_msg_device {
	__le32 fdid;
	__le32 state;		/* enum dlend_device_state */
	__le32 borrower;
	__le32 bdf;
	__le16 vendor, device, subsystem_vendor, subsystem_device;
	__le32 class;
	__le32 reserved;
	__le64 dma_window;
	u8 driver[32];		/* text, ends with 0 */
};

/* LIST asks for the devices from ID @first on, as many as fit into a response. */
struct dlend_msg_list {
	__le32 first;
	__le32 reserved;
};

struct dlend_msg_list_answer {
	__le32 count;
	__le32 reserved;
	struct dlend_msg_device devices[];
};

struct dlend_msg_borrow {
	__le32 fdid;
	__le32 reserved;
};

enum dlend_borrow_status {
	DLEND_BORROW_OK,
	DLEND_BORROW_UNKNOWN,	/* no such device */
	DLEND_BORROW_UNAVAILABLE,	/* its own node does not lend it now */
	DLEND_BORROW_TAKEN,	/* node @holder has borrowed it */
};

struct dlend_msg_bar {
	__le64 size;		/* power of 2; 0 if there is no such BAR */
	__le32 flags;		/* low bits of the register, PCI_BASE_ADDRESS_* */
	__le32 reserved;
};

struct dlend_msg_borrow_answer {
	__le32 status;		/* enum dlend_borrow_status */
	__le32 holder;
	__le32 loan;		/* names this loan in later requests */
	__le32 reserved;
	struct dlend_msg_bar bars[DLEND_BARS];
	struct dlend_msg_device device;
};

/* The borrower's IOMMU translates the addresses of the DMA window. */
#define DLEND_ATTACH_TRANSLATED 1

struct dlend_msg_attach {
	__le32 fdid;
	__le32 loan;
	__le32 flags;
	__le32 reserved;
	struct dlend_window_desc dma;	/* memory that the device may reach */
	struct dlend_window_desc msi;	/* addresses of interrupt messages */
};

struct dlend_msg_attach_answer {
	__le64 dma_bus;		/* address at which the device reaches dma.addr */
	__le64 msi_bus;		/* address at which the device reaches msi.addr */
	struct dlend_window_desc bars[DLEND_BARS];
	__le64 live;		/* bit n: dword n of @config changes by itself */
	u8 config[DLEND_CFG_SIZE];	/* the configuration space as it is now */
};

struct dlend_msg_return {
	__le32 fdid;
	__le32 loan;
};

struct dlend_msg_cfg {
	__le32 fdid;
	__le32 loan;
	__le16 offset;		/* naturally aligned */
	__le16 size;		/* 1, 2 or 4 */
	__le32 value;		/* of a write; 0 for a read */
};

struct dlend_msg_cfg_answer {
	__le32 value;	/* of a read; for a write, the whole dword after it */
};

/*
 * REVOKE asks the borrower to return the device. If the borrower does not, the lender
 * takes the device back later.
 */
struct dlend_msg_revoke {
	__le32 fdid;
	__le32 loan;
	__le32 gone;	/* 1: the device is gone already */
	__le32 reserved;
};

static_assert(sizeof(struct dlend_msg_device) == 72);
static_assert(sizeof(struct dlend_msg_borrow_answer) == 184);
static_assert(sizeof(struct dlend_msg_attach) == 80);
static_assert(sizeof(struct dlend_msg_attach_answer) == 472);
static_assert(sizeof(struct dlend_msg_cfg) == 16);
static_assert(sizeof(struct dlend_msg_attach_answer) <= DLEND_MSG_MAX);

#define DLEND_LIST_MAX ((DLEND_MSG_MAX - sizeof(struct dlend_msg_list_answer)) / \
			sizeof(struct dlend_msg_device))

#endif
