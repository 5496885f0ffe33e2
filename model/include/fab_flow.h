/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLOW_H
#define FAB_FLOW_H

#include "fab_endpoint.h"
#include "fab_route.h"
#include "fab_root.h"
#include "sim_stats.h"

/*
 * Workloads. A flow moves something from one place of the fabric to another,
 * and measures. Flows are made after realize, each under a name of its own,
 * which also names its random stream; buffers and mappings are given out in the
 * order in which flows are made. They begin with fab_flows_run().
 */
typedef struct FabFlow FabFlow;

/* One end: the memory of a host (a root) or what is behind a BAR of any other
 * component that has BARs. */
typedef struct FabTarget {
    FabComponent *component;
    int bar; /* not of a root; -1: the largest */
} FabTarget;

typedef enum FabArrivals {
    FAB_ARRIVALS_CLOSED,   /* the next as soon as one is done */
    FAB_ARRIVALS_PERIODIC, /* every interval */
    FAB_ARRIVALS_POISSON,  /* exponential intervals */
} FabArrivals;

/*
 * A device's DMA engine writes to or reads from @target. An operation begins
 * when it arrives (closed: when it is ordered), and is over when all data are
 * there (read) or the last TLP begins to leave the device (write).
 */
typedef struct FabDmaFlowParams {
    FabEndpoint *device;
    FabTlpType direction; /* FAB_TLP_MWR or FAB_TLP_MRD */
    FabTarget target;
    uint64_t size_bytes;  /* of an operation */
    uint64_t count;       /* operations */
    uint32_t outstanding; /* operations at a time, 65536 at most; later
                             arrivals wait; 0: as many as it takes to keep
                             the engine busy */
    bool random;          /* any slot of size_bytes; else in order of address
                             and round again */
    uint64_t working_set_bytes; /* operations fall into; 0: size_bytes*count,
                                   but (with more than one operation) no more
                                   than 64 MiB or what a BAR holds */
    FabArrivals arrivals;
    SimTime interval; /* mean, between arrivals */
    SimTime start;    /* periodic: of the first; Poisson: of the time
                         that passes until the first */
} FabDmaFlowParams;

/*
 * A driver on @driver's CPU has @device copy between its own memory and
 * @buffer: @copies commands are put in a ring in the driver's memory and the
 * device's doorbell is rung once (@queued) or for each. The device fetches each
 * command from the ring, moves the data, and after the last writes a completion
 * record to the driver's memory, which the driver polls (core.poll is the mean
 * of a uniform distribution from 0 on). The doorbell is at offset 0 of BAR 0.
 *
 * What is measured is what the device sees: from the begin of the fetch of the
 * first command to the end of the last transfer, which for writes is when the
 * completion record begins to leave behind them. The latency of a copy is that
 * from fetch to end when @queued, and that from the doorbell until the driver
 * knows otherwise.
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
    SimTime setup; /* device time per copy, once it has the command */
    SimTime least; /* no copy takes less, from its command's fetch */
    SimTime start;
} FabCopyFlowParams;

/*
 * The CPU of @host writes to or reads from @target, one operation after the
 * other, over at most a page. A write is over when it has left the CPU, see
 * fab_root_write_then(), which is when the next begins; if it is to be @seen,
 * when the CPU of the host whose memory it is, which polls, has seen it
 * (core.poll is the mean of a uniform distribution from 0 on).
 */
typedef struct FabMmioFlowParams {
    FabRoot *host;
    FabTlpType direction;
    FabTarget target;
    uint32_t size_bytes; /* at most 64 */
    uint64_t count;
    bool seen; /* of writes to a host's memory */
    SimTime start;
} FabMmioFlowParams;

/*
 * Kernels on two GPUs pass a counter to and fro. Without @via each stores into
 * the memory behind the other's BAR and watches its own. With it the counter is
 * in the memory of a host: both store there, and read it again and again until
 * the other has stored.
 */
typedef struct FabPingPongFlowParams {
    FabEndpoint *device[2];
    FabRoot *via;   /* nullable */
    uint64_t count; /* round trips */
    SimTime store;  /* from a kernel's decision to the store at the port */
    SimTime
        notice;  /* mean time until a kernel sees a store to its own memory */
    SimTime gap; /* least time between two reads of a host's memory */
    SimTime jitter; /* they are up to this further apart */
    SimTime start;
} FabPingPongFlowParams;

/*
 * A driver on @driver's CPU has the memory of one GPU copied to another's, one
 * copy after the other. A copy begins with the driver's work, its doorbell, and
 * what the first GPU then reads of the driver's memory. Without @via that GPU
 * writes to the other directly. With it the copy is cut into chunks, which the
 * one writes to a buffer in @via's memory and the other reads from there, once
 * it knows of them; several buffers let both be busy.
 */
typedef struct FabTransferFlowParams {
    FabEndpoint *from, *to;
    FabRoot *via; /* nullable */
    FabRoot *driver;
    uint64_t size_bytes;
    uint32_t copies;
    SimTime cpu_time;       /* of the driver, per copy */
    uint32_t control_bytes; /* read by the first GPU, per copy */
    uint64_t chunk_bytes;
    uint32_t buffers;     /* chunks in memory at a time */
    uint32_t round_trips; /* reads in sequence until a chunk is known of */
    SimTime start;
} FabTransferFlowParams;

/* What a drive does with a command, see FabNvmeFlowParams. */
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
 * the data by pages of 4 KiB, and writes a completion entry of 16 bytes, which
 * the driver knows by its phase tag: because it polls (core.poll is the mean of
 * a uniform distribution from 0 on), or because of the MSI that follows, which
 * takes core.interrupt. It then rings the completion queue's head doorbell.
 *
 * All flows of one device share its media, and have queues of their own; they
 * must agree on what it is. What a flow measures are operations, from the
 * driver's first store until it knows of the last command. Those that nothing
 * is heard of for a time are failed with all that the queue holds, and the
 * queue begins anew.
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
    SimTime timeout; /* an operation is given up after it */
    SimTime start;
} FabNvmeFlowParams;

/* Where an operation of kind NVMe spends its time, in order (of a write, the
 * data come before the media). Of several commands the last to be done
 * counts. */
typedef enum FabNvmeStage {
    FAB_NVME_SUBMIT,     /* the driver's stores, until the doorbell has left */
    FAB_NVME_DOORBELL,   /* its way to the drive */
    FAB_NVME_FETCH,      /* of the entry, there and back */
    FAB_NVME_LIST,       /* of the PRP list, the same */
    FAB_NVME_MEDIA,      /* the controller and the media */
    FAB_NVME_DATA,       /* what of the data is not under way by then */
    FAB_NVME_COMPLETION, /* way of the completion entry */
    FAB_NVME_NOTICE,     /* the driver's poll, or the interrupt */
    FAB_NVME_STAGES,
} FabNvmeStage;

/* A device works for itself, and needs the fabric for nothing. */
typedef struct FabComputeFlowParams {
    SimTime time;
    SimTime start;
} FabComputeFlowParams;

/* What a flow has measured since its warm-up was over. */
typedef struct FabFlowResult {
    uint64_t operations;
    uint64_t failed;    /* of these, reads that ended with UR or CA; posted
                           writes never learn */
    uint64_t bytes;     /* of those that did not fail */
    SimTime begin, end; /* first operation's begin, last one's end */
    const SimHistogram *latency; /* of those that did not fail, in ps; the
                                    flow's */
    const SimTime *stages; /* sums that latency consists of, FAB_NVME_STAGES of
                              them; NULL unless the flow is of kind NVMe */
} FabFlowResult;

/* Makes a flow of @fabric (owned by it) named @name. Operations that begin
 * before @warmup are not measured. Fails as fab_route_map() does, and with
 * FAB_ERROR_CONFIG when @params make no sense or a buffer does not fit. */
FabFlow *fab_dma_flow_new(FabFabric *fabric, const char *name, SimTime warmup,
                          const FabDmaFlowParams *params, GError **error);
FabFlow *fab_copy_flow_new(FabFabric *fabric, const char *name, SimTime warmup,
                           const FabCopyFlowParams *params, GError **error);
FabFlow *fab_mmio_flow_new(FabFabric *fabric, const char *name, SimTime warmup,
                           const FabMmioFlowParams *params, GError **error);
FabFlow *fab_pingpong_flow_new(FabFabric *fabric, const char *name,
                               SimTime warmup,
                               const FabPingPongFlowParams *params,
                               GError **error);
FabFlow *fab_transfer_flow_new(FabFabric *fabric, const char *name,
                               SimTime warmup,
                               const FabTransferFlowParams *params,
                               GError **error);
FabFlow *fab_nvme_flow_new(FabFabric *fabric, const char *name, SimTime warmup,
                           const FabNvmeFlowParams *params, GError **error);

FabFlow *fab_compute_flow_new(FabFabric *fabric, const char *name,
                              SimTime warmup,
                              const FabComputeFlowParams *params,
                              GError **error);

/* Has @flow begin when @before is done, and not before its own start; both of
 * one fabric, before they run. It may wait for several. */
void fab_flow_after(FabFlow *flow, FabFlow *before);

const char *fab_flow_name(const FabFlow *flow);
/* Number under which its TLPs are seen by observers: 1, 2 and so on. */
uint32_t fab_flow_number(const FabFlow *flow);
bool fab_flow_is_done(const FabFlow *flow);
void fab_flow_result(const FabFlow *flow, FabFlowResult *ret_result);

/*
 * Starts the flows that have not been, and runs the engine until every flow of
 * @fabric is done, or until @stop (SIM_TIME_NONE: no limit). Returns false if
 * nothing was left to happen and a flow is not done: a deadlock, for which
 * ret_stuck (nullable) gets the first such flow by name.
 */
bool fab_flows_run(FabFabric *fabric, SimTime stop, FabFlow **ret_stuck);

#endif
