/* SPDX-License-Identifier: MIT */
/*
 * Invariants of an endpoint: its DMA engine splits an order into requests that
 * cross no 4 KiB boundary and respect the size limits. It never has more reads
 * outstanding than tags, and it reports each order when it is done. Completions
 * for reads of its BARs are split at Read Completion Boundaries.
 */
#include "fab_fixture.h"

#include "sim_random.h"
#include "../suite.h"

/* A device connected directly to an end, without a root. */
typedef struct Face {
    FabEndpoint *device;
    FixtureEnd *end;
} Face;

static void face_init(Face *face, Fixture *fixture,
                      const FabEndpointParams *params,
                      const FabPortParams *port)
{
    face->device =
        fab_endpoint_new(fixture_fabric(fixture), "dev", port, params);
    face->end = fixture_end_new(fixture, "end", port, 0, 0);
    face->end->logs = true;
    fixture_connect(fixture, fab_endpoint_component(face->device), 0,
                    &face->end->component, 0, 0, 0, 0);
    fixture_realize(fixture);
}

static void count_done(FabDma *dma)
{
    unsigned *done = dma->owner;

    (*done)++;
}

/* The log of @end holds exactly the requests of an order of @size bytes at
 * @addr, none larger than @most. */
static void check_requests(const FixtureEnd *end, FabBusAddr addr,
                           uint64_t size, uint32_t most)
{
    uint64_t done = 0;

    for (unsigned i = 0; i < end->log->len; i++) {
        const FabTlp *tlp = &fixture_log(end, i)->tlp;
        uint32_t bytes = MAX(tlp->payload_bytes, tlp->request_bytes);

        fixture_ensure(tlp->addr == addr + done);
        fixture_ensure(bytes >= 1);
        fixture_ensure(bytes <= most);
        /* The Length field counts DWs; a request that does not begin on a DW
         * boundary must not exceed the limit because of that. */
        fixture_ensure(4 * fab_tlp_payload_dw(tlp) <= (most + 3) / 4 * 4);
        fixture_ensure(tlp->addr / 4096 == (tlp->addr + bytes - 1) / 4096);
        done += bytes;
    }
    fixture_ensure(done == size);
}

static void answer(FixtureEnd *end, const FabTlp *tlp)
{
    if (tlp->type == FAB_TLP_MRD) {
        fixture_reply(end, tlp, FAB_STATUS_SC, 64);
    }
}

START_TEST(orders_become_requests)
{
    static const uint32_t sizes[] = {64, 128, 256, 192, 100, 255, 7, 3, 1};
    SimRandom random;

    sim_random_init(&random, 1, "orders");
    for (unsigned n = 0; n < 2 * G_N_ELEMENTS(sizes) * 10; n++) {
        g_autoptr(Fixture) fixture = fixture_new();
        FabEndpointParams params = fixture_device();
        FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 8, 32, 256);
        bool reads = n % 2;
        uint32_t most = sizes[n / 2 % G_N_ELEMENTS(sizes)];
        unsigned done = 0;
        FabDma dma = {.type = reads ? FAB_TLP_MRD : FAB_TLP_MWR,
                      .addr = GIB(5) + sim_random_below(&random, 9000),
                      .size_bytes = 1 + sim_random_below(&random, 20000),
                      .done = count_done,
                      .owner = &done};
        Face face;

        params.write_bytes = params.read_bytes = most;
        params.tags = 32;
        face_init(&face, fixture, &params, &port);
        face.end->got = answer;
        fab_endpoint_dma(face.device, &dma);
        fixture_run(fixture);
        ck_assert_uint_eq(done, 1);
        ck_assert_uint_eq(dma.status, FAB_STATUS_SC);
        check_requests(face.end, dma.addr, dma.size_bytes, most);
        /* A limit of 256 gives the least possible number of requests. */
        if (most == 256) {
            ck_assert_uint_eq(face.end->log->len,
                              (dma.addr + dma.size_bytes - 1) / 256 -
                                  dma.addr / 256 + 1);
        }
        fixture_assert_drained(fixture);
    }
}
END_TEST

/* Max_Payload_Size limits writes even if write_bytes is larger. */
START_TEST(writes_fit_max_payload_size)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabEndpointParams params = fixture_device();
    FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 8, 32, 256);
    unsigned done = 0;
    FabDma dma = {.type = FAB_TLP_MWR,
                  .size_bytes = 8192,
                  .done = count_done,
                  .owner = &done};
    Face face;

    params.write_bytes = 512;
    port.mps_bytes = 128;
    face_init(&face, fixture, &params, &port);
    fab_endpoint_dma(face.device, &dma);
    fixture_run(fixture);
    check_requests(face.end, 0, 8192, 128);
    ck_assert_uint_eq(face.end->log->len, 64);
}
END_TEST

#define DELAY (2 * SIM_US)

typedef struct Late {
    FixtureEnd *end;
    FabTlp request;
} Late;

typedef struct Tags {
    unsigned used, most;
    bool in_use[768];
} Tags;

static void answer_now(void *data)
{
    Late *late = data;
    Tags *tags = late->end->user;

    tags->used--;
    tags->in_use[late->request.tag] = false;
    fixture_reply(late->end, &late->request, FAB_STATUS_SC, 256);
    g_free(late);
}

static void answer_late(FixtureEnd *end, const FabTlp *tlp)
{
    Tags *tags = end->user;
    Late *late = g_new(Late, 1);

    fixture_ensure(tlp->tag < 768);
    fixture_ensure(!tags->in_use[tlp->tag]);
    tags->in_use[tlp->tag] = true;
    tags->used++;
    tags->most = MAX(tags->most, tags->used);
    *late = (Late){end, *tlp};
    fixture_at(end->fixture, fixture_now(end->fixture) + DELAY, answer_now,
               late);
}

/* The number of outstanding reads limits the rate to reads x size / round trip.
 * The round trip is the request, the delay, the completion, and read_latency,
 * after which the tag is free again. */
START_TEST(outstanding_reads_limit)
{
    static const struct {
        uint32_t reads, tags, limit;
    } cases[] = {{1, 32, 1}, {8, 32, 8}, {64, 32, 32}, {100, 768, 100}};

    for (unsigned i = 0; i < 2 * G_N_ELEMENTS(cases); i++) {
        g_autoptr(Fixture) fixture = fixture_new();
        FabEndpointParams params = fixture_device();
        FabPortParams port = fixture_port(FAB_SPEED_8_0GT, 16);
        SimTime latency = i % 2 ? 500 * SIM_NS : 0;
        double byte = 8e12 / (7.877e9 * 16);
        double trip = (20 + 276) * byte + DELAY + latency;
        unsigned done = 0;
        FabDma dma = {.type = FAB_TLP_MRD,
                      .size_bytes = MIB(4),
                      .done = count_done,
                      .owner = &done};
        Tags tags = {.used = 0};
        Face face;

        params.reads = cases[i / 2].reads;
        params.tags = cases[i / 2].tags;
        params.read_latency = latency;
        face_init(&face, fixture, &params, &port);
        face.end->logs = false;
        face.end->user = &tags;
        face.end->got = answer_late;
        fab_endpoint_dma(face.device, &dma);
        fixture_run(fixture);
        ck_assert_uint_eq(done, 1);
        ck_assert_uint_eq(tags.most, cases[i / 2].limit);
        fixture_assert_near((double)fixture_now(fixture),
                            MIB(4) / 256.0 / cases[i / 2].limit * trip, 0.01);
    }
}
END_TEST

static void refuse_third(FixtureEnd *end, const FabTlp *tlp)
{
    fixture_reply(end, tlp, tlp->addr == 512 ? FAB_STATUS_CA : FAB_STATUS_SC,
                  64);
}

START_TEST(failed_reads_are_reported)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabEndpointParams params = fixture_device();
    FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 8, 32, 256);
    unsigned done = 0;
    FabDma dma = {.type = FAB_TLP_MRD,
                  .size_bytes = 2048,
                  .done = count_done,
                  .owner = &done};
    Face face;

    face_init(&face, fixture, &params, &port);
    face.end->got = refuse_third;
    fab_endpoint_dma(face.device, &dma);
    fixture_run(fixture);
    ck_assert_uint_eq(done, 1);
    ck_assert_uint_eq(dma.status, FAB_STATUS_CA);
    ck_assert_uint_eq(fab_endpoint_counters(face.device)->failed_reads, 1);
    /* The next order succeeds. */
    dma.addr = 4096;
    fab_endpoint_dma(face.device, &dma);
    fixture_run(fixture);
    ck_assert_uint_eq(done, 2);
    ck_assert_uint_eq(dma.status, FAB_STATUS_SC);
    fixture_assert_drained(fixture);
}
END_TEST

/* Orders of one direction complete in the order in which they were given.
 * write_latency passes before the first byte is sent. */
typedef struct Done {
    FabDma dma;
    unsigned *count;
    unsigned place;
    SimTime time;
    Fixture *fixture;
} Done;

static void note_done(FabDma *dma)
{
    Done *done = dma->owner;

    done->place = (*done->count)++;
    done->time = fixture_now(done->fixture);
}

START_TEST(orders_keep_their_order)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabEndpointParams params = fixture_device();
    FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 1, 32, 256);
    Done orders[20];
    unsigned count = 0;
    Face face;

    params.write_latency = 3 * SIM_US;
    face_init(&face, fixture, &params, &port);
    for (unsigned i = 0; i < 20; i++) {
        orders[i] = (Done){.count = &count, .fixture = fixture};
        orders[i].dma = (FabDma){.type = FAB_TLP_MWR,
                                 .addr = MIB(i),
                                 .size_bytes = 1 + 300 * (i % 3),
                                 .data = i,
                                 .done = note_done,
                                 .owner = &orders[i]};
        fab_endpoint_dma(face.device, &orders[i].dma);
    }
    fixture_run(fixture);
    ck_assert_uint_eq(count, 20);
    fixture_assert_time_eq(orders[0].time, 3 * SIM_US);
    for (unsigned i = 0; i < 20; i++) {
        ck_assert_uint_eq(orders[i].place, i);
    }
    for (unsigned i = 1; i < face.end->log->len; i++) {
        ck_assert_uint_ge(fixture_log(face.end, i)->tlp.addr,
                          fixture_log(face.end, i - 1)->tlp.addr);
    }
}
END_TEST

/* The data of writes are moved one after the other, before each write's
 * latency; so the last one of n leaves n moves and one latency after the first
 * was given. */
START_TEST(writes_are_moved_first)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabEndpointParams params = fixture_device();
    FabPortParams port = fixture_port(FAB_SPEED_8_0GT, 16);
    Done orders[10];
    unsigned count = 0;
    Face face;

    params.write_latency = 100 * SIM_NS;
    params.write_move = (FabService){128, 2, 20 * SIM_NS, 0};
    face_init(&face, fixture, &params, &port);
    for (unsigned i = 0; i < 10; i++) {
        orders[i] = (Done){.count = &count, .fixture = fixture};
        /* 129 bytes are two beats from their first byte, wherever that is. */
        orders[i].dma = (FabDma){.type = FAB_TLP_MWR,
                                 .addr = MIB(i) + 64,
                                 .size_bytes = 129,
                                 .done = note_done,
                                 .owner = &orders[i]};
        fab_endpoint_dma(face.device, &orders[i].dma);
    }
    fixture_run(fixture);
    for (unsigned i = 0; i < 10; i++) {
        fixture_assert_time_eq(orders[i].time,
                               (i + 1) * 4 * 20 * SIM_NS + 100 * SIM_NS);
    }
}
END_TEST

/* Bytes a second of 8.0GT/s x16, without SKP ordered sets. */
#define WIRE (8e9 * 16 / 8 * 128 / 130)

/* A write leaves in transfers of at most as many bytes as a read has. The port
 * is idle for the gap between two of them, of one write or of two, and for
 * nothing else. */
START_TEST(transfers_of_writes_have_gaps)
{
    static const uint64_t sizes[] = {1280, 256, 512, 4};
    static const bool begins[] = {true, false, true,  false, true,
                                  true, true,  false, true};
    g_autoptr(Fixture) fixture = fixture_new();
    FabEndpointParams params = fixture_device();
    FabPortParams port = fixture_port(FAB_SPEED_8_0GT, 16);
    FabDma orders[G_N_ELEMENTS(sizes)];
    unsigned done = 0;
    Face face;

    params.write_bytes = 256;
    params.read_bytes = 512;
    params.write_gap = 100 * SIM_NS;
    face_init(&face, fixture, &params, &port);
    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        orders[i] = (FabDma){.type = FAB_TLP_MWR,
                             .addr = MIB(i),
                             .size_bytes = sizes[i],
                             .done = count_done,
                             .owner = &done};
        fab_endpoint_dma(face.device, &orders[i]);
    }
    fixture_run(fixture);
    ck_assert_uint_eq(done, G_N_ELEMENTS(sizes));
    ck_assert_uint_eq(face.end->log->len, G_N_ELEMENTS(begins));
    for (unsigned i = 1; i < face.end->log->len; i++) {
        const FixtureLog *log = fixture_log(face.end, i);
        SimTime wire = (SimTime)(log->tlp.wire_bytes / WIRE * 1e12);
        SimTime gap = log->time - fixture_log(face.end, i - 1)->time - wire;

        /* An SKP ordered set may come between two TLPs. */
        ck_assert_int_ge(gap, begins[i] ? params.write_gap - 2 : -2);
        ck_assert_int_le(gap, (begins[i] ? params.write_gap : 0) + 2 * SIM_NS);
    }
}
END_TEST

/* With a limit of n, the write that comes n later begins when a write leaves:
 * Little's law. */
START_TEST(writes_under_way_are_limited)
{
    for (unsigned limit = 1; limit <= 4; limit++) {
        g_autoptr(Fixture) fixture = fixture_new();
        FabEndpointParams params = fixture_device();
        FabPortParams port = fixture_port(FAB_SPEED_8_0GT, 16);
        Done orders[12];
        unsigned count = 0;
        Face face;

        params.write_latency = 1 * SIM_US;
        params.writes = limit;
        face_init(&face, fixture, &params, &port);
        for (unsigned i = 0; i < 12; i++) {
            orders[i] = (Done){.count = &count, .fixture = fixture};
            orders[i].dma = (FabDma){.type = FAB_TLP_MWR,
                                     .addr = MIB(i),
                                     .size_bytes = 4,
                                     .done = note_done,
                                     .owner = &orders[i]};
            fab_endpoint_dma(face.device, &orders[i].dma);
        }
        fixture_run(fixture);
        ck_assert_uint_eq(count, 12);
        fixture_assert_near((double)orders[11].time,
                            12.0 / limit * (double)SIM_US, 0.01);
    }
}
END_TEST

static void answer_all(FixtureEnd *end, const FabTlp *tlp)
{
    fixture_reply(end, tlp, FAB_STATUS_SC, 256);
}

/* The data of a read are moved after the last of them has come: one beat for
 * each line of 64 B that its addresses touch, and a gap for each request. Reads
 * take turns. */
START_TEST(reads_are_moved_at_the_end)
{
    static const struct {
        FabBusAddr addr;
        uint64_t size;
        unsigned beats;
    } cases[] = {
        {0, 64, 1 + 3},      {1, 64, 2 + 3},       {0, 63, 1 + 3},
        {0, 512, 8 + 2 * 3}, {64, 512, 8 + 3 * 3}, {32, 512, 9 + 3 * 3},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        SimTime times[2][2];

        for (unsigned moves = 0; moves < 2; moves++) {
            g_autoptr(Fixture) fixture = fixture_new();
            FabEndpointParams params = fixture_device();
            FabPortParams port = fixture_port(FAB_SPEED_8_0GT, 16);
            Done orders[2];
            unsigned count = 0;
            Face face;

            params.read_bytes = 256;
            if (moves) {
                params.read_move = (FabService){64, 3, 1 * SIM_US, 0};
            }
            face_init(&face, fixture, &params, &port);
            face.end->got = answer_all;
            for (unsigned n = 0; n < 2; n++) {
                orders[n] = (Done){.count = &count, .fixture = fixture};
                orders[n].dma = (FabDma){.type = FAB_TLP_MRD,
                                         .addr = cases[i].addr + n * KIB(64),
                                         .size_bytes = cases[i].size,
                                         .done = note_done,
                                         .owner = &orders[n]};
                fab_endpoint_dma(face.device, &orders[n].dma);
            }
            fixture_run(fixture);
            ck_assert_uint_eq(count, 2);
            times[moves][0] = orders[0].time;
            times[moves][1] = orders[1].time;
        }
        fixture_assert_time_eq(times[1][0] - times[0][0],
                               cases[i].beats * SIM_US);
        fixture_assert_time_eq(times[1][1] - times[1][0],
                               cases[i].beats * SIM_US);
    }
}
END_TEST

/* Reads and writes share a bus inside the device, in turn: a pair of them takes
 * its time on the bus twice, unless a mover of one direction takes longer. One
 * direction alone is as quick as the slower of its mover and the bus. In the
 * third case writes leave the bus free for two reads each: 2 x 7 + 7 us for
 * these, and for the other half of the writes the 20 us of their mover. */
START_TEST(both_directions_share_a_bus)
{
    enum {
        ORDERS = 100
    };
    /* 1 us for each 64 B and 3 us for each order. */
    static const struct {
        uint64_t size;
        SimTime read_beat, write_beat; /* of 64 B */
        double alone[2], beside[2];    /* us for each order */
    } cases[] = {
        {256, 0, 0, {7, 7}, {14, 14}},
        {256, 2 * SIM_US, 3 * SIM_US, {8, 12}, {14, 14}},
        {256, 1 * SIM_US, 5 * SIM_US, {7, 20}, {10.5, 20.5}},
        {64, 2 * SIM_US, 6 * SIM_US, {4, 6}, {8, 8}},
        {1000, 1 * SIM_US, 2 * SIM_US, {19, 32}, {38, 38}},
    };

    for (unsigned i = 0; i < 3 * G_N_ELEMENTS(cases); i++) {
        g_autoptr(Fixture) fixture = fixture_new();
        FabEndpointParams params = fixture_device();
        FabPortParams port = fixture_port(FAB_SPEED_8_0GT, 16);
        unsigned way = i % 3; /* reads, writes, both */
        const double *us = way == 2 ? cases[i / 3].beside : cases[i / 3].alone;
        unsigned count = 0;
        Done orders[2][ORDERS];
        Face face;

        params.read_bytes = 4096;
        params.read_move = (FabService){64, 0, cases[i / 3].read_beat, 0};
        params.write_move = (FabService){64, 0, cases[i / 3].write_beat, 0};
        params.move_bus = (FabService){64, 3, 1 * SIM_US, 0};
        face_init(&face, fixture, &params, &port);
        face.end->got = answer_all;
        for (unsigned n = 0; n < 2 * ORDERS; n++) {
            Done *order = &orders[n % 2][n / 2];

            *order = (Done){.count = &count, .fixture = fixture};
            if (way != 2 && n % 2 != way) {
                continue;
            }
            order->dma = (FabDma){.type = n % 2 ? FAB_TLP_MWR : FAB_TLP_MRD,
                                  .addr = n * KIB(4),
                                  .size_bytes = cases[i / 3].size,
                                  .done = note_done,
                                  .owner = order};
            fab_endpoint_dma(face.device, &order->dma);
        }
        fixture_run(fixture);
        for (unsigned half = 0; half < 2; half++) {
            if (way == 2 || half == way) {
                fixture_assert_near((double)orders[half][ORDERS - 1].time,
                                    us[half] * ORDERS * SIM_US, 0.015);
            }
        }
        ck_assert_uint_eq(count, way == 2 ? 2 * ORDERS : ORDERS);
        fixture_assert_drained(fixture);
    }
}
END_TEST

/* Reads have at most so many bytes under way; one always may. */
START_TEST(bytes_in_flight_limit)
{
    static const struct {
        uint32_t bytes;
        unsigned limit;
    } cases[] = {{1, 1}, {256, 1}, {1000, 3}, {1024, 4}};

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(Fixture) fixture = fixture_new();
        FabEndpointParams params = fixture_device();
        FabPortParams port = fixture_port(FAB_SPEED_8_0GT, 16);
        double byte = 8e12 / (7.877e9 * 16);
        unsigned done = 0;
        FabDma dma = {.type = FAB_TLP_MRD,
                      .size_bytes = MIB(1),
                      .done = count_done,
                      .owner = &done};
        Tags tags = {.used = 0};
        Face face;

        params.reads = 32;
        params.tags = 32;
        params.flight_bytes = cases[i].bytes;
        face_init(&face, fixture, &params, &port);
        face.end->logs = false;
        face.end->user = &tags;
        face.end->got = answer_late;
        fab_endpoint_dma(face.device, &dma);
        fixture_run(fixture);
        ck_assert_uint_eq(done, 1);
        ck_assert_uint_eq(tags.most, cases[i].limit);
        fixture_assert_near((double)fixture_now(fixture),
                            MIB(1) / 256.0 / cases[i].limit *
                                (DELAY + (20 + 276) * byte),
                            0.01);
    }
}
END_TEST

/* Every TLP of the endpoint has the configured attributes and ECRC. */
START_TEST(attributes_are_sent)
{
    for (unsigned i = 0; i < 8; i++) {
        g_autoptr(Fixture) fixture = fixture_new();
        FabEndpointParams params = fixture_device();
        FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 1, 32, 256);
        unsigned done = 0;
        FabDma dma = {.type = FAB_TLP_MWR,
                      .size_bytes = 1000,
                      .done = count_done,
                      .owner = &done};
        Face face;

        params.relaxed_ordering = i & 1;
        params.id_ordering = i & 2;
        params.ecrc = i & 4;
        face_init(&face, fixture, &params, &port);
        fab_endpoint_dma(face.device, &dma);
        fixture_run(fixture);
        for (unsigned j = 0; j < face.end->log->len; j++) {
            const FabTlp *tlp = &fixture_log(face.end, j)->tlp;

            fixture_ensure(tlp->attr == ((i & 1 ? FAB_ATTR_RO : 0) |
                                         (i & 2 ? FAB_ATTR_IDO : 0)));
            fixture_ensure(tlp->ecrc == (bool)(i & 4));
        }
    }
}
END_TEST

/* ---- Behind its BARs ------------------------------------------------- */

/* The BAR is at address 0 because this fabric has no root to enumerate it. */
START_TEST(bar_reads_are_completed_on_boundaries)
{
    SimRandom random;

    sim_random_init(&random, 1, "bar");
    for (unsigned n = 0; n < 3; n++) {
        static const uint32_t most[] = {0, 128, 256};
        g_autoptr(Fixture) fixture = fixture_new();
        FabEndpointParams params = fixture_device();
        FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 8, 32, 256);
        Face face;

        params.completion_bytes = most[n];
        face_init(&face, fixture, &params, &port);
        for (unsigned i = 0; i < 1000; i++) {
            FabBusAddr addr = i % 256;
            uint32_t bytes = 1 + sim_random_below(&random, 1024), done = 0;

            fixture_send_read(face.end, addr, bytes, i);
            fixture_run(fixture);
            for (unsigned j = 0; j < face.end->log->len; j++) {
                const FabTlp *cpl = &fixture_log(face.end, j)->tlp;

                fixture_ensure(cpl->tag == i);
                fixture_ensure(cpl->request_bytes == bytes - done);
                fixture_ensure(cpl->payload_bytes <= (most[n] ? most[n] : 256));
                done += cpl->payload_bytes;
                fixture_ensure(done == bytes || (addr + done) % 128 == 0);
            }
            fixture_ensure(done == bytes);
            g_array_set_size(face.end->log, 0);
        }
        fixture_assert_drained(fixture);
    }
}
END_TEST

START_TEST(completer_takes_its_time)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabEndpointParams params = fixture_device();
    FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 16, 64, 256);
    SimTime begin;
    Face face;

    params.completer_latency = 400 * SIM_NS;
    params.completer_bandwidth_bytes_s = 1000000000;
    face_init(&face, fixture, &params, &port);
    fixture_send_read(face.end, 0, 64, 1);
    fixture_run(fixture);
    /* 20 bytes of request and 84 of completion at 63.48 ps each, and 400 ns. */
    ck_assert_int_le(ABS(fixture_log(face.end, 0)->time - 406602), 30);
    begin = fixture_now(fixture);
    for (unsigned i = 0; i < 1000; i++) {
        fixture_send_read(face.end, 1024 * i, 256, i);
    }
    fixture_run(fixture);
    fixture_assert_near((double)(fixture_now(fixture) - begin), 256e6, 0.01);
    fixture_assert_drained(fixture);
}
END_TEST

START_TEST(addresses_outside_bars_are_unsupported)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabEndpointParams params = fixture_device();
    FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 8, 32, 256);
    Face face;

    face_init(&face, fixture, &params, &port);
    fixture_send_read(face.end, MIB(1), 64, 3);
    fixture_send(face.end, fixture_tlp(face.end, FAB_TLP_MWR, MIB(1), 64));
    /* An unexpected completion. */
    fixture_send(face.end, fixture_tlp(face.end, FAB_TLP_CPLD, 0, 64));
    fixture_run(fixture);
    ck_assert_uint_eq(face.end->log->len, 1);
    ck_assert_uint_eq(fixture_log(face.end, 0)->tlp.status, FAB_STATUS_UR);
    ck_assert_uint_eq(fixture_log(face.end, 0)->tlp.tag, 3);
    fixture_assert_drained(fixture);
}
END_TEST

static void watched(void *owner, FabBusAddr addr, uint64_t data)
{
    uint64_t *sum = owner;

    *sum += addr + data;
}

START_TEST(watchers_see_writes)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabEndpointParams params = fixture_device();
    FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 8, 32, 256);
    uint64_t sum = 0;
    unsigned handle;
    Face face;

    face_init(&face, fixture, &params, &port);
    handle = fab_endpoint_watch(face.device, 0x1000, 8, watched, &sum);
    for (unsigned i = 0; i < 3; i++) {
        FabTlp *tlp = fixture_tlp(face.end, FAB_TLP_MWR, 0x0ff8 + 8 * i, 8);

        tlp->data = 5;
        fixture_send(face.end, tlp);
    }
    fixture_run(fixture);
    ck_assert_uint_eq(sum, 0x1005);
    fab_endpoint_unwatch(face.device, handle);
    fixture_send(face.end, fixture_tlp(face.end, FAB_TLP_MWR, 0x1000, 8));
    fixture_run(fixture);
    ck_assert_uint_eq(sum, 0x1005);
    fixture_assert_drained(fixture);
}
END_TEST

/* ---- Virtual functions ------------------------------------------------ */

#define FUNCTION_TLPS 16u

/* The engine takes the functions in turn, request by request: a function with
 * one order is not behind the eight of another. @_i: 0: writes, 1: reads, 2:
 * writes of which one is under way at a time, so that the functions take turns
 * with orders. */
START_TEST(functions_take_turns)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabEndpointParams params = fixture_device();
    FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 8, 32, 256);
    FabFabric *fabric = fixture_fabric(fixture);
    FabEndpoint *function[2];
    unsigned done = 0, first = 0, most = _i == 2 ? 1 : FUNCTION_TLPS;
    FabDma dma[9];
    Face face;

    params.write_bytes = params.read_bytes = 256;
    params.reads = params.tags = 32;
    params.writes = _i == 2;
    face.device = fab_endpoint_new(fabric, "dev", &port, &params);
    for (unsigned i = 0; i < 2; i++) {
        function[i] = fab_endpoint_function_new(
            face.device, i == 0 ? "dev.vf0" : "dev.vf1", 1 + i);
    }
    face.end = fixture_end_new(fixture, "end", &port, 0, 0);
    face.end->logs = true;
    face.end->got = answer;
    fixture_connect(fixture, fab_endpoint_component(face.device), 0,
                    &face.end->component, 0, 0, 0, 0);
    fixture_realize(fixture);
    for (unsigned i = 0; i < 9; i++) {
        dma[i] = (FabDma){.type = _i == 1 ? FAB_TLP_MRD : FAB_TLP_MWR,
                          .addr = i < 8 ? GIB(5) + 4096 * i : GIB(6),
                          .size_bytes = 256 * most,
                          .done = count_done,
                          .owner = &done};
        fab_endpoint_dma(function[i == 8], &dma[i]);
    }
    fixture_run(fixture);
    ck_assert_uint_eq(done, 9);
    /* One request of the first function is on the wire and two are in the queue
     * when the second has its order. From there on they alternate. */
    while (fixture_log(face.end, first)->tlp.addr < GIB(6)) {
        first++;
    }
    ck_assert_uint_le(first, 3);
    for (unsigned i = 0; i < most; i++) {
        ck_assert_uint_eq(fixture_log(face.end, first + 2 * i)->tlp.addr,
                          GIB(6) + 256 * i);
    }
    ck_assert_uint_eq(fab_endpoint_counters(face.device)->written_bytes +
                          fab_endpoint_counters(face.device)->read_bytes,
                      256 * most * 9);
    fixture_assert_drained(fixture);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_endpoint");
    TCase *tcase = tcase_create("device");

    tcase_add_test(tcase, orders_become_requests);
    tcase_add_test(tcase, writes_fit_max_payload_size);
    tcase_add_test(tcase, outstanding_reads_limit);
    tcase_add_test(tcase, failed_reads_are_reported);
    tcase_add_test(tcase, orders_keep_their_order);
    tcase_add_test(tcase, writes_are_moved_first);
    tcase_add_test(tcase, transfers_of_writes_have_gaps);
    tcase_add_test(tcase, writes_under_way_are_limited);
    tcase_add_test(tcase, reads_are_moved_at_the_end);
    tcase_add_test(tcase, both_directions_share_a_bus);
    tcase_add_test(tcase, bytes_in_flight_limit);
    tcase_add_test(tcase, attributes_are_sent);
    tcase_add_test(tcase, bar_reads_are_completed_on_boundaries);
    tcase_add_test(tcase, completer_takes_its_time);
    tcase_add_test(tcase, addresses_outside_bars_are_unsupported);
    tcase_add_test(tcase, watchers_see_writes);
    tcase_add_loop_test(tcase, functions_take_turns, 0, 3);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
