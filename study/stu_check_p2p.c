/* SPDX-License-Identifier: MIT */
#include "stu_check_priv.h"

#include <string.h>

#include "exp_path.h"

/* The direction of requests. */
typedef enum Does {
    READS,
    WRITES,
    READS_IF_READ,  /* if the flow's `direction` is read; or else it writes */
    WRITES_IF_READ, /* the other way round */
} Does;

/* The requests of each kind of flow: @from sends them to @to. */
static const struct {
    const char *kind, *from, *to;
    Does does;
    const char *unless; /* nullable: there are none if the flow has this key */
} accesses[] = {
    {"copy", "device", "driver", READS, NULL},
    {"copy", "device", "buffer", READS_IF_READ, NULL},
    {"dma", "device", "target", READS_IF_READ, NULL},
    {"mmio", "host", "target", READS_IF_READ, NULL},
    {"move", "device", "from", READS, NULL},
    {"move", "device", "to", WRITES, NULL},
    {"nvme", "device", "sq", READS, NULL},
    {"nvme", "device", "by", READS, "sq"},
    {"nvme", "device", "driver", READS, "by"},
    {"nvme", "device", "buffer", WRITES_IF_READ, NULL},
    {"path", "from", "to", READS_IF_READ, "via"},
    {"path", "from", "via", WRITES, NULL},
    {"path", "to", "via", READS, NULL},
    {"pingpong", "from", "to", WRITES, "via"},
    {"pingpong", "to", "from", WRITES, "via"},
    {"pingpong", "from", "via", READS, NULL},
    {"tcp-devmem", "to", "device", WRITES, NULL},
    {"threads", "by", "target", READS_IF_READ, NULL},
    {"transfer", "from", "to", WRITES, "via"},
    {"transfer", "from", "via", WRITES, NULL},
    {"transfer", "to", "via", READS, NULL},
};

/* A check, with what it has found so far. */
typedef struct Check {
    const TopoDescription *description;
    GHashTable *found; /* words of a request to the TopoHost that refuses it */
    GString *notes;
} Check;

/* The end of requests that @key names; of a host its RAM, or its CPU if it
 * @sends them. */
static TopoTarget end_of(const TopoFlow *flow, const char *key, bool sends)
{
    TopoTarget target = topo_flow_target(flow, key);

    if (target.kind == TOPO_TARGET_CPU && !sends) {
        target.kind = TOPO_TARGET_RAM;
    }
    return target;
}

static char *end_text(const TopoTarget *target)
{
    return target->kind == TOPO_TARGET_DEVICE
               ? g_strdup(target->device->path)
               : g_strconcat(target->host->name,
                             target->kind == TOPO_TARGET_RAM ? ".ram" : ".cpu",
                             NULL);
}

/* Tells of the requests of @flow from @from to @to. */
static void request_check(Check *check, const TopoFlow *flow, TopoTarget from,
                          TopoTarget to, bool is_read)
{
    ExpPathRequest request = {
        .from = from, .to = to, .is_read = is_read, .size_bytes = 4};
    g_autofree char *sender = end_text(&from), *receiver = end_text(&to);
    g_autofree char *words =
        g_strdup_printf("%s of %s %s %s", is_read ? "reads" : "writes", sender,
                        is_read ? "from" : "to", receiver);
    g_autofree char *place = topo_place_to_string(topo_flow_place(flow));
    const TopoPart *cpu;
    void *host;

    if (!g_hash_table_lookup_extended(check->found, words, NULL, &host)) {
        host = (void *)exp_path_refusing(check->description, &request);
        g_hash_table_insert(check->found, g_strdup(words), host);
    }
    if (!host) {
        return;
    }
    cpu = ((const TopoHost *)host)->cpu;
    g_string_append_printf(
        check->notes,
        "%s: flow %s: the root of %s does not forward %s between its ports "
        "(p2p: %s), so they meet %s\n",
        place, topo_flow_name(flow), ((const TopoHost *)host)->name, words,
        topo_part_text(cpu, "p2p"),
        strcmp(topo_part_text(cpu, "p2p_refused"), "ca") == 0
            ? "Completer Abort"
            : "Unsupported Request");
}

static void flow_check(Check *check, const TopoFlow *flow)
{
    const char *kind = topo_flow_kind(flow);

    for (unsigned i = 0; i < G_N_ELEMENTS(accesses); i++) {
        TopoTarget from, to;
        Does does = accesses[i].does;
        bool both;

        if (strcmp(kind, accesses[i].kind) != 0 ||
            (accesses[i].unless &&
             topo_flow_target(flow, accesses[i].unless).kind !=
                 TOPO_TARGET_NONE)) {
            continue;
        }
        from = end_of(flow, accesses[i].from, true);
        to = end_of(flow, accesses[i].to, false);
        if (from.kind == TOPO_TARGET_NONE || to.kind == TOPO_TARGET_NONE) {
            continue;
        }
        both = strcmp(kind, "dma") == 0 &&
               topo_flow_is(flow, "direction", "write-read");
        if (does == READS_IF_READ || does == WRITES_IF_READ) {
            does = topo_flow_is(flow, "direction", "read") ==
                           (does == READS_IF_READ)
                       ? READS
                       : WRITES;
        }
        if (does == WRITES || both) {
            request_check(check, flow, from, to, false);
        }
        if (does == READS || both) {
            request_check(check, flow, from, to, true);
        }
    }
}

void stu_check_p2p(const TopoDescription *description, GString *notes)
{
    const GPtrArray *flows =
        description->workload ? description->workload->flows : NULL;
    Check check = {description, NULL, notes};
    bool refuses = false;

    for (unsigned i = 0; i < description->hosts->len; i++) {
        const TopoHost *host = description->hosts->pdata[i];

        refuses |= strcmp(topo_part_text(host->cpu, "p2p"), "all") != 0;
    }
    if (!refuses) {
        return;
    }
    check.found = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (unsigned i = 0; flows && i < flows->len; i++) {
        flow_check(&check, flows->pdata[i]);
    }
    g_hash_table_unref(check.found);
}
