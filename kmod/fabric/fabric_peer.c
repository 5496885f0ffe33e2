// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of peers, the states of peers, the users of their sessions, and the
 * clients.
 */
#include <linux/module.h>

#include "fabric.h"

unsigned int dlend_node_id = 1;
module_param_named(node_id, dlend_node_id, uint, 0444);
MODULE_PARM_DESC(node_id, "number of this node among its peers, 1 to 65533 (1)");

/* Guards the tables below and the state of all peers. */
DEFINE_SPINLOCK(dlend_lock);
static struct dlend_peer *peers[DLEND_PEERS_MAX];
static struct dlend_client *clients[DLEND_CLIENTS_MAX];
static u32 clients_taken, clients_closing;

int dlend_peers_init(void)
{
	if (!dlend_node_id || dlend_node_id >= DLEND_NODE_MAX) {
		pr_err("dl_fabric: node_id is %u, but must be 1 to %u\n",
		       dlend_node_id, DLEND_NODE_MAX - 1);
		return -EINVAL;
	}
	return 0;
}

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
		/* Two peers may have had this number; prefer the one that is up. */
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
	return READ_ONCE(peer->session_number);
}
EXPORT_SYMBOL_GPL(dlend_peer_session);

bool dlend_peer_may_log(struct dlend_peer *peer)
{
	return __ratelimit(&peer->log_limit);
}
EXPORT_SYMBOL_GPL(dlend_peer_may_log);

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

bool dlend_peer_keeps_bars(struct dlend_peer *peer)
{
	return peer->backend->keeps_bars && peer->backend->keeps_bars(peer);
}
EXPORT_SYMBOL_GPL(dlend_peer_keeps_bars);

struct device *dlend_peer_requester(struct dlend_peer *peer, u32 bdf)
{
	return peer->backend->requester(peer, bdf);
}
EXPORT_SYMBOL_GPL(dlend_peer_requester);

int dlend_admit(struct dlend_peer *peer, u16 id)
{
	int err = 0;

	might_sleep();
	if (!dlend_peer_enter(peer))
		return -ENOTCONN;
	if (peer->backend->admit)
		err = peer->backend->admit(peer, id);
	dlend_peer_exit(peer);
	return err;
}
EXPORT_SYMBOL_GPL(dlend_admit);

void dlend_expel(struct dlend_peer *peer, u16 id)
{
	might_sleep();
	if (peer->backend->expel)
		peer->backend->expel(peer, id);
}
EXPORT_SYMBOL_GPL(dlend_expel);

u32 dlend_node(void)
{
	return dlend_node_id;
}
EXPORT_SYMBOL_GPL(dlend_node);

/* The table. */

int dlend_peer_enlist(struct dlend_peer *peer)
{
	unsigned long flags;
	int i;

	spin_lock_irqsave(&dlend_lock, flags);
	for (i = 0; i < DLEND_PEERS_MAX && peers[i]; i++)
		;
	if (i < DLEND_PEERS_MAX) {
		peer->index = i;
		peers[i] = peer;
	}
	spin_unlock_irqrestore(&dlend_lock, flags);
	return i < DLEND_PEERS_MAX ? 0 : -ENOSPC;
}

void dlend_peer_unlist(struct dlend_peer *peer)
{
	unsigned long flags;

	spin_lock_irqsave(&dlend_lock, flags);
	peers[peer->index] = NULL;
	spin_unlock_irqrestore(&dlend_lock, flags);
}

bool dlend_peer_node_is_taken_locked(struct dlend_peer *peer, u32 node)
{
	int i;

	lockdep_assert_held(&dlend_lock);
	for (i = 0; i < DLEND_PEERS_MAX; i++)
		if (peers[i] && peers[i] != peer && peers[i]->node == node &&
		    peers[i]->self == peer->self &&
		    peers[i]->state == DLEND_PEER_UP)
			return true;
	return false;
}

bool dlend_peer_node_is_taken(struct dlend_peer *peer, u32 node)
{
	unsigned long flags;
	bool taken;

	spin_lock_irqsave(&dlend_lock, flags);
	taken = dlend_peer_node_is_taken_locked(peer, node);
	spin_unlock_irqrestore(&dlend_lock, flags);
	return taken;
}

/* Users of a session. */

bool dlend_peer_enter(struct dlend_peer *peer)
{
	atomic_inc(&peer->users);
	/* Either session_end() sees this user, or this user sees that the session ends. */
	smp_mb__after_atomic();
	/* Pairs with session_begin(), so what it has set up is visible here. */
	if (smp_load_acquire(&peer->state) == DLEND_PEER_UP)
		return true;
	dlend_peer_exit(peer);
	return false;
}

void dlend_peer_exit(struct dlend_peer *peer)
{
	/* While the peer is up, take no lock: the caller may hold a raw spinlock. */
	if (atomic_dec_and_test(&peer->users) &&
	    READ_ONCE(peer->state) != DLEND_PEER_UP)
		wake_up_all(&peer->wait);
}

/* Changes of state. */

void dlend_peer_kick(struct dlend_peer *peer, unsigned int ms)
{
	unsigned long flags;

	spin_lock_irqsave(&dlend_lock, flags);
	if (!peer->removing)
		mod_delayed_work(peer->life_wq, &peer->life,
				 msecs_to_jiffies(ms));
	spin_unlock_irqrestore(&dlend_lock, flags);
}

void dlend_peer_kick_later(struct dlend_peer *peer, unsigned int ms)
{
	unsigned long flags;

	spin_lock_irqsave(&dlend_lock, flags);
	if (!peer->removing)
		queue_delayed_work(peer->life_wq, &peer->life, msecs_to_jiffies(ms));
	spin_unlock_irqrestore(&dlend_lock, flags);
}

void dlend_peer_set_state(struct dlend_peer *peer, enum dlend_peer_state state)
{
	unsigned long flags;

	spin_lock_irqsave(&dlend_lock, flags);
	WRITE_ONCE(peer->state, state);
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
		dlend_peer_kick(peer, 0);
	}
}

void dlend_peer_link(struct dlend_peer *peer, bool up)
{
	unsigned long flags;

	spin_lock_irqsave(&dlend_lock, flags);
	peer->link = up;
	/* Skip 0, which means that there was no event yet. */
	if (!++peer->link_count)
		peer->link_count = 1;
	spin_unlock_irqrestore(&dlend_lock, flags);
	/* An "up" after an "up" means that the link was down in between. */
	dlend_peer_lose(peer, up ? "the link was down" : "the link is down");
	dlend_peer_kick(peer, 0);
}

static void peer_want(struct dlend_peer *peer, bool wanted)
{
	unsigned long flags;

	spin_lock_irqsave(&dlend_lock, flags);
	peer->wanted = wanted;
	spin_unlock_irqrestore(&dlend_lock, flags);
	if (!wanted)
		dlend_peer_lose(peer, "it was disconnected by order");
	dlend_peer_kick(peer, 0);
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

/* Clients. */

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
	/* A client that was told peer_up stays registered until it is told peer_down. */
	if (peer->told & BIT(bit))
		client = clients[bit];
	peer->told &= ~BIT(bit);
	spin_unlock_irqrestore(&dlend_lock, flags);
	if (client && client->peer_down)
		client->peer_down(peer);
}

void dlend_peer_tell_up(struct dlend_peer *peer)
{
	int bit;

	for (bit = 0; bit < DLEND_CLIENTS_MAX; bit++)
		tell_up(peer, bit);
}

void dlend_peer_tell_down(struct dlend_peer *peer)
{
	int bit;

	/* In reverse order, because a later client may depend on an earlier one. */
	for (bit = DLEND_CLIENTS_MAX - 1; bit >= 0; bit--)
		tell_down(peer, bit);
}

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

	/* From here on peer_up of this client is not called any more. */
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
