/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLOW_NVME_PRIV_H
#define FAB_FLOW_NVME_PRIV_H

#include "fab_flow_nvme.h"
#include "fab_flow_priv.h"
#include "fab_mapper_priv.h"
#include "fab_nvme_bell_priv.h"
#include "fab_nvme_places_priv.h"

typedef struct NvmeFlow NvmeFlow;

typedef struct Operation {
    struct Operation *next; /* in the list of free ones, or of those with
                               commands to submit */
    SimTime begin;
    uint64_t block;
    uint64_t submitted_bytes;
    uint32_t left; /* commands that are not completed */
    bool is_busy;
    FabStatus status;
} Operation;

/* The state of the buffer of a command, if each is mapped. */
typedef enum BufferState {
    BUFFER_NONE,
    BUFFER_COMES, /* it will be mapped */
    BUFFER_MAPPED,
    BUFFER_GOES, /* it will be unmapped */
} BufferState;

typedef struct Command {
    struct Command *next_free;
    Operation *op;       /* NULL: it is free, or a reset has given it up */
    uint64_t done_bytes; /* of the operation, before this command */
    uint32_t size_bytes;
    FabNvmeStamps stamps;
    BufferState buffer;
    FabMapped mapped;
} Command;

struct NvmeFlow {
    FabFlow flow;
    FabNvmeFlowParams params;
    FabNvme *nvme;
    FabNvmeQueue *queue;
    SimTime stages[FAB_NVME_STAGES]; /* sum of each stage */

    /* The addresses and contents of the driver's memory. */
    FabBusAddr sq, cq, lists; /* addresses for the CPU */
    FabBusAddr shadow;        /* of the doorbells, for the CPU */
    FabBusAddr device_lists;  /* addresses for the drive */
    FabBusAddr buffer;        /* for the drive; for the CPU if each is mapped */
    FabBusAddr bells;         /* address of the doorbells for the CPU */
    uint64_t stride_bytes;    /* from the buffer of an operation to the next */
    FabNvmeSqe *sqes;
    uint64_t *cqes;
    SimTime *visible_at; /* by completion entry: when it became visible */
    FabNvmeArea placed[FAB_NVME_AREAS]; /* SQ, CQ and lists that are not in the
                              driver's memory; home NULL: they are */
    bool has_area;   /* the CQ is not in the driver's memory */
    bool reads_cq;   /* so a CPU reads it there */
    bool is_reading; /* a read of its head is under way */
    bool must_read;  /* an interrupt came meanwhile */
    unsigned cq_watch, msi_watch;

    /* The driver. */
    uint32_t resets;
    uint32_t sq_tail, sq_head;
    uint32_t sq_rung; /* the doorbells of the entries before this have left */
    uint32_t *bell;   /* ring of the doorbells in the CPU: the tails in them */
    uint32_t bell_first, bell_last;
    uint32_t stale_bells; /* doorbells in the CPU from before a reset */
    uint32_t cq_head;
    bool phase;
    Command *commands, *free_commands;
    uint32_t command_count;
    Operation *ops, *free_ops;
    Operation *submit_head, *submit_tail;
    uint64_t started, finished; /* operations */
    uint64_t next_block;
    FabNvmeBell tail, head; /* of params.by */
    SimEvent notice_event, timeout_event, pause_event;
    FabMapper *mapper; /* NULL: the buffers stay mapped */
};

static inline SimTime nvme_now(const NvmeFlow *self)
{
    return sim_engine_now(self->flow.fabric->engine);
}

/* Returns whether the entry at the head of the queue is new. */
static inline bool entry_is_new(const NvmeFlow *self)
{
    return FAB_NVME_CQE_PHASE(self->cqes[self->cq_head]) == self->phase;
}

/* fab_flow_nvme_observe.c */

/* Reports the stage of one of the commands under way: MEDIA if any command is
 * in that stage, because it hides the stages of the others; otherwise the
 * latest stage. */
void fab_nvme_flow_wait(const FabFlow *flow, FabFlowWait *ret_wait);

#endif
