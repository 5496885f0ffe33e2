/* SPDX-License-Identifier: MIT */
/*
 * Invariant: over a network that loses packets, every byte of a message reaches
 * the device once. With device memory TCP, the root port carries headers,
 * descriptors, completion entries, doorbells and interrupts, and nothing else.
 * The same is true of the cable to the host that drives a borrowed NIC. A user
 * who keeps tokens exhausts the buffer: packets are dropped, and the flow goes
 * on when tokens come back. Packets that are not split or not
 * steered go the way through RAM. A binding ends with its owner.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"
#include "fab_flow_tcp.h"
#include "fab_lab.h"
#include "fab_lend.h"

#define MTU    8244u
#define HEADER (14u + 52u)

static FabFabric *fabric;
static SimEngine *engine;
static FabNet *net;
static FabRoot *roots[2];
static FabComponent *nics[2], *gpu, *sw;

static FabNicParams nic_params(void)
{
    return (FabNicParams){
        .ports = 1,
        .rate_bytes_s = 5000000000,
        .queues = 16,
        .descriptor_bytes = 16,
        .completion_bytes = 16,
        .rx_prefetch = 16,
        .tx_prefetch = 8,
        .cache = 64,
        .tx_batch = 8,
        .rx_bytes = 1 << 18,
        .tx_bytes = 1 << 17,
        .latency = 300 * SIM_NS,
        .moderation = 4 * SIM_US,
        .moderation_packets = 32,
        .segment_bytes = 65536,
        .header_split = true,
    };
}

/* Host a has a NIC; host b has a NIC and a GPU below one switch. */
static void fabric_new(double loss)
{
    FabNetParams network = {
        .latency = 2 * SIM_US, .loss = loss, .has_switch = true};
    FabNicParams params = nic_params();

    fabric = lab_fabric_new(11);
    engine = fab_fabric_engine(fabric);
    roots[0] = lab_root(fabric, "a", 1, false);
    roots[1] = lab_root(fabric, "b", 1, false);
    nics[0] = lab_device(fabric, "a.nic");
    nics[1] = lab_device(fabric, "b.nic");
    gpu = lab_device(fabric, "b.gpu");
    sw = lab_switch(fabric, "b.sw", 2);
    lab_connect(fab_root_component(roots[0]), 0, nics[0], 0);
    lab_connect(fab_root_component(roots[1]), 0, sw, 0);
    lab_connect(sw, 1, nics[1], 0);
    lab_connect(sw, 2, gpu, 0);
    lab_realize(fabric);
    net = fab_net_new(fabric, "net", &network);
    for (unsigned i = 0; i < 2; i++) {
        fab_nic_connect(
            fab_nic_new(fab_component_as_endpoint(nics[i]), &params), 0, net);
    }
}

static void fabric_done(void)
{
    if (fabric) {
        lab_fabric_free(fabric);
    }
    fabric = NULL;
}

static FabNic *nic_at(unsigned i)
{
    return fab_nic_of(fab_component_as_endpoint(nics[i]));
}

static FabTcpFlowParams tcp_params(bool devmem)
{
    FabTcpCosts costs = {
        .packet = 200 * SIM_NS,
        .ack = 100 * SIM_NS,
        .send = 500 * SIM_NS,
        .call = 500 * SIM_NS,
        .copy_bytes_s = 10000000000,
    };

    return (FabTcpFlowParams){
        .from = nic_at(0),
        .to = nic_at(1),
        .device = {gpu, -1},
        .devmem = devmem,
        .size_bytes = 8192 * 64,
        .count = 20,
        .connections = 1,
        .mtu_bytes = MTU,
        .header_bytes = 52,
        .window_bytes = 1 << 20,
        .entries = 256,
        .refill = 32,
        .steered = true,
        .ack_every = 2,
        .rto = SIM_MS,
        .chunk_bytes = 1 << 18,
        .page_bytes = 4096,
        .send = costs,
        .receive = costs,
        .buffer_bytes = 8 << 20,
        .tokens = 128,
        .owner_ends = SIM_TIME_NONE,
    };
}

static FabFlow *tcp_flow(const FabTcpFlowParams *params)
{
    g_autoptr(GError) error = NULL;
    FabFlow *flow = fab_tcp_flow_new(fabric, "f", 0, params, &error);

    ck_assert_msg(flow, "%s", error ? error->message : "no error set");
    return flow;
}

static FabTcpFlowStats stats_of(const FabFlow *flow)
{
    FabTcpFlowStats stats;

    ck_assert(fab_tcp_flow_stats(flow, &stats));
    return stats;
}

/* Runs @flow to its end, and then until nothing is on its way any more. */
static FabTcpFlowStats run(FabFlow *flow)
{
    FabTcpFlowStats stats;

    ck_assert(fab_flows_run(fabric, SIM_TIME_NONE, NULL));
    ck_assert(fab_flow_is_done(flow));
    stats = stats_of(flow);
    sim_engine_run(engine);
    ck_assert_uint_eq(fab_fabric_tlps_alive(fabric), 0);
    return stats;
}

/* ---- Conservation ---------------------------------------------------- */

/* Counts the deliveries of each page of a connection's data. */
typedef struct Ledger {
    uint64_t bytes;
    uint8_t times[20 * 64 * 8192 / 64];
} Ledger;

static void delivered(void *data, unsigned number, uint64_t seq, uint32_t bytes)
{
    Ledger *ledger = data;

    ck_assert_uint_eq(seq % 64, 0);
    for (uint64_t i = seq / 64; i < (seq + bytes) / 64; i++) {
        ck_assert_uint_lt(i, G_N_ELEMENTS(ledger->times));
        ledger->times[i]++;
    }
    ledger->bytes += bytes;
}

START_TEST(no_byte_is_lost_or_doubled)
{
    static const double losses[] = {0, 0.001, 0.02};
    g_autofree Ledger *ledger = g_new0(Ledger, 1);
    FabTcpFlowParams params;
    FabTcpFlowStats stats;
    FabFlowResult result;
    FabFlow *flow;
    uint64_t total;

    fabric_new(losses[_i / 2]);
    params = tcp_params(_i % 2);
    params.delivered = delivered;
    params.data = ledger;
    total = params.size_bytes * params.count;
    flow = tcp_flow(&params);
    stats = run(flow);
    fab_flow_result(flow, &result);
    ck_assert_uint_eq(result.operations, params.count);
    ck_assert_uint_eq(result.failed, 0);
    ck_assert_uint_eq(result.bytes, total);
    ck_assert_uint_eq(ledger->bytes, total);
    for (unsigned i = 0; i < total / 64; i++) {
        ck_assert_uint_eq(ledger->times[i], 1);
    }
    ck_assert_uint_eq(stats.accepted_bytes, total);
    ck_assert_uint_eq(stats.direct_bytes + stats.host_bytes, total);
    ck_assert_uint_eq(stats.host_bytes, params.devmem ? 0 : total);
    if (_i < 2) {
        ck_assert_uint_eq(stats.retransmits, 0);
        ck_assert_uint_eq(stats.duplicate_bytes, 0);
    } else {
        const FabNetCounters *port =
            fab_net_port_counters(fab_nic_port(nic_at(0), 0));

        ck_assert_uint_gt(port->lost, 0);
        ck_assert_uint_gt(stats.retransmits, 0);
    }
    ck_assert_uint_eq(fab_net_packets_alive(net), 0);
}
END_TEST

/* A million messages are in flight at once, and thousands in a packet. With a
 * cost for each that grows with their number, the run would take hours. */
START_TEST(messages_of_one_byte_fill_a_window)
{
    FabTcpFlowParams params;
    FabFlowResult result;
    FabFlow *flow;

    fabric_new(0);
    params = tcp_params(true);
    params.size_bytes = 1;
    params.count = 2000000;
    flow = tcp_flow(&params);
    run(flow);
    fab_flow_result(flow, &result);
    ck_assert_uint_eq(result.operations, params.count);
    ck_assert_uint_eq(result.failed, 0);
    ck_assert_uint_eq(result.bytes, params.count);
}
END_TEST

/* ---- The root port --------------------------------------------------- */

/* Wire bytes of a link whose lower end is @component: up, and down. */
static void link_bytes(const FabComponent *component, uint64_t *ret_up,
                       uint64_t *ret_down)
{
    const FabPort *port = fab_component_port(component, 0);

    *ret_up = fab_port_counters(port)->wire_sent_bytes;
    *ret_down = fab_port_counters(fab_port_peer(port))->wire_sent_bytes;
}

/* The root port of host b, byte by byte. Memory lies above 4 GiB, registers
 * and MSIs below it. Acknowledgements are descriptors and headers that the NIC
 * reads. Doorbells are what is left of the way down, each 24 bytes; there is
 * one for each refill, arming and batch of acknowledgements. */
START_TEST(devmem_leaves_the_root_port_to_control)
{
    enum {
        MWR = 24,
        MRD = 24,
        CPLD = 20,
        MMIO = 24,
        MSI = 24
    };
    const FabNicCounters *counters;
    const FabEndpointCounters *gpu_counters;
    FabTcpFlowParams params;
    FabTcpFlowStats stats;
    uint64_t packets, up, down, want_up, reads_down, header_dw = 68, reads;

    fabric_new(0);
    params = tcp_params(true);
    stats = run(tcp_flow(&params));
    counters = fab_nic_counters(nic_at(1));
    gpu_counters = fab_endpoint_counters(fab_component_as_endpoint(gpu));
    packets = params.count * 64;
    ck_assert_uint_eq(counters->rx_packets, packets);
    ck_assert_uint_eq(counters->tx_packets, stats.acks);
    link_bytes(sw, &up, &down);
    /* A read of descriptors that crosses a multiple of 512 bytes is two. */
    reads = fab_port_counters(fab_component_port(nics[1], 0))
                ->tlps_sent[FAB_CLASS_NP];
    ck_assert_uint_ge(reads, counters->fetches + stats.acks);
    ck_assert_uint_le(reads, counters->fetches + stats.acks +
                                 counters->tx_descriptors * 16 / 512 + 1);
    /* Headers of 66 bytes end in a whole DW. */
    want_up = packets * (MWR + header_dw) +
              counters->rx_completions * (MWR + 16) +
              counters->tx_completions * (MWR + 16) +
              counters->interrupts * MSI + reads * MRD;
    ck_assert_uint_eq(up, want_up);
    /* A completion has at most 256 bytes: all descriptors of a read. */
    reads_down = reads * CPLD +
                 16 * (counters->rx_descriptors + counters->tx_descriptors) +
                 stats.acks * header_dw;
    ck_assert_uint_gt(counters->doorbells, 0);
    ck_assert_uint_eq(down, reads_down + counters->doorbells * MMIO);
    /* The payload goes to the GPU, and RAM gets headers and entries alone. */
    ck_assert_uint_eq(gpu_counters->served_bytes, packets * 8192);
    /* A message of an interrupt counts as a write of four bytes. */
    ck_assert_uint_eq(
        fab_root_counters(roots[1])->memory_written_bytes,
        packets * HEADER +
            16 * (counters->rx_completions + counters->tx_completions) +
            4 * counters->interrupts);
}
END_TEST

/* ---- Borrowed NICs --------------------------------------------------- */

static FabComponent *lenders_ntb[2], *borrowers_ntb;

static void borrow(FabComponent *device, FabRoot *borrower)
{
    FabLendParams params = {
        .device = fab_component_as_endpoint(device),
        .borrower = borrower,
        .window_bytes = 32 << 20,
    };
    g_autoptr(GError) error = NULL;

    ck_assert_msg(fab_lend_borrow(&params, &error), "%s",
                  error ? error->message : "no error set");
}

/* Host b borrows the NIC of host c. The GPU is its own, or that of host d. */
static void lent_fabric_new(bool gpu_is_lent)
{
    FabNetParams network = {.latency = 2 * SIM_US, .has_switch = true};
    FabNicParams params = nic_params();
    FabRoot *lenders[2];

    fabric = lab_fabric_new(11);
    engine = fab_fabric_engine(fabric);
    roots[0] = lab_root(fabric, "a", 1, false);
    roots[1] = lab_root(fabric, "b", 2, true);
    lenders[0] = lab_root(fabric, "c", 2, false);
    lenders[1] = lab_root(fabric, "d", 2, false);
    nics[0] = lab_device(fabric, "a.nic");
    nics[1] = lab_device(fabric, "c.nic");
    gpu = lab_device(fabric, "gpu");
    borrowers_ntb = lab_ntb(fabric, "b.ntb", 2);
    lenders_ntb[0] = lab_ntb(fabric, "c.ntb", 2);
    lenders_ntb[1] = lab_ntb(fabric, "d.ntb", 2);
    lab_connect(fab_root_component(roots[0]), 0, nics[0], 0);
    lab_connect(fab_root_component(roots[1]), 0, borrowers_ntb, 0);
    lab_connect(fab_root_component(lenders[0]), 0, lenders_ntb[0], 0);
    lab_connect(fab_root_component(lenders[0]), 1, nics[1], 0);
    lab_connect(fab_root_component(lenders[1]), 0, lenders_ntb[1], 0);
    lab_connect(fab_root_component(gpu_is_lent ? lenders[1] : roots[1]), 1, gpu,
                0);
    for (unsigned i = 0; i < 2; i++) {
        lab_connect(borrowers_ntb, 1 + i, lenders_ntb[i], 1);
    }
    lab_connect(lenders_ntb[0], 2, lenders_ntb[1], 2);
    lab_realize(fabric);
    net = fab_net_new(fabric, "net", &network);
    for (unsigned i = 0; i < 2; i++) {
        fab_nic_connect(
            fab_nic_new(fab_component_as_endpoint(nics[i]), &params), 0, net);
    }
    borrow(nics[1], roots[1]);
    if (gpu_is_lent) {
        borrow(gpu, roots[1]);
    }
}

/* Bytes of payloads of TLPs that leave @ntb by way @way. */
static uint64_t cable_bytes(const FabComponent *ntb, unsigned way)
{
    return fab_port_counters(fab_component_port(ntb, way))->payload_sent_bytes;
}

/* The payload goes to the GPU, by the cable between the lenders if that is
 * lent, too. All else is of the sizes that the NIC has for it. */
START_TEST(lent_nic_is_driven_by_its_borrower)
{
    bool is_lent = _i == 1;
    const FabNicCounters *counters;
    uint64_t payload, to_driver, from_driver;
    FabTcpFlowParams params;
    FabTcpFlowStats stats;

    lent_fabric_new(is_lent);
    params = tcp_params(true);
    stats = run(tcp_flow(&params));
    counters = fab_nic_counters(nic_at(1));
    payload = params.size_bytes * params.count;
    ck_assert_uint_eq(stats.direct_bytes, payload);
    ck_assert_uint_gt(counters->interrupts, 0);
    to_driver = counters->rx_packets * HEADER +
                16 * (counters->rx_completions + counters->tx_completions) +
                4 * counters->interrupts;
    from_driver = 16 * (counters->rx_descriptors + counters->tx_descriptors) +
                  HEADER * stats.acks + 4 * counters->doorbells;
    ck_assert_uint_eq(cable_bytes(lenders_ntb[0], 1),
                      to_driver + (is_lent ? 0 : payload));
    ck_assert_uint_eq(cable_bytes(borrowers_ntb, 1), from_driver);
    ck_assert_uint_eq(cable_bytes(lenders_ntb[0], 2), is_lent ? payload : 0);
    ck_assert_uint_eq(cable_bytes(borrowers_ntb, 2), 0);
    ck_assert_uint_eq(cable_bytes(lenders_ntb[1], 1), 0);
}
END_TEST

/* Bouncing: the payload crosses the root port twice, and memory four times. */
START_TEST(host_bouncing_uses_the_root_port_and_memory)
{
    FabTcpFlowParams params;
    uint64_t up, down, total;
    const FabRootCounters *memory;

    fabric_new(0);
    params = tcp_params(false);
    total = params.size_bytes * params.count;
    run(tcp_flow(&params));
    link_bytes(sw, &up, &down);
    memory = fab_root_counters(roots[1]);
    ck_assert_uint_gt(up, total);
    ck_assert_uint_gt(down, total);
    ck_assert_uint_ge(memory->memory_written_bytes, 2 * total);
    ck_assert_uint_ge(memory->memory_read_bytes, 2 * total);
    ck_assert_uint_lt(memory->memory_written_bytes, 2 * total + total / 20);
    ck_assert_uint_lt(memory->memory_read_bytes, 2 * total + total / 20);
    ck_assert_uint_eq(
        fab_endpoint_counters(fab_component_as_endpoint(gpu))->read_bytes,
        total);
}
END_TEST

/* ---- Devmem ---------------------------------------------------------- */

START_TEST(kept_tokens_exhaust_the_buffer_and_it_recovers)
{
    g_autofree Ledger *ledger = g_new0(Ledger, 1);
    FabTcpFlowParams params;
    FabTcpFlowStats stats;

    fabric_new(0);
    params = tcp_params(true);
    params.buffer_bytes = 600 * 4096; /* less than a window and the ring */
    params.hold = 500 * SIM_US;
    params.delivered = delivered;
    params.data = ledger;
    stats = run(tcp_flow(&params));
    ck_assert_uint_gt(stats.devmem.exhausted, 0);
    ck_assert_uint_gt(fab_nic_counters(nic_at(1))->no_descriptor, 0);
    ck_assert_uint_gt(stats.retransmits, 0);
    ck_assert_uint_eq(ledger->bytes, params.size_bytes * params.count);
    ck_assert_uint_eq(stats.accepted_bytes, params.size_bytes * params.count);
    ck_assert_uint_le(stats.devmem.most_held, 600);
    ck_assert_uint_eq(stats.devmem.unknown, 0);
}
END_TEST

START_TEST(tokens_that_never_return_stop_the_flow)
{
    FabTcpFlowParams params;
    FabTcpFlowStats stats;
    FabFlow *flow;

    fabric_new(0);
    params = tcp_params(true);
    params.buffer_bytes = 600 * 4096;
    params.hold = SIM_S;
    flow = tcp_flow(&params);
    fab_flows_run(fabric, 20 * SIM_MS, NULL);
    ck_assert(!fab_flow_is_done(flow));
    stats = stats_of(flow);
    /* Every page is with the user; what came later was dropped. A packet takes
     * two pages, so none is left over. */
    ck_assert_uint_eq(stats.held, 600);
    ck_assert_uint_eq(stats.direct_bytes, 300 * 8192);
    ck_assert_uint_gt(stats.timeouts, 0);
    ck_assert_uint_gt(fab_nic_counters(nic_at(1))->no_descriptor, 0);
}
END_TEST

/* A call returns so many tokens; with fewer, there are more calls. */
START_TEST(calls_return_tokens_in_batches)
{
    FabTcpFlowParams params;
    uint64_t calls[2];

    for (unsigned i = 0; i < 2; i++) {
        FabTcpFlowStats stats;

        fabric_new(0);
        params = tcp_params(true);
        params.tokens = i == 0 ? 128 : 4;
        params.hold = 100 * SIM_US;
        stats = run(tcp_flow(&params));
        ck_assert_uint_eq(stats.devmem.given, params.count * 64 * 2);
        ck_assert_uint_le(stats.devmem.returned, stats.devmem.given);
        calls[i] = stats.calls;
        fabric_done();
    }
    ck_assert_uint_gt(calls[1], calls[0] + 200);
}
END_TEST

START_TEST(packets_that_are_not_split_land_in_ram)
{
    FabTcpFlowParams params;
    FabTcpFlowStats stats;
    uint64_t total;

    fabric_new(0);
    params = tcp_params(true);
    params.unsplit = 0.25;
    total = params.size_bytes * params.count;
    stats = run(tcp_flow(&params));
    ck_assert_uint_eq(stats.direct_bytes + stats.linear_bytes, total);
    ck_assert_uint_eq(stats.linear_bytes, stats.host_bytes);
    lab_check_near(stats.linear_bytes, total * 0.25, 0.15);
    ck_assert_uint_eq(fab_nic_counters(nic_at(1))->rx_linear_bytes,
                      stats.linear_bytes / 8192 * (8192 + HEADER));
    ck_assert_uint_eq(
        fab_endpoint_counters(fab_component_as_endpoint(gpu))->read_bytes,
        stats.linear_bytes);
}
END_TEST

START_TEST(flow_that_is_not_steered_lands_in_an_ordinary_queue)
{
    FabTcpFlowParams params;
    FabTcpFlowStats stats;

    fabric_new(0);
    params = tcp_params(true);
    params.steered = false;
    stats = run(tcp_flow(&params));
    ck_assert_uint_eq(stats.direct_bytes, 0);
    ck_assert_uint_eq(stats.linear_bytes, 0);
    ck_assert_uint_eq(stats.host_bytes, params.size_bytes * params.count);
    ck_assert_uint_eq(stats.devmem.given, 0);
}
END_TEST

START_TEST(binding_ends_with_its_owner)
{
    FabTcpFlowParams params;
    FabTcpFlowStats stats;
    FabFlowResult result;
    FabFlow *flow;

    fabric_new(0);
    params = tcp_params(true);
    params.owner_ends = 500 * SIM_US;
    params.hold = 10 * SIM_MS;
    flow = tcp_flow(&params);
    stats = run(flow);
    fab_flow_result(flow, &result);
    ck_assert_int_eq(result.end, 500 * SIM_US);
    ck_assert_uint_gt(result.failed, 0);
    ck_assert_uint_lt(result.operations, params.count);
    ck_assert_uint_gt(stats.devmem.given, 0);
    ck_assert_uint_eq(stats.held, 0);
    ck_assert_uint_eq(stats.devmem.returned, stats.devmem.given);
}
END_TEST

/* Nothing arrives. The sender gives up after its first time-out and 15 more,
 * which double six times. */
START_TEST(sender_gives_up)
{
    FabTcpFlowParams params;
    FabTcpFlowStats stats;
    FabFlowResult result;
    FabFlow *flow;

    fabric_new(1);
    params = tcp_params(true);
    flow = tcp_flow(&params);
    stats = run(flow);
    fab_flow_result(flow, &result);
    ck_assert_uint_eq(stats.timeouts, 16);
    ck_assert_uint_eq(result.bytes, 0);
    ck_assert_uint_gt(result.failed, 0);
    ck_assert_uint_eq(result.failed, result.operations);
    ck_assert_int_ge(result.end, (63 + 10 * 64) * SIM_MS);
    ck_assert_int_le(result.end, (63 + 10 * 64) * SIM_MS + SIM_MS);
}
END_TEST

/* ---- Rates ----------------------------------------------------------- */

/* The port of 5 GB/s sends 8,192 of 8,282 bytes. */
START_TEST(payload_rate_is_that_of_the_frames)
{
    FabTcpFlowParams params;
    FabFlowResult result;
    FabFlow *flow;

    fabric_new(0);
    params = tcp_params(true);
    params.connections = 2;
    params.count = UINT64_MAX;
    flow = tcp_flow(&params);
    fab_flows_run(fabric, SIM_MS, NULL); /* slow start */
    fab_flow_result(flow, &result);
    {
        uint64_t before = result.bytes;

        fab_flows_run(fabric, 6 * SIM_MS, NULL);
        fab_flow_result(flow, &result);
        lab_check_near((result.bytes - before) / 5e-3, 5e9 * 8192 / 8282, 0.01);
    }
}
END_TEST

/* ---- Errors ---------------------------------------------------------- */

static void check_refused(const FabTcpFlowParams *params, const char *text)
{
    g_autoptr(GError) error = NULL;

    ck_assert_ptr_null(fab_tcp_flow_new(fabric, "f", 0, params, &error));
    ck_assert_msg(strstr(error->message, text), "%s", error->message);
}

START_TEST(errors)
{
    FabTcpFlowParams params;

    fabric_new(0);
#define REFUSED(CHANGE, TEXT)                                                  \
    params = tcp_params(true);                                                 \
    CHANGE;                                                                    \
    check_refused(&params, TEXT)
    REFUSED(params.tokens = 129, "1 to 128 tokens");
    REFUSED(params.to = params.from, "does not send to itself");
    REFUSED(params.buffer_bytes = 4096, "at least 8 pages");
    REFUSED(params.window_bytes = 8192, "two packets");
    REFUSED(params.page_bytes = 512, "eighth of a packet");
    REFUSED(params.connections = 65, "1 to 64 connections");
    REFUSED(params.entries = 100, "power of two");
    REFUSED(params.refill = 0, "at least 1 entry");
    REFUSED(params.unsplit = 1.5, "must be 0 to 1");
    REFUSED(params.device.component = fab_root_component(roots[1]), "BAR");
    REFUSED(params.to_port = 1, "not in one network");
    REFUSED(params.connections = 17, "has 16 queues");
#undef REFUSED
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_flow_tcp");
    TCase *tcase = tcase_create("fab_flow_tcp");

    tcase_add_checked_fixture(tcase, NULL, fabric_done);
    tcase_add_loop_test(tcase, no_byte_is_lost_or_doubled, 0, 6);
    tcase_add_test(tcase, messages_of_one_byte_fill_a_window);
    tcase_add_test(tcase, devmem_leaves_the_root_port_to_control);
    tcase_add_loop_test(tcase, lent_nic_is_driven_by_its_borrower, 0, 2);
    tcase_add_test(tcase, host_bouncing_uses_the_root_port_and_memory);
    tcase_add_test(tcase, kept_tokens_exhaust_the_buffer_and_it_recovers);
    tcase_add_test(tcase, tokens_that_never_return_stop_the_flow);
    tcase_add_test(tcase, calls_return_tokens_in_batches);
    tcase_add_test(tcase, packets_that_are_not_split_land_in_ram);
    tcase_add_test(tcase, flow_that_is_not_steered_lands_in_an_ordinary_queue);
    tcase_add_test(tcase, binding_ends_with_its_owner);
    tcase_add_test(tcase, sender_gives_up);
    tcase_add_test(tcase, payload_rate_is_that_of_the_frames);
    tcase_add_test(tcase, errors);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
