/* SPDX-License-Identifier: MIT */
/*
 * Invariant: a NIC moves exactly the TLPs of its descriptors, packets,
 * completion entries, doorbells and interrupts. The bytes that a packet costs
 * on the PCIe link are those of the model of "Understanding PCIe performance
 * for end host networking" (SIGCOMM 2018; pcie-bench/pcie-model, simple_nic.py
 * and niantic.py), and they bound the packets a second. On the network, the
 * frame bounds them. No packet is lost but those that a counter tells of.
 */
#include <check.h>
#include <stdlib.h>

#include "../suite.h"
#include "fab_core.h"
#include "fab_lab.h"
#include "fab_nic.h"

/* Bytes on the wire; memory lies above 4 GiB, BARs and MSIs below. */
#define MWR(bytes)   (24 + (bytes))
#define MMIO         (20 + 4)
#define MSI          (20 + 4)
#define MRD          24
#define MRD_BAR      20
#define CPLD(bytes)  (20 + (bytes))
/* 8.0GT/s x8, less the SKP ordered sets. */
#define LINK_BYTES_S (8e9 * 8 / 8 * 128 / 130 * (1 - 1.0 / 375))

#define ENTRIES 1024u

/* A driver of one queue pair at each of two hosts: one sends, one receives. */
typedef struct Driver {
    FabRoot *root;
    FabComponent *device;
    FabNic *nic;
    FabNicRxQueue *rx;
    FabNicTxQueue *tx;
    FabBusAddr buffers;
    uint32_t refill, since; /* doorbell after so many packets */
    bool reads_head;
    bool interrupts;
    uint64_t received, bytes, interrupted;
    uint64_t next_seq; /* of packets that came in */
    uint32_t buffer_bytes;
    uint64_t fragments;
} Driver;

static FabFabric *fabric;
static SimEngine *engine;
static FabNet *net;
static Driver at[2]; /* [0] sends, [1] receives */

static FabNicParams nic_params(void)
{
    return (FabNicParams){
        .ports = 1,
        .rate_bytes_s = 5000000000,
        .queues = 4,
        .descriptor_bytes = 16,
        .completion_bytes = 16,
        .rx_prefetch = 1,
        .tx_prefetch = 1,
        .cache = 256,
        .tx_batch = 1,
        .rx_bytes = 1 << 20,
        .tx_bytes = 1 << 17,
        .latency = 0,
        .moderation_packets = 1,
        .segment_bytes = 65536,
        .header_split = true,
    };
}

static void head_read(void *owner, FabStatus status)
{
    ck_assert_int_eq(status, FAB_STATUS_SC);
}

static void post(Driver *driver)
{
    FabNicBuffer buffer = {
        .header = driver->buffers,
        .payload = driver->buffers + 65536,
        .payload_bytes = driver->buffer_bytes,
    };

    fab_nic_rx_post(driver->rx, &buffer);
}

static void received(void *owner, const FabNicReceived *packet)
{
    Driver *driver = owner;

    ck_assert_uint_eq(packet->packet->seq, driver->next_seq);
    driver->next_seq += packet->packet->payload_bytes;
    driver->received++;
    driver->fragments += packet->count;
    driver->bytes +=
        packet->packet->header_bytes + packet->packet->payload_bytes;
    if (driver->refill > 0) {
        for (unsigned i = 0; i < packet->count; i++) {
            post(driver);
        }
        if (++driver->since == driver->refill) {
            driver->since = 0;
            fab_nic_rx_bell(driver->rx);
            if (driver->reads_head) {
                fab_root_read(driver->root,
                              fab_nic_rx_regs(driver->rx) + FAB_NIC_HEAD, 4,
                              head_read, driver, 0);
            }
        }
    }
    if (driver->interrupts) {
        fab_nic_rx_arm(driver->rx);
    }
    fab_net_packet_free(net, packet->packet);
}

static void interrupted(void *owner)
{
    ((Driver *)owner)->interrupted++;
}

static void host_new(unsigned i, const char *name)
{
    FabRootParams params = lab_root_params(false);
    FabPortParams port = lab_port_params();
    g_autofree char *device = g_strconcat(name, ".nic", NULL);

    params.cpu.mmio_write = 0;
    params.cpu.mmio_reads = 64;
    params.memory.bandwidth_bytes_s = 0;
    at[i] = (Driver){.root = fab_root_new(fabric, name, &params)};
    fab_root_add_port(at[i].root, "rp0", &port);
    at[i].device = lab_device(fabric, device);
    lab_connect(fab_root_component(at[i].root), 0, at[i].device, 0);
}

static FabBusAddr take(Driver *driver, uint64_t bytes)
{
    FabBusAddr addr;

    ck_assert(fab_root_alloc(driver->root, bytes, 4096, &addr));
    return addr;
}

static void queues_new(Driver *driver, bool split, bool interrupts)
{
    FabNicRxParams rx = {
        .ring = {.driver = driver->root, .entries = ENTRIES},
        .split = split,
        .rss = true,
        .interrupt = interrupts ? interrupted : NULL,
        .msi_addr = FAB_MSI_BASE + 0x1000,
        .cpu_msi_addr = FAB_MSI_BASE + 0x1000,
        .received = received,
        .owner = driver,
    };
    FabNicTxParams tx = {.owner = driver};

    rx.ring.ring = take(driver, ENTRIES * 64);
    rx.ring.completions = take(driver, ENTRIES * 64);
    rx.ring.cpu_completions = rx.ring.completions;
    tx.ring = rx.ring;
    tx.ring.ring = take(driver, ENTRIES * 64);
    tx.ring.completions = take(driver, ENTRIES * 64);
    tx.ring.cpu_completions = tx.ring.completions;
    driver->buffers = take(driver, 1 << 20);
    driver->buffer_bytes = 4096;
    driver->interrupts = interrupts;
    driver->rx = fab_nic_rx_new(driver->nic, &rx);
    driver->tx = fab_nic_tx_new(driver->nic, &tx);
    ck_assert(driver->rx && driver->tx);
}

static void pair_new(const FabNetParams *network, const FabNicParams *sender,
                     const FabNicParams *receiver, bool split, bool interrupts)
{
    fabric = lab_fabric_new(3);
    engine = fab_fabric_engine(fabric);
    host_new(0, "a");
    host_new(1, "b");
    lab_realize(fabric);
    net = fab_net_new(fabric, "net", network);
    for (unsigned i = 0; i < 2; i++) {
        at[i].nic = fab_nic_new(fab_component_as_endpoint(at[i].device),
                                i == 0 ? sender : receiver);
        fab_nic_connect(at[i].nic, 0, net);
        queues_new(&at[i], split && i == 1, interrupts && i == 1);
    }
}

static void pair_done(void)
{
    if (fabric) {
        lab_fabric_free(fabric);
    }
    fabric = NULL;
}

/* Posts @count descriptors with @payload bytes each, cut into packets of
 * @mss, and rings after each @batch. */
static void send(unsigned count, uint32_t header, uint32_t payload,
                 uint32_t mss, unsigned batch)
{
    for (unsigned i = 0; i < count; i++) {
        FabNicSend one = {
            .header = at[0].buffers,
            .payload = at[0].buffers + 4096,
            .payload_bytes = payload,
            .mss_bytes = mss,
            .packet = {.to = fab_nic_port(at[1].nic, 0),
                       .tuple = 1,
                       .header_bytes = header,
                       .seq = (uint64_t)i * payload,
                       .is_splittable = true},
        };

        fab_nic_tx_post(at[0].tx, &one);
        if ((i + 1) % batch == 0) {
            fab_nic_tx_bell(at[0].tx);
        }
    }
}

/* Wire bytes of the link of @driver's NIC: from the NIC, and to it. */
static void link_bytes(const Driver *driver, uint64_t *ret_from,
                       uint64_t *ret_to)
{
    const FabPort *port = fab_component_port(driver->device, 0);

    *ret_from = fab_port_counters(port)->wire_sent_bytes;
    *ret_to = fab_port_counters(fab_port_peer(port))->wire_sent_bytes;
}

static const FabNetParams cable = {.latency = 500 * SIM_NS};

/* ---- What a packet costs --------------------------------------------- */

/* simple_nic.py: every packet has a doorbell, a descriptor, an entry, an
 * interrupt and a read of the head. (The published code assigns the bytes of
 * the packet where it should add them, and so forgets the read request of the
 * receive descriptor; it is counted here.) */
START_TEST(simple_nic_receives)
{
    static const uint32_t sizes[] = {60, 252, 256, 260, 1516};
    uint32_t size = sizes[_i], count = 200;
    FabNicParams params = nic_params();
    uint64_t from, to;

    pair_new(&cable, &params, &params, false, true);
    at[1].refill = 1;
    at[1].reads_head = true;
    for (unsigned i = 0; i < ENTRIES; i++) {
        post(&at[1]);
    }
    fab_nic_rx_bell(at[1].rx);
    sim_engine_run(engine);
    link_bytes(&at[1], &from, &to);
    /* The doorbell, and the descriptors that fit on the chip. */
    ck_assert_uint_eq(to, MMIO + 256 * CPLD(16));
    ck_assert_uint_eq(from, 256 * MRD);
    send(count, size, 0, 1, 1);
    sim_engine_run(engine);
    ck_assert_uint_eq(at[1].received, count);
    ck_assert_uint_eq(at[1].interrupted,
                      fab_nic_counters(at[1].nic)->interrupts);
    link_bytes(&at[1], &from, &to);
    /* Tail; descriptor; head. The arming of the interrupt is not in the
     * published model. */
    ck_assert_uint_eq(to - MMIO - 256 * CPLD(16),
                      (uint64_t)count * (MMIO + CPLD(16) + MRD_BAR + MMIO));
    ck_assert_uint_eq(from - 256 * MRD,
                      (uint64_t)count * (MRD + (size + 255) / 256 * 24 + size +
                                         MWR(16) + CPLD(4)) +
                          MSI * at[1].interrupted);
    ck_assert_uint_ge(at[1].interrupted, 1);
}
END_TEST

START_TEST(simple_nic_sends)
{
    static const uint32_t sizes[] = {60, 252, 512, 516, 1516};
    uint32_t size = sizes[_i], count = 200;
    FabNicParams params = nic_params();
    uint64_t from, to, requests = (size + 511) / 512;
    uint64_t completions = (size + 255) / 256;

    pair_new(&cable, &params, &params, false, false);
    send(count, size, 0, 1, 1);
    sim_engine_run(engine);
    link_bytes(&at[0], &from, &to);
    ck_assert_uint_eq(to, count * (MMIO + CPLD(16) + 20 * completions + size));
    /* Its 16 B entry stands for the interrupt and the head of the published
     * NIC: with batches of one, each descriptor has at most one. */
    ck_assert_uint_eq(
        from, count * (MRD + MRD * requests) +
                  MWR(16) * fab_nic_counters(at[0].nic)->tx_completions);
    ck_assert_uint_eq(fab_nic_counters(at[0].nic)->tx_packets, count);
    ck_assert_uint_eq(fab_net_port_counters(fab_nic_port(at[0].nic, 0))->sent,
                      count);
}
END_TEST

/* Nothing is read before a packet needs it; then as much as one read can. The
 * sizes of the two directions differ. */
START_TEST(descriptors_on_demand)
{
    FabNicParams params = nic_params();
    uint64_t from, to;

    params.on_demand = true;
    params.descriptor_bytes = 32;
    params.tx_descriptor_bytes = 16;
    params.tx_completion_bytes = 4;
    params.rx_prefetch = 8;
    pair_new(&cable, &params, &params, false, false);
    for (unsigned i = 0; i < ENTRIES; i++) {
        post(&at[1]);
    }
    fab_nic_rx_bell(at[1].rx);
    sim_engine_run(engine);
    link_bytes(&at[1], &from, &to);
    ck_assert_uint_eq(from, 0);
    ck_assert_uint_eq(to, MMIO);
    send(17, 64, 0, 1, 1);
    sim_engine_run(engine);
    ck_assert_uint_eq(at[1].received, 17);
    ck_assert_uint_eq(fab_nic_counters(at[1].nic)->rx_descriptors, 24);
    link_bytes(&at[1], &from, &to);
    ck_assert_uint_eq(to, MMIO + 3 * CPLD(8 * 32));
    ck_assert_uint_eq(from, 3 * MRD + 17 * (MWR(64) + MWR(16)));
    link_bytes(&at[0], &from, &to);
    ck_assert_uint_eq(to, 17 * (MMIO + CPLD(16) + CPLD(64)));
    ck_assert_uint_eq(from,
                      17 * 2 * MRD +
                          MWR(4) * fab_nic_counters(at[0].nic)->tx_completions);
}
END_TEST

/* A driver that polls, like the PMD of niantic.py: 40 descriptors a read, an
 * entry for 8, a doorbell for 32. */
START_TEST(modern_nic_costs_less)
{
    enum {
        COUNT = 960
    };
    FabNicParams params = nic_params();
    const FabNicCounters *counters;
    uint64_t from, to, size = 60;

    params.tx_prefetch = 40;
    params.tx_batch = 8;
    params.rx_prefetch = 32;
    pair_new(&cable, &params, &params, false, false);
    at[1].refill = 32;
    for (unsigned i = 0; i < ENTRIES; i++) {
        post(&at[1]);
    }
    fab_nic_rx_bell(at[1].rx);
    send(COUNT, size, 0, 1, 32);
    sim_engine_run(engine);
    counters = fab_nic_counters(at[0].nic);
    link_bytes(&at[0], &from, &to);
    ck_assert_uint_eq(counters->tx_descriptors, COUNT);
    ck_assert_uint_ge(counters->fetches, COUNT / 40);
    ck_assert_uint_le(counters->fetches, COUNT / 32);
    ck_assert_uint_eq(counters->tx_completions, COUNT / 8);
    /* A read of 32 to 40 descriptors has 512 to 640 B: two or three
     * completions of at most 256 B, and one or two requests. */
    ck_assert_uint_ge(to, COUNT / 32 * MMIO + COUNT * (16 + CPLD(size)) +
                              COUNT / 32 * 2 * 20);
    ck_assert_uint_le(to, COUNT / 32 * MMIO + COUNT * (16 + CPLD(size)) +
                              COUNT / 32 * 4 * 20);
    ck_assert_uint_ge(from, COUNT * MRD + COUNT / 8 * MWR(16) +
                                counters->fetches * MRD);
    /* The receiver: a doorbell for 32 packets, 32 descriptors a read. */
    link_bytes(&at[1], &from, &to);
    ck_assert_uint_eq(at[1].received, COUNT);
    ck_assert_uint_eq(fab_nic_counters(at[1].nic)->rx_completions, COUNT);
    ck_assert_uint_eq(from, COUNT * (MWR(size) + MWR(16)) +
                                fab_nic_counters(at[1].nic)->fetches * MRD);
}
END_TEST

/* ---- Rates ----------------------------------------------------------- */

/* On a fast network, the PCIe link limits the simple NIC to its rate over the
 * bytes of a packet. */
START_TEST(descriptors_limit_packets_a_second)
{
    enum {
        COUNT = 900
    };
    FabNicParams params = nic_params();
    double cost, want;
    SimTime begin;

    params.rate_bytes_s = 100000000000;
    pair_new(&cable, &params, &params, false, false);
    /* The sender is what is measured: the data that it reads come in, and are
     * more than the requests and entries that go out. */
    begin = sim_engine_now(engine);
    send(COUNT, 252, 0, 1, COUNT);
    while (fab_nic_counters(at[0].nic)->tx_packets < COUNT) {
        ck_assert(sim_engine_step(engine));
    }
    cost =
        MAX(CPLD(16) + CPLD(252),
            2 * MRD + MWR(16) *
                          (double)fab_nic_counters(at[0].nic)->tx_completions /
                          COUNT);
    want = LINK_BYTES_S / cost;
    /* The first packet has the latency of two round trips. */
    lab_check_near(COUNT * 1e12 / (sim_engine_now(engine) - begin - 2 * SIM_US),
                   want, 0.05);
}
END_TEST

/* A port sends rate / (headers + payload + 24 + encapsulation) packets a
 * second, and at least 84 bytes each. */
START_TEST(frames_limit_packets_a_second)
{
    static const struct {
        uint32_t header, payload, overhead, wire;
    } cases[] = {
        {66, 8192, 0, 8282},   /* MTU 8244 */
        {66, 1448, 0, 1538},   /* MTU 1500 */
        {54, 0, 0, 84},        /* the shortest frame */
        {66, 8192, 104, 8386}, /* with an encapsulation */
    };
    enum {
        COUNT = 400
    };
    FabNicParams params = nic_params();
    FabNetParams network = cable;
    const FabNetCounters *counters;
    uint32_t wire = cases[_i].wire;

    network.overhead_bytes = cases[_i].overhead;
    network.has_switch = _i % 2;
    params.rate_bytes_s = 1250000000; /* the PCIe link is faster */
    params.rx_prefetch = 32;
    params.tx_prefetch = 32;
    pair_new(&network, &params, &params, true, false);
    at[1].refill = 16;
    for (unsigned i = 0; i < ENTRIES; i++) {
        post(&at[1]);
    }
    fab_nic_rx_bell(at[1].rx);
    send(COUNT, cases[_i].header, cases[_i].payload, 8192, COUNT);
    sim_engine_run(engine);
    counters = fab_net_port_counters(fab_nic_port(at[0].nic, 0));
    ck_assert_uint_eq(at[1].received, COUNT);
    ck_assert_uint_eq(counters->sent_bytes, (uint64_t)COUNT * wire);
    ck_assert_int_eq(counters->busy_ps,
                     (SimTime)((__uint128_t)COUNT * wire * SIM_S / 1250000000));
    ck_assert_uint_eq(fab_net_packets_alive(net), 0);
}
END_TEST

/* ---- Packets --------------------------------------------------------- */

START_TEST(segments_and_fragments)
{
    FabNicParams params = nic_params();
    const FabNicCounters *counters;

    pair_new(&cable, &params, &params, true, false);
    at[1].refill = 1;
    for (unsigned i = 0; i < ENTRIES; i++) {
        post(&at[1]);
    }
    fab_nic_rx_bell(at[1].rx);
    /* 60,000 bytes are seven packets of 8,192 and one of 2,656. */
    send(3, 66, 60000, 8192, 1);
    sim_engine_run(engine);
    counters = fab_nic_counters(at[1].nic);
    ck_assert_uint_eq(at[1].received, 3 * 8);
    ck_assert_uint_eq(at[1].fragments, 3 * (7 * 2 + 1));
    ck_assert_uint_eq(counters->rx_header_bytes, 3 * 8 * 66);
    ck_assert_uint_eq(counters->rx_payload_bytes, 3 * 60000);
    ck_assert_uint_eq(counters->rx_linear_bytes, 0);
    ck_assert_uint_eq(fab_nic_counters(at[0].nic)->tx_payload_bytes, 3 * 60000);
    ck_assert_uint_eq(
        fab_endpoint_counters(fab_component_as_endpoint(at[1].device))
            ->written_bytes,
        counters->rx_header_bytes + counters->rx_payload_bytes +
            16 * counters->rx_completions);
}
END_TEST

/* Every packet that is sent is received, lost, or dropped by a counter's
 * account; and none twice (received() checks the order). */
/* One packet after the other, of 5000 B in two buffers of 4 KiB. Each buffer
 * costs a request for one byte and a completion of one DW; a packet is there a
 * round trip later. Returns the time from the first doorbell to the end. */
static SimTime flush_costs(bool flush, uint64_t *ret_from, uint64_t *ret_to)
{
    const unsigned count = 50;
    FabNicParams params = nic_params(), receiver = params;

    receiver.flush = flush;
    pair_new(&cable, &params, &receiver, true, false);
    for (unsigned i = 0; i < 2 * count; i++) {
        post(&at[1]);
    }
    fab_nic_rx_bell(at[1].rx);
    sim_engine_run(engine);
    send(count, 66, 5000, 5000, 1);
    sim_engine_run(engine);
    ck_assert_uint_eq(at[1].received, count);
    ck_assert_uint_eq(at[1].fragments, 2 * count);
    ck_assert_uint_eq(fab_nic_counters(at[1].nic)->flushes,
                      flush ? 2 * count : 0);
    link_bytes(&at[1], ret_from, ret_to);
    return sim_engine_now(engine);
}

START_TEST(flush_costs_a_read_for_each_buffer)
{
    uint64_t from[2], to[2];
    SimTime end[2];

    for (unsigned i = 0; i < 2; i++) {
        end[i] = flush_costs(i == 1, &from[i], &to[i]);
        pair_done();
    }
    ck_assert_uint_eq(from[1] - from[0], 100 * MRD);
    ck_assert_uint_eq(to[1] - to[0], 100 * CPLD(4));
    ck_assert(end[1] > end[0]);
}
END_TEST

START_TEST(packets_are_conserved)
{
    enum {
        COUNT = 900
    };
    FabNicParams params = nic_params(), small = nic_params();
    FabNetParams network = cable;
    const FabNicCounters *counters;
    const FabNetCounters *from, *to;

    network.has_switch = true;
    network.loss = _i == 0 ? 0.1 : 0;
    network.buffer_bytes = _i == 1 ? 20000 : 0;
    small.rate_bytes_s = _i == 1 ? 1250000000 : small.rate_bytes_s;
    small.rx_bytes = 16384;
    pair_new(&network, &params, &small, false, false);
    at[1].refill = 0; /* the ring runs dry */
    for (unsigned i = 0; i < (_i == 2 ? 300 : ENTRIES); i++) {
        post(&at[1]);
    }
    fab_nic_rx_bell(at[1].rx);
    sim_engine_run(engine);
    send(COUNT, 1514, 0, 1, 100);
    sim_engine_run(engine);
    counters = fab_nic_counters(at[1].nic);
    from = fab_net_port_counters(fab_nic_port(at[0].nic, 0));
    to = fab_net_port_counters(fab_nic_port(at[1].nic, 0));
    ck_assert_uint_eq(from->sent, COUNT);
    ck_assert_uint_eq(from->sent, to->received + from->lost + to->dropped);
    ck_assert_uint_eq(to->received, at[1].received + counters->no_space +
                                        counters->no_descriptor);
    ck_assert_uint_eq(fab_net_packets_alive(net), 0);
    ck_assert_uint_eq(fab_fabric_tlps_alive(fabric), 0);
    switch (_i) {
    case 0:
        ck_assert_uint_gt(from->lost, COUNT / 20);
        ck_assert_uint_lt(from->lost, COUNT / 6);
        break;
    case 1:
        ck_assert_uint_gt(to->dropped, 0);
        break;
    case 2:
        ck_assert_uint_eq(at[1].received, 300);
        break;
    }
}
END_TEST

/* A driver that has posted nothing loses what comes, split or not. */
START_TEST(packets_without_descriptors_are_dropped)
{
    FabNicParams params = nic_params();

    pair_new(&cable, &params, &params, _i == 0, false);
    send(10, 66, 1000, 1000, 1);
    sim_engine_run(engine);
    ck_assert_uint_eq(at[1].received, 0);
    ck_assert_uint_eq(fab_nic_counters(at[1].nic)->no_descriptor, 10);
    ck_assert_uint_eq(fab_net_packets_alive(net), 0);
}
END_TEST

/* A device whose data lie over the registers writes tails that the driver never
 * had: more than it has filled, or less than it has rung for. */
START_TEST(only_the_driver_rings)
{
    static const uint32_t wrong[] = {0, 19, 61, ENTRIES + 20, UINT32_MAX};
    FabNicParams params = nic_params();

    pair_new(&cable, &params, &params, true, false);
    for (unsigned i = 0; i < 60; i++) {
        post(&at[1]);
        if (i == 19) {
            fab_nic_rx_bell(at[1].rx);
        }
    }
    send(20, 66, 1000, 1000, 1);
    sim_engine_run(engine);
    ck_assert_uint_eq(at[1].received, 20);
    for (unsigned i = 0; i < G_N_ELEMENTS(wrong); i++) {
        fab_root_write(at[1].root, fab_nic_rx_regs(at[1].rx) + FAB_NIC_RX_TAIL,
                       4, wrong[i], 0);
        fab_root_write(at[0].root, fab_nic_rx_regs(at[0].rx) + FAB_NIC_TX_TAIL,
                       4, wrong[i], 0);
    }
    sim_engine_run(engine);
    ck_assert_uint_eq(fab_nic_counters(at[0].nic)->doorbells, 20);
    ck_assert_uint_eq(fab_nic_counters(at[1].nic)->doorbells, 1);
    fab_nic_rx_bell(at[1].rx);
    at[1].next_seq = 0;
    send(40, 66, 1000, 1000, 1);
    sim_engine_run(engine);
    ck_assert_uint_eq(at[1].received, 60);
    ck_assert_uint_eq(fab_nic_counters(at[1].nic)->no_descriptor, 0);
    ck_assert_uint_eq(fab_net_packets_alive(net), 0);
}
END_TEST

START_TEST(steering_comes_before_rss)
{
    FabNicParams params = nic_params();
    FabNicRxQueue *first, *second;
    unsigned hits = 0;

    pair_new(&cable, &params, &params, true, false);
    first = at[1].rx;
    queues_new(&at[1], true, false);
    second = at[1].rx;
    for (uint32_t tuple = 0; tuple < 1000; tuple++) {
        FabNicRxQueue *queue = fab_nic_steered(at[1].nic, 0, tuple);

        ck_assert(queue == first || queue == second);
        hits += queue == first;
    }
    ck_assert_uint_gt(hits, 400);
    ck_assert_uint_lt(hits, 600);
    fab_nic_steer(at[1].nic, 7, second);
    fab_nic_steer(at[1].nic, 8, first);
    ck_assert_ptr_eq(fab_nic_steered(at[1].nic, 0, 7), second);
    ck_assert_ptr_eq(fab_nic_steered(at[1].nic, 0, 8), first);
}
END_TEST

START_TEST(interrupts_wait_for_packets_or_time)
{
    FabNicParams params = nic_params();

    params.moderation = 10 * SIM_US;
    params.moderation_packets = 50;
    pair_new(&cable, &params, &params, false, true);
    at[1].interrupts = false; /* it is armed once */
    for (unsigned i = 0; i < ENTRIES; i++) {
        post(&at[1]);
    }
    fab_nic_rx_bell(at[1].rx);
    send(_i == 0 ? 10 : 100, 60, 0, 1, 10);
    sim_engine_run(engine);
    ck_assert_uint_eq(at[1].interrupted, 1);
    /* Ten packets wait for the time. A hundred do not. */
    if (_i == 0) {
        ck_assert_int_ge(sim_engine_now(engine), 10 * SIM_US);
    }
    ck_assert_uint_eq(at[1].received, _i == 0 ? 10 : 100);
    fab_nic_rx_arm(at[1].rx);
    sim_engine_run(engine);
    ck_assert_uint_eq(at[1].interrupted, 1); /* there is nothing new */
}
END_TEST

/* ---- The core -------------------------------------------------------- */

static SimTime job_ends[2];

static void job_done(FabCoreJob *job)
{
    job_ends[*(unsigned *)job->owner] = sim_engine_now(engine);
}

/* A job takes its time, or that of the memory if that is longer; jobs follow
 * each other. lab_root has a memory of 16 GB/s or more, but none here. */
START_TEST(core_works_through_jobs)
{
    FabRootParams params = lab_root_params(false);
    FabPortParams port = lab_port_params();
    unsigned numbers[] = {0, 1};
    FabCoreJob jobs[2] = {
        {.time = 100 * SIM_NS, .done = job_done, .owner = &numbers[0]},
        {.time = 100 * SIM_NS,
         .read_bytes = 1000,
         .written_bytes = 1000,
         .done = job_done,
         .owner = &numbers[1]},
    };
    FabRoot *root;
    FabCore *core;

    fabric = lab_fabric_new(1);
    engine = fab_fabric_engine(fabric);
    params.memory.bandwidth_bytes_s = 1000000000;
    root = fab_root_new(fabric, "a", &params);
    fab_root_add_port(root, "rp0", &port);
    lab_connect(fab_root_component(root), 0, lab_device(fabric, "a.x"), 0);
    lab_realize(fabric);
    core = fab_core_new(root, 1);
    fab_core_run(core, &jobs[0]);
    fab_core_run(core, &jobs[1]);
    sim_engine_run(engine);
    ck_assert_int_eq(job_ends[0], 100 * SIM_NS);
    ck_assert_int_eq(job_ends[1], 100 * SIM_NS + 2000 * SIM_NS);
    ck_assert_int_eq(fab_core_busy(core), 2100 * SIM_NS);
    ck_assert_uint_eq(fab_root_counters(root)->memory_read_bytes, 1000);
    ck_assert_uint_eq(fab_root_counters(root)->memory_written_bytes, 1000);
    fab_core_free(core);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_nic");
    TCase *tcase = tcase_create("fab_nic");

    tcase_add_checked_fixture(tcase, NULL, pair_done);
    tcase_add_loop_test(tcase, simple_nic_receives, 0, 5);
    tcase_add_loop_test(tcase, simple_nic_sends, 0, 5);
    tcase_add_test(tcase, descriptors_on_demand);
    tcase_add_test(tcase, modern_nic_costs_less);
    tcase_add_test(tcase, descriptors_limit_packets_a_second);
    tcase_add_loop_test(tcase, frames_limit_packets_a_second, 0, 4);
    tcase_add_test(tcase, segments_and_fragments);
    tcase_add_test(tcase, flush_costs_a_read_for_each_buffer);
    tcase_add_loop_test(tcase, packets_are_conserved, 0, 3);
    tcase_add_loop_test(tcase, packets_without_descriptors_are_dropped, 0, 2);
    tcase_add_test(tcase, only_the_driver_rings);
    tcase_add_test(tcase, steering_comes_before_rss);
    tcase_add_loop_test(tcase, interrupts_wait_for_packets_or_time, 0, 2);
    tcase_add_test(tcase, core_works_through_jobs);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
