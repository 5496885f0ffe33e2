/* SPDX-License-Identifier: MIT */
#include "fab_root_priv.h"

/*
 * A request from one root port to another leaves in pieces, as requests of the
 * root itself: reads of at most params.read_split_bytes, writes of at most
 * params.write_split_bytes. A piece of a read takes one of the root's
 * params.forwarded_reads tags. The root turns the data of the pieces into
 * completions for the requester, in order of address.
 */

#define READS_SLAB 64

/* ---- Pieces ---------------------------------------------------------- */

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

/* Makes the state of the read @tlp, which begins to leave. */
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
    read->piece_left_bytes = 0;
    read->all_sent = false;
    read->failed = false;
    return read;
}

/* Size of the piece at @addr, with @left bytes to send; it ends at a multiple
 * of
 * @split at the latest (0: no split). */
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

FabTlp *fab_root_split_write(FabRoot *root, RootPath *path)
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
    return piece;
}

/* Takes a tag for the next piece of @read, which has @bytes. */
static uint16_t tag_take(FabRoot *root, SplitRead *read, uint32_t bytes)
{
    uint16_t number = root->free_tag;
    SplitTag *tag = &root->tags[number];

    root->free_tag = tag->next_free;
    root->tags_used++;
    tag->read = read;
    tag->piece = read->pieces;
    read->piece[read->pieces].bytes = bytes;
    read->piece[read->pieces].status = FAB_STATUS_SC;
    read->piece[read->pieces].back = false;
    read->pieces++;
    return number;
}

FabTlp *fab_root_split_read(FabRoot *root, RootPath *path)
{
    FabTlp *tlp = path->others.head;
    uint32_t left = tlp->request_bytes - path->other_sent;
    FabTlp *piece = piece_new(root, tlp, path->other_sent);

    if (!path->read) {
        path->read = read_begin(root, tlp);
    }
    piece->request_bytes =
        tlp->type == FAB_TLP_MRD
            ? piece_bytes(piece->addr, left, root->params.read_split_bytes)
            : left;
    piece->payload_bytes = tlp->payload_bytes;
    piece->tag = tag_take(root, path->read, piece->request_bytes);
    root->counters.forwarded_reads++;
    path->other_sent += piece->request_bytes;
    if (piece->request_bytes == left) {
        path->read->all_sent = true;
        path->read = NULL;
        path->other_sent = 0;
        fab_fifo_pop(&path->others);
        fab_port_consume(tlp, sim_engine_now(root->component.engine));
    }
    return piece;
}

/* ---- Completions ----------------------------------------------------- */

SplitRead *fab_root_split_take(FabRoot *root, const FabTlp *tlp)
{
    SplitTag *tag = &root->tags[tlp->tag];
    SplitRead *read = tag->read;

    if (read && fab_tlp_is_last_completion(tlp)) {
        read->piece[tag->piece].back = true;
        read->piece[tag->piece].status = tlp->status;
        read->pieces_back++;
    }
    return read;
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
    cpl->data = last->data; /* meaningful for a read in one piece only */
    cpl->request_bytes = read->request_bytes - read->returned_bytes;
    cpl->ready_at = last->tail_at + root->params.transit;
    return cpl;
}

/* Goes on to the next piece by address. Returns false if it is not back yet. */
static bool piece_next(SplitRead *read, FabStatus *ret_status)
{
    unsigned i = read->pieces_returned;

    if (i == read->pieces || !read->piece[i].back) {
        return false;
    }
    read->pieces_returned++;
    read->piece_left_bytes = read->piece[i].bytes;
    *ret_status = read->piece[i].status;
    return true;
}

FabTlp *fab_root_split_next(FabRoot *root, SplitRead *read, const FabTlp *last)
{
    uint32_t mps_bytes = root->component.ports[read->ingress]->mps_bytes;
    FabStatus status;
    FabBusAddr end;
    FabTlp *cpl;

    while (!read->piece_left_bytes) {
        if (!piece_next(read, &status)) {
            return NULL;
        }
        if (read->failed || status != FAB_STATUS_SC) {
            read->piece_left_bytes = 0;
        }
        if (!read->failed && status != FAB_STATUS_SC) {
            read->failed = true;
            return completion_new(root, read, last, status);
        }
    }
    /* If the piece exceeds Max_Payload_Size, the completion ends at the last
     * Read Completion Boundary within that size. */
    cpl = completion_new(root, read, last, FAB_STATUS_SC);
    end = cpl->addr + read->piece_left_bytes;
    if (read->piece_left_bytes > mps_bytes) {
        end =
            (cpl->addr + mps_bytes) & ~(FabBusAddr)(root->params.rcb_bytes - 1);
    }
    cpl->payload_bytes = end - cpl->addr;
    read->returned_bytes += cpl->payload_bytes;
    read->piece_left_bytes -= cpl->payload_bytes;
    return cpl;
}

void fab_root_split_end(FabRoot *root, uint16_t number)
{
    SplitTag *tag = &root->tags[number];
    SplitRead *read = tag->read;

    if (read->all_sent && read->pieces_back == read->pieces) {
        read->next = root->free_reads;
        root->free_reads = read;
    }
    tag->read = NULL;
    tag->next_free = root->free_tag;
    root->free_tag = number;
    root->tags_used--;
}

/* ---- Life ------------------------------------------------------------ */

void fab_root_split_init(FabRoot *root)
{
    unsigned count = root->params.forwarded_reads;

    root->tags = g_new0(SplitTag, count);
    for (unsigned i = 0; i < count; i++) {
        root->tags[i].next_free = i + 1 < count ? i + 1 : NO_TAG;
    }
    root->free_tag = 0;
    root->read_slabs = g_ptr_array_new_with_free_func(g_free);
}

void fab_root_split_free(FabRoot *root)
{
    if (root->read_slabs) {
        g_ptr_array_unref(root->read_slabs);
    }
    g_free(root->tags);
}
