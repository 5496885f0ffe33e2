/* SPDX-License-Identifier: MIT */
#include "fab_account_priv.h"
#include "fab_link_priv.h"
#include "fab_waits_priv.h"

/* ---- Collecting ------------------------------------------------------ */

/* True if credits of @cls are on their way back to @port, or free and will be.
 */
static bool is_returning(const FabPort *port, FabClass cls)
{
    const FabCreditReturn *ret = NULL;

    if (port->peer->buffer.freed_bytes[cls]) {
        return true;
    }
    while ((ret = fab_port_next_return(port, ret))) {
        if (fab_credit_return_class(ret) == cls) {
            return true;
        }
    }
    return false;
}

/* Tells of @tlp, in @source of @port. */
static void queued_add(FabWaits *waits, const FabPort *port,
                       const FabSource *source, const FabTlp *tlp, SimTime now)
{
    const FabTlp *head = source->queue[tlp->cls].head;
    const FabTlp *posted = source->queue[FAB_CLASS_P].head;
    bool has_credits =
        fab_port_has_credits(port, tlp) || is_returning(port, tlp->cls);
    bool relaxed = tlp->attr & (FAB_ATTR_RO | FAB_ATTR_IDO);
    FabWaitStep step = {.component = port->owner, .port = port};

    if (tlp->ready_at > now || (relaxed && has_credits)) {
        fab_waits_moves(waits, tlp);
    } else if (tlp != head && !relaxed) {
        step.kind = FAB_WAIT_ORDER;
        fab_waits_add(waits, tlp, step);
        fab_waits_for_tlp(waits, head);
    } else if (!has_credits) {
        step.kind = FAB_WAIT_CREDITS;
        fab_waits_add(waits, tlp, step);
        fab_waits_for_buffer(waits, port->peer, tlp->cls);
    } else if (tlp->cls != FAB_CLASS_P && posted &&
               posted->egress_order < tlp->egress_order) {
        step.kind = FAB_WAIT_ORDER;
        fab_waits_add(waits, tlp, step);
        fab_waits_for_tlp(waits, posted);
    } else {
        fab_waits_moves(waits, tlp);
    }
}

static void port_add(FabWaits *waits, const FabPort *port)
{
    SimTime now = sim_engine_now(port->owner->engine);

    fab_waits_moves_all(waits, &port->flight);
    fab_link_waits(port, waits);
    for (uint64_t left = port->active; left; left &= left - 1) {
        const FabSource *source = &port->sources[__builtin_ctzll(left)];

        for (unsigned cls = 0; cls < FAB_CLASSES; cls++) {
            for (const FabTlp *tlp = source->queue[cls].head; tlp;
                 tlp = tlp->next) {
                queued_add(waits, port, source, tlp, now);
            }
        }
    }
}

static void collect(FabWaits *waits, const FabFabric *fabric)
{
    for (unsigned i = 0; i < fabric->components->len; i++) {
        const FabComponent *component = fabric->components->pdata[i];
        const FabObserveOps *ops = component->ops->observe;

        for (unsigned j = 0; j < component->port_count; j++) {
            if (component->ports[j]->peer) {
                port_add(waits, component->ports[j]);
            }
        }
        if (ops && ops->waits) {
            ops->waits(component, waits);
        }
    }
}

/* ---- Searching ------------------------------------------------------- */

static const GArray *key_nodes(const FabWaits *waits, unsigned key)
{
    const FabWaitKey *self = &g_array_index(waits->keys, FabWaitKey, key);

    return self->place
               ? g_hash_table_lookup(waits->by_place, self->place)
               : g_hash_table_lookup(waits->by_transaction,
                                     GUINT_TO_POINTER(self->transaction));
}

/* True if @node waits for something that goes on, or that was not told. */
static bool can_move(const FabWaits *waits, const FabWaitNode *node)
{
    for (unsigned i = node->first; i < node->first + node->count; i++) {
        const GArray *nodes = key_nodes(waits, i);

        if (!nodes) {
            return true;
        }
        for (unsigned j = 0; j < nodes->len; j++) {
            if (g_array_index(waits->nodes, FabWaitNode,
                              g_array_index(nodes, unsigned, j))
                    .moves) {
                return true;
            }
        }
    }
    return node->count == 0;
}

static void spread(FabWaits *waits)
{
    bool changed = true;

    while (changed) {
        changed = false;
        for (unsigned i = 0; i < waits->nodes->len; i++) {
            FabWaitNode *node = &g_array_index(waits->nodes, FabWaitNode, i);

            if (!node->moves && can_move(waits, node)) {
                node->moves = true;
                changed = true;
            }
        }
    }
}

/* A node that @node waits for. All of them are stuck, as @node is. */
static unsigned next_node(const FabWaits *waits, const FabWaitNode *node)
{
    return g_array_index(key_nodes(waits, node->first), unsigned, 0);
}

static bool is_same_step(const FabWaitStep *a, const FabWaitStep *b)
{
    return a->kind == b->kind && a->cls == b->cls &&
           a->component == b->component && a->port == b->port;
}

/* The cycle to which the waits of node @start lead. */
static GArray *cycle_of(const FabWaits *waits, unsigned start)
{
    GArray *steps = g_array_new(FALSE, FALSE, sizeof(FabWaitStep));
    g_autofree bool *seen = g_new0(bool, waits->nodes->len);
    unsigned at = start, first;

    while (!seen[at]) {
        seen[at] = true;
        at = next_node(waits, &g_array_index(waits->nodes, FabWaitNode, at));
    }
    first = at;
    do {
        const FabWaitNode *node = &g_array_index(waits->nodes, FabWaitNode, at);
        const FabWaitStep *last =
            steps->len > 0 ? &g_array_index(steps, FabWaitStep, steps->len - 1)
                           : NULL;

        if (node->is_step && !(last && is_same_step(last, &node->step))) {
            g_array_append_val(steps, node->step);
        }
        at = next_node(waits, node);
    } while (at != first);
    return steps;
}

static void nodes_free(void *nodes)
{
    g_array_unref(nodes);
}

GArray *fab_deadlock_find(const FabFabric *fabric)
{
    FabWaits waits = {
        .nodes = g_array_new(FALSE, FALSE, sizeof(FabWaitNode)),
        .keys = g_array_new(FALSE, FALSE, sizeof(FabWaitKey)),
        .by_place = g_hash_table_new_full(NULL, NULL, NULL, nodes_free),
        .by_transaction = g_hash_table_new_full(NULL, NULL, NULL, nodes_free),
    };
    GArray *cycle = NULL;

    collect(&waits, fabric);
    spread(&waits);
    for (unsigned i = 0; !cycle && i < waits.nodes->len; i++) {
        if (!g_array_index(waits.nodes, FabWaitNode, i).moves) {
            cycle = cycle_of(&waits, i);
        }
    }
    g_array_unref(waits.nodes);
    g_array_unref(waits.keys);
    g_hash_table_unref(waits.by_place);
    g_hash_table_unref(waits.by_transaction);
    return cycle;
}

/* ---- Text ------------------------------------------------------------ */

static void step_text(GString *text, const FabWaitStep *step)
{
    static const char *const classes[] = {"posted requests",
                                          "non-posted requests", "completions"};
    const char *place = fab_component_name(step->component);
    const char *port = step->port ? fab_port_name(step->port) : "";

    switch (step->kind) {
    case FAB_WAIT_CREDITS:
        g_string_append_printf(
            text, "%s at %s.%s wait for credits of %s", classes[step->cls],
            place, port,
            fab_component_name(fab_port_owner(fab_port_peer(step->port))));
        break;
    case FAB_WAIT_ORDER:
        g_string_append_printf(text, "%s at %s%s%s wait behind others",
                               classes[step->cls], place, *port ? "." : "",
                               port);
        break;
    case FAB_WAIT_ROOM:
        g_string_append_printf(text, "%s in %s wait for room at its port %s",
                               classes[step->cls], place, port);
        break;
    case FAB_WAIT_FORWARD_TAG:
        g_string_append_printf(
            text, "reads in %s wait for one of its tags for reads through %s",
            place, port);
        break;
    case FAB_WAIT_NTB_TAG:
        g_string_append_printf(text, "%s in %s wait for one of its tags",
                               classes[step->cls], place);
        break;
    }
}

char *fab_deadlock_text(const GArray *steps)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < steps->len; i++) {
        g_string_append(text, i == 0 ? "" : ", until ");
        step_text(text, &g_array_index(steps, FabWaitStep, i));
    }
    g_string_append(text, ", until the first of these go on");
    return g_string_free(text, FALSE);
}
