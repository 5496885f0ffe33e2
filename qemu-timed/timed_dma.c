/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data of drives that lie in another host's memory. QEMU has one buffer of
 * a page for all DMA to memory that is not its own, and fills it while the CPU
 * stands still. Here a command has a buffer of its own instead, and its data
 * move as a drive's DMA engine moves them: the filter of the drive
 * (timed_drive.c) says when.
 *
 * It is QEMU's dma_blk_read() and dma_blk_write() that are replaced. For all
 * other commands the replacement does what they do.
 */
#include "timed.h"
#include "qemu/memalign.h"
#include "qemu/rcu.h"
#include "timed_qemu.h"

/*
 * The most bytes of all writes that are under way. They are asked for by up to
 * 9 requests for each page, whose tags have 16 bits. Further commands take
 * QEMU's own way.
 */
#define WRITTEN_MAX (24u << 20)

/* A part of the data that is fetched: of one page on both sides */
typedef struct Piece {
    TimedDma *dma;
    FarsideFetching *fetching;
    uint64_t address, at;
    unsigned bytes;
    QLIST_ENTRY(Piece) next;
} Piece;

struct TimedDma {
    BlockAIOCB common;
    BlockBackend *blk;
    QEMUSGList *sg;
    uint8_t *data;
    QEMUIOVector qiov;
    TimedDmaArrived *arrived;
    void *opaque;
    unsigned *left;    /* by page: the bytes that have not arrived */
    unsigned told;     /* pages of which @arrived knows */
    unsigned complete; /* pages that have arrived */
    bool has_failed;   /* a piece does not arrive */
    uint64_t written;  /* the size of a write */
    QLIST_HEAD(, Piece) pieces;
    QLIST_ENTRY(TimedDma) next;
};

static const BlockDriver *filter;
static QLIST_HEAD(, TimedDma) dmas = QLIST_HEAD_INITIALIZER(dmas);
static uint64_t written; /* bytes of all writes */

/* The window that @address of @as leads to; NULL: it leads elsewhere. */
static MemoryRegion *find_window(AddressSpace *as, uint64_t address,
                                 bool is_write, hwaddr *ret_offset)
{
    const FarsideTimeWindows *windows = timed_link_windows();
    hwaddr length = 1;
    MemoryRegion *mr;

    RCU_READ_LOCK_GUARD();
    mr = address_space_translate(as, address, ret_offset, &length, is_write,
                                 MEMTXATTRS_UNSPECIFIED);
    return windows && windows->owns(mr) ? mr : NULL;
}

TimedDma *timed_dma_find(const QEMUIOVector *qiov)
{
    TimedDma *dma;

    QLIST_FOREACH(dma, &dmas, next)
    {
        if (qiov && qiov->niov == 1 && qiov->iov[0].iov_base == dma->data) {
            return dma;
        }
    }
    return NULL;
}

/* Fetching */

static void tell(TimedDma *dma, int64_t now)
{
    unsigned pages = dma->complete - dma->told;

    dma->told = dma->complete;
    if (dma->has_failed || pages > 0) {
        dma->arrived(dma->opaque, dma->has_failed ? -EIO : (int)pages, now);
    }
}

static void piece_ends(TimedDma *dma, uint64_t at, unsigned bytes, bool is_good)
{
    unsigned page = at / TIMED_DMA_PAGE;

    dma->has_failed |= !is_good;
    dma->left[page] -= bytes;
    dma->complete += dma->left[page] == 0;
}

static bool read_now(TimedDma *dma, uint64_t address, uint64_t at,
                     unsigned bytes)
{
    return dma_memory_read(dma->sg->as, address, dma->data + at, bytes,
                           MEMTXATTRS_UNSPECIFIED) == MEMTX_OK;
}

static void drop_piece(Piece *piece)
{
    QLIST_REMOVE(piece, next);
    g_free(piece);
}

static void piece_done(void *opaque, FarsideFetched result, int64_t now)
{
    Piece *piece = opaque;
    Piece p = *piece;
    bool is_good = result == FARSIDE_FETCHED;

    drop_piece(piece);
    /* It lies in registers of a device, which are not read in blocks. */
    if (result == FARSIDE_FETCH_REFUSED) {
        is_good = read_now(p.dma, p.address, p.at, p.bytes);
        now = timed_clock_now();
    }
    piece_ends(p.dma, p.at, p.bytes, is_good);
    tell(p.dma, now);
}

static void fetch_piece(TimedDma *dma, uint64_t address, uint64_t at,
                        unsigned bytes)
{
    hwaddr offset;
    MemoryRegion *mr = find_window(dma->sg->as, address, false, &offset);
    Piece *piece;

    if (!mr) {
        piece_ends(dma, at, bytes, read_now(dma, address, at, bytes));
        return;
    }
    piece = g_new0(Piece, 1);
    piece->dma = dma;
    piece->address = address;
    piece->at = at;
    piece->bytes = bytes;
    QLIST_INSERT_HEAD(&dma->pieces, piece, next);
    piece->fetching =
        timed_link_windows()->fetch(mr, offset, dma->data + at, bytes,
                                    piece_done, piece);
    if (!piece->fetching) {
        drop_piece(piece);
        piece_ends(dma, at, bytes, false);
    }
}

void timed_dma_fetch(TimedDma *dma, TimedDmaArrived *arrived, void *opaque)
{
    uint64_t at = 0;
    int i;

    dma->arrived = arrived;
    dma->opaque = opaque;
    for (i = 0; i < dma->sg->nsg; i++) {
        uint64_t address = dma->sg->sg[i].base, left = dma->sg->sg[i].len;

        while (left > 0) {
            unsigned bytes = MIN(left, TIMED_DMA_PAGE - at % TIMED_DMA_PAGE);

            bytes = MIN(bytes, TIMED_DMA_PAGE - address % TIMED_DMA_PAGE);
            fetch_piece(dma, address, at, bytes);
            address += bytes;
            at += bytes;
            left -= bytes;
        }
    }
    tell(dma, timed_clock_now());
}

void timed_dma_cancel(TimedDma *dma)
{
    Piece *piece, *following;

    QLIST_FOREACH_SAFE(piece, &dma->pieces, next, following)
    {
        timed_link_windows()->cancel(piece->fetching);
        drop_piece(piece);
    }
}

/* Posting */

void timed_dma_post(TimedDma *dma, uint64_t begin, uint64_t end)
{
    uint64_t at = 0;
    int i;

    for (i = 0; i < dma->sg->nsg && at < end; i++) {
        uint64_t from = MAX(at, begin), to = MIN(at + dma->sg->sg[i].len, end);

        if (from < to) {
            dma_memory_write(dma->sg->as, dma->sg->sg[i].base + (from - at),
                             dma->data + from, to - from,
                             MEMTXATTRS_UNSPECIFIED);
        }
        at += dma->sg->sg[i].len;
    }
}

/* Commands */

static const AIOCBInfo aiocb_info = {
    .aiocb_size = sizeof(TimedDma),
};

static void done(void *opaque, int result)
{
    TimedDma *dma = opaque;

    QLIST_REMOVE(dma, next);
    written -= dma->written;
    g_free(dma->left);
    qemu_vfree(dma->data);
    dma->common.cb(dma->common.opaque, result);
    qemu_aio_unref(dma);
}

static TimedDma *dma_new(BlockBackend *blk, QEMUSGList *sg,
                         BlockCompletionFunc *cb, void *opaque)
{
    TimedDma *dma = qemu_aio_get(&aiocb_info, NULL, cb, opaque);
    unsigned pages = DIV_ROUND_UP(sg->size, TIMED_DMA_PAGE), i;

    dma->blk = blk;
    dma->sg = sg;
    dma->data = blk_blockalign(blk, sg->size);
    qemu_iovec_init_buf(&dma->qiov, dma->data, sg->size);
    dma->arrived = NULL;
    dma->left = g_new(unsigned, pages);
    for (i = 0; i < pages; i++) {
        dma->left[i] = MIN(TIMED_DMA_PAGE, sg->size - i * TIMED_DMA_PAGE);
    }
    dma->told = 0;
    dma->complete = 0;
    dma->has_failed = false;
    dma->written = 0;
    QLIST_INIT(&dma->pieces);
    QLIST_INSERT_HEAD(&dmas, dma, next);
    return dma;
}

static bool leads_to_window(const QEMUSGList *sg, bool is_write)
{
    bool result = false;
    hwaddr offset;
    int i;

    for (i = 0; timed_link_windows() && !result && i < sg->nsg; i++) {
        result = find_window(sg->as, sg->sg[i].base, is_write, &offset);
    }
    /* Nothing is accessed yet. */
    timed_gate_set_device(NULL);
    return result;
}

/* The block layer copies or divides other requests, before the filter. */
static bool is_ours(BlockBackend *blk, const QEMUSGList *sg, uint64_t offset,
                    bool is_write)
{
    uint32_t alignment = blk_get_request_alignment(blk);
    const BlockDriverState *bs = blk_bs(blk);

    return bs && bs->drv == filter &&
           QEMU_IS_ALIGNED(sg->size, alignment) &&
           QEMU_IS_ALIGNED(offset, alignment) &&
           sg->size <= blk_get_max_transfer(blk) &&
           leads_to_window(sg, is_write);
}

static BlockAIOCB *read_pages(int64_t offset, QEMUIOVector *qiov,
                              BlockCompletionFunc *cb, void *opaque, void *blk)
{
    return blk_aio_preadv(blk, offset, qiov, 0, cb, opaque);
}

static BlockAIOCB *write_pages(int64_t offset, QEMUIOVector *qiov,
                               BlockCompletionFunc *cb, void *opaque, void *blk)
{
    return blk_aio_pwritev(blk, offset, qiov, 0, cb, opaque);
}

static BlockAIOCB *read_drive(BlockBackend *blk, QEMUSGList *sg,
                              uint64_t offset, uint32_t align,
                              BlockCompletionFunc *cb, void *opaque)
{
    TimedDma *dma;

    if (!is_ours(blk, sg, offset, true)) {
        return dma_blk_io(sg, offset, align, read_pages, blk, cb, opaque,
                          DMA_DIRECTION_FROM_DEVICE);
    }
    dma = dma_new(blk, sg, cb, opaque);
    blk_aio_preadv(blk, offset, &dma->qiov, 0, done, dma);
    return &dma->common;
}

static BlockAIOCB *write_drive(BlockBackend *blk, QEMUSGList *sg,
                               uint64_t offset, uint32_t align,
                               BlockCompletionFunc *cb, void *opaque)
{
    TimedDma *dma;

    if (written + sg->size > WRITTEN_MAX || !is_ours(blk, sg, offset, false)) {
        return dma_blk_io(sg, offset, align, write_pages, blk, cb, opaque,
                          DMA_DIRECTION_TO_DEVICE);
    }
    dma = dma_new(blk, sg, cb, opaque);
    dma->written = sg->size;
    written += dma->written;
    blk_aio_pwritev(blk, offset, &dma->qiov, 0, done, dma);
    return &dma->common;
}

void timed_dma_init(const BlockDriver *from)
{
    filter = from;
    timed_patch("dma_blk_read", dma_blk_read, read_drive);
    timed_patch("dma_blk_write", dma_blk_write, write_drive);
}
