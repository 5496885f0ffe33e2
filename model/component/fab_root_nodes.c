/* SPDX-License-Identifier: MIT */
#include "fab_root_priv.h"

/*
 * The nodes of a root complex: sockets, or the quadrants of an I/O die. Each
 * root port belongs to one.
 *
 * A node hands posted requests to another node and learns later that they are
 * there. Until then each keeps its place at its root port, which has room for
 * so many bytes of them. Different nodes are different ways, on which later
 * requests could be faster. So a root port sends a posted request to no other
 * node, and not to memory, while posted requests are under way to a node: it
 * would break the order of posted requests (PCIe 5.0 table 2-40, A2a). Ports of
 * one node have one queue there, which keeps the order.
 *
 * A node has a way out, to memory and to the other nodes, and a way in. Memory
 * is interleaved over all nodes, but for ranges that are allocated in one node.
 *
 * A root whose ports are all in one node has none of this.
 */

/* The posted requests of a root port under way to other nodes. */
typedef struct NodeWrites {
    unsigned to; /* node of all of them; meaningful if bytes > 0 */
    uint32_t bytes;
} NodeWrites;

/* Memory in one node. */
typedef struct NodeRange {
    FabBusAddr begin, end;
    unsigned node;
} NodeRange;

struct RootNodes {
    FabRoot *root;
    FabRootTurnFn go_on;
    GArray *ranges;              /* of NodeRange */
    const unsigned *node_of;     /* by root port */
    NodeWrites *writes;          /* by root port */
    SimTime *out_free, *in_free; /* by node: when its way is free again */
    SimTime *way_free;           /* by two nodes: the same of a way alone */
    unsigned count;              /* of nodes */
    RootAcks acks;
};

/* The way from node @from to node @to. */
static inline FabNodeWay way_of(const FabRoot *root, unsigned from, unsigned to)
{
    const FabNodeParams *params = &root->params.nodes;

    return root->node_ways ? root->node_ways[from * FAB_NODES + to]
                           : (FabNodeWay){
                                 .latency = params->latency,
                                 .write_bytes = params->write_bytes,
                                 .acknowledge = params->acknowledge,
                             };
}

static inline bool crosses(const RootNodes *nodes, unsigned from, unsigned to)
{
    return nodes->node_of[from] != nodes->node_of[to];
}

static void acknowledged(FabRoot *root, unsigned from, uint32_t bytes)
{
    root->nodes->writes[from].bytes -= bytes;
    root->nodes->go_on(root, from);
}

bool fab_root_nodes_hold(FabRoot *root, const FabTlp *tlp)
{
    const RootNodes *nodes = root->nodes;
    const NodeWrites *writes = &nodes->writes[tlp->ingress->index];
    uint32_t most;
    const FabPort *to;

    if (writes->bytes == 0) {
        return false;
    }
    to = fab_root_route(root, tlp->addr);
    if (!to || nodes->node_of[to->index] != writes->to) {
        return true;
    }
    most = way_of(root, nodes->node_of[tlp->ingress->index], writes->to)
               .write_bytes;
    return most && writes->bytes + tlp->payload_bytes > most;
}

void fab_root_nodes_begin(FabRoot *root, unsigned from, unsigned to,
                          FabTlp *tlp)
{
    RootNodes *nodes = root->nodes;

    /* If it was held back, it sets out only now. */
    tlp->tail_at = MAX(tlp->tail_at, sim_engine_now(root->component.engine));
    if (crosses(nodes, from, to) &&
        way_of(root, nodes->node_of[from], nodes->node_of[to]).acknowledge) {
        nodes->writes[from].to = nodes->node_of[to];
        nodes->writes[from].bytes += tlp->payload_bytes;
    }
}

void fab_root_nodes_left(FabRoot *root, unsigned from, unsigned to,
                         const FabTlp *tlp)
{
    RootNodes *nodes = root->nodes;
    SimTime time =
        way_of(root, nodes->node_of[from], nodes->node_of[to]).acknowledge;

    if (!time || !crosses(nodes, from, to)) {
        return;
    }
    time += sim_engine_now(root->component.engine);
    fab_root_acks_add(&nodes->acks, time, from, tlp->payload_bytes);
}

/* Takes the way *@free for @bytes, from @time on at the earliest. Returns when
 * they are over. */
static SimTime rate_take(uint64_t rate, SimTime *free, SimTime time,
                         uint32_t bytes)
{
    if (!rate) {
        return time;
    }
    *free = MAX(*free, time) + (SimTime)((uint64_t)bytes * SIM_S / rate);
    return *free;
}

/* The same for the way of a node. */
static SimTime way_take(const FabRoot *root, SimTime *free, SimTime time,
                        uint32_t bytes)
{
    return rate_take(root->params.nodes.bandwidth_bytes_s, free, time, bytes);
}

/* The time at which @bytes that set out at @time from node @from have crossed
 * to node @to. They come in while they go out. */
static SimTime nodes_cross(const FabRoot *root, unsigned from, unsigned to,
                           SimTime time, uint32_t bytes)
{
    RootNodes *nodes = root->nodes;
    SimTime out = way_take(root, &nodes->out_free[from], time, bytes);
    SimTime in = way_take(root, &nodes->in_free[to], time, bytes);
    FabNodeWay way = way_of(root, from, to);
    SimTime *free = &nodes->way_free[from * nodes->count + to];
    SimTime over = rate_take(way.bandwidth_bytes_s, free, time, bytes);

    return MAX(over, MAX(out, in)) + way.latency;
}

/* The range of memory in one node that holds @addr; NULL: it is interleaved. */
static const NodeRange *node_range(const RootNodes *nodes, FabBusAddr addr)
{
    for (unsigned i = 0; i < nodes->ranges->len; i++) {
        const NodeRange *range = &g_array_index(nodes->ranges, NodeRange, i);

        if (addr >= range->begin && addr < range->end) {
            return range;
        }
    }
    return NULL;
}

SimTime fab_root_nodes_to_memory(FabRoot *root, unsigned from, FabBusAddr addr,
                                 uint32_t bytes)
{
    RootNodes *nodes = root->nodes;
    const NodeRange *range = node_range(nodes, addr);
    unsigned node = root->node_of[from];
    SimTime now = sim_engine_now(root->component.engine);

    if (!range) {
        return way_take(root, &nodes->out_free[node], now, bytes);
    }
    return range->node == node
               ? now
               : nodes_cross(root, node, range->node, now, bytes);
}

SimTime fab_root_nodes_from_memory(FabRoot *root, unsigned to, FabBusAddr addr,
                                   uint32_t bytes)
{
    RootNodes *nodes = root->nodes;
    const NodeRange *range = node_range(nodes, addr);
    unsigned node = root->node_of[to];
    SimTime now = sim_engine_now(root->component.engine);

    if (!range) {
        return way_take(root, &nodes->in_free[node], now, bytes);
    }
    if (range->node == node) {
        return now;
    }
    /* The request has crossed, too. */
    return nodes_cross(root, range->node, node, now, bytes) +
           way_of(root, node, range->node).latency;
}

SimTime fab_root_nodes_arrive(FabRoot *root, unsigned from, unsigned to,
                              SimTime time, uint32_t bytes)
{
    return crosses(root->nodes, from, to)
               ? nodes_cross(root, root->node_of[from], root->node_of[to], time,
                             bytes)
               : time;
}

bool fab_root_alloc_in_node(FabRoot *root, unsigned node, uint64_t size_bytes,
                            uint64_t align_bytes, FabBusAddr *ret_addr)
{
    NodeRange range = {.node = node};

    g_assert(node < FAB_NODES);
    if (!fab_root_alloc(root, size_bytes, align_bytes, ret_addr)) {
        return false;
    }
    range.begin = *ret_addr;
    range.end = *ret_addr + size_bytes;
    if (root->nodes) {
        g_array_append_val(root->nodes->ranges, range);
    }
    return true;
}

void fab_root_nodes_waits(const FabRoot *root, unsigned from, FabWaits *waits)
{
    const NodeWrites *writes = &root->nodes->writes[from];
    const FabTlp *first = NULL; /* under way, and not sent on */

    for (unsigned to = 0; writes->bytes && !first && to < root->ports; to++) {
        if (root->node_of[to] == writes->to) {
            first = fab_root_path(root, from, to)->posted.head;
        }
    }
    for (const FabTlp *tlp = root->ingress[from].posted.head; tlp;
         tlp = tlp->next) {
        if (!first) {
            fab_waits_moves(waits, tlp);
            continue;
        }
        fab_waits_add(waits, tlp,
                      (FabWaitStep){.kind = FAB_WAIT_ORDER,
                                    .component = &root->component,
                                    .port = root->component.ports[from]});
        fab_waits_for_tlp(waits, first);
    }
}

/* ---- Life ------------------------------------------------------------ */

void fab_root_set_node(FabRoot *root, FabPort *port, unsigned node)
{
    g_assert(port->owner == &root->component && node < FAB_NODES);
    root->node_of[port->index] = node;
}

void fab_root_set_way(FabRoot *root, unsigned from, unsigned to,
                      const FabNodeWay *way)
{
    g_assert(from < FAB_NODES && to < FAB_NODES && from != to);
    if (!root->node_ways) {
        FabNodeWay usual = way_of(root, from, to);

        root->node_ways = FAB_ARENA_NEW(&root->component.fabric->arena,
                                        FabNodeWay, FAB_NODES * FAB_NODES);
        for (unsigned i = 0; i < FAB_NODES * FAB_NODES; i++) {
            root->node_ways[i] = usual;
        }
    }
    root->node_ways[from * FAB_NODES + to] = *way;
}

/* Each egress arbitrates between its own node, the host, and the other nodes
 * together; then between these; then between the ports of a node. */
static void shares_set(FabRoot *root)
{
    for (unsigned to = 0; to < root->ports; to++) {
        uint8_t group[FAB_SOURCES_MAX];

        for (unsigned from = 0; from < root->ports; from++) {
            group[from] = root->node_of[from] == root->node_of[to]
                              ? FAB_GROUP_NEAR
                              : FAB_GROUP_FAR + root->node_of[from];
        }
        group[fab_root_host_source(root)] = FAB_GROUP_OWN;
        fab_port_set_groups(root->component.ports[to], group);
    }
}

void fab_root_nodes_init(FabRoot *root, FabRootTurnFn go_on)
{
    RootNodes *nodes;
    unsigned most = 0, least = FAB_NODES;

    for (unsigned i = 0; i < root->ports; i++) {
        most = MAX(most, root->node_of[i]);
        least = MIN(least, root->node_of[i]);
    }
    if (least >= most) {
        return;
    }
    nodes = g_new0(RootNodes, 1);
    nodes->root = root;
    nodes->go_on = go_on;
    nodes->ranges = g_array_new(FALSE, FALSE, sizeof(NodeRange));
    nodes->node_of = root->node_of;
    nodes->writes = g_new0(NodeWrites, root->ports);
    nodes->out_free = g_new0(SimTime, most + 1);
    nodes->in_free = g_new0(SimTime, most + 1);
    nodes->count = most + 1;
    nodes->way_free = g_new0(SimTime, nodes->count * nodes->count);
    fab_root_acks_init(&nodes->acks, root, acknowledged);
    root->nodes = nodes;
    if (root->params.nodes.shares) {
        shares_set(root);
    }
}

void fab_root_nodes_free(FabRoot *root)
{
    RootNodes *nodes = root->nodes;

    if (!nodes) {
        return;
    }
    fab_root_acks_free(&nodes->acks);
    g_array_unref(nodes->ranges);
    g_free(nodes->writes);
    g_free(nodes->out_free);
    g_free(nodes->in_free);
    g_free(nodes->way_free);
    g_free(nodes);
}
