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
#ifndef DL_FABRIC_PRIV_H
#define DL_FABRIC_PRIV_H

#include <linux/build_bug.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/timer.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "dl_fabric.h"

/* The words of hello, in scratchpads of the reader. */
enum {
	DL_HELLO_MAGIC,		/* DL_MAGIC | version */
	DL_HELLO_EPOCH,		/* of the writer; 0: it has none */
	DL_HELLO_ECHO,		/* the reader's epoch */
	DL_HELLO_NODE,		/* node number of the writer */
	DL_HELLO_WINDOW,	/* the reader's window onto the writer's area */
	DL_HELLO_ADDR_LO,	/* bus address of the area on the writer's node */
	DL_HELLO_ADDR_HI,
	DL_HELLO_WORDS,
};

#define DL_MAGIC 0x444c0000	/* "DL" */
/* Counts changes after which two ends would misunderstand each other. */
#define DL_VERSION 1

#define DL_NODE_MAX 0xfffe

/* Slots of sleeping calls, and after them those of polled calls. */
#define DL_SLOTS_CALL 16
#define DL_SLOTS_POLL 8
#define DL_SLOTS (DL_SLOTS_CALL + DL_SLOTS_POLL)

struct dl_slot {
	__le32 seq;		/* written last; 0 while the rest is written */
	__le32 epoch;		/* of the reader */
	__le16 op;
	__le16 len;
	__le32 status;		/* of a response: 0 or an errno; of a request: 0 */
	u8 data[DL_MSG_MAX];
};
static_assert(sizeof(struct dl_slot) == 16 + DL_MSG_MAX);

#define DL_WINDOWS_MAX 128

struct dl_area_window {
	__le64 addr;		/* physical address on the importer's node */
	__le64 size;
};

struct dl_area {
	__le32 beat;
	__le32 windows;		/* entries of the table in use */
	u8 reserved[56];
	struct dl_area_window window[DL_WINDOWS_MAX];
	struct dl_slot request[DL_SLOTS];
	struct dl_slot response[DL_SLOTS];
};

#define DL_AREA_SIZE 0x10000
static_assert(sizeof(struct dl_area) <= DL_AREA_SIZE);

enum dl_counter {
	DL_COUNT_SESSIONS,
	DL_COUNT_LOST,
	DL_COUNT_CALLS,
	DL_COUNT_CALLS_POLLED,
	DL_COUNT_TIMEOUTS,
	DL_COUNT_SKIPPED,	/* polled calls to a peer that stands still */
	DL_COUNT_SERVED,
	DL_COUNT_REFUSED,	/* requests that are none, or that nobody handles */
	DL_COUNT_STALE,		/* of another session */
	DL_COUNT_BAD_RESPONSE,
	DL_COUNT_BAD_HELLO,
	DL_COUNT_BAD_IMPORT,	/* descriptors refused */
	DL_COUNT_DOORBELLS,
	DL_COUNTERS,
};

struct dl_window {
	/* As the adapter has it: size, and DL_WINDOW_*, or 0 for none. */
	u64 max;
	unsigned int hw_kind;
	/* As this session uses it, by what the peer says of its end. */
	u64 size;
	u64 far;		/* its address on the far node, for alignment */
	unsigned int kind;
	bool stuck;		/* could not be closed */
	struct dl_export *export;
};

/*
 * What an adapter does. The functions that may be called in any context are
 * marked so; all others may sleep.
 */
struct dl_backend {
	/* Words of hello: the peer's written, our own read. Any context. */
	void (*hello_write)(struct dl_peer *peer, unsigned int word, u32 value);
	u32 (*hello_read)(struct dl_peer *peer, unsigned int word);
	/* Has the peer call dl_mailbox_doorbell(). Any context. */
	void (*ring)(struct dl_peer *peer);
	/* Called while somebody polls; may be NULL. Any context. */
	void (*poll)(struct dl_peer *peer);
	/*
	 * After the link came up: fills in peer->windows, max and hw_kind, and
	 * makes the area reachable by the window of the peer that it returns.
	 */
	int (*area_open)(struct dl_peer *peer, u32 *ret_window, u64 *ret_addr);
	/* The peer's area, by a window of this node; then not any more. */
	void __iomem *(*area_map)(struct dl_peer *peer, u32 window, u64 addr);
	void (*area_unmap)(struct dl_peer *peer);
	/* The windows of this node's adapter. */
	int (*window_own)(struct dl_peer *peer, unsigned int window, u64 *ret_addr,
			  u64 *ret_size);
	/* Leads a window of the peer to an address here; size 0 closes it. */
	int (*window_set)(struct dl_peer *peer, unsigned int window,
			  dma_addr_t addr, u64 size);
	/* Finds an imported range; its numbers are the peer's, unchecked. */
	int (*import)(struct dl_peer *peer, u32 window, u64 offset, u64 size,
		      u64 addr, struct dl_import *ret_import,
		      dma_addr_t *ret_bus);
	/* Ends it, under window_mutex; may be NULL. */
	void (*unimport)(struct dl_peer *peer, u32 window, u64 offset, u64 size);
	struct device *(*requester)(struct dl_peer *peer, u32 bdf);
	/* Frees what the peer is embedded in. */
	void (*release)(struct dl_peer *peer);
	bool is_loopback;
};

/* A request while it is handled. */
struct dl_inbox {
	u32 seen;		/* seq of the last one taken */
	struct dl_slot request;
	u8 response[DL_MSG_MAX];
};

struct dl_peer {
	struct kref ref;
	const struct dl_backend *backend;
	struct device *dev;
	char name[32];
	unsigned int index;

	/* Under dl_lock, and read without it where that is enough. */
	enum dl_peer_state state;
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

	struct dl_area *area;
	void __iomem *far_area;
	unsigned long outbox[BITS_TO_LONGS(DL_SLOTS)];	/* slots in use */
	u32 seq[DL_SLOTS];
	unsigned long inbox_busy[BITS_TO_LONGS(DL_SLOTS)];
	struct dl_inbox *inbox;
	struct workqueue_struct *serve_wq;
	struct work_struct serve;
	struct task_struct *server;

	struct mutex window_mutex;
	struct dl_window windows[DL_WINDOWS_MAX];
	unsigned int nwindows;
	struct list_head exports;
	atomic_t imports;
	bool in_session;	/* from before peer_up until after peer_down */

	atomic_long_t count[DL_COUNTERS];
	struct dentry *debugfs;
};

/* fabric_core.c */
extern unsigned int dl_node_id;

static inline void dl_count(struct dl_peer *peer, enum dl_counter counter)
{
	atomic_long_inc(&peer->count[counter]);
}

/*
 * A backend embeds the peer, and calls these: dl_peer_init(), after which the
 * last dl_peer_put() calls release; dl_peer_start(), after which the functions
 * of the backend are called; dl_peer_link() at each change of the link, in any
 * context; dl_peer_stop(), after which they are not called any more.
 */
int dl_peer_init(struct dl_peer *peer, const struct dl_backend *backend,
		 struct device *dev, const char *name, u32 self,
		 struct dl_area *area);
void dl_peer_start(struct dl_peer *peer);
void dl_peer_link(struct dl_peer *peer, bool up);
void dl_peer_stop(struct dl_peer *peer);

/* Ends the session, if there is one; any context. @why is for the log. */
void dl_peer_lose(struct dl_peer *peer, const char *why);

/*
 * While a user is in, the session stays mapped. Any context.
 * Return: false if the peer is not up.
 */
bool dl_peer_enter(struct dl_peer *peer);
void dl_peer_exit(struct dl_peer *peer);

/* fabric_mailbox.c */
int dl_mailbox_init(void);
void dl_mailbox_done(void);
/* Looks what the peer has written. Any context. */
void dl_mailbox_look(struct dl_peer *peer);
/* The peer rang: looks. Any context. */
void dl_mailbox_doorbell(struct dl_peer *peer);
/* Handles the requests of polled calls. Any context, in a session. */
void dl_mailbox_serve_polled(struct dl_peer *peer);
void dl_mailbox_serve(struct work_struct *work);
/* A new session: nothing was sent yet. */
void dl_mailbox_reset(struct dl_peer *peer);

/* fabric_window.c */
/* Reads the peer's table of its windows: the session begins. */
void dl_window_read_table(struct dl_peer *peer);
void dl_window_write_table(struct dl_peer *peer);
/* Tries again to close what could not be closed. */
void dl_window_retry(struct dl_peer *peer);
/* Closes what clients have left open: it ends. */
void dl_window_close_all(struct dl_peer *peer);
void dl_window_show(struct dl_peer *peer, struct seq_file *file);

/* fabric_debugfs.c; peer->debugfs is removed by whoever stops the peer. */
void dl_debugfs_init(void);
void dl_debugfs_done(void);
void dl_debugfs_add(struct dl_peer *peer);

/* fabric_loop.c, fabric_ntb.c */
int dl_loop_init(void);
void dl_loop_done(void);
int dl_ntb_init(void);
void dl_ntb_done(void);

#endif
