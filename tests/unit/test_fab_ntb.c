/* SPDX-License-Identifier: MIT */
/*
 * Invariants of an NTB: a request to an address in the window arrives in the
 * far host, at the same offset from the target of the entry, with the Requester
 * ID of the far NTB. A completion returns to its requester with its tag, even
 * if several requesters use the same tags. No more requests are outstanding
 * than the far NTB has tags. A request to an entry that is not mapped is an
 * Unsupported Request.
 */
#include "fab_fixture.h"

#include "sim_random.h"
#include "../suite.h"

#define CABLE (10 * SIM_NS)

/* Two hosts, each with a switch; below each switch are ends and an NTB. */
#define ENDS 3

typedef struct Side {
    FabRoot *root;
    FabNtb *ntb;
    FixtureEnd *end[ENDS];
} Side;

typedef struct Pair {
    Fixture *fixture;
    Side a, b;
} Pair;

static void side_init(Side *side, Fixture *fixture, const char *name,
                      const FabNtbParams *ntb, const FabPortParams *port,
                      SimTime latency)
{
    g_autofree char *ntb_name = g_strconcat(name, ".ntb", NULL);
    g_autofree char *sw_name = g_strconcat(name, ".sw", NULL);
    FabRootParams params = fixture_root();
    FabPortParams ntb_port = *port;
    FabComponent *root, *sw;

    ntb_port.latency = latency;
    side->root = fab_root_new(fixture_fabric(fixture), name, &params);
    root = fab_root_component(side->root);
    fab_root_add_port(side->root, "rp0", port);
    side->ntb = fab_ntb_new(fixture_fabric(fixture), ntb_name, 2, &ntb_port,
                            &ntb_port, ntb);
    sw = fab_switch_new(fixture_fabric(fixture), sw_name, ENDS + 1, port, port,
                        false);
    fixture_connect(fixture, root, 0, sw, 0, 0, 0, 0);
    fixture_connect(fixture, sw, 1 + ENDS, fab_ntb_component(side->ntb), 0, 0,
                    0, 0);
    for (unsigned i = 0; i < ENDS; i++) {
        g_autofree char *end = g_strdup_printf("%s.e%u", name, i);

        side->end[i] = fixture_end_new(fixture, end, port, MIB(1), 0);
        side->end[i]->logs = true;
        fixture_connect(fixture, sw, 1 + i, &side->end[i]->component, 0, 0, 0,
                        0);
    }
}

static void pair_init(Pair *pair, Fixture *fixture, const FabNtbParams *ntb)
{
    FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 8, 64, 512);
    g_autoptr(GError) error = NULL;

    pair->fixture = fixture;
    side_init(&pair->a, fixture, "a", ntb, &port, 0);
    side_init(&pair->b, fixture, "b", ntb, &port, 0);
    fixture_connect(fixture, fab_ntb_component(pair->a.ntb), 1,
                    fab_ntb_component(pair->b.ntb), 1, 0, 0, CABLE);
    fixture_realize(fixture);
    for (unsigned i = 0; i < ENDS; i++) {
        ck_assert(fab_ntb_add_requester(
            pair->a.ntb, pair->a.end[i]->component.bdf, false, &error));
        ck_assert(fab_ntb_add_requester(
            pair->b.ntb, pair->b.end[i]->component.bdf, false, &error));
    }
    ck_assert(fab_ntb_add_requester(pair->a.ntb, 0, false, &error));
}

static FabBusAddr map(FabNtb *ntb, FabBusAddr target, uint64_t bytes)
{
    g_autoptr(GError) error = NULL;
    FabBusAddr addr;

    fab_ntb_map(ntb, 1, target, bytes, &addr, &error);
    ck_assert_msg(!error, "%s", error ? error->message : "");
    return addr;
}

/* ---- Addresses ------------------------------------------------------- */

/* The first and last bytes of entries, and one within. */
START_TEST(addresses_are_translated_entry_by_entry)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabNtbParams params = fixture_ntb();
    uint64_t entry = MIB(1);
    FabBusAddr target, addr;
    FixtureEnd *from, *to;
    Pair pair;

    pair_init(&pair, fixture, &params);
    ck_assert_uint_eq(fab_ntb_entry_bytes(pair.a.ntb), entry);
    from = pair.a.end[0];
    for (unsigned i = 0; i < ENDS; i++) {
        static const uint64_t offsets[] = {0, 8, MIB(1) - 8, 0x12340};

        to = pair.b.end[ENDS - 1 - i];
        target = fixture_bar(to, 0);
        addr = map(pair.a.ntb, target, MIB(1));
        for (unsigned j = 0; j < G_N_ELEMENTS(offsets); j++) {
            const FabTlp *tlp;

            fixture_send(from,
                         fixture_tlp(from, FAB_TLP_MWR, addr + offsets[j], 8));
            fixture_run(fixture);
            ck_assert_uint_eq(to->log->len, j + 1);
            tlp = &fixture_log(to, j)->tlp;
            ck_assert_uint_eq(tlp->addr, target + offsets[j]);
            /* The far NTB issues the request as its own. */
            ck_assert_uint_eq(tlp->requester_id,
                              fab_ntb_component(pair.b.ntb)->bdf);
        }
    }
    ck_assert_uint_eq(fab_ntb_counters(pair.a.ntb)->translated, 12);
    ck_assert_uint_eq(fab_fabric_unsupported(fixture_fabric(fixture)), 0);
    fixture_assert_drained(fixture);
}
END_TEST

/* A translation is that of the own host. The far host must look at the address
 * itself (PCIe 5.0 s2.2.4.1: AT = 00b), and a Translation Request has no place
 * in a window, for an adapter has no translations (s10.2.2). */
START_TEST(translations_end_at_the_window)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabNtbParams params = fixture_ntb();
    FixtureEnd *from, *to;
    FabBusAddr addr;
    FabTlp *tlp;
    Pair pair;

    pair_init(&pair, fixture, &params);
    from = pair.a.end[0];
    to = pair.b.end[1];
    addr = map(pair.a.ntb, fixture_bar(to, 0), MIB(1));
    for (unsigned i = 0; i < 2; i++) {
        tlp = fixture_tlp(from, i ? FAB_TLP_MRD : FAB_TLP_MWR, addr, 8);
        tlp->at = FAB_AT_TRANSLATED;
        fixture_send(from, tlp);
        fixture_run(fixture);
        ck_assert_uint_eq(to->log->len, i + 1);
        ck_assert_uint_eq(fixture_log(to, i)->tlp.at, FAB_AT_UNTRANSLATED);
    }
    tlp = fixture_tlp(from, FAB_TLP_MRD, addr, 8);
    tlp->at = FAB_AT_REQUEST;
    fixture_send(from, tlp);
    fixture_run(fixture);
    ck_assert_uint_eq(to->log->len, 2);
    ck_assert_uint_eq(fab_fabric_unsupported(fixture_fabric(fixture)), 1);
}
END_TEST

/* A range that begins in the middle of an entry, and spans several. */
START_TEST(unaligned_ranges_take_the_entries_they_touch)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabNtbParams params = fixture_ntb();
    FabBusAddr addr, target = GIB(4) + MIB(3) - 4096;
    Pair pair;

    pair_init(&pair, fixture, &params);
    addr = map(pair.a.ntb, target, 8192);
    ck_assert_uint_eq(fab_ntb_free_entries(pair.a.ntb), 62);
    ck_assert_uint_eq(addr % MIB(1), target % MIB(1));
    fixture_send_read(pair.a.end[0], addr, 256, 1);
    fixture_send_read(pair.a.end[0], addr + 4096, 256, 2);
    fixture_send_read(pair.a.end[0], addr + 8192 - 256, 256, 3);
    fixture_run(fixture);
    ck_assert_uint_eq(pair.a.end[0]->log->len, 3);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq(fixture_log(pair.a.end[0], i)->tlp.status,
                          FAB_STATUS_SC);
        ck_assert_uint_eq(fixture_log(pair.a.end[0], i)->tlp.tag, i + 1);
    }
    ck_assert_uint_eq(fab_root_counters(pair.b.root)->memory_read_bytes, 768);
    /* The same range, or a part of it, shares the entries. */
    ck_assert_uint_eq(map(pair.a.ntb, target, 8192), addr);
    ck_assert_uint_eq(map(pair.a.ntb, target + 4096, 64), addr + 4096);
    ck_assert_uint_eq(fab_ntb_free_entries(pair.a.ntb), 62);
    /* A longer range takes one more entry at the end. */
    ck_assert_uint_eq(map(pair.a.ntb, target, MIB(1) + 8192), addr);
    ck_assert_uint_eq(fab_ntb_free_entries(pair.a.ntb), 61);
}
END_TEST

START_TEST(unmapped_and_unknown_are_unsupported)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabNtbParams params = fixture_ntb();
    FixtureEnd *end;
    FabBusAddr addr;
    FabTlp *tlp;
    Pair pair;

    pair_init(&pair, fixture, &params);
    end = pair.a.end[1];
    addr = map(pair.a.ntb, GIB(4), MIB(1));
    /* Right behind the mapped entry. */
    fixture_send_read(end, addr + MIB(1), 64, 5);
    fixture_send(end, fixture_tlp(end, FAB_TLP_MWR, addr + MIB(1), 64));
    fixture_run(fixture);
    ck_assert_uint_eq(end->log->len, 1);
    ck_assert_uint_eq(fixture_log(end, 0)->tlp.status, FAB_STATUS_UR);
    ck_assert_uint_eq(fixture_log(end, 0)->tlp.tag, 5);
    ck_assert_uint_eq(fab_ntb_counters(pair.a.ntb)->unmapped, 2);
    fixture_assert_drained(fixture);
    /* The Requester ID is not in the table. */
    tlp = fixture_tlp(end, FAB_TLP_MWR, addr, 64);
    tlp->requester_id = 0x1234;
    fixture_send(end, tlp);
    fixture_run(fixture);
    ck_assert_uint_eq(fab_ntb_counters(pair.a.ntb)->unknown_requester, 1);
    /* It came in at the host's side of the adapter, as the two before it. */
    ck_assert_uint_eq(
        fab_port_counters(fab_component_port(fab_ntb_component(pair.a.ntb), 0))
            ->unsupported_requests,
        3);
    ck_assert_uint_eq(fab_root_counters(pair.b.root)->memory_written_bytes, 0);
    fixture_assert_drained(fixture);
}
END_TEST

/* ---- Entries --------------------------------------------------------- */

START_TEST(entries_run_out_with_a_message)
{
    g_autoptr(Fixture) fixture = fixture_new();
    g_autoptr(GError) error = NULL;
    FabNtbParams params = fixture_ntb();
    FabBusAddr addr;
    Pair pair;

    params.reserved = 12;
    pair_init(&pair, fixture, &params);
    /* 64 entries of 1 MiB, of which 12 are reserved for the one connected
     * cable. */
    ck_assert_uint_eq(fab_ntb_free_entries(pair.a.ntb), 52);
    map(pair.a.ntb, GIB(4), MIB(50));
    ck_assert_uint_eq(fab_ntb_free_entries(pair.a.ntb), 2);
    ck_assert(!fab_ntb_map(pair.a.ntb, 1, GIB(8), MIB(3), &addr, &error));
    ck_assert(g_error_matches(error, FAB_ERROR, FAB_ERROR_WINDOW));
    ck_assert_ptr_nonnull(strstr(error->message, "a.ntb"));
    ck_assert_ptr_nonnull(strstr(error->message, "takes 3 "));
    ck_assert_ptr_nonnull(strstr(error->message, "2 of 64 are free"));
    ck_assert_ptr_nonnull(strstr(error->message, "50 in use"));
    ck_assert_uint_eq(fab_ntb_free_entries(pair.a.ntb), 2);
    map(pair.a.ntb, GIB(8), MIB(2));
    ck_assert_uint_eq(fab_ntb_free_entries(pair.a.ntb), 0);
    /* A range that is mapped already takes no further entry. */
    map(pair.a.ntb, GIB(4) + MIB(7), MIB(9));
    g_clear_error(&error);
    ck_assert(!fab_ntb_map(pair.a.ntb, 1, GIB(8), MIB(500), &addr, &error));
    ck_assert(g_error_matches(error, FAB_ERROR, FAB_ERROR_WINDOW));
}
END_TEST

START_TEST(requesters_run_out_with_a_message)
{
    g_autoptr(Fixture) fixture = fixture_new();
    g_autoptr(GError) error = NULL;
    FabNtbParams params = fixture_ntb();
    Pair pair;

    pair_init(&pair, fixture, &params);
    /* pair_init() has entered four requesters. */
    for (unsigned i = 0; i < 28; i++) {
        ck_assert(fab_ntb_add_requester(pair.a.ntb, 0x4000 + i, false, &error));
    }
    ck_assert(fab_ntb_add_requester(pair.a.ntb, 0x4000, false, &error));
    ck_assert(
        !fab_ntb_add_requester(pair.a.ntb, FAB_BDF(0x50, 3, 1), false, &error));
    ck_assert(g_error_matches(error, FAB_ERROR, FAB_ERROR_WINDOW));
    ck_assert_ptr_nonnull(strstr(error->message, "50:03.1"));
    ck_assert_ptr_nonnull(strstr(error->message, "32"));
}
END_TEST

/* ---- Tags ------------------------------------------------------------ */

typedef struct Asker {
    Pair pair; /* first: the ends' user data */
    SimRandom random;
    FabBusAddr window;
    unsigned outstanding, most; /* reads between the far NTB and its root */
    uint32_t wanted[ENDS][32];  /* bytes that the read still lacks, by tag */
    uint64_t left, answered;    /* reads */
} Asker;

/* Sends a read with every free one of 32 tags. All ends use the same tags. */
static void ask(Asker *asker, unsigned end)
{
    for (uint16_t tag = 0; tag < 32 && asker->left; tag++) {
        if (!asker->wanted[end][tag]) {
            uint32_t bytes = 1 + sim_random_below(&asker->random, 512);
            uint64_t line = sim_random_below(&asker->random, 1024);

            asker->left--;
            asker->wanted[end][tag] = bytes;
            /* The address depends on end and tag. */
            fixture_send_read(asker->pair.a.end[end],
                              asker->window + KIB(1) * line + tag + 32 * end,
                              bytes, tag);
        }
    }
}

static void asker_got(FixtureEnd *end, const FabTlp *tlp)
{
    Asker *asker = end->user;
    unsigned i = 0;

    while (asker->pair.a.end[i] != end) {
        i++;
    }
    fixture_ensure(tlp->requester_id == end->component.bdf);
    fixture_ensure(tlp->type == FAB_TLP_CPLD);
    fixture_ensure(tlp->tag < 32);
    /* The Byte Count is the number of bytes that the read still lacks. */
    fixture_ensure(tlp->request_bytes == asker->wanted[i][tlp->tag]);
    asker->wanted[i][tlp->tag] -= tlp->payload_bytes;
    if (!asker->wanted[i][tlp->tag]) {
        asker->answered++;
        ask(asker, i);
    }
}

static void count_outstanding(void *data, const FabTraceRecord *record)
{
    Asker *asker = data;
    const FabComponent *owner = fab_port_owner(record->port);
    const FabTlp *tlp = record->tlp;

    if (owner == fab_ntb_component(asker->pair.b.ntb) &&
        tlp->cls == FAB_CLASS_NP) {
        asker->outstanding++;
        asker->most = MAX(asker->most, asker->outstanding);
        fixture_ensure(tlp->requester_id == owner->bdf);
    } else if (fab_port_peer(record->port) ==
                   fab_ntb_component(asker->pair.b.ntb)->ports[0] &&
               tlp->cls == FAB_CLASS_CPL && fab_tlp_is_last_completion(tlp)) {
        asker->outstanding--;
    }
}

/* _i: number of tags of the far NTB. Up to 96 reads are under way. */
START_TEST(tags_are_proxied)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabNtbParams params = fixture_ntb();
    Asker asker = {.left = 5000};

    params.tags = _i;
    pair_init(&asker.pair, fixture, &params);
    sim_random_init(&asker.random, _i, "asker");
    asker.window = map(asker.pair.a.ntb, GIB(5), MIB(2));
    fab_fabric_set_trace(fixture_fabric(fixture), FAB_TRACE_LINK,
                         count_outstanding, &asker);
    for (unsigned i = 0; i < ENDS; i++) {
        asker.pair.a.end[i]->user = &asker;
        asker.pair.a.end[i]->got = asker_got;
        asker.pair.a.end[i]->logs = false;
        ask(&asker, i);
    }
    fixture_run(fixture);
    ck_assert_uint_eq(asker.left, 0);
    ck_assert_uint_eq(asker.answered, 5000);
    ck_assert_uint_eq(asker.outstanding, 0);
    ck_assert_uint_le(asker.most, _i);
    if (_i < 64) {
        ck_assert_uint_eq(asker.most, _i);
        ck_assert_uint_gt(fab_ntb_counters(asker.pair.b.ntb)->tag_waits, 0);
    }
    fixture_assert_drained(fixture);
}
END_TEST

/* Reads that wait for a tag do not hold up a later write. */
START_TEST(writes_pass_reads_without_a_tag)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabNtbParams params = fixture_ntb();
    FabBusAddr far, near;
    FixtureEnd *from, *to;
    Pair pair;

    params.tags = 1;
    pair_init(&pair, fixture, &params);
    from = pair.a.end[0];
    to = pair.b.end[0]; /* never answers reads */
    far = map(pair.a.ntb, fixture_bar(to, 0), MIB(1));
    near = map(pair.a.ntb, GIB(4), MIB(1));
    for (unsigned i = 0; i < 20; i++) {
        fixture_send_read(from, far, 64, i);
    }
    fixture_send(from, fixture_tlp(from, FAB_TLP_MWR, near, 64));
    fixture_run(fixture);
    ck_assert_uint_eq(to->received[FAB_CLASS_NP], 1);
    ck_assert_uint_eq(fab_root_counters(pair.b.root)->memory_written_bytes, 64);
}
END_TEST

/* ---- Latency --------------------------------------------------------- */

/*
 * A CPU writes to an end in the other host. The write crosses five links: root
 * to switch, switch to NTB, the cable, NTB to switch, and switch to end. The
 * window is above 4 GiB, so the header has 4 DW before the translation and 3
 * after it. With cut-through the time of the longer TLP counts once; with store
 * and forward every link adds its time. _i: 0: cut-through, 1: store.
 */
START_TEST(latency_is_that_of_the_formula)
{
    g_autoptr(Fixture) fixture = fixture_new();
    g_autoptr(GError) error = NULL;
    FabPortParams port = fixture_port(FAB_SPEED_2_5GT, 4);
    FabNtbParams ntb = fixture_ntb();
    /* At 1 ns a byte. */
    SimTime near = (8 + 16 + 64) * SIM_NS, far = (8 + 12 + 64) * SIM_NS;
    SimTime adapter = 130 * SIM_NS;
    FabBusAddr addr;
    FixtureEnd *end;
    Pair pair = {.fixture = fixture};

    port.forwarding = _i ? FAB_FORWARDING_STORE : FAB_FORWARDING_CUT_THROUGH;
    side_init(&pair.a, fixture, "a", &ntb, &port, adapter);
    side_init(&pair.b, fixture, "b", &ntb, &port, adapter);
    fixture_connect(fixture, fab_ntb_component(pair.a.ntb), 1,
                    fab_ntb_component(pair.b.ntb), 1, 0, 0, CABLE);
    fixture_realize(fixture);
    ck_assert(fab_ntb_add_requester(pair.a.ntb, 0, false, &error));
    end = pair.b.end[0];
    addr = map(pair.a.ntb, fixture_bar(end, 0), MIB(1));
    fab_root_write(pair.a.root, addr, 64, 0, 0);
    fixture_run(fixture);
    ck_assert_uint_ge(addr, GIB(4));
    ck_assert_int_le(
        ABS(fixture_log(end, 0)->time -
            (2 * adapter + CABLE + (_i ? 2 * near + 3 * far : near))),
        3);
    ck_assert_uint_eq(fixture_log(end, 0)->tlp.hops, 5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_ntb");
    TCase *tcase = tcase_create("ntb");

    tcase_add_test(tcase, addresses_are_translated_entry_by_entry);
    tcase_add_test(tcase, translations_end_at_the_window);
    tcase_add_test(tcase, unaligned_ranges_take_the_entries_they_touch);
    tcase_add_test(tcase, unmapped_and_unknown_are_unsupported);
    tcase_add_test(tcase, entries_run_out_with_a_message);
    tcase_add_test(tcase, requesters_run_out_with_a_message);
    tcase_add_loop_test(tcase, tags_are_proxied, 1, 3);
    tcase_add_loop_test(tcase, tags_are_proxied, 31, 33);
    tcase_add_loop_test(tcase, tags_are_proxied, 256, 257);
    tcase_add_test(tcase, writes_pass_reads_without_a_tag);
    tcase_add_loop_test(tcase, latency_is_that_of_the_formula, 0, 2);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
