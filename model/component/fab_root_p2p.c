/* SPDX-License-Identifier: MIT */
#include "fab_root_priv.h"
#include "fab_answer_priv.h"

/*
 * Requests and completions from one root port to another (peer-to-peer). For
 * each pair of ports there is a path with its own queues, in which the ordering
 * rules hold. fab_root_split.c makes the pieces in which requests leave.
 */

/* Size of the smallest piece on the wire: 64 bytes, a header of 3 DW, framing.
 */
#define LEAST_PIECE_BYTES (64 + 12 + 8)

/* Notes that the reads of @path lack a tag. */
static void note_tag_wait(FabRoot *root, RootPath *path)
{
    if (path->no_tag) {
        return;
    }
    path->no_tag = true;
    if (root->tag_waits++ == 0) {
        root->tag_wait_since = sim_engine_now(root->component.engine);
    }
}

static void tag_wait_end(FabRoot *root, RootPath *path)
{
    path->no_tag = false;
    if (--root->tag_waits == 0) {
        root->counters.forward_wait_ps +=
            sim_engine_now(root->component.engine) - root->tag_wait_since;
    }
}

/* The read of @path whose next piece can be sent; NULL: none. Notes a lack of
 * tags. */
static SplitRead *read_can_go(FabRoot *root, RootPath *path, unsigned from,
                              const FabPort *port)
{
    SplitRead *read = fab_root_split_pick(root, path, port->index);

    if (!read) {
        note_tag_wait(root, path);
    } else if (fab_port_queued(port, from, FAB_CLASS_NP) >=
               root->path_queue[port->index]) {
        read = NULL;
    }
    return read;
}

/* The oldest TLP goes first, but posted requests pass reads that cannot go
 * (PCIe 5.0 table 2-40, A3). */
SIM_HOT void fab_root_p2p_advance(FabRoot *root, unsigned from, unsigned to)
{
    RootPath *path = fab_root_path(root, from, to);
    FabPort *port = root->component.ports[to];

    for (;;) {
        const FabTlp *posted = path->posted.head;
        const FabTlp *cpl = path->completions.head;
        SplitRead *read = path->reads;

        if (cpl && (!posted || cpl->path_order < posted->path_order)) {
            fab_port_send(port, from, fab_fifo_pop(&path->completions));
        } else if (read &&
                   (!posted || read->tlp->path_order < posted->path_order) &&
                   (read = read_can_go(root, path, from, port)) &&
                   (!posted || read->tlp->path_order < posted->path_order)) {
            fab_port_send(port, from, fab_root_split_read(root, path, read));
        } else if (posted && fab_port_queued(port, from, FAB_CLASS_P) <
                                 root->path_queue[to]) {
            fab_port_send(port, from, fab_root_split_write(root, from, to));
        } else {
            return;
        }
    }
}

void fab_root_p2p_return(FabRoot *root, unsigned from, unsigned to, FabTlp *cpl)
{
    RootPath *path = fab_root_path(root, from, to);

    if (path->posted.head) { /* @cpl must not pass the posted request (D2) */
        cpl->path_order = path->order++;
        root->egress[to].used |= UINT64_C(1) << from;
        fab_fifo_push(&path->completions, cpl);
    } else {
        fab_port_send(root->component.ports[to], from, cpl);
    }
}

SIM_HOT void fab_root_p2p_request(FabRoot *root, FabPort *from, FabPort *to,
                                  FabTlp *tlp)
{
    RootPath *path = fab_root_path(root, from->index, to->index);

    tlp->path_order = path->order++;
    root->egress[to->index].used |= UINT64_C(1) << from->index;
    if (tlp->cls == FAB_CLASS_P) {
        if (G_UNLIKELY(root->nodes)) {
            fab_root_nodes_begin(root, from->index, to->index, tlp);
        }
        fab_fifo_push(&path->posted, tlp);
    } else {
        fab_root_split_add(root, from->index, to->index, tlp);
    }
    fab_root_p2p_advance(root, from->index, to->index);
}

/* Offers free tags of port @to, in turn, to the paths that lack one. */
static void tag_offer(FabRoot *root, unsigned to)
{
    RootEgress *egress = &root->egress[to];

    for (unsigned i = 0; root->tag_waits > 0 && i < root->ports &&
                         fab_root_split_has_tag(root, to);
         i++) {
        unsigned from = egress->turn;
        RootPath *path = fab_root_path(root, from, to);

        egress->turn = fab_root_next_port(root, from);
        if (path->no_tag) {
            tag_wait_end(root, path);
            fab_root_p2p_advance(root, from, to);
        }
    }
}

SIM_HOT void fab_root_p2p_completion(FabRoot *root, FabPort *ingress,
                                     FabTlp *tlp)
{
    SplitRead *read = fab_root_split_take(root, tlp);
    unsigned to = ingress->index;
    uint16_t tag = tlp->tag;
    bool last = fab_tlp_is_last_completion(tlp);
    FabTlp *cpl;

    if (!read) {
        fab_tlp_refuse(&root->component, tlp, FAB_STATUS_UR,
                       root->component.bdf);
        return;
    }
    while (last && (cpl = fab_root_split_next(root, read, tlp))) {
        fab_root_p2p_return(root, to, read->ingress, cpl);
    }
    fab_root_take(root, tlp);
    if (last) {
        to = read->egress;
        fab_root_split_end(root, tag);
        tag_offer(root, to);
    }
}

void fab_root_p2p_init(FabRoot *root)
{
    fab_root_split_init(root, fab_root_p2p_completion);
    root->path_queue =
        FAB_ARENA_NEW(&root->component.fabric->arena, uint32_t, root->ports);
    for (unsigned i = 0; i < root->ports; i++) {
        const FabPort *port = root->component.ports[i];
        uint64_t piece =
            (uint64_t)LEAST_PIECE_BYTES * port->byte_time / FAB_PS_FRACTION;

        root->path_queue[i] =
            ROOT_QUEUE_TLPS +
            (piece ? (root->params.transit + root->params.nodes.latency) / piece
                   : 0);
    }
}

void fab_root_p2p_free(FabRoot *root)
{
    FabFabric *fabric = root->component.fabric;

    for (unsigned i = 0; root->paths && i < root->ports * root->ports; i++) {
        fab_fifo_clear(fabric, &root->paths[i].posted);
        for (SplitRead *read = root->paths[i].reads; read; read = read->next) {
            fab_tlp_free(fabric, read->tlp);
        }
        fab_fifo_clear(fabric, &root->paths[i].completions);
    }
    fab_root_split_free(root);
}

/* ---- For observers --------------------------------------------------- */

/* Reports @tlp, of which @sent bytes are sent on already. */
static void path_waiter(const FabTlp *tlp, uint32_t sent,
                        const FabObserver *observer)
{
    observer->fn(observer->data,
                 &(FabWaiter){
                     .flow = tlp->flow,
                     .cls = tlp->cls,
                     .bytes = MAX(fab_observed_bytes(tlp) - sent, 1),
                     .place = FAB_PLACE_FORWARD,
                     .component = observer->component,
                 });
}

void fab_root_p2p_waiters(const FabRoot *root, const FabObserver *observer)
{
    for (unsigned i = 0; i < root->ports * root->ports; i++) {
        const RootPath *path =
            fab_root_path(root, i / root->ports, i % root->ports);
        uint32_t sent = path->posted_sent;

        for (const FabTlp *tlp = path->posted.head; tlp; tlp = tlp->next) {
            path_waiter(tlp, sent, observer);
            sent = 0;
        }
        for (const SplitRead *read = path->reads; read; read = read->next) {
            path_waiter(read->tlp, read->sent_bytes, observer);
        }
        fab_observer_fifo(observer, &path->completions, FAB_PLACE_ORDER);
    }
}

bool fab_root_p2p_is_wanted(const FabRoot *root)
{
    for (unsigned i = 0; i < root->ports * root->ports; i++) {
        if (root->paths[i].reads) {
            return true;
        }
    }
    return false;
}

uint32_t fab_root_p2p_tags_used(const FabRoot *root)
{
    uint32_t most = 0;

    for (unsigned i = 0; i < root->ports; i++) {
        most = MAX(most, root->egress[i].shared_used);
    }
    return most;
}

/* ---- What waits for what --------------------------------------------- */

/* Tells of the posted requests and completions of @path to @port. */
static void path_waits(const FabRoot *root, const RootPath *path, unsigned from,
                       const FabPort *port, FabWaits *waits)
{
    const FabFifo *queue = &port->sources[from].queue[FAB_CLASS_P];
    FabWaitStep step = {.component = &root->component, .port = port};

    for (const FabTlp *tlp = path->posted.head; tlp; tlp = tlp->next) {
        if (queue->count < root->path_queue[port->index]) {
            fab_waits_moves(waits, tlp);
            continue;
        }
        step.kind = FAB_WAIT_ROOM;
        fab_waits_add(waits, tlp, step);
        fab_waits_for_tlp(waits, queue->head);
    }
    for (const FabTlp *tlp = path->completions.head; tlp; tlp = tlp->next) {
        step.kind = FAB_WAIT_ORDER;
        fab_waits_add(waits, tlp, step);
        fab_waits_for_tlp(waits, path->posted.head);
    }
}

/* Tells of the reads of @path to @port. */
static void path_reads_wait(const FabRoot *root, const RootPath *path,
                            unsigned from, const FabPort *port, FabWaits *waits)
{
    const FabFifo *queue = &port->sources[from].queue[FAB_CLASS_NP];
    const FabTlp *posted = path->posted.head;
    bool has_tag = fab_root_split_pick(root, path, port->index);
    FabWaitStep step = {.component = &root->component, .port = port};

    for (const SplitRead *read = path->reads; read; read = read->next) {
        const FabTlp *tlp = read->tlp;

        if (posted && posted->path_order < tlp->path_order) {
            step.kind = FAB_WAIT_ORDER;
            fab_waits_add(waits, tlp, step);
            fab_waits_for_tlp(waits, posted);
        } else if (!has_tag) {
            step.kind = FAB_WAIT_FORWARD_TAG;
            fab_waits_add(waits, tlp, step);
            fab_root_split_wait_for_tags(root, port->index, waits);
        } else if (queue->count >= root->path_queue[port->index]) {
            step.kind = FAB_WAIT_ROOM;
            fab_waits_add(waits, tlp, step);
            fab_waits_for_tlp(waits, queue->head);
        } else {
            fab_waits_moves(waits, tlp);
        }
    }
}

void fab_root_p2p_waits(const FabRoot *root, FabWaits *waits)
{
    for (unsigned from = 0; from < root->ports; from++) {
        for (unsigned to = 0; to < root->ports; to++) {
            const RootPath *path = fab_root_path(root, from, to);
            const FabPort *port = root->component.ports[to];

            path_waits(root, path, from, port, waits);
            path_reads_wait(root, path, from, port, waits);
        }
    }
    fab_root_split_waits(root, waits);
}
