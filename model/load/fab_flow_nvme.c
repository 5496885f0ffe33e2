/* SPDX-License-Identifier: MIT */
#include "fab_flow_nvme_priv.h"

#include <string.h>

#include "fab_lend.h"

/* A command identifier has the number of the command in its low bits and the
 * number of resets of the queue above them. The latter distinguishes valid
 * completion entries from those that arrive after a reset. */
#define CID_MASK    ((1u << FAB_NVME_CID_BITS) - 1)
#define STORE_BYTES 64u /* size of a store of the CPU */
/* In the data of an interrupt: it is that of a flow, not of a loan, whose
 * devices interrupt by writes to the same address. */
#define OWN_MSI     0x80000000u

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

/* The CPU stores @bytes to its own memory. What a GPU stores to its own is no
 * TLP, and its time is in the pause. */
static void memory_store(NvmeFlow *self, FabBusAddr addr, uint32_t bytes)
{
    if (self->params.by) {
        return;
    }
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
    if (self->params.by) {
        fab_nvme_bell_ring(&self->tail,
                           fab_nvme_bell(self->resets, self->sq_tail));
        return;
    }
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
    if (self->params.by) {
        fab_nvme_bell_ring(&self->head,
                           fab_nvme_bell(self->resets, self->cq_head));
        return;
    }
    fab_root_write(self->params.driver, self->bells + FAB_NVME_BELL_BYTES,
                   FAB_NVME_BELL_BYTES,
                   fab_nvme_bell(self->resets, self->cq_head),
                   self->flow.number);
}

/* The buffer of @command, of an address for whom `buffer` has addresses. */
static FabBusAddr command_buffer(const NvmeFlow *self, const Command *command)
{
    return self->buffer + (command->op - self->ops) * self->stride_bytes +
           command->done_bytes;
}

/* Writes @command to the queue. The drive has its buffer at @prp. */
static void command_submit(NvmeFlow *self, Command *command, FabBusAddr prp)
{
    uint32_t index = command - self->commands;
    FabBusAddr list = (FabBusAddr)index * FAB_NVME_PAGE_BYTES;

    self->sqes[self->sq_tail] = (FabNvmeSqe){
        .write = self->params.write,
        .cid = index | (self->resets << FAB_NVME_CID_BITS & UINT16_MAX),
        .block = command->op->block +
                 command->done_bytes / self->params.drive.block_bytes,
        .size_bytes = command->size_bytes,
        .prp = prp,
        .list = self->device_lists + list,
        .stamps = &command->stamps,
    };
    memory_store(self, self->lists + list,
                 fab_nvme_list_bytes(command->size_bytes));
    memory_store(self,
                 self->sq + (FabBusAddr)self->sq_tail * FAB_NVME_SQE_BYTES,
                 FAB_NVME_SQE_BYTES);
    self->sq_tail = (self->sq_tail + 1) % self->params.entries;
}

static void buffer_mapped(FabMapped *mapped);

/* Takes a free command for the next bytes of the first operation. */
static Command *command_take(NvmeFlow *self)
{
    Operation *op = self->submit_head;
    Command *command = self->free_commands;

    self->free_commands = command->next_free;
    command->op = op;
    command->done_bytes = op->submitted_bytes;
    command->size_bytes = MIN(self->params.size_bytes - op->submitted_bytes,
                              self->params.drive.max_transfer_bytes);
    command->stamps = (FabNvmeStamps){{0}};
    op->submitted_bytes += command->size_bytes;
    if (op->submitted_bytes == self->params.size_bytes) {
        self->submit_head = op->next;
    }
    return command;
}

/* Submits commands until the queue is full, and rings the doorbell once. If
 * each buffer is mapped, a command is submitted when its buffer is. */
static void submit(NvmeFlow *self)
{
    uint32_t before = self->sq_tail;

    while (self->submit_head && self->free_commands &&
           (self->sq_tail + 1) % self->params.entries != self->sq_head) {
        Command *command = command_take(self);

        if (self->mapper) {
            command->buffer = BUFFER_COMES;
            command->mapped.addr = command_buffer(self, command);
            command->mapped.size_bytes = command->size_bytes;
            command->mapped.done = buffer_mapped;
            fab_mapper_map(self->mapper, &command->mapped);
        } else {
            command_submit(self, command, command_buffer(self, command));
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

static void command_free(NvmeFlow *self, Command *command)
{
    command->op = NULL;
    command->buffer = BUFFER_NONE;
    command->next_free = self->free_commands;
    self->free_commands = command;
}

static void command_over(NvmeFlow *self, Command *command)
{
    Operation *op = command->op;

    command->stamps.at[FAB_NVME_NOTICE] = nvme_now(self);
    if (--op->left == 0) {
        operation_over(self, op, command);
    }
    command_free(self, command);
}

static void buffer_unmapped(FabMapped *mapped);

static void buffer_unmap(NvmeFlow *self, Command *command)
{
    command->buffer = BUFFER_GOES;
    command->mapped.done = buffer_unmapped;
    fab_mapper_unmap(self->mapper, &command->mapped);
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
    self->sq_head = FAB_NVME_CQE_HEAD(cqe);
    self->cq_head = (self->cq_head + 1) % self->params.entries;
    if (self->cq_head == 0) {
        self->phase = !self->phase;
    }
    if (FAB_NVME_CQE_STATUS(cqe)) {
        op->status = FAB_STATUS_CA;
    }
    if (self->mapper) {
        buffer_unmap(self, command);
    } else {
        command_over(self, command);
    }
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
    if (self->cq_head == before ||
        (self->params.by && self->finished < self->started)) {
        return;
    }
    /* The next step does not wait for this doorbell. */
    if (self->finished < self->params.count && self->params.by) {
        head_ring(self);
        sim_event_reschedule(&self->pause_event,
                             nvme_now(self) + self->params.pause);
    } else if (self->finished < self->params.count) {
        operations_begin(self);
        head_ring(self);
    } else {
        head_ring(self);
        flow_over(self);
    }
}

/* Nothing is mapped for @command any more. A reset may have given it up. */
static void buffer_gone(NvmeFlow *self, Command *command)
{
    if (command->op) {
        command_over(self, command);
    } else {
        command_free(self, command);
    }
    if (self->flow.done) {
        return;
    }
    if (self->finished == self->params.count) {
        flow_over(self);
    } else {
        operations_begin(self);
    }
}

static void buffer_mapped(FabMapped *mapped)
{
    NvmeFlow *self = mapped->owner;
    Command *command = SIM_CONTAINER_OF(mapped, Command, mapped);

    if (mapped->device_addr == FAB_ADDR_UNMAPPED) {
        if (command->op) {
            command->op->status = FAB_STATUS_CA;
        }
        buffer_gone(self, command);
    } else if (!command->op) {
        buffer_unmap(self, command);
    } else {
        command->buffer = BUFFER_MAPPED;
        command_submit(self, command, mapped->device_addr);
        tail_ring(self);
    }
}

static void buffer_unmapped(FabMapped *mapped)
{
    buffer_gone(mapped->owner, SIM_CONTAINER_OF(mapped, Command, mapped));
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

static void pause_event(SimEvent *event)
{
    operations_begin(SIM_CONTAINER_OF(event, NvmeFlow, pause_event));
}

static void notice_event(SimEvent *event)
{
    queue_look(SIM_CONTAINER_OF(event, NvmeFlow, notice_event));
}

/* The time from a completion entry in memory until a poll sees it. */
static SimTime notice_time(NvmeFlow *self)
{
    const FabNvmeFlowParams *params = &self->params;
    SimTime poll = fab_root_params(params->driver)->cpu.poll;

    return params->by ? params->notice - params->notice_period / 2 +
                            sim_random_below(&self->flow.random,
                                             params->notice_period + 1)
                      : sim_random_below(&self->flow.random, 2 * poll + 1);
}

/* A completion entry is in memory. */
static void entry_visible(void *owner, FabBusAddr addr, uint64_t data)
{
    NvmeFlow *self = owner;
    FabBusAddr begin = self->has_area ? self->placed[1].addr : self->cq;
    uint32_t index = (addr - begin) / FAB_NVME_CQE_BYTES;

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
                           nvme_now(self) + notice_time(self));
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

/* Frees all commands, but those whose buffers are not unmapped yet. */
static void commands_free(NvmeFlow *self)
{
    self->free_commands = NULL;
    for (uint32_t i = self->command_count; i-- > 0;) {
        Command *command = &self->commands[i];

        command->op = NULL;
        if (command->buffer == BUFFER_MAPPED) {
            buffer_unmap(self, command);
        } else if (command->buffer == BUFFER_NONE) {
            command_free(self, command);
        }
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
    sim_event_cancel(&self->pause_event);
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
    sim_event_init(&self->pause_event, engine, pause_event, SIM_PRIORITY_NORMAL,
                   self->flow.rank);
    if (self->params.maps_each &&
        fab_mapper_is_needed(self->params.device, self->params.driver)) {
        FabMapperParams params = {
            .root = self->params.driver,
            .lend = fab_lend_of(self->params.device),
            .waits = true,
            .rank = self->flow.rank,
        };

        self->mapper = fab_mapper_new(&params);
    }
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
    sim_event_cancel(&self->pause_event);
    if (self->has_area) {
        fab_nvme_area_unwatch(&self->placed[1], self->cq_watch);
    } else {
        fab_root_unwatch(self->params.driver, self->cq_watch);
    }
    if (!self->params.polling) {
        fab_root_unwatch(self->params.driver, self->msi_watch);
    }
    fab_nvme_unref(self->nvme);
    fab_mapper_free(self->mapper);
    g_free(self->sqes);
    g_free(self->cqes);
    g_free(self->visible_at);
    g_free(self->bell);
    g_free(self->commands);
    g_free(self->ops);
    g_free(self);
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

static uint64_t nvme_unit_bytes(const FabFlow *flow)
{
    return ((const NvmeFlow *)flow)->params.size_bytes;
}

static void nvme_skip(FabFlow *flow, uint64_t units, SimTime time)
{
    NvmeFlow *self = (NvmeFlow *)flow;

    self->params.count -= units;
    fab_flow_left_out(flow, units, units * nvme_unit_bytes(flow));
}

static const FabFlowOps nvme_ops = {
    .left = nvme_left,
    .skip = nvme_skip,
    .unit_bytes = nvme_unit_bytes,
    .marks = true,
    .event = nvme_event,
    .free = nvme_free,
    .wait = fab_nvme_flow_wait,
    .areas = nvme_areas,
};

const SimTime *fab_nvme_flow_stages(const FabFlow *flow)
{
    return flow->ops == &nvme_ops ? ((const NvmeFlow *)flow)->stages : NULL;
}

/* ---- Set-up ---------------------------------------------------------- */

/* The controller of @function that another flow has made; NULL if there is
 * none.
 */
static FabNvme *find_peer(FabFabric *fabric, FabEndpoint *function)
{
    const FabEndpoint *device = fab_endpoint_device(function);
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
    self->has_area =
        places->placed[1].home &&
        places->placed[1].home != fab_root_component(self->params.driver);
    self->reads_cq = self->has_area && !self->params.by;
    self->buffer = places->buffer;
    self->bells = places->bells;
    self->stride_bytes = places->stride_bytes;
    self->sqes = g_new0(FabNvmeSqe, entries);
    self->cqes = g_new0(uint64_t, entries);
    self->visible_at = g_new0(SimTime, entries);
    self->bell = g_new0(uint32_t, entries);
    self->phase = true;
    self->command_count = places->commands;
    self->commands = g_new0(Command, places->commands);
    for (uint32_t i = 0; i < places->commands; i++) {
        self->commands[i].mapped.owner = self;
    }
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
        .function = self->params.device,
        .interrupt = !self->params.polling,
        .msi_addr = places->msi,
        .msi_data = OWN_MSI | self->flow.number,
        .handler = interrupt_handle,
        .handler_owner = self,
        .flow = self->flow.number,
        .metered = true,
    };

    self->queue = fab_nvme_queue_new(self->nvme, &queue);
    fab_nvme_bell_init(&self->tail, self->params.by, self->bells,
                       self->flow.number, bell_sent, self);
    fab_nvme_bell_init(&self->head, self->params.by,
                       self->bells + FAB_NVME_BELL_BYTES, self->flow.number,
                       NULL, NULL);
    if (self->has_area) {
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
