/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/log.h"
#include "qemu/queue.h"
#include "qemu/timer.h"
#include "exec/cpu-common.h"
#include "farside_flush.h"
#include "farside_qemu.h"
#include "farside_requester.h"
#include "farside_time.h"

/*
 * The parts of a block: one request each, and Max_Read_Request_Size of a device
 * after its reset (PCIe 5.0 s7.5.3.4).
 */
#define REQUEST_BYTES 512u
#define REQUESTS_MAX (FARSIDE_WIRE_PAYLOAD / REQUEST_BYTES + 1)

/* See farside_requester_set_hops(). */
static unsigned hops;
/* See farside_requester_hold_all(). */
static bool held;

/*
 * A read, or a non-posted write, which has no data to come. Its thread waits
 * for the completion, if it is of no fetching.
 */
typedef struct Read {
    uint16_t tag;
    uint8_t space;
    bool done;
    bool ok;
    uint16_t status; /* of the completion; FARSIDE_WIRE_UR without one */
    uint32_t length;
    uint8_t *data;
    FarsideFetching *fetching;
    QTAILQ_ENTRY(Read) next;
} Read;

/* Reads of which a bottom half tells when all are done */
struct FarsideFetching {
    FarsideRequester *requester;
    Read reads[REQUESTS_MAX];
    unsigned count;
    unsigned left; /* reads that are not done */
    bool is_over;  /* it is among the requester's that are over */
    int64_t time;  /* at which it was over */
    QEMUTimer *timeout;
    FarsideFetchDone *done;
    void *opaque;
    QTAILQ_ENTRY(FarsideFetching) next;
};

/* A non-posted write for which a CPU waits between two instructions */
typedef struct Put {
    FarsideRequester *requester;
    Read read;
    uint64_t offset;
    int64_t deadline;
} Put;

struct FarsideRequester {
    const FarsideConfig *config;
    PCIDevice *pci;
    FarsidePeer *peer;
    FarsideWait *wait;
    QTAILQ_HEAD(, Read) reads; /* completions mostly come in this order */
    QTAILQ_HEAD(, FarsideFetching) fetchings;
    QTAILQ_HEAD(, FarsideFetching) over; /* in the order of their time */
    QEMUBH *over_bh;
    uint16_t next_tag;
    uint64_t unsupported; /* requests that had crossed too many links */
    QemuCond answered;    /* with the big lock: a Put may be done */
};

/* The Completion Timeout of a request that begins now, as a time in ns */
static int64_t deadline_from_now(FarsideRequester *s)
{
    return farside_time_now() +
           (int64_t)s->config->timeout_ms * SCALE_MS;
}

unsigned farside_requester_set_hops(unsigned new_hops)
{
    unsigned old = hops;

    hops = new_hops;
    return old;
}

void farside_requester_hold_all(bool hold)
{
    held = hold;
}

bool farside_requester_is_held(void)
{
    return held;
}

/* False if the access must not cross another link. */
static bool may_cross(FarsideRequester *s, uint64_t address)
{
    if (held) {
        return false;
    }
    if (hops < FARSIDE_WIRE_HOPS) {
        return true;
    }
    s->unsupported++;
    qemu_log_mask(LOG_GUEST_ERROR,
                  "%s: a request for 0x%" PRIx64
                  " on the peer's bus has crossed %u links: windows lead in a "
                  "circle\n",
                  object_get_typename(OBJECT(s->pci)), address, hops);
    return false;
}

/* Begins the wait for reads. False if they fail at once. */
static bool begin_wait(FarsideRequester *s, uint64_t address, unsigned size,
                       bool is_device, FarsideWaiting *w)
{
    return farside_peer_link_is_up(s->peer) && farside_time_may_wait() &&
           (!size || may_cross(s, address)) &&
           farside_wait_begin(s->wait, w, is_device);
}

/* Sends @r. Its completion goes to @r->data. */
static void begin_read(FarsideRequester *s, const FarsideNear *near,
                       uint64_t address, Read *r)
{
    struct farside_wire_read m = {
        .address = address,
        .length = r->length,
        .hops = hops,
        .space = r->space,
        .tag = s->next_tag++,
        .requester_id = pci_requester_id(s->pci),
    };

    r->tag = m.tag;
    QTAILQ_INSERT_TAIL(&s->reads, r, next);
    farside_peer_send_read(s->peer, near, &m);
}

/* Sends requests for a block. Returns their number. @fetching is nullable. */
static unsigned begin_reads(FarsideRequester *s, const FarsideNear *near,
                            uint64_t address, uint8_t *data, unsigned size,
                            FarsideFetching *fetching, Read *reads)
{
    unsigned count = 0, at, length;
    FarsideNear from = *near;

    for (at = 0; at < size; at += length) {
        length = MIN(size - at, REQUEST_BYTES - (address + at) % REQUEST_BYTES);
        reads[count] = (Read){.length = length,
                              .status = FARSIDE_WIRE_UR,
                              .data = data + at,
                              .fetching = fetching};
        from.offset = near->offset + at;
        begin_read(s, &from, address + at, &reads[count]);
        count++;
    }
    return count;
}

/* Waits for the completions of @reads, and ends the wait. */
static void end_reads(FarsideRequester *s, uint64_t address, Read *reads,
                      unsigned count, FarsideWaiting *w)
{
    bool in_time = true;
    unsigned i;

    for (i = 0; i < count; i++) {
        while (!reads[i].done && in_time && farside_peer_link_is_up(s->peer)) {
            in_time = farside_wait_serve(w);
        }
        QTAILQ_REMOVE(&s->reads, &reads[i], next);
        if (!reads[i].done) {
            qemu_log_mask(LOG_UNIMP,
                          "%s: read of 0x%" PRIx64
                          " on the peer's bus: no completion\n",
                          object_get_typename(OBJECT(s->pci)), address);
        }
    }
    farside_wait_end(s->wait, w,
                     reads[count - 1].done ||
                         !farside_peer_link_is_up(s->peer));
}

bool farside_requester_read(FarsideRequester *s, const FarsideNear *near,
                            uint64_t address, unsigned size,
                            uint64_t *ret_value)
{
    uint8_t data[8];
    Read r = {.length = size, .data = data};
    FarsideWaiting w;

    *ret_value = UINT64_MAX;
    if (!begin_wait(s, address, size, near->is_device, &w)) {
        return false;
    }
    begin_read(s, near, address, &r);
    end_reads(s, address, &r, 1, &w);
    if (!r.ok) {
        return false;
    }
    *ret_value = ldn_le_p(data, size);
    return true;
}

/* Registers of the peer's chip */

bool farside_requester_ask(FarsideRequester *s, uint64_t offset, unsigned size,
                           bool is_device, uint64_t *ret_value)
{
    uint8_t data[8];
    Read r = {.length = size, .data = data, .space = FARSIDE_WIRE_REGISTERS};
    FarsideWaiting w;

    if (!begin_wait(s, offset, size, is_device, &w)) {
        return false;
    }
    begin_read(s, NULL, offset, &r);
    end_reads(s, offset, &r, 1, &w);
    if (r.ok) {
        *ret_value = ldn_le_p(data, size);
    }
    return r.ok;
}

static void send_register_now(FarsideRequester *s, uint64_t offset,
                              uint64_t value, unsigned size, unsigned space)
{
    farside_peer_send_register(s->peer,
                               &(struct farside_wire_write) {
                                   .address = offset,
                                   .length = size,
                                   .hops = hops,
                                   .space = space,
                                   .tag = space == FARSIDE_WIRE_REGISTERS_NP
                                              ? s->next_tag
                                              : 0,
                                   .requester_id = pci_requester_id(s->pci),
                               },
                               value);
}

static bool send_register(FarsideRequester *s, uint64_t offset, uint64_t value,
                          unsigned size, unsigned space, bool is_device)
{
    /* The link may go down during the wait. */
    if (!farside_peer_link_is_up(s->peer) || !may_cross(s, offset) ||
        !farside_requester_wait(s, is_device) ||
        !farside_peer_link_is_up(s->peer)) {
        return false;
    }
    send_register_now(s, offset, value, size, space);
    return true;
}

void farside_requester_tell(FarsideRequester *s, uint64_t offset,
                            uint64_t value, unsigned size)
{
    if (farside_peer_link_is_up(s->peer)) {
        send_register_now(s, offset, value, size, FARSIDE_WIRE_REGISTERS);
    }
}

void farside_requester_post(FarsideRequester *s, uint64_t offset,
                            uint64_t value, unsigned size, bool is_device)
{
    send_register(s, offset, value, size, FARSIDE_WIRE_REGISTERS, is_device);
}

bool farside_requester_read_register(FarsideRequester *s,
                                     const FarsideNear *near, uint64_t offset,
                                     unsigned size, uint64_t *ret_value)
{
    return offset % size == 0 &&
           farside_requester_ask(s, offset, size, near->is_device, ret_value);
}

void farside_requester_write_register(FarsideRequester *s,
                                      const FarsideNear *near, uint64_t offset,
                                      uint64_t value, unsigned size)
{
    if (offset % size == 0) {
        farside_requester_post(s, offset, value, size, near->is_device);
    }
}

static void put_end(Put *p)
{
    FarsideRequester *s = p->requester;

    QTAILQ_REMOVE(&s->reads, &p->read, next);
    if (!p->read.done) {
        qemu_log_mask(LOG_UNIMP,
                      "%s: write of register 0x%" PRIx64
                      " of the peer: no completion\n",
                      object_get_typename(OBJECT(s->pci)), p->offset);
    }
    object_unref(OBJECT(s->pci));
    g_free(p);
}

/*
 * A CPU runs this before its guest's next block of code. It may have written to
 * several peers: their time-outs have begun together.
 */
static void put_wait(CPUState *cpu, run_on_cpu_data data)
{
    Put *p = data.host_ptr;
    FarsideRequester *s = p->requester;

    farside_flush_stand(cpu);
    while (!p->read.done && farside_peer_link_is_up(s->peer) &&
           !farside_wait_is_silent(s->wait)) {
        if (farside_time_now() >= p->deadline) {
            farside_wait_expired(s->wait);
            break;
        }
        farside_qemu_cond_timedwait(&s->answered, 10);
    }
    farside_flush_go_on(cpu);
    put_end(p);
}

/* The same where no CPU makes the access */
static void put_wait_here(Put *p, bool is_device)
{
    FarsideRequester *s = p->requester;
    bool in_time = true;
    FarsideWaiting w;

    if (farside_wait_begin(s->wait, &w, is_device)) {
        while (!p->read.done && in_time && farside_peer_link_is_up(s->peer)) {
            in_time = farside_wait_serve(&w);
        }
        farside_wait_end(s->wait, &w,
                         p->read.done || !farside_peer_link_is_up(s->peer));
    }
    put_end(p);
}

void farside_requester_put(FarsideRequester *s, uint64_t offset, uint64_t value,
                           unsigned size, bool is_device)
{
    Put *p;

    if (farside_time()) {
        farside_requester_post(s, offset, value, size, is_device);
        return;
    }
    if (!send_register(s, offset, value, size, FARSIDE_WIRE_REGISTERS_NP,
                       is_device)) {
        return;
    }
    p = g_new0(Put, 1);
    p->requester = s;
    p->offset = offset;
    p->deadline = deadline_from_now(s);
    p->read.tag = s->next_tag++;
    p->read.space = FARSIDE_WIRE_REGISTERS_NP;
    QTAILQ_INSERT_TAIL(&s->reads, &p->read, next);
    object_ref(OBJECT(s->pci));
    if (current_cpu && !is_device) {
        async_run_on_cpu(current_cpu, put_wait, RUN_ON_CPU_HOST_PTR(p));
    } else {
        put_wait_here(p, is_device);
    }
}

bool farside_requester_try(FarsideRequester *s, uint64_t offset, uint64_t value,
                           unsigned size, bool is_device)
{
    Read r = {.space = FARSIDE_WIRE_REGISTERS_NP};
    FarsideWaiting w;

    if (!begin_wait(s, offset, size, is_device, &w)) {
        return false;
    }
    if (!send_register(s, offset, value, size, FARSIDE_WIRE_REGISTERS_NP,
                       is_device)) {
        farside_wait_end(s->wait, &w, true);
        return false;
    }
    r.tag = s->next_tag++;
    QTAILQ_INSERT_TAIL(&s->reads, &r, next);
    end_reads(s, offset, &r, 1, &w);
    return r.ok;
}

static FarsideFetched result_of(const Read *reads, unsigned count)
{
    FarsideFetched result = FARSIDE_FETCHED;
    unsigned i;

    for (i = 0; i < count; i++) {
        if (reads[i].ok) {
            continue;
        }
        if (reads[i].status == FARSIDE_WIRE_CA) {
            result = FARSIDE_FETCH_REFUSED;
        } else if (result == FARSIDE_FETCHED) {
            result = FARSIDE_FETCH_FAILED;
        }
    }
    return result;
}

FarsideFetched farside_requester_fetch(FarsideRequester *s,
                                       const FarsideNear *near,
                                       uint64_t address, void *data,
                                       unsigned size)
{
    Read reads[REQUESTS_MAX];
    FarsideWaiting w;
    unsigned count;

    g_assert(size <= FARSIDE_WIRE_PAYLOAD);
    if (!begin_wait(s, address, size, near->is_device, &w)) {
        return FARSIDE_FETCH_FAILED;
    }
    count = begin_reads(s, near, address, data, size, NULL, reads);
    end_reads(s, address, reads, count, &w);
    return result_of(reads, count);
}

void farside_requester_cancel(FarsideFetching *f)
{
    unsigned i;

    for (i = 0; i < f->count; i++) {
        QTAILQ_REMOVE(&f->requester->reads, &f->reads[i], next);
    }
    if (f->is_over) {
        QTAILQ_REMOVE(&f->requester->over, f, next);
    } else {
        QTAILQ_REMOVE(&f->requester->fetchings, f, next);
    }
    timer_free(f->timeout);
    g_free(f);
}

static void fetching_tell(FarsideFetching *f)
{
    FarsideFetchDone *done = f->done;
    FarsideFetched result = result_of(f->reads, f->count);
    int64_t time = f->time;
    void *opaque = f->opaque;

    farside_requester_cancel(f);
    done(opaque, result, time);
}

static void tell_over(void *opaque)
{
    FarsideRequester *s = opaque;

    while (!QTAILQ_EMPTY(&s->over)) {
        fetching_tell(QTAILQ_FIRST(&s->over));
    }
}

/* All has come, or nothing comes any more. */
static void fetching_end(void *opaque)
{
    FarsideFetching *f = opaque;
    FarsideRequester *s = f->requester;

    f->is_over = true;
    f->time = farside_time_now();
    timer_del(f->timeout);
    QTAILQ_REMOVE(&s->fetchings, f, next);
    QTAILQ_INSERT_TAIL(&s->over, f, next);
    qemu_bh_schedule(s->over_bh);
}

static void fetching_expire(void *opaque)
{
    FarsideFetching *f = opaque;

    farside_wait_expired(f->requester->wait);
    fetching_end(f);
}

FarsideFetching *farside_requester_fetch_then(FarsideRequester *s,
                                              const FarsideNear *near,
                                              uint64_t address, void *data,
                                              unsigned size,
                                              FarsideFetchDone *done,
                                              void *opaque)
{
    FarsideFetching *f;

    g_assert(size <= FARSIDE_WIRE_PAYLOAD);
    if (!farside_peer_link_is_up(s->peer) || farside_wait_is_silent(s->wait) ||
        !may_cross(s, address)) {
        return NULL;
    }
    f = g_new0(FarsideFetching, 1);
    f->requester = s;
    f->done = done;
    f->opaque = opaque;
    f->timeout = timer_new_ns(QEMU_CLOCK_VIRTUAL, fetching_expire, f);
    QTAILQ_INSERT_TAIL(&s->fetchings, f, next);
    timer_mod(f->timeout, deadline_from_now(s));
    f->count = begin_reads(s, near, address, data, size, f, f->reads);
    f->left = f->count;
    return f;
}

void farside_requester_link_down(FarsideRequester *s)
{
    while (!QTAILQ_EMPTY(&s->fetchings)) {
        fetching_end(QTAILQ_FIRST(&s->fetchings));
    }
    qemu_cond_broadcast(&s->answered);
}

bool farside_requester_flush(FarsideRequester *s, bool is_device)
{
    Read r = {.length = 0};
    FarsideWaiting w;

    if (!begin_wait(s, 0, 0, is_device, &w)) {
        return false;
    }
    begin_read(s, NULL, 0, &r);
    end_reads(s, 0, &r, 1, &w);
    return r.ok;
}

/*
 * A posted request waits while the peer does not read, as it would wait for
 * credits on a real link. But it does not wait for ever.
 */
bool farside_requester_wait(FarsideRequester *s, bool is_device)
{
    FarsideWaiting w;
    bool in_time = true;

    if (!farside_peer_is_full(s->peer)) {
        return true;
    }
    if (!farside_wait_begin(s->wait, &w, is_device)) {
        return false;
    }
    while (farside_peer_is_full(s->peer) &&
           farside_peer_link_is_up(s->peer) && in_time) {
        in_time = farside_wait_serve(&w);
    }
    farside_wait_end(s->wait, &w,
                     !farside_peer_is_full(s->peer) ||
                         !farside_peer_link_is_up(s->peer));
    return !farside_peer_is_full(s->peer);
}

void farside_requester_write(FarsideRequester *s, const FarsideNear *near,
                             uint64_t address, uint64_t value, unsigned size)
{
    /* The link may go down during the wait. */
    if (farside_peer_link_is_up(s->peer) && may_cross(s, address) &&
        farside_requester_wait(s, near->is_device) &&
        farside_peer_link_is_up(s->peer)) {
        farside_peer_send_write(s->peer, near, address, value, size, hops);
    }
}

bool farside_requester_awaits_register(const FarsideRequester *s, uint16_t tag)
{
    const Read *r;

    QTAILQ_FOREACH(r, &s->reads, next) {
        if (r->tag == tag && !r->done) {
            return r->space != FARSIDE_WIRE_MEMORY;
        }
    }
    return false;
}

bool farside_requester_on_completion(FarsideRequester *s,
                                     const FarsideLinkMessage *message)
{
    const struct farside_wire_completion *m = message->body;
    Read *r;

    if (m->length != message->size - sizeof(*m) ||
        (m->length != 0 && m->status != FARSIDE_WIRE_SC)) {
        return false;
    }
    QTAILQ_FOREACH(r, &s->reads, next) {
        if (r->tag != m->tag || r->done) {
            continue;
        }
        r->done = true;
        r->status = m->status;
        if (m->status == FARSIDE_WIRE_SC && m->length == r->length) {
            if (r->length) {
                memcpy(r->data, m + 1, r->length);
            }
            r->ok = true;
        }
        qemu_cond_broadcast(&s->answered);
        if (r->fetching && --r->fetching->left == 0 && !r->fetching->is_over) {
            fetching_end(r->fetching);
        }
        return true;
    }
    /* An Unexpected Completion: its read has timed out. */
    return true;
}

void farside_requester_peer_gone(FarsideRequester *s)
{
    farside_requester_link_down(s);
}

uint64_t farside_requester_unsupported(const FarsideRequester *s)
{
    return s->unsupported;
}

FarsideRequester *farside_requester_new(const FarsideConfig *config,
                                        PCIDevice *pci, FarsidePeer *peer,
                                        FarsideWait *wait)
{
    FarsideRequester *s = g_new0(FarsideRequester, 1);

    s->config = config;
    s->pci = pci;
    s->peer = peer;
    s->wait = wait;
    QTAILQ_INIT(&s->reads);
    QTAILQ_INIT(&s->fetchings);
    QTAILQ_INIT(&s->over);
    s->over_bh = qemu_bh_new(tell_over, s);
    qemu_cond_init(&s->answered);
    return s;
}

void farside_requester_free(FarsideRequester *s)
{
    if (s) {
        farside_requester_link_down(s);
        tell_over(s);
        qemu_bh_delete(s->over_bh);
        qemu_cond_destroy(&s->answered);
    }
    g_free(s);
}
