/* SPDX-License-Identifier: MIT */
/* Packets that a link loses when it goes down. */
#include "exp_crossing_priv.h"

/* A packet that has not arrived this long after a link went down is lost. The
 * others have arrived by then, unless they wait for the same link again. */
#define LOSS_PS (1 * SIM_MS)

/* A link that went down has lost it: it never arrives. */
void crossing_lose(Item *item)
{
    ExpCrossings *self = item->owner;
    Direction *direction = item->direction;
    bool is_write = item->crossing.kind == EXP_CROSSING_WRITE;
    int64_t now = crossing_now_ns(self);

    if (item->is_known) {
        return;
    }
    item->is_known = true;
    self->has_called = true;
    sim_engine_stop(self->engine);
    if (self->stalls[direction->from->index] == item) {
        self->stalls[direction->from->index] = NULL;
        self->ops->accepted(self->data, direction->from->index,
                            item->crossing.id, now);
    }
    if (self->ops->lost) {
        self->ops->lost(self->data, item->crossing.link, item->crossing.end,
                        item->crossing.id, now);
    }
    crossing_drop(item);
    if (is_write) {
        crossing_let_go(direction);
    }
}

/* The first item of @direction that a link may have lost. Their deadlines are
 * in the order in which they entered. */
static Item *first_doubtful(const Direction *direction)
{
    for (const GList *l = direction->items.head; l; l = l->next) {
        Item *item = l->data;

        if (item->deadline && !item->is_known) {
            return item;
        }
    }
    return NULL;
}

/* One event for all items: there may be many of them. */
static void schedule_loss(ExpCrossings *self)
{
    SimTime first = SIM_TIME_NONE;

    for (unsigned i = 0; i < 2 * self->description->links->len; i++) {
        const Item *item = first_doubtful(&self->directions[i]);

        if (item && (first == SIM_TIME_NONE || item->deadline < first)) {
            first = item->deadline;
        }
    }
    if (first != SIM_TIME_NONE) {
        sim_event_reschedule(&self->loss, first);
    }
}

static void loss_event(SimEvent *event)
{
    ExpCrossings *self = SIM_CONTAINER_OF(event, ExpCrossings, loss);
    SimTime now = event->time;

    for (unsigned i = 0; i < 2 * self->description->links->len; i++) {
        Item *item;

        while ((item = first_doubtful(&self->directions[i])) &&
               item->deadline <= now) {
            crossing_lose(item);
        }
    }
    schedule_loss(self);
}

/* A link is down, or goes down now: @item may be lost. */
static void doubt(Item *item)
{
    item->deadline = sim_engine_now(item->owner->engine) + LOSS_PS;
}

static bool may_lose(const TopoFault *fault)
{
    return fault->action == TOPO_FAULT_LINK_DOWN;
}

/* True if a link is down, which may lose what enters now. */
static bool is_losing(const ExpCrossings *self)
{
    const GPtrArray *faults = self->description->faults;
    SimTime now = sim_engine_now(self->engine);

    for (unsigned i = 0; i < faults->len; i++) {
        const TopoFault *fault = faults->pdata[i];

        if (may_lose(fault) && now >= fault->at_ps &&
            (fault->for_ps == 0 ||
             now < fault->at_ps + fault->for_ps + fault->training_ps)) {
            return true;
        }
    }
    return false;
}

/*
 * The NTBs of the link @link do not wait for their peers any more: they
 * complete the reads that have crossed it. If the fabric has lost the
 * completion of such a read, the CPU's next one would wait for the end of its
 * time-out.
 */
static void end_reads(ExpCrossings *self, const char *link)
{
    for (const GList *l = self->readers.head; l; l = l->next) {
        Item *item = l->data;
        const TopoLink *its =
            self->description->links->pdata[item->crossing.link];
        GHashTable *reads = item->direction->reads;
        void *tag = GUINT_TO_POINTER(item->crossing.tag);

        if (g_strcmp0(its->name, link) != 0) {
            continue;
        }
        fab_root_end_reads(item->reader, item->number);
        if (g_hash_table_lookup(reads, tag) == item) {
            g_hash_table_remove(reads, tag);
        }
        if (item->answer) {
            /* It is lost, unless it was through already. */
            item->answer = NULL;
            crossing_unref(item);
        }
    }
}

/* A link goes down: what is under way may be lost. */
static void outage_event(SimEvent *event)
{
    Outage *outage = SIM_CONTAINER_OF(event, Outage, event);
    ExpCrossings *self = outage->owner;

    end_reads(self, outage->link);
    for (unsigned i = 0; i < 2 * self->description->links->len; i++) {
        for (const GList *l = self->directions[i].items.head; l; l = l->next) {
            Item *item = l->data;

            if (!item->is_known) {
                doubt(item);
            }
        }
    }
    schedule_loss(self);
}

void crossing_may_be_lost(Item *item)
{
    if (is_losing(item->owner)) {
        doubt(item);
        schedule_loss(item->owner);
    }
}

void crossing_watch_outages(ExpCrossings *self)
{
    const GPtrArray *faults = self->description->faults;

    sim_event_init(&self->loss, self->engine, loss_event, SIM_PRIORITY_LAST,
                   SIM_RANK_MAX);
    self->outages = g_new0(Outage, faults->len + 1);
    for (unsigned i = 0; i < faults->len; i++) {
        const TopoFault *fault = faults->pdata[i];
        Outage *outage = &self->outages[i];

        outage->owner = self;
        /* The faults of a branch are those of another description. */
        outage->link = fault->link ? fault->link->name : NULL;
        sim_event_init(&outage->event, self->engine, outage_event,
                       SIM_PRIORITY_FIRST, 0);
        if (may_lose(fault)) {
            sim_event_schedule(&outage->event, fault->at_ps);
        }
    }
}
