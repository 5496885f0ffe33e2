/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The protocol of borrower and lender: requests and responses of dlend_call().
 * Little-endian, fixed size, no holes. The receiver checks every field.
 *
 * A loan: BORROW grants the device to one borrower, before any window is opened. With
 * ATTACH the borrower names its windows, and the lender opens windows onto the
 * device's BARs. RETURN or the loss of the peer ends the loan.
 * Before the function is added, the borrower fetches the rest of the configuration space
 * in pieces by CFG_EXTENDED.
 *
 * Peer-to-peer from a source device to a target device, both lent to one borrower: with
 * P2P_GRANT the borrower tells the target's lender which source may reach the target, and
 * with P2P_OPEN the source's lender which target is meant. If the lenders differ, the
 * source's lender asks the target's lender for the windows by P2P_FETCH, and the
 * descriptors never pass through the borrower, which could name any window.
 */
#ifndef DL_PROTO_H
#define DL_PROTO_H

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/types.h>

#include "dl_fabric.h"
#include "uapi/dl_window.h"

enum dlend_op_number {
	/* To the lender. */
	DLEND_OP_LIST = 16,
	DLEND_OP_BORROW,
	DLEND_OP_ATTACH,
	DLEND_OP_RETURN,
	DLEND_OP_CFG_READ,		/* DLEND_ATOMIC */
	DLEND_OP_CFG_WRITE,	/* DLEND_ATOMIC */
	DLEND_OP_P2P_GRANT,	/* to the target's lender */
	DLEND_OP_P2P_OPEN,	/* to the source's lender */
	DLEND_OP_P2P_CLOSE,	/* to both lenders */
	/* From the source's lender to the target's. */
	DLEND_OP_P2P_FETCH,
	/* From the target's lender to the source's. */
	DLEND_OP_P2P_REVOKE,
	DLEND_OP_CFG_EXTENDED,	/* to the lender */
	DLEND_OP_RESET,		/* to the lender */
	DLEND_OP_P2P_PLACE,	/* to the source's lender */
	DLEND_OP_IRQ_SET,	/* to the lender */
	DLEND_OP_IRQ_UNMASK,	/* DLEND_ATOMIC; to the lender */
	/* To the borrower. */
	DLEND_OP_REVOKE = 32,
	DLEND_OP_P2P_LOST,
	DLEND_OP_IRQ,		/* DLEND_ATOMIC */
};

#define DLEND_BARS 6

/* Bytes of configuration space without the extended capabilities, and of all. */
#define DLEND_CFG_SIZE 256
#define DLEND_CFG_SPACE 4096

/* The fields are those of struct dlend_device_info. */
struct dlend_msg_device {
	__le32 fdid;
	__le32 state;		/* enum dlend_device_state */
	__le32 borrower;
	__le32 bdf;
	__le16 vendor, device, subsystem_vendor, subsystem_device;
	__le32 class;
	__le16 physical, physical_device, virtual_number;
	__le16 is_virtual;	/* 0 or 1 */
	__le32 reserved;
	__le64 fabric;
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

/* Largest weight of all devices of a node. */
#define DLEND_WEIGHTS_MAX BIT(26)

struct dlend_msg_borrow_answer {
	__le32 status;		/* enum dlend_borrow_status */
	__le32 holder;
	__le32 loan;		/* names this loan in later requests */
	/*
	 * Weight of all devices of the lender that share its adapter's windows, see
	 * dlend_window_share(): this one, and those that are not borrowed.
	 */
	__le32 weight;
	struct dlend_msg_bar bars[DLEND_BARS];
	struct dlend_msg_device device;
};

/* The borrower's IOMMU translates the addresses of the DMA window. */
#define DLEND_ATTACH_TRANSLATED 1
/*
 * The device gets its addresses from the driver of a virtual machine, so its lender's
 * IOMMU puts the DMA window at address 0. With DLEND_ATTACH_TRANSLATED only.
 */
#define DLEND_ATTACH_GUEST 2

struct dlend_msg_attach {
	__le32 fdid;
	__le32 loan;
	__le32 flags;
	__le32 reserved;
	struct dlend_window_desc dma;	/* memory that the device may reach */
	struct dlend_window_desc msi;	/* addresses of interrupt messages */
};

/* ATTACH fails with EUSERS if the lender's NTB has no entry left for the Requester ID. */
struct dlend_msg_attach_answer {
	__le64 dma_bus;		/* address at which the device reaches dma.addr */
	__le64 msi_bus;		/* address at which the device reaches msi.addr */
	struct dlend_window_desc bars[DLEND_BARS];
	__le64 live;		/* bit n: dword n of @config changes by itself */
	u8 config[DLEND_CFG_SIZE];	/* the configuration space as it is now */
};

/*
 * Of RETURN and RESET. RESET resets the device, whose bus mastering and interrupts are
 * off after it.
 */
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

/* Bytes of an answer to CFG_EXTENDED. */
#define DLEND_CFG_PIECE 768

/* CFG_EXTENDED asks for a piece of the configuration space. None of it changes by itself. */
struct dlend_msg_extended {
	__le32 fdid;
	__le32 loan;
	__le32 offset;		/* DLEND_CFG_SIZE + n * DLEND_CFG_PIECE */
	__le32 reserved;
};

struct dlend_msg_extended_answer {
	u8 config[DLEND_CFG_PIECE];
};

/* Largest number of interrupts of a loan that its lender handles. */
#define DLEND_IRQ_VECTORS 64

enum dlend_irq_kind {
	DLEND_IRQ_NONE,
	DLEND_IRQ_LINE,		/* INTx, the only kind that no window can carry */
	DLEND_IRQ_MSI,
	DLEND_IRQ_MSIX,
};

/*
 * IRQ_SET asks the lender to handle @count interrupts of the device, from the first on, in
 * place of those of its last IRQ_SET, and to tell the borrower of each by IRQ. Meanwhile
 * the borrower cannot set MSI and MSI-X itself. RESET and RETURN end this. A line is masked
 * when it has come, until IRQ_UNMASK.
 */
struct dlend_msg_irq_set {
	__le32 fdid;
	__le32 loan;
	__le32 kind;		/* enum dlend_irq_kind */
	__le32 count;		/* 0 with DLEND_IRQ_NONE */
};

struct dlend_msg_irq_set_answer {
	__le32 has_line;	/* 1: DLEND_IRQ_LINE is possible; or 0 */
	__le32 reserved;
};

/* A number that is not after the last one since IRQ_SET is of a message sent again. */
struct dlend_msg_irq {
	__le32 fdid;
	__le32 loan;
	__le32 number;		/* from 1 on */
	__le32 reserved;
	__le64 vectors;		/* bit n: vector n */
};

/* The same holds for @number. */
struct dlend_msg_irq_unmask {
	__le32 fdid;
	__le32 loan;
	__le32 number;		/* from 1 on */
	__le32 reserved;
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

/* Version of the P2P_* messages. A node refuses others with -EPROTONOSUPPORT. */
#define DLEND_P2P_VERSION 1

/* Largest number of targets of a source, and of sources of a target. */
#define DLEND_P2P_MAX 8

/* The target is a device of the borrower, which has exported its BARs itself. */
#define DLEND_P2P_BORROWERS 1

/*
 * The request of GRANT, CLOSE, FETCH, REVOKE and LOST. A loan is named by its number at the
 * lender of its device; a target that is the borrower's own has loan 0.
 */
struct dlend_msg_p2p {
	__le32 version;		/* DLEND_P2P_VERSION */
	__le32 flags;		/* DLEND_P2P_BORROWERS: OPEN and CLOSE only */
	__le32 source, source_loan;
	__le32 target, target_loan;
};

struct dlend_msg_p2p_open {
	struct dlend_msg_p2p p2p;
	/* With DLEND_P2P_BORROWERS the BARs of the target, otherwise 0. */
	struct dlend_window_desc bars[DLEND_BARS];
};

/* No address. */
#define DLEND_P2P_NOWHERE (~0ULL)

/*
 * PLACE says where the source of an OPEN reaches the BARs of the target: at the addresses
 * that these have in the virtual machine that has both. The source was attached with
 * DLEND_ATTACH_GUEST, and reaches no BAR before PLACE.
 */
struct dlend_msg_p2p_place {
	struct dlend_msg_p2p p2p;
	__le64 bus[DLEND_BARS];	/* multiples of a page; or DLEND_P2P_NOWHERE */
};

/* The answer of FETCH: the BARs of the target; @size is 0 if there is none. */
struct dlend_msg_p2p_windows {
	struct dlend_window_desc bars[DLEND_BARS];
};

/* The answer of OPEN. */
struct dlend_msg_p2p_open_answer {
	struct {
		/* Address at which the source reaches the BAR; with ATTACH_GUEST 0. */
		__le64 bus;
		__le64 size;	/* of the BAR; 0 if there is none */
	} bars[DLEND_BARS];
};

static_assert(sizeof(struct dlend_msg_p2p) == 24);
static_assert(sizeof(struct dlend_msg_p2p_open) == 216);
static_assert(sizeof(struct dlend_msg_p2p_place) == 72);
static_assert(sizeof(struct dlend_msg_p2p_windows) == 192);
static_assert(sizeof(struct dlend_msg_p2p_open_answer) == 96);
static_assert(sizeof(struct dlend_msg_device) == 88);
static_assert(sizeof(struct dlend_msg_borrow_answer) == 200);
static_assert(sizeof(struct dlend_msg_attach) == 80);
static_assert(sizeof(struct dlend_msg_attach_answer) == 472);
static_assert(sizeof(struct dlend_msg_cfg) == 16);
static_assert(sizeof(struct dlend_msg_extended) == 16);
static_assert(sizeof(struct dlend_msg_irq_set) == 16);
static_assert(sizeof(struct dlend_msg_irq) == 24);
static_assert(sizeof(struct dlend_msg_irq_unmask) == 16);
static_assert((DLEND_CFG_SPACE - DLEND_CFG_SIZE) % DLEND_CFG_PIECE == 0);
static_assert(DLEND_CFG_PIECE <= DLEND_MSG_MAX);
static_assert(sizeof(struct dlend_msg_attach_answer) <= DLEND_MSG_MAX);

#define DLEND_LIST_MAX ((DLEND_MSG_MAX - sizeof(struct dlend_msg_list_answer)) / \
			sizeof(struct dlend_msg_device))

#endif
