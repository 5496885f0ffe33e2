// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sessions: hello, heartbeat and end.
 *
 * fabric_wire.h shows the order of hello. The steps of a session run one at a time, with
 * life_mutex held, in the work "life" of the peer. Only the heartbeat's timer runs
 * beside them.
 */
#include <linux/io.h>
#include <linux/iopoll.h>
#include <linux/module.h>
#include <linux/random.h>

#include "compat.h"
#include "fabric.h"

static unsigned int beat_ms = 100;
module_param(beat_ms, uint, 0444);
MODULE_PARM_DESC(beat_ms, "time between two heartbeats, in ms (100)");

unsigned int dlend_lost_ms = 2000;
module_param_named(lost_ms, dlend_lost_ms, uint, 0444);
MODULE_PARM_DESC(lost_ms, "time without a heartbeat after which a peer is lost, in ms (2000)");

/* Interval at which the words of hello are read. */
#define HELLO_MS 20

/* A node that leaves waits as long for its peer's answer. */
#define LEAVE_US 500000
#define LEAVE_LOOK_US 5000

/* Time after which opening the control area is tried again. */
#define AREA_RETRY_MS 1000
/* As long after a window could not be closed, it is tried again. */
#define WINDOW_RETRY_MS 1000

int dlend_session_init(void)
{
	if (!beat_ms || dlend_lost_ms / 2 < beat_ms) {
		pr_err("dl_fabric: beat_ms is %u and lost_ms is %u; beat_ms must be at least 1, and lost_ms at least twice beat_ms\n",
		       beat_ms, dlend_lost_ms);
		return -EINVAL;
	}
	return 0;
}

/* The heartbeat. */

static void beat(struct timer_list *timer)
{
	struct dlend_peer *peer = timer_container_of(peer, timer, session.beat);
	struct dlend_session *session = &peer->session;
	struct dlend_area __iomem *far_area;
	u32 far;

	if (!dlend_peer_enter(peer))
		return;
	far_area = peer->far_area;
	writel(++session->beats, &far_area->beat);
	far = le32_to_cpu(READ_ONCE(peer->area->beat));
	if (far != session->far_beats) {
		session->far_beats = far;
		session->silent = 0;
	} else {
		/*
		 * Silence is counted in own beats, not in time: a node that was
		 * itself stopped for a while must not declare its peer lost when
		 * it continues.
		 */
		session->silent++;
	}
	if (session->silent * beat_ms >= dlend_lost_ms)
		dlend_peer_lose(peer, "no heartbeat");
	else
		/* Look for messages whose doorbell was lost. */
		dlend_mailbox_look(peer);
	if (dlend_peer_is_up(peer))
		mod_timer(&session->beat, jiffies + msecs_to_jiffies(beat_ms));
	dlend_peer_exit(peer);
}

/* Begin and end. */

static void unmap_area(struct dlend_peer *peer)
{
	if (peer->far_area)
		peer->backend->area_unmap(peer);
	peer->far_area = NULL;
	peer->session.mapped_epoch = 0;
}

/*
 * A node that leaves removes its magic number. Its NTB's driver may then free the
 * scratchpads, so its peer answers and writes nothing more until it is back.
 */
static bool has_left(struct dlend_peer *peer)
{
	struct dlend_session *session = &peer->session;
	u32 magic = peer->backend->hello_read(peer, DLEND_HELLO_MAGIC);

	if (magic && magic != DLEND_PARTED) {
		session->met = session->opened;
		return false;
	}
	return session->met == session->opened;
}

/* Behind a link that is down, there may be no scratchpads. */
static void hello_end(struct dlend_peer *peer)
{
	if (READ_ONCE(peer->link))
		peer->backend->hello_write(peer, DLEND_HELLO_EPOCH, 0);
}

static void session_end(struct dlend_peer *peer)
{
	dev_info_ratelimited(peer->dev, "node %u is gone: %s\n", peer->node,
			     peer->why);
	dlend_count(peer, DLEND_COUNT_LOST);
	peer->session.away = has_left(peer);
	/* Tell the peer at once, if it is still there. */
	hello_end(peer);
	peer->backend->ring(peer);
	timer_delete_sync(&peer->session.beat);
	wait_event(peer->wait, !atomic_read(&peer->users));
	dlend_mailbox_stop(peer);
	dlend_peer_tell_down(peer);
	dlend_windows_close_all(peer);
	unmap_area(peer);
	dlend_peer_set_state(peer, DLEND_PEER_LINK_DOWN);
}

static void session_begin(struct dlend_peer *peer)
{
	struct dlend_session *session = &peer->session;
	unsigned long flags;
	bool up;

	dlend_windows_read_table(peer);
	session->beats = 0;
	session->far_beats = 0;
	session->silent = 0;
	spin_lock_irqsave(&dlend_lock, flags);
	/*
	 * If the link has changed since hello, dlend_peer_link() has queued life(). Another
	 * adapter may have come up with the same node since hello_check(), whose next run
	 * then refuses this one.
	 */
	up = peer->link && peer->wanted && peer->link_count == session->opened &&
	     !dlend_peer_node_is_taken_locked(peer, peer->node);
	if (up) {
		if (!++peer->session_number)
			peer->session_number = 1;
		/* Pairs with dlend_peer_enter(). */
		smp_store_release(&peer->state, DLEND_PEER_UP);
	}
	spin_unlock_irqrestore(&dlend_lock, flags);
	if (!up) {
		dlend_windows_close_all(peer);
		return;
	}
	dlend_count(peer, DLEND_COUNT_SESSIONS);
	dev_info_ratelimited(peer->dev, "node %u is up\n", peer->node);
	mod_timer(&session->beat, jiffies);
	dlend_peer_tell_up(peer);
}

/* Hello. */

static void hello_write(struct dlend_peer *peer)
{
	const struct dlend_backend *b = peer->backend;
	const struct dlend_session *session = &peer->session;

	b->hello_write(peer, DLEND_HELLO_MAGIC, DLEND_MAGIC | DLEND_VERSION);
	b->hello_write(peer, DLEND_HELLO_NODE, peer->self);
	b->hello_write(peer, DLEND_HELLO_WINDOW, session->area_window);
	b->hello_write(peer, DLEND_HELLO_ADDR_LO,
		       lower_32_bits(session->area_addr));
	b->hello_write(peer, DLEND_HELLO_ADDR_HI,
		       upper_32_bits(session->area_addr));
	b->hello_write(peer, DLEND_HELLO_ECHO, session->mapped_epoch);
	b->hello_write(peer, DLEND_HELLO_EPOCH, peer->epoch);
}

/* Logs why a peer is refused, once for each of its epochs. */
static void hello_refuse(struct dlend_peer *peer, u32 epoch, const char *why,
			 u32 value)
{
	if (peer->session.refused_epoch == epoch)
		return;
	peer->session.refused_epoch = epoch;
	dlend_count(peer, DLEND_COUNT_BAD_HELLO);
	dev_warn_ratelimited(peer->dev, "the peer is refused: %s %u\n", why,
			     value);
}

/*
 * Checks magic, version and node number, which the peer has written.
 *
 * Return: whether a session with the peer is possible.
 */
static bool hello_check(struct dlend_peer *peer, u32 epoch, u32 magic, u32 node)
{
	if ((magic & 0xffff0000) != DLEND_MAGIC)
		return false;
	if ((magic & 0xffff) != DLEND_VERSION)
		hello_refuse(peer, epoch, "it speaks another version,",
			     magic & 0xffff);
	else if (!node || node > DLEND_NODE_MAX)
		hello_refuse(peer, epoch, "it claims an impossible node number,",
			     node);
	else if (node == peer->self)
		hello_refuse(peer, epoch,
			     "set the parameter node_id: both ends are node",
			     node);
	else if (dlend_peer_node_is_taken(peer, node))
		hello_refuse(peer, epoch, "another adapter leads to node", node);
	else
		return true;
	return false;
}

/*
 * Reads the peer's hello. If the peer has a new epoch, this maps its area and writes
 * our table of windows there. The caller then answers with hello_write().
 *
 * Return: the peer's epoch if its area is mapped, or 0.
 */
static u32 hello_read(struct dlend_peer *peer)
{
	const struct dlend_backend *b = peer->backend;
	struct dlend_session *session = &peer->session;
	u32 epoch = b->hello_read(peer, DLEND_HELLO_EPOCH);
	u32 magic = b->hello_read(peer, DLEND_HELLO_MAGIC);
	u32 node = b->hello_read(peer, DLEND_HELLO_NODE);
	u32 window = b->hello_read(peer, DLEND_HELLO_WINDOW);
	u64 addr = b->hello_read(peer, DLEND_HELLO_ADDR_LO);
	void __iomem *area;

	addr |= (u64)b->hello_read(peer, DLEND_HELLO_ADDR_HI) << 32;
	/* The words belong together if the epoch has not changed meanwhile. */
	if (!epoch || epoch != b->hello_read(peer, DLEND_HELLO_EPOCH))
		return 0;
	if (!hello_check(peer, epoch, magic, node))
		return 0;
	if (session->mapped_epoch == epoch)
		return epoch;
	unmap_area(peer);
	area = b->area_map(peer, window, addr);
	if (IS_ERR(area)) {
		hello_refuse(peer, epoch,
			     "its control area cannot be reached through window",
			     window);
		return 0;
	}
	peer->far_area = area;
	WRITE_ONCE(peer->node, node);
	/*
	 * The peer's earlier epoch may have been answered. The peer may then have
	 * come up at its end only, and have left requests here. Under the new
	 * epoch it writes none before this node answers.
	 */
	memset(peer->area->request, 0, sizeof(peer->area->request));
	memset(peer->area->response, 0, sizeof(peer->area->response));
	dlend_mailbox_reset(peer);
	dlend_windows_write_table(peer);
	peer->far_epoch = epoch;
	session->mapped_epoch = epoch;
	return epoch;
}

/* Starts over with a new epoch, which ends the session at the peer's end. */
static int hello_open(struct dlend_peer *peer)
{
	struct dlend_session *session = &peer->session;
	u32 count = READ_ONCE(peer->link_count);
	int err;

	unmap_area(peer);
	do {
		peer->epoch = get_random_u32();
	} while (!peer->epoch);
	memset(peer->area, 0, sizeof(*peer->area));
	dlend_mailbox_reset(peer);
	if (session->opened != count) {
		err = peer->backend->area_open(peer, &session->area_window,
					       &session->area_addr);
		if (err)
			return err;
		session->opened = count;
	}
	dlend_windows_retry(peer);
	return 0;
}

static void hello_close(struct dlend_peer *peer)
{
	unmap_area(peer);
	if (!peer->session.away)
		hello_end(peer);
}

/* The life of a peer: its state decides about the next step. */

static void life_step(struct dlend_peer *peer)
{
	struct dlend_session *session = &peer->session;
	enum dlend_peer_state state;
	unsigned long flags;
	bool link, wanted;
	u32 count;
	int err;

	lockdep_assert_held(&peer->life_mutex);
	if (READ_ONCE(peer->state) == DLEND_PEER_LOST)
		session_end(peer);
	spin_lock_irqsave(&dlend_lock, flags);
	link = peer->link;
	wanted = peer->wanted && !peer->removing;
	count = peer->link_count;
	state = peer->state;
	spin_unlock_irqrestore(&dlend_lock, flags);
	if (state == DLEND_PEER_UP || state == DLEND_PEER_LOST)
		return;
	if (!link || !wanted) {
		if (state == DLEND_PEER_HELLO)
			hello_close(peer);
		if (!link && session->away && peer->backend->hello_mark)
			peer->backend->hello_mark(peer, DLEND_HELLO_MAGIC,
						  DLEND_PARTED);
		dlend_peer_set_state(peer, wanted ? DLEND_PEER_LINK_DOWN :
						    DLEND_PEER_DISCONNECTED);
		return;
	}
	if (state != DLEND_PEER_HELLO || session->opened != count) {
		err = hello_open(peer);
		if (err) {
			dev_warn_ratelimited(peer->dev,
					     "the control area cannot be opened, trying again: error %d\n",
					     -err);
			dlend_peer_kick(peer, AREA_RETRY_MS);
			return;
		}
		dlend_peer_set_state(peer, DLEND_PEER_HELLO);
	}
	if (has_left(peer)) {
		if (!session->away)
			hello_end(peer);
		session->away = true;
		dlend_peer_kick(peer, HELLO_MS);
		return;
	}
	session->away = false;
	if (hello_read(peer) &&
	    peer->backend->hello_read(peer, DLEND_HELLO_ECHO) == peer->epoch) {
		/* The peer comes up only after it has read our echo. */
		hello_write(peer);
		session_begin(peer);
	} else {
		hello_write(peer);
	}
	if (READ_ONCE(peer->state) == DLEND_PEER_HELLO)
		dlend_peer_kick(peer, HELLO_MS);
}

static void life(struct work_struct *work)
{
	struct dlend_peer *peer = container_of(to_delayed_work(work),
					       struct dlend_peer, life);

	bool stuck = false;

	mutex_lock(&peer->life_mutex);
	life_step(peer);
	/*
	 * A window that is closed while the link goes down may fail, and need not wait for
	 * the link. A hello has tried already.
	 */
	if (READ_ONCE(peer->state) != DLEND_PEER_HELLO)
		stuck = dlend_windows_retry(peer);
	mutex_unlock(&peer->life_mutex);
	if (stuck)
		dlend_peer_kick_later(peer, WINDOW_RETRY_MS);
}

/* Functions for backends. */

int dlend_peer_init(struct dlend_peer *peer,
		    const struct dlend_backend *backend, struct device *dev,
		    const char *name, u32 self, struct dlend_area *area)
{
	int err;

	kref_init(&peer->ref);
	peer->backend = backend;
	peer->dev = dev;
	strscpy(peer->name, name, sizeof(peer->name));
	peer->self = self;
	peer->area = area;
	peer->state = DLEND_PEER_LINK_DOWN;
	peer->wanted = true;
	init_waitqueue_head(&peer->wait);
	ratelimit_state_init(&peer->log_limit, 5 * HZ, 50);
	/* The limit itself writes no lines. */
	ratelimit_set_flags(&peer->log_limit, RATELIMIT_MSG_ON_RELEASE);
	mutex_init(&peer->life_mutex);
	INIT_DELAYED_WORK(&peer->life, life);
	timer_setup(&peer->session.beat, beat, 0);
	dlend_windows_setup(peer);
	err = dlend_mailbox_setup(peer);
	if (err)
		return err;
	peer->life_wq = alloc_ordered_workqueue("dl_life_%s", 0, name);
	if (!peer->life_wq) {
		err = -ENOMEM;
		goto free_mailbox;
	}
	err = dlend_peer_enlist(peer);
	if (err)
		goto destroy_life;
	dlend_debugfs_add(peer);
	return 0;

destroy_life:
	destroy_workqueue(peer->life_wq);
free_mailbox:
	dlend_mailbox_free(peer);
	return err;
}

void dlend_peer_start(struct dlend_peer *peer)
{
	dlend_peer_kick(peer, 0);
}

/* Until the peer has answered, it may write to this node. */
static void wait_for_answer(struct dlend_peer *peer)
{
	u32 epoch;

	read_poll_timeout(peer->backend->hello_read, epoch,
			  !epoch || !READ_ONCE(peer->link), LEAVE_LOOK_US,
			  LEAVE_US, false, peer, DLEND_HELLO_EPOCH);
}

void dlend_peer_stop(struct dlend_peer *peer)
{
	unsigned long flags;

	spin_lock_irqsave(&dlend_lock, flags);
	peer->removing = true;
	spin_unlock_irqrestore(&dlend_lock, flags);
	cancel_delayed_work_sync(&peer->life);
	if (READ_ONCE(peer->link))
		peer->backend->hello_write(peer, DLEND_HELLO_MAGIC, 0);
	dlend_peer_lose(peer, "the adapter is removed");
	mutex_lock(&peer->life_mutex);
	life_step(peer);
	mutex_unlock(&peer->life_mutex);
	wait_for_answer(peer);

	dlend_peer_unlist(peer);
	dlend_debugfs_remove(peer);
	dlend_mailbox_free(peer);
	destroy_workqueue(peer->life_wq);
}
