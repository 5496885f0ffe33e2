/* SPDX-License-Identifier: MIT */
/*
 * Invariants of the nodes of a root, and of the partitions of a switch chip:
 *
 * - A root port has at most so many bytes of posted writes under way to other
 *   nodes, each for the time of its acknowledgement. It sends a write elsewhere
 *   only when all of them have been acknowledged, so posted writes never pass
 *   each other.
 * - The way of a node limits what goes to and comes from memory and other
 * nodes.
 * - What goes from one partition of a chip to another does not pass the root,
 *   and several such streams do not share a link.
 */
#include "fab_fixture.h"

#include "sim_random.h"
#include "../suite.h"

#define ENDS 5

/* One host with five ends, each at a root port of its own. */
typedef struct Host {
    FabRoot *root;
    FixtureEnd *end[ENDS];
} Host;

static void host_make(Host *host, Fixture *fixture, const FabRootParams *params,
                      const unsigned *nodes, const FabNodeWay *way)
{
    static const char *const names[ENDS] = {"h.a", "h.b", "h.c", "h.d", "h.e"};
    FabPortParams port = fixture_port_credits(FAB_SPEED_32_0GT, 16, 64, 1024);

    host->root = fab_root_new(fixture_fabric(fixture), "h", params);
    if (way) {
        fab_root_set_way(host->root, 0, 1, way);
    }
    for (unsigned i = 0; i < ENDS; i++) {
        fab_root_set_node(host->root,
                          fab_root_add_port(host->root, names[i] + 2, &port),
                          nodes[i]);
        host->end[i] = fixture_end_new(fixture, names[i], &port, 0, MIB(16));
        host->end[i]->logs = true;
        host->end[i]->user = host;
        fixture_connect(fixture, fab_root_component(host->root), i,
                        &host->end[i]->component, 0, 0, 0, 0);
    }
    fixture_realize(fixture);
}

/* Two ends are in node 0, two in node 1, and one is in node 2. */
static void host_init(Host *host, Fixture *fixture, const FabRootParams *params)
{
    static const unsigned nodes[ENDS] = {0, 0, 1, 1, 2};

    host_make(host, fixture, params, nodes, NULL);
}

/* Sends @count writes of 256 bytes from end 0: to end 2, or in turn to ends 2
 * and @other. Returns the time between the first and the last arrival. */
static SimTime writes_send_over(const FabRootParams *params,
                                const FabNodeWay *way, unsigned count,
                                unsigned other)
{
    static const unsigned nodes[ENDS] = {0, 0, 1, 1, 2};
    g_autoptr(Fixture) fixture = fixture_new();
    SimTime last = 0, first = SIM_TIME_NONE;
    unsigned seen = 0;
    Host host;

    host_make(&host, fixture, params, nodes, way);
    for (unsigned i = 0; i < count; i++) {
        FixtureEnd *to = host.end[i % 2 ? other : 2];
        FabTlp *tlp = fixture_tlp(host.end[0], FAB_TLP_MWR,
                                  fixture_bar(to, 2) + 256 * i, 256);

        tlp->data = i;
        fixture_send(host.end[0], tlp);
    }
    fixture_run(fixture);
    for (unsigned n = 2; n < ENDS; n++) {
        for (unsigned i = 0; i < host.end[n]->log->len; i++) {
            const FixtureLog *log = fixture_log(host.end[n], i);

            ck_assert_uint_eq(log->tlp.data, other == 2 ? i : 2 * i + (n != 2));
            first = MIN(first, log->time);
            last = MAX(last, log->time);
            seen++;
        }
    }
    ck_assert_uint_eq(seen, count);
    fixture_assert_drained(fixture);
    return last - first;
}

static SimTime writes_send(const FabRootParams *params, unsigned count,
                           unsigned other)
{
    return writes_send_over(params, NULL, count, other);
}

/* Little's law: the bytes under way over the time until they are acknowledged.
 */
START_TEST(writes_under_way_limit)
{
    FabRootParams params = fixture_root();
    unsigned fit = 1u << _i;

    params.nodes.acknowledge = 500 * SIM_NS;
    /* Half a write more does not fit. */
    params.nodes.write_bytes = fit * 256 + 128;
    fixture_assert_near((double)writes_send(&params, 257, 2),
                        256.0 / fit * 500 * SIM_NS, 0.02);
}
END_TEST

/* Each change of the node waits for an acknowledgement; one between two ports
 * of a node does not. */
START_TEST(other_nodes_wait)
{
    FabRootParams params = fixture_root();
    double link = writes_send(&params, 201, 3);

    params.nodes.acknowledge = 500 * SIM_NS;
    fixture_assert_near((double)writes_send(&params, 201, 4),
                        200.0 * 500 * SIM_NS, 0.01);
    fixture_assert_near((double)writes_send(&params, 201, 3), link, 0.001);
}
END_TEST

/* A way of its own replaces the numbers of all, in its direction alone. Of the
 * writes that alternate between nodes 1 and 2, each other one waits for it. */
START_TEST(a_way_of_its_own)
{
    FabRootParams params = fixture_root();
    FabNodeWay way = {.acknowledge = 100 * SIM_NS,
                      .write_bytes = 1024,
                      .bandwidth_bytes_s = 0};

    params.nodes.acknowledge = 500 * SIM_NS;
    fixture_assert_near((double)writes_send_over(&params, &way, 201, 4),
                        100.0 * 600 * SIM_NS, 0.01);
    fixture_assert_near((double)writes_send_over(&params, &way, 401, 2),
                        400.0 / 4 * 100 * SIM_NS, 0.02);
    way = (FabNodeWay){.bandwidth_bytes_s = 5000000000};
    fixture_assert_near((double)writes_send_over(&params, &way, 401, 2),
                        400 * 256.0 * SIM_S / 5e9, 0.01);
}
END_TEST

/* Writes alternate between two nodes. With RO, the later ones to the node of
 * those under way pass the first one that waits, but no more than so many. So
 * they go in bunches, and each change of the node waits for an acknowledgement:
 * while n pass, n + 1 for the other node gather; these go then, and n more of
 * their node pass the next one. Without RO each write waits. */
START_TEST(relaxed_writes_pass_in_bunches)
{
    const unsigned passes = 1u << _i, count = 1024;
    FabRootParams params = fixture_root();
    double times[2];

    params.nodes.acknowledge = 2 * SIM_US;
    params.nodes.passes = passes;
    for (unsigned relaxed = 0; relaxed < 2; relaxed++) {
        g_autoptr(Fixture) fixture = fixture_new();
        SimTime last = 0;
        Host host;

        host_init(&host, fixture, &params);
        for (unsigned i = 0; i < count; i++) {
            FixtureEnd *to = host.end[i % 2 ? 4 : 2];
            FabTlp *tlp = fixture_tlp(host.end[0], FAB_TLP_MWR,
                                      fixture_bar(to, 2) + 64 * i, 64);

            tlp->attr = relaxed ? FAB_ATTR_RO : 0;
            fixture_send(host.end[0], tlp);
        }
        fixture_run(fixture);
        ck_assert_uint_eq(host.end[2]->log->len + host.end[4]->log->len, count);
        for (unsigned n = 2; n < ENDS; n += 2) {
            const FixtureLog *log =
                fixture_log(host.end[n], host.end[n]->log->len - 1);

            last = MAX(last, log->time);
        }
        times[relaxed] = (double)last;
        fixture_assert_drained(fixture);
    }
    fixture_assert_near(times[0], (count - 1.0) * 2 * SIM_US, 0.01);
    fixture_assert_near(times[1], (double)count / (2 * passes + 1) * 2 * SIM_US,
                        0.1);
}
END_TEST

/* The address of end @n for end 0; with @iommu, one that the IOTLB has at its
 * begin. */
static FabBusAddr known_bar(Fixture *fixture, Host *host, unsigned n,
                            bool iommu)
{
    FabBusAddr bar = fixture_bar(host->end[n], 2), addr;
    g_autoptr(GError) error = NULL;

    if (!iommu) {
        return bar;
    }
    fab_root_map_dma(host->root, 0, bar, KIB(64), &addr, &error);
    ck_assert_msg(!error, "%s", error ? error->message : "");
    fixture_send(host->end[0],
                 fixture_tlp(host->end[0], FAB_TLP_MWR, addr, 64));
    fixture_run_until(fixture, fixture_now(fixture) + 10 * SIM_US);
    g_array_set_size(host->end[n]->log, 0);
    return addr;
}

/* A read never passes a posted request that came before it, also if a later
 * posted request does, and if the IOMMU translates the read meanwhile. */
START_TEST(reads_stay_behind_what_is_passed)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabRootParams params = fixture_root();
    /* Two to node 1; the next, to node 2, waits; a read of node 2; then one
     * that passes. */
    static const struct {
        unsigned to;
        bool is_read;
    } sent[] = {{2, false}, {4, false}, {4, true}, {2, false}};
    FabBusAddr bar[ENDS] = {0};
    SimTime waited, read, passed, begin;
    Host host;

    params.nodes.acknowledge = 2 * SIM_US;
    params.nodes.passes = 8;
    params.iommu.enabled = _i;
    params.iommu.walk = 500 * SIM_NS;
    host_init(&host, fixture, &params);
    bar[2] = known_bar(fixture, &host, 2, _i);
    bar[4] = known_bar(fixture, &host, 4, _i);
    begin = fixture_now(fixture);
    for (unsigned i = 0; i < G_N_ELEMENTS(sent); i++) {
        /* The read is of a page that the IOTLB does not have. */
        FabTlp *tlp = fixture_tlp(
            host.end[0], sent[i].is_read ? FAB_TLP_MRD : FAB_TLP_MWR,
            bar[sent[i].to] + 64 * i + (sent[i].is_read ? KIB(32) : 0), 64);

        tlp->attr = FAB_ATTR_RO;
        fixture_send(host.end[0], tlp);
    }
    fixture_run_until(fixture, begin + 20 * SIM_US);
    ck_assert_uint_eq(host.end[2]->log->len, 2);
    ck_assert_uint_eq(host.end[4]->log->len, 2);
    ck_assert_uint_eq(fixture_log(host.end[4], 0)->tlp.type, FAB_TLP_MWR);
    waited = fixture_log(host.end[4], 0)->time;
    read = fixture_log(host.end[4], 1)->time;
    passed = fixture_log(host.end[2], 1)->time;
    ck_assert_int_lt(passed, waited);
    ck_assert_int_gt(waited - begin, 2 * SIM_US);
    ck_assert_int_ge(read, waited);
}
END_TEST

static FabTlp *to_first(FixtureEnd *end)
{
    const Host *host = end->user;

    return fixture_tlp(end, FAB_TLP_MWR, fixture_bar(host->end[0], 2), 256);
}

/* Four ends write to one. The ends of its own node get half of it, the other
 * nodes equal parts of the rest, the ports of a node equal parts of those; or
 * all ports are alike. */
START_TEST(nodes_share_a_port)
{
    static const unsigned nodes[ENDS] = {0, 0, 1, 2, 2};
    static const double parts[2][ENDS] = {{0, 0.25, 0.25, 0.25, 0.25},
                                          {0, 0.5, 0.25, 0.125, 0.125}};
    g_autoptr(Fixture) fixture = fixture_new();
    FabRootParams params = fixture_root();
    uint64_t before[ENDS] = {0}, all = 0, sum[ENDS];
    Host host;

    params.nodes.shares = _i;
    host_make(&host, fixture, &params, nodes, NULL);
    for (unsigned i = 1; i < ENDS; i++) {
        host.end[i]->make = to_first;
        fixture_end_start(host.end[i], 8);
    }
    fixture_run_until(fixture, 5 * SIM_US);
    for (unsigned i = 1; i < ENDS; i++) {
        before[i] = host.end[i]->made;
    }
    fixture_run_until(fixture, 55 * SIM_US);
    for (unsigned i = 1; i < ENDS; i++) {
        sum[i] = host.end[i]->made - before[i];
        all += sum[i];
        host.end[i]->make = NULL;
    }
    for (unsigned i = 1; i < ENDS; i++) {
        fixture_assert_near((double)sum[i] / all, parts[_i][i], 0.02);
    }
    fixture_run(fixture);
    fixture_assert_drained(fixture);
}
END_TEST

/* The way from a node to the others limits, and the link does not. */
START_TEST(the_way_of_a_node_limits)
{
    FabRootParams params = fixture_root();

    params.nodes.bandwidth_bytes_s = 10000000000;
    fixture_assert_near((double)writes_send(&params, 2001, 2),
                        2000 * 256.0 * SIM_S / 10e9, 0.005);
}
END_TEST

/* Posted writes from one root port to different nodes arrive in the order in
 * which they were sent. Those to two ports of a node may then wait for one port
 * and not for the other. */
START_TEST(writes_stay_in_order)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabRootParams params = fixture_root();
    SimTime times[400];
    unsigned nodes[400];
    SimRandom random;
    Host host;

    sim_random_init(&random, _i, "nodes");
    params.transit = 50 * SIM_NS;
    params.nodes.latency = 300 * SIM_NS;
    params.nodes.acknowledge = 700 * SIM_NS;
    params.nodes.write_bytes = 1024;
    host_init(&host, fixture, &params);
    for (unsigned i = 0; i < G_N_ELEMENTS(times); i++) {
        unsigned n = 1 + sim_random_below(&random, ENDS - 1);
        FixtureEnd *to = host.end[n];
        FabTlp *tlp = fixture_tlp(host.end[0], FAB_TLP_MWR, fixture_bar(to, 2),
                                  4 + 4 * sim_random_below(&random, 60));

        tlp->data = i;
        times[i] = 0;
        nodes[i] = n / 2;
        fixture_send(host.end[0], tlp);
    }
    fixture_run(fixture);
    for (unsigned n = 1; n < ENDS; n++) {
        for (unsigned i = 0; i < host.end[n]->log->len; i++) {
            const FixtureLog *log = fixture_log(host.end[n], i);

            ck_assert_uint_eq(times[log->tlp.data], 0);
            times[log->tlp.data] = log->time;
        }
    }
    for (unsigned i = 1; i < G_N_ELEMENTS(times); i++) {
        ck_assert_int_gt(times[i - 1], 0);
        ck_assert(times[i] >= times[i - 1] || nodes[i] == nodes[i - 1]);
    }
    fixture_assert_drained(fixture);
}
END_TEST

static void reply(FixtureEnd *end, const FabTlp *tlp)
{
    if (tlp->type == FAB_TLP_MRD) {
        fixture_reply(end, tlp, FAB_STATUS_SC, 256);
    }
}

/* A read between nodes takes twice the latency more than one within a node. */
START_TEST(latency_counts_both_ways)
{
    SimTime time[2];

    for (unsigned far = 0; far < 2; far++) {
        g_autoptr(Fixture) fixture = fixture_new();
        FabRootParams params = fixture_root();
        Host host;

        params.nodes.latency = 111 * SIM_NS;
        host_init(&host, fixture, &params);
        host.end[1 + far]->got = reply;
        fixture_send_read(host.end[0], fixture_bar(host.end[1 + far], 2), 64,
                          5);
        fixture_run(fixture);
        ck_assert_uint_eq(host.end[0]->log->len, 1);
        time[far] = fixture_log(host.end[0], 0)->time;
    }
    fixture_assert_time_eq(time[1] - time[0], 222 * SIM_NS);
}
END_TEST

static void count_done(FabDma *dma)
{
    (*(unsigned *)dma->owner)++;
}

/* Two devices of one node share its way to and from memory; two devices of two
 * nodes do not. */
START_TEST(nodes_share_their_way_to_memory)
{
    FabTlpType type = _i ? FAB_TLP_MRD : FAB_TLP_MWR;
    SimTime time[2];

    for (unsigned far = 0; far < 2; far++) {
        g_autoptr(Fixture) fixture = fixture_new();
        FabPortParams port =
            fixture_port_credits(FAB_SPEED_32_0GT, 16, 64, 1024);
        FabEndpointParams device = fixture_device();
        FabRootParams params = fixture_root();
        FabEndpoint *devices[2];
        FabDma dma[2];
        unsigned done = 0;
        FabRoot *root;

        device.reads = device.tags = 256;
        params.nodes.bandwidth_bytes_s = 20000000000;
        root = fab_root_new(fixture_fabric(fixture), "h", &params);
        for (unsigned i = 0; i < 3; i++) {
            g_autofree char *name = g_strdup_printf("h.d%u", i);

            /* The third port makes a second node if the others share one. */
            fab_root_set_node(root, fab_root_add_port(root, name + 2, &port),
                              i == 2 || (far && i));
            if (i < 2) {
                devices[i] = fab_endpoint_new(fixture_fabric(fixture), name,
                                              &port, &device);
                fixture_connect(fixture, fab_root_component(root), i,
                                fab_endpoint_component(devices[i]), 0, 0, 0, 0);
            }
        }
        fixture_realize(fixture);
        for (unsigned i = 0; i < 2; i++) {
            dma[i] = (FabDma){.type = type,
                              .addr = GIB(4) + MIB(i),
                              .size_bytes = MIB(1),
                              .done = count_done,
                              .owner = &done};
            fab_endpoint_dma(devices[i], &dma[i]);
        }
        fixture_run(fixture);
        ck_assert_uint_eq(done, 2);
        time[far] = fixture_now(fixture);
    }
    fixture_assert_near((double)time[0], 2.0 * MIB(1) * SIM_S / 20e9, 0.02);
    fixture_assert_near((double)time[1], 1.0 * MIB(1) * SIM_S / 20e9, 0.02);
}
END_TEST

/* A host with a device in each of two nodes. */
typedef struct Numa {
    FabRoot *root;
    FabEndpoint *device[2];
} Numa;

static void numa_init(Numa *numa, Fixture *fixture, const FabRootParams *params)
{
    static const char *const names[] = {"h.d0", "h.d1"};
    FabPortParams port = fixture_port_credits(FAB_SPEED_32_0GT, 16, 64, 1024);
    FabEndpointParams device = fixture_device();

    device.reads = device.tags = 256;
    numa->root = fab_root_new(fixture_fabric(fixture), "h", params);
    for (unsigned i = 0; i < 2; i++) {
        fab_root_set_node(
            numa->root, fab_root_add_port(numa->root, names[i] + 2, &port), i);
        numa->device[i] =
            fab_endpoint_new(fixture_fabric(fixture), names[i], &port, &device);
        fixture_connect(fixture, fab_root_component(numa->root), i,
                        fab_endpoint_component(numa->device[i]), 0, 0, 0, 0);
    }
    fixture_realize(fixture);
}

/* The time in which the device of node @from moves @bytes of memory: in node
 * @node, or interleaved if that is -1. */
static SimTime numa_time(const FabRootParams *params, FabTlpType type,
                         unsigned from, int node, uint64_t bytes)
{
    g_autoptr(Fixture) fixture = fixture_new();
    unsigned done = 0;
    FabBusAddr addr;
    FabDma dma;
    Numa numa;

    numa_init(&numa, fixture, params);
    ck_assert(
        node < 0 ? fab_root_alloc(numa.root, bytes, 4096, &addr)
                 : fab_root_alloc_in_node(numa.root, node, bytes, 4096, &addr));
    dma = (FabDma){.type = type,
                   .addr = addr,
                   .size_bytes = bytes,
                   .done = count_done,
                   .owner = &done};
    fab_endpoint_dma(numa.device[from], &dma);
    fixture_run(fixture);
    ck_assert_uint_eq(done, 1);
    fixture_assert_drained(fixture);
    return fixture_now(fixture);
}

/* A read of memory in another node takes twice the latency between nodes more,
 * and the time of its bytes on the way; one of the own node takes nothing more.
 */
START_TEST(memory_of_another_node_is_further_away)
{
    FabRootParams params = fixture_root();
    SimTime plain, own, other;

    params.nodes.latency = 77 * SIM_NS;
    plain = numa_time(&params, FAB_TLP_MRD, 0, -1, 64);
    params.nodes.bandwidth_bytes_s = 8000000000;
    own = numa_time(&params, FAB_TLP_MRD, _i, _i, 64);
    other = numa_time(&params, FAB_TLP_MRD, _i, !_i, 64);
    fixture_assert_time_eq(own, plain);
    fixture_assert_time_eq(other - own, (2 * 77 + 64 / 8) * SIM_NS);
    fixture_assert_time_eq(numa_time(&params, FAB_TLP_MRD, _i, -1, 64) - own,
                           64 / 8 * SIM_NS);
}
END_TEST

/* The ways limit what goes to the memory of another node, and nothing else.
 * _i: 0: reads, 1: writes. */
START_TEST(ways_limit_memory_of_another_node)
{
    FabTlpType type = _i ? FAB_TLP_MWR : FAB_TLP_MRD;
    FabRootParams params = fixture_root();
    SimTime link = numa_time(&params, type, 0, -1, MIB(1));

    params.nodes.bandwidth_bytes_s = 10000000000;
    fixture_assert_time_eq(numa_time(&params, type, 1, 1, MIB(1)), link);
    fixture_assert_near((double)numa_time(&params, type, 1, 0, MIB(1)),
                        (double)MIB(1) * SIM_S / 10e9, 0.02);
    fixture_assert_near((double)numa_time(&params, type, 1, -1, MIB(1)),
                        (double)MIB(1) * SIM_S / 10e9, 0.02);
}
END_TEST

/* ---- Partitions of a chip -------------------------------------------- */

/* A chip of two partitions with two ends each, below two root ports. */
typedef struct Chip {
    FabRoot *root;
    FabComponent *part[2];
    FixtureEnd *end[4];
} Chip;

static void chip_init(Chip *chip, Fixture *fixture, bool joined, bool acs)
{
    static const char *const names[] = {"h.a", "h.b", "h.c", "h.d"};
    FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 8, 64, 512);
    FabRootParams params = fixture_root();

    chip->root = fab_root_new(fixture_fabric(fixture), "h", &params);
    for (unsigned i = 0; i < 2; i++) {
        fab_root_add_port(chip->root, i ? "rp1" : "rp0", &port);
        chip->part[i] =
            fab_switch_new(fixture_fabric(fixture), i ? "h.sw1" : "h.sw0", 3,
                           &port, &port, acs);
        fixture_connect(fixture, fab_root_component(chip->root), i,
                        chip->part[i], 0, 0, 0, 0);
    }
    if (joined) {
        fab_switch_join(chip->part[0], chip->part[1]);
    }
    for (unsigned i = 0; i < 4; i++) {
        chip->end[i] = fixture_end_new(fixture, names[i], &port, 0, MIB(16));
        chip->end[i]->logs = true;
        fixture_connect(fixture, chip->part[i / 2], 1 + i % 2,
                        &chip->end[i]->component, 0, 0, 0, 0);
    }
    fixture_realize(fixture);
}

/* Within the chip a write takes two hops; through the root it takes four. */
START_TEST(partitions_reach_each_other_inside)
{
    static const unsigned hops[] = {4, 4, 2, 4};
    g_autoptr(Fixture) fixture = fixture_new();
    bool joined = _i & 2, acs = _i & 1;
    Chip chip;

    chip_init(&chip, fixture, joined, acs);
    for (unsigned i = 0; i < 4; i++) {
        chip.end[i]->got = reply;
    }
    for (unsigned n = 0; n < 16; n++) {
        unsigned from = n / 4, to = n % 4;
        unsigned want = from / 2 == to / 2 ? (acs ? 4 : 2) : hops[_i];

        if (from == to) {
            continue;
        }
        fixture_send(chip.end[from],
                     fixture_tlp(chip.end[from], FAB_TLP_MWR,
                                 fixture_bar(chip.end[to], 2), 64));
        fixture_run(fixture);
        ck_assert_uint_eq(chip.end[to]->log->len, 1);
        ck_assert_uint_eq(fixture_log(chip.end[to], 0)->tlp.hops, want);
        fixture_send_read(chip.end[from], fixture_bar(chip.end[to], 2), 64, n);
        fixture_run(fixture);
        ck_assert_uint_eq(chip.end[from]->log->len, 1);
        ck_assert_uint_eq(fixture_log(chip.end[from], 0)->tlp.tag, n);
        g_array_set_size(chip.end[from]->log, 0);
        g_array_set_size(chip.end[to]->log, 0);
    }
    /* Memory is above as before, and so is what nobody claims. */
    fixture_send(chip.end[3],
                 fixture_tlp(chip.end[3], FAB_TLP_MWR, GIB(4), 64));
    fixture_send_read(chip.end[3], GIB(900), 64, 99);
    fixture_run(fixture);
    ck_assert_uint_eq(fab_root_counters(chip.root)->memory_written_bytes, 64);
    ck_assert_uint_eq(fixture_log(chip.end[3], 0)->tlp.status, FAB_STATUS_UR);
    fixture_assert_drained(fixture);
}
END_TEST

/* Two streams between partitions have two links' worth; through the root they
 * share one. */
START_TEST(partitions_have_no_link_between_them)
{
    SimTime time[2];

    for (unsigned joined = 0; joined < 2; joined++) {
        g_autoptr(Fixture) fixture = fixture_new();
        Chip chip;

        chip_init(&chip, fixture, joined, false);
        for (unsigned i = 0; i < 2000; i++) {
            fixture_send(chip.end[i % 2],
                         fixture_tlp(chip.end[i % 2], FAB_TLP_MWR,
                                     fixture_bar(chip.end[2 + i % 2], 2), 256));
        }
        fixture_run(fixture);
        ck_assert_uint_eq(chip.end[2]->received_bytes, 256000);
        ck_assert_uint_eq(chip.end[3]->received_bytes, 256000);
        time[joined] = fixture_now(fixture);
        fixture_assert_drained(fixture);
    }
    fixture_assert_near((double)time[0] / time[1], 2.0, 0.01);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("nodes");
    TCase *nodes = tcase_create("nodes"), *chips = tcase_create("chips");

    tcase_add_loop_test(nodes, writes_under_way_limit, 0, 4);
    tcase_add_test(nodes, other_nodes_wait);
    tcase_add_test(nodes, a_way_of_its_own);
    tcase_add_loop_test(nodes, relaxed_writes_pass_in_bunches, 0, 6);
    tcase_add_loop_test(nodes, reads_stay_behind_what_is_passed, 0, 2);
    tcase_add_loop_test(nodes, nodes_share_a_port, 0, 2);
    tcase_add_test(nodes, the_way_of_a_node_limits);
    tcase_add_loop_test(nodes, writes_stay_in_order, 0, 5);
    tcase_add_test(nodes, latency_counts_both_ways);
    tcase_add_loop_test(nodes, nodes_share_their_way_to_memory, 0, 2);
    tcase_add_loop_test(nodes, memory_of_another_node_is_further_away, 0, 2);
    tcase_add_loop_test(nodes, ways_limit_memory_of_another_node, 0, 2);
    suite_add_tcase(suite, nodes);
    tcase_add_loop_test(chips, partitions_reach_each_other_inside, 0, 4);
    tcase_add_test(chips, partitions_have_no_link_between_them);
    suite_add_tcase(suite, chips);
    return run_suite(suite);
}
