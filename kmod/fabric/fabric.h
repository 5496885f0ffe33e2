/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private header of dl_fabric.
 *
 * A file calls only files below it:
 *
 *	fabric_main.c			start and end of the module
 *	fabric_ntb.c  fabric_loop.c	backends: an NTB, and the loopback
 *	fabric_session.c		hello, heartbeat, begin and end of a session
 *	fabric_debugfs.c		what debugfs shows of a peer
 *	fabric_mailbox.c		calls and their handlers
 *	fabric_window.c			exports and imports
 *	fabric_peer.c			the table of peers, their states, the users of
 *					their sessions, and the clients
 *
 * fabric_mailbox.c and fabric_window.c do not call each other. The session, the
 * mailbox and the windows reach the adapter only through struct dlend_backend.
 * fabric_orphan.c and fabric_reach.c stand alone. fabric_switchtec.c serves fabric_ntb.c.
 *
 * Locks, outermost first: life_mutex, the mutex of struct dlend_windows, dlend_lock.
 * peer_up and peer_down of a client are called with life_mutex held, peer_lost with
 * dlend_lock held.
 */
#ifndef FABRIC_H
#define FABRIC_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/ratelimit.h>
#include <linux/timer.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "dl_fabric.h"
#include "fabric_wire.h"

struct dentry;
struct dlend_switchtec;
struct pci_dev;
struct seq_file;

/*
 * The functions of an adapter. Those that say "any context" may be called with
 * interrupts off; all others may sleep. Those that return int return 0 or a
 * negative errno.
 */
struct dlend_backend {
	/* Writes a word of hello for the peer. Any context. */
	void (*hello_write)(struct dlend_peer *peer, unsigned int word,
			    u32 value);
	/* Reads a word of hello that the peer has written. Any context. */
	u32 (*hello_read)(struct dlend_peer *peer, unsigned int word);
	/* (nullable) Writes over a word that the peer has written, here. May sleep. */
	void (*hello_mark)(struct dlend_peer *peer, unsigned int word, u32 value);
	/* Makes the peer call dlend_mailbox_doorbell(). Any context. */
	void (*ring)(struct dlend_peer *peer);
	/* (nullable) Called in each round of a polled call. Any context. */
	void (*poll)(struct dlend_peer *peer);
	/*
	 * Called after the link came up. Fills in @max and @hw_kind of
	 * peer->windows. Opens a window of the peer onto the control area, and
	 * returns the number of that window and the bus address of the area.
	 */
	int (*area_open)(struct dlend_peer *peer, u32 *ret_window,
			 u64 *ret_addr);
	/* Maps the peer's area through a window of this node, or ERR_PTR. */
	void __iomem *(*area_map)(struct dlend_peer *peer, u32 window,
				  u64 addr);
	void (*area_unmap)(struct dlend_peer *peer);
	/* Address and size of a window of this node's adapter. */
	int (*window_own)(struct dlend_peer *peer, unsigned int window,
			  u64 *ret_addr, u64 *ret_size);
	/* Points a window of the peer at an address here; size 0 closes it. */
	int (*window_set)(struct dlend_peer *peer, unsigned int window,
			  dma_addr_t addr, u64 size);
	/* Checks and imports a range. All numbers come from the peer. */
	int (*import)(struct dlend_peer *peer, u32 window, u64 offset,
		      u64 size, u64 addr, struct dlend_import *ret_import,
		      dma_addr_t *ret_bus);
	/* (nullable) Ends an import. The mutex of the windows is held. */
	void (*unimport)(struct dlend_peer *peer, u32 window, u64 offset,
			 u64 size);
	/* See dlend_peer_requester(). */
	struct device *(*requester)(struct dlend_peer *peer, u32 bdf);
	/* (nullable) See dlend_peer_keeps_bars(). */
	bool (*keeps_bars)(struct dlend_peer *peer);
	/* (nullable, all three) See dlend_admit(). */
	int (*admit)(struct dlend_peer *peer, u16 id);
	void (*expel)(struct dlend_peer *peer, u16 id);
	void (*admitted_show)(struct dlend_peer *peer, struct seq_file *file);
	/* Frees the struct that embeds the peer. */
	void (*release)(struct dlend_peer *peer);
	bool is_loopback;
};

/* fabric_session.c: only that file uses the members. */
struct dlend_session {
	/* Hello. */
	u32 mapped_epoch;	/* far epoch whose area is mapped, or 0 */
	u32 refused_epoch;	/* far epoch whose refusal was logged */
	u32 opened;		/* link_count when the area was opened, or 0 */
	u32 met;		/* link_count when the peer was there last, or 0 */
	bool away;		/* the peer has left, and this node has answered */
	u32 area_window;	/* window of the peer that leads to our area */
	u64 area_addr;		/* bus address of our area */

	/* Heartbeat. */
	struct timer_list beat;
	u32 beats, far_beats;	/* last beat sent, and last beat received */
	unsigned int silent;	/* own beats since the last one of the peer */
};

/* A request of the peer while it is handled. */
struct dlend_inbox {
	struct dlend_peer *peer;
	struct work_struct serve;	/* handles a request that may sleep */
	struct task_struct *server;	/* runs its handler now, or NULL */
	u32 seen;		/* seq of the last request that was taken */
	struct dlend_slot request;
	u8 response[DLEND_MSG_MAX];
};

/* fabric_mailbox.c: only that file uses the members. */
struct dlend_mailbox {
	/* Own requests. */
	unsigned long outbox[BITS_TO_LONGS(DLEND_SLOTS)];	/* slots in use */
	unsigned long late[BITS_TO_LONGS(DLEND_SLOTS)];	/* given back without a response */
	u32 seq[DLEND_SLOTS];	/* number of the last request of each slot */
	u64 unanswered;		/* beat_mark() when a polled call timed out, or 0 */

	/* The peer's requests. */
	unsigned long busy[BITS_TO_LONGS(DLEND_SLOTS)];	/* slots being handled */
	struct dlend_inbox *inbox;	/* DLEND_SLOTS of them */
	struct workqueue_struct *wq;
};

/* A window of the peer's adapter. */
struct dlend_window {
	/* As the adapter has it. */
	u64 max;		/* its size */
	unsigned int hw_kind;	/* DLEND_WINDOW_*, or 0 if it cannot be exported through */
	/* As this session uses it, within the bounds of the peer's table. */
	u64 size;
	u64 far;		/* its address on the far node, for alignment */
	unsigned int kind;	/* DLEND_WINDOW_*, or 0 if it is not used */
	bool stuck;		/* could not be closed; not used until it can be */
	struct dlend_export *export;	/* the export that uses it, or NULL */
};

/* fabric_window.c. Backends fill in @n, and @max and @hw_kind of each window. */
struct dlend_windows {
	struct mutex mutex;	/* guards all members except @imports */
	unsigned int n;
	struct dlend_window window[DLEND_WINDOWS_MAX];
	struct list_head exports;
	bool in_session;	/* from before peer_up until after peer_down */
	atomic_t imports;	/* number of open imports from the peer */
};

/* The order is that of the names in fabric_debugfs.c. */
enum dlend_counter {
	DLEND_COUNT_SESSIONS,
	DLEND_COUNT_LOST,
	DLEND_COUNT_CALLS,
	DLEND_COUNT_CALLS_POLLED,
	DLEND_COUNT_TIMEOUTS,
	DLEND_COUNT_SKIPPED,	/* polled calls that failed at once: dlend_peer_stands_still() */
	DLEND_COUNT_SERVED,
	DLEND_COUNT_REFUSED,	/* requests that are malformed or have no handler */
	DLEND_COUNT_STALE,	/* requests of another session */
	DLEND_COUNT_BAD_RESPONSE,
	DLEND_COUNT_BAD_HELLO,
	DLEND_COUNT_BAD_IMPORT,	/* descriptors refused */
	DLEND_COUNT_DOORBELLS,
	DLEND_COUNT_EXPORTS,	/* ranges for which windows were opened, or half opened */
	DLEND_COUNTERS,
};

/* A backend embeds this, see dlend_peer_init(). */
struct dlend_peer {
	struct kref ref;
	const struct dlend_backend *backend;
	struct device *dev;
	char name[32];
	unsigned int index;	/* in the table of peers */
	u32 self;		/* node number of this end */
	u32 node;		/* node number of the far end, or 0 */

	/* Guarded by dlend_lock. A reader that needs no exact answer does without it. */
	enum dlend_peer_state state;
	bool link;		/* the link is up */
	bool wanted;		/* false after dlend_peer_disconnect() */
	bool removing;		/* the adapter is being removed */
	u32 link_count;		/* changes with each link event; 0: none yet */
	u32 told;		/* bit n: client n was told peer_up */
	const char *why;	/* reason of the last loss, for the log */

	/* Users of a session: see dlend_peer_enter(). */
	atomic_t users;
	wait_queue_head_t wait;

	/* The work that begins and ends sessions: see dlend_peer_kick(). */
	struct mutex life_mutex;	/* serializes that work and the calls of clients */
	struct workqueue_struct *life_wq;
	struct delayed_work life;

	/* The session sets these before the peer is up; they stay until it ends. */
	struct dlend_area *area;		/* ours, written by the peer */
	struct dlend_area __iomem *far_area;	/* the peer's, written by us */
	u32 epoch, far_epoch;	/* see fabric_wire.h */
	u32 session_number;	/* see dlend_peer_session() */

	struct dlend_session session;
	struct dlend_mailbox mailbox;
	struct dlend_windows windows;

	atomic_long_t count[DLEND_COUNTERS];
	struct ratelimit_state log_limit;	/* see dlend_peer_may_log() */
	struct dentry *debugfs;
};

/* fabric_peer.c */

extern spinlock_t dlend_lock;
extern unsigned int dlend_node_id;

/* Return: 0, or -EINVAL after a message if the parameter node_id is out of range. */
int dlend_peers_init(void);

/*
 * dlend_peer_enter() - keeps the session of a peer mapped until
 * dlend_peer_exit()
 *
 * Any context. Return: whether the peer is up. If not, the caller must not call
 * dlend_peer_exit().
 */
bool dlend_peer_enter(struct dlend_peer *peer);
void dlend_peer_exit(struct dlend_peer *peer);

/* Notes an event of the link. "Up" after "up" means that it was down between. Any context. */
void dlend_peer_link(struct dlend_peer *peer, bool up);

/* Ends the session, if there is one. @why is for the log. Any context. */
void dlend_peer_lose(struct dlend_peer *peer, const char *why);

/* Queues the work "life" of the peer to run in @ms milliseconds. Any context. */
void dlend_peer_kick(struct dlend_peer *peer, unsigned int ms);
/* The same, but a run that is queued already keeps its time. */
void dlend_peer_kick_later(struct dlend_peer *peer, unsigned int ms);

void dlend_peer_set_state(struct dlend_peer *peer, enum dlend_peer_state state);

/* Tell all clients; life_mutex is held. */
void dlend_peer_tell_up(struct dlend_peer *peer);
void dlend_peer_tell_down(struct dlend_peer *peer);

/* Return: whether another peer of this end is up and leads to @node. */
bool dlend_peer_node_is_taken(struct dlend_peer *peer, u32 node);
/* The same; dlend_lock is held. */
bool dlend_peer_node_is_taken_locked(struct dlend_peer *peer, u32 node);

/*
 * dlend_peer_enlist() - enters a peer into the table
 * dlend_peer_unlist() - takes it out again
 *
 * Return: 0, or -ENOSPC with DLEND_PEERS_MAX peers.
 */
int dlend_peer_enlist(struct dlend_peer *peer);
void dlend_peer_unlist(struct dlend_peer *peer);

static inline void dlend_count(struct dlend_peer *peer,
			       enum dlend_counter counter)
{
	atomic_long_inc(&peer->count[counter]);
}

/* fabric_mailbox.c */

int dlend_mailbox_init(void);
void dlend_mailbox_done(void);

/* Return: 0, or -ENOMEM. */
int dlend_mailbox_setup(struct dlend_peer *peer);
void dlend_mailbox_free(struct dlend_peer *peer);
/* Forgets which requests were seen, for the next session. */
void dlend_mailbox_reset(struct dlend_peer *peer);
/* Waits for the handlers that sleep. The session has ended. */
void dlend_mailbox_stop(struct dlend_peer *peer);
/* Handles new requests, and wakes callers for new responses. Any context. */
void dlend_mailbox_look(struct dlend_peer *peer);
/* Counts a doorbell of the peer, then calls dlend_mailbox_look(). Any context. */
void dlend_mailbox_doorbell(struct dlend_peer *peer);
/* Handles the requests of polled calls. Any context, after dlend_peer_enter(). */
void dlend_mailbox_serve_polled(struct dlend_peer *peer);

/* fabric_window.c */

void dlend_windows_setup(struct dlend_peer *peer);
/* Writes the table of this node's windows into the peer's area. */
void dlend_windows_write_table(struct dlend_peer *peer);
/* Reads the peer's table. Exports are possible from here on. */
void dlend_windows_read_table(struct dlend_peer *peer);
/* Tries again to close windows that could not be closed. Return: whether any still is not. */
bool dlend_windows_retry(struct dlend_peer *peer);
/* Closes the exports that clients have left open. The session has ended. */
void dlend_windows_close_all(struct dlend_peer *peer);
void dlend_windows_show(struct dlend_peer *peer, struct seq_file *file);

/* fabric_debugfs.c */

void dlend_debugfs_init(void);
void dlend_debugfs_done(void);
void dlend_debugfs_add(struct dlend_peer *peer);
void dlend_debugfs_remove(struct dlend_peer *peer);

/* fabric_session.c */

/* Time without a heartbeat after which a peer is lost, and longest wait for its adapter. */
extern unsigned int dlend_lost_ms;

/* Return: 0, or -EINVAL after a message if a parameter is wrong. */
int dlend_session_init(void);

/*
 * dlend_peer_init() - makes a peer of a zeroed struct that a backend embeds
 * @backend: borrowed for the life of the peer
 * @dev: borrowed until the backend's release is called
 * @name: copied; for the log and debugfs
 * @self: node number of this end
 * @area: DLEND_AREA_SIZE bytes that the peer may write; borrowed
 *
 * After success the last dlend_peer_put() calls the backend's release. Sleeps.
 * Return: 0, -ENOMEM, or -ENOSPC with DLEND_PEERS_MAX peers; release is not
 * called after an error.
 */
int dlend_peer_init(struct dlend_peer *peer,
		    const struct dlend_backend *backend, struct device *dev,
		    const char *name, u32 self, struct dlend_area *area);
/* Begins to call the functions of the backend. */
void dlend_peer_start(struct dlend_peer *peer);
/* Ends the session. Afterwards only the backend's release is called. */
void dlend_peer_stop(struct dlend_peer *peer);

/* fabric_orphan.c */

/* Waits until no thread is in a function of that file. The last orphan is gone. */
void dlend_orphans_done(void);

/* fabric_switchtec.c */

/*
 * @pdev: function of an NTB; borrowed until dlend_switchtec_free()
 *
 * Return: NULL if it is no Switchtec; ERR_PTR(-ENOMEM).
 */
struct dlend_switchtec *dlend_switchtec_new(struct pci_dev *pdev);
/* NULL does nothing. */
void dlend_switchtec_free(struct dlend_switchtec *st);
/* Sleep. See dlend_admit() and dlend_expel(). */
int dlend_switchtec_admit(struct dlend_switchtec *st, u16 id);
void dlend_switchtec_expel(struct dlend_switchtec *st, u16 id);
/* Writes the table, as the NTB has it. */
void dlend_switchtec_show(struct dlend_switchtec *st, struct seq_file *file);

/* fabric_loop.c, fabric_ntb.c */

int dlend_loop_init(void);
void dlend_loop_done(void);
int dlend_ntb_init(void);
void dlend_ntb_done(void);

#endif
