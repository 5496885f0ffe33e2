/* SPDX-License-Identifier: MIT */
#include "fab_root_priv.h"
#include "fab_error_report_priv.h"

/*
 * A request from one root port to another leaves in pieces, as requests of the
 * root itself: reads of at most params.read_split_bytes, writes of at most
 * params.write_split_bytes. The root turns the data of the pieces into
 * completions for the requester, in order of address.
 *
 * A piece of a read takes a tag of the root port that it leaves through. Each
 * root port has params.forwarded_reads tags that all requesters share, and one
 * more for each requester that holds none. With one pool for the whole root,
 * reads that cross in two roots would wait for each other for ever: the reads
 * that leave each root would hold all tags that the reads coming in need.
 *
 * Requesters that wait get tags in equal numbers. If the oldest read always got
 * the next tag, and reads that leave and reads that come in used one root port,
 * those that leave would hold all tags but one.
 */

#define READS_SLAB 64

/* ---- Tags ------------------------------------------------------------ */

static inline RootRequester *requester_of(const FabRoot *root,
                                          const SplitRead *read)
{
    return &g_array_index(root->egress[read->egress].requesters, RootRequester,
                          read->requester);
}

/* Index of the record of @id at @egress, a free record if there is none. */
static unsigned requester_find(RootEgress *egress, FabBdf id)
{
    unsigned vacant = egress->requesters->len;

    for (unsigned i = 0; i < egress->requesters->len; i++) {
        RootRequester *requester =
            &g_array_index(egress->requesters, RootRequester, i);

        if (requester->reads > 0 && requester->id == id) {
            return i;
        }
        if (requester->reads == 0) {
            vacant = i;
        }
    }
    if (vacant == egress->requesters->len) {
        g_array_set_size(egress->requesters, vacant + 1);
    }
    g_array_index(egress->requesters, RootRequester, vacant) =
        (RootRequester){.id = id};
    return vacant;
}

static inline bool is_starving(const RootRequester *requester)
{
    return requester->waiting > 0 && requester->pieces == 0;
}

/* Changes the counts of the requester of @read. */
static void requester_count(FabRoot *root, const SplitRead *read, int waiting,
                            int pieces)
{
    RootRequester *requester = requester_of(root, read);
    RootEgress *egress = &root->egress[read->egress];

    egress->starving -= is_starving(requester);
    egress->waiting -= requester->waiting > 0;
    requester->waiting += waiting;
    requester->pieces += pieces;
    egress->starving += is_starving(requester);
    egress->waiting += requester->waiting > 0;
}

static void tags_grow(FabRoot *root)
{
    uint32_t old = root->tag_count, count = MAX(64, 2 * old);

    count = MIN(count, NO_TAG - fab_root_split_first_tag(root));
    g_assert(count > old);
    root->tags = g_renew(SplitTag, root->tags, count);
    for (uint32_t i = old; i < count; i++) {
        root->tags[i] =
            (SplitTag){.next_free = i + 1 < count ? i + 1 : root->free_tag};
    }
    root->free_tag = old;
    root->tag_count = count;
}

/* Takes a tag for the next piece of @read, which has @bytes. */
static uint16_t tag_take(FabRoot *root, SplitRead *read, uint32_t bytes)
{
    RootEgress *egress = &root->egress[read->egress];
    SplitTag *tag;
    uint16_t number;

    if (root->free_tag == NO_TAG) {
        tags_grow(root);
    }
    number = root->free_tag;
    tag = &root->tags[number];
    root->free_tag = tag->next_free;
    tag->read = read;
    tag->piece = read->pieces;
    tag->reserved = egress->shared_used == root->params.forwarded_reads;
    egress->shared_used += !tag->reserved;
    read->piece[read->pieces].bytes = bytes;
    read->piece[read->pieces].status = FAB_STATUS_SC;
    read->piece[read->pieces].poisoned = false;
    read->piece[read->pieces].back = false;
    read->pieces++;
    requester_count(root, read, 0, 1);
    return number;
}

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

void fab_root_split_add(FabRoot *root, unsigned from, unsigned to, FabTlp *tlp)
{
    RootPath *path = fab_root_path(root, from, to);
    SplitRead *read = read_new(root);

    read->next = NULL;
    read->tlp = tlp;
    read->sent_bytes = 0;
    read->ingress = from;
    read->egress = to;
    read->requester = requester_find(&root->egress[to], tlp->requester_id);
    read->requester_id = tlp->requester_id;
    read->tag = tlp->tag;
    read->attr = tlp->attr;
    read->ecrc = tlp->ecrc;
    read->flow = tlp->flow;
    read->transaction = tlp->transaction;
    read->addr = tlp->addr;
    read->request_bytes = tlp->request_bytes;
    read->back_bytes = 0;
    read->returned_bytes = 0;
    read->metered = tlp->metered;
    read->pieces = 0;
    read->pieces_back = 0;
    read->pieces_returned = 0;
    read->piece_left_bytes = 0;
    read->failed = false;
    requester_of(root, read)->reads++;
    requester_count(root, read, 1, 0);
    if (path->reads) {
        path->reads_tail->next = read;
    } else {
        path->reads = read;
    }
    path->reads_tail = read;
}

/* The oldest read of the requester that holds the fewest tags. */
static SplitRead *pick_fair(const FabRoot *root, SplitRead *read)
{
    SplitRead *best = read;

    /* Reads may pass each other (PCIe 5.0 table 2-40, B3). */
    for (; read && requester_of(root, best)->pieces > 0; read = read->next) {
        if (requester_of(root, read)->pieces <
            requester_of(root, best)->pieces) {
            best = read;
        }
    }
    return best;
}

SIM_HOT SplitRead *fab_root_split_pick(const FabRoot *root,
                                       const RootPath *path, unsigned to)
{
    SplitRead *read = path->reads;

    if (root->egress[to].shared_used < root->params.forwarded_reads) {
        return root->egress[to].waiting > 1 ? pick_fair(root, read) : read;
    }
    if (root->egress[to].starving == 0) {
        return NULL;
    }
    /* Reads may pass each other (PCIe 5.0 table 2-40, B3). */
    while (read && requester_of(root, read)->pieces > 0) {
        read = read->next;
    }
    return read;
}

static void read_remove(RootPath *path, SplitRead *read)
{
    SplitRead **at = &path->reads, *before = NULL;

    while (*at != read) {
        before = *at;
        at = &before->next;
    }
    *at = read->next;
    if (path->reads_tail == read) {
        path->reads_tail = before;
    }
}

/* Size of the piece at @addr, with @left bytes to send; it ends at a multiple
 * of
 * @split at the latest (0: no split). */
static uint32_t piece_bytes(FabBusAddr addr, uint32_t left, uint32_t split)
{
    return split ? MIN(left, split - (uint32_t)(addr & (split - 1))) : left;
}

void fab_root_take(FabRoot *root, FabTlp *tlp)
{
    fab_account_taken(root->component.fabric, tlp);
    fab_port_discard(tlp, sim_engine_now(root->component.engine));
}

/* Makes a piece of @tlp that begins at @offset. The caller sets its size and
 * ready_at. */
static FabTlp *piece_new(FabRoot *root, const FabTlp *tlp, uint32_t offset)
{
    FabTlp *piece = fab_tlp_new(root->component.fabric, tlp->type);

    piece->addr = tlp->addr + offset;
    piece->requester_id = root->component.bdf;
    piece->attr = tlp->attr;
    piece->ecrc = tlp->ecrc;
    piece->flow = tlp->flow;
    piece->hops = tlp->hops;
    piece->poisoned = tlp->poisoned;
    piece->metered = tlp->metered;
    return piece;
}

/* The time at which a piece of a write that could leave at @time is forwarded:
 * a node has one way for the pieces of all its ports. */
static inline SimTime piece_slot(FabRoot *root, unsigned from, SimTime time)
{
    SimTime *free = &root->piece_free[root->node_of[from]];

    time = MAX(time, *free);
    *free = time + root->params.write_piece;
    return time;
}

/* Largest piece of the write @tlp to root port @to; 0: any. Where software sets
 * other payloads there, the root splits by those, too. */
static uint32_t write_most(const FabRoot *root, const FabTlp *tlp, unsigned to)
{
    uint32_t split = root->params.write_split_bytes;
    uint32_t mps = root->component.ports[to]->mps_bytes;

    if (G_LIKELY(tlp->payload_bytes <= mps)) {
        return split;
    }
    return split ? MIN(split, mps) : mps;
}

SIM_HOT FabTlp *fab_root_split_write(FabRoot *root, unsigned from, unsigned to)
{
    RootPath *path = fab_root_path(root, from, to);
    FabTlp *tlp = path->posted.head;
    uint32_t left = tlp->payload_bytes - path->posted_sent;
    FabTlp *piece = piece_new(root, tlp, path->posted_sent);

    if (root->params.id_ordering) {
        piece->requester_id = tlp->requester_id;
    }
    piece->payload_bytes =
        piece_bytes(piece->addr, left, write_most(root, tlp, to));
    piece->data = tlp->data;
    piece->transaction = tlp->transaction;
    fab_account_given(root->component.fabric, piece);
    piece->ready_at =
        fab_root_ready_at(root, from, to, tlp->tail_at, piece->payload_bytes);
    if (root->params.write_piece) {
        piece->ready_at = piece_slot(root, from, piece->ready_at);
    }
    root->counters.forwarded_writes++;
    path->posted_sent += piece->payload_bytes;
    if (piece->payload_bytes == left) {
        path->posted_sent = 0;
        fab_fifo_pop(&path->posted);
        if (G_UNLIKELY(root->nodes)) {
            fab_root_nodes_left(root, from, to, tlp);
        }
        fab_root_take(root, tlp);
    }
    return piece;
}

SIM_HOT FabTlp *fab_root_split_read(FabRoot *root, RootPath *path,
                                    SplitRead *read)
{
    FabTlp *tlp = read->tlp;
    uint32_t left = tlp->request_bytes - read->sent_bytes;
    FabTlp *piece = piece_new(root, tlp, read->sent_bytes);
    uint16_t number;

    piece->request_bytes =
        tlp->type == FAB_TLP_MRD
            ? piece_bytes(piece->addr, left, root->params.read_split_bytes)
            : left;
    piece->payload_bytes = tlp->payload_bytes;
    fab_account_given(root->component.fabric, piece);
    piece->ready_at = fab_root_ready_at(root, read->ingress, read->egress,
                                        tlp->tail_at, tlp->payload_bytes);
    number = tag_take(root, read, piece->request_bytes);
    piece->tag = fab_root_split_first_tag(root) + number;
    piece->transaction = fab_transaction_new(root->component.fabric);
    root->tags[number].transaction = piece->transaction;
    root->tags[number].deadline =
        fab_timeout_begin(root->component.fabric, &root->split_timeout_event);
    root->counters.forwarded_reads++;
    read->sent_bytes += piece->request_bytes;
    if (piece->request_bytes == left) {
        read_remove(path, read);
        read->tlp = NULL;
        requester_count(root, read, -1, 0);
        fab_root_take(root, tlp);
    }
    return piece;
}

/* ---- Completions ----------------------------------------------------- */

SplitRead *fab_root_split_take(FabRoot *root, const FabTlp *tlp)
{
    unsigned number = tlp->tag - fab_root_split_first_tag(root);
    SplitTag *tag = &root->tags[number];
    SplitRead *read = number < root->tag_count ? tag->read : NULL;

    if (read && fab_timeout_is_late(root->component.fabric, tlp->transaction,
                                    tag->transaction)) {
        return NULL;
    }
    if (read) {
        read->back_bytes += tlp->payload_bytes;
    }
    if (read && G_UNLIKELY(tlp->poisoned)) {
        read->piece[tag->piece].poisoned = true;
    }
    if (read && fab_tlp_is_last_completion(tlp)) {
        read->piece[tag->piece].back = true;
        read->piece[tag->piece].status = tlp->status;
        read->pieces_back++;
    }
    return read;
}

/* The caller sets its ready_at. */
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
    cpl->transaction = read->transaction;
    cpl->attr = read->attr;
    cpl->ecrc = read->ecrc;
    cpl->flow = read->flow;
    cpl->metered = read->metered;
    cpl->hops = last->hops;
    cpl->status = status;
    cpl->data = last->data; /* meaningful for a read in one piece only */
    cpl->request_bytes = read->request_bytes - read->returned_bytes;
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

SIM_HOT FabTlp *fab_root_split_next(FabRoot *root, SplitRead *read,
                                    const FabTlp *last)
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
            cpl = completion_new(root, read, last, status);
            cpl->ready_at = fab_root_ready_at(root, read->egress, read->ingress,
                                              last->tail_at, 0);
            return cpl;
        }
    }
    /* If the piece exceeds Max_Payload_Size, the completion ends at the last
     * Read Completion Boundary within that size. */
    cpl = completion_new(root, read, last, FAB_STATUS_SC);
    cpl->poisoned = read->piece[read->pieces_returned - 1].poisoned;
    end = cpl->addr + read->piece_left_bytes;
    if (read->piece_left_bytes > mps_bytes) {
        end =
            (cpl->addr + mps_bytes) & ~(FabBusAddr)(root->params.rcb_bytes - 1);
    }
    cpl->payload_bytes = end - cpl->addr;
    fab_account_given(root->component.fabric, cpl);
    cpl->ready_at = fab_root_ready_at(root, read->egress, read->ingress,
                                      last->tail_at, cpl->payload_bytes);
    read->returned_bytes += cpl->payload_bytes;
    read->piece_left_bytes -= cpl->payload_bytes;
    return cpl;
}

/* Gives up the piece with tag @number: it counts as completed with CA, for the
 * specification leaves open what a root does. */
static void piece_expire(FabRoot *root, unsigned number)
{
    FabPort *port = root->component.ports[root->tags[number].read->egress];
    FabTlp *cpl = fab_tlp_new(root->component.fabric, FAB_TLP_CPL);

    fab_timeout_count(port);
    fab_account_fail(&root->component, root->tags[number].read->flow, true,
                     root->tags[number].read->addr, FAB_LOSS_TIMED_OUT);
    cpl->status = FAB_STATUS_CA;
    cpl->requester_id = root->component.bdf;
    cpl->tag = fab_root_split_first_tag(root) + number;
    cpl->transaction = root->tags[number].transaction;
    cpl->tail_at = sim_engine_now(root->component.engine);
    cpl->ingress = port;
    cpl->link_epoch = port->buffer.epoch - 1; /* it holds no credits */
    root->piece_over(root, port, cpl);
}

static void split_timeout_event(SimEvent *event)
{
    FabRoot *root = SIM_CONTAINER_OF(event, FabRoot, split_timeout_event);
    SimTime now = event->time; /* a new piece changes that of the event */
    SimTime next = SIM_TIME_NONE;

    for (unsigned i = 0; i < root->tag_count; i++) {
        if (root->tags[i].read && root->tags[i].deadline <= now) {
            piece_expire(root, i);
        }
        if (root->tags[i].read) {
            next = MIN(next, root->tags[i].deadline);
        }
    }
    fab_timeout_next(event, next);
}

SIM_HOT void fab_root_split_end(FabRoot *root, uint16_t number)
{
    uint16_t index = number - fab_root_split_first_tag(root);
    SplitTag *tag = &root->tags[index];
    SplitRead *read = tag->read;

    requester_count(root, read, 0, -1);
    root->egress[read->egress].shared_used -= !tag->reserved;
    if (!read->tlp && read->pieces_back == read->pieces) {
        fab_account_drop(root->component.fabric, read->flow,
                         read->back_bytes - read->returned_bytes,
                         read->metered);
        requester_of(root, read)->reads--;
        read->next = root->free_reads;
        root->free_reads = read;
    }
    tag->read = NULL;
    tag->next_free = root->free_tag;
    root->free_tag = index;
}

/* ---- For observers --------------------------------------------------- */

void fab_root_split_waits(const FabRoot *root, FabWaits *waits)
{
    for (unsigned i = 0; i < root->tag_count; i++) {
        const SplitTag *tag = &root->tags[i];

        if (tag->read) {
            fab_waits_split(waits, tag->read->transaction, tag->transaction);
        }
    }
}

void fab_root_split_wait_for_tags(const FabRoot *root, unsigned to,
                                  FabWaits *waits)
{
    for (unsigned i = 0; i < root->tag_count; i++) {
        const SplitTag *tag = &root->tags[i];

        if (tag->read && tag->read->egress == to) {
            fab_waits_for_transaction(waits, tag->transaction);
        }
    }
}

/* ---- Life ------------------------------------------------------------ */

void fab_root_split_init(FabRoot *root, FabRootPieceFn piece_over)
{
    root->piece_over = piece_over;
    root->free_tag = NO_TAG;
    tags_grow(root);
    sim_event_init(&root->split_timeout_event, root->component.engine,
                   split_timeout_event, SIM_PRIORITY_NORMAL,
                   root->component.rank + 3);
    root->read_slabs = g_ptr_array_new_with_free_func(g_free);
    root->egress = g_new0(RootEgress, root->ports);
    for (unsigned i = 0; i < root->ports; i++) {
        root->egress[i].requesters =
            g_array_new(FALSE, FALSE, sizeof(RootRequester));
    }
}

void fab_root_split_free(FabRoot *root)
{
    sim_event_cancel(&root->split_timeout_event);
    for (unsigned i = 0; root->egress && i < root->ports; i++) {
        g_array_unref(root->egress[i].requesters);
    }
    g_free(root->egress);
    if (root->read_slabs) {
        g_ptr_array_unref(root->read_slabs);
    }
    g_free(root->tags);
}
