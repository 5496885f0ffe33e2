/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLOW_NVME_H
#define FAB_FLOW_NVME_H

#include "fab_flow.h"

/* A drive, as far as it decides how long a command takes. */
typedef struct FabNvmeParams {
    SimTime overhead; /* of the controller for each, one after the other */
    SimTime read_latency, write_latency; /* of the media, the least */
    SimTime jitter; /* it is up to this longer, at random */
    uint64_t read_bandwidth_bytes_s, write_bandwidth_bytes_s; /* of the media */
    uint32_t commands; /* at a time, from the fetch until they are completed */
    uint32_t max_transfer_bytes; /* of a command: a power of two, 4 KiB to
                                    2 MiB */
    uint32_t block_bytes;        /* a power of two, 512 B to 4 KiB */
    bool read_ahead; /* a read that begins where the last one ended need not
                        wait for the media */
} FabNvmeParams;

/*
 * A driver on @driver's CPU has @device, a drive, read or write (NVM Express
 * 1.3). An operation is one or more commands of at most max_transfer_bytes. For
 * each the driver writes an entry of 64 bytes (and a PRP list, if it moves more
 * than two pages) to a submission queue in its own memory, and then rings the
 * queue's tail doorbell. The controller fetches the entry and the list, moves
 * the data by pages of 4 KiB, and writes a completion entry of 16 bytes. The
 * driver either polls and finds it by its phase tag (core.poll is the mean of a
 * uniform distribution from 0 on), or waits for the MSI that follows, which
 * takes core.interrupt. It then rings the completion queue's head doorbell.
 *
 * All flows of one device share its media and have queues of their own. Their
 * @drive must be the same. The flow measures operations, from the driver's
 * first store until it knows of the last command. When an operation takes
 * longer than @timeout, it and all others in the queue have failed, and the
 * queue is reset.
 */
typedef struct FabNvmeFlowParams {
    FabEndpoint *device;
    FabNvmeParams drive;
    FabRoot *driver;
    FabTarget buffer;
    bool write;          /* buffer to drive */
    uint64_t size_bytes; /* of an operation, whole blocks */
    uint64_t count;      /* operations */
    uint32_t depth;      /* operations at a time, at most 4095 */
    uint32_t entries;    /* of each queue, 2 to 4096; one stays empty */
    bool random;         /* blocks anywhere; else one after the other */
    bool polling;
    SimTime timeout; /* an operation that takes longer has failed */
    SimTime start;
} FabNvmeFlowParams;

/* The stages of an operation, in order (a write moves its data before the media
 * work). Of several commands the one that is done last counts. */
typedef enum FabNvmeStage {
    FAB_NVME_SUBMIT,     /* the driver's stores, until the doorbell has left */
    FAB_NVME_DOORBELL,   /* its way to the drive */
    FAB_NVME_FETCH,      /* of the entry, there and back */
    FAB_NVME_LIST,       /* of the PRP list, the same */
    FAB_NVME_MEDIA,      /* the controller and the media */
    FAB_NVME_DATA,       /* the data that are not under way by then */
    FAB_NVME_COMPLETION, /* way of the completion entry */
    FAB_NVME_NOTICE,     /* the driver's poll, or the interrupt */
    FAB_NVME_STAGES,
} FabNvmeStage;

/* See fab_flow.h for what the makers of flows have in common. */
FabFlow *fab_nvme_flow_new(FabFabric *fabric, const char *name, SimTime warmup,
                           const FabNvmeFlowParams *params, GError **error);

/* The time (ps) that the operations counted in the latency of @flow have spent
 * in each stage, FAB_NVME_STAGES sums owned by the flow. NULL if the flow is of
 * another kind. */
const SimTime *fab_nvme_flow_stages(const FabFlow *flow);

#endif
