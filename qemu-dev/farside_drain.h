/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drives that are reset while they move data through a window.
 *
 * QEMU's NVMe controller drains its drive when it is reset, and then frees its
 * queues. But a request whose data lie behind a window may wait for QEMU's one
 * bounce buffer, and the drive does not count such a request as under way. It
 * would complete after its queue is gone, and QEMU would crash. So before the
 * machine or such a controller is reset, switched off or unplugged, all
 * requests are brought to their end.
 */
#ifndef FARSIDE_DRAIN_H
#define FARSIDE_DRAIN_H

/*
 * Called once, before the machine is built: QEMU resets in the order in which
 * handlers were registered. The plugin calls this. In a QEMU tree,
 * migration_init() does.
 */
void farside_drain_start(void);

/* True while requests are brought to their end: no device begins new work. */
bool farside_drain_is_on(void);

/*
 * Covers all controllers: their resets, their unplugging, and registers that
 * switch them off. Called when all classes of QEMU are registered, any number
 * of times.
 */
void farside_drain_controllers(void);

#endif /* FARSIDE_DRAIN_H */
