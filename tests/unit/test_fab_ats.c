/* SPDX-License-Identifier: MIT */
/*
 * Invariants of Address Translation Services: with a translation at hand, a
 * request takes exactly the time that it takes without an IOMMU; without one,
 * it takes a round trip and the IOMMU's time more. Peer-to-peer stays below a
 * switch where ACS lets translated requests through, and only there. A root
 * accepts translated addresses of no device but those with ATS. An invalidation
 * ends when nothing uses the old translation any more. Hits and misses are
 * those of a naive cache.
 */
#include "fab_fixture.h"

#include "fab_ats_priv.h"
#include "fab_lab.h"
#include "fab_observe.h"
#include "fab_route.h"
#include "../suite.h"

/* Wire times on the lab's links, 8.0GT/s x8: 65/512 ns a byte. */
#define WIRE(bytes)    ((bytes)*65 * SIM_NS / 512)
/* From the end of a TLP on the wire until the far component acts on it. */
#define ARRIVAL        (LAB_PROPAGATION + LAB_LATENCY)
/* A TLP up and one down, through the switch, which cuts through. */
#define TRIP(up, down) (WIRE(up) + WIRE(down) + 4 * ARRIVAL)

static FabFabric *fabric;
static FabRoot *root;
static FabComponent *sw, *device[2];

/* ---- Rig --------------------------------------------------------------- */

typedef struct Setup {
    bool iommu, ats, acs;
    FabDirect direct;
    FabAtsParams params; /* of both devices; entries 0: no ATC */
    SimTime invalidate;
    uint64_t page;
} Setup;

static const Setup usual = {
    .iommu = true,
    .ats = true,
    .params = {.entries = 8, .requests = 4, .writes = 4},
};

/* A host with a switch, below which are two devices. */
static void rig_make(const Setup *setup)
{
    FabRootParams params = lab_root_params(setup->iommu);
    FabPortParams port = lab_port_params();
    FabEndpointParams end = lab_device_params();

    params.iommu.ats = setup->ats;
    params.iommu.invalidate = setup->invalidate;
    params.iommu.page_bytes = setup->page ? setup->page : KIB(4);
    end.ats = setup->params;
    fabric = lab_fabric_new(7);
    root = fab_root_new(fabric, "a", &params);
    fab_root_add_port(root, "rp0", &port);
    sw = fab_switch_new(fabric, "a.sw", 2, &port, &port, setup->acs);
    fab_switch_set_direct(sw, setup->direct);
    lab_connect(fab_root_component(root), 0, sw, 0);
    for (unsigned i = 0; i < 2; i++) {
        g_autofree char *name = g_strdup_printf("a.d%u", i);

        device[i] =
            fab_endpoint_component(fab_endpoint_new(fabric, name, &port, &end));
        lab_connect(sw, 1 + i, device[i], 0);
    }
    lab_realize(fabric);
}

static void rig_free(void)
{
    lab_fabric_free(fabric);
}

static SimTime now(void)
{
    return sim_engine_now(fab_fabric_engine(fabric));
}

static void run(void)
{
    sim_engine_run(fab_fabric_engine(fabric));
}

static FabBusAddr map(FabComponent *from, FabComponent *to, FabBusAddr addr,
                      uint64_t bytes)
{
    g_autoptr(GError) error = NULL;
    FabBusAddr mapped;

    ck_assert_msg(fab_route_map(from, to, addr, bytes, &mapped, &error), "%s",
                  error ? error->message : "");
    return mapped;
}

/* Memory of the host, mapped for device 0. */
static FabBusAddr memory(uint64_t bytes, FabBusAddr *ret_host)
{
    ck_assert(fab_root_alloc(root, bytes, MAX(bytes, KIB(4)), ret_host));
    return map(device[0], fab_root_component(root), *ret_host, bytes);
}

typedef struct Order {
    FabDma dma;
    SimTime end; /* -1: not yet */
} Order;

static void order_done(FabDma *dma)
{
    SIM_CONTAINER_OF(dma, Order, dma)->end = now();
}

static void order(Order *self, FabTlpType type, FabBusAddr addr, uint64_t bytes)
{
    *self = (Order){.dma = {.type = type,
                            .addr = addr,
                            .size_bytes = bytes,
                            .done = order_done},
                    .end = -1};
    fab_endpoint_dma(fab_component_as_endpoint(device[0]), &self->dma);
}

/* Time of a DMA of device 0 from or to @addr. */
static SimTime dma_time(FabTlpType type, FabBusAddr addr, uint64_t bytes)
{
    SimTime begin = now();
    Order self;

    order(&self, type, addr, bytes);
    run();
    ck_assert_int_eq(self.dma.status, FAB_STATUS_SC);
    return self.end - begin;
}

static const FabAtcCounters *atc(void)
{
    return fab_endpoint_atc_counters(fab_component_as_endpoint(device[0]));
}

/* ---- Times ------------------------------------------------------------- */

/* Reads from memory: without an IOMMU, then with ATS, cold and warm. */
START_TEST(a_miss_costs_a_round_trip_and_a_hit_nothing)
{
    Setup setup = usual;
    FabBusAddr addr, host;
    SimTime without, cold, warm;
    /* Translation Request and its completion, through the switch. */
    SimTime extra = TRIP(8 + 16, 8 + 12 + 8) + 200 * SIM_NS; /* the walk */

    setup.iommu = false;
    rig_make(&setup);
    addr = memory(KIB(64), &host);
    without = dma_time(FAB_TLP_MRD, addr, 512);
    rig_free();
    setup.iommu = true;
    setup.params.hit = _i * 17 * SIM_NS;
    rig_make(&setup);
    addr = memory(KIB(64), &host);
    cold = dma_time(FAB_TLP_MRD, addr, 512);
    /* Each TLP on the way is cut to a whole ps. */
    ck_assert_int_le(ABS(cold - without - extra - setup.params.hit), 8);
    warm = dma_time(FAB_TLP_MRD, addr + 512, 512);
    ck_assert_int_le(ABS(warm - without - setup.params.hit), 1);
    ck_assert_uint_eq(atc()->hits, 1);
    ck_assert_uint_eq(atc()->misses, 1);
    ck_assert_uint_eq(atc()->requests, 1);
    /* The root's IOTLB has seen the Translation Request alone. */
    ck_assert_uint_eq(fab_root_iommu_counters(root)->misses, 1);
    ck_assert_uint_eq(fab_root_iommu_counters(root)->hits, 0);
    rig_free();
}
END_TEST

/* All requests of a large read in one page of the tables need one translation.
 * _i: 4 KiB, 2 MiB, 1 GiB. */
START_TEST(the_size_of_a_page_comes_with_its_translation)
{
    static const uint64_t pages[] = {KIB(4), MIB(2), GIB(1)};
    Setup setup = usual;
    FabBusAddr addr, host;

    setup.page = pages[_i];
    rig_make(&setup);
    addr = memory(MIB(2), &host);
    if (_i == 2) {
        ck_assert(fab_root_alloc(root, GIB(1), GIB(1), &host));
        addr = map(device[0], fab_root_component(root), host, GIB(1));
    }
    dma_time(FAB_TLP_MRD, addr, 64);
    dma_time(FAB_TLP_MWR, addr + KIB(4), KIB(512) - KIB(4));
    dma_time(FAB_TLP_MRD, addr + MIB(1), KIB(64));
    ck_assert_uint_eq(fab_root_iommu_counters(root)->walks,
                      _i == 0 ? 128 + 16 : 1);
    ck_assert_uint_eq(atc()->requests, _i == 0 ? 128 + 16 : 1);
    rig_free();
}
END_TEST

/* ---- Peer-to-peer ------------------------------------------------------ */

static uint64_t sent_by_root(FabClass cls)
{
    return fab_port_counters(fab_component_port(fab_root_component(root), 0))
        ->tlps_sent[cls];
}

static FabBusAddr peer(void)
{
    return map(device[0], device[1], fab_component_bars(device[1])[2].addr,
               KIB(64));
}

/* Reads and writes of the other device's memory. The first one of each page
 * asks for its translation; the times are those of the second one. */
START_TEST(direct_translated_p2p_stays_below_the_switch)
{
    Setup setup = {.iommu = false};
    SimTime write, read;
    uint64_t before;

    rig_make(&setup);
    write = dma_time(FAB_TLP_MWR, peer(), KIB(4));
    read = dma_time(FAB_TLP_MRD, peer(), 512);
    rig_free();
    for (FabDirect direct = FAB_DIRECT_OFF; direct <= FAB_DIRECT_ON; direct++) {
        SimTime time;
        FabBusAddr addr;

        setup = usual;
        setup.acs = true;
        setup.direct = direct;
        rig_make(&setup);
        addr = peer();
        dma_time(FAB_TLP_MWR, addr, 64);
        before = sent_by_root(FAB_CLASS_P);
        /* Carries of byte times may differ. */
        time = dma_time(FAB_TLP_MWR, addr, KIB(4));
        ck_assert_int_le(ABS(time - write), 1);
        ck_assert_uint_eq(
            fab_endpoint_counters(fab_component_as_endpoint(device[1]))
                ->served_bytes,
            KIB(4) + 64);
        /* The root forwards in pieces as large as they come. */
        ck_assert_uint_eq(sent_by_root(FAB_CLASS_P) - before,
                          direct == FAB_DIRECT_OFF ? 16 : 0);
        before = sent_by_root(FAB_CLASS_CPL);
        time = dma_time(FAB_TLP_MRD, addr, 512);
        if (direct == FAB_DIRECT_ON) {
            ck_assert_int_le(ABS(time - read), 1);
            ck_assert_uint_eq(sent_by_root(FAB_CLASS_CPL), before);
        } else if (direct == FAB_DIRECT_REQUESTS) {
            /* Its two completions go by the root. */
            ck_assert_uint_eq(sent_by_root(FAB_CLASS_CPL), before + 2);
            ck_assert_int_gt(time, read + 200 * SIM_NS);
        }
        /* Nobody has translated a translated address. */
        ck_assert_uint_eq(fab_root_iommu_counters(root)->misses +
                              fab_root_iommu_counters(root)->hits,
                          1);
        rig_free();
    }
}
END_TEST

/* Without ATS, ACS sends everything up, whatever the switch could do. */
START_TEST(untranslated_requests_are_redirected)
{
    Setup setup = usual;

    setup.acs = true;
    setup.direct = FAB_DIRECT_ON;
    setup.ats = false;
    rig_make(&setup);
    ck_assert_ptr_null(atc());
    dma_time(FAB_TLP_MWR, peer(), KIB(4));
    ck_assert_uint_eq(sent_by_root(FAB_CLASS_P), 16);
    ck_assert_uint_gt(fab_root_iommu_counters(root)->hits, 0);
    rig_free();
}
END_TEST

/* ---- Access control ---------------------------------------------------- */

static FabTlp *claim(FixtureEnd *end, FabTlpType type, FabBusAddr addr,
                     FabAt at)
{
    FabTlp *tlp = fixture_tlp(end, type, addr, 8);

    tlp->at = at;
    return tlp;
}

/* A device without ATS can neither write to an address that it has chosen, nor
 * ask for translations. */
START_TEST(a_root_blocks_devices_without_ats)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabRootParams params = fixture_root();
    FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 8, 64, 512);
    FixtureHost host;
    FabBusAddr addr;

    params.iommu.enabled = true;
    params.iommu.ats = true;
    fixture_host_init(&host, fixture, &params, &port);
    ck_assert(fab_root_alloc(host.root, KIB(4), KIB(4), &addr));
    fixture_send(host.dev,
                 claim(host.dev, FAB_TLP_MWR, addr, FAB_AT_TRANSLATED));
    fixture_send(host.dev,
                 claim(host.dev, FAB_TLP_MRD, addr, FAB_AT_TRANSLATED));
    fixture_send(host.dev, claim(host.dev, FAB_TLP_MRD, addr, FAB_AT_REQUEST));
    fixture_run(fixture);
    ck_assert_uint_eq(fab_root_counters(host.root)->ats_blocked, 3);
    ck_assert_uint_eq(fab_root_counters(host.root)->memory_written_bytes, 0);
    ck_assert_uint_eq(host.dev->log->len, 2);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_uint_eq(fixture_log(host.dev, i)->tlp.status, FAB_STATUS_UR);
    }
    fixture_assert_drained(fixture);
}
END_TEST

/* Addresses that are not mapped: the root says so, and the request fails as it
 * does without ATS. The cache keeps nothing of it. */
START_TEST(no_translation_is_a_fault)
{
    FabBusAddr addr, host;
    Order self;

    rig_make(&usual);
    addr = memory(KIB(4), &host) + MIB(512);
    for (unsigned i = 0; i < 3; i++) {
        order(&self, FAB_TLP_MRD, addr, 64);
        run();
        ck_assert_int_eq(self.dma.status, FAB_STATUS_UR);
        ck_assert_uint_eq(atc()->requests, i + 1);
        ck_assert_uint_eq(fab_root_iommu_counters(root)->faults, i + 1);
    }
    rig_free();
}
END_TEST

/* The bits of ranges, from the table of s10.2.3.2: S is bit 11, and the lowest
 * bit from 12 on that is 0 gives the size. */
START_TEST(ranges_have_the_format_of_the_specification)
{
    static const struct {
        unsigned bits;
        uint64_t range;
    } rows[] = {
        {12, 0x7f00000000}, {13, 0x7f00000800}, {14, 0x7f00001800},
        {15, 0x7f00003800}, {21, 0x7f000ff800}, {30, 0x7f1ffff800},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        ck_assert_uint_eq(fab_ats_range(0x7f00000000, rows[i].bits),
                          rows[i].range);
        ck_assert_uint_eq(fab_ats_range_bits(rows[i].range), rows[i].bits);
        ck_assert_uint_eq(fab_ats_range_base(rows[i].range), 0x7f00000000);
    }
    ck_assert_uint_eq(fab_ats_entry(0x7f00234000, 1), 0x7f002ff803);
}
END_TEST

/* ---- Order ------------------------------------------------------------- */

typedef struct Seen {
    char text[16];
    unsigned count;
} Seen;

static void seen(void *owner, FabBusAddr addr, uint64_t data)
{
    Seen *self = owner;

    self->text[self->count++] = 'a' + (char)data;
}

static void order_write(Order *self, FabBusAddr addr, uint64_t data)
{
    *self = (Order){.dma = {.type = FAB_TLP_MWR,
                            .addr = addr,
                            .size_bytes = 8,
                            .data = data,
                            .done = order_done},
                    .end = -1};
    fab_endpoint_dma(fab_component_as_endpoint(device[0]), &self->dma);
}

/* A write whose translation is at hand, an interrupt, and a read wait for a
 * write that lacks its translation. A read that lacks its own holds up nobody.
 */
START_TEST(posted_requests_keep_their_order)
{
    FabBusAddr warm, cold, host[2];
    Seen log = {.count = 0};
    Order self[5];

    rig_make(&usual);
    warm = memory(KIB(4), &host[0]);
    cold = memory(KIB(64), &host[1]);
    dma_time(FAB_TLP_MRD, warm, 64);
    fab_root_watch(root, host[0], KIB(4), seen, &log);
    fab_root_watch(root, host[1], KIB(64), seen, &log);
    fab_root_watch(root, FAB_MSI_BASE, 4, seen, &log);
    order_write(&self[0], cold, 0);
    order_write(&self[1], warm, 1);
    order_write(&self[2], FAB_MSI_BASE, 2);
    order(&self[3], FAB_TLP_MRD, warm, 64);
    run();
    ck_assert_str_eq(log.text, "abc");
    ck_assert_int_gt(self[3].end, self[2].end);
    ck_assert_int_ge(self[1].end, self[0].end);
    order(&self[3], FAB_TLP_MRD, cold + KIB(8), 64);
    order(&self[4], FAB_TLP_MRD, warm, 64);
    order_write(&self[1], warm, 3);
    run();
    ck_assert_int_lt(self[4].end, self[3].end);
    ck_assert_int_lt(self[1].end, self[3].end);
    ck_assert_str_eq(log.text, "abcd");
    rig_free();
}
END_TEST

/* ---- Invalidation ------------------------------------------------------ */

typedef struct Ended {
    SimTime time;
    unsigned number;        /* of those that ended before */
    uint64_t written_bytes; /* to the memory until then */
} Ended;

static unsigned ended_count;

static void invalidated(FabInvalidation *invalidation)
{
    Ended *ended = invalidation->owner;

    *ended = (Ended){now(), ended_count++,
                     fab_root_counters(root)->memory_written_bytes};
}

static void invalidate(FabInvalidation *self, Ended *ended, FabBusAddr iova,
                       uint64_t bytes)
{
    *self = (FabInvalidation){
        .iova = iova, .size_bytes = bytes, .done = invalidated, .owner = ended};
    *ended = (Ended){.time = -1};
    fab_root_invalidate(root, self);
}

/* An idle device answers after the way there and back. Then its translation is
 * gone, and others are not. */
START_TEST(an_invalidation_takes_the_way_there_and_back)
{
    Setup setup = usual;
    FabInvalidation self;
    FabBusAddr addr, host;
    SimTime begin, expected;
    Ended ended;

    setup.invalidate = 600 * SIM_NS;
    setup.params.invalidate = 50 * SIM_NS;
    rig_make(&setup);
    addr = memory(KIB(64), &host);
    dma_time(FAB_TLP_MRD, addr, 64);
    dma_time(FAB_TLP_MRD, addr + KIB(16), 64);
    begin = now();
    invalidate(&self, &ended, addr, KIB(4));
    run();
    expected = 650 * SIM_NS + TRIP(8 + 16, 8 + 16 + 8);
    /* Both devices get a message over one link, one after the other. */
    ck_assert_int_ge(ended.time - begin, expected - 8);
    ck_assert_int_le(ended.time - begin,
                     expected + WIRE(8 + 16 + 8) + WIRE(8 + 16) + 8);
    ck_assert_uint_eq(atc()->invalidations, 1);
    ck_assert_uint_eq(atc()->requests, 2);
    dma_time(FAB_TLP_MRD, addr + KIB(16), 64);
    ck_assert_uint_eq(atc()->requests, 2);
    dma_time(FAB_TLP_MRD, addr, 64);
    ck_assert_uint_eq(atc()->requests, 3);
    rig_free();
}
END_TEST

/* The order of events when the mapping changes under reads and writes: no
 * invalidation ends before they have. _i: reads, writes. */
START_TEST(an_invalidation_waits_for_what_uses_the_translation)
{
    FabTlpType type = _i ? FAB_TLP_MWR : FAB_TLP_MRD;
    FabInvalidation self[2];
    FabBusAddr addr, other, host[2];
    Ended ended[2];
    Order data;

    rig_make(&usual);
    addr = memory(KIB(4), &host[0]);
    other = memory(KIB(4), &host[1]);
    dma_time(FAB_TLP_MRD, addr, 64);
    dma_time(FAB_TLP_MRD, other, 64);
    order(&data, type, addr, KIB(4));
    /* The first requests have left, and no answer is back. */
    sim_engine_run_until(fab_fabric_engine(fabric), now() + 20 * SIM_NS);
    fab_root_iommu_clear(root, 0, addr, KIB(4));
    invalidate(&self[0], &ended[0], addr, KIB(4));
    invalidate(&self[1], &ended[1], other, KIB(4));
    run();
    ck_assert_int_ge(data.end, 0);
    if (type == FAB_TLP_MRD) {
        ck_assert_int_ge(ended[0].time, data.end);
    } else {
        /* Nothing that used the old translation comes later. */
        ck_assert_uint_gt(ended[0].written_bytes, 0);
        ck_assert_uint_eq(fab_root_counters(root)->memory_written_bytes,
                          ended[0].written_bytes);
    }
    /* They end in their order, although nothing uses `other`. */
    ck_assert_int_ge(ended[1].time, ended[0].time);
    /* The device uses the translation no more. */
    order(&data, type, addr, 64);
    run();
    if (type == FAB_TLP_MRD) {
        ck_assert_int_eq(data.dma.status, FAB_STATUS_UR);
    }
    ck_assert_uint_ge(fab_root_iommu_counters(root)->faults, 1);
    rig_free();
}
END_TEST

/* More than the 32 that ITags allow. All end, in their order. */
START_TEST(itags_limit_what_is_under_way)
{
    enum {
        COUNT = 200
    };
    FabInvalidation self[COUNT];
    FabBusAddr addr, host;
    Ended ended[COUNT];

    rig_make(&usual);
    addr = memory(KIB(64), &host);
    ended_count = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        invalidate(&self[i], &ended[i], addr + KIB(4) * (i % 16), KIB(4));
    }
    run();
    for (unsigned i = 0; i < COUNT; i++) {
        ck_assert_uint_eq(ended[i].number, i);
    }
    ck_assert_uint_eq(atc()->invalidations, COUNT);
    /* 32 round trips of messages share one way: 200 need seven ways at least.
     */
    ck_assert_int_ge(ended[COUNT - 1].time, 6 * TRIP(8 + 16, 8 + 16 + 8));
    rig_free();
}
END_TEST

/* A translation that comes back after its page was unmapped is of no use. */
START_TEST(a_late_translation_is_asked_for_again)
{
    FabBusAddr addr, host;
    Order self;

    rig_make(&usual);
    addr = memory(KIB(4), &host);
    order(&self, FAB_TLP_MRD, addr, 64);
    /* The request is on its way up, and the answer on its way down, at some of
     * these times. */
    for (unsigned i = 0; i < 20; i++) {
        sim_engine_run_until(fab_fabric_engine(fabric), now() + 30 * SIM_NS);
        if (i == (unsigned)_i) {
            fab_root_iommu_unmap(root, 0, addr, KIB(4));
        }
    }
    run();
    ck_assert(self.dma.status == FAB_STATUS_UR ||
              (self.dma.status == FAB_STATUS_SC && atc()->requests == 1));
    order(&self, FAB_TLP_MRD, addr, 64);
    run();
    ck_assert_int_eq(self.dma.status, FAB_STATUS_UR);
    rig_free();
}
END_TEST

/* ---- A naive cache ------------------------------------------------------ */

typedef struct Page {
    FabBusAddr iova;
    uint64_t bytes;
    bool mapped;
    uint64_t used; /* when; 0: not in the cache */
} Page;

enum {
    PAGES = 40
};

static void naive_use(Page *pages, Page *page, uint32_t entries, uint32_t ways,
                      uint64_t when)
{
    uint64_t sets = ways ? entries / ways : 1;
    uint32_t held = 0;
    Page *oldest = NULL;

    for (unsigned i = 0; i < PAGES && page->used == 0; i++) {
        Page *other = &pages[i];

        if (other->used > 0 && other->iova / other->bytes % sets ==
                                   page->iova / page->bytes % sets) {
            held++;
            oldest = !oldest || other->used < oldest->used ? other : oldest;
        }
    }
    if (held == (ways ? ways : entries)) {
        oldest->used = 0;
    }
    page->used = when;
}

/* One access after the other, with changes of mappings in between, some of them
 * by way of messages. _i: associativity. */
START_TEST(hits_are_those_of_a_naive_cache)
{
    static const uint32_t ways[] = {0, 1, 2, 4};
    Setup setup = usual;
    uint64_t hits = 0, misses = 0, failed = 0;
    GRand *rand = g_rand_new_with_seed(5 + _i);
    FabInvalidation self;
    Page pages[PAGES] = {{0}};
    Ended ended;

    setup.params.ways = ways[_i];
    setup.page = MIB(2);
    rig_make(&setup);
    for (unsigned i = 0; i < PAGES; i++) {
        Page *page = &pages[i];

        page->bytes = i % 2 ? MIB(2) : KIB(4);
        ck_assert(
            fab_root_take_iova(root, page->bytes, MIB(2), &page->iova, NULL));
        page->iova += i % 2 ? 0 : KIB(4) * (i % 7);
    }
    for (unsigned i = 1; i < 4000; i++) {
        Page *page = &pages[g_rand_int_range(rand, 0, PAGES)];
        bool is_read = g_rand_boolean(rand);
        Order access;

        if (g_rand_int_range(rand, 0, 8) == 0) {
            if (!page->mapped) {
                ck_assert(fab_root_iommu_map(root, 0, page->iova,
                                             GIB(4) + MIB(2) * (uint64_t)i,
                                             page->bytes, NULL));
            } else if (g_rand_boolean(rand)) {
                fab_root_iommu_unmap(root, 0, page->iova, page->bytes);
            } else {
                fab_root_iommu_clear(root, 0, page->iova, page->bytes);
                invalidate(&self, &ended, page->iova, page->bytes);
                run();
                ck_assert_int_ge(ended.time, 0);
            }
            page->mapped = !page->mapped;
            page->used = 0;
        }
        order(&access, is_read ? FAB_TLP_MRD : FAB_TLP_MWR,
              page->iova + 64 * g_rand_int_range(rand, 0, 60), 64);
        run();
        hits += page->used > 0;
        misses += page->used == 0;
        failed += !page->mapped;
        if (is_read) {
            ck_assert_int_eq(access.dma.status,
                             page->mapped ? FAB_STATUS_SC : FAB_STATUS_UR);
        }
        if (page->mapped) {
            naive_use(pages, page, setup.params.entries, ways[_i], i);
        }
        ck_assert_uint_eq(atc()->hits, hits);
        ck_assert_uint_eq(atc()->misses, misses);
        ck_assert_uint_eq(fab_root_iommu_counters(root)->faults, failed);
    }
    ck_assert_uint_gt(hits, 300);
    ck_assert_uint_gt(failed, 300);
    g_rand_free(rand);
    rig_free();
}
END_TEST

static void find_requests(void *data, const FabResourceState *state)
{
    if (state->kind == FAB_RESOURCE_TRANSLATIONS) {
        *(FabResourceState *)data = *state;
    }
}

static void count_waiter(void *data, const FabWaiter *waiter)
{
    *(unsigned *)data += waiter->place == FAB_PLACE_ATC;
}

/* Reads of pages in turn, far more than the cache holds, with @requests
 * translations at a time: each takes a round trip and a walk. */
START_TEST(requests_limit_cold_reads)
{
    enum {
        COUNT = 512
    };
    Setup setup = usual;
    SimTime trip = TRIP(8 + 16, 8 + 12 + 8) + 200 * SIM_NS;
    Order reads[COUNT];
    FabResourceState state = {.used = 0};
    FabBusAddr addr, host;
    unsigned waiting = 0;
    SimTime last = 0;

    setup.params.requests = 1 + _i; /* fewer than walkers */
    rig_make(&setup);
    addr = memory(KIB(4) * COUNT, &host);
    for (unsigned i = 0; i < COUNT; i++) {
        order(&reads[i], FAB_TLP_MRD, addr + KIB(4) * i, 64);
    }
    sim_engine_run_until(fab_fabric_engine(fabric), trip / 2);
    fab_observe_resources(device[0], find_requests, &state);
    ck_assert_uint_eq(state.used, setup.params.requests);
    ck_assert(state.is_wanted);
    /* The engine has 32 tags, whose reads all wait here. */
    fab_observe_waiters(device[0], count_waiter, &waiting);
    ck_assert_uint_eq(waiting, 32);
    run();
    for (unsigned i = 0; i < COUNT; i++) {
        ck_assert_int_eq(reads[i].dma.status, FAB_STATUS_SC);
        last = MAX(last, reads[i].end);
    }
    fixture_assert_near(last, (double)COUNT / setup.params.requests * trip,
                        0.02);
    rig_free();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_ats");
    TCase *tcase = tcase_create("ats");

    tcase_add_loop_test(tcase, a_miss_costs_a_round_trip_and_a_hit_nothing, 0,
                        2);
    tcase_add_loop_test(tcase, the_size_of_a_page_comes_with_its_translation, 0,
                        3);
    tcase_add_test(tcase, direct_translated_p2p_stays_below_the_switch);
    tcase_add_test(tcase, untranslated_requests_are_redirected);
    tcase_add_test(tcase, a_root_blocks_devices_without_ats);
    tcase_add_test(tcase, no_translation_is_a_fault);
    tcase_add_test(tcase, ranges_have_the_format_of_the_specification);
    tcase_add_test(tcase, posted_requests_keep_their_order);
    tcase_add_test(tcase, an_invalidation_takes_the_way_there_and_back);
    tcase_add_loop_test(
        tcase, an_invalidation_waits_for_what_uses_the_translation, 0, 2);
    tcase_add_test(tcase, itags_limit_what_is_under_way);
    tcase_add_loop_test(tcase, a_late_translation_is_asked_for_again, 0, 20);
    tcase_add_loop_test(tcase, hits_are_those_of_a_naive_cache, 0, 4);
    tcase_add_loop_test(tcase, requests_limit_cold_reads, 0, 4);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
