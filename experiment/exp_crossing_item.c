/* SPDX-License-Identifier: MIT */
/* An item under way: it arrives behind the writes before it, and is freed when
 * nothing refers to it. */
#include "exp_crossing_priv.h"

void crossing_unref(Item *item)
{
    if (--item->refs > 0) {
        return;
    }
    sim_event_cancel(&item->event);
    g_free(item);
}

void crossing_drop(Item *item)
{
    if (item->is_queued) {
        item->is_queued = false;
        g_queue_unlink(&item->direction->items, &item->link);
        item->owner->queued--;
        crossing_unref(item);
    }
}

void crossing_forget(Item *item)
{
    void *number = GUINT_TO_POINTER(item->number);

    if (item->number &&
        g_hash_table_lookup(item->owner->items, number) == item) {
        g_hash_table_remove(item->owner->items, number);
    }
}

void crossing_let_go(Direction *direction)
{
    for (GList *l = direction->items.head; l;) {
        Item *next = l->data;

        l = l->next;
        if (next->crossing.kind == EXP_CROSSING_WRITE) {
            break;
        }
        if (next->is_ready) {
            crossing_arrive(next);
        }
    }
}

void crossing_arrive(Item *item)
{
    ExpCrossings *self = item->owner;
    Direction *direction = item->direction;
    bool is_write = item->crossing.kind == EXP_CROSSING_WRITE;

    item->arrived = crossing_now_ns(self);
    if (self->stalls[direction->from->index] == item) {
        /* It never was in the fabric. */
        self->stalls[direction->from->index] = NULL;
        self->ops->accepted(self->data, direction->from->index,
                            item->crossing.id, item->arrived);
    }
    self->has_called = true;
    sim_engine_stop(self->engine);
    self->ops->arrived(self->data, item->crossing.link, item->crossing.end,
                       item->crossing.id, item->arrived);
    crossing_drop(item);
    if (is_write) {
        crossing_let_go(direction);
    }
}

void crossing_arrival_known(Item *item, SimTime time)
{
    if (item->is_known) {
        return;
    }
    item->is_known = true;
    time = MAX(time, sim_engine_now(item->owner->engine));
    sim_event_schedule(&item->event, MAX(time, item->crossing.least * SIM_NS));
}

void crossing_answer(Item *read)
{
    Item *completion = read->answer;
    int64_t late = completion->crossing.time - read->arrived;

    crossing_arrival_known(completion, read->done + MAX(late, 0) * SIM_NS);
    read->answer = NULL;
    crossing_unref(read);
}
