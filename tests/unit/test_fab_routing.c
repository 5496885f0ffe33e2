/* SPDX-License-Identifier: MIT */
/*
 * Invariant: a request reaches the component that claims its address, and a
 * completion the component with its Requester ID: down through bridge ranges,
 * between siblings, up to the root and, with ACS redirect, through the root. A
 * request that no component claims gets one completion with status UR; if it is
 * posted, it is only counted.
 */
#include "fab_fixture.h"
#include "../suite.h"

#define ENDS 3

/* A root with two root ports: a switch is below one, an end below the other. */
typedef struct Tree {
    Fixture *fixture;
    FabRoot *root;
    FabComponent *sw;
    FixtureEnd *end[ENDS]; /* below the switch */
    FixtureEnd *far;       /* below the other root port */
} Tree;

static void tree_init(Tree *tree, Fixture *fixture, bool acs)
{
    FabRootParams root = fixture_root();
    FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 8, 32, 256);

    tree->fixture = fixture;
    tree->root = fab_root_new(fixture_fabric(fixture), "h", &root);
    fab_root_add_port(tree->root, "rp0", &port);
    fab_root_add_port(tree->root, "rp1", &port);
    tree->sw = fab_switch_new(fixture_fabric(fixture), "h.sw", ENDS, &port,
                              &port, acs);
    fixture_connect(fixture, fab_root_component(tree->root), 0, tree->sw, 0, 0,
                    0, 0);
    for (unsigned i = 0; i < ENDS; i++) {
        g_autofree char *name = g_strdup_printf("h.e%u", i);

        tree->end[i] = fixture_end_new(fixture, name, &port, MIB(1), MIB(2));
        fixture_connect(fixture, tree->sw, 1 + i, &tree->end[i]->component, 0,
                        0, 0, 0);
    }
    tree->far = fixture_end_new(fixture, "h.far", &port, MIB(1), GIB(1));
    fixture_connect(fixture, fab_root_component(tree->root), 1,
                    &tree->far->component, 0, 0, 0, 0);
    fixture_realize(fixture);
    for (unsigned i = 0; i < ENDS; i++) {
        tree->end[i]->logs = true;
    }
    tree->far->logs = true;
}

/* Unsupported Requests that came in at the ports of @component. */
static uint64_t unsupported_at(const FabComponent *component)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < fab_component_port_count(component); i++) {
        sum += fab_port_counters(fab_component_port(component, i))
                   ->unsupported_requests;
    }
    return sum;
}

/* Runs, then checks that @end has received one TLP with @data and the other
 * ends nothing. */
static void only_came_to(Tree *tree, FixtureEnd *end, uint64_t data)
{
    FixtureEnd *all[] = {tree->end[0], tree->end[1], tree->end[2], tree->far};

    fixture_run(tree->fixture);
    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++) {
        ck_assert_uint_eq(all[i]->log->len, all[i] == end);
        if (all[i] == end) {
            ck_assert_uint_eq(fixture_log(end, 0)->tlp.data, data);
        }
        g_array_set_size(all[i]->log, 0);
    }
    ck_assert_uint_eq(fab_fabric_unsupported(fixture_fabric(tree->fixture)), 0);
    fixture_assert_drained(tree->fixture);
}

static void send_to(FixtureEnd *from, FabBusAddr addr, uint64_t data)
{
    FabTlp *tlp = fixture_tlp(from, FAB_TLP_MWR, addr, 8);

    tlp->data = data;
    fixture_send(from, tlp);
}

/* Writes to the first and last bytes of both BARs of every end, from every
 * other end and from the CPU. _i: ACS redirect. */
START_TEST(requests_go_by_address)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FixtureEnd *all[4];
    uint64_t data = 0;
    Tree tree;

    tree_init(&tree, fixture, _i);
    memcpy(all, tree.end, sizeof(tree.end));
    all[3] = tree.far;
    /* The large BAR is above 4 GiB. */
    ck_assert_uint_ge(fixture_bar(tree.far, 2), GIB(4));
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned bar = 0; bar <= 2; bar += 2) {
            FabBusAddr addr = fixture_bar(all[i], bar);
            uint64_t size = all[i]->component.bars[bar].size_bytes;

            for (unsigned j = 0; j < 4; j++) {
                if (j == i) {
                    continue;
                }
                send_to(all[j], addr, ++data);
                only_came_to(&tree, all[i], data);
                send_to(all[j], addr + size - 8, ++data);
                only_came_to(&tree, all[i], data);
            }
            fab_root_write(tree.root, addr, 8, ++data, 0);
            only_came_to(&tree, all[i], data);
            fab_root_write(tree.root, addr + size - 8, 8, ++data, 0);
            only_came_to(&tree, all[i], data);
        }
    }
}
END_TEST

static void read_done(void *owner, FabStatus status)
{
    unsigned *done = owner;

    done[0]++;
    done[1 + status]++;
}

static void answer(FixtureEnd *end, const FabTlp *tlp)
{
    if (tlp->type == FAB_TLP_MRD) {
        fixture_reply(end, tlp, FAB_STATUS_SC, 64);
    }
}

/* @from reads from @to while no other TLP is under way. The completion returns
 * by ID. */
static void read_between(Tree *tree, FixtureEnd *from, FixtureEnd *to,
                         uint16_t tag)
{
    FabTlp *tlp = fixture_tlp(from, FAB_TLP_MRD, fixture_bar(to, 0) + 256, 64);
    const FabTlp *cpl;

    tlp->tag = tag;
    fixture_send(from, tlp);
    fixture_run(tree->fixture);
    ck_assert_uint_eq(to->log->len, 1);
    ck_assert_uint_eq(from->log->len, 1);
    cpl = &fixture_log(from, 0)->tlp;
    ck_assert_uint_eq(cpl->type, FAB_TLP_CPLD);
    ck_assert_uint_eq(cpl->tag, tag);
    ck_assert_uint_eq(cpl->requester_id, from->component.bdf);
    ck_assert_uint_eq(cpl->payload_bytes, 64);
    g_array_set_size(from->log, 0);
    g_array_set_size(to->log, 0);
    fixture_assert_drained(tree->fixture);
}

START_TEST(completions_go_by_id)
{
    g_autoptr(Fixture) fixture = fixture_new();
    unsigned done[8] = {0};
    uint16_t tag = 100;
    FixtureEnd *all[4];
    Tree tree;

    tree_init(&tree, fixture, _i);
    memcpy(all, tree.end, sizeof(tree.end));
    all[3] = tree.far;
    for (unsigned i = 0; i < 4; i++) {
        all[i]->got = answer;
    }
    for (unsigned i = 0; i < 16; i++) {
        if (i / 4 != i % 4) {
            read_between(&tree, all[i / 4], all[i % 4], tag++);
        }
    }
    for (unsigned i = 0; i < 4; i++) {
        fab_root_read(tree.root, fixture_bar(all[i], 2), 64, read_done, done,
                      0);
    }
    fixture_run(fixture);
    ck_assert_uint_eq(done[0], 4);
    ck_assert_uint_eq(done[1 + FAB_STATUS_SC], 4);
    fixture_assert_drained(fixture);
}
END_TEST

/* A write to a sibling turns around at the switch. With ACS redirect it turns
 * around at the root, which takes two more hops: one up and one down. */
START_TEST(acs_redirect_goes_through_the_root)
{
    g_autoptr(Fixture) fixture = fixture_new();
    Tree tree;

    tree_init(&tree, fixture, _i);
    send_to(tree.end[0], fixture_bar(tree.end[1], 0), 1);
    fixture_run(fixture);
    ck_assert_uint_eq(fixture_log(tree.end[1], 0)->tlp.hops, _i ? 4 : 2);
    ck_assert_uint_eq(
        fab_port_counters(tree.sw->ports[0])->tlps_sent[FAB_CLASS_P], _i);
    ck_assert_uint_eq(fab_root_counters(tree.root)->forwarded_writes, _i);
    /* A TLP for the root still goes there. */
    send_to(tree.end[0], GIB(4), 2);
    fixture_run(fixture);
    ck_assert_uint_eq(fab_root_counters(tree.root)->memory_written_bytes, 8);
    fixture_assert_drained(fixture);
}
END_TEST

typedef struct Seen {
    FabTlp cpl;
    unsigned completions;
} Seen;

static void see_completions(void *data, const FabTraceRecord *record)
{
    Seen *seen = data;

    if (record->category == FAB_TRACE_LINK &&
        fab_tlp_is_completion(record->tlp)) {
        seen->cpl = *record->tlp;
        seen->completions++;
    }
}

/* The root sends a request down that no Downstream Port claims. The switch
 * answers it. */
START_TEST(unclaimed_from_above_is_unsupported)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPort *rp;
    Seen seen = {.completions = 0};
    FabTlp *tlp;
    Tree tree;

    tree_init(&tree, fixture, _i);
    fab_fabric_set_trace(fixture_fabric(fixture), FAB_TRACE_LINK,
                         see_completions, &seen);
    rp = fab_root_component(tree.root)->ports[0];
    for (unsigned i = 0; i < 2; i++) {
        tlp =
            fab_tlp_new(fixture_fabric(fixture), i ? FAB_TLP_MWR : FAB_TLP_MRD);
        tlp->addr = GIB(4) + 0x1234;
        tlp->requester_id = 0;
        tlp->tag = 77;
        tlp->request_bytes = i ? 0 : 64;
        tlp->payload_bytes = i ? 64 : 0;
        fab_port_send(rp, 2, tlp);
        fixture_run(fixture);
    }
    ck_assert_uint_eq(seen.completions, 1);
    ck_assert_uint_eq(seen.cpl.type, FAB_TLP_CPL);
    ck_assert_uint_eq(seen.cpl.status, FAB_STATUS_UR);
    ck_assert_uint_eq(seen.cpl.tag, 77);
    ck_assert_uint_eq(seen.cpl.requester_id, 0);
    ck_assert_uint_eq(seen.cpl.completer_id, tree.sw->ports[0]->bridge.bdf);
    fixture_assert_drained(fixture);
}
END_TEST

/* An end sends a request up that nothing claims. The root answers it. */
START_TEST(unclaimed_from_below_is_unsupported)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabTlp *tlp;
    const FabTlp *cpl;
    Tree tree;

    tree_init(&tree, fixture, _i);
    tlp = fixture_tlp(tree.end[2], FAB_TLP_MRD, GIB(1000), 128);
    tlp->tag = 31;
    fixture_send(tree.end[2], tlp);
    send_to(tree.end[2], GIB(1000), 5);
    fixture_run(fixture);
    ck_assert_uint_eq(tree.end[2]->log->len, 1);
    cpl = &fixture_log(tree.end[2], 0)->tlp;
    ck_assert_uint_eq(cpl->type, FAB_TLP_CPL);
    ck_assert_uint_eq(cpl->status, FAB_STATUS_UR);
    ck_assert_uint_eq(cpl->tag, 31);
    ck_assert_uint_eq(cpl->requester_id, tree.end[2]->component.bdf);
    ck_assert_uint_eq(cpl->completer_id, 0);
    ck_assert_uint_eq(fab_fabric_unsupported(fixture_fabric(fixture)), 2);
    /* The read and the write came in at the root port above the end. */
    ck_assert_uint_eq(unsupported_at(fab_root_component(tree.root)), 2);
    fixture_assert_drained(fixture);
}
END_TEST

/* A completion with an unknown Requester ID or tag is dropped without an
 * answer. */
START_TEST(completion_for_nobody_is_dropped)
{
    static const FabBdf nobody[] = {0xff00, 0x0000, 0x0008};

    for (unsigned i = 0; i < G_N_ELEMENTS(nobody); i++) {
        g_autoptr(Fixture) fixture = fixture_new();
        FabTlp *tlp;
        Tree tree;

        tree_init(&tree, fixture, _i);
        for (unsigned tag = 0; tag < 5000; tag += 13) {
            tlp = fixture_tlp(tree.end[0], FAB_TLP_CPLD, 0, 64);
            tlp->requester_id = nobody[i];
            tlp->tag = tag;
            fixture_send(tree.end[0], tlp);
        }
        fixture_run(fixture);
        ck_assert_uint_eq(tree.end[0]->log->len, 0);
        fixture_assert_drained(fixture);
    }
}
END_TEST

/* Accesses of the CPU to addresses that nothing claims end with UR. */
START_TEST(cpu_reads_of_nothing_are_unsupported)
{
    g_autoptr(Fixture) fixture = fixture_new();
    unsigned done[8] = {0};
    Tree tree;

    tree_init(&tree, fixture, false);
    for (unsigned i = 0; i < 20; i++) {
        fab_root_read(tree.root, GIB(1000) + 64 * i, 64, read_done, done, 0);
        fab_root_write(tree.root, GIB(1000) + 64 * i, 64, 0, 0);
    }
    fixture_run(fixture);
    ck_assert_uint_eq(done[0], 20);
    ck_assert_uint_eq(done[1 + FAB_STATUS_UR], 20);
    ck_assert_uint_eq(fab_fabric_unsupported(fixture_fabric(fixture)), 40);
    fixture_assert_drained(fixture);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_route");
    TCase *tcase = tcase_create("route");

    tcase_add_loop_test(tcase, requests_go_by_address, 0, 2);
    tcase_add_loop_test(tcase, completions_go_by_id, 0, 2);
    tcase_add_loop_test(tcase, acs_redirect_goes_through_the_root, 0, 2);
    tcase_add_loop_test(tcase, unclaimed_from_above_is_unsupported, 0, 2);
    tcase_add_loop_test(tcase, unclaimed_from_below_is_unsupported, 0, 2);
    tcase_add_loop_test(tcase, completion_for_nobody_is_dropped, 0, 2);
    tcase_add_test(tcase, cpu_reads_of_nothing_are_unsupported);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
