/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fabric tells the modules above it which peers come and go. The modules make
 * calls to a peer and open windows onto its memory. There is one peer for each NTB of
 * this node, and two for the loopback, which joins this node with itself.
 *
 * Addresses: a device puts a "bus address" on the bus of its node; a CPU maps a
 * "physical address". Sizes are in bytes.
 */
#ifndef DL_FABRIC_H
#define DL_FABRIC_H

#include <linux/device.h>
#include <linux/ioport.h>
#include <linux/module.h>
#include <linux/types.h>

/* A node at the other end. Counted: see dlend_peer_get(). */
struct dlend_peer;

/**
 * enum dlend_peer_state - state of the session with a peer
 * @DLEND_PEER_DISCONNECTED: ended by dlend_peer_disconnect()
 * @DLEND_PEER_LINK_DOWN: the cable or the far end is not there
 * @DLEND_PEER_HELLO: the two ends do not know each other yet
 * @DLEND_PEER_UP: calls and windows work
 * @DLEND_PEER_LOST: the peer was up, and clients are being told of its loss
 */
enum dlend_peer_state {
	DLEND_PEER_DISCONNECTED,
	DLEND_PEER_LINK_DOWN,
	DLEND_PEER_HELLO,
	DLEND_PEER_UP,
	DLEND_PEER_LOST,
};

/* Largest number of peers, and of clients. */
#define DLEND_PEERS_MAX 16
#define DLEND_CLIENTS_MAX 8

/**
 * dlend_peer_get() - take a reference to a peer
 * @peer: the peer
 *
 * Context: Any context.
 * Return: @peer.
 */
struct dlend_peer *dlend_peer_get(struct dlend_peer *peer);

/**
 * dlend_peer_put() - give a reference back
 * @peer: the peer, or NULL
 *
 * Context: Process context. Giving back the last reference may sleep.
 */
void dlend_peer_put(struct dlend_peer *peer);

/**
 * dlend_peer_find() - find a peer by the number of its node
 * @node: number of the far node
 *
 * Both ends of the loopback are peers; each is found by the other's number.
 *
 * Context: Any context.
 * Return: a reference, or NULL if no peer has said hello with that number.
 */
struct dlend_peer *dlend_peer_find(u32 node);

/**
 * dlend_peer_at() - go through all peers
 * @index: 0 to DLEND_PEERS_MAX - 1
 *
 * Context: Any context.
 * Return: a reference, or NULL if no peer has this index.
 */
struct dlend_peer *dlend_peer_at(unsigned int index);

/**
 * dlend_node() - get the number of this node
 *
 * Context: Any context.
 * Return: the number; in the loopback, the number of the first end.
 */
u32 dlend_node(void);

/**
 * dlend_peer_node() - get the number of the far node
 * @peer: the peer
 *
 * Context: Any context.
 * Return: the number, or 0 until the far node has said hello.
 */
u32 dlend_peer_node(struct dlend_peer *peer);

/**
 * dlend_peer_self() - get the number by which a peer knows this node
 * @peer: the peer
 *
 * Context: Any context.
 * Return: dlend_node(); the second end of the loopback has another number.
 */
u32 dlend_peer_self(struct dlend_peer *peer);

/**
 * dlend_peer_name() - get the name of a peer's adapter
 * @peer: the peer
 *
 * Context: Any context.
 * Return: the name as in the log, a PCI address or "loop0" or "loop1"; borrowed
 * for as long as the caller has a reference.
 */
const char *dlend_peer_name(struct dlend_peer *peer);

/**
 * dlend_peer_state() - get the state of a peer
 * @peer: the peer
 *
 * Context: Any context.
 * Return: the state; it may have changed when the caller looks at it.
 */
enum dlend_peer_state dlend_peer_state(struct dlend_peer *peer);

/**
 * dlend_peer_is_up() - ask whether a peer is up
 * @peer: the peer
 *
 * Context: Any context.
 * Return: whether the state was DLEND_PEER_UP; it may have changed meanwhile.
 */
bool dlend_peer_is_up(struct dlend_peer *peer);

/**
 * dlend_peer_session() - get the number of a peer's session
 * @peer: the peer
 *
 * Each session has a new number. A client that keeps data of a session drops it
 * when the number has changed.
 *
 * Context: Any context.
 * Return: the number; 0 if the peer was never up.
 */
u32 dlend_peer_session(struct dlend_peer *peer);

/**
 * dlend_peer_may_log() - limit the messages that a peer can cause
 * @peer: the peer
 *
 * A peer must not be able to fill the log, nor to hide messages about others.
 *
 * Context: Any context.
 * Return: false if there were very many messages about @peer lately.
 */
bool dlend_peer_may_log(struct dlend_peer *peer);

/**
 * dlend_going_down() - ask whether this node goes down
 *
 * From the notice of a reboot on nothing is lent or borrowed any more. A reboot that has
 * failed is over after a minute.
 *
 * Context: Any context.
 * Return: whether this node goes down, or starts another kernel.
 */
bool dlend_going_down(void);

/**
 * dlend_peer_dev() - get the function through which a peer reaches this node
 * @peer: the peer
 *
 * The function is the requester of everything that the peer does here. A client
 * maps memory for it by the DMA API before the peer can reach it. In the loopback
 * the device has no IOMMU, so its bus addresses are physical addresses.
 *
 * Context: Any context.
 * Return: the device; borrowed for as long as the caller has a reference to @peer.
 */
struct device *dlend_peer_dev(struct dlend_peer *peer);

/**
 * dlend_peer_is_loopback() - ask whether a peer is an end of the loopback
 * @peer: the peer
 *
 * Context: Any context.
 * Return: whether it is.
 */
bool dlend_peer_is_loopback(struct dlend_peer *peer);

/**
 * dlend_peer_keeps_bars() - ask whether the adapter's driver keeps its BARs for itself
 * @peer: the peer
 *
 * The BARs of a borrowed device lie in windows, which are parts of the adapter's BARs.
 * No other driver can claim them there if that of the adapter has claimed the BARs
 * whole, as all drivers of NTBs but ntb_hw_switchtec do.
 *
 * Context: Process context.
 * Return: whether the BAR of each window is claimed whole.
 */
bool dlend_peer_keeps_bars(struct dlend_peer *peer);

/**
 * dlend_peer_requester() - get the requester of a far function's writes
 * @peer: the peer
 * @bdf: segment << 16 | bus << 8 | devfn of the function on the far node
 *
 * An NTB puts its own Requester ID on the requests that it forwards, so the NTB of
 * this node is the requester. In the loopback it is the function itself. Interrupt
 * remapping checks the requester of a message.
 *
 * Context: Process context.
 * Return: a reference that the caller gives back by put_device(), or NULL.
 */
struct device *dlend_peer_requester(struct dlend_peer *peer, u32 bdf);

/**
 * dlend_admit() - let a function of this node write through the adapter to a peer
 * @peer: the peer
 * @id: Requester ID of the function: bus << 8 | devfn
 *
 * An adapter may forward requests of known functions only. A Switchtec has a table of
 * them. Each call is undone by one call of dlend_expel(). An adapter without such a
 * table forwards the requests of all functions, and then the function does nothing.
 *
 * Context: Process context. Sleeps, up to some seconds if the peer sets up windows.
 * Return: 0; -ENOSPC after a message if the table is full; -ENOTCONN; -ENODEV if the
 * adapter is gone; -EIO or -ETIMEDOUT after a message.
 */
int dlend_admit(struct dlend_peer *peer, u16 id);

/**
 * dlend_expel() - undo dlend_admit()
 * @peer: the peer
 * @id: the Requester ID
 *
 * A client does this at the latest in peer_down, also if the peer was lost.
 *
 * Context: Process context. Sleeps, as dlend_admit().
 */
void dlend_expel(struct dlend_peer *peer, u16 id);

/**
 * dlend_peer_connect() - order this end to come up
 * @peer: the peer
 *
 * A new peer comes up without this order. The function does not wait until the peer
 * is up.
 *
 * Context: Any context.
 */
void dlend_peer_connect(struct dlend_peer *peer);

/**
 * dlend_peer_disconnect() - order this end to go down
 * @peer: the peer
 *
 * The session ends at once. The function does not wait for peer_down of the
 * clients.
 *
 * Context: Any context.
 */
void dlend_peer_disconnect(struct dlend_peer *peer);

/**
 * struct dlend_client - functions that the fabric calls when a peer comes or goes
 * @peer_up: (nullable) a peer has come up. The function may sleep and call the peer.
 * @peer_lost: (nullable) a peer is lost. The fabric calls this function at once, in
 *	any context, with interrupts off and locks held. The function may only note
 *	the loss, and must not call a function of the fabric that returns a
 *	reference.
 * @peer_down: (nullable) the session has ended, or the client is being unregistered.
 *	The function may sleep. After the end of a session no handler runs for the
 *	peer until the next session.
 * @bit: private to the fabric
 *
 * @peer_up and @peer_down come in pairs. For one peer they are never called at
 * the same time. If a peer is lost right after it came up, @peer_lost may be called
 * while @peer_up runs, or just before. Requests of the peer may be handled before
 * @peer_up has returned.
 */
struct dlend_client {
	void (*peer_up)(struct dlend_peer *peer);
	void (*peer_lost)(struct dlend_peer *peer);
	void (*peer_down)(struct dlend_peer *peer);
	unsigned int bit;
};

/**
 * dlend_client_register() - register a client
 * @client: borrowed until it is unregistered
 *
 * For peers that are up already, peer_up is called before the function returns.
 *
 * Context: Process context. Sleeps.
 * Return: 0, or -ENOSPC if there are DLEND_CLIENTS_MAX clients.
 */
int dlend_client_register(struct dlend_client *client);

/**
 * dlend_client_unregister() - unregister a client
 * @client: a registered client
 *
 * For all peers that are up, peer_down is called before the function returns. The
 * client unregisters its handlers first, because a peer that stays up can still send
 * requests to them.
 *
 * Context: Process context. Sleeps.
 */
void dlend_client_unregister(struct dlend_client *client);

/* Largest request and response, in bytes. */
#define DLEND_MSG_MAX 1024

/**
 * typedef dlend_handler - handles a request
 * @peer: the peer that sent it
 * @req: a copy that the peer cannot change any more
 * @len: length of @req, within the bounds of struct dlend_op
 * @resp: memory for the response
 * @room: bytes of @resp; DLEND_MSG_MAX
 *
 * Return: the length of the response, or a negative errno. dlend_call() on the far
 * node returns that errno.
 */
typedef int (*dlend_handler)(struct dlend_peer *peer, const void *req,
			     size_t len, void *resp, size_t room);

/*
 * Flag of struct dlend_op: dlend_call_polled() may send the request.
 *
 * The handler runs with interrupts off, in an interrupt or in the loop of a polled
 * call. It may take a lock only if all users take that lock with interrupts off, and
 * none of them makes a polled call while holding it.
 *
 * Without the flag the handler runs on a workqueue of the peer, beside those of the
 * peer's other requests. It may sleep, but it must not use dlend_call() for the same
 * peer, which would return -EDEADLK.
 */
#define DLEND_ATOMIC 1

/**
 * struct dlend_op - a kind of request, and its handler
 * @op: its number, below DLEND_OPS_MAX; dl_proto.h lists those in use
 * @flags: DLEND_ATOMIC or 0
 * @req_min: shortest request, in bytes
 * @req_max: longest request, in bytes; at most DLEND_MSG_MAX
 * @handler: called for a request whose length is in that range
 */
struct dlend_op {
	u16 op;
	u16 flags;
	u16 req_min, req_max;
	dlend_handler handler;
};

#define DLEND_OPS_MAX 256

/**
 * dlend_ops_register() - register handlers of requests
 * @ops: borrowed until they are unregistered; the caller does not change them
 * @n: number of entries of @ops
 *
 * Context: Process context. Sleeps.
 * Return: 0; -EINVAL if an entry has a wrong number or length; -EBUSY if a number
 * is taken. After an error no entry is registered.
 */
int dlend_ops_register(const struct dlend_op *ops, size_t n);

/**
 * dlend_ops_unregister() - unregister handlers of requests
 * @ops: as registered
 * @n: as registered
 *
 * None of the handlers runs any more when the function returns.
 *
 * Context: Process context. Sleeps.
 */
void dlend_ops_unregister(const struct dlend_op *ops, size_t n);

/**
 * dlend_call() - send a request and wait for the response
 * @peer: the peer
 * @op: number of the request
 * @req: the request
 * @len: its length; at most DLEND_MSG_MAX
 * @resp: memory for the response
 * @room: bytes of @resp
 * @timeout_ms: limit in ms; 0 for the module parameter call_timeout_ms
 *
 * Context: Process context. Sleeps.
 * Return: length of the response; -ENOTCONN if the peer is not up, or is lost
 * during the call; -ETIMEDOUT; -EINTR if the calling process was killed, and the peer may
 * still act on the request; -EOPNOTSUPP if the far node has no handler; -EMSGSIZE if
 * the request or the response is too long; -EPROTO if the response is malformed;
 * -EDEADLK if a sleeping handler of the same peer is the caller; or the error that the
 * far handler returned.
 */
int dlend_call(struct dlend_peer *peer, u16 op, const void *req, size_t len,
	       void *resp, size_t room, unsigned int timeout_ms);

/**
 * dlend_call_polled() - send a request and poll for the response
 * @peer: the peer
 * @op: number of a request that is DLEND_ATOMIC on the far node
 * @req: the request
 * @len: its length; at most DLEND_MSG_MAX
 * @resp: memory for the response
 * @room: bytes of @resp
 * @timeout_us: limit in us; 0 for the module parameter poll_timeout_us
 *
 * While the function polls, it handles the peer's DLEND_ATOMIC requests, so two nodes
 * that poll each other do not wait for ever. After -ETIMEDOUT with @timeout_us 0,
 * further polled calls to the peer return -ETIMEDOUT at once until the peer's next
 * heartbeat. Otherwise a caller that tries again and again would keep its CPU busy for
 * that long each time. A caller with interrupts off gives a shorter @timeout_us.
 *
 * Context: Any context but an NMI; interrupts may be off.
 * Return: as dlend_call(), but never -EDEADLK.
 */
int dlend_call_polled(struct dlend_peer *peer, u16 op, const void *req,
		      size_t len, void *resp, size_t room,
		      unsigned int timeout_us);

/**
 * dlend_peer_stands_still() - tell whether polled calls to a peer fail at once
 * @peer: the peer
 *
 * Context: Any context but an NMI; interrupts may be off.
 * Return: true from an -ETIMEDOUT of dlend_call_polled() with @timeout_us 0 until the peer's
 * next heartbeat, or until the peer is lost.
 */
bool dlend_peer_stands_still(struct dlend_peer *peer);

/**
 * struct dlend_window_desc - describes a range that a node has exported
 * @window: number of the first window of the importer's adapter that leads to it
 * @reserved: 0
 * @offset: start of the range, in bytes from the start of that window
 * @size: bytes of the range
 * @addr: bus address of the range on the exporter's node
 *
 * The node that has the memory exports it and sends the descriptor; the other
 * node imports it.
 */
struct dlend_window_desc {
	__le32 window;
	__le32 reserved;
	__le64 offset;
	__le64 size;
	__le64 addr;
};

/* Kinds of windows for an export. With 0 the fabric chooses the kind. */
#define DLEND_WINDOW_DIRECT 1
#define DLEND_WINDOW_LUT 2

struct dlend_export;

/**
 * dlend_export() - let a peer reach a range of this node's bus
 * @peer: the peer
 * @addr: bus address of the range, as the device of dlend_peer_dev() uses it
 * @size: of the range
 * @flags: DLEND_WINDOW_DIRECT, DLEND_WINDOW_LUT, or 0
 * @desc: filled in, for the peer
 *
 * A window begins at a multiple of its size. The range is therefore widened to
 * whole LUT entries, or to the power of two that holds it, and the peer can reach
 * all of the widened range. The importer sees the range at an address with the same
 * alignment, up to the size of the range. A second export of the same range with the
 * same flags returns the first export and takes a reference to it.
 *
 * Context: Process context. Sleeps; on a Switchtec 100 ms for each LUT entry.
 * Return: the export, for dlend_unexport(), or ERR_PTR: -ENOSPC if no window is
 * free for it, see dlend_windows_free(); -ENOTCONN; -EINVAL; -ENOMEM.
 */
struct dlend_export *dlend_export(struct dlend_peer *peer, dma_addr_t addr,
				  u64 size, unsigned int flags,
				  struct dlend_window_desc *desc);

/**
 * dlend_export_reach() - find out what a peer would reach by an export
 * @peer: the peer
 * @phys: physical address of the range
 * @size: its size
 * @start: set to the first physical address that the peer would reach
 * @ret_size: set to the number of bytes
 *
 * It is more than the range if the IOMMU maps larger pages, or if windows have a larger
 * size. It depends on sizes only, so a client asks before it maps and exports the range.
 *
 * Context: Process context. Sleeps.
 */
void dlend_export_reach(struct dlend_peer *peer, phys_addr_t phys, u64 size, u64 *start,
			u64 *ret_size);

struct pci_dev;

/**
 * dlend_neighbour() - find other functions that have registers in a range
 * @pdev: a function that has a BAR there
 * @start: first physical address of the range
 * @size: its bytes
 *
 * Context: Process context.
 * Return: a reference to one such function, for pci_dev_put(), or NULL.
 */
struct pci_dev *dlend_neighbour(struct pci_dev *pdev, u64 start, u64 size);

/**
 * dlend_is_translated() - ask whether an IOMMU bounds what a function reaches
 * @dev: the function
 *
 * A peer can make its adapter here reach any bus address: it programs the windows that
 * lead here, too. So the peer reaches all of this node if nothing translates the addresses
 * of the adapter.
 *
 * Context: Any context.
 * Return: true if @dev reaches only memory that was mapped for it.
 */
bool dlend_is_translated(struct device *dev);

/**
 * dlend_unexport() - end an export
 * @export: the export, or NULL
 *
 * A client ends its exports at the latest in peer_down, also if the peer was lost.
 *
 * Context: Process context. Sleeps.
 */
void dlend_unexport(struct dlend_export *export);

/**
 * struct dlend_import - a range of a peer that this node can reach
 * @phys: physical address here, for ioremap()
 * @size: of the range
 * @parent: resource in which the BARs of a borrowed device can be requested; NULL in
 *	the loopback if no BAR holds the range
 */
struct dlend_import {
	phys_addr_t phys;
	u64 size;
	struct resource *parent;
};

/**
 * dlend_import() - reach a range that a peer has exported
 * @peer: the peer
 * @desc: as the peer sent it; all of it is checked
 *
 * The client uses the range no longer than until its peer_down returns.
 *
 * Context: Process context. Sleeps.
 * Return: the import, for dlend_unimport(), or ERR_PTR: -EINVAL if the range does
 * not lie in the windows of this node's adapter; -ENOTCONN; -ENOMEM.
 */
struct dlend_import *dlend_import(struct dlend_peer *peer,
				  const struct dlend_window_desc *desc);

/**
 * dlend_unimport() - end an import
 * @import: the import, or NULL
 *
 * Context: Process context. Sleeps.
 */
void dlend_unimport(struct dlend_import *import);

/**
 * dlend_import_bus() - get the address that devices of this node use for an import
 * @import: the import
 *
 * Context: Any context.
 * Return: a bus address.
 */
dma_addr_t dlend_import_bus(struct dlend_import *import);

/**
 * struct dlend_free_windows - free windows for exports to a peer
 * @direct_max: size of the largest free direct window
 * @direct_count: number of free direct windows
 * @lut_count: number of free LUT entries
 * @lut_run: largest number of adjacent LUT entries that are free
 * @lut_size: size of each entry
 */
struct dlend_free_windows {
	u64 direct_max;
	u32 direct_count;
	u32 lut_count;
	u32 lut_run;
	u64 lut_size;
};

/**
 * dlend_windows_free() - get the free windows for exports to a peer
 * @peer: the peer
 * @free: filled in; zero after an error
 *
 * Context: Process context. Sleeps, while a window opens or closes.
 * Return: 0, -ENOTCONN, or -EINTR if the calling process was killed.
 */
int dlend_windows_free(struct dlend_peer *peer,
		       struct dlend_free_windows *free);

struct pci_host_bridge;

/**
 * dlend_orphan() - take over a removed device that its driver may still hold
 * @bridge: host bridge above the device, unregistered but not freed
 * @dev: the device
 *
 * The device's driver can still free the pages that it has allocated for DMA, even
 * if the module that added the device is gone. The module dl_fabric cannot be removed
 * until the bridge is freed.
 *
 * Context: Process context.
 */
void dlend_orphan(struct pci_host_bridge *bridge, struct device *dev);

/**
 * dlend_debugfs_root() - get the folder of Device Lending in debugfs
 *
 * Context: Any context.
 * Return: the folder; borrowed for as long as dl_fabric is loaded. Clients remove
 * their files from it before they go.
 */
struct dentry *dlend_debugfs_root(void);

#endif
