/* SPDX-License-Identifier: MIT */
#include "fab_flow_nvme.h"

#include "fab_flow_priv.h"

#include <string.h>

#include "fab_lend.h"
#include "fab_nvme_places_priv.h"

/* A command identifier has the number of the command in its low bits and the
 * number of resets of the queue above them. The latter distinguishes valid
 * completion entries from those that arrive after a reset. */
#define CID_MASK    ((1u << FAB_NVME_CID_BITS) - 1)
#define STORE_BYTES 64u /* size of a store of the CPU */
/* In the data of an interrupt: it is that of a flow, not of a loan, whose
 * devices interrupt by writes to the same address. */
#define OWN_MSI     0x80000000u

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

typedef struct Command {
    struct Command *next_free;
    Operation *op;
    FabNvmeStamps stamps;
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
    FabBusAddr device_buffer;
    FabBusAddr bells;      /* address of the doorbells for the CPU */
    uint64_t stride_bytes; /* from the buffer of an operation to the next */
    FabNvmeSqe *sqes;
    uint64_t *cqes;
    SimTime *visible_at; /* by completion entry: when it became visible */
    FabNvmeArea placed[FAB_NVME_AREAS]; /* SQ, CQ and lists that are not in the
                              driver's memory; home NULL: they are */
    bool reads_cq;   /* the CQ is not in the driver's memory */
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
    SimEvent notice_event, timeout_event;
};

static SimTime nvme_now(const NvmeFlow *self)
{
    return sim_engine_now(self->flow.fabric->engine);
}

/* ---- Submitting ------------------------------------------------------ */

/* The next doorbell has left the CPU. */
static void bell_sent(void *owner)
{
    NvmeFlow *self = owner;
    uint32_t entries = self->params.entries;
    uint32_t tail = self->bell[self->bell_first];

    if (self->stale_bells > 0) {
        self->stale_bells--;
        return;
    }
    self->bell_first = (self->bell_first + 1) % entries;
    while (self->sq_rung != tail) {
        self->sqes[self->sq_rung].stamps->at[FAB_NVME_SUBMIT] = nvme_now(self);
        self->sq_rung = (self->sq_rung + 1) % entries;
    }
}

/* The CPU stores @bytes to its own memory. */
static void memory_store(NvmeFlow *self, FabBusAddr addr, uint32_t bytes)
{
    for (uint32_t done = 0; done < bytes; done += STORE_BYTES) {
        fab_root_write(self->params.driver, addr + done,
                       MIN(bytes - done, STORE_BYTES), 0, self->flow.number);
    }
}

static void tail_ring(NvmeFlow *self)
{
    if (self->params.shadow_doorbells) {
        memory_store(self, self->shadow, FAB_NVME_BELL_BYTES);
    }
    self->bell[self->bell_last] = self->sq_tail;
    self->bell_last = (self->bell_last + 1) % self->params.entries;
    fab_root_write_then(self->params.driver, self->bells, FAB_NVME_BELL_BYTES,
                        fab_nvme_bell(self->resets, self->sq_tail),
                        self->flow.number, bell_sent, self);
}

static void head_ring(NvmeFlow *self)
{
    if (self->params.shadow_doorbells) {
        memory_store(self, self->shadow + FAB_NVME_BELL_BYTES,
                     FAB_NVME_BELL_BYTES);
    }
    fab_root_write(self->params.driver, self->bells + FAB_NVME_BELL_BYTES,
                   FAB_NVME_BELL_BYTES,
                   fab_nvme_bell(self->resets, self->cq_head),
                   self->flow.number);
}

/* Writes the next command of @op to the queue. */
static void command_submit(NvmeFlow *self, Operation *op, Command *command)
{
    const FabNvmeParams *drive = &self->params.drive;
    uint32_t index = command - self->commands;
    FabBusAddr list = (FabBusAddr)index * FAB_NVME_PAGE_BYTES;
    uint32_t bytes = MIN(self->params.size_bytes - op->submitted_bytes,
                         drive->max_transfer_bytes);

    command->op = op;
    command->stamps = (FabNvmeStamps){{0}};
    self->sqes[self->sq_tail] = (FabNvmeSqe){
        .write = self->params.write,
        .cid = index | (self->resets << FAB_NVME_CID_BITS & UINT16_MAX),
        .block = op->block + op->submitted_bytes / drive->block_bytes,
        .size_bytes = bytes,
        .prp = self->device_buffer + (op - self->ops) * self->stride_bytes +
               op->submitted_bytes,
        .list = self->device_lists + list,
        .stamps = &command->stamps,
    };
    memory_store(self, self->lists + list, fab_nvme_list_bytes(bytes));
    memory_store(self,
                 self->sq + (FabBusAddr)self->sq_tail * FAB_NVME_SQE_BYTES,
                 FAB_NVME_SQE_BYTES);
    self->sq_tail = (self->sq_tail + 1) % self->params.entries;
    op->submitted_bytes += bytes;
}

/* Submits commands until the queue is full, and rings the doorbell once. */
static void submit(NvmeFlow *self)
{
    uint32_t before = self->sq_tail;

    while (self->submit_head && self->free_commands &&
           (self->sq_tail + 1) % self->params.entries != self->sq_head) {
        Operation *op = self->submit_head;
        Command *command = self->free_commands;

        self->free_commands = command->next_free;
        command_submit(self, op, command);
        if (op->submitted_bytes == self->params.size_bytes) {
            self->submit_head = op->next;
        }
    }
    if (self->sq_tail != before) {
        tail_ring(self);
    }
}

static uint64_t operation_block(NvmeFlow *self)
{
    uint64_t blocks = self->params.size_bytes / self->params.drive.block_bytes;
    uint64_t block = self->next_block;

    if (self->params.random) {
        return sim_random_below(&self->flow.random,
                                FAB_NVME_BLOCKS - blocks + 1);
    }
    if (block + blocks > FAB_NVME_BLOCKS) {
        block = 0;
    }
    self->next_block = block + blocks;
    return block;
}

/* Begins operations until all have begun or the depth is reached. */
static void operations_begin(NvmeFlow *self)
{
    const FabNvmeFlowParams *params = &self->params;
    uint32_t transfer = params->drive.max_transfer_bytes;

    while (self->free_ops && self->started < params->count) {
        Operation *op = self->free_ops;

        self->free_ops = op->next;
        self->started++;
        *op = (Operation){
            .begin = nvme_now(self),
            .block = operation_block(self),
            .left = (params->size_bytes + transfer - 1) / transfer,
            .is_busy = true,
            .status = FAB_STATUS_SC,
        };
        if (self->submit_head) {
            self->submit_tail->next = op;
        } else {
            self->submit_head = op;
        }
        self->submit_tail = op;
        if (!sim_event_is_pending(&self->timeout_event)) {
            sim_event_schedule(&self->timeout_event,
                               op->begin + params->timeout);
        }
    }
    submit(self);
}

/* ---- Completing ------------------------------------------------------ */

/* Adds the times that @command, the last one of its operation, has spent in the
 * stages. */
static void stages_add(NvmeFlow *self, const Command *command)
{
    /* A write moves its data before the media work. */
    static const FabNvmeStage order[2][2] = {{FAB_NVME_MEDIA, FAB_NVME_DATA},
                                             {FAB_NVME_DATA, FAB_NVME_MEDIA}};
    SimTime last = command->op->begin;

    for (unsigned i = 0; i < FAB_NVME_STAGES; i++) {
        unsigned stage = i;
        SimTime at;

        if (i == FAB_NVME_MEDIA || i == FAB_NVME_DATA) {
            stage = order[self->params.write][i - FAB_NVME_MEDIA];
        }
        at = MAX(command->stamps.at[stage], last);
        self->stages[stage] += at - last;
        last = at;
    }
}

static void operation_over(NvmeFlow *self, Operation *op,
                           const Command *command)
{
    if (fab_flow_count(&self->flow, op->begin, 0, op->status)) {
        sim_histogram_add(self->flow.latency, nvme_now(self) - op->begin);
        stages_add(self, command);
    }
    op->is_busy = false;
    op->next = self->free_ops;
    self->free_ops = op;
    self->finished++;
    fab_flow_mark(&self->flow, 1);
}

/* Takes the completion entry at the head of the queue. */
static void entry_take(NvmeFlow *self)
{
    uint64_t cqe = self->cqes[self->cq_head];
    uint32_t index = FAB_NVME_CQE_CID(cqe) & CID_MASK;
    Command *command = &self->commands[index];
    Operation *op = command->op;

    g_assert(index < self->command_count && op);
    command->stamps.at[FAB_NVME_COMPLETION] = self->visible_at[self->cq_head];
    command->stamps.at[FAB_NVME_NOTICE] = nvme_now(self);
    self->sq_head = FAB_NVME_CQE_HEAD(cqe);
    self->cq_head = (self->cq_head + 1) % self->params.entries;
    if (self->cq_head == 0) {
        self->phase = !self->phase;
    }
    if (FAB_NVME_CQE_STATUS(cqe)) {
        op->status = FAB_STATUS_CA;
    }
    if (--op->left == 0) {
        operation_over(self, op, command);
    }
    command->op = NULL;
    command->next_free = self->free_commands;
    self->free_commands = command;
}

/* Returns whether the entry at the head of the queue is new. */
static bool entry_is_new(const NvmeFlow *self)
{
    return FAB_NVME_CQE_PHASE(self->cqes[self->cq_head]) == self->phase;
}

static void flow_over(NvmeFlow *self)
{
    sim_event_cancel(&self->timeout_event);
    fab_flow_finish(&self->flow);
}

static void entries_take(NvmeFlow *self)
{
    uint32_t before = self->cq_head;

    while (entry_is_new(self)) {
        entry_take(self);
    }
    if (self->cq_head == before) {
        return;
    }
    /* The next step does not wait for this doorbell. */
    if (self->finished < self->params.count) {
        operations_begin(self);
        head_ring(self);
    } else {
        head_ring(self);
        flow_over(self);
    }
}

static void head_seen(void *owner, FabStatus status, uint64_t data);

/* Reads the entry at the head of a queue that is not in the driver's memory. */
static void head_read(NvmeFlow *self)
{
    if (self->is_reading) {
        self->must_read = true;
        return;
    }
    self->is_reading = true;
    self->must_read = false;
    fab_root_read_word(self->params.driver,
                       self->cq + self->cq_head * FAB_NVME_CQE_BYTES,
                       FAB_NVME_CQE_BYTES, head_seen, self, self->flow.number);
}

/* @data is the last entry that was in the queue when the head was read. The
 * head was new if this entry is one of those that are not taken. */
static bool head_is_new(const NvmeFlow *self, uint64_t data)
{
    bool phase = self->phase;

    for (uint32_t n = 0, i = self->cq_head; n < self->params.entries; n++) {
        if (FAB_NVME_CQE_PHASE(self->cqes[i]) != phase) {
            return false;
        }
        if (self->cqes[i] == data) {
            return true;
        }
        i = (i + 1) % self->params.entries;
        phase = i == 0 ? !phase : phase;
    }
    return false;
}

static void head_taken(NvmeFlow *self)
{
    entry_take(self);
    head_ring(self);
    if (self->finished == self->params.count) {
        flow_over(self);
        return;
    }
    operations_begin(self);
    head_read(self);
}

static void head_seen(void *owner, FabStatus status, uint64_t data)
{
    NvmeFlow *self = owner;

    self->is_reading = false;
    if (self->flow.done) {
        return;
    }
    if (status == FAB_STATUS_SC && head_is_new(self, data)) {
        head_taken(self);
    } else if (self->must_read ||
               (self->params.polling && status == FAB_STATUS_SC)) {
        head_read(self);
    }
    /* After a failed read the driver waits for the time-out. */
}

/* The driver looks at its completion queue. */
static void queue_look(NvmeFlow *self)
{
    if (self->reads_cq) {
        head_read(self);
    } else {
        entries_take(self);
    }
}

/* The interrupt handler of a lent drive. */
static void interrupt_handle(void *owner)
{
    queue_look(owner);
}

static void notice_event(SimEvent *event)
{
    queue_look(SIM_CONTAINER_OF(event, NvmeFlow, notice_event));
}

/* A completion entry is in memory. */
static void entry_visible(void *owner, FabBusAddr addr, uint64_t data)
{
    NvmeFlow *self = owner;
    FabBusAddr begin = self->reads_cq ? self->placed[1].addr : self->cq;
    uint32_t index = (addr - begin) / FAB_NVME_CQE_BYTES;
    SimTime poll = fab_root_params(self->params.driver)->cpu.poll;

    if (FAB_NVME_CQE_SQ(data) != fab_nvme_queue_number(self->queue)) {
        return; /* other data, behind a BAR that flows share */
    }
    if (FAB_NVME_CQE_CID(data) >> FAB_NVME_CID_BITS !=
        (self->resets & UINT16_MAX >> FAB_NVME_CID_BITS)) {
        return; /* an entry from before the reset */
    }
    self->cqes[index] = data;
    self->visible_at[index] = nvme_now(self);
    if (self->params.polling && !self->reads_cq &&
        !sim_event_is_pending(&self->notice_event)) {
        sim_event_schedule(&self->notice_event,
                           nvme_now(self) + sim_random_below(&self->flow.random,
                                                             2 * poll + 1));
    }
}

static void msi_visible(void *owner, FabBusAddr addr, uint64_t data)
{
    NvmeFlow *self = owner;

    if (data == (OWN_MSI | self->flow.number) &&
        !sim_event_is_pending(&self->notice_event)) {
        sim_event_schedule(
            &self->notice_event,
            nvme_now(self) +
                fab_root_params(self->params.driver)->cpu.interrupt);
    }
}

/* ---- Time-out -------------------------------------------------------- */

static void commands_free(NvmeFlow *self)
{
    self->free_commands = NULL;
    for (uint32_t i = self->command_count; i-- > 0;) {
        self->commands[i].op = NULL;
        self->commands[i].next_free = self->free_commands;
        self->free_commands = &self->commands[i];
    }
}

/* Resets the queues at both ends. Every operation under way fails. */
static void queue_reset(NvmeFlow *self)
{
    self->resets++;
    self->stale_bells +=
        (self->bell_last + self->params.entries - self->bell_first) %
        self->params.entries;
    self->bell_first = 0;
    self->bell_last = 0;
    self->sq_tail = 0;
    self->sq_head = 0;
    self->sq_rung = 0;
    self->cq_head = 0;
    self->phase = true;
    memset(self->cqes, 0, self->params.entries * sizeof(*self->cqes));
    self->submit_head = NULL;
    sim_event_cancel(&self->notice_event);
    fab_nvme_queue_reset(self->queue);
    commands_free(self);
    for (uint32_t i = 0; i < self->params.depth; i++) {
        if (self->ops[i].is_busy) {
            self->ops[i].status = FAB_STATUS_CA;
            operation_over(self, &self->ops[i], NULL);
        }
    }
}

static void timeout_event(SimEvent *event)
{
    NvmeFlow *self = SIM_CONTAINER_OF(event, NvmeFlow, timeout_event);
    SimTime oldest = SIM_TIME_NONE;

    for (uint32_t i = 0; i < self->params.depth; i++) {
        if (self->ops[i].is_busy) {
            oldest = MIN(oldest, self->ops[i].begin);
        }
    }
    if (oldest + self->params.timeout > event->time) {
        sim_event_schedule(event, oldest + self->params.timeout);
        return;
    }
    queue_reset(self);
    if (self->finished == self->params.count) {
        flow_over(self);
        return;
    }
    operations_begin(self);
    if (self->reads_cq && self->params.polling) {
        head_read(self);
    }
}

/* ---- Life ------------------------------------------------------------ */

static void nvme_event(SimEvent *event)
{
    NvmeFlow *self = (NvmeFlow *)fab_flow_of_event(event);
    SimEngine *engine = self->flow.fabric->engine;

    sim_event_init(&self->notice_event, engine, notice_event,
                   SIM_PRIORITY_NORMAL, self->flow.rank);
    sim_event_init(&self->timeout_event, engine, timeout_event,
                   SIM_PRIORITY_NORMAL, self->flow.rank);
    operations_begin(self);
    if (self->reads_cq && self->params.polling) {
        head_read(self);
    }
}

static void nvme_free(FabFlow *flow)
{
    NvmeFlow *self = (NvmeFlow *)flow;

    sim_event_cancel(&self->notice_event);
    sim_event_cancel(&self->timeout_event);
    if (self->reads_cq) {
        fab_nvme_area_unwatch(&self->placed[1], self->cq_watch);
    } else {
        fab_root_unwatch(self->params.driver, self->cq_watch);
    }
    if (!self->params.polling) {
        fab_root_unwatch(self->params.driver, self->msi_watch);
    }
    fab_nvme_unref(self->nvme);
    g_free(self->sqes);
    g_free(self->cqes);
    g_free(self->visible_at);
    g_free(self->bell);
    g_free(self->commands);
    g_free(self->ops);
    g_free(self);
}

/* The stage that @command is in. */
static FabNvmeStage command_stage(const NvmeFlow *self, const Command *command)
{
    const SimTime *at = command->stamps.at;

    if (!at[FAB_NVME_SUBMIT]) {
        return FAB_NVME_SUBMIT;
    } else if (!at[FAB_NVME_DOORBELL]) {
        return FAB_NVME_DOORBELL;
    } else if (!at[FAB_NVME_FETCH]) {
        return FAB_NVME_FETCH;
    } else if (!at[FAB_NVME_LIST]) {
        return FAB_NVME_LIST;
    } else if (self->params.write && !at[FAB_NVME_DATA]) {
        return FAB_NVME_DATA;
    } else if (!at[FAB_NVME_MEDIA]) {
        return FAB_NVME_MEDIA;
    } else if (!at[FAB_NVME_DATA]) {
        return FAB_NVME_DATA;
    }
    return FAB_NVME_COMPLETION;
}

/* Reports the stage of one of the commands under way: MEDIA if any command is
 * in that stage, because it hides the stages of the others; otherwise the
 * latest stage. */
static void nvme_wait(const FabFlow *flow, FabFlowWait *ret_wait)
{
    static const char *const names[FAB_NVME_STAGES] = {
        "submit", "doorbell", "fetch", "list",
        "media",  "data",     "entry", "notice",
    };
    const NvmeFlow *self = (const NvmeFlow *)flow;
    FabNvmeStage stage = FAB_NVME_SUBMIT;

    ret_wait->ops = 0;
    for (uint32_t i = 0; i < self->params.depth; i++) {
        ret_wait->ops += self->ops[i].is_busy;
    }
    for (uint32_t i = 0; i < self->command_count; i++) {
        const Command *command = &self->commands[i];

        if (command->op && stage != FAB_NVME_MEDIA) {
            FabNvmeStage its = command_stage(self, command);

            stage = its == FAB_NVME_MEDIA ? its : MAX(stage, its);
        }
    }
    if (stage == FAB_NVME_COMPLETION && entry_is_new(self)) {
        stage = FAB_NVME_NOTICE;
    }
    ret_wait->step = names[stage];
    ret_wait->own = stage == FAB_NVME_MEDIA || stage == FAB_NVME_NOTICE;
    ret_wait->posted = stage == FAB_NVME_COMPLETION;
}

static const FabNvmeArea *nvme_areas(const FabFlow *flow)
{
    return ((const NvmeFlow *)flow)->placed;
}

static uint64_t nvme_left(const FabFlow *flow, uint64_t *ret_grain)
{
    const NvmeFlow *self = (const NvmeFlow *)flow;

    *ret_grain = 1;
    return MAX(self->params.count - self->started, 1) - 1;
}

static void nvme_skip(FabFlow *flow, uint64_t units, SimTime time)
{
    NvmeFlow *self = (NvmeFlow *)flow;

    self->params.count -= units;
    fab_flow_left_out(flow, units, units * self->params.size_bytes);
}

static const FabFlowOps nvme_ops = {
    .left = nvme_left,
    .skip = nvme_skip,
    .marks = true,
    .event = nvme_event,
    .free = nvme_free,
    .wait = nvme_wait,
    .areas = nvme_areas,
};

const SimTime *fab_nvme_flow_stages(const FabFlow *flow)
{
    return flow->ops == &nvme_ops ? ((const NvmeFlow *)flow)->stages : NULL;
}

/* ---- Set-up ---------------------------------------------------------- */

/* The controller of @device that another flow has made; NULL if there is none.
 */
static FabNvme *find_peer(FabFabric *fabric, const FabEndpoint *device)
{
    FabFlow *flow;

    for (uint32_t i = 1; (flow = fab_flow_nth(fabric, i)); i++) {
        const NvmeFlow *other = (NvmeFlow *)flow;

        if (flow->ops == &nvme_ops && fab_nvme_device(other->nvme) == device) {
            return other->nvme;
        }
    }
    return NULL;
}

static void memory_init(NvmeFlow *self, const FabNvmePlaces *places)
{
    uint32_t entries = self->params.entries;

    self->sq = places->cpu[0];
    self->cq = places->cpu[1];
    self->lists = places->cpu[2];
    self->shadow = places->cpu[3];
    self->device_lists = places->device[2];
    memcpy(self->placed, places->placed, sizeof(self->placed));
    self->reads_cq =
        places->placed[1].home &&
        places->placed[1].home != fab_root_component(self->params.driver);
    self->device_buffer = places->device_buffer;
    self->bells = places->bells;
    self->stride_bytes = places->stride_bytes;
    self->sqes = g_new0(FabNvmeSqe, entries);
    self->cqes = g_new0(uint64_t, entries);
    self->visible_at = g_new0(SimTime, entries);
    self->bell = g_new0(uint32_t, entries);
    self->phase = true;
    self->command_count = places->commands;
    self->commands = g_new0(Command, places->commands);
    commands_free(self);
    self->ops = g_new0(Operation, self->params.depth);
    for (uint32_t i = self->params.depth; i-- > 0;) {
        self->ops[i].next = self->free_ops;
        self->free_ops = &self->ops[i];
    }
}

static void queue_init(NvmeFlow *self, const FabNvmePlaces *places)
{
    FabNvmeQueueParams queue = {
        .entries = self->params.entries,
        .sq = places->device[0],
        .cq = places->device[1],
        .sq_in_drive = places->placed[0].in_drive,
        .cq_in_drive = places->placed[1].in_drive,
        .lists_in_drive = places->placed[2].in_drive,
        .has_shadow = self->params.shadow_doorbells,
        .shadow = places->device[3],
        .event = places->device[3] + FAB_NVME_PAGE_BYTES,
        .sqes = self->sqes,
        .interrupt = !self->params.polling,
        .msi_addr = places->msi,
        .msi_data = OWN_MSI | self->flow.number,
        .handler = interrupt_handle,
        .handler_owner = self,
        .flow = self->flow.number,
        .metered = true,
    };

    self->queue = fab_nvme_queue_new(self->nvme, &queue);
    if (self->reads_cq) {
        self->cq_watch =
            fab_nvme_area_watch(&self->placed[1], entry_visible, self);
    } else {
        self->cq_watch = fab_root_watch(
            self->params.driver, self->cq,
            (uint64_t)queue.entries * FAB_NVME_CQE_BYTES, entry_visible, self);
    }
    if (queue.interrupt) {
        self->msi_watch =
            fab_root_watch(self->params.driver, FAB_MSI_BASE,
                           FAB_NVME_BELL_BYTES, msi_visible, self);
    }
}

FabFlow *fab_nvme_flow_new(FabFabric *fabric, const char *name, SimTime warmup,
                           const FabNvmeFlowParams *params, GError **error)
{
    FabNvme *peer = find_peer(fabric, params->device);
    FabNvmePlaces places = {.msi = FAB_MSI_BASE};
    NvmeFlow *self;

    if (!fab_flow_check(fabric, name, params->start, error) ||
        !fab_nvme_check(name, params, peer, error) ||
        !fab_nvme_find_places(params, peer, &places, error)) {
        return NULL;
    }
    self = g_new0(NvmeFlow, 1);
    self->params = *params;
    fab_flow_init(&self->flow, fabric, &nvme_ops, name, warmup, params->start);
    self->nvme = fab_nvme_ref(peer, params->device, &params->drive);
    memory_init(self, &places);
    queue_init(self, &places);
    return &self->flow;
}
