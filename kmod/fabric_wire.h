/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The words that two nodes write into each other's memory and scratchpads.
 *
 * Each node has a control area, which only its peer writes, and a few words of
 * hello, which are scratchpads. This node follows no address and no index in
 * them unchecked: each request has a slot of its own, and the worst that a peer
 * can write there is a request that is refused.
 *
 * A session begins when each end has read the other's epoch, a random number,
 * and has echoed it:
 *
 *	A: epoch a		B: epoch b
 *	A: writes its window table to B, then echo b
 *				B: writes its window table to A, then echo a
 *	A reads echo a: up	B reads echo b: up
 *
 * The session ends for an end when its link goes down, when its peer shows
 * another epoch, or when its peer's heartbeat stands still. Every message
 * carries the epoch of its receiver, so a message of an old session is never
 * taken for one of the new session.
 */
#ifndef FABRIC_WIRE_H
#define FABRIC_WIRE_H

#include <linux/build_bug.h>
#include <linux/types.h>

#include "dl_fabric.h"

/* The words of hello, in scratchpads of the reader. */
enum {
	DLEND_HELLO_MAGIC,	/* DLEND_MAGIC | DLEND_VERSION */
	DLEND_HELLO_EPOCH,	/* of the writer; 0 while it has none */
	DLEND_HELLO_ECHO,	/* the reader's epoch */
	DLEND_HELLO_NODE,	/* node number of the writer */
	DLEND_HELLO_WINDOW,	/* the reader's window onto the writer's area */
	DLEND_HELLO_ADDR_LO,	/* bus address of the area on the writer's node */
	DLEND_HELLO_ADDR_HI,
	DLEND_HELLO_WORDS,
};

#define DLEND_MAGIC 0x444c0000	/* "DL" */
/* Counts changes after which two ends would misunderstand each other. */
#define DLEND_VERSION 1

#define DLEND_NODE_MAX 0xfffe

/* The slots of sleeping calls come first, then those of polled calls. */
#define DLEND_SLOTS_CALL 16
#define DLEND_SLOTS_POLL 8
#define DLEND_SLOTS (DLEND_SLOTS_CALL + DLEND_SLOTS_POLL)

struct dlend_slot {
	__le32 seq;		/* written last; 0 while the rest is written */
	__le32 epoch;		/* of the reader */
	__le16 op;
	__le16 len;		/* bytes of @data */
	__le32 status;		/* of a response: 0 or an errno; of a request: 0 */
	u8 data[DLEND_MSG_MAX];
};

static_assert(sizeof(struct dlend_slot) == 16 + DLEND_MSG_MAX);

#define DLEND_WINDOWS_MAX 128

struct dlend_area_window {
	__le64 addr;		/* physical address on the importer's node */
	__le64 size;
};

/* The control area. */
struct dlend_area {
	__le32 beat;		/* counts the writer's heartbeats */
	__le32 windows;		/* entries of the table in use */
	u8 reserved[56];
	struct dlend_area_window window[DLEND_WINDOWS_MAX];
	struct dlend_slot request[DLEND_SLOTS];
	struct dlend_slot response[DLEND_SLOTS];
};

#define DLEND_AREA_SIZE 0x10000
static_assert(sizeof(struct dlend_area) <= DLEND_AREA_SIZE);

#endif
