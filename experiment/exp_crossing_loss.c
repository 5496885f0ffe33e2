/* SPDX-License-Identifier: MIT */
/* TLPs that a link loses when it goes down. The fabric says which they are. */
#include "exp_crossing_priv.h"

/* @item never arrives: arrival_event() tells the caller. A bound that was told
 * holds for that, too. */
void crossing_doom(Item *item)
{
    SimTime now = sim_engine_now(item->owner->engine);

    if (item->is_known) {
        return;
    }
    item->is_known = true;
    item->is_lost = true;
    sim_event_schedule(&item->event, MAX(now, item->crossing.least * SIM_NS));
}

void crossing_lose(Item *item)
{
    ExpCrossings *self = item->owner;
    Direction *direction = item->direction;
    bool is_write = item->crossing.kind == EXP_CROSSING_WRITE;

    self->has_called = true;
    sim_engine_stop(self->engine);
    if (self->ops->lost) {
        self->ops->lost(self->data, item->crossing.link, item->crossing.end,
                        item->crossing.id, crossing_now_ns(self));
    }
    if (is_write) {
        crossing_forget(item);
    }
    crossing_drop(item);
    if (is_write) {
        crossing_let_go(direction);
    }
}

void crossing_lose_answer(Item *read)
{
    Item *completion = read->answer;

    read->is_unanswered = true;
    if (completion) {
        read->answer = NULL;
        crossing_doom(completion);
        crossing_unref(read);
    }
}

void crossing_tlp_lost(ExpCrossings *self, const FabTlp *tlp)
{
    Item *item = g_hash_table_lookup(self->items, GUINT_TO_POINTER(tlp->flow));

    if (!item) {
        return;
    }
    item->is_torn = true;
    if (fab_tlp_is_completion(tlp)) {
        crossing_lose_answer(item);
    } else {
        crossing_doom(item);
    }
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
        const TopoLink *its = self->links->pdata[item->crossing.link];

        if (g_strcmp0(its->name, link) == 0) {
            fab_root_end_reads(item->reader, item->number);
            crossing_doom(item);
            crossing_lose_answer(item);
        }
    }
}

/* A link goes down. */
static void outage_event(SimEvent *event)
{
    Outage *outage = SIM_CONTAINER_OF(event, Outage, event);

    end_reads(outage->owner, outage->link);
}

void crossing_watch_outages(ExpCrossings *self)
{
    const GPtrArray *faults = self->description->faults;

    self->outages = g_new0(Outage, faults->len + 1);
    for (unsigned i = 0; i < faults->len; i++) {
        const TopoFault *fault = faults->pdata[i];
        Outage *outage = &self->outages[i];

        outage->owner = self;
        /* The faults of a branch are those of another description. */
        outage->link = fault->link ? fault->link->name : NULL;
        sim_event_init(&outage->event, self->engine, outage_event,
                       SIM_PRIORITY_FIRST, 0);
        if (fault->action == TOPO_FAULT_LINK_DOWN && fault->link) {
            sim_event_schedule(&outage->event, fault->at_ps);
        }
    }
}
