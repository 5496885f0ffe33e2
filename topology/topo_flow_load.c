/* SPDX-License-Identifier: MIT */
/* Reads a flow, and resolves its references. */
#include "topo_flow_priv.h"
#include "topo_suggest.h"

#include <string.h>

/* Returns whether @key may name @target; reports it if not. If @target has no
 * part, that is reported already. */
static bool check_target(TopoLoader *loader, const TopoFlow *flow,
                         const TopoKey *key, const TopoTarget *target)
{
    static const unsigned any_of[] = {
        [TOPO_TARGET_RAM] = TOPO_MAY_BE_RAM,
        [TOPO_TARGET_CPU] = TOPO_MAY_BE_CPU,
        [TOPO_TARGET_DEVICE] =
            TOPO_MAY_BE_DEVICE | TOPO_MAY_BE_BAR | TOPO_MAY_BE_GPU,
    };
    const TopoDevice *device = target->device;
    unsigned n;

    if ((key->targets & any_of[target->kind]) == 0) {
        topo_flow_report(loader, flow, key->key,
                         "%s cannot be used here; "
                         "write %s",
                         topo_values_text(flow->values, key->key), key->help);
        return false;
    }
    if (target->kind == TOPO_TARGET_RAM && target->bar >= 0 &&
        (key->targets & TOPO_MAY_BE_NODE) == 0) {
        topo_flow_report(loader, flow, key->key,
                         "%s names a node, which cannot be chosen here; write "
                         "%s.ram",
                         topo_values_text(flow->values, key->key),
                         target->host->name);
        return false;
    }
    if (!device || !device->part) {
        return true;
    }
    if ((key->targets & TOPO_MAY_BE_BAR) != 0 &&
        !topo_part_bars(device->part, &n)) {
        topo_flow_report(loader, flow, key->key,
                         "%s has no BAR; name another target", device->path);
        return false;
    }
    if ((key->targets & TOPO_MAY_BE_GPU) != 0 &&
        topo_part_kind(device->part) != TOPO_PART_GPU) {
        topo_flow_report(loader, flow, key->key, "%s is not a GPU; name one",
                         device->path);
        return false;
    }
    return true;
}

static TopoTarget find_target(TopoLoader *loader, const TopoFlow *flow,
                              const TopoKey *key, const char *text)
{
    const TopoTarget none = {TOPO_TARGET_NONE, NULL, NULL, -1};
    bool is_worded = !topo_errors_is_full(loader->errors);
    g_autoptr(GError) error = NULL;
    TopoTarget target;

    if (!topo_find_target(&loader->loaded->pub, text, &target,
                          is_worded ? &error : NULL)) {
        topo_flow_report(loader, flow, key->key, "%s",
                         is_worded ? error->message : "not found");
        return none;
    }
    return check_target(loader, flow, key, &target) ? target : none;
}

static TopoTarget find_device(TopoLoader *loader, const TopoFlow *flow,
                              const TopoValue *value)
{
    TopoDevice *device = topo_load_find_device(loader, value);

    if (!device) {
        return (TopoTarget){TOPO_TARGET_NONE, NULL, NULL, -1};
    }
    if (device->part && topo_part_kind(device->part) == TOPO_PART_NTB) {
        topo_flow_report(loader, flow, "device",
                         "%s is an NTB adapter and has no DMA engine; name a "
                         "GPU or an endpoint",
                         device->path);
    }
    return (TopoTarget){TOPO_TARGET_DEVICE, device->host, device, -1};
}

static void find_references(TopoLoader *loader, TopoFlow *flow)
{
    const TopoSection *section = &flow->kind->section;
    TopoHost *host;
    unsigned i;

    for (i = 0; i < section->n_keys; i++) {
        const TopoValue *value = &flow->values->values[i];
        TopoTarget *target = &flow->targets[i];

        target->bar = -1;
        if (!value->valid || !value->text) {
            continue;
        }
        switch (section->keys[i].type) {
        case TOPO_TYPE_HOST:
            host = topo_load_find_host(loader, value);
            if (host) {
                target->kind = TOPO_TARGET_CPU;
                target->host = host;
            }
            break;
        case TOPO_TYPE_DEVICE:
            *target = find_device(loader, flow, value);
            break;
        case TOPO_TYPE_TARGET:
            *target = find_target(loader, flow, &section->keys[i], value->text);
            break;
        default:
            break;
        }
    }
}

/* Makes @flow wait for @before. If @name is that of a list of pairs, @before is
 * the last flow of the list, and @flow waits for all of them. */
static void add_before(TopoLoader *loader, TopoFlow *flow, TopoFlow *before,
                       const char *name)
{
    const GPtrArray *flows = loader->loaded->pub.workload->flows;
    bool is_list = before->pairs && strcmp(name, topo_flow_name(before)) != 0;

    for (unsigned i = is_list ? before->pairs - 1 : 0; i > 0; i--) {
        g_ptr_array_add(flow->after, flows->pdata[before->index - i]);
    }
    g_ptr_array_add(flow->after, before);
}

/* Returns whether @flow goes on until the `stop` of the workload. */
static bool is_endless(const TopoLoader *loader, const TopoFlow *flow)
{
    static const char *const keys[] = {"count", "total"};
    const TopoSection *section = &flow->kind->section;

    if (loader->loaded->pub.workload->stop_ps == 0 ||
        !topo_schema_find(section, "count")) {
        return false;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(keys); i++) {
        if (topo_schema_find(section, keys[i])) {
            const TopoValue *value = topo_values_get(flow->values, keys[i]);

            if (value->given || value->valid) { /* a default is valid */
                return false;
            }
        }
    }
    return true;
}

static void report_endless(TopoLoader *loader, const TopoFlow *before,
                           const char *key, TopoPlace place)
{
    topo_errors_add(loader->errors, place,
                    "%s: flow %s has no end, so this one would never begin; "
                    "give that flow a count, or let this one not wait (of "
                    "pairs with in_turn: none)",
                    key, topo_flow_name(before));
}

bool topo_flow_is_refused(const TopoLoader *loader, const char *name)
{
    g_autofree char *list = g_strdup(name);
    void *flow;

    if (g_hash_table_lookup_extended(loader->loaded->flows, name, NULL,
                                     &flow)) {
        return !flow;
    }
    /* The flows of a list have its name and a number. */
    for (size_t n = strlen(list); n > 0 && g_ascii_isdigit(list[n - 1]); n--) {
        list[n - 1] = '\0';
        if (g_hash_table_lookup_extended(loader->loaded->flows, list, NULL,
                                         &flow)) {
            return !flow;
        }
    }
    return false;
}

static void load_after(TopoLoader *loader, TopoFlow *flow)
{
    g_autoptr(GPtrArray) names = topo_values_items(flow->values, "after");
    unsigned i;

    for (i = 0; i < names->len; i++) {
        const TopoNode *name = g_ptr_array_index(names, i);
        TopoFlow *before = NULL;

        if (!name->text) {
            continue; /* reported when the list was read */
        }
        before = g_hash_table_lookup(loader->loaded->flows, name->text);
        if (!before) {
            if (topo_flow_is_refused(loader, name->text)) {
                continue;
            }
            topo_errors_add(loader->errors, name->place,
                            "after: no flow '%s' stands before this one in the "
                            "list; name one that does",
                            name->text);
        } else if (flow->kind->has_own_fabric || before->kind->has_own_fabric) {
            topo_errors_add(loader->errors, name->place,
                            "after: a flow of kind path runs alone, so it "
                            "waits for no other flow and no other flow for it; "
                            "leave it out");
        } else if (is_endless(loader, before)) {
            report_endless(loader, before, "after", name->place);
        } else {
            add_before(loader, flow, before, name->text);
        }
    }
}

/* Makes @flow wait for the flow before it in each of its streams. */
static void load_streams(TopoLoader *loader, TopoFlow *flow)
{
    GHashTable *streams = loader->loaded->streams;
    g_autoptr(GPtrArray) names = topo_values_items(flow->values, "streams");
    unsigned i;

    for (i = 0; i < names->len; i++) {
        const TopoNode *name = g_ptr_array_index(names, i);
        TopoFlow *before;

        if (!name->text) {
            continue; /* reported when the list was read */
        }
        if (flow->kind->has_own_fabric) {
            topo_errors_add(loader->errors, name->place,
                            "streams: a flow of kind path runs alone, so it "
                            "waits for no other flow; leave it out");
            return;
        }
        before = g_hash_table_lookup(streams, name->text);
        if (before == flow) {
            topo_errors_add(loader->errors, name->place,
                            "streams: '%s' stands in the list twice; write "
                            "it once",
                            name->text);
        } else if (before && is_endless(loader, before)) {
            report_endless(loader, before, "streams", name->place);
        } else if (before && !g_ptr_array_find(flow->after, before, NULL)) {
            g_ptr_array_add(flow->after, before);
        }
        g_hash_table_insert(streams, g_strdup(name->text), flow);
    }
}

static void check_engine(TopoLoader *loader, const TopoFlow *flow)
{
    if (flow->kind->has_own_fabric && topo_flow_has(flow, "engine")) {
        topo_flow_report(loader, flow, "engine",
                         "a flow of kind path runs alone, so it shares none; "
                         "leave it out");
    }
    if (topo_values_given(flow->values, "notice") &&
        !topo_flow_has(flow, "engine")) {
        topo_flow_report(loader, flow, "notice",
                         "it is the time of an engine, and the flow has none; "
                         "name an `engine`, or leave it out");
    }
}

/* The flows of a list of pairs come without these keys. */
static void check_pairs_keys(TopoLoader *loader, const TopoFlow *flow)
{
    static const char *const keys[] = {"iterations", "in_turn"};

    for (unsigned i = 0; i < G_N_ELEMENTS(keys); i++) {
        if (topo_schema_find(&flow->kind->section, keys[i]) &&
            topo_values_given(flow->values, keys[i])) {
            topo_flow_report(loader, flow, keys[i],
                             "it is of a list of pairs, and the flow has none; "
                             "write `pairs`, or leave it out");
        }
    }
}

static void refuse_kind(TopoLoader *loader, const TopoNode *node)
{
    const TopoNode *given = topo_node_get(node, "kind");
    const char *text = topo_node_get_text(node, "kind");
    g_autoptr(GPtrArray) names = topo_flow_kind_names();
    g_autofree char *hint = topo_suggest(text ? text : "", names);

    if (text) {
        topo_errors_add(loader->errors, given->place,
                        "'%s' is no kind of a flow%s", text, hint);
    } else {
        topo_errors_add(loader->errors, given ? given->place : node->place,
                        "a flow needs a kind%s", hint);
    }
}

TopoFlow *topo_flow_new(TopoLoader *loader, const TopoNode *node)
{
    const TopoFlowKind *kind =
        topo_flow_find_kind(topo_node_get_text(node, "kind"));
    TopoFlow *flow;

    /* The kind decides which other keys a flow may have. */
    if (!kind) {
        refuse_kind(loader, node);
        return NULL;
    }
    flow = g_new0(TopoFlow, 1);
    flow->kind = kind;
    flow->place = node->place;
    flow->values = topo_values_read(&kind->section, node, loader->errors);
    flow->targets = g_new0(TopoTarget, kind->section.n_keys);
    flow->after = g_ptr_array_new();
    find_references(loader, flow);
    load_after(loader, flow);
    load_streams(loader, flow);
    check_engine(loader, flow);
    check_pairs_keys(loader, flow);
    if (kind->check) {
        kind->check(loader, flow);
    }
    return flow;
}
