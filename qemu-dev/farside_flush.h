/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flushes: they wait until no CPU uses a translation of windows that was
 * replaced, and no transfer of a device that began before.
 *
 * A CPU may wait for the flush of another host. It stands then, and can run no
 * work for the flush that this host does for the other one. But it runs no code
 * of its guest either before it has dropped its old translations, so a flush
 * need not wait for it. Otherwise two hosts that close windows to each other
 * would wait for each other.
 *
 * The caller holds the big lock in all functions.
 */
#ifndef FARSIDE_FLUSH_H
#define FARSIDE_FLUSH_H

#include "hw/core/cpu.h"
#include "qom/object.h"

/* @number is what farside_flush_begin() returned. */
typedef void FarsideFlushed(void *opaque, uint32_t number);
/* True while a transfer of a device uses the memory behind windows. */
typedef bool FarsideIsInUse(void *opaque);

typedef struct FarsideFlushes FarsideFlushes;

/*
 * @owner stays alive until each flush has ended. Transfers, which @is_in_use
 * tells of, are waited for no longer than @timeout_ms.
 */
FarsideFlushes *farside_flushes_new(Object *owner, uint32_t timeout_ms,
                                    FarsideIsInUse *is_in_use, void *opaque);
void farside_flushes_free(FarsideFlushes *s); /* nullable */

/*
 * To be called after the CPUs were told to drop their translations. Calls
 * @flushed in the main loop. Returns the number of the flush, which is not 0.
 */
uint32_t farside_flush_begin(FarsideFlushes *s, FarsideFlushed *flushed,
                             void *opaque);

/* @cpu, and all CPUs of its thread, begin to wait between two instructions. */
void farside_flush_stand(CPUState *cpu);
/* The wait has ended. The CPU's queued work comes before its guest's code. */
void farside_flush_go_on(CPUState *cpu);

#endif /* FARSIDE_FLUSH_H */
