/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The window BARs. Each is an IOMMU memory region whose translation follows the
 * control block:
 *
 *  - An access that leads to the peer's RAM goes into an address space of this
 *    device, in which the peer's memory files lie at the peer's bus addresses.
 *    A CPU then accesses them like its own memory, and a remap costs a TLB
 *    flush.
 *  - Every other access goes to a forwarding region, and becomes a request to
 *    the peer. That region lies in system memory, above all that the machine
 *    uses, because QEMU finds the sections of MMIO in the dispatch table of the
 *    CPU's own address space only. An offset in it is an offset in the BAR, so
 *    it opens no way that the BAR does not.
 *
 * While a trace is on, every window is forwarded, also one that leads to the
 * peer's RAM: accesses to that would otherwise leave no trace. When the trace
 * goes off, a CPU's write to that RAM must not overtake an earlier write of the
 * same CPU, which may still be on its way to the peer. So until every CPU has
 * forgotten the forwarding windows, the CPU waits for each forwarded write.
 */
#ifndef FARSIDE_WINDOWS_H
#define FARSIDE_WINDOWS_H

#include "farside_peer.h"
#include "farside_requester.h"

typedef struct FarsideWindows FarsideWindows;

void farside_windows_register_types(void);

/* The parameters are borrowed. */
FarsideWindows *farside_windows_new(const FarsideConfig *config, PCIDevice *pci,
                                    FarsideRecorder *recorder,
                                    FarsidePeer *peer,
                                    FarsideRequester *requester);
/*
 * Puts the windows into the machine. farside_windows_set_block() has to follow
 * before they are used. False, and @errp set, if there is no place for them.
 */
bool farside_windows_start(FarsideWindows *s, Error **errp);
/* Takes the windows out of the machine, for good. */
void farside_windows_stop(FarsideWindows *s);
/*
 * Frees windows that were stopped (nullable). The memory regions must be gone,
 * which belong to the device's object.
 */
void farside_windows_free(FarsideWindows *s);

/* The memory region of a window's BAR. */
MemoryRegion *farside_windows_get_bar(FarsideWindows *s, unsigned window);

/* Translates by @block, of which each change is followed by an update. */
void farside_windows_set_block(FarsideWindows *s,
                               const struct farside_wire_ctrl *block);
/*
 * Puts the control block, the link's state, the peer's RAM and the trace into
 * force.
 */
void farside_windows_update(FarsideWindows *s);

/* @number is what farside_windows_flush() returned. */
typedef void FarsideFlushed(void *opaque, uint32_t number);

/*
 * Calls @flushed in the main loop when no CPU uses any more what was in force
 * before the last update. Returns the flush's number, which is not 0.
 */
uint32_t farside_windows_flush(FarsideWindows *s, FarsideFlushed *flushed,
                               void *opaque);

/* Before a trace goes off: from now on forwarded writes are waited for. */
void farside_windows_end_trace(FarsideWindows *s);
/* A trace has gone on or off. */
void farside_windows_trace_changed(FarsideWindows *s);

/* The peer's RAM takes the place of what was mapped before. */
bool farside_windows_on_ram(FarsideWindows *s, const FarsideLinkMessage *m);
/* Maps no RAM of the peer any more. */
void farside_windows_forget_ram(FarsideWindows *s);

#endif /* FARSIDE_WINDOWS_H */
