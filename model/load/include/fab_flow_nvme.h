/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLOW_NVME_H
#define FAB_FLOW_NVME_H

#include "fab_flow.h"

/* The properties of a drive that decide how long a command takes. */
typedef struct FabNvmeParams {
    SimTime overhead; /* controller time per command; it serves one command
                         after the other */
    SimTime read_latency, write_latency; /* minimum latencies of the media */
    SimTime jitter; /* maximum random time that is added to these latencies */
    uint64_t read_bandwidth_bytes_s, write_bandwidth_bytes_s; /* of the media */
    uint32_t commands;           /* largest number of commands between fetch and
                                    completion */
    uint32_t max_transfer_bytes; /* largest command: a power of two, 4 KiB to
                                    2 MiB */
    uint32_t block_bytes;        /* a power of two, 512 B to 4 KiB */
    bool serial; /* the controller orders no DMA while it waits for an entry, a
                    PRP list or a shadow doorbell, or while the data of a read
                    leave */
    bool read_ahead; /* a read that begins where the last one ended does not
                        wait for the media */
} FabNvmeParams;

/*
 * A driver on @driver's CPU lets the drive @device read or write (NVM Express
 * 1.3). An operation is one or more commands of at most max_transfer_bytes. For
 * each command the driver writes an entry of 64 bytes (and a PRP list, if the
 * command moves more than two pages) to a submission queue in its own memory,
 * and then rings the queue's tail doorbell. The controller fetches the entry
 * and the list, moves the data by pages of 4 KiB, and writes a completion entry
 * of 16 bytes. The driver either polls and finds this entry by its phase tag
 * (cpu.poll is the mean of a uniform distribution that begins at 0), or waits
 * for the MSI that follows (cpu.interrupt). The driver then rings the
 * completion queue's head doorbell.
 *
 * The queues and lists may be elsewhere: in the memory of another host, behind
 * a BAR of another device, or behind one of the drive (a Controller Memory
 * Buffer, NVMe 1.3 s4.7). The driver then stores to them across the fabric; the
 * drive reads and writes its own without a TLP. A driver whose completion queue
 * is not in its own memory reads the entry at its head, again and again if it
 * polls, or after an interrupt as long as it finds one.
 *
 * With shadow doorbells the driver stores tail and head to its memory as well,
 * and the controller reads them there: the tail before it fetches entries, the
 * head before it writes a completion entry. The driver still rings each time,
 * as it has to while the queue is short.
 *
 * A driver that maps each buffer submits a command when its buffer is mapped;
 * the operation is over when the last one is unmapped. If the DMA window of a
 * lent drive has no room for a buffer, the driver tries again when a part of
 * the window is given back, and the commands behind wait, too.
 *
 * All flows of one device share its media, but have their own queues. Their
 * @drive must be equal. The latency of an operation runs from the driver's
 * first store until the driver knows that the last command is completed. When
 * an operation takes longer than @timeout, all operations in the queue fail,
 * and the queue is reset.
 */
typedef struct FabNvmeFlowParams {
    FabEndpoint *device;
    FabNvmeParams drive;
    FabRoot *driver;
    FabTarget buffer;
    FabTarget sq, cq, lists; /* where the queues and PRP lists are; component
                                NULL: in the driver's memory */
    /* Not NULL: threads of this GPU submit and poll, and no CPU. Queues and
     * lists must be behind a BAR of it, and .polling be set. They submit @depth
     * operations at a time, ring once, wait until all are over, and submit the
     * next ones .pause after they have seen the last one. */
    FabEndpoint *by;
    SimTime notice, notice_period; /* from a completion entry in its memory
                                      until it is seen: uniform around notice */
    SimTime pause;
    bool write;          /* true: from the buffer to the drive */
    uint64_t size_bytes; /* size of an operation, a multiple of the block */
    uint64_t count;      /* number of operations */
    uint32_t depth;      /* outstanding operations, at most 4095 */
    uint32_t entries;    /* of each queue, 2 to 4096; one stays empty */
    bool random;         /* true: random blocks; false: consecutive blocks */
    bool polling;        /* true: the driver polls; false: it uses interrupts */
    bool maps_each; /* the driver maps the buffer of each command, in its own
                       memory, before it, and unmaps it after it. Without an
                       IOMMU there, and for a guest, this costs nothing */
    bool shadow_doorbells; /* in the driver's memory (NVMe 1.3 s5.7) */
    SimTime timeout;       /* an operation that takes longer fails */
    SimTime start;
} FabNvmeFlowParams;

/* The stages of an operation, in order (a write moves its data before the
 * MEDIA stage). In an operation of several commands, the stages are those of
 * the command that completes last. */
typedef enum FabNvmeStage {
    FAB_NVME_SUBMIT,     /* the driver's stores, until the doorbell has left */
    FAB_NVME_DOORBELL,   /* the doorbell's way to the drive */
    FAB_NVME_FETCH,      /* the round trip that reads the entry, and before it
                            that of the shadow of the tail */
    FAB_NVME_LIST,       /* the round trip that reads the PRP list */
    FAB_NVME_MEDIA,      /* the controller and the media */
    FAB_NVME_DATA,       /* the data; of a read: the rest after MEDIA */
    FAB_NVME_COMPLETION, /* the completion entry's way to the driver's memory,
                            and before it the round trip that reads the shadow
                            of the head */
    FAB_NVME_NOTICE,     /* the driver's poll, or the interrupt */
    FAB_NVME_STAGES,
} FabNvmeStage;

/* See fab_flow.h for what the makers of flows have in common. */
FabFlow *fab_nvme_flow_new(FabFabric *fabric, const char *name, SimTime warmup,
                           const FabNvmeFlowParams *params, GError **error);

/* The time (ps) that the operations counted in the latency of @flow have spent
 * in each stage: FAB_NVME_STAGES sums, owned by the flow. NULL if the flow is
 * of another kind. */
const SimTime *fab_nvme_flow_stages(const FabFlow *flow);

#endif
