/* SPDX-License-Identifier: MIT */
/*
 * Each fabric has one known bottleneck, because everything else has plenty.
 * Invariant: the explanation names this bottleneck, even if other resources
 * wait for it, and its numbers are those of closed formulas. Observing a run
 * does not change its results.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "exp_bottleneck.h"
#include "exp_plan.h"
#include "rep_waterfall.h"
#include "fab_flow_copy.h"
#include "fab_flow_dma.h"
#include "fab_flow_threads.h"
#include "fab_lab.h"
#include "sim_random.h"
#include "../suite.h"
#include "table_csv.h"

#define MILLION 1000000
#define BYTE_PS (1015.625 / 8) /* on 8 lanes of 8.0GT/s with 128b/130b */

static SimEngine *engine;
static FabFabric *fabric;
static FabProfile *profile;
static GPtrArray *flows;
static ExpBottleneck found;

static void setup(void)
{
    fabric = lab_fabric_new(7);
    engine = fab_fabric_engine(fabric);
    flows = g_ptr_array_new();
}

static void teardown(void)
{
    fab_profile_free(profile);
    profile = NULL;
    lab_fabric_free(fabric);
    g_ptr_array_unref(flows);
}

/* Ports with buffers that a slow link beyond them fills. */
static FabPortParams finite_port(uint32_t width)
{
    FabPortParams port = lab_port_params();

    port.max_width = width;
    for (unsigned cls = 0; cls < FAB_CLASSES; cls++) {
        port.credits.header[cls] = 32;
        port.credits.data[cls] = 256;
    }
    return port;
}

static FabComponent *root_with(const FabRootParams *params, unsigned ports,
                               uint32_t width)
{
    FabPortParams port = lab_port_params();
    FabRoot *root = fab_root_new(fabric, "host", params);

    port.max_width = width;
    for (unsigned i = 0; i < ports; i++) {
        g_autofree char *name = g_strdup_printf("rp%u", i);

        fab_root_add_port(root, name, &port);
    }
    return fab_root_component(root);
}

static FabComponent *device_with(const char *name,
                                 const FabEndpointParams *params)
{
    FabPortParams port = lab_port_params();

    return fab_endpoint_component(
        fab_endpoint_new(fabric, name, &port, params));
}

static FabDmaFlowParams dma(FabComponent *device, FabTlpType direction,
                            FabComponent *target, uint64_t size_bytes,
                            uint64_t count)
{
    return (FabDmaFlowParams){
        .device = fab_component_as_endpoint(device),
        .direction = direction,
        .target = {.component = target, .bar = -1},
        .size_bytes = size_bytes,
        .count = count,
    };
}

static FabFlow *add(const FabDmaFlowParams *params)
{
    g_autoptr(GError) error = NULL;
    FabFlow *flow = fab_dma_flow_new(fabric, "flow", 0, params, &error);

    ck_assert_msg(flow, "%s", error ? error->message : "");
    g_ptr_array_add(flows, flow);
    return flow;
}

static void run(void)
{
    profile = fab_profile_new(fabric, 0);
    ck_assert(fab_flows_run(fabric, SIM_TIME_NONE, NULL));
    fab_profile_finish(profile);
    found = exp_bottleneck_find(profile, flows);
}

static const FabResource *resource(FabResourceKind kind,
                                   const FabComponent *component,
                                   const FabPort *port)
{
    unsigned count;
    const FabResource *list = fab_profile_resources(profile, &count);

    for (unsigned i = 0; i < count; i++) {
        if (list[i].kind == kind && list[i].component == component &&
            list[i].port == port) {
            return &list[i];
        }
    }
    ck_abort_msg("there is no such resource");
}

static const FabResource *link_of(FabComponent *component, unsigned index)
{
    return resource(FAB_RESOURCE_LINK, component,
                    fab_component_port(component, index));
}

static void assert_share(uint32_t share, double want, double within)
{
    double got = (double)share / MILLION;

    ck_assert_msg(got >= want - within && got <= want + within,
                  "a share of %g, not %g within %g", got, want, within);
}

static void assert_limits(FabResourceKind kind, const FabComponent *component)
{
    g_autofree char *text = exp_bottleneck_text(&found, profile, flows);

    ck_assert_msg(found.kind == EXP_LIMITING_RESOURCE &&
                      found.resource->kind == kind &&
                      found.resource->component == component,
                  "found: %s", text);
}

/* ---- Servers ------------------------------------------------------------ */

START_TEST(writes_as_fast_as_can_be_saturate_their_link)
{
    FabRootParams params = lab_root_params(false);
    FabComponent *host = root_with(&params, 1, 8);
    FabComponent *device = lab_device(fabric, "host.dev");
    FabDmaFlowParams flow = dma(device, FAB_TLP_MWR, host, 4096, 500);

    lab_connect(host, 0, device, 0);
    lab_realize(fabric);
    add(&flow);
    run();
    assert_limits(FAB_RESOURCE_LINK, device);
    assert_share(found.share, 1, 0.005);
    /* An SKP ordered set is one block of 375. */
    assert_share(found.resource->skp, 1.0 / 375, 0.0001);
    ck_assert_uint_eq(found.resource->dllp, 0);
    ck_assert_uint_eq(found.resource->starved, 0);
}
END_TEST

/* dev -- sw2 -- sw1 -- host, where the last link has one lane. */
START_TEST(back_pressure_leads_to_the_slow_link)
{
    FabRootParams params = lab_root_params(false);
    FabComponent *host = root_with(&params, 1, 1);
    FabPortParams wide = finite_port(8), narrow = finite_port(1);
    FabComponent *sw1 =
        fab_switch_new(fabric, "host.sw1", 1, &narrow, &wide, false);
    FabComponent *sw2 =
        fab_switch_new(fabric, "host.sw2", 1, &wide, &wide, false);
    FabComponent *device = lab_device(fabric, "host.dev");
    FabDmaFlowParams flow = dma(device, FAB_TLP_MWR, host, 4096, 500);

    lab_connect(host, 0, sw1, 0);
    lab_connect(sw1, 1, sw2, 0);
    lab_connect(sw2, 1, device, 0);
    lab_realize(fabric);
    add(&flow);
    run();
    assert_limits(FAB_RESOURCE_LINK, sw1);
    ck_assert_ptr_eq(found.resource->port, fab_component_port(sw1, 0));
    assert_share(found.share, 1, 0.01);
    /* The links before it have eight lanes: they send for 1/8 of the time, and
     * wait for credits otherwise. */
    assert_share(link_of(device, 0)->tlp, 1.0 / 8, 0.01);
    assert_share(link_of(device, 0)->starved, 7.0 / 8, 0.03);
    assert_share(link_of(sw2, 0)->starved, 7.0 / 8, 0.03);
    ck_assert_ptr_eq(link_of(device, 0)->cause, found.resource);
    ck_assert_ptr_eq(link_of(sw2, 0)->cause, found.resource);
}
END_TEST

START_TEST(slow_memory_is_busy)
{
    FabRootParams params = lab_root_params(false);
    FabComponent *host, *device;
    FabDmaFlowParams flow;

    params.memory.bandwidth_bytes_s = 1000000000;
    host = root_with(&params, 1, 8);
    device = lab_device(fabric, "host.dev");
    flow = dma(device, FAB_TLP_MRD, host, 4096, 200);
    lab_connect(host, 0, device, 0);
    lab_realize(fabric);
    add(&flow);
    run();
    assert_limits(FAB_RESOURCE_MEMORY, host);
    assert_share(found.share, 1, 0.01);
}
END_TEST

/* Every read misses the IOTLB and needs a page walk of 2 us. There is one
 * walker. */
START_TEST(missing_the_iotlb_busies_the_walkers)
{
    FabRootParams params = lab_root_params(true);
    FabComponent *host, *device;
    FabDmaFlowParams flow;

    params.iommu.walks = 1;
    params.iommu.walk = 2 * SIM_US;
    host = root_with(&params, 1, 8);
    device = lab_device(fabric, "host.dev");
    flow = dma(device, FAB_TLP_MRD, host, 4096, 300);
    flow.working_set_bytes = 4 << 20;
    lab_connect(host, 0, device, 0);
    lab_realize(fabric);
    add(&flow);
    run();
    assert_limits(FAB_RESOURCE_WALKERS, host);
    assert_share(found.share, 1, 0.02);
}
END_TEST

/* ---- Windows ------------------------------------------------------------ */

START_TEST(few_tags_are_all_in_use)
{
    FabRootParams root = lab_root_params(false);
    FabEndpointParams params = lab_device_params();
    FabComponent *host = root_with(&root, 1, 8), *device;
    FabDmaFlowParams flow;
    FabFlowResult result;
    double round_trip;

    params.reads = 2;
    device = device_with("host.dev", &params);
    flow = dma(device, FAB_TLP_MRD, host, 4096, 200);
    lab_connect(host, 0, device, 0);
    lab_realize(fabric);
    fab_flow_result(add(&flow), &result);
    run();
    assert_limits(FAB_RESOURCE_TAGS, device);
    assert_share(found.share, 1, 0.02);
    /* Little queueing: two reads of 512 B are under way. */
    fab_flow_result(flows->pdata[0], &result);
    round_trip =
        2.0 * 512 * (double)(result.end - result.begin) / (double)result.bytes;
    ck_assert_double_ge(found.resource->hold, round_trip * 0.98);
    ck_assert_double_le(found.resource->hold, round_trip * 1.02);
}
END_TEST

/* A read has a tag of the root for a part of the time that it has a tag of the
 * device. The tags of both are all in use; the root's are the bottleneck. */
START_TEST(forwarded_reads_wait_for_tags_of_the_root)
{
    FabRootParams params = lab_root_params(false);
    FabComponent *host, *reader, *read;
    FabDmaFlowParams flow;

    params.forwarded_reads = 2;
    host = root_with(&params, 2, 8);
    reader = lab_device(fabric, "host.reader");
    read = lab_device(fabric, "host.read");
    flow = dma(reader, FAB_TLP_MRD, read, 4096, 100);
    lab_connect(host, 0, reader, 0);
    lab_connect(host, 1, read, 0);
    lab_realize(fabric);
    add(&flow);
    run();
    assert_limits(FAB_RESOURCE_FORWARD_TAGS, host);
    assert_share(found.share, 1, 0.03);
    assert_share(resource(FAB_RESOURCE_TAGS, reader, NULL)->full, 1, 0.1);
}
END_TEST

START_TEST(proxied_reads_wait_for_tags_of_the_ntb)
{
    FabPortParams port = lab_port_params();
    FabNtbParams params = lab_ntb_params();
    FabRoot *near = lab_root(fabric, "near", 2, false);
    FabRoot *far = lab_root(fabric, "far", 1, false);
    FabComponent *device = lab_device(fabric, "near.dev");
    FabComponent *ntb = lab_ntb(fabric, "near.ntb", 1), *far_ntb;
    FabDmaFlowParams flow;

    params.tags = 2;
    far_ntb = fab_ntb_component(
        fab_ntb_new(fabric, "far.ntb", 1, &port, &port, &params));
    lab_connect(fab_root_component(near), 0, device, 0);
    lab_connect(fab_root_component(near), 1, ntb, 0);
    lab_connect(fab_root_component(far), 0, far_ntb, 0);
    lab_connect(ntb, 1, far_ntb, 1);
    lab_realize(fabric);
    flow = dma(device, FAB_TLP_MRD, fab_root_component(far), 4096, 100);
    add(&flow);
    run();
    assert_limits(FAB_RESOURCE_NTB_TAGS, far_ntb);
    ck_assert_uint_eq(found.resource->size, 2);
    assert_share(found.share, 1, 0.1);
}
END_TEST

/* A buffer of one posted TLP, and credits that take a microsecond to return. */
START_TEST(a_small_buffer_is_its_own_cause)
{
    FabRootParams params = lab_root_params(false);
    FabComponent *host = root_with(&params, 1, 8);
    FabPortParams port = finite_port(8);
    FabComponent *sw, *device = lab_device(fabric, "host.dev");
    FabDmaFlowParams flow = dma(device, FAB_TLP_MWR, host, 4096, 50);

    port.credits.header[FAB_CLASS_P] = 1;
    port.credit_latency = SIM_US;
    sw = fab_switch_new(fabric, "host.sw", 1, &port, &port, false);
    lab_connect(host, 0, sw, 0);
    lab_connect(sw, 1, device, 0);
    lab_realize(fabric);
    add(&flow);
    run();
    assert_limits(FAB_RESOURCE_BUFFER, sw);
    ck_assert_ptr_eq(found.resource->port, fab_component_port(sw, 1));
    ck_assert_ptr_eq(link_of(device, 0)->cause, found.resource);
    ck_assert_uint_gt(link_of(device, 0)->lacks[FAB_CLASS_P], MILLION / 2);
}
END_TEST

/* ---- Limits that are known by construction ------------------------------ */

/* The limits of one device's reads. */
typedef enum Part {
    TAGS,
    FLIGHT,
    HEADERS,
    MEMORY,
    WIDTH,
    PARTS
} Part;

static const FabResourceKind part_kinds[PARTS] = {
    FAB_RESOURCE_TAGS,   FAB_RESOURCE_FLIGHT, FAB_RESOURCE_BUFFER,
    FAB_RESOURCE_MEMORY, FAB_RESOURCE_LINK,
};

#define READ_BYTES 512

/*
 * Each part allows so many GB/s, if the others have plenty. A read takes about
 * 2.35 us: 2 us in memory, two ports of 100 ns, and its bytes. An NPH credit is
 * back after 3.11 us: a port, memory, the wait of the receiver, and the cable.
 * A lane carries 0.985 GB/s, and 512 of 552 bytes are data.
 */
static double read_rate(const double allowed[PARTS])
{
    FabRootParams root = lab_root_params(false);
    FabEndpointParams params = lab_device_params();
    FabPortParams port = lab_port_params();
    FabRoot *host;
    FabComponent *device;
    FabDmaFlowParams flow;
    FabFlowResult result;

    root.memory.latency = 2 * SIM_US;
    root.memory.reads = 4096;
    root.memory.bandwidth_bytes_s = (uint64_t)(allowed[MEMORY] * 1e9);
    params.tags = params.reads =
        (uint32_t)(allowed[TAGS] * 2350 / READ_BYTES + 0.5);
    params.flight_bytes =
        (uint32_t)(allowed[FLIGHT] * 2350 / READ_BYTES + 0.5) * READ_BYTES;
    port.max_width = 16;
    device = fab_endpoint_component(
        fab_endpoint_new(fabric, "host.dev", &port, &params));
    port.credits.header[FAB_CLASS_NP] =
        (uint32_t)(allowed[HEADERS] * 3110 / READ_BYTES + 0.5);
    port.credit_latency = SIM_US;
    port.max_width = 1;
    while (port.max_width < 16 && port.max_width * 0.91 < allowed[WIDTH]) {
        port.max_width *= 2;
    }
    host = fab_root_new(fabric, "host", &root);
    fab_root_add_port(host, "rp0", &port);
    flow = dma(device, FAB_TLP_MRD, fab_root_component(host), 1 << 18, 4);
    lab_connect(fab_root_component(host), 0, device, 0);
    lab_realize(fabric);
    add(&flow);
    run();
    fab_flow_result(flows->pdata[0], &result);
    return (double)result.bytes / (double)(result.end - result.begin);
}

/* No read waits for a link that is idle most of the time. */
static void assert_no_wait_for_idle_links(void)
{
    unsigned count;
    const FabPlace *places =
        fab_profile_places(profile, flows->pdata[0], &count);

    for (unsigned i = 0; i < count; i++) {
        if (places[i].kind == FAB_PLACE_TURN) {
            const FabResource *link = resource(
                FAB_RESOURCE_LINK, places[i].component, places[i].port);

            ck_assert_msg(places[i].share <= 1.1 * link->busy + 0.02 * MILLION,
                          "%g of the time waits for a link that is busy %g",
                          places[i].share / 1e6, link->busy / 1e6);
        }
    }
}

static double read_rate_anew(const double allowed[PARTS])
{
    double rate;

    setup();
    rate = read_rate(allowed);
    assert_no_wait_for_idle_links();
    return rate;
}

/* The limit is the part that is said to be: twice as much of it reads faster,
 * and twice as much of another does not. _i: the seed */
START_TEST(the_named_limit_is_the_true_one)
{
    Part limit = _i % PARTS, other;
    double allowed[PARTS], rate, more;
    FabResourceKind kind;
    SimRandom random;

    sim_random_init(&random, _i, "limit");
    for (unsigned i = 0; i < PARTS; i++) {
        allowed[i] = 7 + sim_random_below(&random, 8);
    }
    allowed[limit] = limit == WIDTH
                         ? 0.9 + sim_random_below(&random, 2) * 0.9
                         : 1 + sim_random_below(&random, 200) / 100.0;
    other = (limit + 1 + sim_random_below(&random, PARTS - 1)) % PARTS;

    rate = read_rate_anew(allowed);
    kind = found.kind == EXP_LIMITING_RESOURCE ? found.resource->kind
                                               : FAB_RESOURCE_KINDS;
    if (kind != part_kinds[limit]) {
        g_autofree char *text = exp_bottleneck_text(&found, profile, flows);

        ck_abort_msg("part %u, %g GB/s: %s", limit, allowed[limit], text);
    }
    teardown();

    allowed[limit] *= 2;
    more = read_rate_anew(allowed);
    ck_assert_msg(more > 1.4 * rate, "%g, before %g", more, rate);
    teardown();

    allowed[limit] /= 2;
    allowed[other] *= 2;
    more = read_rate_anew(allowed);
    ck_assert_msg(more < 1.03 * rate && more > 0.97 * rate,
                  "part %u doubled: %g, before %g", other, more, rate);
    teardown();
}
END_TEST

/* One core stores 64 B in 50 ns, which is a sixth of what the link can carry.
 */
START_TEST(stores_of_a_thread_busy_its_core)
{
    g_autoptr(GError) error = NULL;
    FabRootParams params = lab_root_params(false);
    FabComponent *host, *device = lab_device(fabric, "host.dev");
    FabThreadsFlowParams threads = {
        .direction = FAB_TLP_MWR,
        .target = {.component = device, .bar = 2},
        .threads = 1,
        .outstanding = 1,
        .access_bytes = 64,
        .stride_bytes = 64,
        .count = 4000,
    };
    const FabPlace *places;
    unsigned count;

    params.cpu.mmio_write = 50 * SIM_NS;
    host = root_with(&params, 1, 8);
    threads.host = fab_component_as_root(host);
    lab_connect(host, 0, device, 0);
    lab_realize(fabric);
    g_ptr_array_add(flows,
                    fab_threads_flow_new(fabric, "t", 0, &threads, &error));
    ck_assert_ptr_nonnull(flows->pdata[0]);
    run();
    assert_limits(FAB_RESOURCE_CPU, host);
    assert_share(found.share, 1, 0.01);
    places = fab_profile_places(profile, flows->pdata[0], &count);
    ck_assert_uint_ge(count, 1);
    ck_assert_int_eq(places[0].kind, FAB_PLACE_CPU);
    assert_share(places[0].share, 1, 0.01);
}
END_TEST

/* Two lanes of 2.5 GT/s between ends that can do eight of 8.0 GT/s. The port
 * has no time of its own. */
START_TEST(a_link_below_its_best_is_named_as_such)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;
    FabRootParams params = lab_root_params(false);
    FabComponent *host = root_with(&params, 1, 8);
    FabComponent *device = lab_device(fabric, "host.dev");
    FabDmaFlowParams flow = dma(device, FAB_TLP_MWR, host, 4096, 100);

    ck_assert(
        fab_fabric_connect(host, 0, device, 0, FAB_SPEED_2_5GT, 2, 0, &error));
    lab_realize(fabric);
    add(&flow);
    run();
    assert_limits(FAB_RESOURCE_LINK, device);
    ck_assert_uint_eq(found.resource->slack, 0);
    assert_share(found.resource->degraded, 1, 0.001);
    text = exp_bottleneck_text(&found, profile, flows);
    ck_assert_msg(strstr(text, "trained at 2.5GT/s x2, less than its ends"),
                  "%s", text);
}
END_TEST

/* ---- No bottleneck, or a wait for something else ------------------------- */

/* 88 bytes on the wire each microsecond: 64 of payload, 16 of header and 8 of
 * framing. */
START_TEST(a_low_load_is_limited_by_nothing)
{
    FabRootParams params = lab_root_params(false);
    FabComponent *host = root_with(&params, 1, 8);
    FabComponent *device = lab_device(fabric, "host.dev");
    FabDmaFlowParams flow = dma(device, FAB_TLP_MWR, host, 64, 500);

    flow.arrivals = FAB_ARRIVALS_PERIODIC;
    flow.interval = SIM_US;
    flow.outstanding = 4;
    lab_connect(host, 0, device, 0);
    lab_realize(fabric);
    add(&flow);
    run();
    ck_assert_int_eq(found.kind, EXP_LIMITING_NOTHING);
    ck_assert_ptr_eq(found.resource, link_of(device, 0));
    assert_share(found.resource->tlp, 88 * BYTE_PS / SIM_US, 0.0001);
}
END_TEST

START_TEST(small_copies_are_the_devices_own_time)
{
    g_autoptr(GError) error = NULL;
    FabRootParams params = lab_root_params(false);
    FabComponent *host = root_with(&params, 1, 8);
    FabComponent *device = lab_device(fabric, "host.dev");
    FabCopyFlowParams copy = {
        .device = fab_component_as_endpoint(device),
        .direction = FAB_TLP_MRD,
        .buffer = {.component = host},
        .driver = fab_component_as_root(host),
        .size_bytes = 64,
        .copies = 50,
        .queued = true,
        .command_bytes = 64,
        .setup = 20 * SIM_US,
    };

    lab_connect(host, 0, device, 0);
    lab_realize(fabric);
    g_ptr_array_add(flows, fab_copy_flow_new(fabric, "copy", 0, &copy, &error));
    ck_assert_ptr_nonnull(flows->pdata[0]);
    run();
    ck_assert_int_eq(found.kind, EXP_LIMITING_OWN);
    ck_assert_str_eq(found.step, "set-up");
    /* The rest are two reads of memory: 24 B out, 80 ns, 84 B back, two ports
     * of 100 ns and two times the cable. */
    assert_share(found.share, 20000.0 / (20000 + 2 * (210 + 80 + 14)), 0.01);
}
END_TEST

/* ---- Where the time goes ------------------------------------------------ */

/* One read at a time: 80 ns of memory, 100 ns in each port, 5 ns of cable each
 * way, and the time of its bytes. */
START_TEST(a_reads_time_is_that_of_the_parts)
{
    FabRootParams params = lab_root_params(false);
    FabComponent *host = root_with(&params, 1, 8);
    FabComponent *device = lab_device(fabric, "host.dev");
    FabDmaFlowParams flow = dma(device, FAB_TLP_MRD, host, 64, 2000);
    double whole = 80000 + 2 * (100000 + 5000) + (24 + 84) * BYTE_PS;
    double times[FAB_PLACE_KINDS] = {0};
    const FabPlace *places;
    uint64_t sum = 0;
    unsigned count;

    flow.outstanding = 1;
    lab_connect(host, 0, device, 0);
    lab_realize(fabric);
    add(&flow);
    run();
    places = fab_profile_places(profile, flows->pdata[0], &count);
    for (unsigned i = 0; i < count; i++) {
        times[places[i].kind] += places[i].share * whole / MILLION;
        sum += places[i].share;
    }
    ck_assert_uint_ge(sum, MILLION - count);
    ck_assert_uint_le(sum, MILLION);
    ck_assert_double_eq_tol(times[FAB_PLACE_MEMORY], 80000, 3000);
    ck_assert_double_eq_tol(times[FAB_PLACE_TRANSIT], 200000, 3000);
    ck_assert_double_eq_tol(times[FAB_PLACE_WIRE], 10000, 2000);
    ck_assert_double_eq_tol(times[FAB_PLACE_SERIAL], 108 * BYTE_PS, 2000);
    ck_assert_int_eq(found.kind, EXP_LIMITING_NOTHING);
}
END_TEST

static void small_run(bool looks, FabFlowResult *ret_result)
{
    FabRootParams params = lab_root_params(true);
    FabComponent *host, *device;
    FabDmaFlowParams flow;

    setup();
    host = root_with(&params, 1, 8);
    device = lab_device(fabric, "host.dev");
    flow = dma(device, FAB_TLP_MRD, host, 512, 1000);
    flow.random = true;
    flow.working_set_bytes = 1 << 20;
    flow.arrivals = FAB_ARRIVALS_POISSON;
    flow.interval = 100 * SIM_NS;
    flow.outstanding = 16;
    lab_connect(host, 0, device, 0);
    lab_realize(fabric);
    add(&flow);
    if (looks) {
        run();
    } else {
        ck_assert(fab_flows_run(fabric, SIM_TIME_NONE, NULL));
    }
    fab_flow_result(flows->pdata[0], ret_result);
}

START_TEST(looking_changes_nothing)
{
    FabFlowResult seen, unseen;
    uint64_t sum;

    small_run(true, &seen);
    sum = sim_histogram_sum(seen.latency);
    teardown();
    small_run(false, &unseen);
    ck_assert_int_eq(seen.begin, unseen.begin);
    ck_assert_int_eq(seen.end, unseen.end);
    ck_assert_uint_eq(sum, sim_histogram_sum(unseen.latency));
    teardown();
}
END_TEST

/* ---- A whole scenario --------------------------------------------------- */

#define SCENARIO TOPO_SOURCE_ROOT "/scenarios/teaching/iotlb.yaml"

/* Runs the scenario and returns its CSV. *ret_explained (nullable) gets the CSV
 * of the bottlenecks, and *ret_script the plot script. */
static char *scenario_csv(unsigned threads, char **ret_explained,
                          char **ret_script)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(GPtrArray) changes = topo_changes_new();
    g_autoptr(TopoDescription) description =
        topo_load(SCENARIO, changes, errors);
    g_autoptr(GPtrArray) explained = exp_explained_new();
    g_autoptr(GError) error = NULL;
    ExpPlanOptions options = {.threads = threads,
                              .explained = ret_explained ? explained : NULL};
    g_autoptr(Table) table = NULL, explanation = NULL, bars = NULL;

    ck_assert_ptr_nonnull(description);
    table = exp_plan_run(description, &options, NULL, &error);
    ck_assert_msg(table, "%s", error ? error->message : "");
    if (ret_explained) {
        explanation = exp_explained_table(explained, description);
        bars = exp_explained_bars(explained);
        ck_assert_ptr_nonnull(bars);
        *ret_explained = table_to_csv(explanation);
        *ret_script = rep_waterfall_script(
            "title", bars, exp_explained_segments(), "svg", &error);
        ck_assert_ptr_nonnull(*ret_script);
    }
    return table_to_csv(table);
}

START_TEST(explaining_changes_no_result_and_threads_no_byte)
{
    g_autofree char *one = NULL, *three = NULL, *one_script = NULL,
                    *three_script = NULL;
    g_autofree char *plain = scenario_csv(1, NULL, NULL);
    g_autofree char *first = scenario_csv(1, &one, &one_script);
    g_autofree char *second = scenario_csv(3, &three, &three_script);

    ck_assert_str_eq(plain, first);
    ck_assert_str_eq(plain, second);
    ck_assert_str_eq(one, three);
    ck_assert_str_eq(one_script, three_script);
    ck_assert_ptr_nonnull(strstr(one, "page walkers of host"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exp_explain");
    TCase *tcase = tcase_create("found"), *alone = tcase_create("alone");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, writes_as_fast_as_can_be_saturate_their_link);
    tcase_add_test(tcase, back_pressure_leads_to_the_slow_link);
    tcase_add_test(tcase, slow_memory_is_busy);
    tcase_add_test(tcase, missing_the_iotlb_busies_the_walkers);
    tcase_add_test(tcase, few_tags_are_all_in_use);
    tcase_add_test(tcase, forwarded_reads_wait_for_tags_of_the_root);
    tcase_add_test(tcase, proxied_reads_wait_for_tags_of_the_ntb);
    tcase_add_test(tcase, a_small_buffer_is_its_own_cause);
    tcase_add_test(tcase, stores_of_a_thread_busy_its_core);
    tcase_add_test(tcase, a_link_below_its_best_is_named_as_such);
    tcase_add_test(tcase, a_low_load_is_limited_by_nothing);
    tcase_add_test(tcase, small_copies_are_the_devices_own_time);
    tcase_add_test(tcase, a_reads_time_is_that_of_the_parts);
    tcase_add_loop_test(alone, the_named_limit_is_the_true_one, 0, 4 * PARTS);
    tcase_add_test(alone, looking_changes_nothing);
    tcase_add_test(alone, explaining_changes_no_result_and_threads_no_byte);
    suite_add_tcase(suite, tcase);
    suite_add_tcase(suite, alone);
    return run_suite(suite);
}
