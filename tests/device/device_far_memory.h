/* SPDX-License-Identifier: MIT */
/*
 * A far end that has memory, and answers requests for it in a thread of its
 * own. The windows of BAR 2 lead to its first 4 MiB. It can do something else
 * at a request that the test names.
 */
#ifndef DEVICE_FAR_MEMORY_H
#define DEVICE_FAR_MEMORY_H

#include "device_rig.h"

#define FAR_BYTES (8u << 20)

typedef struct FarMemory FarMemory;

/*
 * Called in the thread at each READ, before its answer; @number counts from 0
 * since far_memory_watch(). Returns false to leave the READ without an answer.
 */
typedef bool FarMemoryHook(RigPeer *peer, const struct farside_wire_read *read,
                           unsigned number, void *opaque);

/* Opens the windows, and starts the thread. Borrows both. */
FarMemory *far_memory_new(DeviceRig *rig, RigPeer *peer);
/* Stops the thread. */
void far_memory_free(FarMemory *far);
uint8_t *far_memory_bytes(FarMemory *far);
/* Calls @hook (nullable) from the next READ on, instead of the hook before. */
void far_memory_watch(FarMemory *far, FarMemoryHook *hook, void *opaque);
/* The number of READs since far_memory_watch() */
unsigned far_memory_reads(FarMemory *far);
/* The number of COMPLETIONs of the device since far_memory_watch() */
unsigned far_memory_completions(FarMemory *far);
/* Answers a READ that the hook has left. */
void far_memory_answer(FarMemory *far, const struct farside_wire_read *read);
/* While @pause is true, the thread receives nothing. */
void far_memory_pause(FarMemory *far, bool pause);
/* Waits until no request has come for some time. */
void far_memory_settle(FarMemory *far);

#endif /* DEVICE_FAR_MEMORY_H */
