/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The words that two nodes write into each other's memory and scratchpads.
 *
 * Each node has a control area, which only its peer writes, and a few words of
 * hello, which are scratchpads. This node checks every address and index that it
 * reads there. Each request has a slot of its own, so bad data in a slot causes at
 * worst a request that is refused.
 *
 * A session begins when each end has read the other's epoch, a random number,
 * and has echoed it:
 *
 *	A: epoch a		B: epoch b
 *	A: writes its window table to B, then echo b
 *				B: writes its window table to A, then echo a
 *	A reads echo a: up	B reads echo b: up
 *
 * An end leaves the session when its link goes down, when its peer shows another
 * epoch, or when its peer's heartbeat stops. An end that goes away, because its module
 * or its adapter is removed, first takes its magic number and its epoch back. Its peer
 * answers with epoch 0, and then writes nothing until there is a magic number again:
 * the driver of the NTB may free the scratchpads. Every message carries the epoch of its
 * receiver, so a message of an old session is never mistaken for a message of the
 * new session.
 */
#ifndef FABRIC_WIRE_H
#define FABRIC_WIRE_H

#include <linux/build_bug.h>
#include <linux/types.h>

#include "dl_fabric.h"

/* The words of hello, in scratchpads of the reader. */
enum {
	DLEND_HELLO_MAGIC,	/* DLEND_MAGIC | DLEND_VERSION; 0 while the writer is away */
	DLEND_HELLO_EPOCH,	/* of the writer; 0 while it has none */
	DLEND_HELLO_ECHO,	/* the reader's epoch, as the writer has read it, or 0 */
	DLEND_HELLO_NODE,	/* node number of the writer */
	DLEND_HELLO_WINDOW,	/* number of the reader's window onto the writer's area */
	DLEND_HELLO_ADDR_LO,	/* bus address of the area on the writer's node */
	DLEND_HELLO_ADDR_HI,
	DLEND_HELLO_WORDS,
};

#define DLEND_MAGIC 0x444c0000	/* "DL" */
/*
 * A reader writes this over the 0 of a writer that has left, when its own end of the
 * link is down. The writer reads it there before it gives its scratchpads back.
 */
#define DLEND_PARTED 0x50415254	/* "PART" */
/* Version of this protocol. Every incompatible change raises it. */
#define DLEND_VERSION 2

#define DLEND_NODE_MAX 0xfffe

/* The slots of sleeping calls come first, then those of polled calls. */
#define DLEND_SLOTS_CALL 16
#define DLEND_SLOTS_POLL 8
#define DLEND_SLOTS (DLEND_SLOTS_CALL + DLEND_SLOTS_POLL)

struct dlend_slot {
	__le32 seq;		/* written last; 0 while the rest is written */
	__le32 epoch;		/* the reader's epoch */
	__le16 op;
	__le16 len;		/* bytes of @data */
	__le32 status;		/* response: 0 or a negative errno; request: 0 */
	u8 data[DLEND_MSG_MAX];
};

static_assert(sizeof(struct dlend_slot) == 16 + DLEND_MSG_MAX);

#define DLEND_WINDOWS_MAX 128

struct dlend_area_window {
	__le64 addr;		/* physical address on the writer's node, the importer */
	__le64 size;
};

/* The control area. */
struct dlend_area {
	__le32 beat;		/* counts the writer's heartbeats */
	__le32 windows;		/* number of entries of @window in use */
	u8 reserved[56];
	struct dlend_area_window window[DLEND_WINDOWS_MAX];
	struct dlend_slot request[DLEND_SLOTS];
	struct dlend_slot response[DLEND_SLOTS];
};

#define DLEND_AREA_SIZE 0x10000
static_assert(sizeof(struct dlend_area) <= DLEND_AREA_SIZE);

#endif
