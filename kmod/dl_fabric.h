/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the fabric gives to the modules above it: peers that come and go, calls
 * to them, and windows onto their memory. There is one peer for each NTB of this
 * node, and two for the loopback, which joins this node with itself.
 *
 * Addresses: a "bus address" is what a device of the node in question puts on
 * its bus, a "physical address" what a CPU of this node maps. Sizes are in bytes.
 */
#ifndef DL_FABRIC_H
#define DL_FABRIC_H

#include <linux/device.h>
#include <linux/ioport.h>
#include <linux/module.h>
#include <linux/types.h>

/* A node at the other end. Counted: see dl_peer_get(). */
struct dl_peer;

enum dl_peer_state {
	DL_PEER_DISCONNECTED,	/* by order: see dl_peer_disconnect() */
	DL_PEER_LINK_DOWN,	/* the cable or the far end is not there */
	DL_PEER_HELLO,		/* waits until both ends know each other */
	DL_PEER_UP,
	DL_PEER_LOST,		/* was up; clients are being told */
};

/* Largest number of peers, and of clients, that there may be. */
#define DL_PEERS_MAX 16
#define DL_CLIENTS_MAX 8

struct dl_peer *dl_peer_get(struct dl_peer *peer);
void dl_peer_put(struct dl_peer *peer);

/*
 * dl_peer_find() - the peer that is a node
 *
 * Where the loopback is on, both of its ends are peers, and each is found by the
 * other's node.
 *
 * Return: a reference, or NULL where no peer with that node was ever up.
 */
struct dl_peer *dl_peer_find(u32 node);

/*
 * dl_peer_at() - the peers one after the other: index 0 to DL_PEERS_MAX - 1
 *
 * Return: a reference, or NULL if none has this index.
 */
struct dl_peer *dl_peer_at(unsigned int index);

/* Node number of this node; in the loopback, of its first end. */
u32 dl_node(void);

/* Node number of the far end; 0 as long as it has not said hello. */
u32 dl_peer_node(struct dl_peer *peer);

/* Node number of this end: differs between the two ends of the loopback. */
u32 dl_peer_self(struct dl_peer *peer);

/* Name of the adapter, as in the log: its BDF, or loop0 and loop1. */
const char *dl_peer_name(struct dl_peer *peer);

enum dl_peer_state dl_peer_state(struct dl_peer *peer);
bool dl_peer_is_up(struct dl_peer *peer);

/*
 * Number of the session: another one each time that the peer comes up, never 0.
 * What is kept of a peer is void when the number is another.
 */
u32 dl_peer_session(struct dl_peer *peer);

/*
 * dl_peer_dev() - the function of this node through which the peer reaches it
 *
 * The requester of all that the peer does here: memory that it shall reach is
 * mapped for this device by the DMA API. In the loopback a device without an
 * IOMMU, so that the addresses are physical ones.
 */
struct device *dl_peer_dev(struct dl_peer *peer);

/* Whether this end is one of the loopback. */
bool dl_peer_is_loopback(struct dl_peer *peer);

/*
 * dl_peer_requester() - who writes a message that a far function sends
 * @bdf: segment << 16 | bus << 8 | devfn of the function on the far node
 *
 * An NTB puts its own requester ID on what it forwards; in the loopback the
 * function itself remains the requester. Interrupt remapping compares this.
 *
 * Return: a reference that the caller gives back by put_device(), or NULL.
 */
struct device *dl_peer_requester(struct dl_peer *peer, u32 bdf);

/* Orders this end up or down; up is what it is at first. They do not wait. */
void dl_peer_connect(struct dl_peer *peer);
void dl_peer_disconnect(struct dl_peer *peer);

/*
 * Clients are told of peers.
 *
 * @peer_up and @peer_down come in pairs, may sleep, may call the peer (which
 * fails after a loss), and are never called at once for one peer. @peer_lost
 * comes as soon as it is known that the peer has gone, in any context, interrupts
 * off and locks held: it may only take notes, and call nothing of the fabric that
 * gives a reference. If the peer goes at once, it comes while @peer_up runs or just
 * before. When @peer_down is called no handler runs for the peer, and none will
 * before the next @peer_up.
 * Requests of the peer may be handled before @peer_up has returned.
 */
struct dl_client {
	void (*peer_up)(struct dl_peer *peer);
	void (*peer_lost)(struct dl_peer *peer);
	void (*peer_down)(struct dl_peer *peer);
	unsigned int bit;	/* the fabric's */
};

/*
 * dl_client_register() - tells a client of all peers, those that are up too
 * dl_client_unregister() - says peer_down for all that are up, and no more then
 *
 * A client that goes while peers are up unregisters its ops first: its handlers
 * would run on. Both sleep. Return: 0, or -ENOSPC with DL_CLIENTS_MAX clients.
 */
int dl_client_register(struct dl_client *client);
void dl_client_unregister(struct dl_client *client);

/* Largest request and response. */
#define DL_MSG_MAX 1024

/*
 * A handler of requests. @req is a copy that the peer cannot change any more;
 * its length was checked. @resp has room for DL_MSG_MAX bytes at most.
 *
 * Return: the length of the response, or a negative errno that the caller gets.
 */
typedef int (*dl_handler)(struct dl_peer *peer, const void *req, size_t len,
			  void *resp, size_t room);

/*
 * May be called by dl_call_polled(). The handler runs with interrupts off, in an
 * interrupt or in the loop of whoever polls: it takes only locks that are taken
 * with interrupts off everywhere, and are not held while somebody polls.
 * Without it the handler runs on a workqueue of the peer, one at a time; it may
 * sleep, but not call the peer: -EDEADLK.
 */
#define DL_ATOMIC 1

struct dl_op {
	u16 op;			/* below DL_OPS_MAX, see dl_proto.h for who has which */
	u16 flags;
	u16 req_min, req_max;	/* length of the request */
	dl_handler handler;
};

#define DL_OPS_MAX 256

/*
 * dl_ops_register() - has requests handled
 * @ops: stays the caller's, and must stay as it is until unregistered
 *
 * Return: 0, -EINVAL for a wrong number or length, -EBUSY if one is taken.
 * dl_ops_unregister() sleeps until no handler of them runs.
 */
int dl_ops_register(const struct dl_op *ops, size_t n);
void dl_ops_unregister(const struct dl_op *ops, size_t n);

/*
 * dl_call() - sends a request and waits for the response; sleeps
 * @room: bytes that @resp has room for; a longer response is -EMSGSIZE
 * @timeout_ms: 0 for the parameter call_timeout_ms
 *
 * Return: length of the response; -ENOTCONN if the peer is not up or is lost
 * meanwhile; -ETIMEDOUT; -EOPNOTSUPP if no handler is there; -EPROTO for a
 * response that is none; or what the handler returned.
 */
int dl_call(struct dl_peer *peer, u16 op, const void *req, size_t len,
	    void *resp, size_t room, unsigned int timeout_ms);

/*
 * dl_call_polled() - the same in any context but an NMI, interrupts off too
 * @timeout_us: 0 for the parameter poll_timeout_us
 *
 * The op must be DL_ATOMIC on the far side, which refuses it otherwise. While it
 * waits it serves the peer's DL_ATOMIC requests, so that two nodes which poll
 * each other do not wait for ever. After a -ETIMEDOUT all further calls fail so at
 * once, until the peer's heart beats: who asks on and on does not keep interrupts
 * off any longer.
 */
int dl_call_polled(struct dl_peer *peer, u16 op, const void *req, size_t len,
		   void *resp, size_t room, unsigned int timeout_us);

/*
 * Windows. The node that has the memory exports it and sends the descriptor; the
 * other one imports it.
 */
struct dl_window_desc {
	__le32 window;		/* the first, in the adapter of the importer */
	__le32 reserved;	/* 0 */
	__le64 offset;		/* into it */
	__le64 size;
	__le64 addr;		/* bus address on the exporter's node */
};

/* Which windows an export may take; 0: what leaves most room. */
#define DL_WINDOW_DIRECT 1
#define DL_WINDOW_LUT 2

struct dl_export;

/*
 * dl_export() - lets the peer reach a range of this node's bus
 * @addr: bus address, as the device of dl_peer_dev() uses it
 * @flags: DL_WINDOW_*
 * @desc: filled in, for the peer
 *
 * Sleeps, on Switchtec 100 ms for each entry. A window begins at a multiple of
 * its size: it is widened to whole LUT entries, or to the power of two that
 * holds the range, and all of that can be reached. The importer sees the range
 * at an address with the same alignment, up to its size. An export of the same
 * range by the same kind of window is the same export, counted.
 *
 * Return: the export, or ERR_PTR: -ENOSPC where there is no room, see
 * dl_windows_free(); -ENOTCONN; -EINVAL.
 */
struct dl_export *dl_export(struct dl_peer *peer, dma_addr_t addr, u64 size,
			    unsigned int flags, struct dl_window_desc *desc);

/*
 * dl_unexport() - ends what dl_export() began; sleeps
 *
 * Also when the peer is gone; at the latest in peer_down. NULL does nothing.
 */
void dl_unexport(struct dl_export *export);

struct dl_import {
	phys_addr_t phys;	/* for ioremap() */
	u64 size;
	struct resource *parent;	/* what a bus's window can be requested in */
};

/*
 * dl_import() - what the peer has exported to this node
 * @desc: as the peer sent it: everything in it is checked
 *
 * Sleeps. Nobody may use the range any more when peer_down returns.
 *
 * Return: the import, or ERR_PTR: -EINVAL for a range that is not within the
 * windows of this node's adapter, -ENOTCONN.
 */
struct dl_import *dl_import(struct dl_peer *peer,
			    const struct dl_window_desc *desc);
void dl_unimport(struct dl_import *import);

/* Bus address at which the devices of this node reach the range. */
dma_addr_t dl_import_bus(struct dl_import *import);

struct dl_window_room {
	u64 direct_max;		/* size of the largest free direct window */
	u32 direct_count;	/* free direct windows */
	u32 lut_count;		/* free LUT entries */
	u32 lut_run;		/* of which that many are neighbours */
	u64 lut_size;		/* of each */
};

/* What is free for exports to the peer. Return: 0, or -ENOTCONN. */
int dl_windows_free(struct dl_peer *peer, struct dl_window_room *room);

struct pci_host_bridge;

/*
 * dl_orphan() - what is left of a device whose module goes, and it may not yet
 * @bridge: host bridge above it, unregistered but not freed
 *
 * The pages that its driver has allocated for DMA can be freed still. The fabric
 * cannot be removed until the bridge was freed.
 */
void dl_orphan(struct pci_host_bridge *bridge, struct device *dev);

/* The folder "dl" in debugfs, for what clients have to show. */
struct dentry *dl_debugfs_root(void);

#endif
