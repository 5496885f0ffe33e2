/* SPDX-License-Identifier: MIT */
/*
 * Invariant: equal seeds give results that are equal to the picosecond. The
 * order in which components and flows were created does not matter.
 */
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>

#include "fab_flow_copy.h"
#include "fab_flow_dma.h"
#include "fab_flow_mmio.h"
#include "fab_lab.h"
#include "random_order.h"
#include "../suite.h"

/* Two hosts with two devices each below a switch, and flows that compete for
 * the links. */
typedef struct Pair {
    FabComponent *root[2], *sw[2], *ntb[2], *dev[2][2];
    FabFlow *flow[6];
} Pair;

static void pair_add(FabFabric *fab, Pair *pair, unsigned what)
{
    g_autofree char *host = g_strdup_printf("h%u", what & 1);
    g_autofree char *name =
        g_strdup_printf("%s.%c%u", host, "xsnd"[what / 2 % 4], what / 8);
    unsigned side = what & 1;

    switch (what / 2 % 4) {
    case 0:
        pair->root[side] =
            fab_root_component(lab_root(fab, host, 1, side == 1));
        break;
    case 1:
        pair->sw[side] = lab_switch(fab, name, 3);
        break;
    case 2:
        pair->ntb[side] = lab_ntb(fab, name, 1);
        break;
    case 3:
        pair->dev[side][what / 8] = lab_device(fab, name);
        break;
    }
}

static void pair_flow(FabFabric *fab, Pair *pair, unsigned number)
{
    static const FabArrivals arrivals[] = {
        FAB_ARRIVALS_CLOSED, FAB_ARRIVALS_POISSON, FAB_ARRIVALS_PERIODIC};
    g_autofree char *name = g_strdup_printf("flow%u", number);
    FabComponent *from = pair->dev[number & 1][number / 2 & 1];
    FabDmaFlowParams dma = {
        .device = fab_component_as_endpoint(from),
        .direction = number & 2 ? FAB_TLP_MRD : FAB_TLP_MWR,
        .target = {.component = pair->root[1 - (number & 1)]},
        .size_bytes = 700,
        .count = 300,
        .random = true,
        .working_set_bytes = 1 << 20,
        .arrivals = arrivals[number % 3],
        .interval = 200 * SIM_NS,
    };
    FabCopyFlowParams copy = {
        .device = fab_component_as_endpoint(from),
        .direction = FAB_TLP_MRD,
        .buffer = {.component = pair->dev[0][1], .bar = -1},
        .driver = fab_component_as_root(pair->root[1]),
        .size_bytes = 5000,
        .copies = 40,
        .command_bytes = 64,
        .setup = SIM_US,
    };
    FabMmioFlowParams mmio = {
        .host = fab_component_as_root(pair->root[0]),
        .direction = FAB_TLP_MWR,
        .target = {.component = pair->dev[1][1], .bar = 0},
        .size_bytes = 32,
        .count = 2000,
    };

    pair->flow[number] = number < 4 ? fab_dma_flow_new(fab, name, 0, &dma, NULL)
                         : number == 4
                             ? fab_copy_flow_new(fab, name, 0, &copy, NULL)
                             : fab_mmio_flow_new(fab, name, 0, &mmio, NULL);
    ck_assert_ptr_nonnull(pair->flow[number]);
}

/* Returns the results of all flows, as text. */
static char *pair_run(uint64_t seed, uint64_t shuffle)
{
    /* Kind in bits 1 and 2, host in bit 0, number from bit 3. */
    static const unsigned parts[] = {0, 1, 2, 3, 4, 5, 6, 7, 14, 15};
    g_autoptr(SimEngine) eng = sim_engine_new();
    g_autoptr(FabFabric) fab = fab_fabric_new(eng, seed);
    GString *text = g_string_new(NULL);
    uint32_t order[G_N_ELEMENTS(parts)];
    SimRandom random;
    Pair pair;

    sim_random_init(&random, shuffle, "order");
    random_order(&random, order, G_N_ELEMENTS(parts));
    for (unsigned i = 0; i < G_N_ELEMENTS(parts); i++) {
        pair_add(fab, &pair, parts[shuffle ? order[i] : i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        lab_connect(pair.root[i], 0, pair.sw[i], 0);
        lab_connect(pair.sw[i], 1, pair.ntb[i], 0);
        lab_connect(pair.sw[i], 2, pair.dev[i][0], 0);
        lab_connect(pair.sw[i], 3, pair.dev[i][1], 0);
    }
    lab_connect(pair.ntb[0], 1, pair.ntb[1], 1);
    lab_realize(fab);
    for (unsigned i = 0; i < 6; i++) {
        pair_flow(fab, &pair, i);
    }
    ck_assert(fab_flows_run(fab, SIM_TIME_NONE, NULL));
    for (unsigned i = 0; i < 6; i++) {
        FabFlowResult r;

        fab_flow_result(pair.flow[i], &r);
        ck_assert_uint_eq(r.failed, 0);
        g_string_append_printf(text,
                               "%" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64
                               " %" PRIu64 " %" PRIu64 "\n",
                               r.operations, r.bytes, r.begin, r.end,
                               sim_histogram_sum(r.latency),
                               sim_histogram_max(r.latency));
    }
    sim_engine_run(eng);
    g_string_append_printf(text, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                           fab_fabric_tlp_hops(fab), sim_engine_executed(eng),
                           fab_fabric_unsupported(fab));
    ck_assert_uint_eq(fab_fabric_tlps_alive(fab), 0);
    ck_assert_uint_eq(fab_fabric_unsupported(fab), 0);
    return g_string_free(text, FALSE);
}

START_TEST(same_seed_same_result)
{
    g_autofree char *a = pair_run(1, 0);
    g_autofree char *b = pair_run(1, 0);
    g_autofree char *c = pair_run(2, 0);

    ck_assert_str_eq(a, b);
    ck_assert_str_ne(a, c);
}
END_TEST

START_TEST(order_of_making_decides_nothing)
{
    g_autofree char *a = pair_run(1, 0);
    g_autofree char *b = pair_run(1, _i + 1);

    ck_assert_str_eq(a, b);
}
END_TEST

/* Random streams and the order of simultaneous events depend on the names of
 * flows, not on the order of creation. Buffer addresses do depend on the order
 * of creation, so this test uses flows to which addresses do not matter. */
START_TEST(order_of_flows_decides_nothing)
{
    FabFlowResult results[2][5];

    for (unsigned n = 0; n < 2; n++) {
        g_autoptr(SimEngine) eng = sim_engine_new();
        g_autoptr(FabFabric) fab = fab_fabric_new(eng, 3);
        FabComponent *root = fab_root_component(lab_root(fab, "h", 1, false));
        FabComponent *device = lab_device(fab, "h.dev");
        FabFlow *flows[5];

        lab_connect(root, 0, device, 0);
        lab_realize(fab);
        for (unsigned j = 0; j < 5; j++) {
            unsigned i = n ? 4 - j : j;
            g_autofree char *name = g_strdup_printf("flow%u", i);
            FabDmaFlowParams params = {
                .device = fab_component_as_endpoint(device),
                .direction = i == 1 ? FAB_TLP_MRD : FAB_TLP_MWR,
                .target = {.component = root},
                .size_bytes = 300,
                .count = 500,
                .arrivals =
                    i < 3 ? FAB_ARRIVALS_PERIODIC : FAB_ARRIVALS_POISSON,
                .interval = 300 * SIM_NS,
                .working_set_bytes = 1 << 20,
            };

            flows[i] = fab_dma_flow_new(fab, name, 0, &params, NULL);
            ck_assert_ptr_nonnull(flows[i]);
        }
        ck_assert(fab_flows_run(fab, SIM_TIME_NONE, NULL));
        for (unsigned i = 0; i < 5; i++) {
            fab_flow_result(flows[i], &results[n][i]);
            results[n][i].latency = NULL;
        }
    }
    for (unsigned i = 0; i < 5; i++) {
        ck_assert_mem_eq(&results[0][i], &results[1][i], sizeof(results[0][i]));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_flow_order");
    TCase *tcase = tcase_create("order");

    tcase_add_test(tcase, same_seed_same_result);
    tcase_add_loop_test(tcase, order_of_making_decides_nothing, 0, 5);
    tcase_add_test(tcase, order_of_flows_decides_nothing);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
