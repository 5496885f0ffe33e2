/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/coroutine.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "hw/core/cpu.h"
#include "farside_link.h"
#include "farside_qemu.h"
#include "farside_time.h"
#include "farside_wait.h"

/*
 * The most waits inside waits: a window may lead to a window that leads back.
 * Each level takes space on the stacks of both hosts, so waits for all peers
 * count.
 */
#define DEPTH_MAX 4

/*
 * The bounds, in parts of completion-timeout, T. The monitor needs up to five
 * turns of the main loop for a command. So it answers within 3 T / 2, whatever
 * the peer does, unless the peer is quick with thousands of answers.
 *
 * A wait longer than T / SLOW is slow, and slow waits may take T together. A
 * part of the time that passes, 1 / REPAY, is taken off that sum. A peer that
 * is heard again has T / HEARD at once.
 */
#define SLOW               16
#define REPAY              4
#define HEARD              8
/*
 * Waits of one turn may take T / TURN before no further one begins, and half as
 * much in the next turn. A wait up to T / QUICK counts 1 / QUICK_SHARE: on a
 * busy host all answers of a good peer take a little longer, and its reads must
 * not fail.
 */
#define TURN               2
#define QUICK              64
#define QUICK_SHARE        4
/*
 * Waits for all peers of all devices share a turn as well: none begins after
 * 3 T / 4, and together they last 3 T / 2 at most. So one slow peer does not
 * take the time of the others, and many do not stop the monitor.
 */
#define ALL_BEGIN(timeout) ((timeout) / 4 * 3)
#define ALL_END(timeout)   ((timeout) / 2 * 3)
/* The main loop is called after T / CALL. */
#define CALL               8

/* Time for the main loop to take the big lock, and how often it is given */
#define YIELD_US  50
#define YIELD_MAX 100

/* Waits of this turn of the main loop, and half of those before */
typedef struct {
    int64_t time;  /* ns */
    unsigned turn; /* the turn's number */
} Held;

struct FarsideWait {
    const FarsideConfig *config;
    bool is_silent;
    int64_t slow;      /* ns: sum of slow waits, less what is taken off */
    int64_t slow_time; /* when that was last done */
    Held held;
};

static unsigned depth;   /* waits that are under way */
static unsigned devices; /* those of them that are waits of a device */
static int64_t latest;   /* the end of the outermost wait */
static Held held_all;    /* for all peers */
static unsigned turn;    /* of the main loop */
static bool is_called;   /* the main loop was called, and has not come yet */
static bool is_at_top;   /* a bottom half of the main loop serves peers */

static NotifierList idle = NOTIFIER_LIST_INITIALIZER(idle);

static void main_loop_turns(Notifier *notifier, void *data)
{
    const MainLoopPoll *poll = data;

    /* It calls before and after it polls. */
    turn += poll->state == MAIN_LOOP_POLL_FILL;
    is_called = false;
}

static Notifier main_loop_notifier = {.notify = main_loop_turns};
static unsigned users; /* of the notifier */

static int64_t timeout_of(const FarsideWait *s)
{
    return (int64_t)s->config->timeout_ms * SCALE_MS;
}

/* The time of waits, as it counts in this turn */
static int64_t held_now(Held *held)
{
    held->time >>= MIN(turn - held->turn, 63u);
    held->turn = turn;
    return held->time;
}

/* How long a wait that begins now may last, in ns. */
static int64_t patience(FarsideWait *s, int64_t now)
{
    int64_t timeout = timeout_of(s), held, all;

    if (s->is_silent) {
        return 0;
    }
    if (farside_time()) {
        return timeout;
    }
    s->slow = MAX(0, s->slow - (now - s->slow_time) / REPAY);
    s->slow_time = now;
    held = held_now(&s->held);
    all = held_now(&held_all);
    if (held >= timeout / TURN || all >= ALL_BEGIN(timeout)) {
        return 0;
    }
    return MIN(timeout - MAX(held, s->slow), ALL_END(timeout) - all);
}

bool farside_wait_begin(FarsideWait *s, FarsideWaiting *w, bool is_device)
{
    int64_t now = farside_time_now(), left = patience(s, now);

    if (depth == DEPTH_MAX || left <= 0) {
        return false;
    }
    w->begin = now;
    w->deadline = now + left;
    w->outer = latest;
    w->is_device = is_device;
    if (depth > 0) {
        w->deadline = MIN(w->deadline, latest);
    }
    latest = w->deadline;
    depth++;
    devices += is_device;
    return true;
}

bool farside_wait_serve(FarsideWaiting *w)
{
    bool more = false;

    if (!farside_wait_of_device()) {
        notifier_list_notify(&idle, &more);
    }
    farside_link_serve(more ? farside_time_now() + 1 : w->deadline);
    return farside_time_now() < w->deadline;
}

void farside_wait_end(FarsideWait *s, FarsideWaiting *w, bool is_answered)
{
    int64_t now = farside_time_now(), spent = now - w->begin;
    int64_t counts =
        spent <= timeout_of(s) / QUICK ? spent / QUICK_SHARE : spent;

    depth--;
    devices -= w->is_device;
    latest = w->outer;
    /* A wait that the one around it has cut short says nothing of the peer. */
    if (!is_answered && now >= w->deadline &&
        (depth == 0 || w->deadline < latest)) {
        s->is_silent = true;
    }
    if (farside_time()) {
        return;
    }
    if (spent > timeout_of(s) / SLOW) {
        s->slow += spent;
    }
    /* The time of a wait inside another one is a part of that one's. */
    if (depth == 0) {
        s->held.time += counts;
        held_all.time += counts;
    }
    if (held_all.time > timeout_of(s) / CALL && !is_called) {
        is_called = true;
        qemu_notify_event();
    }
}

bool farside_wait_is_silent(const FarsideWait *s)
{
    return s->is_silent;
}

void farside_wait_expired(FarsideWait *s)
{
    s->is_silent = true;
}

void farside_wait_heard(FarsideWait *s)
{
    int64_t timeout = timeout_of(s);

    s->is_silent = false;
    s->slow = MIN(s->slow, timeout - timeout / HEARD);
}

void farside_wait_forget(FarsideWait *s)
{
    s->is_silent = false;
    s->slow = 0;
}

bool farside_wait_of_device(void)
{
    /*
     * In a coroutine QEMU does not wait for a drive, but leaves the coroutine,
     * and all that is under way in it. A timed cluster knows of timers and
     * bottom halves, too, of which ours is one.
     */
    return devices > 0 || qemu_in_coroutine() ||
           (farside_time() && !is_at_top && farside_time()->is_in_device());
}

void farside_wait_set_top(bool is_top)
{
    is_at_top = is_top;
}

void farside_wait_add_idle(Notifier *notifier)
{
    notifier_list_add(&idle, notifier);
}

/*
 * A CPU that reads again at once takes the big lock before the main loop has
 * woken up.
 */
void farside_wait_yield(void)
{
    unsigned i;

    for (i = 0; i < YIELD_MAX && is_called && depth == 0; i++) {
        bql_unlock();
        g_usleep(YIELD_US);
        bql_lock();
    }
}

MemTxAttrs farside_wait_attrs(PCIDevice *pci)
{
    return (MemTxAttrs) {.requester_id = pci_requester_id(pci), .user = 1};
}

/*
 * DMA of devices has no attributes in QEMU 7.2, and their MSI writes have a
 * Requester ID. A device may make both in a CPU's thread. A CPU's own accesses
 * have other attributes and no ID; "user" is no attribute of an x86 CPU.
 */
bool farside_wait_is_device(MemTxAttrs attrs)
{
    return attrs.unspecified ||
           (!attrs.user && (!current_cpu || attrs.requester_id));
}

FarsideWait *farside_wait_new(const FarsideConfig *config)
{
    FarsideWait *s = g_new0(FarsideWait, 1);

    s->config = config;
    if (!farside_time() && users++ == 0) {
        main_loop_poll_add_notifier(&main_loop_notifier);
    }
    return s;
}

void farside_wait_free(FarsideWait *s)
{
    if (s && !farside_time() && --users == 0) {
        main_loop_poll_remove_notifier(&main_loop_notifier);
    }
    g_free(s);
}
