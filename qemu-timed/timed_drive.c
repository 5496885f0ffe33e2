/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time of drives. Above the image of each drive stands a filter. It starts
 * a request on the image at once, and completes it at the virtual time that the
 * drive of the description needs for it: if the image's file is quicker, the
 * result waits, and if it is slower, virtual time waits. So the guest sees
 * nothing of the disk of this machine.
 *
 * The drive is that of the model: fab_drive.h has its time.
 *
 * Data in memory of the drive's own host move in no time. If they lie in
 * another host's (timed_dma.c), they move as in the model: the media serve the
 * commands page by page, in turn; each page of a read is posted when it has
 * been served; the pages of a write are all asked for when the controller has
 * taken the command, and the media take each when it has arrived.
 */
#include "timed.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "block/block_int.h"
#include "qemu/coroutine_int.h"
#include "timed_qemu.h"
#include "fab_drive.h"

#define FILTER    "farside-timed"
#define PS_PER_NS 1000

QEMU_BUILD_BUG_ON(TIMED_DMA_PAGE != FAB_DRIVE_PAGE_BYTES);

typedef struct Filter Filter;

typedef struct Drive {
    char *name;
    FabDriveTimes times;
} Drive;

static GPtrArray *drives;
static QLIST_HEAD(, Filter) filters = QLIST_HEAD_INITIALIZER(filters);
/* Devices that cancel requests now, and wait for that in real time */
static unsigned cancels;

typedef enum Kind {
    KIND_READ,
    KIND_WRITE,
    KIND_ZEROES,
    KIND_DISCARD,
    KIND_FLUSH,
} Kind;

typedef struct Request Request;

/* The state of a filter */
struct Filter {
    const char *name;
    uint64_t random;
    FabDrive nvme;
    QEMUTimer *media_timer; /* the media have served a page */
    int64_t media_ps;       /* the time of that */
    unsigned drains;        /* of others who wait for all requests */
    uint64_t requests_begun;
    QLIST_HEAD(, Request) requests;
    QLIST_ENTRY(Filter) next;
};

struct Request {
    BlockDriverState *bs;
    uint64_t number;
    Kind kind;
    int64_t offset, bytes;
    QEMUIOVector *qiov; /* of a copy, which reaches the guest at its time */
    BdrvRequestFlags flags;
    TimedDma *dma; /* the way of its data; NULL: they are in memory */
    Coroutine *co;
    QEMUTimer *timer;
    void (*step)(Request *r); /* what the timer is for */
    int64_t time_ps;          /* of the timer */
    unsigned pages;
    unsigned fetched;   /* pages of another host's memory that are here */
    FabDriveWork work;  /* of the media, if the data are in such memory */
    int64_t posted;     /* bytes that were sent to the other host */
    bool is_begun;      /* on the image */
    bool is_done;       /* on the image */
    bool is_due;        /* its time has come, or does not count */
    bool is_woken;
    int result;
    QLIST_ENTRY(Request) next;
};

/*
 * The request whose coroutine goes on now, by where it ends. For memory that is
 * neither RAM nor another host's QEMU has one buffer of a page, and cuts a
 * command into requests that follow each other in here.
 */
static struct {
    const BlockDriverState *bs; /* NULL: none */
    Kind kind;
    int64_t end;
} ending;

/* The time of a request */

/* xorshift64* by Marsaglia and Vigna: the same numbers in each run. */
static int64_t random_below(Filter *f, int64_t limit)
{
    f->random ^= f->random >> 12;
    f->random ^= f->random << 25;
    f->random ^= f->random >> 27;
    return (f->random * 0x2545f4914f6cdd1dull >> 1) % limit;
}

static int64_t now_ps(void)
{
    return timed_clock_now() * PS_PER_NS;
}

/* A latency of the media, with its random part */
static int64_t latency_ps(Filter *f, bool is_write)
{
    return fab_drive_latency(&f->nvme, is_write,
                             random_below(f, f->nvme.times.jitter + 1));
}

/* True if the request is the next part of a command that has begun. */
static bool goes_on(const Request *r)
{
    return (r->kind == KIND_READ || r->kind == KIND_WRITE) &&
           ending.bs == r->bs && ending.kind == r->kind &&
           ending.end == r->offset;
}

/* The media take the next part of a command, after its first latency. */
static int64_t part_ns(Filter *f, Kind kind, int64_t bytes)
{
    int64_t time =
        fab_drive_serve(&f->nvme, now_ps(), kind == KIND_WRITE, bytes, NULL);

    return DIV_ROUND_UP(time, PS_PER_NS);
}

/* The virtual time at which the request is complete, in ns. */
static int64_t completion_ns(Filter *f, Kind kind, int64_t bytes)
{
    int64_t latency = latency_ps(f, kind != KIND_READ);
    int64_t time = fab_drive_accept(&f->nvme, now_ps());

    switch (kind) {
    case KIND_READ:
        time = fab_drive_serve(&f->nvme, time + latency, false, bytes, NULL);
        break;
    case KIND_WRITE:
        time = fab_drive_serve(&f->nvme, time, true, bytes, NULL) + latency;
        break;
    case KIND_ZEROES:
    case KIND_DISCARD:
        time = MAX(time, f->nvme.served) + latency;
        break;
    case KIND_FLUSH:
        /* Earlier writes are complete. */
        time = MAX(time, f->nvme.served);
        break;
    }
    return DIV_ROUND_UP(time, PS_PER_NS);
}

/* Requests */

static void wake(Request *r)
{
    typeof(ending) before = ending;

    if (r->is_done && r->is_due && !r->is_woken) {
        r->is_woken = true;
        ending.bs = r->bs;
        ending.kind = r->kind;
        ending.end = r->offset + r->bytes;
        aio_co_wake(r->co);
        ending = before;
    }
}

static Request *find_request(const Filter *f, uint64_t number)
{
    Request *r;

    QLIST_FOREACH(r, &f->requests, next)
    {
        if (r->number == number) {
            return r;
        }
    }
    return NULL;
}

/*
 * Time waits until the request is done on the image. NULL if somebody has
 * ended it meanwhile.
 */
static Request *hold(Request *r)
{
    Filter *f = r->bs->opaque;
    AioContext *ctx = qemu_get_aio_context();
    uint64_t number = r->number;

    /*
     * Bottom halves that were scheduled before this time run first, in any
     * case: the wait below would run them, too.
     */
    while (aio_bh_poll(ctx) > 0) {
        ;
    }
    while ((r = find_request(f, number)) && !r->is_done) {
        aio_poll(ctx, true);
    }
    return r;
}

static void end_now(Request *r)
{
    r->is_due = true;
    timed_steps_add("due %d %" PRId64, r->kind, r->offset);
    wake(r);
}

static void due(Request *r)
{
    r = hold(r);
    if (r) {
        end_now(r);
    }
}

static void timer_event(void *opaque)
{
    Request *r = opaque;

    r->step(r);
}

static int coroutine_fn perform(const Request *r)
{
    BdrvChild *file = r->bs->file;

    switch (r->kind) {
    case KIND_READ:
        return bdrv_co_preadv(file, r->offset, r->bytes, r->qiov, r->flags);
    case KIND_WRITE:
        return bdrv_co_pwritev(file, r->offset, r->bytes, r->qiov, r->flags);
    case KIND_ZEROES:
        return bdrv_co_pwrite_zeroes(file, r->offset, r->bytes, r->flags);
    case KIND_DISCARD:
        return bdrv_co_pdiscard(file, r->offset, r->bytes);
    default:
        return bdrv_co_flush(file->bs);
    }
}

static void coroutine_fn image_entry(void *opaque)
{
    Request *r = opaque;

    GRAPH_RDLOCK_GUARD();
    r->result = perform(r);
    r->is_done = true;
    wake(r);
}

static void begin_on_image(Request *r)
{
    r->is_begun = true;
    qemu_coroutine_enter(qemu_coroutine_create(image_entry, r));
}

/* The media, for data in another host's memory */

static void step_at(Request *r, void (*step)(Request *r), int64_t ps)
{
    r->step = step;
    r->time_ps = ps;
    timer_mod_ns(r->timer, DIV_ROUND_UP(ps, PS_PER_NS));
}

/* The media begin to serve the page whose turn it is, not before @ps. */
static void media_begin(Filter *f, int64_t ps)
{
    f->media_ps = fab_drive_begin(&f->nvme, ps, NULL);
    if (f->media_ps != FAB_DRIVE_IDLE) {
        timer_mod_ns(f->media_timer, DIV_ROUND_UP(f->media_ps, PS_PER_NS));
    }
}

/* Another @pages pages of @r are ready for the media at @ps. */
static void media_add(Request *r, unsigned pages, int64_t ps)
{
    Filter *f = r->bs->opaque;

    if (fab_drive_add(&f->nvme, &r->work, pages)) {
        media_begin(f, ps);
    }
}

static void media_remove(Request *r)
{
    Filter *f = r->bs->opaque;

    if (fab_drive_remove(&f->nvme, &r->work)) {
        timer_del(f->media_timer);
        media_begin(f, now_ps());
    }
}

/* Sends what has been read, up to @end. */
static void post(Request *r, int64_t end)
{
    int64_t begin = r->posted;

    r->posted = MAX(begin, end);
    if (end > begin) {
        timed_dma_post(r->dma, begin, end);
    }
}

/* The media have served a page of @r, at @ps. */
static void page_served(Request *r, int64_t ps)
{
    unsigned done = r->work.done;

    if (r->kind == KIND_WRITE) {
        if (done == r->pages) {
            step_at(r, due, ps + latency_ps(r->bs->opaque, true));
        }
        return;
    }
    r = hold(r);
    if (!r) {
        return;
    }
    if (r->result >= 0) {
        post(r, MIN(done * (int64_t)TIMED_DMA_PAGE, r->bytes));
    }
    if (done == r->pages) {
        end_now(r);
    }
}

static void media_event(void *opaque)
{
    Filter *f = opaque;
    Request *r = container_of(fab_drive_end(&f->nvme), Request, work);
    int64_t ps = f->media_ps;

    media_begin(f, ps);
    page_served(r, ps);
}

/* Commands with data in another host's memory */

static void pages_arrived(void *opaque, int pages, int64_t now)
{
    Request *r = opaque;

    timed_steps_add("fetched %" PRId64 " %d", r->offset, pages);
    if (pages < 0) {
        r->result = pages;
        r->is_done = true;
        end_now(r);
        return;
    }
    media_add(r, pages, now * PS_PER_NS);
    r->fetched += pages;
    if (r->fetched == r->pages) {
        begin_on_image(r);
    }
}

static void media_are_ready(Request *r)
{
    media_add(r, r->pages, r->time_ps);
}

/* The controller has taken the command. */
static void accepted(Request *r)
{
    if (r->kind == KIND_READ) {
        step_at(r, media_are_ready,
                r->time_ps + latency_ps(r->bs->opaque, false));
    } else {
        timed_dma_fetch(r->dma, pages_arrived, r);
    }
}

/* The first step of a command. Returns its time, in ns. */
static int64_t begin_steps(Request *r)
{
    Filter *f = r->bs->opaque;

    step_at(r, accepted, fab_drive_accept(&f->nvme, now_ps()));
    return DIV_ROUND_UP(r->time_ps, PS_PER_NS);
}

/* The data of a write that must come from another host first */
static bool must_fetch(const Request *r)
{
    return r->dma && r->kind == KIND_WRITE;
}

/* Time does not count: the request ends at once, or when the image is done. */
static void end_early(Request *r)
{
    if (r->timer) {
        timer_del(r->timer);
    }
    r->is_due = true;
    if (must_fetch(r) && !r->is_begun) {
        r->result = -ECANCELED;
        r->is_done = true;
    }
}

/* A request that ends leaves nothing under way. */
static void leave(Request *r)
{
    if (must_fetch(r)) {
        timed_dma_cancel(r->dma);
    } else if (r->dma && r->result >= 0) {
        post(r, r->bytes);
    }
    media_remove(r);
    QLIST_REMOVE(r, next);
    if (r->timer) {
        timer_free(r->timer);
    }
}

/*
 * The beginnings of coroutines of QEMU's functions that flush and wait for it.
 * They have no names here, so learn_waits() calls the functions once.
 */
static CoroutineEntry *waits[2];
static CoroutineEntry **learning; /* NULL: nothing is learnt now */

/*
 * A device may wait for a flush in real time, for example when its controller
 * is shut down. No timer would fire meanwhile.
 */
static bool is_untimed(const Filter *f, Kind kind)
{
    CoroutineEntry *entry = qemu_coroutine_self()->entry;

    return f->drains > 0 || cancels > 0 ||
           (kind == KIND_FLUSH && (!timed_clock_is_running() ||
                                   entry == waits[0] || entry == waits[1]));
}

static int coroutine_fn serve(BlockDriverState *bs, Kind kind, int64_t offset,
                              int64_t bytes, QEMUIOVector *qiov,
                              BdrvRequestFlags flags)
{
    Filter *f = bs->opaque;
    Request r = {
        .bs = bs,
        .number = f->requests_begun++,
        .kind = kind,
        .offset = offset,
        .bytes = bytes,
        .qiov = qiov,
        .flags = flags,
        .dma = timed_dma_find(qiov),
        .co = qemu_coroutine_self(),
        .step = due,
        .pages = DIV_ROUND_UP(bytes, TIMED_DMA_PAGE),
        .work = {.size_bytes = bytes, .is_write = kind == KIND_WRITE},
        .is_woken = true, /* not before this coroutine has yielded */
    };
    int64_t end = 0;

    QLIST_INSERT_HEAD(&f->requests, &r, next);
    if (is_untimed(f, kind)) {
        end_early(&r);
    } else {
        r.timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, timer_event, &r);
        if (r.dma) {
            end = begin_steps(&r);
        } else {
            end = goes_on(&r) ? part_ns(f, kind, bytes)
                              : completion_ns(f, kind, bytes);
            timer_mod_ns(r.timer, end);
        }
    }
    timed_steps_add("drive %s %d %" PRId64 " %" PRId64 " %" PRId64,
                    f->name, kind, offset, bytes, end);
    if (!must_fetch(&r)) {
        begin_on_image(&r);
    }
    r.is_woken = false;
    if (!r.is_done || !r.is_due) {
        qemu_coroutine_yield();
    }
    leave(&r);
    return r.result;
}

static int coroutine_fn filter_preadv(BlockDriverState *bs, int64_t offset,
                                      int64_t bytes, QEMUIOVector *qiov,
                                      BdrvRequestFlags flags)
{
    g_autofree void *copy = NULL;
    QEMUIOVector own;
    int r;

    if (timed_dma_find(qiov)) {
        return serve(bs, KIND_READ, offset, bytes, qiov, flags);
    }
    copy = g_malloc(bytes);
    qemu_iovec_init_buf(&own, copy, bytes);
    r = serve(bs, KIND_READ, offset, bytes, &own, flags);
    qemu_iovec_from_buf(qiov, 0, copy, bytes);
    return r;
}

static int coroutine_fn filter_pwritev(BlockDriverState *bs, int64_t offset,
                                       int64_t bytes, QEMUIOVector *qiov,
                                       BdrvRequestFlags flags)
{
    g_autofree void *copy = NULL;
    QEMUIOVector own;

    if (timed_dma_find(qiov)) {
        return serve(bs, KIND_WRITE, offset, bytes, qiov, flags);
    }
    copy = g_malloc(bytes);
    qemu_iovec_init_buf(&own, copy, bytes);
    qemu_iovec_to_buf(qiov, 0, copy, bytes);
    return serve(bs, KIND_WRITE, offset, bytes, &own, flags);
}

static int coroutine_fn filter_pwrite_zeroes(BlockDriverState *bs,
                                             int64_t offset, int64_t bytes,
                                             BdrvRequestFlags flags)
{
    return serve(bs, KIND_ZEROES, offset, bytes, NULL, flags);
}

static int coroutine_fn filter_pdiscard(BlockDriverState *bs, int64_t offset,
                                        int64_t bytes)
{
    return serve(bs, KIND_DISCARD, offset, bytes, NULL, 0);
}

/*
 * QEMU lets a node have one flush at a time. One that a device waits for in
 * real time must not wait for another one, whose time has not come.
 */
static void coroutine_fn let_flushes_in(BlockDriverState *bs)
{
    timed_qemu_lock_requests(bs);
    bs->active_flush_req = false;
    qemu_co_queue_next(&bs->flush_queue);
    timed_qemu_unlock_requests(bs);
}

static int coroutine_fn filter_flush(BlockDriverState *bs)
{
    if (learning) {
        *learning = qemu_coroutine_self()->entry;
        return 0;
    }
    let_flushes_in(bs);
    return serve(bs, KIND_FLUSH, 0, 0, NULL, 0);
}

/* Others wait for the requests in real time, so virtual time does not count. */
static void end_requests(Filter *f)
{
    Request *r, *following;

    QLIST_FOREACH_SAFE(r, &f->requests, next, following)
    {
        end_early(r);
        wake(r);
    }
}

static void filter_drain_begin(BlockDriverState *bs)
{
    Filter *f = bs->opaque;

    f->drains++;
    end_requests(f);
}

static void filter_drain_end(BlockDriverState *bs)
{
    Filter *f = bs->opaque;

    f->drains--;
}

/*
 * In place of QEMU's blk_aio_cancel(). A device that deletes a queue with
 * commands in flight waits for the end of each, and QEMU tells no node of it.
 * It does not say whose @acb is, so the requests of all drives end.
 */
static void cancel(BlockAIOCB *acb)
{
    Filter *f;

    timed_steps_add("cancel");
    qemu_aio_ref(acb);
    bdrv_aio_cancel_async(acb);
    cancels++;
    QLIST_FOREACH(f, &filters, next)
    {
        end_requests(f);
    }
    while (acb->refcnt > 1) {
        aio_poll(qemu_get_aio_context(), true);
    }
    cancels--;
    qemu_aio_unref(acb);
}

/* Life */

static void filter_close(BlockDriverState *bs)
{
    Filter *f = bs->opaque;

    QLIST_REMOVE(f, next);
    timer_free(f->media_timer);
}

static int filter_open(BlockDriverState *bs, QDict *options, int flags,
                       Error **errp)
{
    const char *name = qdict_get_try_str(options, "drive");
    Filter *f = bs->opaque;
    unsigned i;
    int r;

    for (i = 0; name && i < drives->len; i++) {
        const Drive *drive = drives->pdata[i];

        if (strcmp(drive->name, name) == 0) {
            f->name = drive->name;
            f->nvme.times = drive->times;
            f->random = g_str_hash(name) | 1ull << 32;
        }
    }
    if (!f->name) {
        error_setg(errp, "there is no drive '%s' in virtual time", name ?: "");
        return -EINVAL;
    }
    qdict_del(options, "drive");
    r = bdrv_open_file_child(NULL, options, "file", bs, errp);
    if (r < 0) {
        return r;
    }
    QLIST_INIT(&f->requests);
    f->media_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, media_event, f);
    QLIST_INSERT_HEAD(&filters, f, next);
    bs->supported_write_flags =
        BDRV_REQ_WRITE_UNCHANGED |
        (BDRV_REQ_FUA & bs->file->bs->supported_write_flags);
    bs->supported_zero_flags =
        BDRV_REQ_WRITE_UNCHANGED |
        ((BDRV_REQ_FUA | BDRV_REQ_MAY_UNMAP | BDRV_REQ_NO_FALLBACK) &
         bs->file->bs->supported_zero_flags);
    return 0;
}

static int64_t coroutine_fn filter_getlength(BlockDriverState *bs)
{
    return bdrv_co_getlength(bs->file->bs);
}

static BlockDriver filter_driver = {
    .format_name = FILTER,
    .instance_size = sizeof(Filter),
    .is_filter = true,
    .bdrv_open = filter_open,
    .bdrv_close = filter_close,
    .bdrv_child_perm = bdrv_default_perms,
    .bdrv_co_getlength = filter_getlength,
    .bdrv_co_preadv = filter_preadv,
    .bdrv_co_pwritev = filter_pwritev,
    .bdrv_co_pwrite_zeroes = filter_pwrite_zeroes,
    .bdrv_co_pdiscard = filter_pdiscard,
    .bdrv_co_flush = filter_flush,
    .bdrv_drain_begin = filter_drain_begin,
    .bdrv_drain_end = filter_drain_end,
};

static void learn_waits(BlockDriverState *filter)
{
    BlockBackend *blk = blk_new(bdrv_get_aio_context(filter), 0, BLK_PERM_ALL);

    blk_insert_bs(blk, filter, &error_fatal);
    learning = &waits[0];
    blk_flush(blk);
    learning = &waits[1];
    bdrv_flush(filter);
    learning = NULL;
    blk_unref(blk);
}

/* QEMU opens images before it loads this object: the filter comes later. */
static void insert(const Drive *drive)
{
    BlockDriverState *bs, *filter;
    QDict *options = qdict_new();

    bs = bdrv_lookup_bs(drive->name, drive->name, &error_fatal);
    qdict_put_str(options, "driver", FILTER);
    qdict_put_str(options, "drive", drive->name);
    qdict_put_str(options, "file", bdrv_get_node_name(bs));
    filter = bdrv_insert_node(bs, options, BDRV_O_RDWR, &error_fatal);
    learn_waits(filter);
    /* The parents keep it. */
    bdrv_unref(filter);
}

static void insert_all(Notifier *notifier, void *data)
{
    unsigned i;

    for (i = 0; i < drives->len; i++) {
        insert(drives->pdata[i]);
    }
}

bool timed_drive_option(const char *value)
{
    g_auto(GStrv) words = g_strsplit(value, ":", -1);
    Drive *drive = g_new0(Drive, 1);
    int64_t *const numbers[] = {
        &drive->times.overhead,      &drive->times.read_latency,
        &drive->times.write_latency, &drive->times.jitter,
        &drive->times.read_bytes_s,  &drive->times.write_bytes_s,
    };
    unsigned i;

    if (g_strv_length(words) != 1 + ARRAY_SIZE(numbers)) {
        g_free(drive);
        return false;
    }
    for (i = 0; i < ARRAY_SIZE(numbers); i++) {
        if (!g_ascii_string_to_signed(words[1 + i], 10, i < 4 ? 0 : 1,
                                      INT64_MAX / 2, numbers[i], NULL)) {
            g_free(drive);
            return false;
        }
    }
    drive->name = g_strdup(words[0]);
    if (!drives) {
        drives = g_ptr_array_new();
    }
    g_ptr_array_add(drives, drive);
    return true;
}

void timed_drive_init(void)
{
    static Notifier ready = {.notify = insert_all};

    if (drives) {
        bdrv_register(&filter_driver);
        timed_patch("blk_aio_cancel", blk_aio_cancel, cancel);
        timed_dma_init(&filter_driver);
        qemu_add_machine_init_done_notifier(&ready);
    }
}
