/* SPDX-License-Identifier: MIT */
/* A flow with `pairs:` stands for a list of flows. */
#include "topo_flow_priv.h"

#include <string.h>

#define FLOWS_MAX 100000

/* The keys of a kind that a pair gives. */
static const struct {
    const char *kind, *from, *to;
} kinds[] = {
    {"copy", "device", "buffer"}, {"dma", "device", "target"},
    {"move", "from", "to"},       {"pingpong", "from", "to"},
    {"transfer", "from", "to"},
};

/* A `pairs:` that is read. */
typedef struct Pairs {
    const TopoNode *flow;
    const TopoNode *list;
    const char *name;
    const char *from, *to; /* keys */
    int64_t iterations;
    const char *from_role, *to_role; /* flows that have an end in the same role
                                        run in turn; NULL: they do not */
    bool engines;                    /* an end `from` is one */
} Pairs;

static bool is_pair(const TopoNode *node)
{
    return node->kind == TOPO_NODE_LIST && node->items->len == 2 &&
           ((const TopoNode *)node->items->pdata[0])->text &&
           ((const TopoNode *)node->items->pdata[1])->text;
}

static bool report(TopoLoader *loader, const TopoNode *node, const char *text)
{
    topo_errors_add(loader->errors, node->place, "%s", text);
    return false;
}

static bool read_list(TopoLoader *loader, Pairs *pairs)
{
    const TopoNode *list = pairs->list;

    for (unsigned i = 0; list->items && i < list->items->len; i++) {
        if (!is_pair(list->items->pdata[i])) {
            list = list->items->pdata[i];
            break;
        }
    }
    if (list != pairs->list || list->kind != TOPO_NODE_LIST ||
        list->items->len == 0) {
        return report(loader, list,
                      "pairs: a list of pairs; write for example [[h.g0, "
                      "h.g1], [h.g0, h.g2]]");
    }
    return true;
}

static bool read_ends(TopoLoader *loader, Pairs *pairs)
{
    const char *kind = topo_node_get_text(pairs->flow, "kind");

    for (unsigned i = 0; kind && i < G_N_ELEMENTS(kinds); i++) {
        if (strcmp(kind, kinds[i].kind) == 0) {
            pairs->from = kinds[i].from;
            pairs->to = kinds[i].to;
        }
    }
    if (!pairs->from) {
        return report(loader, pairs->list,
                      "pairs: flows of this kind have no two ends; write copy, "
                      "dma, move, pingpong or transfer, or leave it out");
    }
    if (topo_node_get(pairs->flow, pairs->from) ||
        topo_node_get(pairs->flow, pairs->to)) {
        topo_errors_add(loader->errors, pairs->list->place,
                        "pairs: its pairs are %s and %s of the flows; leave "
                        "those keys out",
                        pairs->from, pairs->to);
        return false;
    }
    return true;
}

static bool read_numbers(TopoLoader *loader, Pairs *pairs)
{
    const TopoNode *iterations = topo_node_get(pairs->flow, "iterations");
    const TopoNode *turns = topo_node_get(pairs->flow, "in_turn");
    const char *word = turns && turns->text ? turns->text : "";
    bool both = !turns || g_str_equal(word, "both");

    pairs->iterations = 1;
    if (iterations &&
        (!iterations->text ||
         !topo_units_parse(TOPO_UNIT_NONE, iterations->text, &pairs->iterations,
                           NULL) ||
         pairs->iterations < 1 ||
         pairs->iterations > FLOWS_MAX / pairs->list->items->len)) {
        topo_errors_add(loader->errors, iterations->place,
                        "iterations: write a number from 1 to %u, so that "
                        "there are at most %d flows",
                        FLOWS_MAX / pairs->list->items->len, FLOWS_MAX);
        return false;
    }
    if (both) {
        pairs->from_role = "from";
        pairs->to_role = "to";
    } else if (g_str_equal(word, "from")) {
        pairs->from_role = "from";
    } else if (g_str_equal(word, "ends")) {
        pairs->from_role = pairs->to_role = "end";
    } else if (g_str_equal(word, "ready")) {
        pairs->to_role = "to";
        pairs->engines = true;
    } else if (!g_str_equal(word, "none")) {
        return report(loader, turns,
                      "in_turn: write both, ready, from, ends or none");
    }
    return true;
}

/* Adds the stream of @end to @streams, unless it is there as the other end. */
static void add_stream(TopoNode *streams, const char *role, const TopoNode *end)
{
    g_autofree char *name = g_strdup_printf("%s %s", role, end->text);

    for (unsigned i = 0; i < streams->items->len; i++) {
        const TopoNode *stream = streams->items->pdata[i];

        if (g_strcmp0(stream->text, name) == 0) {
            return;
        }
    }
    topo_node_append(streams, topo_node_new_scalar(name, end->place));
}

/* The flow with @number, between the ends of @pair. */
static TopoNode *flow_of(const Pairs *pairs, const TopoNode *pair,
                         unsigned number)
{
    const TopoNode *from = pair->items->pdata[0], *to = pair->items->pdata[1];
    g_autofree char *name = g_strdup_printf("%s%u", pairs->name, number);
    const TopoNode *given = topo_node_get(pairs->flow, "streams");
    TopoPlace place = pair->place;
    TopoNode *flow = topo_node_new(TOPO_NODE_MAP, pairs->flow->place);
    bool has_engine = pairs->engines || topo_node_get(pairs->flow, "engine");
    TopoNode *streams;

    /* A sweep of `in_turn` keeps `notice`, which other rules do not use. */
    for (unsigned i = 0; i < pairs->flow->items->len; i++) {
        const TopoEntry *entry = pairs->flow->items->pdata[i];

        if (!g_str_equal(entry->key, "pairs") &&
            !g_str_equal(entry->key, "iterations") &&
            !g_str_equal(entry->key, "in_turn") &&
            (has_engine || !g_str_equal(entry->key, "notice"))) {
            topo_node_set(flow, entry->key, entry->place,
                          topo_node_copy(entry->value));
        }
    }
    topo_node_set(flow, "name", topo_node_get(pairs->flow, "name")->place,
                  topo_node_new_scalar(name, place));
    topo_node_set(flow, pairs->from, place,
                  topo_node_new_scalar(from->text, from->place));
    topo_node_set(flow, pairs->to, place,
                  topo_node_new_scalar(to->text, to->place));
    if (pairs->engines && !topo_node_get(flow, "engine")) {
        topo_node_set(flow, "engine", place,
                      topo_node_new_scalar(from->text, from->place));
    }
    streams = given && given->kind == TOPO_NODE_LIST
                  ? topo_node_copy(given)
                  : topo_node_new(TOPO_NODE_LIST, place);
    if (pairs->from_role) {
        add_stream(streams, pairs->from_role, from);
    }
    if (pairs->to_role) {
        add_stream(streams, pairs->to_role, to);
    }
    topo_node_set(flow, "streams", place, streams);
    return flow;
}

GPtrArray *topo_pairs_expand(TopoLoader *loader, const TopoNode *node)
{
    Pairs pairs = {.flow = node,
                   .list = topo_node_get(node, "pairs"),
                   .name = topo_node_get_text(node, "name")};
    GPtrArray *flows;

    if (!pairs.name) {
        report(loader, node, "a flow needs a name");
        return NULL;
    }
    if (!read_list(loader, &pairs) || !read_ends(loader, &pairs) ||
        !read_numbers(loader, &pairs)) {
        return NULL;
    }
    flows = g_ptr_array_new();
    for (unsigned i = 0; i < pairs.iterations * pairs.list->items->len; i++) {
        g_ptr_array_add(
            flows,
            flow_of(&pairs,
                    pairs.list->items->pdata[i % pairs.list->items->len], i));
    }
    return flows;
}
