/* SPDX-License-Identifier: MIT */
/*
 * Makes flows of the fabric from flows of the description. Each kind has a
 * function and a row in the table at the end. The function turns the values
 * of the flow, and of the parts it uses, into parameters of the model.
 */
#include "exp_flow.h"

#include "exp_errors_priv.h"
#include "exp_replay.h"
#include "fab_flow_compute.h"
#include "fab_flow_copy.h"
#include "fab_flow_dma.h"
#include "fab_flow_mmio.h"
#include "fab_flow_move.h"
#include "fab_flow_nvme.h"
#include "fab_flow_pingpong.h"
#include "fab_flow_tcp.h"
#include "fab_flow_threads.h"
#include "fab_flow_transfer.h"
#include "fab_lend.h"

/* ---- What kinds have in common ----------------------------------------- */

static FabTlpType direction_of(const TopoFlow *flow)
{
    return topo_flow_is(flow, "direction", "read") ? FAB_TLP_MRD : FAB_TLP_MWR;
}

static FabEndpoint *device_of(const ExpFabric *fabric, const TopoFlow *flow)
{
    return fab_component_as_endpoint(
        exp_device(fabric, topo_flow_device(flow, "device")));
}

static FabEndpoint *gpu_of(const ExpFabric *fabric, const TopoFlow *flow,
                           const char *key)
{
    return fab_component_as_endpoint(
        exp_device(fabric, topo_flow_target(flow, key).device));
}

static FabRoot *host_of(const ExpFabric *fabric, const TopoFlow *flow,
                        const char *key)
{
    return fab_component_as_root(exp_host(fabric, topo_flow_host(flow, key)));
}

static FabTarget target_of(const ExpFabric *fabric, const TopoFlow *flow,
                           const char *key)
{
    TopoTarget target = topo_flow_target(flow, key);

    if (target.kind == TOPO_TARGET_DEVICE) {
        return (FabTarget){exp_device(fabric, target.device), target.bar};
    }
    return (FabTarget){exp_host(fabric, target.host), target.bar};
}

/* Returns the host whose RAM the data go through; NULL if `via` is not
 * given. */
static FabRoot *via_of(const ExpFabric *fabric, const TopoFlow *flow)
{
    TopoTarget via = topo_flow_target(flow, "via");

    return via.kind == TOPO_TARGET_NONE
               ? NULL
               : fab_component_as_root(exp_host(fabric, via.host));
}

/* ---- Kinds ------------------------------------------------------------- */

static FabFlow *compute_flow_new(ExpFabric *fabric, const TopoFlow *flow,
                                 SimTime warmup, GError **error)
{
    FabComputeFlowParams params = {
        .time = topo_flow_time(flow, "time"),
        .start = topo_flow_time(flow, "start"),
    };

    return fab_compute_flow_new(exp_fabric(fabric), topo_flow_name(flow),
                                warmup, &params, error);
}

static FabFlow *copy_flow_new(ExpFabric *fabric, const TopoFlow *flow,
                              SimTime warmup, GError **error)
{
    const TopoPart *part = topo_flow_device(flow, "device")->part;
    bool is_read = topo_flow_is(flow, "direction", "read");
    FabCopyFlowParams params = {
        .device = device_of(fabric, flow),
        .direction = direction_of(flow),
        .buffer = target_of(fabric, flow, "buffer"),
        .driver = host_of(fabric, flow, "driver"),
        .size_bytes = topo_flow_bytes(flow, "size"),
        .copies = topo_flow_int(flow, "copies"),
        .queued = topo_flow_bool(flow, "queued"),
        .command_bytes = topo_part_bytes(part, "copy.command_size"),
        .setup = topo_part_time(part, "copy.setup"),
        .least = topo_part_time(part, is_read ? "copy.floor_read"
                                              : "copy.floor_write"),
        .start = topo_flow_time(flow, "start"),
    };

    return fab_copy_flow_new(exp_fabric(fabric), topo_flow_name(flow), warmup,
                             &params, error);
}

static FabArrivals arrivals_of(const TopoFlow *flow)
{
    if (topo_flow_is(flow, "arrivals", "periodic")) {
        return FAB_ARRIVALS_PERIODIC;
    }
    return topo_flow_is(flow, "arrivals", "poisson") ? FAB_ARRIVALS_POISSON
                                                     : FAB_ARRIVALS_CLOSED;
}

static FabFlow *dma_flow_new(ExpFabric *fabric, const TopoFlow *flow,
                             SimTime warmup, GError **error)
{
    FabDmaFlowParams params = {
        .device = device_of(fabric, flow),
        .direction = direction_of(flow),
        .then_read = topo_flow_is(flow, "direction", "write-read"),
        .warm = topo_flow_bool(flow, "warm"),
        .maps_each = topo_flow_is(flow, "mapping", "each"),
        .target = target_of(fabric, flow, "target"),
        .size_bytes = topo_flow_bytes(flow, "size"),
        /* Without a count, the flow continues until the run stops. */
        .count = topo_flow_has(flow, "count")
                     ? (uint64_t)topo_flow_int(flow, "count")
                     : UINT64_MAX,
        .outstanding = topo_flow_int(flow, "outstanding"),
        .random = topo_flow_is(flow, "pattern", "random"),
        .arrivals = arrivals_of(flow),
        .start = topo_flow_time(flow, "start"),
    };

    if (topo_flow_has(flow, "working_set")) {
        params.working_set_bytes = topo_flow_bytes(flow, "working_set");
    }
    if (topo_flow_has(flow, "interval")) {
        params.interval = topo_flow_time(flow, "interval");
    }
    return fab_dma_flow_new(exp_fabric(fabric), topo_flow_name(flow), warmup,
                            &params, error);
}

static FabSeen seen_of(const TopoFlow *flow)
{
    if (topo_flow_is(flow, "seen", "interrupt")) {
        return FAB_SEEN_INTERRUPT;
    }
    if (topo_flow_is(flow, "seen", "answered")) {
        return FAB_SEEN_ANSWERED;
    }
    return topo_flow_is(flow, "seen", "on") ? FAB_SEEN_POLLING : FAB_SEEN_NOT;
}

static FabFlow *mmio_flow_new(ExpFabric *fabric, const TopoFlow *flow,
                              SimTime warmup, GError **error)
{
    FabMmioFlowParams params = {
        .host = host_of(fabric, flow, "host"),
        .direction = direction_of(flow),
        .target = target_of(fabric, flow, "target"),
        .size_bytes = topo_flow_bytes(flow, "size"),
        .count = topo_flow_int(flow, "count"),
        .between = topo_flow_time(flow, "between"),
        .seen = seen_of(flow),
        .start = topo_flow_time(flow, "start"),
    };

    return fab_mmio_flow_new(exp_fabric(fabric), topo_flow_name(flow), warmup,
                             &params, error);
}

/* The time in which the driver of an engine copies @bytes. */
static SimTime copy_time(const TopoPart *part, uint64_t bytes)
{
    if (bytes >= (uint64_t)topo_part_bytes(part, "move.copy_below")) {
        return 0;
    }
    return (SimTime)((double)bytes * SIM_S /
                     (double)topo_part_rate(part, "move.copy"));
}

static FabFlow *move_flow_new(ExpFabric *fabric, const TopoFlow *flow,
                              SimTime warmup, GError **error)
{
    const TopoPart *part = topo_flow_device(flow, "device")->part;
    FabMoveFlowParams params = {
        .device = device_of(fabric, flow),
        .from = target_of(fabric, flow, "from"),
        .to = target_of(fabric, flow, "to"),
        .size_bytes = topo_flow_bytes(flow, "size"),
        .count = topo_flow_int(flow, "count"),
        .queued = topo_flow_bool(flow, "queued"),
        .setup = topo_part_time(part, "move.setup"),
        .copy = copy_time(part, topo_flow_bytes(flow, "size")),
        .chunk_bytes = topo_part_bytes(part, "move.chunk"),
        .buffer_bytes = topo_part_bytes(part, "move.buffer"),
        .start = topo_flow_time(flow, "start"),
    };

    return fab_move_flow_new(exp_fabric(fabric), topo_flow_name(flow), warmup,
                             &params, error);
}

static FabNvmeParams drive_params(const TopoPart *part)
{
    return (FabNvmeParams){
        .overhead = topo_part_time(part, "nvme.overhead"),
        .read_latency = topo_part_time(part, "nvme.read_latency"),
        .write_latency = topo_part_time(part, "nvme.write_latency"),
        .jitter = topo_part_time(part, "nvme.jitter"),
        .read_bandwidth_bytes_s = topo_part_rate(part, "nvme.read_bandwidth"),
        .write_bandwidth_bytes_s = topo_part_rate(part, "nvme.write_bandwidth"),
        .commands = topo_part_int(part, "nvme.commands"),
        .max_transfer_bytes = topo_part_bytes(part, "nvme.max_transfer"),
        .block_bytes = topo_part_bytes(part, "nvme.block"),
        .serial = topo_part_bool(part, "nvme.serial"),
        .read_ahead = topo_part_bool(part, "nvme.read_ahead"),
    };
}

/* Like target_of(), but its component is NULL if @key is not given. */
static FabTarget optional_target_of(const ExpFabric *fabric,
                                    const TopoFlow *flow, const char *key)
{
    return topo_flow_target(flow, key).kind == TOPO_TARGET_NONE
               ? (FabTarget){NULL, -1}
               : target_of(fabric, flow, key);
}

/* The width of the time until a kernel that polls sees a store. */
static SimTime period_of(const TopoPart *part)
{
    return topo_part_has(part, "poll.period")
               ? topo_part_time(part, "poll.period")
               : 2 * topo_part_time(part, "poll.notice");
}

static FabFlow *nvme_flow_new(ExpFabric *fabric, const TopoFlow *flow,
                              SimTime warmup, GError **error)
{
    TopoTarget by = topo_flow_target(flow, "by");
    FabNvmeFlowParams params = {
        .device = device_of(fabric, flow),
        .drive = drive_params(topo_flow_device(flow, "device")->part),
        .driver = host_of(fabric, flow, "driver"),
        .buffer = target_of(fabric, flow, "buffer"),
        .sq = optional_target_of(fabric, flow, "sq"),
        .cq = optional_target_of(fabric, flow, "cq"),
        .lists = optional_target_of(fabric, flow, "prp_lists"),
        .write = topo_flow_is(flow, "direction", "write"),
        .size_bytes = topo_flow_bytes(flow, "size"),
        .count = topo_flow_int(flow, "count"),
        .depth = topo_flow_int(flow, "depth"),
        .entries = topo_flow_int(flow, "entries"),
        .random = topo_flow_is(flow, "pattern", "random"),
        .polling = topo_flow_is(flow, "completion", "polling"),
        .maps_each = topo_flow_is(flow, "mapping", "each"),
        .shadow_doorbells = topo_flow_bool(flow, "shadow_doorbells"),
        .timeout = topo_flow_time(flow, "timeout"),
        .start = topo_flow_time(flow, "start"),
        .pause = topo_flow_time(flow, "pause"),
    };

    if (by.kind == TOPO_TARGET_DEVICE) {
        const TopoPart *part = by.device->part;

        params.by = gpu_of(fabric, flow, "by");
        params.polling = true;
        params.sq = target_of(fabric, flow, "by");
        params.cq = params.sq;
        params.lists = params.sq;
        params.notice = topo_part_time(part, "poll.notice");
        params.notice_period = period_of(part);
    }
    return fab_nvme_flow_new(exp_fabric(fabric), topo_flow_name(flow), warmup,
                             &params, error);
}

static FabFlow *pingpong_flow_new(ExpFabric *fabric, const TopoFlow *flow,
                                  SimTime warmup, GError **error)
{
    const TopoPart *part = topo_flow_target(flow, "from").device->part;
    FabPingPongFlowParams params = {
        .device = {gpu_of(fabric, flow, "from"), NULL},
        .via = via_of(fabric, flow),
        .count = topo_flow_int(flow, "count"),
        .store = topo_part_time(part, "store.latency"),
        .notice = topo_part_time(part, "poll.notice"),
        .period = period_of(part),
        .gap = topo_part_time(part, "poll.gap"),
        .jitter = topo_part_time(part, "poll.jitter"),
        .start = topo_flow_time(flow, "start"),
    };

    if (topo_part_time(part, "threads.read_latency")) {
        params.read = topo_part_time(part, "threads.latency") +
                      topo_part_time(part, "threads.read_latency");
    }
    if (topo_flow_target(flow, "to").kind == TOPO_TARGET_DEVICE) {
        params.device[1] = gpu_of(fabric, flow, "to");
    }
    return fab_pingpong_flow_new(exp_fabric(fabric), topo_flow_name(flow),
                                 warmup, &params, error);
}

static FabNic *nic_of(const ExpFabric *fabric, const TopoFlow *flow,
                      const char *key)
{
    return fab_nic_of(fab_component_as_endpoint(
        exp_device(fabric, topo_flow_device(flow, key))));
}

/* The host that has borrowed @device, or else its own. */
static const TopoHost *driver_of(const ExpFabric *fabric,
                                 const TopoDevice *device)
{
    const GPtrArray *lends = exp_fabric_description(fabric)->lends;

    for (unsigned i = 0; i < lends->len; i++) {
        const TopoLend *lend = lends->pdata[i];

        if (lend->device == device) {
            return lend->to;
        }
    }
    return device->host;
}

/* TCP runs in the host that drives the NIC. */
static FabTcpCosts tcp_costs(const ExpFabric *fabric, const TopoFlow *flow,
                             const char *key)
{
    const TopoPart *cpu = driver_of(fabric, topo_flow_device(flow, key))->cpu;

    return (FabTcpCosts){
        .packet = topo_part_time(cpu, "tcp.packet"),
        .ack = topo_part_time(cpu, "tcp.ack"),
        .send = topo_part_time(cpu, "tcp.send"),
        .call = topo_part_time(cpu, "tcp.call"),
        .copy_bytes_s = topo_part_rate(cpu, "tcp.copy"),
    };
}

static FabFlow *tcp_flow_new(ExpFabric *fabric, const TopoFlow *flow,
                             SimTime warmup, GError **error)
{
    const TopoPart *part = topo_flow_target(flow, "device").device->part;
    FabTcpFlowParams params = {
        .from = nic_of(fabric, flow, "from"),
        .to = nic_of(fabric, flow, "to"),
        .from_port = topo_flow_int(flow, "from_port"),
        .to_port = topo_flow_int(flow, "to_port"),
        .device = target_of(fabric, flow, "device"),
        .devmem = g_str_equal(topo_flow_kind(flow), "tcp-devmem"),
        .size_bytes = topo_flow_bytes(flow, "size"),
        .count = topo_flow_has(flow, "count")
                     ? (uint64_t)topo_flow_int(flow, "count")
                     : UINT64_MAX,
        .connections = topo_flow_int(flow, "connections"),
        .mtu_bytes = topo_flow_bytes(flow, "mtu"),
        .header_bytes = topo_flow_bytes(flow, "headers"),
        .window_bytes = topo_flow_bytes(flow, "window"),
        .entries = topo_flow_int(flow, "entries"),
        .refill = topo_flow_int(flow, "refill"),
        .polling = topo_flow_is(flow, "completion", "polling"),
        .steered = topo_flow_bool(flow, "steered"),
        .ack_every = topo_flow_int(flow, "ack_every"),
        .rto = topo_flow_time(flow, "rto"),
        .chunk_bytes = topo_flow_bytes(flow, "chunk"),
        .setup = topo_part_kind(part) == TOPO_PART_GPU
                     ? topo_part_time(part, "copy.setup")
                     : 0,
        .page_bytes = topo_flow_bytes(flow, "page"),
        .send = tcp_costs(fabric, flow, "from"),
        .receive = tcp_costs(fabric, flow, "to"),
        .owner_ends = SIM_TIME_NONE,
        .start = topo_flow_time(flow, "start"),
    };

    if (params.devmem) {
        params.buffer_bytes = topo_flow_bytes(flow, "buffer");
        params.hold = topo_flow_time(flow, "hold");
        params.tokens = topo_flow_int(flow, "tokens");
        params.unsplit = topo_flow_share(flow, "unsplit");
        if (topo_flow_has(flow, "owner_ends")) {
            params.owner_ends = topo_flow_time(flow, "owner_ends");
        }
    }
    return fab_tcp_flow_new(exp_fabric(fabric), topo_flow_name(flow), warmup,
                            &params, error);
}

static FabFlow *threads_flow_new(ExpFabric *fabric, const TopoFlow *flow,
                                 SimTime warmup, GError **error)
{
    TopoTarget by = topo_flow_target(flow, "by");
    FabThreadsFlowParams params = {
        .direction = direction_of(flow),
        .target = target_of(fabric, flow, "target"),
        .threads = topo_flow_int(flow, "threads"),
        .outstanding = topo_flow_int(flow, "outstanding"),
        .access_bytes = topo_flow_bytes(flow, "access"),
        .stride_bytes = topo_flow_bytes(flow, "stride"),
        .count = topo_flow_has(flow, "count")
                     ? (uint64_t)topo_flow_int(flow, "count")
                     : UINT64_MAX,
        .random = topo_flow_is(flow, "pattern", "random"),
        .start = topo_flow_time(flow, "start"),
    };

    if (topo_flow_has(flow, "working_set")) {
        params.working_set_bytes = topo_flow_bytes(flow, "working_set");
    }
    if (by.kind == TOPO_TARGET_DEVICE) {
        const TopoPart *part = by.device->part;

        params.device = gpu_of(fabric, flow, "by");
        params.warp = topo_part_int(part, "threads.warp");
        params.line_bytes = topo_part_bytes(part, "threads.line");
        params.sector_bytes = topo_part_bytes(part, "threads.sector");
        params.latency = topo_part_time(part, "threads.latency");
        if (params.direction == FAB_TLP_MRD) {
            params.latency += topo_part_time(part, "threads.read_latency");
        }
    } else {
        params.host = fab_component_as_root(exp_host(fabric, by.host));
    }
    return fab_threads_flow_new(exp_fabric(fabric), topo_flow_name(flow),
                                warmup, &params, error);
}

static FabFlow *transfer_flow_new(ExpFabric *fabric, const TopoFlow *flow,
                                  SimTime warmup, GError **error)
{
    const TopoPart *part = topo_flow_target(flow, "from").device->part;
    FabRoot *via = via_of(fabric, flow);
    FabTransferFlowParams params = {
        .from = gpu_of(fabric, flow, "from"),
        .to = gpu_of(fabric, flow, "to"),
        .via = via,
        .driver = host_of(fabric, flow, "driver"),
        .size_bytes = topo_flow_bytes(flow, "size"),
        .copies = topo_flow_int(flow, "copies"),
        .cpu_time = topo_part_time(part, via ? "transfer.cpu_ram"
                                             : "transfer.cpu_direct"),
        .control_bytes = topo_part_bytes(part, "transfer.control"),
        .chunk_bytes = topo_part_bytes(part, "transfer.chunk"),
        .buffers = topo_part_int(part, "transfer.buffers"),
        .round_trips = topo_part_int(part, "transfer.round_trips"),
        .start = topo_flow_time(flow, "start"),
    };

    return fab_transfer_flow_new(exp_fabric(fabric), topo_flow_name(flow),
                                 warmup, &params, error);
}

/* ---- The table --------------------------------------------------------- */

static const struct {
    const char *kind;
    FabFlow *(*make)(ExpFabric *fabric, const TopoFlow *flow, SimTime warmup,
                     GError **error);
} makers[] = {
    {"compute", compute_flow_new},   {"copy", copy_flow_new},
    {"dma", dma_flow_new},           {"mmio", mmio_flow_new},
    {"move", move_flow_new},         {"nvme", nvme_flow_new},
    {"pingpong", pingpong_flow_new}, {"replay", exp_replay_new},
    {"tcp-devmem", tcp_flow_new},    {"tcp-host", tcp_flow_new},
    {"threads", threads_flow_new},   {"transfer", transfer_flow_new},
};

FabFlow *exp_flow_new(ExpFabric *fabric, const TopoFlow *flow, SimTime warmup,
                      GError **error)
{
    const char *kind = topo_flow_kind(flow);
    unsigned i = 0;

    while (!g_str_equal(makers[i].kind, kind)) {
        i++;
        g_assert(i < G_N_ELEMENTS(makers));
    }
    return makers[i].make(fabric, flow, warmup, error);
}

/* Returns whether a device of @flow should be lent, but is not. */
static bool lacks_loan(const ExpFabric *fabric,
                       const TopoDescription *description, const TopoFlow *flow)
{
    for (unsigned i = 0; i < description->lends->len; i++) {
        const TopoDevice *device =
            ((const TopoLend *)description->lends->pdata[i])->device;

        if (topo_flow_uses_device(flow, device) &&
            !fab_lend_of(
                fab_component_as_endpoint(exp_device(fabric, device)))) {
            return true;
        }
    }
    return false;
}

void exp_flow_new_all(ExpFabric *fabric, const TopoDescription *description,
                      SimTime warmup, GPtrArray *flows, TopoErrors *errors)
{
    const TopoWorkload *workload = description->workload;

    for (unsigned i = 0; workload && i < workload->flows->len; i++) {
        const TopoFlow *flow = workload->flows->pdata[i];
        const GPtrArray *after = topo_flow_after(flow);
        const char *engine = topo_flow_engine(flow);
        FabFlow *made = NULL;
        GError *error = NULL;

        if (!topo_flow_has_own_fabric(flow) &&
            !lacks_loan(fabric, description, flow)) {
            made = exp_flow_new(fabric, flow, warmup, &error);
        }
        if (error) {
            exp_errors_take(errors, topo_flow_place(flow), error);
        }
        for (unsigned j = 0; made && j < after->len; j++) {
            FabFlow *before = flows->pdata[topo_flow_index(after->pdata[j])];

            if (before) {
                fab_flow_after(made, before);
            }
        }
        if (made && engine) {
            fab_flow_set_engine(made, engine, topo_flow_time(flow, "notice"),
                                topo_flow_index(flow));
        }
        g_ptr_array_add(flows, made);
    }
}
