/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "qemu/queue.h"
#include "qemu/timer.h"
#include "farside_requester.h"
#include "farside_time.h"

/*
 * The most requests inside requests: a window may lead to a window that leads
 * back. Each level takes space on the stacks of both hosts, so requests of all
 * links count.
 */
#define DEPTH_MAX 4

/*
 * A device that has read so many adjacent bytes in one go reads a buffer, and
 * is about to read more of it. No entry of a queue is longer.
 */
#define AHEAD_START 64
/* What is read ahead ends with the page, because a request does so, too. */
#define AHEAD_PAGE 4096

/* The number of requests of all links that wait now */
static unsigned depth;
/* See farside_requester_set_hops(). */
static unsigned hops;
/* See farside_requester_hold_all(). */
static bool held;
/* Changes when nothing that was read ahead is valid any more. */
static unsigned ahead_epoch;

static void main_loop_turns(Notifier *notifier, void *data);

/* The main loop lets other threads run between two turns. */
static Notifier main_loop_notifier = {.notify = main_loop_turns};
static unsigned requesters; /* that use it */

/* A read, on the stack of the thread that waits for its completion. */
typedef struct Read {
    uint16_t tag;
    bool done;
    bool ok;
    uint32_t length;
    uint8_t *data;
    QLIST_ENTRY(Read) next;
} Read;

/* Adjacent reads of a device */
typedef struct {
    unsigned epoch; /* the rest is valid only while ahead_epoch is the same */
    uint64_t next;  /* address behind the last read */
    unsigned run;   /* bytes that were read in a row up to there */
    bool refused;   /* what follows is no memory */
    bool filling;   /* a request fills data */
    unsigned left;  /* bytes at the end of data that nobody has read yet */
    uint8_t data[AHEAD_PAGE];
} Ahead;

struct FarsideRequester {
    const FarsideConfig *config;
    PCIDevice *pci;
    FarsidePeer *peer;
    QLIST_HEAD(, Read) reads;
    uint16_t next_tag;
    Ahead ahead;
    bool stalled; /* a wait has timed out, and the queue is full since then */
    uint64_t unsupported; /* requests that had crossed too many links */
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
                  TYPE_FARSIDE_NTB, address, hops);
    return false;
}

void farside_requester_forget(void)
{
    ahead_epoch++;
}

static void main_loop_turns(Notifier *notifier, void *data)
{
    farside_requester_forget();
}

/* Reads @length bytes. False if there is no successful completion in time. */
static bool request(FarsideRequester *s, const FarsideNear *near,
                    uint64_t address, unsigned length, unsigned flags,
                    uint8_t *data)
{
    Read r = {.tag = s->next_tag++, .length = length, .data = data};
    struct farside_wire_read m = {
        .address = address,
        .length = length,
        .hops = hops,
        .flags = flags,
        .tag = r.tag,
        .requester_id = pci_requester_id(s->pci),
    };
    int64_t deadline = deadline_from_now(s);

    if (depth >= DEPTH_MAX || !farside_peer_link_is_up(s->peer) ||
        !farside_time_may_wait() || (length && !may_cross(s, address))) {
        return false;
    }
    depth++;
    QLIST_INSERT_HEAD(&s->reads, &r, next);
    farside_peer_send_read(s->peer, near, &m);
    while (!r.done && farside_peer_link_is_up(s->peer) &&
           farside_time_now() < deadline) {
        farside_link_serve(deadline);
    }
    QLIST_REMOVE(&r, next);
    depth--;
    if (!r.done) {
        qemu_log_mask(LOG_UNIMP,
                      "%s: read of 0x%" PRIx64
                      " on the peer's bus: no completion\n",
                      TYPE_FARSIDE_NTB, address);
    }
    return r.ok;
}

/* Begins a new row of adjacent reads unless the read continues the last one. */
static void ahead_follow(Ahead *a, uint64_t address)
{
    if (a->epoch != ahead_epoch || a->next != address) {
        /* A read of something else ends the rows of all links. */
        farside_requester_forget();
        a->epoch = ahead_epoch;
        a->run = 0;
        a->refused = false;
        a->left = 0;
    }
}

/*
 * Reads on to the end of the page, or of what may be read. What arrives is not
 * kept if the peer's messages were served meanwhile.
 */
static void ahead_fill(FarsideRequester *s, const FarsideNear *near,
                       uint64_t address, uint64_t most)
{
    Ahead *a = &s->ahead;
    unsigned length = MIN(most, AHEAD_PAGE - address % AHEAD_PAGE);

    a->filling = true;
    a->refused = !request(s, near, address, length, FARSIDE_WIRE_READ_AHEAD,
                          a->data + AHEAD_PAGE - length);
    a->filling = false;
    a->left = a->refused ? 0 : length;
}

uint64_t farside_requester_read(FarsideRequester *s, const FarsideNear *near,
                                uint64_t address, unsigned size,
                                uint64_t ahead)
{
    Ahead *a = &s->ahead;
    uint8_t data[8];

    if (!ahead || farside_time()) {
        return request(s, near, address, size, 0, data) ? ldn_le_p(data, size)
                                                         : UINT64_MAX;
    }
    ahead_follow(a, address);
    if (!a->left && a->run >= AHEAD_START && !a->refused && !a->filling &&
        size <= AHEAD_PAGE - address % AHEAD_PAGE) {
        ahead_fill(s, near, address, ahead);
        /* The wait may have served what ends the validity. */
        ahead_follow(a, address);
    }
    a->next = address + size;
    a->run += size;
    if (a->left >= size) {
        a->left -= size;
        return ldn_le_p(a->data + AHEAD_PAGE - a->left - size, size);
    }
    a->left = 0;
    return request(s, near, address, size, 0, data) ? ldn_le_p(data, size)
                                                     : UINT64_MAX;
}

void farside_requester_flush(FarsideRequester *s)
{
    request(s, NULL, 0, 0, 0, NULL);
}

bool farside_requester_wait(FarsideRequester *s)
{
    int64_t deadline;

    if (!farside_peer_is_full(s->peer)) {
        s->stalled = false;
        return true;
    }
    /*
     * A posted request waits while the peer does not read, as it would wait for
     * credits on a real link. But it does not wait for ever: after one
     * time-out, no request waits until the peer reads again.
     */
    if (depth < DEPTH_MAX) {
        deadline = deadline_from_now(s);
        depth++;
        while (farside_peer_is_full(s->peer) &&
               farside_peer_link_is_up(s->peer) && !s->stalled) {
            farside_link_serve(deadline);
            s->stalled = farside_time_now() >= deadline;
        }
        depth--;
    }
    if (farside_peer_is_full(s->peer)) {
        return false;
    }
    s->stalled = false;
    return true;
}

void farside_requester_write(FarsideRequester *s, const FarsideNear *near,
                             uint64_t address, uint64_t value, unsigned size)
{
    farside_requester_forget();
    /* The link may go down during the wait. */
    if (farside_peer_link_is_up(s->peer) && may_cross(s, address) &&
        farside_requester_wait(s) && farside_peer_link_is_up(s->peer)) {
        farside_peer_send_write(s->peer, near, address, value, size, hops);
    }
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
    QLIST_FOREACH(r, &s->reads, next) {
        if (r->tag != m->tag || r->done) {
            continue;
        }
        r->done = true;
        if (m->status == FARSIDE_WIRE_SC && m->length == r->length) {
            memcpy(r->data, m + 1, r->length);
            r->ok = true;
        }
        return true;
    }
    /* An Unexpected Completion: its read has timed out. */
    return true;
}

void farside_requester_peer_gone(FarsideRequester *s)
{
    farside_requester_forget();
    s->stalled = false;
}

uint64_t farside_requester_unsupported(const FarsideRequester *s)
{
    return s->unsupported;
}

FarsideRequester *farside_requester_new(const FarsideConfig *config,
                                        PCIDevice *pci, FarsidePeer *peer)
{
    FarsideRequester *s = g_new0(FarsideRequester, 1);

    s->config = config;
    s->pci = pci;
    s->peer = peer;
    QLIST_INIT(&s->reads);
    if (requesters++ == 0) {
        main_loop_poll_add_notifier(&main_loop_notifier);
    }
    return s;
}

void farside_requester_free(FarsideRequester *s)
{
    if (s && --requesters == 0) {
        main_loop_poll_remove_notifier(&main_loop_notifier);
    }
    g_free(s);
}
