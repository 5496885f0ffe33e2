/* SPDX-License-Identifier: MIT */
/*
 * Invariants of forwarding between root ports: the root splits reads and writes
 * into pieces that end at multiples of the split size. It never has more pieces
 * of reads outstanding than configured. The requester gets all data, in order
 * of address and in completions that fit Max_Payload_Size, or an error. The
 * ordering rules hold. Requesters share the tags.
 */
#include "fab_fixture.h"

#include "sim_random.h"
#include "../suite.h"

/* The far side, and how it answers reads. */
typedef struct Side {
    FixtureHost host; /* first: the ends' user data */
    SimTime delay;
    bool shuffled; /* answers come in random order */
    SimRandom random;
    FabBusAddr fails;       /* a read of this address gets UR; 0: none */
    unsigned waiting, most; /* unanswered reads now, and the maximum */
} Side;

typedef struct Reply {
    FixtureEnd *end;
    FabTlp request;
    FabStatus status;
} Reply;

static void reply_now(void *data)
{
    Reply *reply = data;
    Side *side = reply->end->user;

    side->waiting--;
    fixture_reply(reply->end, &reply->request, reply->status, 64);
    g_free(reply);
}

static void far_got(FixtureEnd *end, const FabTlp *tlp)
{
    Side *side = end->user;
    SimTime delay = side->delay;
    Reply *reply;

    if (tlp->cls != FAB_CLASS_NP) {
        return;
    }
    side->waiting++;
    side->most = MAX(side->most, side->waiting);
    reply = g_new(Reply, 1);
    *reply = (Reply){end, *tlp, FAB_STATUS_SC};
    if (side->fails && tlp->addr <= side->fails &&
        side->fails < tlp->addr + tlp->request_bytes) {
        reply->status = FAB_STATUS_UR;
    }
    if (side->shuffled) {
        delay = 1 + sim_random_below(&side->random, 2 * side->delay);
    }
    fixture_at(end->fixture, fixture_now(end->fixture) + delay, reply_now,
               reply);
}

static void side_init(Side *side, Fixture *fixture, const FabRootParams *params)
{
    FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 16, 64, 512);

    memset(side, 0, sizeof(*side));
    side->delay = 500 * SIM_NS;
    sim_random_init(&side->random, 1, "side");
    fixture_host_init(&side->host, fixture, params, &port);
    side->host.far->got = far_got;
    side->host.third->got = far_got;
}

static FabRootParams split_params(void)
{
    FabRootParams params = fixture_root();

    params.read_split_bytes = 64;
    params.write_split_bytes = 64;
    return params;
}

/* The requests in @end's log cover [@addr, +@bytes) in pieces that end at
 * multiples of @split. */
static void check_pieces(FixtureEnd *end, FabBusAddr addr, uint32_t bytes,
                         uint32_t split)
{
    FabBusAddr at = addr;

    for (unsigned i = 0; i < end->log->len; i++) {
        const FabTlp *tlp = &fixture_log(end, i)->tlp;
        uint32_t size = MAX(tlp->payload_bytes, tlp->request_bytes);
        FabBusAddr stop = MIN((at / split + 1) * split, addr + bytes);

        fixture_ensure(tlp->addr == at);
        fixture_ensure(tlp->requester_id == 0);
        fixture_ensure(size == stop - at);
        at = stop;
    }
    fixture_ensure(at == addr + bytes);
}

/* The log of @end holds the completions of one read, in order. */
static void check_answer(FixtureEnd *end, FabBusAddr addr, uint32_t bytes,
                         uint16_t tag, uint32_t mps)
{
    uint32_t done = 0;

    for (unsigned i = 0; i < end->log->len; i++) {
        const FabTlp *cpl = &fixture_log(end, i)->tlp;

        fixture_ensure(cpl->type == FAB_TLP_CPLD);
        fixture_ensure(cpl->tag == tag);
        fixture_ensure(cpl->requester_id == end->component.bdf);
        fixture_ensure(cpl->addr == addr + done);
        fixture_ensure(cpl->request_bytes == bytes - done);
        fixture_ensure(cpl->payload_bytes <= mps);
        done += cpl->payload_bytes;
        fixture_ensure(done == bytes || (addr + done) % 64 == 0);
    }
    fixture_ensure(done == bytes);
}

START_TEST(reads_leave_in_pieces)
{
    static const struct {
        uint32_t split, offset, bytes, pieces;
    } cases[] = {
        {64, 0, 256, 4},    {64, 0, 64, 1},    {64, 1, 256, 5},
        {64, 63, 2, 2},     {64, 32, 64, 2},   {64, 60, 4, 1},
        {64, 100, 1, 1},    {64, 0, 4096, 64}, {64, 5, 4091, 64},
        {128, 0, 256, 2},   {128, 1, 256, 3},  {256, 0, 4096, 16},
        {4096, 0, 4096, 1}, {4096, 7, 700, 1},
    };

    for (unsigned i = 0; i < 2 * G_N_ELEMENTS(cases); i++) {
        g_autoptr(Fixture) fixture = fixture_new();
        FabRootParams params = split_params();
        uint32_t bytes = cases[i / 2].bytes;
        FabBusAddr addr;
        Side side;

        /* For odd i, so few that pieces have to wait. */
        params.forwarded_reads = i % 2 ? 3 : 64;
        params.read_split_bytes = cases[i / 2].split;
        side_init(&side, fixture, &params);
        addr = fixture_bar(side.host.far, 0) + 8192 + cases[i / 2].offset;
        fixture_send_read(side.host.dev, addr, bytes, 77);
        fixture_run(fixture);
        ck_assert_uint_eq(side.host.far->log->len, cases[i / 2].pieces);
        check_pieces(side.host.far, addr, bytes, cases[i / 2].split);
        check_answer(side.host.dev, addr, bytes, 77, 256);
        ck_assert_uint_eq(fab_root_counters(side.host.root)->forwarded_reads,
                          cases[i / 2].pieces);
        fixture_assert_drained(fixture);
    }
}
END_TEST

/* A root's own ceiling for writes between its ports: a piece in each time. All
 * ports of a node share it, whatever the sizes of the writes. */
START_TEST(pieces_of_writes_have_a_pace)
{
    static const struct {
        uint32_t bytes, split, pieces;
    } cases[] = {{256, 64, 4}, {64, 64, 1}, {256, 0, 1}, {128, 64, 2}};
    SimTime time = 40 * SIM_NS;

    for (unsigned i = 0; i < 2 * G_N_ELEMENTS(cases); i++) {
        g_autoptr(Fixture) fixture = fixture_new();
        FabRootParams params = split_params();
        unsigned senders = 1 + i % 2, count = 100;
        SimTime first, last;
        Side side;

        params.write_split_bytes = cases[i / 2].split;
        params.write_piece = time;
        side_init(&side, fixture, &params);
        for (unsigned n = 0; n < count; n++) {
            FixtureEnd *from = n % senders ? side.host.third : side.host.dev;

            fixture_send(from,
                         fixture_tlp(from, FAB_TLP_MWR,
                                     fixture_bar(side.host.far, 0) + 256 * n,
                                     cases[i / 2].bytes));
        }
        fixture_run(fixture);
        ck_assert_uint_eq(side.host.far->log->len, count * cases[i / 2].pieces);
        first = fixture_log(side.host.far, 0)->time;
        last = fixture_log(side.host.far, side.host.far->log->len - 1)->time;
        fixture_assert_near((double)(last - first),
                            (double)(count * cases[i / 2].pieces - 1) * time,
                            0.01);
        fixture_assert_drained(fixture);
    }
}
END_TEST

/* Requests that the root does not forward: posted ones are dropped and counted,
 * the others are answered with UR or CA (s1.3.1, s2.3.1). Memory is no root
 * port. */
START_TEST(what_is_not_forwarded_is_refused)
{
    static const struct {
        FabRootP2p p2p;
        bool aborts;
        unsigned writes, reads; /* that arrive */
    } cases[] = {
        {FAB_ROOT_P2P_ALL, false, 1, 1},   {FAB_ROOT_P2P_WRITES, false, 1, 0},
        {FAB_ROOT_P2P_NONE, false, 0, 0},  {FAB_ROOT_P2P_NONE, true, 0, 0},
        {FAB_ROOT_P2P_WRITES, true, 1, 0},
    };
    g_autoptr(Fixture) fixture = fixture_new();
    FabRootParams params = split_params();
    unsigned refused = 2 - cases[_i].writes - cases[_i].reads;
    const FabPortCounters *counters;
    FabBusAddr addr, ram;
    const FabTlp *answer;
    Side side;

    params.p2p = cases[_i].p2p;
    params.p2p_aborts = cases[_i].aborts;
    params.read_split_bytes = 0;
    side_init(&side, fixture, &params);
    ck_assert(fab_root_alloc(side.host.root, 4096, 4096, &ram));
    addr = fixture_bar(side.host.far, 0);
    fixture_send(side.host.dev,
                 fixture_tlp(side.host.dev, FAB_TLP_MWR, addr, 64));
    fixture_send_read(side.host.dev, addr, 64, 5);
    fixture_send_read(side.host.dev, ram, 64, 6);
    fixture_run(fixture);
    ck_assert_uint_eq(side.host.far->received[FAB_CLASS_P], cases[_i].writes);
    ck_assert_uint_eq(side.host.far->received[FAB_CLASS_NP], cases[_i].reads);
    ck_assert_uint_eq(side.host.dev->log->len, 2);
    for (unsigned i = 0; i < 2; i++) {
        answer = &fixture_log(side.host.dev, i)->tlp;
        ck_assert_uint_eq(answer->status, answer->tag == 6 || cases[_i].reads
                                              ? FAB_STATUS_SC
                                          : cases[_i].aborts ? FAB_STATUS_CA
                                                             : FAB_STATUS_UR);
    }
    counters =
        fab_port_counters(fab_port_peer(side.host.dev->component.ports[0]));
    ck_assert_uint_eq(counters->unsupported_requests,
                      cases[_i].aborts ? 0 : refused);
    ck_assert_uint_eq(counters->completer_aborts,
                      cases[_i].aborts ? refused : 0);
    fixture_assert_drained(fixture);
}
END_TEST

START_TEST(unsplit_reads_leave_as_they_came)
{
    static const uint32_t sizes[] = {1, 64, 256, 257, 512, 1000, 4096};

    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        g_autoptr(Fixture) fixture = fixture_new();
        FabRootParams params = split_params();
        FabBusAddr addr;
        Side side;

        params.read_split_bytes = 0;
        side_init(&side, fixture, &params);
        addr = fixture_bar(side.host.far, 0) + (sizes[i] < 4000 ? 12 : 0);
        fixture_send_read(side.host.dev, addr, sizes[i], 78);
        fixture_run(fixture);
        ck_assert_uint_eq(side.host.far->log->len, 1);
        ck_assert_uint_eq(fixture_log(side.host.far, 0)->tlp.request_bytes,
                          sizes[i]);
        /* The answer comes in completions that fit Max_Payload_Size. */
        check_answer(side.host.dev, addr, sizes[i], 78, 256);
        fixture_assert_drained(fixture);
    }
}
END_TEST

START_TEST(writes_leave_in_pieces)
{
    static const struct {
        uint32_t split, offset, bytes, pieces;
    } cases[] = {
        {64, 0, 256, 4},  {64, 1, 256, 5}, {64, 63, 2, 2}, {64, 7, 50, 1},
        {128, 0, 256, 2}, {0, 0, 256, 1},  {0, 3, 200, 1},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(Fixture) fixture = fixture_new();
        FabRootParams params = split_params();
        FabBusAddr addr;
        Side side;

        params.write_split_bytes = cases[i].split;
        side_init(&side, fixture, &params);
        addr = fixture_bar(side.host.far, 2) + 4096 + cases[i].offset;
        fixture_send(side.host.dev, fixture_tlp(side.host.dev, FAB_TLP_MWR,
                                                addr, cases[i].bytes));
        fixture_run(fixture);
        ck_assert_uint_eq(side.host.far->log->len, cases[i].pieces);
        check_pieces(side.host.far, addr, cases[i].bytes,
                     cases[i].split ? cases[i].split : 4096);
        fixture_assert_drained(fixture);
    }
}
END_TEST

/* With many reads outstanding and answers in random order, the completions of
 * each read still arrive in order. */
START_TEST(answers_return_in_order)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabRootParams params = split_params();
    uint32_t done[256] = {0};
    FabBusAddr bar;
    Side side;

    params.forwarded_reads = 20;
    side_init(&side, fixture, &params);
    side.shuffled = true;
    bar = fixture_bar(side.host.far, 0);
    for (unsigned tag = 0; tag < 256; tag++) {
        fixture_send_read(side.host.dev, bar + 1024 * tag + tag, 256, tag);
    }
    fixture_run(fixture);
    fixture_ensure(side.most == 20);
    for (unsigned i = 0; i < side.host.dev->log->len; i++) {
        const FabTlp *cpl = &fixture_log(side.host.dev, i)->tlp;

        fixture_ensure(cpl->tag < 256);
        fixture_ensure(cpl->addr == bar + 1025 * cpl->tag + done[cpl->tag]);
        fixture_ensure(cpl->request_bytes == 256 - done[cpl->tag]);
        done[cpl->tag] += cpl->payload_bytes;
    }
    for (unsigned tag = 0; tag < 256; tag++) {
        fixture_ensure(done[tag] == 256);
    }
    fixture_assert_drained(fixture);
}
END_TEST

/* One piece of a read fails. The requester gets the data of the pieces before
 * it, and then one completion with status UR. */
START_TEST(errors_of_the_far_side_come_back)
{
    for (unsigned piece = 0; piece < 4; piece++) {
        g_autoptr(Fixture) fixture = fixture_new();
        FabRootParams params = split_params();
        FabBusAddr addr;
        GArray *log;
        Side side;

        side_init(&side, fixture, &params);
        side.shuffled = true;
        addr = fixture_bar(side.host.far, 0);
        side.fails = addr + 64 * piece + 5;
        fixture_send_read(side.host.dev, addr, 256, 9);
        fixture_run(fixture);
        log = side.host.dev->log;
        ck_assert_uint_eq(log->len, piece + 1);
        for (unsigned i = 0; i <= piece; i++) {
            const FabTlp *cpl = &fixture_log(side.host.dev, i)->tlp;

            ck_assert_uint_eq(cpl->status,
                              i < piece ? FAB_STATUS_SC : FAB_STATUS_UR);
            ck_assert_uint_eq(cpl->payload_bytes, i < piece ? 64 : 0);
            ck_assert_uint_eq(cpl->tag, 9);
        }
        /* The tags are free again. */
        side.fails = 0;
        g_array_set_size(log, 0);
        fixture_send_read(side.host.dev, addr, 4096, 10);
        fixture_run(fixture);
        check_answer(side.host.dev, addr, 4096, 10, 256);
        fixture_assert_drained(fixture);
    }
}
END_TEST

static FabTlp *read_far(FixtureEnd *end)
{
    Side *side = end->user;

    return fixture_tlp(end, FAB_TLP_MRD,
                       fixture_bar(side->host.far, 2) + 256 * (end->made % 64),
                       256);
}

/*
 * The throughput of reads between root ports is pieces x 64 bytes / round trip.
 * The round trip is a request of 20 bytes and a completion of 84 bytes at
 * 126.03 Gb/s, and the delay of the far side. The transit does not count: a
 * request has crossed the root already while it waits for a free piece.
 */
START_TEST(throughput_is_pieces_by_round_trip)
{
    static const unsigned pieces[] = {1, 4, 26, 44};

    for (unsigned i = 0; i < G_N_ELEMENTS(pieces); i++) {
        g_autoptr(Fixture) fixture = fixture_new();
        FabRootParams params = split_params();
        SimTime window = 500 * SIM_US;
        double byte = 8e12 / (7.877e9 * 16);
        double trip, want;
        Side side;

        params.forwarded_reads = pieces[i];
        params.transit = 90 * SIM_NS;
        side_init(&side, fixture, &params);
        side.delay = 1200 * SIM_NS;
        side.host.dev->make = read_far;
        side.host.dev->backlog = 2;
        fixture_end_start(side.host.dev, 2);
        trip = 20 * byte + 1200 * SIM_NS + 84 * byte;
        want = pieces[i] * 64 * window / trip;
        fixture_run_until(fixture, window);
        fixture_assert_near(side.host.dev->received_bytes, want, 0.02);
        ck_assert_uint_eq(side.most, pieces[i]);
        side.host.dev->make = NULL;
        fixture_run(fixture);
        fixture_assert_drained(fixture);
    }
}
END_TEST

/* The limit of pieces holds for the whole root, and two requesters share them
 * fairly. */
START_TEST(pieces_are_of_the_whole_root)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabRootParams params = split_params();
    Side side;

    params.forwarded_reads = 8;
    side_init(&side, fixture, &params);
    side.host.dev->make = read_far;
    side.host.third->make = read_far;
    side.host.third->got = NULL;
    fixture_end_start(side.host.dev, 2);
    fixture_end_start(side.host.third, 2);
    fixture_run_until(fixture, 200 * SIM_US);
    ck_assert_uint_eq(side.most, 8);
    ck_assert_uint_gt(side.host.dev->received_bytes, 50000);
    fixture_assert_near(side.host.dev->received_bytes,
                        (double)side.host.third->received_bytes, 0.02);
    side.host.dev->make = NULL;
    side.host.third->make = NULL;
    fixture_run(fixture);
    fixture_assert_drained(fixture);
}
END_TEST

/* ---- Ordering -------------------------------------------------------- */

static SimTime hold_long(FixtureEnd *end, const FabTlp *tlp)
{
    return tlp->cls == FAB_CLASS_NP ? 50 * SIM_US : 0;
}

/* Reads that are blocked do not hold up writes (table 2-40, A3). _i: 0: the
 * reads lack tags, 1: they lack credits of the far side. */
START_TEST(writes_pass_blocked_reads)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabRootParams params = split_params();
    FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 16, 64, 512);
    unsigned writes = 0;
    Side side = {.delay = 50 * SIM_US};

    port.credits.header[FAB_CLASS_NP] = 4;
    params.forwarded_reads = _i ? 256 : 2;
    fixture_host_init(&side.host, fixture, &params, &port);
    side.host.far->got = far_got;
    if (_i) {
        side.host.far->hold = hold_long;
        side.delay = 10;
    }
    /* Four reads of 16 pieces: more than tags, credits and queues hold. */
    for (unsigned i = 0; i < 4; i++) {
        fixture_send_read(side.host.dev, fixture_bar(side.host.far, 0), 1024,
                          i);
    }
    for (unsigned i = 0; i < 20; i++) {
        fixture_send(side.host.dev,
                     fixture_tlp(side.host.dev, FAB_TLP_MWR,
                                 fixture_bar(side.host.far, 0), 64));
    }
    fixture_run_until(fixture, 40 * SIM_US);
    for (unsigned i = 0; i < side.host.far->log->len; i++) {
        writes += fixture_log(side.host.far, i)->tlp.type == FAB_TLP_MWR;
    }
    ck_assert_uint_eq(writes, 20);
    fixture_run(fixture);
    fixture_assert_drained(fixture);
}
END_TEST

static SimTime hold_posted(FixtureEnd *end, const FabTlp *tlp)
{
    return tlp->cls == FAB_CLASS_P ? 2 * SIM_US : 0;
}

/* Neither reads nor completions pass writes on their way through the root
 * (table 2-40, B2 and D2), even if the far side is slow to take the writes.
 * _i: 0: completions, 1: reads. */
START_TEST(reads_and_completions_do_not_pass_writes)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabRootParams params = split_params();
    FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 16, 64, 512);
    uint64_t last = 0;
    Side side = {.delay = 10};
    FixtureEnd *dev, *far;

    port.credits.header[FAB_CLASS_P] = 2;
    fixture_host_init(&side.host, fixture, &params, &port);
    dev = side.host.dev;
    far = side.host.far;
    far->hold = hold_posted;
    far->got = far_got;
    /* The far side sends reads, which @dev answers further below. */
    for (unsigned i = 0; i < 8; i++) {
        fixture_send_read(far, fixture_bar(dev, 0), 64, 100 + i);
    }
    fixture_run(fixture);
    ck_assert_uint_eq(dev->log->len, 8);
    for (unsigned i = 0; i < 8; i++) {
        FabTlp *tlp;

        for (unsigned j = 0; j < 4; j++) {
            tlp = fixture_tlp(dev, FAB_TLP_MWR, fixture_bar(far, 0), 256);
            fixture_send(dev, tlp);
        }
        if (_i) {
            fixture_send_read(dev, fixture_bar(far, 0) + 64 * i, 64, i);
        } else {
            fixture_reply(dev, &fixture_log(dev, i)->tlp, FAB_STATUS_SC, 64);
        }
    }
    fixture_run(fixture);
    /* 4 writes of 4 pieces each arrive before each of the others. */
    for (unsigned i = 0, others = 0; i < far->log->len; i++) {
        if (fixture_log(far, i)->tlp.cls == FAB_CLASS_P) {
            last++;
        } else {
            others++;
            ck_assert_uint_ge(last, 16 * others);
        }
    }
    ck_assert_uint_eq(last, 128);
    fixture_assert_drained(fixture);
}
END_TEST

/* Requesters that wait share the tags equally: 5 reads of one, behind 20 of
 * another, take about 20 pieces / 4 tags round trips, and not the 80 / 8 that
 * the older reads need first. Both have one tag besides the 8. */
START_TEST(requesters_share_the_tags)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabRootParams params = split_params();
    SimTime last[2] = {0};
    FixtureEnd *dev;
    Side side;

    params.forwarded_reads = 8;
    side_init(&side, fixture, &params);
    side.delay = SIM_US;
    dev = side.host.dev;
    for (unsigned i = 0; i < 25; i++) {
        FabTlp *tlp = fixture_tlp(dev, FAB_TLP_MRD,
                                  fixture_bar(side.host.far, 2) + 256 * i, 256);

        tlp->tag = i;
        tlp->requester_id = dev->component.bdf + (i >= 20);
        fixture_send(dev, tlp);
    }
    fixture_run(fixture);
    for (unsigned i = 0; i < dev->log->len; i++) {
        const FixtureLog *log = fixture_log(dev, i);
        unsigned second = log->tlp.requester_id != dev->component.bdf;

        last[second] = MAX(last[second], log->time);
    }
    ck_assert_uint_eq(dev->received_bytes, 25 * 256);
    ck_assert_uint_le(side.most, 8 + 2);
    ck_assert_int_ge(last[1], 20 / 5 * SIM_US);
    ck_assert_int_le(last[1], 7 * SIM_US);
    ck_assert_int_ge(last[0], 10 * SIM_US);
    ck_assert_int_le(last[0], 14 * SIM_US);
    fixture_assert_drained(fixture);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_forward");
    TCase *tcase = tcase_create("forward");

    tcase_add_test(tcase, reads_leave_in_pieces);
    tcase_add_test(tcase, requesters_share_the_tags);
    tcase_add_test(tcase, unsplit_reads_leave_as_they_came);
    tcase_add_test(tcase, pieces_of_writes_have_a_pace);
    tcase_add_loop_test(tcase, what_is_not_forwarded_is_refused, 0, 5);
    tcase_add_test(tcase, writes_leave_in_pieces);
    tcase_add_test(tcase, answers_return_in_order);
    tcase_add_test(tcase, errors_of_the_far_side_come_back);
    tcase_add_test(tcase, throughput_is_pieces_by_round_trip);
    tcase_add_test(tcase, pieces_are_of_the_whole_root);
    tcase_add_loop_test(tcase, writes_pass_blocked_reads, 0, 2);
    tcase_add_loop_test(tcase, reads_and_completions_do_not_pass_writes, 0, 2);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
