/* SPDX-License-Identifier: MIT */
#include "fab_flow_replay.h"

#include <string.h>

#include "fab_flow_priv.h"

/* A CPU's access leaves in pieces of a cache line at most. */
#define LINE_BYTES 64u

typedef struct ReplayFlow ReplayFlow;
typedef struct Op Op;

/* A target, and the address that each agent must use for it. */
typedef struct Target {
    FabReplayTarget given;
    FabBusAddr addr; /* in its host */
    FabRoot *root;   /* NULL: a BAR */
    FabEndpoint *endpoint;
    unsigned watch;
} Target;

/* An event that an agent has before it. */
typedef struct Node {
    struct Node *next;
    Op *op;
    bool is_arrival;
    SimTime gap;
} Node;

typedef struct Agent {
    SimEvent event; /* the agent goes on */
    ReplayFlow *flow;
    FabRoot *root; /* NULL: a device */
    FabEndpoint *endpoint;
    FabBusAddr *addrs; /* of each target */
    Node *head, **tail;
    SimTime last; /* time of the event before */
    /* Pieces of a write that have not left the CPU, or writes that have not
     * left the device. */
    uint32_t leaving;
} Agent;

struct Op {
    Op *next; /* in the list of free ones */
    uint64_t number;
    Agent *agent;
    Target *target;
    uint64_t offset;
    uint32_t bytes;
    FabReplayKind kind;
    Node issue, arrival;
    bool is_over;   /* in this fabric */
    bool is_waited; /* an agent has its arrival before it */
    SimTime begin, end;
    FabBusAddr last; /* first byte of the last piece, as the target sees it */
    FabDma dma;      /* of a device */
};

struct ReplayFlow {
    FabFlow flow;
    FabReplayFlowParams params;
    Agent *agents;
    Target *targets;
    GHashTable *ops; /* of Op by number: read, and not yet forgotten */
    Op *free_ops;
    uint32_t waiting;  /* events before agents */
    uint32_t underway; /* operations that were issued and are not over */
    bool is_read;      /* there are no further events */
    bool is_begun;
    bool is_pumping;
    SimHistogram *latency[FAB_REPLAY_KINDS];
};

static SimTime now_of(const ReplayFlow *self)
{
    return sim_engine_now(self->flow.fabric->engine);
}

static bool is_read(const Op *op)
{
    return op->kind == FAB_REPLAY_CPU_READ || op->kind == FAB_REPLAY_DMA_READ;
}

/* ---- Operations ------------------------------------------------------- */

static Op *op_new(ReplayFlow *self, uint64_t number)
{
    Op *op = self->free_ops;

    if (op) {
        self->free_ops = op->next;
        memset(op, 0, sizeof(*op));
    } else {
        op = g_new0(Op, 1);
    }
    op->number = number;
    g_hash_table_insert(self->ops, GSIZE_TO_POINTER(number), op);
    return op;
}

static Op *op_find(const ReplayFlow *self, uint64_t number)
{
    return g_hash_table_lookup(self->ops, GSIZE_TO_POINTER(number));
}

/* The operation is over, and its arrival, if there is one, is behind. */
static void op_forget(ReplayFlow *self, Op *op)
{
    g_hash_table_steal(self->ops, GSIZE_TO_POINTER(op->number));
    op->next = self->free_ops;
    self->free_ops = op;
}

/* ---- Reading ahead ---------------------------------------------------- */

static void node_append(ReplayFlow *self, Agent *agent, Node *node)
{
    node->next = NULL;
    *agent->tail = node;
    agent->tail = &node->next;
    self->waiting++;
}

/* Reads one event. Returns false at the end. */
static bool event_read(ReplayFlow *self)
{
    FabReplayEvent event;
    Op *op;

    if (!self->params.next(self->params.owner, &event)) {
        self->is_read = true;
        return false;
    }
    if (event.is_arrival) {
        op = op_find(self, event.op);
        if (op && !op->is_waited) {
            op->is_waited = true;
            op->arrival = (Node){.op = op, .is_arrival = true};
            node_append(self, &self->agents[event.agent], &op->arrival);
        }
        return true;
    }
    op = op_new(self, event.op);
    op->agent = &self->agents[event.agent];
    op->target = &self->targets[event.target];
    op->offset = event.offset;
    op->bytes = event.bytes;
    op->kind = event.kind;
    op->issue = (Node){.op = op, .gap = event.gap};
    node_append(self, op->agent, &op->issue);
    return true;
}

/* Reads events while there is room, and wakes the agents that had none. */
static void events_read(ReplayFlow *self)
{
    SimTime now = now_of(self);

    if (self->is_pumping) {
        return;
    }
    self->is_pumping = true;
    while (!self->is_read && self->waiting < self->params.ahead) {
        event_read(self);
    }
    for (uint32_t i = 0; i < self->params.n_agents; i++) {
        Agent *agent = &self->agents[i];

        if (agent->head && !sim_event_is_pending(&agent->event)) {
            sim_event_schedule(&agent->event, now);
        }
    }
    self->is_pumping = false;
}

static void finish_if_over(ReplayFlow *self)
{
    if (self->is_read && self->waiting == 0 && self->underway == 0 &&
        !self->flow.done) {
        fab_flow_finish(&self->flow);
    }
}

/* ---- Agents ----------------------------------------------------------- */

static void agent_wake(Agent *agent)
{
    SimTime now = now_of(agent->flow);

    if (!sim_event_is_pending(&agent->event)) {
        sim_event_schedule(&agent->event, now);
    }
}

static void op_over(Op *op, FabStatus status)
{
    ReplayFlow *self = op->agent->flow;
    SimTime now = now_of(self);

    if (op->is_over) {
        return;
    }
    op->is_over = true;
    op->end = now;
    self->underway--;
    if (fab_flow_count(&self->flow, op->begin, op->bytes, status)) {
        sim_histogram_add(self->flow.latency, now - op->begin);
        sim_histogram_add(self->latency[op->kind], now - op->begin);
    }
    /* The agent that waits for it may be any. */
    for (uint32_t i = 0; op->is_waited && i < self->params.n_agents; i++) {
        Agent *agent = &self->agents[i];

        if (agent->head == &op->arrival) {
            agent_wake(agent);
        }
    }
    finish_if_over(self);
}

static void left(Agent *agent)
{
    if (--agent->leaving == 0 && agent->head) {
        agent_wake(agent);
    }
}

static void left_cpu(void *owner)
{
    left(owner);
}

static void cpu_read_over(void *owner, FabStatus status)
{
    op_over(owner, status);
}

static void dma_over(FabDma *dma)
{
    Op *op = dma->owner;

    if (!is_read(op)) {
        left(op->agent);
    }
    if (is_read(op) || dma->status != FAB_STATUS_SC) {
        op_over(op, dma->status);
    }
}

/* A piece of a write can be seen at its target. */
static void write_seen(void *owner, FabBusAddr addr, uint64_t data)
{
    ReplayFlow *self = owner;
    Op *op = data > 0 ? op_find(self, data - 1) : NULL;

    if (op && !is_read(op) && !op->is_over && addr >= op->last) {
        op_over(op, FAB_STATUS_SC);
    }
}

/* The first byte of the last piece of @bytes at @addr, in pieces of at most
 * @most, a power of two. */
static FabBusAddr last_piece(FabBusAddr addr, uint32_t bytes, uint32_t most)
{
    FabBusAddr last = (addr + bytes - 1) & ~(FabBusAddr)(most - 1);

    return MAX(last, addr);
}

/* The size of the pieces in which the device's engine writes. */
static uint32_t dma_bytes(FabEndpoint *endpoint)
{
    uint32_t mps = fab_port_mps_bytes(
        fab_component_port(fab_endpoint_component(endpoint), 0));
    uint32_t most = MIN(fab_endpoint_params(endpoint)->write_bytes, mps);

    while (most & (most - 1)) {
        most &= most - 1;
    }
    return most;
}

static void cpu_issue(Agent *agent, Op *op, FabBusAddr addr)
{
    ReplayFlow *self = agent->flow;
    uint32_t left = op->bytes;

    if (is_read(op)) {
        fab_root_read(agent->root, addr, MIN(left, LINE_BYTES), cpu_read_over,
                      op, self->flow.number);
        return;
    }
    while (left > 0) {
        uint32_t piece =
            MIN(left, LINE_BYTES - (uint32_t)(addr & (LINE_BYTES - 1)));

        agent->leaving++;
        fab_root_write_then(agent->root, addr, piece, op->number + 1,
                            self->flow.number, left_cpu, agent);
        addr += piece;
        left -= piece;
    }
}

static void dma_issue(Agent *agent, Op *op, FabBusAddr addr)
{
    op->dma = (FabDma){
        .type = is_read(op) ? FAB_TLP_MRD : FAB_TLP_MWR,
        .addr = addr,
        .size_bytes = op->bytes,
        .data = op->number + 1,
        .flow = agent->flow->flow.number,
        .done = dma_over,
        .owner = op,
    };
    agent->leaving += !is_read(op);
    fab_endpoint_dma(agent->endpoint, &op->dma);
}

static void op_issue(Op *op)
{
    Agent *agent = op->agent;
    ReplayFlow *self = agent->flow;
    Target *target = op->target;
    FabBusAddr addr = agent->addrs[target - self->targets] + op->offset;
    uint32_t most = agent->root ? LINE_BYTES : dma_bytes(agent->endpoint);

    op->begin = agent->last = now_of(self);
    op->last =
        target->addr + op->offset + (last_piece(addr, op->bytes, most) - addr);
    self->underway++;
    if (agent->root) {
        cpu_issue(agent, op, addr);
    } else {
        dma_issue(agent, op, addr);
    }
}

static void node_pop(Agent *agent)
{
    agent->head = agent->head->next;
    if (!agent->head) {
        agent->tail = &agent->head;
    }
    agent->flow->waiting--;
}

/*
 * True if the agent's next event must wait until its writes have left. A CPU
 * stalls. The engine of a device has reads and writes in queues of their own,
 * but no read passes a write (PCIe 5.0 s2.4.1).
 */
static bool is_stalled(const Agent *agent)
{
    const Node *node = agent->head;

    return agent->leaving > 0 &&
           (agent->root || (!node->is_arrival && is_read(node->op)));
}

/* The agent goes on as far as it can now. */
static void agent_run(Agent *agent)
{
    ReplayFlow *self = agent->flow;
    SimTime now = now_of(self);

    while (agent->head && !is_stalled(agent)) {
        Node *node = agent->head;
        Op *op = node->op;

        if (node->is_arrival) {
            if (!op->is_over) {
                return;
            }
            agent->last = MAX(agent->last, op->end);
            node_pop(agent);
            op_forget(self, op);
        } else if (agent->last + node->gap > now) {
            sim_event_schedule(&agent->event, agent->last + node->gap);
            return;
        } else {
            node_pop(agent);
            op_issue(op);
        }
    }
}

static void agent_event(SimEvent *event)
{
    Agent *agent = SIM_CONTAINER_OF(event, Agent, event);
    ReplayFlow *self = agent->flow;

    agent_run(agent);
    if (!self->is_read && self->waiting <= self->params.ahead / 2) {
        events_read(self);
    }
    finish_if_over(self);
}

/* ---- The flow --------------------------------------------------------- */

/* The flow begins. */
static void replay_event(SimEvent *event)
{
    ReplayFlow *self = (ReplayFlow *)fab_flow_of_event(event);

    for (uint32_t i = 0; i < self->params.n_agents; i++) {
        Agent *agent = &self->agents[i];

        sim_event_init(&agent->event, self->flow.fabric->engine, agent_event,
                       SIM_PRIORITY_NORMAL, self->flow.rank);
        agent->last = event->time;
    }
    self->is_begun = true;
    events_read(self);
    finish_if_over(self);
}

static void replay_wait(const FabFlow *flow, FabFlowWait *ret_wait)
{
    const ReplayFlow *self = (const ReplayFlow *)flow;

    ret_wait->ops = MAX(self->underway, 1);
    ret_wait->own = self->underway == 0;
    ret_wait->step = ret_wait->own ? "think" : "transfer";
}

static void ops_free(Op *op)
{
    while (op) {
        Op *next = op->next;

        g_free(op);
        op = next;
    }
}

static void replay_free(FabFlow *flow)
{
    ReplayFlow *self = (ReplayFlow *)flow;

    for (uint32_t i = 0; i < self->params.n_agents; i++) {
        if (self->is_begun) {
            sim_event_cancel(&self->agents[i].event);
        }
        g_free(self->agents[i].addrs);
    }
    for (uint32_t i = 0; i < self->params.n_targets; i++) {
        Target *target = &self->targets[i];

        if (target->watch && target->root) {
            fab_root_unwatch(target->root, target->watch);
        } else if (target->watch) {
            fab_endpoint_unwatch(target->endpoint, target->watch);
        }
    }
    for (unsigned i = 0; i < FAB_REPLAY_KINDS; i++) {
        sim_histogram_free(self->latency[i]);
    }
    g_hash_table_unref(self->ops);
    ops_free(self->free_ops);
    g_free(self->agents);
    g_free(self->targets);
    if (self->params.free_owner) {
        self->params.free_owner(self->params.owner);
    }
    g_free(self);
}

static const FabFlowOps replay_ops = {
    .event = replay_event,
    .free = replay_free,
    .wait = replay_wait,
};

static bool targets_take(ReplayFlow *self, GError **error)
{
    for (uint32_t i = 0; i < self->params.n_targets; i++) {
        Target *target = &self->targets[i];

        target->given = self->params.targets[i];
        target->root = fab_component_as_root(target->given.target.component);
        target->endpoint =
            fab_component_as_endpoint(target->given.target.component);
        if (!fab_target_take(&target->given.target, target->given.size_bytes,
                             &target->addr, error)) {
            return false;
        }
    }
    return true;
}

static bool agents_map(ReplayFlow *self, GError **error)
{
    const FabReplayFlowParams *params = &self->params;

    for (uint32_t i = 0; i < params->n_agents; i++) {
        FabComponent *component = params->agents[i].component;
        Agent *agent = &self->agents[i];

        agent->flow = self;
        agent->tail = &agent->head;
        agent->root = fab_component_as_root(component);
        agent->endpoint = fab_component_as_endpoint(component);
        agent->addrs = g_new0(FabBusAddr, params->n_targets);
        for (uint32_t j = 0; j < params->n_targets; j++) {
            const Target *target = &self->targets[j];

            if (params->uses[(size_t)i * params->n_targets + j] &&
                !fab_route_map(component, target->given.target.component,
                               target->addr, target->given.size_bytes,
                               &agent->addrs[j], error)) {
                return false;
            }
        }
    }
    return true;
}

static void targets_watch(ReplayFlow *self)
{
    for (uint32_t i = 0; i < self->params.n_targets; i++) {
        Target *target = &self->targets[i];
        uint64_t bytes = target->given.size_bytes;

        target->watch = target->root
                            ? fab_root_watch(target->root, target->addr, bytes,
                                             write_seen, self)
                            : fab_endpoint_watch(target->endpoint, target->addr,
                                                 bytes, write_seen, self);
    }
}

/* Frees what was made before an error. The caller keeps the owner. */
static void discard(ReplayFlow *self)
{
    for (uint32_t i = 0; i < self->params.n_agents; i++) {
        g_free(self->agents[i].addrs);
    }
    g_free(self->agents);
    g_free(self->targets);
    g_free(self);
}

FabFlow *fab_replay_flow_new(FabFabric *fabric, const char *name,
                             SimTime warmup, const FabReplayFlowParams *params,
                             GError **error)
{
    ReplayFlow *self;

    if (!fab_flow_check(fabric, name, params->start, error) ||
        !fab_flow_accept(name,
                         params->n_agents == 0 || params->n_targets == 0
                             ? "there is nothing to repeat"
                         : params->ahead == 0
                             ? "at least 1 event must be read ahead"
                             : NULL,
                         error)) {
        return NULL;
    }
    self = g_new0(ReplayFlow, 1);
    self->params = *params;
    self->agents = g_new0(Agent, params->n_agents);
    self->targets = g_new0(Target, params->n_targets);
    if (!targets_take(self, error) || !agents_map(self, error)) {
        discard(self);
        return NULL;
    }
    self->params.agents = NULL;
    self->params.targets = NULL;
    self->params.uses = NULL;
    self->ops = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    for (unsigned i = 0; i < FAB_REPLAY_KINDS; i++) {
        self->latency[i] = sim_histogram_new();
    }
    fab_flow_init(&self->flow, fabric, &replay_ops, name, warmup,
                  params->start);
    targets_watch(self);
    return &self->flow;
}

const SimHistogram *fab_replay_flow_latency(const FabFlow *flow,
                                            FabReplayKind kind)
{
    return flow->ops == &replay_ops ? ((const ReplayFlow *)flow)->latency[kind]
                                    : NULL;
}
