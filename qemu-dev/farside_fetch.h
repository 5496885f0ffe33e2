/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DMA reads of windows in blocks. QEMU reads a window in pieces of 8 bytes, and
 * does not say how many will follow. Hardware would make requests of
 * Max_Read_Request_Size for the whole. So a piece may fetch a block, from which
 * the next pieces are served.
 *
 * In a timed cluster the time of a request depends on its size. So the first
 * piece fetches as many bytes as the device took at its last read of this page,
 * or the whole page if it reads it from its start for the first time, or else a
 * line. If the device goes on behind the block, it has twice as much. A block
 * serves only what follows at the same virtual time, so that a device that
 * reads the same bytes again asks for them again.
 *
 * Otherwise a device that has taken a line in pieces reads a buffer, so it gets
 * the rest of the page at once. A block is dropped when the main loop turns,
 * and when the device reads elsewhere; then it has to take a line in pieces
 * again.
 *
 * In either case a block is dropped when the device writes to the window, and
 * when a request of a peer is performed: that may have told the device of data
 * that are younger than the block.
 *
 * The Completer refuses blocks that are not in RAM. Such pages are read piece
 * by piece.
 */
#ifndef FARSIDE_FETCH_H
#define FARSIDE_FETCH_H

#include "farside_requester.h"

typedef struct FarsideFetch FarsideFetch;

/* Borrows @requester. */
FarsideFetch *farside_fetch_new(FarsideRequester *requester);
void farside_fetch_free(FarsideFetch *s);

/*
 * Like farside_requester_read(). @left: bytes from @address on to which the
 * window leads in one piece; at least @size.
 */
bool farside_fetch_read(FarsideFetch *s, const FarsideNear *near,
                        uint64_t address, unsigned size, uint64_t left,
                        uint64_t *ret_value);
/* The device has written to the window. */
void farside_fetch_drop(FarsideFetch *s);
/* There is another peer, or none. */
void farside_fetch_forget(FarsideFetch *s);
/*
 * Ends all blocks of all links: this machine may have learnt that memory of a
 * peer has changed.
 */
void farside_fetch_expire(void);

#endif /* FARSIDE_FETCH_H */
