/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The window BARs. Each has an IOMMU memory region, whose translation follows
 * the list of windows that the chip gives, and RAM above it where
 * farside_alias.h puts some:
 *
 *  - An access that leads to a peer's RAM goes into an address space of this
 *    device, in which that peer's memory files lie at its bus addresses.
 *    A CPU then accesses them like its own memory, and a remap costs a TLB
 *    flush.
 *  - Every other access goes to a forwarding region, and becomes a request to
 *    the peer. That region lies in system memory, above all addresses that the
 *    machine uses: QEMU looks up sections of MMIO only in the dispatch table of
 *    the CPU's own address space. An offset in the region is an offset in the
 *    BAR, so the region gives access to nothing that the BAR does not.
 *
 * While a trace is on, every window is forwarded, even one that leads to the
 * peer's RAM, because direct accesses to that RAM leave no trace. When the
 * trace goes off, a CPU's direct write must not overtake an earlier write of
 * the same CPU that is still on its way to the peer. So until no CPU uses the
 * forwarding windows any more, each forwarded write waits for the peer to
 * complete it.
 */
#ifndef FARSIDE_WINDOWS_H
#define FARSIDE_WINDOWS_H

#include "farside_flush.h"
#include "farside_map.h"
#include "farside_peer.h"
#include "farside_requester.h"

typedef struct FarsideWindows FarsideWindows;

void farside_windows_register_types(void);

/* The parameters are borrowed. */
FarsideWindows *farside_windows_new(const FarsideConfig *config,
                                    PCIDevice *pci);
/* To be called for each @peer, an index, before all that follows. */
void farside_windows_add_peer(FarsideWindows *s, unsigned peer,
                              FarsideRecorder *recorder,
                              FarsidePeer *connection,
                              FarsideRequester *requester);
/*
 * Puts the windows into the machine. farside_windows_set() has to be called
 * before a guest uses them. Returns false, and sets @errp, if there is
 * no place for them.
 */
bool farside_windows_start(FarsideWindows *s, Error **errp);
/* Takes the windows out of the machine. They cannot be started again. */
void farside_windows_stop(FarsideWindows *s);
/*
 * Frees windows that were stopped (nullable). Their memory regions belong to
 * the device's object, and must be gone.
 */
void farside_windows_free(FarsideWindows *s);

/* True if @mr is a part of a window's BAR, of any device. */
bool farside_windows_own(MemoryRegion *mr);
/* True if accesses to @mr are requests to the peer of some device. */
bool farside_windows_forward(const MemoryRegion *mr);
/*
 * True if a request with the Requester ID @id may enter the window with the
 * part @mr. Otherwise the request is counted and logged. May run without the
 * big lock, under RCU.
 */
bool farside_windows_admit(MemoryRegion *mr, uint16_t id);
/* The number of requests that farside_windows_admit() did not let in */
uint64_t farside_windows_refused(FarsideWindows *s);

/* The memory region of a window's BAR. */
MemoryRegion *farside_windows_get_bar(FarsideWindows *s, unsigned window);

/*
 * Translates by the @count windows of @list from now on. They are in the order
 * of BAR and offset, and do not overlap. If @ids is not NULL, only the
 * @id_count functions with these Requester IDs may enter. Copies its
 * parameters.
 */
void farside_windows_set(FarsideWindows *s, const FarsideWindow *list,
                         unsigned count, const uint16_t *ids,
                         unsigned id_count);
/*
 * True if a window, or a part of one, was closed or leads elsewhere since the
 * last call: some CPU may still use it.
 */
bool farside_windows_take_closed(FarsideWindows *s);
/* Tells each peer where the windows to it lead. */
void farside_windows_tell(FarsideWindows *s);
/*
 * Makes a new translation from the windows, the states of the links and traces,
 * and the RAM of the peers.
 */
void farside_windows_update(FarsideWindows *s);

/*
 * Calls @flushed in the main loop when no CPU uses a translation from before
 * the last update any more, and no transfer of a device that began before. It
 * waits for transfers no longer than completion-timeout. Returns the flush's
 * number, which is not 0.
 */
uint32_t farside_windows_flush(FarsideWindows *s, FarsideFlushed *flushed,
                               void *opaque);

/* Called before a trace goes off: each forwarded write waits from now on. */
void farside_windows_end_trace(FarsideWindows *s, unsigned peer);
/* A trace has gone on or off. */
void farside_windows_trace_changed(FarsideWindows *s, unsigned peer);

/*
 * Maps the RAM in @m, in place of all that was mapped before. Returns false if
 * the peer must not send @m.
 */
bool farside_windows_on_ram(FarsideWindows *s, unsigned peer,
                            const FarsideLinkMessage *m);
/*
 * The peer was reset: what devices still write to its RAM, in transfers that
 * have begun, does not reach it.
 */
void farside_windows_peer_reset(FarsideWindows *s, unsigned peer);
/*
 * Learns what the peer's IOMMU has mapped and unmapped. Returns false if the
 * peer must not send @m.
 */
bool farside_windows_on_notices(FarsideWindows *s, unsigned peer,
                                const FarsideLinkMessage *m);
/*
 * Unmaps the peer's RAM. What devices still write to it does not reach the
 * peer.
 */
void farside_windows_forget_ram(FarsideWindows *s, unsigned peer);

#endif /* FARSIDE_WINDOWS_H */
