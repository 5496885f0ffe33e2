// SPDX-License-Identifier: GPL-2.0-only
/*
 * Peers: how they come, how it is noticed that they go, and who is told.
 */
#include <linux/debugfs.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "fabric.h"

unsigned int dlend_node_id = 1;
module_param_named(node_id, dlend_node_id, uint, 0444);
MODULE_PARM_DESC(node_id, "number of this node among its peers, 1 to 65533 (1)");

static unsigned int beat_ms = 100;
module_param(beat_ms, uint, 0444);
MODULE_PARM_DESC(beat_ms, "ms between two heartbeats (100)");

static unsigned int lost_ms = 2000;
module_param(lost_ms, uint, 0444);
MODULE_PARM_DESC(lost_ms, "ms without a heartbeat after which a peer is lost (2000)");

/* How often the words of hello are looked at. */
#define HELLO_MS 20

/* Guards the state of all peers, and the clients while peer_lost is said. */
static DEFINE_SPINLOCK(dlend_lock);
static struct dlend_peer *peers[DLEND_PEERS_MAX];
static struct dlend_client *clients[DLEND_CLIENTS_MAX];
static u32 clients_taken, clients_closing;

/* References and questions. */

struct dlend_peer *dlend_peer_get(struct dlend_peer *peer)
{
	kref_get(&peer->ref);
	return peer;
}
EXPORT_SYMBOL_GPL(dlend_peer_get);

static void peer_release(struct kref *ref)
{
	struct dlend_peer *peer = container_of(ref, struct dlend_peer, ref);

	kfree(peer->inbox);
	peer->backend->release(peer);
}

void dlend_peer_put(struct dlend_peer *peer)
{
	if (peer)
		kref_put(&peer->ref, peer_release);
}
EXPORT_SYMBOL_GPL(dlend_peer_put);

struct dlend_peer *dlend_peer_at(unsigned int index)
{
	struct dlend_peer *peer = NULL;
	unsigned long flags;

	if (index >= DLEND_PEERS_MAX)
		return NULL;
	spin_lock_irqsave(&dlend_lock, flags);
	if (peers[index])
		peer = dlend_peer_get(peers[index]);
	spin_unlock_irqrestore(&dlend_lock, flags);
	return peer;
}
EXPORT_SYMBOL_GPL(dlend_peer_at);

struct dlend_peer *dlend_peer_find(u32 node)
{
	struct dlend_peer *found = NULL;
	unsigned long flags;
	int i;

	spin_lock_irqsave(&dlend_lock, flags);
	for (i = 0; node && i < DLEND_PEERS_MAX; i++) {
		if (!peers[i] || peers[i]->node != node)
			continue;
		/* Two may have had this number: the one that is up now counts. */
		if (!found || peers[i]->state == DLEND_PEER_UP)
			found = peers[i];
	}
	if (found)
		dlend_peer_get(found);
	spin_unlock_irqrestore(&dlend_lock, flags);
	return found;
}
EXPORT_SYMBOL_GPL(dlend_peer_find);

u32 dlend_peer_node(struct dlend_peer *peer)
{
	return READ_ONCE(peer->node);
}
EXPORT_SYMBOL_GPL(dlend_peer_node);

u32 dlend_peer_self(struct dlend_peer *peer)
{
	return peer->self;
}
EXPORT_SYMBOL_GPL(dlend_peer_self);

const char *dlend_peer_name(struct dlend_peer *peer)
{
	return peer->name;
}
EXPORT_SYMBOL_GPL(dlend_peer_name);

enum dlend_peer_state dlend_peer_state(struct dlend_peer *peer)
{
	return READ_ONCE(peer->state);
}
EXPORT_SYMBOL_GPL(dlend_peer_state);

bool dlend_peer_is_up(struct dlend_peer *peer)
{
	return READ_ONCE(peer->state) == DLEND_PEER_UP;
}
EXPORT_SYMBOL_GPL(dlend_peer_is_up);

u32 dlend_peer_session(struct dlend_peer *peer)
{
	return READ_ONCE(peer->session);
}
EXPORT_SYMBOL_GPL(dlend_peer_session);

struct device *dlend_peer_dev(struct dlend_peer *peer)
{
	return peer->dev;
}
EXPORT_SYMBOL_GPL(dlend_peer_dev);

bool dlend_peer_is_loopback(struct dlend_peer *peer)
{
	return peer->backend->is_loopback;
}
EXPORT_SYMBOL_GPL(dlend_peer_is_loopback);

struct device *dlend_peer_requester(struct dlend_peer *peer, u32 bdf)
{
	return peer->backend->requester(peer, bdf);
}
EXPORT_SYMBOL_GPL(dlend_peer_requester);

u32 dlend_node(void)
{
	return dlend_node_id;
}
EXPORT_SYMBOL_GPL(dlend_node);

/* Who is in a session. */

bool dlend_peer_enter(struct dlend_peer *peer)
{
	atomic_inc(&peer->users);
	/* Either the end of the session sees the user, or he sees the end. */
	smp_mb__after_atomic();
	/* What session_begin() has set up is there. */
	if (smp_load_acquire(&peer->state) == DLEND_PEER_UP)
		return true;
	dlend_peer_exit(peer);
	return false;
}

void dlend_peer_exit(struct dlend_peer *peer)
{
	/* No lock is taken while the peer is up: the caller may hold a raw one. */
	if (atomic_dec_and_test(&peer->users) &&
	    READ_ONCE(peer->state) != DLEND_PEER_UP)
		wake_up_all(&peer->wait);
}

/* The life of a peer. */

static void life_queue(struct dlend_peer *peer, unsigned int ms)
{
	unsigned long flags;

	spin_lock_irqsave(&dlend_lock, flags);
	if (!peer->removing)
		mod_delayed_work(peer->life_wq, &peer->life, msecs_to_jiffies(ms));
	spin_unlock_irqrestore(&dlend_lock, flags);
}

void dlend_peer_lose(struct dlend_peer *peer, const char *why)
{
	unsigned long flags;
	bool lost = false;
	int bit;

	spin_lock_irqsave(&dlend_lock, flags);
	if (peer->state == DLEND_PEER_UP) {
		WRITE_ONCE(peer->state, DLEND_PEER_LOST);
		peer->why = why;
		lost = true;
		for (bit = 0; bit < DLEND_CLIENTS_MAX; bit++) {
			if (peer->told & BIT(bit) && clients[bit] &&
			    clients[bit]->peer_lost)
				clients[bit]->peer_lost(peer);
		}
	}
	spin_unlock_irqrestore(&dlend_lock, flags);
	if (lost) {
		wake_up_all(&peer->wait);
		life_queue(peer, 0);
	}
}

void dlend_peer_link(struct dlend_peer *peer, bool up)
{
	unsigned long flags;

	spin_lock_irqsave(&dlend_lock, flags);
	peer->link = up;
	/* 0 is never the number of an open area. */
	if (!++peer->link_count)
		peer->link_count = 1;
	spin_unlock_irqrestore(&dlend_lock, flags);
	/* Up after up: the link was down in between. */
	dlend_peer_lose(peer, up ? "the link was down" : "the link is down");
	life_queue(peer, 0);
}

static void peer_want(struct dlend_peer *peer, bool wanted)
{
	unsigned long flags;

	spin_lock_irqsave(&dlend_lock, flags);
	peer->wanted = wanted;
	spin_unlock_irqrestore(&dlend_lock, flags);
	if (!wanted)
		dlend_peer_lose(peer, "disconnected");
	life_queue(peer, 0);
}

void dlend_peer_connect(struct dlend_peer *peer)
{
	peer_want(peer, true);
}
EXPORT_SYMBOL_GPL(dlend_peer_connect);

void dlend_peer_disconnect(struct dlend_peer *peer)
{
	peer_want(peer, false);
}
EXPORT_SYMBOL_GPL(dlend_peer_disconnect);

static void set_state(struct dlend_peer *peer, enum dlend_peer_state state)
{
	unsigned long flags;

	spin_lock_irqsave(&dlend_lock, flags);
	WRITE_ONCE(peer->state, state);
	spin_unlock_irqrestore(&dlend_lock, flags);
}

static void beat(struct timer_list *timer)
{
	struct dlend_peer *peer = from_timer(peer, timer, beat);
	struct dlend_area __iomem *far_area;
	u32 far;

	if (!dlend_peer_enter(peer))
		return;
	far_area = peer->far_area;
	writel(++peer->beats, &far_area->beat);
	far = le32_to_cpu(READ_ONCE(peer->area->beat));
	if (far != peer->far_beats) {
		peer->far_beats = far;
		peer->silent = 0;
	} else {
		/*
		 * Counted in own beats, not in time: a node that was stopped
		 * for a while must not take its peer for dead when it goes on.
		 */
		peer->silent++;
	}
	if (peer->silent * beat_ms >= lost_ms)
		dlend_peer_lose(peer, "no heartbeat");
	else
		/* In case that a doorbell went astray. */
		dlend_mailbox_look(peer);
	if (dlend_peer_is_up(peer))
		mod_timer(&peer->beat, jiffies + msecs_to_jiffies(beat_ms));
	dlend_peer_exit(peer);
}

static void tell_up(struct dlend_peer *peer, unsigned int bit)
{
	struct dlend_client *client = NULL;
	unsigned long flags;

	lockdep_assert_held(&peer->life_mutex);
	spin_lock_irqsave(&dlend_lock, flags);
	if (clients[bit] && !(clients_closing & BIT(bit)) &&
	    peer->state == DLEND_PEER_UP && !(peer->told & BIT(bit))) {
		client = clients[bit];
		peer->told |= BIT(bit);
	}
	spin_unlock_irqrestore(&dlend_lock, flags);
	if (client && client->peer_up)
		client->peer_up(peer);
}

static void tell_down(struct dlend_peer *peer, unsigned int bit)
{
	struct dlend_client *client = NULL;
	unsigned long flags;

	lockdep_assert_held(&peer->life_mutex);
	spin_lock_irqsave(&dlend_lock, flags);
	/* A client that was told is there until it is told this. */
	if (peer->told & BIT(bit))
		client = clients[bit];
	peer->told &= ~BIT(bit);
	spin_unlock_irqrestore(&dlend_lock, flags);
	if (client && client->peer_down)
		client->peer_down(peer);
}

static void session_end(struct dlend_peer *peer)
{
	int bit;

	dev_info_ratelimited(peer->dev, "%s: node %u is gone: %s\n", peer->name,
			     peer->node, peer->why);
	dlend_count(peer, DLEND_COUNT_LOST);
	/* The peer notices at once, if it is there. */
	peer->backend->hello_write(peer, DLEND_HELLO_EPOCH, 0);
	peer->backend->ring(peer);
	del_timer_sync(&peer->beat);
	wait_event(peer->wait, !atomic_read(&peer->users));
	cancel_work_sync(&peer->serve);
	/* In reverse: who came last may build on who came first. */
	for (bit = DLEND_CLIENTS_MAX - 1; bit >= 0; bit--)
		tell_down(peer, bit);
	dlend_window_close_all(peer);
	peer->backend->area_unmap(peer);
	peer->far_area = NULL;
	peer->mapped_epoch = 0;
	set_state(peer, DLEND_PEER_LINK_DOWN);
}

static void session_begin(struct dlend_peer *peer)
{
	unsigned long flags;
	bool up;
	int bit;

	dlend_window_read_table(peer);
	peer->beats = 0;
	peer->far_beats = 0;
	peer->silent = 0;
	peer->unanswered = 0;
	spin_lock_irqsave(&dlend_lock, flags);
	/* Whatever happened to the link since it was looked at comes to life(). */
	up = peer->link && peer->wanted && peer->link_count == peer->opened;
	if (up) {
		if (!++peer->session)
			peer->session = 1;
		/* Pairs with dlend_peer_enter(). */
		smp_store_release(&peer->state, DLEND_PEER_UP);
	}
	spin_unlock_irqrestore(&dlend_lock, flags);
	if (!up) {
		dlend_window_close_all(peer);
		return;
	}
	dlend_count(peer, DLEND_COUNT_SESSIONS);
	dev_info_ratelimited(peer->dev, "%s: node %u is up\n", peer->name,
			     peer->node);
	mod_timer(&peer->beat, jiffies);
	for (bit = 0; bit < DLEND_CLIENTS_MAX; bit++)
		tell_up(peer, bit);
}

static void hello_write(struct dlend_peer *peer)
{
	const struct dlend_backend *b = peer->backend;

	b->hello_write(peer, DLEND_HELLO_MAGIC, DLEND_MAGIC | DLEND_VERSION);
	b->hello_write(peer, DLEND_HELLO_NODE, peer->self);
	b->hello_write(peer, DLEND_HELLO_WINDOW, peer->area_window);
	b->hello_write(peer, DLEND_HELLO_ADDR_LO, lower_32_bits(peer->area_addr));
	b->hello_write(peer, DLEND_HELLO_ADDR_HI, upper_32_bits(peer->area_addr));
	b->hello_write(peer, DLEND_HELLO_ECHO, peer->mapped_epoch);
	b->hello_write(peer, DLEND_HELLO_EPOCH, peer->epoch);
}

static bool node_is_taken(struct dlend_peer *peer, u32 node)
{
	unsigned long flags;
	bool taken = false;
	int i;

	spin_lock_irqsave(&dlend_lock, flags);
	for (i = 0; i < DLEND_PEERS_MAX; i++) {
		if (peers[i] && peers[i] != peer && peers[i]->node == node &&
		    peers[i]->self == peer->self &&
		    peers[i]->state == DLEND_PEER_UP)
			taken = true;
	}
	spin_unlock_irqrestore(&dlend_lock, flags);
	return taken;
}

/* Says once for each of the peer's epochs why it is not taken. */
static void hello_refuse(struct dlend_peer *peer, u32 epoch, const char *why, u32 what)
{
	if (peer->refused_epoch == epoch)
		return;
	peer->refused_epoch = epoch;
	dlend_count(peer, DLEND_COUNT_BAD_HELLO);
	dev_warn_ratelimited(peer->dev, "%s: %s %u\n", peer->name, why, what);
}

/*
 * Looks whether the peer has said hello. Everything read is the peer's word.
 *
 * Return: its epoch, mapped and answered, or 0.
 */
static u32 hello_read(struct dlend_peer *peer)
{
	const struct dlend_backend *b = peer->backend;
	u32 epoch = b->hello_read(peer, DLEND_HELLO_EPOCH);
	u32 magic = b->hello_read(peer, DLEND_HELLO_MAGIC);
	u32 node = b->hello_read(peer, DLEND_HELLO_NODE);
	u32 window = b->hello_read(peer, DLEND_HELLO_WINDOW);
	u64 addr = b->hello_read(peer, DLEND_HELLO_ADDR_LO);
	void __iomem *area;

	addr |= (u64)b->hello_read(peer, DLEND_HELLO_ADDR_HI) << 32;
	if (!epoch || epoch != b->hello_read(peer, DLEND_HELLO_EPOCH))
		return 0;
	if ((magic & 0xffff0000) != DLEND_MAGIC)
		return 0;
	if ((magic & 0xffff) != DLEND_VERSION) {
		hello_refuse(peer, epoch, "the peer speaks version", magic & 0xffff);
		return 0;
	}
	if (!node || node > DLEND_NODE_MAX) {
		hello_refuse(peer, epoch, "the peer says that it is node", node);
		return 0;
	}
	if (node == peer->self) {
		hello_refuse(peer, epoch,
			     "set the parameter node_id: both ends are node", node);
		return 0;
	}
	if (node_is_taken(peer, node)) {
		hello_refuse(peer, epoch, "another adapter leads to node", node);
		return 0;
	}
	if (peer->mapped_epoch == epoch)
		return epoch;
	if (peer->far_area)
		b->area_unmap(peer);
	peer->far_area = NULL;
	peer->mapped_epoch = 0;
	area = b->area_map(peer, window, addr);
	if (IS_ERR(area)) {
		hello_refuse(peer, epoch, "there cannot be an area in window", window);
		return 0;
	}
	peer->far_area = area;
	WRITE_ONCE(peer->node, node);
	/*
	 * One that was answered before, and was up for itself alone, may have
	 * left requests. The new one writes none before it is answered.
	 */
	memset(peer->area->request, 0, sizeof(peer->area->request));
	memset(peer->area->response, 0, sizeof(peer->area->response));
	dlend_mailbox_reset(peer);
	dlend_window_write_table(peer);
	peer->far_epoch = epoch;
	peer->mapped_epoch = epoch;
	return epoch;
}

/* A new start: nothing that the peer knows of us holds any more. */
static int hello_open(struct dlend_peer *peer)
{
	u32 count = READ_ONCE(peer->link_count);
	int err;

	if (peer->far_area)
		peer->backend->area_unmap(peer);
	peer->far_area = NULL;
	peer->mapped_epoch = 0;
	do {
		peer->epoch = get_random_u32();
	} while (!peer->epoch);
	memset(peer->area, 0, sizeof(*peer->area));
	dlend_mailbox_reset(peer);
	if (peer->opened != count) {
		err = peer->backend->area_open(peer, &peer->area_window,
					       &peer->area_addr);
		if (err)
			return err;
		peer->opened = count;
	}
	dlend_window_retry(peer);
	return 0;
}

static void hello_close(struct dlend_peer *peer)
{
	if (peer->far_area)
		peer->backend->area_unmap(peer);
	peer->far_area = NULL;
	peer->mapped_epoch = 0;
	peer->backend->hello_write(peer, DLEND_HELLO_EPOCH, 0);
}

static void life_step(struct dlend_peer *peer)
{
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
		set_state(peer, wanted ? DLEND_PEER_LINK_DOWN : DLEND_PEER_DISCONNECTED);
		return;
	}
	if (state != DLEND_PEER_HELLO || peer->opened != count) {
		err = hello_open(peer);
		if (err) {
			dev_warn_ratelimited(peer->dev, "%s: no control area: %d\n",
					     peer->name, err);
			life_queue(peer, 1000);
			return;
		}
		set_state(peer, DLEND_PEER_HELLO);
	}
	if (hello_read(peer) &&
	    peer->backend->hello_read(peer, DLEND_HELLO_ECHO) == peer->epoch) {
		/* Our echo, for the peer that is not up yet. */
		hello_write(peer);
		session_begin(peer);
	} else {
		hello_write(peer);
	}
	if (READ_ONCE(peer->state) == DLEND_PEER_HELLO)
		life_queue(peer, HELLO_MS);
}

static void life(struct work_struct *work)
{
	struct dlend_peer *peer = container_of(to_delayed_work(work), struct dlend_peer,
					       life);

	mutex_lock(&peer->life_mutex);
	life_step(peer);
	mutex_unlock(&peer->life_mutex);
}

/* What backends call. */

int dlend_peer_init(struct dlend_peer *peer, const struct dlend_backend *backend,
		    struct device *dev, const char *name, u32 self,
		    struct dlend_area *area)
{
	unsigned long flags;
	int err = -ENOMEM;
	int i;

	kref_init(&peer->ref);
	peer->backend = backend;
	peer->dev = dev;
	strscpy(peer->name, name, sizeof(peer->name));
	peer->self = self;
	peer->area = area;
	peer->state = DLEND_PEER_LINK_DOWN;
	peer->wanted = true;
	mutex_init(&peer->life_mutex);
	mutex_init(&peer->window_mutex);
	INIT_LIST_HEAD(&peer->exports);
	INIT_DELAYED_WORK(&peer->life, life);
	INIT_WORK(&peer->serve, dlend_mailbox_serve);
	timer_setup(&peer->beat, beat, 0);
	init_waitqueue_head(&peer->wait);
	peer->inbox = kcalloc(DLEND_SLOTS, sizeof(*peer->inbox), GFP_KERNEL);
	if (!peer->inbox)
		return -ENOMEM;
	peer->life_wq = alloc_ordered_workqueue("dl_life_%s", 0, name);
	if (!peer->life_wq)
		goto free_inbox;
	peer->serve_wq = alloc_ordered_workqueue("dl_serve_%s", 0, name);
	if (!peer->serve_wq)
		goto destroy_life;

	spin_lock_irqsave(&dlend_lock, flags);
	for (i = 0; i < DLEND_PEERS_MAX && peers[i]; i++)
		;
	if (i < DLEND_PEERS_MAX) {
		peer->index = i;
		peers[i] = peer;
	}
	spin_unlock_irqrestore(&dlend_lock, flags);
	if (i == DLEND_PEERS_MAX) {
		err = -ENOSPC;
		goto destroy_serve;
	}
	dlend_debugfs_add(peer);
	return 0;

destroy_serve:
	destroy_workqueue(peer->serve_wq);
destroy_life:
	destroy_workqueue(peer->life_wq);
free_inbox:
	kfree(peer->inbox);
	return err;
}

void dlend_peer_start(struct dlend_peer *peer)
{
	life_queue(peer, 0);
}

void dlend_peer_stop(struct dlend_peer *peer)
{
	unsigned long flags;

	spin_lock_irqsave(&dlend_lock, flags);
	peer->removing = true;
	spin_unlock_irqrestore(&dlend_lock, flags);
	cancel_delayed_work_sync(&peer->life);
	dlend_peer_lose(peer, "the adapter is removed");
	mutex_lock(&peer->life_mutex);
	life_step(peer);
	mutex_unlock(&peer->life_mutex);

	spin_lock_irqsave(&dlend_lock, flags);
	peers[peer->index] = NULL;
	spin_unlock_irqrestore(&dlend_lock, flags);
	debugfs_remove_recursive(peer->debugfs);
	destroy_workqueue(peer->serve_wq);
	destroy_workqueue(peer->life_wq);
}

/* What clients call. */

int dlend_client_register(struct dlend_client *client)
{
	struct dlend_peer *peer;
	unsigned long flags;
	int i;

	spin_lock_irqsave(&dlend_lock, flags);
	client->bit = ffz(clients_taken);
	if (client->bit < DLEND_CLIENTS_MAX) {
		clients_taken |= BIT(client->bit);
		clients[client->bit] = client;
	}
	spin_unlock_irqrestore(&dlend_lock, flags);
	if (client->bit >= DLEND_CLIENTS_MAX)
		return -ENOSPC;

	for (i = 0; i < DLEND_PEERS_MAX; i++) {
		peer = dlend_peer_at(i);
		if (!peer)
			continue;
		mutex_lock(&peer->life_mutex);
		tell_up(peer, client->bit);
		mutex_unlock(&peer->life_mutex);
		dlend_peer_put(peer);
	}
	return 0;
}
EXPORT_SYMBOL_GPL(dlend_client_register);

void dlend_client_unregister(struct dlend_client *client)
{
	struct dlend_peer *peer;
	unsigned long flags;
	int i;

	/* From here on no peer comes to it that did not before. */
	spin_lock_irqsave(&dlend_lock, flags);
	clients_closing |= BIT(client->bit);
	spin_unlock_irqrestore(&dlend_lock, flags);
	for (i = 0; i < DLEND_PEERS_MAX; i++) {
		peer = dlend_peer_at(i);
		if (!peer)
			continue;
		mutex_lock(&peer->life_mutex);
		tell_down(peer, client->bit);
		mutex_unlock(&peer->life_mutex);
		dlend_peer_put(peer);
	}
	spin_lock_irqsave(&dlend_lock, flags);
	clients[client->bit] = NULL;
	clients_closing &= ~BIT(client->bit);
	clients_taken &= ~BIT(client->bit);
	spin_unlock_irqrestore(&dlend_lock, flags);
}
EXPORT_SYMBOL_GPL(dlend_client_unregister);

static int __init fabric_init(void)
{
	int err;

	if (!dlend_node_id || dlend_node_id >= DLEND_NODE_MAX) {
		pr_err("dl_fabric: node_id is not in 1 to %u\n", DLEND_NODE_MAX - 1);
		return -EINVAL;
	}
	if (!beat_ms || lost_ms / 2 < beat_ms) {
		pr_err("dl_fabric: lost_ms is less than two beats\n");
		return -EINVAL;
	}
	dlend_debugfs_init();
	err = dlend_mailbox_init();
	if (err)
		goto remove_debugfs;
	err = dlend_loop_init();
	if (err)
		goto mailbox_done;
	err = dlend_ntb_init();
	if (err)
		goto loop_done;
	return 0;

loop_done:
	dlend_loop_done();
mailbox_done:
	dlend_mailbox_done();
remove_debugfs:
	dlend_debugfs_done();
	return err;
}

static void __exit fabric_exit(void)
{
	dlend_ntb_done();
	dlend_loop_done();
	dlend_mailbox_done();
	dlend_debugfs_done();
}

module_init(fabric_init);
module_exit(fabric_exit);
MODULE_DESCRIPTION("Device Lending: peers, calls and windows across NTBs");
MODULE_LICENSE("GPL");
