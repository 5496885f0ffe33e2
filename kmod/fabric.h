/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The inside of dl_fabric: what its files share, and what two nodes write into
 * each other's memory.
 *
 * Each node has a control area, written by the peer alone, and a few words of
 * hello, which are scratchpads. Nothing in them is an address or an index that
 * this node would follow unchecked: a request lies in a slot of its own, and what
 * the peer writes there can only be a request that is refused.
 *
 * A session begins when each end has read the other's epoch, a random number, and
 * echoed it:
 *
 *	A: epoch a		B: epoch b
 *	A: echo b, after it has written its window table to B
 *				B: echo a, likewise
 *	A reads echo a: up	B reads echo b: up
 *
 * It ends for an end whose link goes down, whose peer shows another epoch, or
 * whose peer's beat stands still. All messages carry the epoch of the receiver, so
 * that nothing of an old session is taken for one of the new.
 */
#ifndef FABRIC_H
#define FABRIC_H

#include <linux/build_bug.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/timer.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "dl_fabric.h"

/* The words of hello, in scratchpads of the reader. */
enum {
	DLEND_HELLO_MAGIC,		/* DLEND_MAGIC | version */
	DLEND_HELLO_EPOCH,		/* of the writer; 0: it has none */
	DLEND_HELLO_ECHO,		/* the reader's epoch */
	DLEND_HELLO_NODE,		/* node number of the writer */
	DLEND_HELLO_WINDOW,	/* the reader's window onto the writer's area */
	DLEND_HELLO_ADDR_LO,	/* bus address of the area on the writer's node */
	DLEND_HELLO_ADDR_HI,
	DLEND_HELLO_WORDS,
};

#define DLEND_MAGIC 0x444c0000	/* "DL" */
/* Counts changes after which two ends would misunderstand each other. */
#define DLEND_VERSION 1

#define DLEND_NODE_MAX 0xfffe

/* Slots of sleeping calls, and after them those of polled calls. */
#define DLEND_SLOTS_CALL 16
#define DLEND_SLOTS_POLL 8
#define DLEND_SLOTS (DLEND_SLOTS_CALL + DLEND_SLOTS_POLL)

struct dlend_slot {
	__le32 seq;		/* written last; 0 while the rest is written */
	__le32 epoch;		/* of the reader */
	__le16 op;
	__le16 len;
	__le32 status;		/* of a response: 0 or an errno; of a request: 0 */
	u8 data[DLEND_MSG_MAX];
};
static_assert(sizeof(struct dlend_slot) == 16 + DLEND_MSG_MAX);

#define DLEND_WINDOWS_MAX 128

struct dlend_area_window {
	__le64 addr;		/* physical address on the importer's node */
	__le64 size;
};

struct dlend_area {
	__le32 beat;
	__le32 windows;		/* entries of the table in use */
	u8 reserved[56];
	struct dlend_area_window window[DLEND_WINDOWS_MAX];
	struct dlend_slot request[DLEND_SLOTS];
	struct dlend_slot response[DLEND_SLOTS];
};

#define DLEND_AREA_SIZE 0x10000
static_assert(sizeof(struct dlend_area) <= DLEND_AREA_SIZE);

enum dlend_counter {
	DLEND_COUNT_SESSIONS,
	DLEND_COUNT_LOST,
	DLEND_COUNT_CALLS,
	DLEND_COUNT_CALLS_POLLED,
	DLEND_COUNT_TIMEOUTS,
	DLEND_COUNT_SKIPPED,	/* polled calls to a peer that stands still */
	DLEND_COUNT_SERVED,
	DLEND_COUNT_REFUSED,	/* requests that are none, or that nobody handles */
	DLEND_COUNT_STALE,		/* of another session */
	DLEND_COUNT_BAD_RESPONSE,
	DLEND_COUNT_BAD_HELLO,
	DLEND_COUNT_BAD_IMPORT,	/* descriptors refused */
	DLEND_COUNT_DOORBELLS,
	DLEND_COUNTERS,
};

struct dlend_window {
	/* As the adapter has it: size, and DLEND_WINDOW_*, or 0 for none. */
	u64 max;
	unsigned int hw_kind;
	/* As this session uses it, by what the peer says of its end. */
	u64 size;
	u64 far;		/* its address on the far node, for alignment */
	unsigned int kind;
	bool stuck;		/* could not be closed */
	struct dlend_export *export;
};

/*
 * What an adapter does. The functions that may be called in any context are
 * marked so; all others may sleep.
 */
struct dlend_backend {
	/* Words of hello: the peer's written, our own read. Any context. */
	void (*hello_write)(struct dlend_peer *peer, unsigned int word, u32 value);
	u32 (*hello_read)(struct dlend_peer *peer, unsigned int word);
	/* Has the peer call dlend_mailbox_doorbell(). Any context. */
	void (*ring)(struct dlend_peer *peer);
	/* Called while somebody polls; may be NULL. Any context. */
	void (*poll)(struct dlend_peer *peer);
	/*
	 * After the link came up: fills in peer->windows, max and hw_kind, and
	 * makes the area reachable by the window of the peer that it returns.
	 */
	int (*area_open)(struct dlend_peer *peer, u32 *ret_window, u64 *ret_addr);
	/* The peer's area, by a window of this node; then not any more. */
	void __iomem *(*area_map)(struct dlend_peer *peer, u32 window, u64 addr);
	void (*area_unmap)(struct dlend_peer *peer);
	/* The windows of this node's adapter. */
	int (*window_own)(struct dlend_peer *peer, unsigned int window, u64 *ret_addr,
			  u64 *ret_size);
	/* Leads a window of the peer to an address here; size 0 closes it. */
	int (*window_set)(struct dlend_peer *peer, unsigned int window,
			  dma_addr_t addr, u64 size);
	/* Finds an imported range; its numbers are the peer's, unchecked. */
	int (*import)(struct dlend_peer *peer, u32 window, u64 offset, u64 size,
		      u64 addr, struct dlend_import *ret_import,
		      dma_addr_t *ret_bus);
	/* Ends it, under window_mutex; may be NULL. */
	void (*unimport)(struct dlend_peer *peer, u32 window, u64 offset, u64 size);
	struct device *(*requester)(struct dlend_peer *peer, u32 bdf);
	/* Frees what the peer is embedded in. */
	void (*release)(struct dlend_peer *peer);
	bool is_loopback;
};

/* A request while it is handled. */
struct dlend_inbox {
	u32 seen;		/* seq of the last one taken */
	struct dlend_slot request;
	u8 response[DLEND_MSG_MAX];
};

struct dlend_peer {
	struct kref ref;
	const struct dlend_backend *backend;
	struct device *dev;
	char name[32];
	unsigned int index;

	/* Under dlend_lock, and read without it where that is enough. */
	enum dlend_peer_state state;
	bool link;
	bool wanted;
	bool removing;
	u32 link_count;		/* changes with each link event */
	u32 told;		/* clients to whom peer_up was said */
	const char *why;	/* it was lost */

	struct mutex life_mutex;	/* one thing at a time happens to the peer */
	struct workqueue_struct *life_wq;
	struct delayed_work life;
	u32 self, node;
	u32 session;
	u32 epoch, far_epoch;
	u32 mapped_epoch;	/* far epoch for which the area was mapped */
	u32 refused_epoch;	/* far epoch that was complained of */
	u32 opened;		/* link_count when the area was opened, or 0 */
	u32 area_window;
	u64 area_addr;

	struct timer_list beat;
	u32 beats, far_beats;
	unsigned int silent;	/* own beats since the last one of the peer */
	u64 unanswered;		/* see peer_stands_still() */

	/* Who uses the session: see peer_enter(). */
	atomic_t users;
	wait_queue_head_t wait;

	struct dlend_area *area;
	void __iomem *far_area;
	unsigned long outbox[BITS_TO_LONGS(DLEND_SLOTS)];	/* slots in use */
	u32 seq[DLEND_SLOTS];
	unsigned long inbox_busy[BITS_TO_LONGS(DLEND_SLOTS)];
	struct dlend_inbox *inbox;
	struct workqueue_struct *serve_wq;
	struct work_struct serve;
	struct task_struct *server;

	struct mutex window_mutex;
	struct dlend_window windows[DLEND_WINDOWS_MAX];
	unsigned int nwindows;
	struct list_head exports;
	atomic_t imports;
	bool in_session;	/* from before peer_up until after peer_down */

	atomic_long_t count[DLEND_COUNTERS];
	struct dentry *debugfs;
};

/* fabric_session.c */
extern unsigned int dlend_node_id;

static inline void dlend_count(struct dlend_peer *peer, enum dlend_counter counter)
{
	atomic_long_inc(&peer->count[counter]);
}

/*
 * A backend embeds the peer, and calls these: dlend_peer_init(), after which the
 * last dlend_peer_put() calls release; dlend_peer_start(), after which the functions
 * of the backend are called; dlend_peer_link() at each change of the link, in any
 * context; dlend_peer_stop(), after which they are not called any more.
 */
int dlend_peer_init(struct dlend_peer *peer, const struct dlend_backend *backend,
		    struct device *dev, const char *name, u32 self,
		    struct dlend_area *area);
void dlend_peer_start(struct dlend_peer *peer);
void dlend_peer_link(struct dlend_peer *peer, bool up);
void dlend_peer_stop(struct dlend_peer *peer);

/* Ends the session, if there is one; any context. @why is for the log. */
void dlend_peer_lose(struct dlend_peer *peer, const char *why);

/*
 * While a user is in, the session stays mapped. Any context.
 * Return: false if the peer is not up.
 */
bool dlend_peer_enter(struct dlend_peer *peer);
void dlend_peer_exit(struct dlend_peer *peer);

/* fabric_mailbox.c */
int dlend_mailbox_init(void);
void dlend_mailbox_done(void);
/* Looks what the peer has written. Any context. */
void dlend_mailbox_look(struct dlend_peer *peer);
/* The peer rang: looks. Any context. */
void dlend_mailbox_doorbell(struct dlend_peer *peer);
/* Handles the requests of polled calls. Any context, in a session. */
void dlend_mailbox_serve_polled(struct dlend_peer *peer);
void dlend_mailbox_serve(struct work_struct *work);
/* A new session: nothing was sent yet. */
void dlend_mailbox_reset(struct dlend_peer *peer);

/* fabric_window.c */
/* Reads the peer's table of its windows: the session begins. */
void dlend_window_read_table(struct dlend_peer *peer);
void dlend_window_write_table(struct dlend_peer *peer);
/* Tries again to close what could not be closed. */
void dlend_window_retry(struct dlend_peer *peer);
/* Closes what clients have left open: it ends. */
void dlend_window_close_all(struct dlend_peer *peer);
void dlend_window_show(struct dlend_peer *peer, struct seq_file *file);

/* fabric_debugfs.c; peer->debugfs is removed by whoever stops the peer. */
void dlend_debugfs_init(void);
void dlend_debugfs_done(void);
void dlend_debugfs_add(struct dlend_peer *peer);

/* fabric_loop.c, fabric_ntb.c */
int dlend_loop_init(void);
void dlend_loop_done(void);
int dlend_ntb_init(void);
void dlend_ntb_done(void);

#endif
