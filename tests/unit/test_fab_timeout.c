/* SPDX-License-Identifier: MIT */
/*
 * Invariant: an NTB with tags of its own and a root that splits reads give up a
 * request one completion time-out after they made it (PCIe 5.0 s2.8), not
 * before and not later; a completion that comes afterwards is an Unexpected
 * Completion (s2.3.2), also if its tag is in use again.
 */
#include "fab_fixture.h"
#include "../suite.h"

#define SPEED   FAB_SPEED_8_0GT
#define WIDTH   8
#define BYTE_PS (1015.625 / WIDTH)
#define TIMEOUT (50 * SIM_US)
#define LATE    (70 * SIM_US)
/* Framing and a header of 3 DW: a read below 4 GiB, a completion with UR. */
#define BARE_PS (20 * BYTE_PS)

/* Answers the request that @end has logged as number @index. */
static void answer(FixtureEnd *end, unsigned index)
{
    FabTlp request = fixture_log(end, index)->tlp;
    FabTlp *cpl =
        fixture_tlp(end, FAB_TLP_CPLD, request.addr, request.request_bytes);

    cpl->requester_id = request.requester_id;
    cpl->tag = request.tag;
    cpl->transaction = request.transaction;
    fixture_send(end, cpl);
}

static void read_send(FixtureEnd *end, FabBusAddr addr, uint32_t bytes,
                      uint16_t tag)
{
    FabTlp *tlp = fixture_tlp(end, FAB_TLP_MRD, addr, bytes);

    tlp->tag = tag;
    tlp->transaction = 1000 + tag;
    fixture_send(end, tlp);
}

static const FabPortCounters *of(const FabComponent *component, unsigned port)
{
    return fab_port_counters(component->ports[port]);
}

/* ---- Tags of an NTB ------------------------------------------------------ */

typedef struct Pair {
    FixtureEnd *end[2];
    FabNtb *ntb[2];
    FabBusAddr window; /* of end 0 to the BAR of end 1 */
} Pair;

/* Two hosts with an end and an NTB each; the NTBs have @tags. */
static void pair_init(Pair *pair, Fixture *fixture, uint32_t tags)
{
    static const char *const names[2][3] = {{"a", "a.end", "a.ntb"},
                                            {"b", "b.end", "b.ntb"}};
    FabPortParams port = fixture_port(SPEED, WIDTH);
    FabNtbParams params = fixture_ntb();
    g_autoptr(GError) error = NULL;

    params.tags = tags;
    for (unsigned i = 0; i < 2; i++) {
        FabRootParams root = fixture_root();
        FabRoot *host =
            fab_root_new(fixture_fabric(fixture), names[i][0], &root);

        fab_root_add_port(host, "rp0", &port);
        fab_root_add_port(host, "rp1", &port);
        pair->end[i] = fixture_end_new(fixture, names[i][1], &port, MIB(1), 0);
        pair->end[i]->logs = true;
        pair->ntb[i] = fab_ntb_new(fixture_fabric(fixture), names[i][2], 1,
                                   &port, &port, &params);
        fixture_connect(fixture, fab_root_component(host), 0,
                        &pair->end[i]->component, 0, 0, 0, 0);
        fixture_connect(fixture, fab_root_component(host), 1,
                        fab_ntb_component(pair->ntb[i]), 0, 0, 0, 0);
    }
    fixture_connect(fixture, fab_ntb_component(pair->ntb[0]), 1,
                    fab_ntb_component(pair->ntb[1]), 1, 0, 0, 0);
    fixture_realize(fixture);
    fab_fabric_set_completion_timeout(fixture_fabric(fixture), TIMEOUT);
    /* The roots forward the requests as their own. */
    ck_assert(fab_ntb_add_requester(pair->ntb[0], 0, false, &error));
    ck_assert(fab_ntb_map(pair->ntb[0], 1, fixture_bar(pair->end[1], 0), MIB(1),
                          &pair->window, &error));
}

/*
 * The far NTB has one tag, and the end that is read never answers in time. The
 * NTB issues the second read when it gives up the first one: one time-out after
 * it issued that, so the two arrive one time-out apart. The first answer comes
 * late, when the second read has the same tag.
 */
START_TEST(an_ntb_gives_up_its_tag)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabComponent *far;
    Pair pair;

    pair_init(&pair, fixture, 1);
    far = fab_ntb_component(pair.ntb[1]);
    read_send(pair.end[0], pair.window, 64, 1);
    read_send(pair.end[0], pair.window + 64, 64, 2);
    fixture_run_until(fixture, LATE);
    ck_assert_uint_eq(pair.end[1]->log->len, 2);
    fixture_assert_time_eq(fixture_log(pair.end[1], 1)->time -
                               fixture_log(pair.end[1], 0)->time,
                           TIMEOUT);
    ck_assert_uint_eq(of(far, 0)->completion_timeouts, 1);
    ck_assert_uint_eq(fixture_log(pair.end[1], 0)->tlp.tag,
                      fixture_log(pair.end[1], 1)->tlp.tag);
    /* The far root gives up its own piece a little later, with CA. The tag is
     * in use by the second read then, so the NTB must not take the CA for it.
     */
    ck_assert_uint_eq(of(far, 0)->unexpected_completions, 1);
    answer(pair.end[1], 0);
    fixture_run_until(fixture, LATE + SIM_US);
    ck_assert_uint_eq(of(fab_component_root(far), 0)->unexpected_completions,
                      1);
    ck_assert_uint_eq(of(far, 0)->unexpected_completions, 1);
    /* The near root completes both reads with CA. */
    ck_assert_uint_eq(pair.end[0]->received[FAB_CLASS_CPL], 2);
    fixture_run(fixture);
    ck_assert_uint_eq(fab_fabric_tlps_alive(fixture_fabric(fixture)), 0);
}
END_TEST

/* ---- Pieces of reads ------------------------------------------------------
 */

/*
 * The root splits a read of 256 bytes into four pieces, and the far end answers
 * all but piece _i. The root makes the pieces when the read has come in. It
 * completes the read with CA one time-out later, which takes the time of a
 * completion without data; the pieces before _i go back at once, those after it
 * never. The late completion is unexpected.
 */
START_TEST(a_root_gives_up_a_piece)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port(SPEED, WIDTH);
    FabRootParams root = fixture_root();
    double made = BARE_PS, want = made + TIMEOUT + BARE_PS;
    const FixtureLog *last;
    FixtureHost host;

    root.read_split_bytes = 64;
    fixture_host_init(&host, fixture, &root, &port);
    fab_fabric_set_completion_timeout(fixture_fabric(fixture), TIMEOUT);
    read_send(host.dev, fixture_bar(host.far, 0), 256, 7);
    fixture_run_until(fixture, SIM_US);
    ck_assert_uint_eq(host.far->log->len, 4);
    for (unsigned i = 0; i < 4; i++) {
        if (i != (unsigned)_i) {
            answer(host.far, i);
        }
    }
    fixture_run_until(fixture, TIMEOUT);
    ck_assert_uint_eq(host.dev->log->len, _i);
    ck_assert_uint_eq(of(fab_root_component(host.root), 1)->completion_timeouts,
                      0);
    fixture_run_until(fixture, LATE);
    ck_assert_uint_eq(of(fab_root_component(host.root), 1)->completion_timeouts,
                      1);
    ck_assert_uint_eq(host.dev->log->len, _i + 1);
    last = fixture_log(host.dev, _i);
    ck_assert_uint_eq(last->tlp.status, FAB_STATUS_CA);
    ck_assert_uint_eq(last->tlp.tag, 7);
    /* A piece waits for those before it on the wire, 20 bytes each. */
    ck_assert_double_ge(last->time, want - 20);
    ck_assert_double_le(last->time, want + _i * BARE_PS + 20);
    answer(host.far, _i);
    fixture_run(fixture);
    ck_assert_uint_eq(
        of(fab_root_component(host.root), 1)->unexpected_completions, 1);
    ck_assert_uint_eq(host.dev->log->len, _i + 1);
    fixture_assert_drained(fixture);
}
END_TEST

/* All pieces of many reads expire, and their tags serve again: as many reads as
 * there are tags go on afterwards. */
START_TEST(tags_of_pieces_come_back)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port(SPEED, WIDTH);
    FabRootParams root = fixture_root();
    const FabPortCounters *counters;
    FixtureHost host;

    root.read_split_bytes = 64;
    root.forwarded_reads = 8;
    fixture_host_init(&host, fixture, &root, &port);
    fab_fabric_set_completion_timeout(fixture_fabric(fixture), TIMEOUT);
    counters = of(fab_root_component(host.root), 1);
    for (unsigned i = 0; i < 4; i++) {
        read_send(host.dev, fixture_bar(host.far, 0), 256, i);
    }
    /* 8 of the 16 pieces have a tag; the others follow a time-out later. */
    fixture_run_until(fixture, TIMEOUT - SIM_US);
    ck_assert_uint_eq(host.far->log->len, 8);
    fixture_run_until(fixture, 2 * TIMEOUT - SIM_US);
    ck_assert_uint_eq(counters->completion_timeouts, 8);
    ck_assert_uint_eq(host.far->log->len, 16);
    fixture_run_until(fixture, 2 * TIMEOUT + SIM_US);
    ck_assert_uint_eq(counters->completion_timeouts, 16);
    ck_assert_uint_eq(host.dev->log->len, 4);
    read_send(host.dev, fixture_bar(host.far, 0), 256, 9);
    fixture_run_until(fixture, 2 * TIMEOUT + 2 * SIM_US);
    for (unsigned i = 16; i < 20; i++) {
        answer(host.far, i);
    }
    fixture_run(fixture);
    ck_assert_uint_eq(host.dev->log->len, 4 + 4);
    ck_assert_uint_eq(fixture_log(host.dev, 7)->tlp.status, FAB_STATUS_SC);
    fixture_assert_drained(fixture);
}
END_TEST

/* The root gives up each piece one time-out after it made it, also if it makes
 * another one when the first is given up: the third waits for its tag. */
START_TEST(pieces_are_given_up_in_their_time)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port(SPEED, WIDTH);
    FabRootParams root = fixture_root();
    const FabPortCounters *counters;
    FixtureHost host;

    root.read_split_bytes = 64;
    root.forwarded_reads = 2;
    fixture_host_init(&host, fixture, &root, &port);
    fab_fabric_set_completion_timeout(fixture_fabric(fixture), TIMEOUT);
    counters = of(fab_root_component(host.root), 1);
    read_send(host.dev, fixture_bar(host.far, 0), 64, 0);
    fixture_run_until(fixture, 10 * SIM_US);
    read_send(host.dev, fixture_bar(host.far, 0), 64, 1);
    read_send(host.dev, fixture_bar(host.far, 0), 64, 2);
    fixture_run_until(fixture, TIMEOUT + 5 * SIM_US);
    ck_assert_uint_eq(host.far->log->len, 3);
    ck_assert_uint_eq(counters->completion_timeouts, 1);
    fixture_run_until(fixture, TIMEOUT + 15 * SIM_US);
    ck_assert_uint_eq(counters->completion_timeouts, 2);
    fixture_run_until(fixture, 2 * TIMEOUT + SIM_US);
    ck_assert_uint_eq(counters->completion_timeouts, 3);
    fixture_run(fixture);
    fixture_assert_drained(fixture);
}
END_TEST

/* ---- Reads of a DMA engine ------------------------------------------------
 */

typedef struct Reader {
    FabEndpoint *device;
    FabDma dma[3];
    SimTime over[3];
    Fixture *fixture;
} Reader;

static void reader_read(Reader *reader, unsigned i)
{
    fab_endpoint_dma(reader->device, &reader->dma[i]);
}

/* The first read is over, and the third one begins. */
static void reader_over(FabDma *dma)
{
    Reader *reader = dma->owner;

    reader->over[dma - reader->dma] = fixture_now(reader->fixture);
    ck_assert_uint_eq(dma->status, FAB_STATUS_TIMED_OUT);
    if (dma == reader->dma) {
        reader_read(reader, 2);
    }
}

/* The engine gives up each read one time-out after it made it, also if it makes
 * another one when the first is given up. */
START_TEST(an_engine_gives_up_each_read_in_its_time)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port(SPEED, WIDTH);
    FabRootParams params = fixture_root();
    FabEndpointParams device = fixture_device();
    Reader reader = {.fixture = fixture};
    FixtureEnd *far;
    FabRoot *root = fab_root_new(fixture_fabric(fixture), "h", &params);

    fab_root_add_port(root, "rp0", &port);
    fab_root_add_port(root, "rp1", &port);
    reader.device =
        fab_endpoint_new(fixture_fabric(fixture), "h.dev", &port, &device);
    far = fixture_end_new(fixture, "h.far", &port, MIB(1), 0);
    fixture_connect(fixture, fab_root_component(root), 0,
                    fab_endpoint_component(reader.device), 0, 0, 0, 0);
    fixture_connect(fixture, fab_root_component(root), 1, &far->component, 0, 0,
                    0, 0);
    fixture_realize(fixture);
    fab_fabric_set_completion_timeout(fixture_fabric(fixture), TIMEOUT);
    for (unsigned i = 0; i < 3; i++) {
        reader.dma[i] = (FabDma){.type = FAB_TLP_MRD,
                                 .addr = fixture_bar(far, 0),
                                 .size_bytes = 64,
                                 .done = reader_over,
                                 .owner = &reader};
    }
    reader_read(&reader, 0);
    fixture_run_until(fixture, 10 * SIM_US);
    reader_read(&reader, 1);
    fixture_run_until(fixture, 3 * TIMEOUT);
    fixture_assert_time_eq(reader.over[0], TIMEOUT);
    fixture_assert_time_eq(reader.over[1], 10 * SIM_US + TIMEOUT);
    fixture_assert_time_eq(reader.over[2], 2 * TIMEOUT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_timeout");
    TCase *tcase = tcase_create("timeout");

    tcase_add_test(tcase, an_ntb_gives_up_its_tag);
    tcase_add_loop_test(tcase, a_root_gives_up_a_piece, 0, 4);
    tcase_add_test(tcase, tags_of_pieces_come_back);
    tcase_add_test(tcase, pieces_are_given_up_in_their_time);
    tcase_add_test(tcase, an_engine_gives_up_each_read_in_its_time);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
