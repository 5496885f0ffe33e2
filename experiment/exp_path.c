/* SPDX-License-Identifier: MIT */
#include "exp_path.h"

#include "exp_build.h"
#include "exp_failure_priv.h"
#include "fab_account.h"
#include "fab_endpoint.h"
#include "fab_flit.h"
#include "fab_root.h"
#include "fab_route.h"

#include "table_file.h"
#include "topo_units.h"

#define PATH_FLOW 1

/* One TLP on one link, as the trace shows it. */
typedef struct Crossing {
    const FabPort *port;
    SimTime start;
    FabBusAddr addr;
    FabBdf requester_id;
} Crossing;

/* One TLP that is sent to be watched, and its completions. */
typedef struct Probe {
    ExpFabric *fabric;
    GArray *out, *back; /* of Crossing: of the TLP, and of its completions */
    SimTime begin, end;
    bool is_done;
    FabStatus status;
} Probe;

static void probe_free(Probe *probe)
{
    g_array_unref(probe->out);
    g_array_unref(probe->back);
    exp_fabric_free(probe->fabric);
    g_free(probe);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Probe, probe_free)

static void probe_trace(void *data, const FabTraceRecord *record)
{
    Probe *probe = data;
    GArray *way;
    Crossing crossing;

    if (record->tlp->flow != PATH_FLOW) {
        return;
    }
    way = fab_tlp_is_completion(record->tlp) ? probe->back : probe->out;
    for (unsigned i = 0; i < way->len; i++) {
        if (g_array_index(way, Crossing, i).port == record->port) {
            return; /* a further TLP of the same transfer */
        }
    }
    crossing = (Crossing){record->port, record->start, record->tlp->addr,
                          record->tlp->requester_id};
    g_array_append_val(way, crossing);
}

static void probe_finish(Probe *probe, FabStatus status)
{
    probe->is_done = true;
    probe->status = status;
    probe->end = sim_engine_now(exp_engine(probe->fabric));
}

static void dma_done(FabDma *dma)
{
    if (dma->type == FAB_TLP_MRD) {
        probe_finish(dma->owner, dma->status);
    }
}

static void read_done(void *owner, FabStatus status)
{
    probe_finish(owner, status);
}

static void write_seen(void *owner, FabBusAddr addr, uint64_t data)
{
    probe_finish(owner, FAB_STATUS_SC);
}

/* ---- Sending ---------------------------------------------------------- */

static bool complain(GError **error, const char *text)
{
    g_set_error_literal(error, TABLE_ERROR, TABLE_ERROR_VALUE, text);
    return false;
}

/* Sets the address of a buffer in the RAM, or the node of it, that @target
 * names. */
static bool ram_addr(ExpFabric *fabric, const TopoTarget *target,
                     FabComponent **ret_component, FabBusAddr *ret_addr,
                     GError **error)
{
    FabComponent *component = exp_host(fabric, target->host);
    FabRoot *root = fab_component_as_root(component);

    if (target->bar < 0 ? !fab_root_alloc(root, 1 << 20, 1 << 20, ret_addr)
                        : !fab_root_alloc_in_node(root, (unsigned)target->bar,
                                                  1 << 20, 1 << 20, ret_addr)) {
        return complain(error, "the host has no memory left for a buffer");
    }
    *ret_component = component;
    return true;
}

/* Sets the address of the TLP, in the address space of the target's host. */
static bool target_addr(ExpFabric *fabric, const TopoTarget *target,
                        uint32_t size_bytes, FabComponent **ret_component,
                        FabBusAddr *ret_addr, GError **error)
{
    FabComponent *component;
    const FabBar *bars;
    int best = -1;

    if (target->kind == TOPO_TARGET_RAM) {
        return ram_addr(fabric, target, ret_component, ret_addr, error);
    }
    if (target->kind != TOPO_TARGET_DEVICE) {
        return complain(error, "a CPU answers no requests; give HOST.ram or a "
                               "device as the destination");
    }
    component = exp_device(fabric, target->device);
    bars = fab_component_bars(component);
    for (int i = 0; i < FAB_BARS; i++) {
        bool wanted = target->bar < 0 || target->bar == i;

        if (wanted && bars[i].size_bytes >= size_bytes &&
            (best < 0 || bars[i].size_bytes > bars[best].size_bytes)) {
            best = i;
        }
    }
    if (best < 0) {
        return complain(error, "the device has no BAR that large");
    }
    *ret_component = component;
    *ret_addr = bars[best].addr;
    return true;
}

static void probe_watch(Probe *probe, FabComponent *target, FabBusAddr addr,
                        uint32_t size_bytes)
{
    FabRoot *root = fab_component_as_root(target);
    FabEndpoint *device = fab_component_as_endpoint(target);

    if (root) {
        fab_root_watch(root, addr, size_bytes, write_seen, probe);
    } else if (device) {
        fab_endpoint_watch(device, addr, size_bytes, write_seen, probe);
    }
}

/* Sends the TLP, and runs until no event is left. */
static bool probe_order(Probe *probe, const TopoTarget *from,
                        FabComponent *source, FabDma *dma, GError **error)
{
    ExpFabric *fabric = probe->fabric;
    bool reads = dma->type == FAB_TLP_MRD;
    FabRoot *root = fab_component_as_root(source);
    FabEndpoint *device = fab_component_as_endpoint(source);

    probe->is_done = false;
    probe->begin = sim_engine_now(exp_engine(fabric));
    if (from->kind == TOPO_TARGET_DEVICE) {
        fab_endpoint_dma(device, dma);
    } else if (reads) {
        fab_root_read(root, dma->addr, dma->size_bytes, read_done, probe,
                      PATH_FLOW);
    } else {
        fab_root_write(root, dma->addr, dma->size_bytes, 0, PATH_FLOW);
    }
    sim_engine_run(exp_engine(fabric));
    if (!probe->is_done || probe->status != FAB_STATUS_SC) {
        g_autofree char *places =
            exp_failure_places(exp_fabric(fabric), PATH_FLOW);

        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "the request failed%s",
                    *places          ? places
                    : probe->is_done ? ": the completion has an error"
                                     : ": its end waits for ever");
        return false;
    }
    return true;
}

/* Forgets the way of the first TLP, and waits until a flit begins on its first
 * link. In FLIT mode the first TLP ends with a flit and its decoding, so
 * another one at that time would meet the next flit in a place that depends on
 * `fec`. */
static void await_flit(Probe *probe)
{
    SimEngine *engine = exp_engine(probe->fabric);

    if (probe->out->len > 0) {
        const FabPort *port = g_array_index(probe->out, Crossing, 0).port;

        sim_engine_run_until(engine,
                             fab_port_flit_begin(port, sim_engine_now(engine)));
    }
    g_array_set_size(probe->out, 0);
    g_array_set_size(probe->back, 0);
}

static bool probe_send(Probe *probe, const TopoTarget *from,
                       const TopoTarget *to, bool is_read, uint32_t size_bytes,
                       GError **error)
{
    ExpFabric *fabric = probe->fabric;
    FabComponent *source, *target;
    FabBusAddr there, here;
    FabDma dma = {.type = is_read ? FAB_TLP_MRD : FAB_TLP_MWR,
                  .size_bytes = size_bytes,
                  .flow = PATH_FLOW,
                  .done = dma_done,
                  .owner = probe};

    if (from->kind == TOPO_TARGET_RAM || from->kind == TOPO_TARGET_NONE) {
        return complain(error, "memory sends no requests; give a device or "
                               "HOST.cpu as the source");
    }
    source = from->kind == TOPO_TARGET_CPU ? exp_host(fabric, from->host)
                                           : exp_device(fabric, from->device);
    if (!target_addr(fabric, to, size_bytes, &target, &there, error) ||
        !fab_route_map(source, target, there, size_bytes, &here, error)) {
        return false;
    }
    dma.addr = here;
    if (from->kind == TOPO_TARGET_DEVICE &&
        !fab_component_as_endpoint(source)) {
        return complain(error, "an NTB sends nothing by itself; give a device "
                               "or HOST.cpu as the source");
    }
    if (from->kind == TOPO_TARGET_CPU && size_bytes > 64) {
        return complain(error, "a CPU sends at most 64B at a time");
    }
    if (!is_read) {
        probe_watch(probe, target, there, size_bytes);
    }
    /* The first TLP fills the IOTLBs on the way. The second one is watched. */
    fab_fabric_set_trace(exp_fabric(fabric), FAB_TRACE_LINK, probe_trace,
                         probe);
    if (!probe_order(probe, from, source, &dma, error)) {
        return false;
    }
    await_flit(probe);
    return probe_order(probe, from, source, &dma, error);
}

static Probe *probe_new(const TopoDescription *description, GError **error)
{
    Probe *probe = g_new0(Probe, 1);

    probe->out = g_array_new(FALSE, FALSE, sizeof(Crossing));
    probe->back = g_array_new(FALSE, FALSE, sizeof(Crossing));
    probe->fabric = exp_build(description, error);
    if (!probe->fabric) {
        g_clear_pointer(&probe, probe_free);
    }
    return probe;
}

/* ---- Results ---------------------------------------------------------- */

static void step_free(void *data)
{
    ExpStep *step = data;

    g_free(step->name);
    g_free(step->kind);
    g_free(step);
}

static void leg_free(void *data)
{
    ExpLeg *leg = data;

    g_ptr_array_unref(leg->steps);
    g_free(leg);
}

static ExpStep *step_new(const Probe *probe, const FabComponent *component,
                         bool is_end)
{
    ExpStep *step = g_new0(ExpStep, 1);
    const char *kind = exp_kind_name(probe->fabric, component);
    bool is_root = fab_component_kind(component) == FAB_KIND_ROOT;

    step->name = g_strdup(fab_component_name(component));
    step->kind = g_strdup(is_root && is_end ? "root+ram" : kind);
    return step;
}

/* Turns the crossings between @begin and @end into steps. If @from_cpu is true,
 * the way begins at a CPU, not at RAM. */
static ExpLeg *leg_new(const Probe *probe, const GArray *way, const char *what,
                       SimTime begin, SimTime end, bool from_cpu)
{
    ExpLeg *leg = g_new0(ExpLeg, 1);
    SimTime in = begin;
    ExpStep *step;

    leg->what = what;
    leg->steps = g_ptr_array_new_with_free_func(step_free);
    leg->time_ps = end - begin;
    for (unsigned i = 0; i < way->len; i++) {
        const Crossing *c = &g_array_index(way, Crossing, i);

        step = step_new(probe, fab_port_owner(c->port), i == 0 && !from_cpu);
        step->time_ps = c->start - in;
        step->link_ps = fab_port_propagation(c->port);
        step->addr = c->addr;
        step->requester_id = c->requester_id;
        in = c->start + step->link_ps;
        g_ptr_array_add(leg->steps, step);
        if (i + 1 == way->len) {
            const FabPort *peer = fab_port_peer(c->port);

            step = step_new(probe, fab_port_owner(peer), true);
            step->time_ps = end - in;
            step->is_last = true;
            g_ptr_array_add(leg->steps, step);
        }
    }
    return leg;
}

/* Returns the time at which the way back begins: when the request enters the
 * element that answers it. */
static SimTime turn_time(const Probe *probe)
{
    const Crossing *last =
        &g_array_index(probe->out, Crossing, probe->out->len - 1);

    return last->start + fab_port_propagation(last->port);
}

static void add_legs(ExpPath *path, const Probe *probe, bool is_read,
                     bool from_cpu)
{
    ExpLeg *leg;
    SimTime turn = is_read ? turn_time(probe) : probe->end;

    leg = leg_new(probe, probe->out, is_read ? "read request" : "write",
                  probe->begin, turn, from_cpu);
    if (is_read) {
        /* The time in the last element is part of the way back. */
        g_ptr_array_set_size(leg->steps, leg->steps->len - 1);
    }
    g_ptr_array_add(path->legs, leg);
    if (is_read) {
        leg =
            leg_new(probe, probe->back, "completion", turn, probe->end, false);
        if (from_cpu && leg->steps->len > 0) {
            ExpStep *last = leg->steps->pdata[leg->steps->len - 1];

            g_free(last->kind);
            last->kind = g_strdup("cpu");
        }
        g_ptr_array_add(path->legs, leg);
        path->round_trip_ps = probe->end - probe->begin;
    }
    path->time_ps += probe->end - probe->begin;
}

/* Numbers the hops along @chain, the way of the data. Each element between the
 * ends is one hop. RAM at an end is a hop, too. RAM between two legs is in the
 * chain twice but counts once. */
static void count_hops(ExpPath *path, const GPtrArray *chain)
{
    g_autoptr(GString) text = g_string_new(NULL);
    const ExpStep *before = NULL;

    for (unsigned i = 0; i < chain->len; i++) {
        ExpStep *step = chain->pdata[i];
        bool is_end = i == 0 || i + 1 == chain->len;
        bool is_ram = g_str_equal(step->kind, "root+ram");

        if (before && before->is_last &&
            g_str_equal(before->name, step->name)) {
            step->hop = before->hop; /* RAM between two legs */
            continue;
        }
        before = step;
        g_string_append_printf(text, "%s%s", text->len ? " " : "", step->kind);
        if (is_end && !is_ram) {
            continue;
        }
        step->hop = ++path->hops;
        path->roots += g_str_has_prefix(step->kind, "root");
    }
    path->text = g_string_free(g_steal_pointer(&text), FALSE);
}

/* A read request and its completion may take the same way in opposite
 * directions. Copies the hop numbers from the completion to the request, or
 * back if @to_request is false, as far as the ways are the same. */
static void mirror_hops(const ExpLeg *request, const ExpLeg *completion,
                        bool to_request)
{
    for (unsigned i = 0; i < request->steps->len; i++) {
        ExpStep *out = request->steps->pdata[i], *back;

        if (i + 1 > completion->steps->len) {
            return;
        }
        back = completion->steps->pdata[completion->steps->len - 1 - i];
        if (!g_str_equal(out->name, back->name)) {
            return;
        }
        if (to_request) {
            out->hop = back->hop;
        } else {
            back->hop = out->hop;
        }
    }
}

static void mark_cpu(ExpPath *path)
{
    ExpLeg *leg = path->legs->pdata[0];
    ExpStep *step = leg->steps->pdata[0];

    g_free(step->kind);
    step->kind = g_strdup("cpu");
}

static void chain_add(GPtrArray *chain, const ExpLeg *leg, unsigned most)
{
    for (unsigned i = 0; i < leg->steps->len && i < most; i++) {
        g_ptr_array_add(chain, leg->steps->pdata[i]);
    }
}

ExpPath *exp_path_new(const TopoDescription *description,
                      const ExpPathRequest *request, GError **error)
{
    g_autoptr(ExpPath) path = g_new0(ExpPath, 1);
    g_autoptr(GPtrArray) chain = g_ptr_array_new();
    g_autoptr(Probe) first = NULL, second = NULL;
    bool from_cpu = request->from.kind == TOPO_TARGET_CPU;
    bool has_via = request->via.kind != TOPO_TARGET_NONE;
    bool reads = !has_via && request->is_read;

    path->legs = g_ptr_array_new_with_free_func(leg_free);
    first = probe_new(description, error);
    if (!first || !probe_send(first, &request->from,
                              has_via ? &request->via : &request->to, reads,
                              request->size_bytes, error)) {
        return NULL;
    }
    if (first->out->len == 0) {
        complain(error, "no link lies between the two ends");
        return NULL;
    }
    add_legs(path, first, reads, from_cpu);
    if (from_cpu) {
        mark_cpu(path);
    }
    chain_add(chain, path->legs->pdata[0], G_MAXUINT);
    if (reads) {
        ExpLeg *back = path->legs->pdata[1];

        chain_add(chain, back, 1); /* the element that answers */
        count_hops(path, chain);
        mirror_hops(path->legs->pdata[0], back, false);
    } else if (has_via) {
        second = probe_new(description, error);
        if (!second || !probe_send(second, &request->to, &request->via, true,
                                   request->size_bytes, error)) {
            return NULL;
        }
        if (second->out->len == 0) {
            complain(error, "no link lies between the RAM and its reader");
            return NULL;
        }
        add_legs(path, second, true, request->to.kind == TOPO_TARGET_CPU);
        chain_add(chain, path->legs->pdata[2], G_MAXUINT);
        count_hops(path, chain);
        mirror_hops(path->legs->pdata[1], path->legs->pdata[2], true);
    } else {
        count_hops(path, chain);
    }
    return g_steal_pointer(&path);
}

ExpPath *exp_path_of_flow(const TopoDescription *description,
                          const TopoFlow *flow, GError **error)
{
    ExpPathRequest request = {
        .from = topo_flow_target(flow, "from"),
        .to = topo_flow_target(flow, "to"),
        .via = topo_flow_target(flow, "via"),
        .is_read = topo_flow_is(flow, "direction", "read"),
        .size_bytes = topo_flow_bytes(flow, "size"),
    };

    return exp_path_new(description, &request, error);
}

const TopoHost *exp_path_refusing(const TopoDescription *description,
                                  const ExpPathRequest *request)
{
    g_autoptr(Probe) probe = probe_new(description, NULL);
    const FabLoss *losses;
    unsigned count;

    if (!probe || probe_send(probe, &request->from, &request->to,
                             request->is_read, request->size_bytes, NULL)) {
        return NULL;
    }
    losses = fab_account_losses(exp_fabric(probe->fabric), &count);
    for (unsigned i = 0; i < count * description->hosts->len; i++) {
        const FabLoss *loss = &losses[i % count];
        const TopoHost *host = description->hosts->pdata[i / count];

        if (loss->cause == FAB_LOSS_NOT_FORWARDED &&
            loss->component == exp_host(probe->fabric, host)) {
            return host;
        }
    }
    return NULL;
}

void exp_path_free(ExpPath *path)
{
    if (path) {
        g_ptr_array_unref(path->legs);
        g_free(path->text);
        g_free(path);
    }
}

static bool parse_target(const TopoDescription *description, const char *text,
                         TopoTarget *ret_target, GError **error)
{
    return !text || topo_find_target(description, text, ret_target, error);
}

bool exp_path_request_parse(const TopoDescription *description,
                            const ExpPathWords *words,
                            ExpPathRequest *ret_request, GError **error)
{
    ExpPathRequest request = {.is_read = words->is_read};
    int64_t size = 4;

    if (words->size &&
        !topo_units_parse(TOPO_UNIT_BYTES, words->size, &size, error)) {
        return false;
    }
    if (size < 1 || size > 4096) {
        return topo_refuse_option(error, "--size is from 1B to 4096B");
    }
    if (words->via && words->is_read) {
        return topo_refuse_option(error,
                                  "--via writes, then reads: leave --read out");
    }
    request.size_bytes = (uint32_t)size;
    if (!parse_target(description, words->from, &request.from, error) ||
        !parse_target(description, words->to, &request.to, error) ||
        !parse_target(description, words->via, &request.via, error)) {
        return false;
    }
    if (words->via && request.via.kind != TOPO_TARGET_RAM) {
        return topo_refuse_option(error, "--via takes HOST.ram");
    }
    *ret_request = request;
    return true;
}
