/* SPDX-License-Identifier: MIT */
#include "fab_root_priv.h"

/*
 * The path between root ports. A request leaves in pieces, as requests of the
 * root itself; the pieces of reads take tags, of which the whole root has
 * params.forwarded_reads. The completions of the pieces are given on to the
 * requester one by one, in order of address.
 */

#define READS_SLAB 64

/* The smallest piece on the wire: 64 bytes with 3 DW of header and framing. */
#define LEAST_PIECE_BYTES (64 + 12 + 8)

static SplitRead *read_new(FabRoot *root)
{
    SplitRead *read;

    if (!root->free_reads) {
        SplitRead *slab = g_new(SplitRead, READS_SLAB);

        g_ptr_array_add(root->read_slabs, slab);
        for (unsigned i = 0; i < READS_SLAB; i++) {
            slab[i].next = root->free_reads;
            root->free_reads = &slab[i];
        }
    }
    read = root->free_reads;
    root->free_reads = read->next;
    return read;
}

/* A read begins to leave. */
static SplitRead *read_begin(FabRoot *root, const FabTlp *tlp)
{
    SplitRead *read = read_new(root);

    read->ingress = tlp->ingress->index;
    read->requester_id = tlp->requester_id;
    read->tag = tlp->tag;
    read->attr = tlp->attr;
    read->ecrc = tlp->ecrc;
    read->flow = tlp->flow;
    read->addr = tlp->addr;
    read->request_bytes = tlp->request_bytes;
    read->returned_bytes = 0;
    read->pieces = 0;
    read->pieces_back = 0;
    read->pieces_returned = 0;
    read->all_sent = false;
    read->failed = false;
    return read;
}

/* The first @left bytes at @addr that leave as one piece. */
static uint32_t piece_bytes(FabBusAddr addr, uint32_t left, uint32_t split)
{
    return split ? MIN(left, split - (uint32_t)(addr & (split - 1))) : left;
}

static FabTlp *piece_new(FabRoot *root, const FabTlp *tlp, uint32_t offset)
{
    FabTlp *piece = fab_tlp_new(root->component.fabric, tlp->type);

    piece->addr = tlp->addr + offset;
    piece->requester_id = root->component.bdf;
    piece->attr = tlp->attr;
    piece->ecrc = tlp->ecrc;
    piece->flow = tlp->flow;
    piece->hops = tlp->hops;
    piece->ready_at = tlp->tail_at + root->params.transit;
    return piece;
}

/* Sends a piece of the first posted request of @path. */
static void posted_send(FabRoot *root, RootPath *path, unsigned from,
                        FabPort *port)
{
    FabTlp *tlp = path->posted.head;
    uint32_t left = tlp->payload_bytes - path->posted_sent;
    FabTlp *piece = piece_new(root, tlp, path->posted_sent);

    piece->payload_bytes =
        piece_bytes(piece->addr, left, root->params.write_split_bytes);
    piece->data = tlp->data;
    root->counters.forwarded_writes++;
    path->posted_sent += piece->payload_bytes;
    if (piece->payload_bytes == left) {
        path->posted_sent = 0;
        fab_fifo_pop(&path->posted);
        fab_port_consume(tlp, sim_engine_now(root->component.engine));
    }
    fab_port_send(port, from, piece);
}

/* Sends a piece of the first read (or atomic) of @path under a new tag. */
static void read_send(FabRoot *root, RootPath *path, unsigned from,
                      FabPort *port)
{
    FabTlp *tlp = path->others.head;
    uint32_t left = tlp->request_bytes - path->other_sent;
    FabTlp *piece = piece_new(root, tlp, path->other_sent);
    uint16_t number = root->free_tag;
    SplitTag *tag = &root->tags[number];
    SplitRead *read;

    if (!path->read) {
        path->read = read_begin(root, tlp);
    }
    read = path->read;
    piece->tag = number;
    piece->request_bytes =
        tlp->type == FAB_TLP_MRD
            ? piece_bytes(piece->addr, left, root->params.read_split_bytes)
            : left;
    piece->payload_bytes = tlp->payload_bytes;
    root->counters.forwarded_reads++;

    root->free_tag = tag->next_free;
    root->tags_used++;
    tag->read = read;
    tag->piece = read->pieces;
    tag->got_bytes = 0;
    read->piece[read->pieces].bytes = piece->request_bytes;
    read->piece[read->pieces].status = FAB_STATUS_SC;
    read->piece[read->pieces].back = false;
    read->pieces++;
    path->other_sent += piece->request_bytes;
    if (piece->request_bytes == left) {
        read->all_sent = true;
        path->read = NULL;
        path->other_sent = 0;
        fab_fifo_pop(&path->others);
        fab_port_consume(tlp, sim_engine_now(root->component.engine));
    }
    fab_port_send(port, from, piece);
}

static void note_tag_wait(FabRoot *root)
{
    if (!root->tag_wait) {
        root->tag_wait = true;
        root->tag_wait_since = sim_engine_now(root->component.engine);
    }
}

/* Can a piece of the first of @path's others be sent? If a tag is what it
 * lacks, notes that. */
static bool other_can_go(FabRoot *root, RootPath *path, unsigned from,
                         const FabPort *port)
{
    if (root->free_tag == NO_TAG) {
        path->no_tag = true;
        note_tag_wait(root);
        return false;
    }
    return fab_port_queued(port, from, FAB_CLASS_NP) <
           root->path_queue[port->index];
}

/* What came first goes first, but posted requests pass reads that cannot go
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
            read_send(root, path, from, port);
        } else if (posted && fab_port_queued(port, from, FAB_CLASS_P) <
                                 root->path_queue[to]) {
            posted_send(root, path, from, port);
        } else {
            return;
        }
    }
}

void fab_root_p2p_give(FabRoot *root, unsigned from, unsigned to, FabTlp *cpl)
{
    RootPath *path = &root->paths[from * root->ports + to];

    if (path->posted.head) { /* which it must not pass (D2) */
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

/* A tag is free: the paths that lack one get it in turn. */
static void tag_free(FabRoot *root, uint16_t number)
{
    unsigned paths = root->ports * root->ports;

    root->tags[number].read = NULL;
    root->tags[number].next_free = root->free_tag;
    root->free_tag = number;
    root->tags_used--;
    if (!root->tag_wait) {
        return;
    }
    root->tag_wait = false;
    root->counters.forward_wait_ps +=
        sim_engine_now(root->component.engine) - root->tag_wait_since;
    for (unsigned i = 0; i < paths && root->free_tag != NO_TAG; i++) {
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

static FabTlp *completion_new(FabRoot *root, const SplitRead *read,
                              const FabTlp *last, FabStatus status)
{
    FabTlp *cpl =
        fab_tlp_new(root->component.fabric,
                    status == FAB_STATUS_SC ? FAB_TLP_CPLD : FAB_TLP_CPL);

    cpl->addr = read->addr + read->returned_bytes;
    cpl->requester_id = read->requester_id;
    cpl->completer_id = root->component.bdf;
    cpl->tag = read->tag;
    cpl->attr = read->attr;
    cpl->ecrc = read->ecrc;
    cpl->flow = read->flow;
    cpl->hops = last->hops;
    cpl->status = status;
    cpl->data = last->data; /* of a read in one piece */
    cpl->request_bytes = read->request_bytes - read->returned_bytes;
    cpl->ready_at = last->tail_at + root->params.transit;
    return cpl;
}

/* Gives the requester the next piece, in completions of at most
 * Max_Payload_Size that end on Read Completion Boundaries. */
static void piece_return(FabRoot *root, SplitRead *read, uint32_t bytes,
                         const FabTlp *last, unsigned from)
{
    FabPort *port = root->component.ports[read->ingress];

    while (bytes > 0) {
        FabTlp *cpl = completion_new(root, read, last, FAB_STATUS_SC);
        FabBusAddr end = cpl->addr + bytes;

        if (bytes > port->mps_bytes) {
            end = (cpl->addr + port->mps_bytes) &
                  ~(FabBusAddr)(root->params.rcb_bytes - 1);
        }
        cpl->payload_bytes = end - cpl->addr;
        read->returned_bytes += cpl->payload_bytes;
        bytes -= cpl->payload_bytes;
        fab_root_p2p_give(root, from, read->ingress, cpl);
    }
}

/* Gives the requester what has come back, up to the first gap. */
static void read_return(FabRoot *root, SplitRead *read, const FabTlp *last,
                        unsigned from)
{
    while (read->pieces_returned < read->pieces &&
           read->piece[read->pieces_returned].back) {
        unsigned i = read->pieces_returned++;
        FabStatus status = read->piece[i].status;

        if (read->failed) {
            continue;
        }
        if (status == FAB_STATUS_SC) {
            piece_return(root, read, read->piece[i].bytes, last, from);
        } else {
            read->failed = true;
            fab_root_p2p_give(root, from, read->ingress,
                              completion_new(root, read, last, status));
        }
    }
}

void fab_root_p2p_completion(FabRoot *root, FabPort *ingress, FabTlp *tlp)
{
    uint16_t number = tlp->tag;
    SplitTag *tag = &root->tags[number];
    SplitRead *read = tag->read;
    SimTime now = sim_engine_now(root->component.engine);
    bool last;

    if (!read) {
        fab_tlp_refuse(root->component.fabric, tlp, FAB_STATUS_UR,
                       root->component.bdf);
        return;
    }
    tag->got_bytes += tlp->payload_bytes;
    last = fab_tlp_is_last_completion(tlp);
    if (last) {
        read->piece[tag->piece].back = true;
        read->piece[tag->piece].status = tlp->status;
        read->pieces_back++;
        read_return(root, read, tlp, ingress->index);
        if (read->all_sent && read->pieces_back == read->pieces) {
            read->next = root->free_reads;
            root->free_reads = read;
        }
    }
    fab_port_consume(tlp, now);
    if (last) {
        tag_free(root, number);
    }
}

void fab_root_p2p_init(FabRoot *root)
{
    unsigned count = root->params.forwarded_reads;

    root->tags = g_new0(SplitTag, count);
    for (unsigned i = 0; i < count; i++) {
        root->tags[i].next_free = i + 1 < count ? i + 1 : NO_TAG;
    }
    root->free_tag = 0;
    root->path_queue = g_new(uint32_t, root->ports);
    for (unsigned i = 0; i < root->ports; i++) {
        const FabPort *port = root->component.ports[i];
        uint64_t piece = LEAST_PIECE_BYTES * port->byte_time / FAB_PS_FRACTION;

        root->path_queue[i] =
            ROOT_QUEUE_TLPS + (piece ? root->params.transit / piece : 0);
    }
    root->read_slabs = g_ptr_array_new_with_free_func(g_free);
}

void fab_root_p2p_free(FabRoot *root)
{
    FabFabric *fabric = root->component.fabric;

    for (unsigned i = 0; root->paths && i < root->ports * root->ports; i++) {
        fab_fifo_clear(fabric, &root->paths[i].posted);
        fab_fifo_clear(fabric, &root->paths[i].others);
        fab_fifo_clear(fabric, &root->paths[i].completions);
    }
    if (root->read_slabs) {
        g_ptr_array_unref(root->read_slabs);
    }
    g_free(root->tags);
    g_free(root->path_queue);
}

/* ---- For observers --------------------------------------------------- */

/* Tells of @fifo, of whose first TLP @sent bytes have been sent on already. */
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
