/* SPDX-License-Identifier: MIT */
/*
 * Invariants of ordering: fab_tlp_may_pass() agrees with every cell of table
 * 2-40 of PCIe 5.0. An egress lets a TLP pass another where the table demands
 * it, never where the table forbids it, and between classes also where the
 * table permits it. Random traffic through small buffers loses and duplicates
 * no TLP, and no TLP passes another against the table.
 */
#include "fab_fixture.h"

#include "sim_random.h"
#include "../suite.h"

#define RO  FAB_ATTR_RO
#define IDO FAB_ATTR_IDO

/* ---- The table, typed from the specification ------------------------- */

/* Rows A to D and columns 2 to 5. */
typedef enum Row {
    POSTED,
    READ,
    NPR_WITH_DATA,
    COMPLETION,
    ROWS,
} Row;

/* A cell with an entry a and an entry b lists a, then b with its condition. */
typedef enum Cell {
    N,  /* No */
    YN, /* Y/N */
    Y,  /* Yes */
    A2, /* No; Y/N if RO, or IDO and Requester IDs differ */
    B2, /* No; Y/N if IDO and Requester IDs differ */
    D2, /* No; Y/N if RO, or IDO and its Completer ID differs from the
           Requester ID of the posted request */
    D5, /* Y/N; No within one Transaction ID */
} Cell;

/* [later][earlier], PCIe 5.0 table 2-40. Entry C2 equals A2. */
static const Cell table[ROWS][ROWS] = {
    /*                 posted  read  npr   completion */
    [POSTED] = {A2, Y, Y, YN},
    [READ] = {B2, YN, YN, YN},
    [NPR_WITH_DATA] = {A2, YN, YN, YN},
    [COMPLETION] = {D2, Y, Y, D5},
};

static Row row_of(const FabTlp *tlp)
{
    switch (tlp->type) {
    case FAB_TLP_MWR:
        return POSTED;
    case FAB_TLP_MRD:
        return READ;
    case FAB_TLP_CPL:
    case FAB_TLP_CPLD:
        return COMPLETION;
    default:
        return NPR_WITH_DATA;
    }
}

static FabPass expected(const FabTlp *later, const FabTlp *earlier)
{
    bool ro = later->attr & RO, ido = later->attr & IDO;
    bool other = later->requester_id != earlier->requester_id;

    switch (table[row_of(later)][row_of(earlier)]) {
    case N:
        return FAB_PASS_NO;
    case YN:
        return FAB_PASS_MAY;
    case Y:
        return FAB_PASS_MUST;
    case A2:
        return ro || (ido && other) ? FAB_PASS_MAY : FAB_PASS_NO;
    case B2:
        return ido && other ? FAB_PASS_MAY : FAB_PASS_NO;
    case D2:
        other = later->completer_id != earlier->requester_id;
        return ro || (ido && other) ? FAB_PASS_MAY : FAB_PASS_NO;
    default:
        return other || later->tag != earlier->tag ? FAB_PASS_MAY : FAB_PASS_NO;
    }
}

/* ---- Cell by cell ---------------------------------------------------- */

static const FabTlpType types[] = {FAB_TLP_MWR,  FAB_TLP_MRD, FAB_TLP_FETCHADD,
                                   FAB_TLP_SWAP, FAB_TLP_CAS, FAB_TLP_CPL,
                                   FAB_TLP_CPLD};

/* Bits of @variant. */
enum {
    V_RO,
    V_IDO,
    V_EARLIER_RO, /* attributes of the earlier TLP must not matter */
    V_EARLIER_IDO,
    V_REQUESTER, /* the Requester IDs differ; next: tags, Completer ID */
    V_TAG,
    V_COMPLETER,
    V_BITS,
};

static void pair_set(FabTlp *later, FabTlp *earlier, unsigned variant)
{
    later->attr =
        (variant >> V_RO & 1 ? RO : 0) | (variant >> V_IDO & 1 ? IDO : 0);
    earlier->attr = (variant >> V_EARLIER_RO & 1 ? RO : 0) |
                    (variant >> V_EARLIER_IDO & 1 ? IDO : 0);
    earlier->requester_id = 0x100;
    earlier->tag = 7;
    earlier->completer_id = 0x300;
    later->requester_id = variant >> V_REQUESTER & 1 ? 0x200 : 0x100;
    later->tag = variant >> V_TAG & 1 ? 8 : 7;
    later->completer_id = variant >> V_COMPLETER & 1 ? 0x400 : 0x100;
}

/* _i: variant */
START_TEST(table_cell_by_cell)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(types); i++) {
        for (unsigned j = 0; j < G_N_ELEMENTS(types); j++) {
            FabTlp later = {.type = types[i],
                            .cls = fab_tlp_type_class(types[i])};
            FabTlp earlier = {.type = types[j],
                              .cls = fab_tlp_type_class(types[j])};

            pair_set(&later, &earlier, _i);
            ck_assert_msg(fab_tlp_may_pass(&later, &earlier) ==
                              expected(&later, &earlier),
                          "type %u behind type %u, variant 0x%x", types[i],
                          types[j], _i);
        }
    }
}
END_TEST

/* ---- At an egress ---------------------------------------------------- */

#define HOLD (10 * SIM_US)

/* Keeps the plug (the first TLP) until long after the others were sent. */
static SimTime hold_first(FixtureEnd *end, const FabTlp *tlp)
{
    return tlp->data == 1 ? HOLD : 0;
}

/*
 * Blocks the earlier TLP and returns whether the later one passes it. If the
 * two are of different classes, the earlier one lacks header credits. If they
 * are of one class, it lacks data credits: one is left.
 */
static bool overtakes(FabTlpType later_type, FabTlpType earlier_type,
                      unsigned variant)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 8, 64, 512);
    FabClass cls = fab_tlp_type_class(earlier_type);
    bool same = cls == fab_tlp_type_class(later_type);
    FabTlp *plug, *later, *earlier;
    bool result;
    FixtureEnd *a, *b;

    if (same) {
        port.credits.data[cls] = 3;
    } else {
        port.credits.header[cls] = 1;
    }
    a = fixture_end_new(fixture, "a", &port, 0, 0);
    b = fixture_end_new(fixture, "b", &port, 0, 0);
    b->logs = true;
    b->hold = hold_first;
    fixture_connect(fixture, &a->component, 0, &b->component, 0, 0, 0,
                    5 * SIM_NS);
    fixture_realize(fixture);
    /* The plug takes the only header credit or two of three data credits. */
    plug = fixture_tlp(a, cls == FAB_CLASS_NP ? FAB_TLP_CAS : earlier_type,
                       0x1000, 32);
    plug->data = 1;
    earlier = fixture_tlp(a, earlier_type, 0x1000, 32);
    earlier->data = 2;
    later = fixture_tlp(a, later_type, 0x1000, 8);
    later->data = 3;
    pair_set(later, earlier, variant);
    /* The others share no Requester ID with the plug. */
    plug->requester_id = 0x900;
    fixture_send(a, plug);
    fixture_send(a, earlier);
    fixture_send(a, later);
    fixture_run(fixture);
    fixture_ensure(b->log->len == 3);
    fixture_ensure(fixture_log(b, 0)->tlp.data == 1);
    result = fixture_log(b, 1)->tlp.data == 3;
    fixture_ensure(fixture_log(b, result ? 1 : 2)->tlp.data == 3);
    fixture_ensure(fixture_log(b, result ? 2 : 1)->tlp.data == 2);
    /* The earlier TLP was really blocked. */
    fixture_ensure(fixture_log(b, result ? 2 : 1)->time > HOLD);
    fixture_ensure(result == (fixture_log(b, 1)->time < HOLD));
    fixture_assert_drained(fixture);
    return result;
}

static bool has_data(FabTlpType type)
{
    return type != FAB_TLP_MRD && type != FAB_TLP_CPL;
}

/* _i: variant */
START_TEST(egress_passes_cell_by_cell)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(types); i++) {
        for (unsigned j = 0; j < G_N_ELEMENTS(types); j++) {
            FabTlp later = {.type = types[i],
                            .cls = fab_tlp_type_class(types[i])};
            FabTlp earlier = {.type = types[j],
                              .cls = fab_tlp_type_class(types[j])};
            bool same = later.cls == earlier.cls, passes;
            FabPass pass;

            /* Within a class only a lack of data credits can block the earlier
             * TLP and not the later. */
            if (same && !has_data(earlier.type)) {
                continue;
            }
            pair_set(&later, &earlier, _i);
            pass = expected(&later, &earlier);
            passes = overtakes(later.type, earlier.type, _i);
            if (pass == FAB_PASS_MAY && same && !later.attr) {
                continue; /* permitted, but the model does not do it */
            }
            ck_assert_msg(passes == (pass != FAB_PASS_NO),
                          "type %u behind type %u, variant 0x%x: %d", types[i],
                          types[j], _i, passes);
        }
    }
}
END_TEST

/* A write with RO passes up to 15 earlier writes that lack credits, but not
 * more. */
START_TEST(relaxed_ordering_looks_16_deep)
{
    for (unsigned before = 1; before <= 20; before++) {
        g_autoptr(Fixture) fixture = fixture_new();
        FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 8, 64, 3);
        FabTlp *tlp;
        FixtureEnd *a, *b;

        a = fixture_end_new(fixture, "a", &port, 0, 0);
        b = fixture_end_new(fixture, "b", &port, 0, 0);
        b->logs = true;
        b->hold = hold_first;
        fixture_connect(fixture, &a->component, 0, &b->component, 0, 0, 0,
                        5 * SIM_NS);
        fixture_realize(fixture);
        tlp = fixture_tlp(a, FAB_TLP_MWR, 0, 32);
        tlp->data = 1;
        fixture_send(a, tlp);
        for (unsigned i = 0; i < before; i++) {
            fixture_send(a, fixture_tlp(a, FAB_TLP_MWR, 0, 32));
        }
        tlp = fixture_tlp(a, FAB_TLP_MWR, 0, 8);
        tlp->data = 3;
        tlp->attr = RO;
        fixture_send(a, tlp);
        fixture_run(fixture);
        ck_assert_uint_eq(b->log->len, before + 2);
        ck_assert((fixture_log(b, 1)->tlp.data == 3) == (before < 16));
        fixture_assert_drained(fixture);
    }
}
END_TEST

/* ---- Stress ---------------------------------------------------------- */

#define ENDS 4

typedef struct Stress {
    FixtureEnd *end[ENDS];
    SimRandom random;
    uint64_t left;           /* number of TLPs still to make */
    GArray *way[ENDS][ENDS]; /* of FabTlp: under way, in the order sent */
    uint64_t passed;         /* how often a TLP passed another */
} Stress;

static unsigned end_index(const Stress *stress, const FixtureEnd *end)
{
    unsigned i = 0;

    while (stress->end[i] != end) {
        i++;
    }
    return i;
}

static FabTlp *stress_make(FixtureEnd *end)
{
    Stress *stress = end->user;
    SimRandom *random = &stress->random;
    unsigned from = end_index(stress, end);
    unsigned to = (from + 1 + sim_random_below(random, ENDS - 1)) % ENDS;
    FabTlpType type = types[sim_random_below(random, G_N_ELEMENTS(types))];
    FixtureEnd *target = stress->end[to];
    FabTlp *tlp;

    if (!stress->left) {
        return NULL;
    }
    stress->left--;
    tlp = fixture_tlp(
        end, type, fixture_bar(target, 0) + 16 * end->made,
        1 + sim_random_below(
                random,
                row_of(&(FabTlp){.type = type}) == NPR_WITH_DATA ? 32 : 256));
    tlp->attr = (sim_random_below(random, 4) ? 0 : RO) |
                (sim_random_below(random, 4) ? 0 : IDO);
    tlp->tag = sim_random_below(random, 3);
    tlp->completer_id = sim_random_below(random, 3);
    tlp->requester_id = fab_tlp_is_completion(tlp)
                            ? target->component.bdf
                            : sim_random_below(random, 3);
    tlp->data = end->made;
    tlp->flow = from + 1;
    g_array_append_val(stress->way[from][to], *tlp);
    return tlp;
}

static void stress_got(FixtureEnd *end, const FabTlp *tlp)
{
    Stress *stress = end->user;
    unsigned from = tlp->flow - 1, to = end_index(stress, end);
    GArray *way = stress->way[from][to];
    unsigned i = 0;

    for (; i < way->len; i++) {
        const FabTlp *earlier = &g_array_index(way, FabTlp, i);

        if (earlier->data == tlp->data) {
            break;
        }
        if (G_UNLIKELY(!(expected(tlp, earlier) != FAB_PASS_NO))) {
            ck_abort_msg("type %u passed type %u", tlp->type, earlier->type);
        }
        stress->passed++;
    }
    if (G_UNLIKELY(!(i < way->len))) {
        ck_abort_msg("came twice, or to the wrong end");
    }
    g_array_remove_index(way, i);
}

static SimTime stress_hold(FixtureEnd *end, const FabTlp *tlp)
{
    Stress *stress = end->user;

    return sim_random_below(&stress->random, 3)
               ? 0
               : (SimTime)sim_random_below(&stress->random, SIM_US);
}

/* The link between the two switches is the bottleneck. _i: seed. */
START_TEST(random_traffic_keeps_the_table)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port =
        fixture_port_credits(FAB_SPEED_8_0GT, 4, 2 + _i % 3, 20);
    FabRootParams root_params = fixture_root();
    FabRoot *root = fab_root_new(fixture_fabric(fixture), "h", &root_params);
    FabComponent *sw[2];
    Stress stress = {.left = 6000};

    sim_random_init(&stress.random, _i, "stress");
    port.latency = 50 * SIM_NS;
    port.dllp = _i % 2 ? FAB_DLLP_SPEC : FAB_DLLP_EACH;
    port.arbitration = _i % 3;
    fab_root_add_port(root, "rp0", &port);
    sw[0] =
        fab_switch_new(fixture_fabric(fixture), "h.s0", 3, &port, &port, false);
    sw[1] =
        fab_switch_new(fixture_fabric(fixture), "h.s1", 2, &port, &port, false);
    fixture_connect(fixture, fab_root_component(root), 0, sw[0], 0, 0, 0, 0);
    fixture_connect(fixture, sw[0], 1, sw[1], 0, 0, 0, 5 * SIM_NS);
    for (unsigned i = 0; i < ENDS; i++) {
        g_autofree char *name = g_strdup_printf("h.e%u", i);
        FixtureEnd *end = fixture_end_new(fixture, name, &port, MIB(1), 0);

        fixture_connect(fixture, sw[i / 2], (i < 2 ? 2 : 1) + i % 2,
                        &end->component, 0, 0, 1 << i % 3, 5 * SIM_NS);
        stress.end[i] = end;
        end->user = &stress;
        end->make = stress_make;
        end->got = stress_got;
        end->hold = stress_hold;
        for (unsigned j = 0; j < ENDS; j++) {
            stress.way[i][j] = g_array_new(FALSE, FALSE, sizeof(FabTlp));
        }
    }
    fixture_realize(fixture);
    fixture_watch_credits(fixture);
    for (unsigned i = 0; i < ENDS; i++) {
        fixture_end_start(stress.end[i], 12);
    }
    fixture_run(fixture);
    for (unsigned i = 0; i < ENDS * ENDS; i++) {
        GArray *way = stress.way[i / ENDS][i % ENDS];

        ck_assert_msg(way->len == 0, "%u TLPs stuck", way->len);
        g_array_unref(way);
    }
    ck_assert_uint_eq(stress.left, 0);
    ck_assert_uint_gt(stress.passed, 100);
    fixture_assert_drained(fixture);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_order");
    TCase *tcase = tcase_create("order");

    tcase_add_loop_test(tcase, table_cell_by_cell, 0, 1 << V_BITS);
    tcase_add_loop_test(tcase, egress_passes_cell_by_cell, 0, 1 << V_BITS);
    tcase_add_test(tcase, relaxed_ordering_looks_16_deep);
    tcase_add_loop_test(tcase, random_traffic_keeps_the_table, 1, 13);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
