/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLOW_COPY_H
#define FAB_FLOW_COPY_H

#include "fab_flow.h"

/*
 * A driver on @driver's CPU lets @device copy between the device's own memory
 * and @buffer. The driver puts @copies commands in a ring in its memory. It
 * rings the device's doorbell, at offset 0 of BAR 0, once for all commands
 * (@queued) or once for each. The device fetches each command from the ring and
 * moves the data. After the last copy it writes a completion record to the
 * driver's memory, which the driver polls (cpu.poll is the mean of a uniform
 * distribution that begins at 0).
 *
 * The flow measures the time that the device sees, from the start of the fetch
 * of the first command to the end of the last transfer. A transfer that writes
 * ends when the completion record behind it begins to leave. The latency of a
 * copy runs from its fetch to its end if @queued, and otherwise from the
 * doorbell until the driver has seen the record.
 */
typedef struct FabCopyFlowParams {
    FabEndpoint *device;
    FabTlpType direction; /* FAB_TLP_MRD: buffer to device */
    FabTarget buffer;
    FabRoot *driver;
    uint64_t size_bytes;
    uint32_t copies;
    bool queued;
    uint32_t command_bytes;
    SimTime setup; /* device time per copy, after the command's fetch */
    SimTime least; /* minimum time of a copy, from its command's fetch */
    SimTime start;
} FabCopyFlowParams;

/* See fab_flow.h for what the makers of flows have in common. */
FabFlow *fab_copy_flow_new(FabFabric *fabric, const char *name, SimTime warmup,
                           const FabCopyFlowParams *params, GError **error);

#endif
