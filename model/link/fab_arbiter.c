/* SPDX-License-Identifier: MIT */
#include "fab_arbiter_priv.h"

#include <float.h>

/*
 * Selects the TLP that an egress sends next: by the ordering rules within a
 * source, and by arbitration between sources.
 */

/* Number of TLPs of a queue that the search for RO and IDO looks at. */
#define RELAXED_DEPTH 16

/* A byte of a source with a weight of 1 adds this to FabSource.served. */
#define SERVED_UNIT 65536

/* Returns whether @tlp may leave now. If not, notes the reason in @port. */
static inline bool can_go(FabPort *port, const FabTlp *tlp, SimTime now)
{
    if (tlp->ready_at > now) {
        port->wake = MIN(port->wake, tlp->ready_at);
        return false;
    }
    if (!fab_port_has_credits(port, tlp)) {
        port->starved = true;
        return false;
    }
    return true;
}

/* Returns whether @tlp may pass every TLP that was queued earlier in @source,
 * its own class included. */
static bool may_pass_all(const FabSource *source, const FabTlp *tlp)
{
    for (unsigned cls = 0; cls < FAB_CLASSES; cls++) {
        for (const FabTlp *e = source->queue[cls].head;
             e && e->egress_order < tlp->egress_order; e = e->next) {
            if (fab_tlp_may_pass(tlp, e) == FAB_PASS_NO) {
                return false;
            }
        }
    }
    return true;
}

/* Looks behind the first TLPs of the queues, which are all blocked, for a TLP
 * that may pass because of RO or IDO. */
static FabTlp *pick_relaxed(FabPort *port, FabSource *source, SimTime now)
{
    for (unsigned cls = 0; cls < FAB_CLASSES; cls++) {
        FabTlp *tlp = source->queue[cls].head;

        for (unsigned i = 0; tlp && i < RELAXED_DEPTH; i++, tlp = tlp->next) {
            if (tlp->attr & (FAB_ATTR_RO | FAB_ATTR_IDO) &&
                may_pass_all(source, tlp) && can_go(port, tlp, now)) {
                return tlp;
            }
        }
    }
    return NULL;
}

/* source_pick() for a source with TLPs of several classes. */
static FabTlp *pick_among_classes(FabPort *port, FabSource *source, SimTime now)
{
    FabTlp *heads[FAB_CLASSES];
    unsigned count = 0;
    bool posted_waits = false;

    for (unsigned cls = 0; cls < FAB_CLASSES; cls++) {
        FabTlp *tlp = source->queue[cls].head;
        unsigned at = count;

        if (!tlp) {
            continue;
        }
        for (; at > 0 && heads[at - 1]->egress_order > tlp->egress_order;
             at--) {
            heads[at] = heads[at - 1];
        }
        heads[at] = tlp;
        count++;
    }
    for (unsigned i = 0; i < count; i++) {
        FabTlp *tlp = heads[i];

        /* A TLP may pass TLPs of another class, except posted ones. */
        if (posted_waits) {
            continue;
        }
        if (can_go(port, tlp, now)) {
            return tlp;
        }
        posted_waits |= tlp->cls == FAB_CLASS_P;
    }
    return NULL;
}

/*
 * The TLP that @source sends next: the oldest one, or, if the oldest one cannot
 * go, a younger TLP that may pass it.
 */
static inline FabTlp *source_pick(FabPort *port, FabSource *source, SimTime now)
{
    FabTlp *tlp;

    if (fab_is_single(source->held)) {
        tlp = source->queue[__builtin_ctz(source->held)].head;
        tlp = can_go(port, tlp, now) ? tlp : NULL;
    } else {
        tlp = pick_among_classes(port, source, now);
    }
    return !tlp && source->relaxed ? pick_relaxed(port, source, now) : tlp;
}

static inline void source_remove(FabPort *port, unsigned index, FabTlp *tlp)
{
    FabSource *source = &port->sources[index];
    FabFifo *queue = &source->queue[tlp->cls];

    if (G_LIKELY(queue->head == tlp)) {
        fab_fifo_pop(queue);
    } else {
        FabTlp *before = queue->head;

        while (before->next != tlp) {
            before = before->next;
        }
        before->next = tlp->next;
        if (queue->tail == tlp) {
            queue->tail = before;
        }
        queue->count--;
    }
    if (tlp->attr & (FAB_ATTR_RO | FAB_ATTR_IDO)) {
        source->relaxed--;
    }
    if (!queue->head) {
        source->held &= ~(1u << tlp->cls);
    }
    if (!source->held) {
        port->active &= ~(1ull << index);
        port->turns.shared &= ~(1ull << index);
    }
}

/* The active source at or after @from, cyclically. */
static inline unsigned next_active(uint64_t active, unsigned from)
{
    uint64_t upper = active >> from << from;

    return __builtin_ctzll(upper ? upper : active);
}

/* Serves the sources in turn. */
static FabTlp *arbitrate_round_robin(FabPort *port, SimTime now,
                                     unsigned *ret_source)
{
    uint64_t left = port->active;
    unsigned index = port->round_robin;

    while (left) {
        FabTlp *tlp;

        index = next_active(left, index);
        tlp = source_pick(port, &port->sources[index], now);
        if (tlp) {
            fab_port_served(port, index);
            *ret_source = index;
            return tlp;
        }
        left &= ~(1ull << index);
    }
    return NULL;
}

/* The service that @tlp adds to source->served. A division takes as long as the
 * rest of an arbitration, and nearly all weights are powers of two. */
static inline uint64_t service_of(const FabSource *source, const FabTlp *tlp)
{
    uint64_t bytes = tlp->wire_bytes;
    uint32_t weight = source->weight;

    return weight & (weight - 1) ? bytes * SERVED_UNIT / weight
                                 : bytes * SERVED_UNIT >> __builtin_ctz(weight);
}

/*
 * Sources share the wire in proportion to their weights. The source that was
 * served least goes first (start-time fair queueing, Goyal, Vin and Chen,
 * 1996). A source gets no compensation for the time in which it had nothing to
 * send or could not send.
 */
static FabTlp *arbitrate_weighted(FabPort *port, SimTime now,
                                  unsigned *ret_source)
{
    FabSource *best = NULL;
    FabTlp *best_tlp = NULL;

    for (uint64_t left = port->active; left; left &= left - 1) {
        unsigned index = __builtin_ctzll(left);
        FabSource *source = &port->sources[index];
        FabTlp *tlp;

        if (!(port->turns.shared >> index & 1)) {
            source->served = MAX(source->served, port->turns.served);
        }
        if (best && source->served >= best->served) {
            continue;
        }
        tlp = source_pick(port, source, now);
        if (tlp) {
            best = source;
            best_tlp = tlp;
            *ret_source = index;
        } else {
            source->served = MAX(source->served, port->turns.served);
        }
    }
    port->turns.shared = port->active;
    if (best) {
        port->turns.served = best->served;
        best->served += service_of(best, best_tlp);
    }
    return best_tlp;
}

/* The TLP that was queued first. */
static FabTlp *arbitrate_oldest(FabPort *port, SimTime now,
                                unsigned *ret_source)
{
    FabTlp *oldest = NULL;

    for (uint64_t left = port->active; left; left &= left - 1) {
        unsigned index = __builtin_ctzll(left);
        FabTlp *tlp = source_pick(port, &port->sources[index], now);

        if (tlp && (!oldest || tlp->egress_order < oldest->egress_order)) {
            oldest = tlp;
            *ret_source = index;
        }
    }
    return oldest;
}

/* The first of the sources @left, a bit mask, that can send. */
static FabTlp *pick_any(FabPort *port, uint64_t left, SimTime now,
                        unsigned *ret_source)
{
    for (; left; left &= left - 1) {
        unsigned index = __builtin_ctzll(left);
        FabTlp *tlp = source_pick(port, &port->sources[index], now);

        if (tlp) {
            *ret_source = index;
            return tlp;
        }
    }
    return NULL;
}

/* A Port Arbitration Table. */
typedef struct FabPortTable {
    uint64_t sources; /* bit mask of those in the table */
    uint32_t next;    /* phase */
    uint8_t source[]; /* by phase */
} FabPortTable;

/* A phase of the table serves one TLP of its source. The arbiter skips the
 * phases of sources that have none, or none that can go (PCIe 5.0 s6.3.3.3). */
static FabTlp *arbitrate_table(FabPort *port, SimTime now, unsigned *ret_source)
{
    FabPortTable *table = port->turns.table;
    uint64_t tabled = table ? table->sources : 0;
    uint64_t left = port->active & tabled;
    FabTlp *own = pick_any(port, port->active & ~tabled, now, ret_source);

    for (uint32_t i = 0; !own && left; i++) {
        uint32_t phase = (table->next + i) % port->params.phases;
        unsigned index = table->source[phase];
        FabTlp *tlp;

        if (!(left >> index & 1)) {
            continue;
        }
        tlp = source_pick(port, &port->sources[index], now);
        if (tlp) {
            table->next = (phase + 1) % port->params.phases;
            *ret_source = index;
            return tlp;
        }
        left &= ~(1ull << index);
    }
    return own;
}

typedef struct FabPortGroups {
    uint64_t sources[FAB_GROUPS]; /* bit mask */
    uint8_t next[FAB_GROUPS];     /* source, of the next turn of the group */
    uint8_t next_far;             /* group, of the next turn of the far ones */
    uint8_t next_top;             /* FAB_GROUP_ */
} FabPortGroups;

/* The TLP of the next source of @group that can send. */
static FabTlp *pick_in_group(FabPort *port, unsigned group, SimTime now,
                             unsigned *ret_source)
{
    FabPortGroups *groups = port->turns.groups;
    uint64_t left = port->active & groups->sources[group];

    while (left) {
        unsigned index = next_active(left, groups->next[group]);
        FabTlp *tlp = source_pick(port, &port->sources[index], now);

        if (tlp) {
            groups->next[group] = (index + 1) % FAB_SOURCES_MAX;
            *ret_source = index;
            return tlp;
        }
        left &= ~(UINT64_C(1) << index);
    }
    return NULL;
}

/* The same of the far groups. */
static FabTlp *pick_far(FabPort *port, SimTime now, unsigned *ret_source)
{
    FabPortGroups *groups = port->turns.groups;
    unsigned far = FAB_GROUPS - FAB_GROUP_FAR;

    for (unsigned i = 0; i < far; i++) {
        unsigned at = (groups->next_far + i) % far;
        FabTlp *tlp = pick_in_group(port, FAB_GROUP_FAR + at, now, ret_source);

        if (tlp) {
            groups->next_far = (at + 1) % far;
            return tlp;
        }
    }
    return NULL;
}

static FabTlp *arbitrate_groups(FabPort *port, SimTime now,
                                unsigned *ret_source)
{
    FabPortGroups *groups = port->turns.groups;

    for (unsigned i = 0; i <= FAB_GROUP_FAR; i++) {
        unsigned top = (groups->next_top + i) % (FAB_GROUP_FAR + 1);
        FabTlp *tlp = top == FAB_GROUP_FAR
                          ? pick_far(port, now, ret_source)
                          : pick_in_group(port, top, now, ret_source);

        if (tlp) {
            groups->next_top = (top + 1) % (FAB_GROUP_FAR + 1);
            return tlp;
        }
    }
    return NULL;
}

void fab_port_set_groups(FabPort *port, const uint8_t *group)
{
    port->turns.groups = g_new0(FabPortGroups, 1);
    for (unsigned i = 0; i < port->source_count; i++) {
        port->turns.groups->sources[group[i]] |= UINT64_C(1) << i;
    }
    port->arbitration = FAB_ARBITRATION_GROUPS;
}

static FabTlp *arbitrate(FabPort *port, SimTime now, unsigned *ret_source)
{
    switch ((FabArbitration)port->arbitration) {
    case FAB_ARBITRATION_WEIGHTED:
        return arbitrate_weighted(port, now, ret_source);
    case FAB_ARBITRATION_OLDEST:
        return arbitrate_oldest(port, now, ret_source);
    case FAB_ARBITRATION_GROUPS:
        return arbitrate_groups(port, now, ret_source);
    case FAB_ARBITRATION_TABLE:
        return arbitrate_table(port, now, ret_source);
    default:
        return arbitrate_round_robin(port, now, ret_source);
    }
}

/* Gives the phases of the table to sources: to the one that is most behind its
 * share of the phases so far. */
static void table_fill(FabPort *port, const uint32_t *counts)
{
    g_autofree int64_t *behind = g_new0(int64_t, port->source_count);

    for (uint32_t phase = 0; phase < port->params.phases; phase++) {
        unsigned best = 0;

        for (unsigned i = 0; i < port->source_count; i++) {
            behind[i] += counts[i];
            if (behind[i] > behind[best]) {
                best = i;
            }
        }
        behind[best] -= port->params.phases;
        port->turns.table->source[phase] = best;
    }
}

void fab_port_set_table(FabPort *port, const uint32_t *shares)
{
    g_autofree uint32_t *counts = g_new0(uint32_t, port->source_count);
    int64_t phases = port->params.phases, left = phases;
    uint64_t sum = 0;

    port->turns.table = g_malloc0(sizeof(*port->turns.table) +
                                  (size_t)phases * sizeof(uint8_t));
    for (unsigned i = 0; i < port->source_count; i++) {
        sum += shares[i];
        port->turns.table->sources |= (uint64_t)(shares[i] > 0) << i;
    }
    for (unsigned i = 0; i < port->source_count; i++) {
        counts[i] = shares[i] ? MAX(1, shares[i] * (uint64_t)phases / sum) : 0;
        left -= counts[i];
    }
    /* Phases that rounding has left go to those that lack most. Phases that
     * small shares took too much come from those that have most. */
    while (sum > 0 && left != 0) {
        int sign = left > 0 ? 1 : -1;
        unsigned best = 0;
        double most = -DBL_MAX;

        for (unsigned i = 0; i < port->source_count; i++) {
            double lack = (double)shares[i] * phases / sum - counts[i];

            if (shares[i] && sign * lack > most &&
                (sign > 0 || counts[i] > 1)) {
                most = sign * lack;
                best = i;
            }
        }
        counts[best] += sign;
        left -= sign;
    }
    table_fill(port, counts);
}

void fab_port_free_table(FabPort *port)
{
    g_free(port->turns.table);
    g_free(port->turns.groups);
}

SIM_HOT FabTlp *fab_port_take(FabPort *port, SimTime now,
                              FabSource **ret_source)
{
    unsigned index = 0;
    FabTlp *tlp;

    port->wake = SIM_TIME_NONE;
    port->starved = false;
    tlp = arbitrate(port, now, &index);
    if (tlp) {
        source_remove(port, index, tlp);
    }
    *ret_source = &port->sources[index];
    return tlp;
}

/*
 * Several sources, TLPs that may pass others, and a source that is owed a turn
 * are left to an arbitration when the wire becomes free, because a vain one
 * would change their state.
 */
SIM_HOT SimTime fab_port_next_try_among(const FabPort *port)
{
    const FabSource *source = &port->sources[__builtin_ctzll(port->active)];
    SimTime ready = SIM_TIME_NONE;

    for (unsigned cls = 0; cls < FAB_CLASSES; cls++) {
        const FabTlp *tlp = source->queue[cls].head;

        if (tlp && tlp->ready_at <= port->busy_until) {
            return port->busy_until;
        }
        if (tlp) {
            ready = MIN(ready, tlp->ready_at);
        }
    }
    if ((port->active & (port->active - 1)) || source->relaxed ||
        source->served < port->turns.served || port->special) {
        return port->busy_until;
    }
    return ready;
}
