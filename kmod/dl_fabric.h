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

/* A node at the other end. Counted: see dlend_peer_get(). */
struct dlend_peer;

enum dlend_peer_state {
	DLEND_PEER_DISCONNECTED,	/* by order: see dlend_peer_disconnect() */
	DLEND_PEER_LINK_DOWN,	/* the cable or the far end is not there */
	DLEND_PEER_HELLO,		/* waits until both ends know each other */
	DLEND_PEER_UP,
	DLEND_PEER_LOST,		/* was up; clients are being told */
};

/* Largest number of peers, and of clients, that there may be. */
#define DLEND_PEERS_MAX 16
#define DLEND_CLIENTS_MAX 8

struct dlend_peer *dlend_peer_get(struct dlend_peer *peer);
void dlend_peer_put(struct dlend_peer *peer);

/*
 * dlend_peer_find() - the peer that is a node
 *
 * Where the loopback is on, both of its ends are peers, and each is found by the
 * other's node.
 *
 * Return: a reference, or NULL where no peer with that node was ever up.
 */
struct dlend_peer *dlend_peer_find(u32 node);

/*
 * dlend_peer_at() - the peers one after the other: index 0 to DLEND_PEERS_MAX - 1
 *
 * Return: a reference, or NULL if none has this index.
 */
struct dlend_peer *dlend_peer_at(unsigned int index);

/* Node number of this node; in the loopback, of its first end. */
u32 dlend_node(void);

/* Node number of the far end; 0 as long as it has not said hello. */
u32 dlend_peer_node(struct dlend_peer *peer);

/* Node number of this end: differs between the two ends of the loopback. */
u32 dlend_peer_self(struct dlend_peer *peer);

/* Name of the adapter, as in the log: its BDF, or loop0 and loop1. */
const char *dlend_peer_name(struct dlend_peer *peer);

enum dlend_peer_state dlend_peer_state(struct dlend_peer *peer);
bool dlend_peer_is_up(struct dlend_peer *peer);

/*
 * Number of the session: another one each time that the peer comes up, never 0.
 * What is kept of a peer is void when the number is another.
 */
u32 dlend_peer_session(struct dlend_peer *peer);

/*
 * dlend_peer_dev() - the function of this node through which the peer reaches it
 *
 * The requester of all that the peer does here: memory that it shall reach is
 * mapped for this device by the DMA API. In the loopback a device without an
 * IOMMU, so that the addresses are physical ones.
 */
struct device *dlend_peer_dev(struct dlend_peer *peer);

/* Whether this end is one of the loopback. */
bool dlend_peer_is_loopback(struct dlend_peer *peer);

/*
 * dlend_peer_requester() - who writes a message that a far function sends
 * @bdf: segment << 16 | bus << 8 | devfn of the function on the far node
 *
 * An NTB puts its own requester ID on what it forwards; in the loopback the
 * function itself remains the requester. Interrupt remapping compares this.
 *
 * Return: a reference that the caller gives back by put_device(), or NULL.
 */
struct device *dlend_peer_requester(struct dlend_peer *peer, u32 bdf);

/* Orders this end up or down; up is what it is at first. They do not wait. */
void dlend_peer_connect(struct dlend_peer *peer);
void dlend_peer_disconnect(struct dlend_peer *peer);

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
struct dlend_client {
	void (*peer_up)(struct dlend_peer *peer);
	void (*peer_lost)(struct dlend_peer *peer);
	void (*peer_down)(struct dlend_peer *peer);
	unsigned int bit;	/* the fabric's */
};

/*
 * dlend_client_register() - tells a client of all peers, those that are up too
 * dlend_client_unregister() - says peer_down for all that are up, and no more then
 *
 * A client that goes while peers are up unregisters its ops first: its handlers
 * would run on. Both sleep. Return: 0, or -ENOSPC with DLEND_CLIENTS_MAX clients.
 */
int dlend_client_register(struct dlend_client *client);
void dlend_client_unregister(struct dlend_client *client);

/* Largest request and response. */
#define DLEND_MSG_MAX 1024

/*
 * A handler of requests. @req is a copy that the peer cannot change any more;
 * its length was checked. @resp has room for DLEND_MSG_MAX bytes at most.
 *
 * Return: the length of the response, or a negative errno that the caller gets.
 */
typedef int (*dlend_handler)(struct dlend_peer *peer, const void *req, size_t len,
			     void *resp, size_t room);

/*
 * May be called by dlend_call_polled(). The handler runs with interrupts off, in an
 * interrupt or in the loop of whoever polls: it takes only locks that are taken
 * with interrupts off everywhere, and are not held while somebody polls.
 * Without it the handler runs on a workqueue of the peer, one at a time; it may
 * sleep, but not call the peer: -EDEADLK.
 */
#define DLEND_ATOMIC 1

struct dlend_op {
	u16 op;			/* below DLEND_OPS_MAX, see dl_proto.h for who has which */
	u16 flags;
	u16 req_min, req_max;	/* length of the request */
	dlend_handler handler;
};

#define DLEND_OPS_MAX 256

/*
 * dlend_ops_register() - has requests handled
 * @ops: stays the caller's, and must stay as it is until unregistered
 *
 * Return: 0, -EINVAL for a wrong number or length, -EBUSY if one is taken.
 * dlend_ops_unregister() sleeps until no handler of them runs.
 */
int dlend_ops_register(const struct dlend_op *ops, size_t n);
void dlend_ops_unregister(const struct dlend_op *ops, size_t n);

/*
 * dlend_call() - sends a request and waits for the response; sleeps
 * @room: bytes that @resp has room for; a longer response is -EMSGSIZE
 * @timeout_ms: 0 for the parameter call_timeout_ms
 *
 * Return: length of the response; -ENOTCONN if the peer is not up or is lost
 * meanwhile; -ETIMEDOUT; -EOPNOTSUPP if no handler is there; -EPROTO for a
 * response that is none; or what the handler returned.
 */
int dlend_call(struct dlend_peer *peer, u16 op, const void *req, size_t len,
	       void *resp, size_t room, unsigned int timeout_ms);

/*
 * dlend_call_polled() - the same in any context but an NMI, interrupts off too
 * @timeout_us: 0 for the parameter poll_timeout_us
 *
 * The op must be DLEND_ATOMIC on the far side, which refuses it otherwise. While it
 * waits it serves the peer's DLEND_ATOMIC requests, so that two nodes which poll
 * each other do not wait for ever. After a -ETIMEDOUT all further calls fail so at
 * once, until the peer's heart beats: who asks on and on does not keep interrupts
 * off any longer.
 */
int dlend_call_polled(struct dlend_peer *peer, u16 op, const void *req, size_t len,
		      void *resp, size_t room, unsigned int timeout_us);

/*
 * Windows. The node that has the memory exports it and sends the descriptor; the
 * other one imports it.
 */
struct dlend_window_desc {
	__le32 window;		/* the first, in the adapter of the importer */
	__le32 reserved;	/* 0 */
	__le64 offset;		/* into it */
	__le64 size;
	__le64 addr;		/* bus address on the exporter's node */
};

/* Which windows an export may take; 0: what leaves most room. */
#define DLEND_WINDOW_DIRECT 1
#define DLEND_WINDOW_LUT 2

struct dlend_export;

/*
 * dlend_export() - lets the peer reach a range of this node's bus
 * @addr: bus address, as the device of dlend_peer_dev() uses it
 * @flags: DLEND_WINDOW_*
 * @desc: filled in, for the peer
 *
 * Sleeps, on Switchtec 100 ms for each entry. A window begins at a multiple of
 * its size: it is widened to whole LUT entries, or to the power of two that
 * holds the range, and all of that can be reached. The importer sees the range
 * at an address with the same alignment, up to its size. An export of the same
 * range by the same kind of window is the same export, counted.
 *
 * Return: the export, or ERR_PTR: -ENOSPC where there is no room, see
 * dlend_windows_free(); -ENOTCONN; -EINVAL.
 */
struct dlend_export *dlend_export(struct dlend_peer *peer, dma_addr_t addr, u64 size,
				  unsigned int flags, struct dlend_window_desc *desc);

/*
 * dlend_unexport() - ends what dlend_export() began; sleeps
 *
 * Also when the peer is gone; at the latest in peer_down. NULL does nothing.
 */
void dlend_unexport(struct dlend_export *export);

struct dlend_import {
	phys_addr_t phys;	/* for ioremap() */
	u64 size;
	struct resource *parent;	/* what a bus's window can be requested in */
};

/*
 * dlend_import() - what the peer has exported to this node
 * @desc: as the peer sent it: everything in it is checked
 *
 * Sleeps. Nobody may use the range any more when peer_down returns.
 *
 * Return: the import, or ERR_PTR: -EINVAL for a range that is not within the
 * windows of this node's adapter, -ENOTCONN.
 */
struct dlend_import *dlend_import(struct dlend_peer *peer,
				  const struct dlend_window_desc *desc);
void dlend_unimport(struct dlend_import *import);

/* Bus address at which the devices of this node reach the range. */
dma_addr_t dlend_import_bus(struct dlend_import *import);

struct dlend_window_room {
	u64 direct_max;		/* size of the largest free direct window */
	u32 direct_count;	/* free direct windows */
	u32 lut_count;		/* free LUT entries */
	u32 lut_run;		/* of which that many are neighbours */
	u64 lut_size;		/* of each */
};

/* What is free for exports to the peer. Return: 0, or -ENOTCONN. */
int dlend_windows_free(struct dlend_peer *peer, struct dlend_window_room *room);

struct pci_host_bridge;

/*
 * dlend_orphan() - what is left of a device whose module goes, and it may not yet
 * @bridge: host bridge above it, unregistered but not freed
 *
 * The pages that its driver has allocated for DMA can be freed still. The fabric
 * cannot be removed until the bridge was freed.
 */
void dlend_orphan(struct pci_host_bridge *bridge, struct device *dev);

/* The folder "dl" in debugfs, for what clients have to show. */
struct dentry *dlend_debugfs_root(void);

#endif
