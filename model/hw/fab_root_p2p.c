/* SPDX-License-Identifier: MIT */
#include "fab_root_priv.h"

/*
 * Requests and completions from one root port to another (peer-to-peer). For
 * each pair of ports there is a path with its own queues, in which the ordering
 * rules hold. fab_root_split.c makes the pieces in which requests leave.
 */

/* Size of the smallest piece on the wire: 64 bytes, a header of 3 DW, framing.
 */
#define LEAST_PIECE_BYTES (64 + 12 + 8)

static void note_tag_wait(FabRoot *root)
{
    if (!root->tag_wait) {
        root->tag_wait = true;
        root->tag_wait_since = sim_engine_now(root->component.engine);
    }
}

/* Returns whether a piece of the first of path->others can be sent. Notes a
 * lack of tags. */
static bool other_can_go(FabRoot *root, RootPath *path, unsigned from,
                         const FabPort *port)
{
    if (!fab_root_split_has_tag(root)) {
        path->no_tag = true;
        note_tag_wait(root);
        return false;
    }
    return fab_port_queued(port, from, FAB_CLASS_NP) <
           root->path_queue[port->index];
}

/* The oldest TLP goes first, but posted requests pass reads that cannot go
 * (PCIe 5.0 table 2-40, A3). */
void fab_root_p2p_advance(FabRoot *root, unsigned from, unsigned to)
{
    RootPath *path = &root->paths[from * root->ports + to];
    FabPort *port = root->component.ports[to];

    for (;;) {
        const FabTlp *posted = path->posted.head;
        const FabTlp *other = path->others.head;
        const FabTlp *cpl = path->completions.head;

        if (cpl && (!posted || cpl->path_order < posted->path_order)) {
            fab_port_send(port, from, fab_fifo_pop(&path->completions));
        } else if (other &&
                   (!posted || other->path_order < posted->path_order) &&
                   other_can_go(root, path, from, port)) {
            fab_port_send(port, from, fab_root_split_read(root, path));
        } else if (posted && fab_port_queued(port, from, FAB_CLASS_P) <
                                 root->path_queue[to]) {
            fab_port_send(port, from, fab_root_split_write(root, path));
        } else {
            return;
        }
    }
}

void fab_root_p2p_return(FabRoot *root, unsigned from, unsigned to, FabTlp *cpl)
{
    RootPath *path = &root->paths[from * root->ports + to];

    if (path->posted.head) { /* @cpl must not pass the posted request (D2) */
        cpl->path_order = path->order++;
        fab_fifo_push(&path->completions, cpl);
    } else {
        fab_port_send(root->component.ports[to], from, cpl);
    }
}

void fab_root_p2p_request(FabRoot *root, FabPort *from, FabPort *to,
                          FabTlp *tlp)
{
    RootPath *path = &root->paths[from->index * root->ports + to->index];

    tlp->path_order = path->order++;
    fab_fifo_push(tlp->cls == FAB_CLASS_P ? &path->posted : &path->others, tlp);
    fab_root_p2p_advance(root, from->index, to->index);
}

/* Offers free tags, in turn, to the paths that lack one. */
static void tag_offer(FabRoot *root)
{
    unsigned paths = root->ports * root->ports;

    if (!root->tag_wait) {
        return;
    }
    root->tag_wait = false;
    root->counters.forward_wait_ps +=
        sim_engine_now(root->component.engine) - root->tag_wait_since;
    for (unsigned i = 0; i < paths && fab_root_split_has_tag(root); i++) {
        unsigned path = root->path_turn;

        root->path_turn = (path + 1) % paths;
        if (root->paths[path].no_tag) {
            root->paths[path].no_tag = false;
            fab_root_p2p_advance(root, path / root->ports, path % root->ports);
        }
    }
    for (unsigned i = 0; i < paths; i++) {
        if (root->paths[i].no_tag) {
            note_tag_wait(root);
            return;
        }
    }
}

void fab_root_p2p_completion(FabRoot *root, FabPort *ingress, FabTlp *tlp)
{
    SplitRead *read = fab_root_split_take(root, tlp);
    uint16_t tag = tlp->tag;
    bool last = fab_tlp_is_last_completion(tlp);
    FabTlp *cpl;

    if (!read) {
        fab_tlp_refuse(root->component.fabric, tlp, FAB_STATUS_UR,
                       root->component.bdf);
        return;
    }
    while (last && (cpl = fab_root_split_next(root, read, tlp))) {
        fab_root_p2p_return(root, ingress->index, read->ingress, cpl);
    }
    fab_port_consume(tlp, sim_engine_now(root->component.engine));
    if (last) {
        fab_root_split_end(root, tag);
        tag_offer(root);
    }
}

void fab_root_p2p_init(FabRoot *root)
{
    fab_root_split_init(root);
    root->path_queue = g_new(uint32_t, root->ports);
    for (unsigned i = 0; i < root->ports; i++) {
        const FabPort *port = root->component.ports[i];
        uint64_t piece = LEAST_PIECE_BYTES * port->byte_time / FAB_PS_FRACTION;

        root->path_queue[i] =
            ROOT_QUEUE_TLPS + (piece ? root->params.transit / piece : 0);
    }
}

void fab_root_p2p_free(FabRoot *root)
{
    FabFabric *fabric = root->component.fabric;

    for (unsigned i = 0; root->paths && i < root->ports * root->ports; i++) {
        fab_fifo_clear(fabric, &root->paths[i].posted);
        fab_fifo_clear(fabric, &root->paths[i].others);
        fab_fifo_clear(fabric, &root->paths[i].completions);
    }
    fab_root_split_free(root);
    g_free(root->path_queue);
}

/* ---- For observers --------------------------------------------------- */

/* Reports the TLPs of @fifo. @sent bytes of the first one are sent on already.
 */
static void path_waiters(const FabFifo *fifo, uint32_t sent,
                         const FabObserver *observer)
{
    for (const FabTlp *tlp = fifo->head; tlp; tlp = tlp->next) {
        observer->fn(observer->data,
                     &(FabWaiter){
                         .flow = tlp->flow,
                         .cls = tlp->cls,
                         .bytes = MAX(fab_observed_bytes(tlp) - sent, 1),
                         .place = FAB_PLACE_FORWARD,
                         .component = observer->component,
                     });
        sent = 0;
    }
}

void fab_root_p2p_waiters(const FabRoot *root, const FabObserver *observer)
{
    for (unsigned i = 0; i < root->ports * root->ports; i++) {
        const RootPath *path = &root->paths[i];

        path_waiters(&path->posted, path->posted_sent, observer);
        path_waiters(&path->others, path->other_sent, observer);
        fab_observer_fifo(observer, &path->completions, FAB_PLACE_ORDER);
    }
}

bool fab_root_p2p_is_wanted(const FabRoot *root)
{
    for (unsigned i = 0; i < root->ports * root->ports; i++) {
        if (root->paths[i].others.head) {
            return true;
        }
    }
    return false;
}
