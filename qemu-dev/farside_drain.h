/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A machine that resets while its drives move data through a window.
 *
 * QEMU's NVMe controller drains its drive when it is reset, and then frees its
 * queues. But a request whose data lie behind a window may wait for QEMU's one
 * bounce buffer, and the drive does not count such a request as under way. It
 * would complete after its queue is gone, and QEMU would crash. So before any
 * device is reset, all requests are brought to their end. Meanwhile nothing
 * crosses a link any more: forwarded reads return all ones, forwarded writes
 * are dropped, and so no request waits for the peer.
 */
#ifndef FARSIDE_DRAIN_H
#define FARSIDE_DRAIN_H

/*
 * Called once, before the machine is built: QEMU resets in the order in which
 * handlers were registered.
 */
void farside_drain_start(void);

#endif /* FARSIDE_DRAIN_H */
