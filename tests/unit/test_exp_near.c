/* SPDX-License-Identifier: MIT */
/*
 * Invariants: candidates are ranked by runs in the model. Alone, a candidate's
 * writes take the link's rate for 256 B TLPs; with another writer of equal
 * right half of it. The time of one TLP grows by the latency of each element on
 * its way. Equal candidates go by latency; one without a way is last.
 */
#include "exp_near.h"
#include "topo_test.h"
#include "../suite.h"

#define NEAR_FILE TEST_FILE("scenarios/inventory/near.yaml")

/* Rate of payload on a link of @lanes at 16 GT/s: 128b/130b, TLPs of 256 B of
 * payload with 12 B of header, 4 B framing, 2 B sequence number and LCRC of 4
 * B, less about 2 % for DLLPs and SKP. */
static double link_rate(unsigned lanes)
{
    return 16e9 / 8 * lanes * 128 / 130 * 256 / (256 + 4 + 2 + 12 + 4);
}

static void assert_near(int64_t got, double wanted, double tolerance)
{
    ck_assert_msg((double)got > wanted * (1 - tolerance) &&
                      (double)got < wanted * (1 + tolerance),
                  "%" G_GINT64_FORMAT ", not %.0f", got, wanted);
}

static TopoDescription *near_description(const GPtrArray *changes)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    TopoDescription *description = topo_load(NEAR_FILE, changes, errors);
    g_autofree char *messages = topo_errors_to_string(errors);

    ck_assert_str_eq(messages, "");
    return description;
}

static ExpNear *rank(const TopoDescription *description, ExpNearGoal goal,
                     const char *const *paths, unsigned n)
{
    g_autoptr(GPtrArray) candidates = g_ptr_array_new();
    GError *error = NULL;
    ExpNear *near;

    for (unsigned i = 0; i < n; i++) {
        g_ptr_array_add(candidates, topo_find_device(description, paths[i]));
    }
    near = exp_near_new(description, topo_find_device(description, "a.gpu0"),
                        candidates, goal, &error);
    ck_assert_msg(near != NULL, "%s", error ? error->message : "");
    return near;
}

static const char *const nics[] = {"a.nic2", "a.nic1", "a.nic0"};

static void assert_order(const ExpNear *near, const char *const *paths,
                         unsigned n)
{
    ck_assert_uint_eq(near->rows->len, n);
    for (unsigned i = 0; i < n; i++) {
        const ExpNearRow *row = near->rows->pdata[i];

        ck_assert_str_eq(row->device->path, paths[i]);
    }
}

START_TEST(bandwidth_ranks_the_narrow_link_last)
{
    static const char *const order[] = {"a.nic0", "a.nic1", "a.nic2"};
    g_autoptr(TopoDescription) description = near_description(NULL);
    g_autoptr(ExpNear) near =
        rank(description, EXP_NEAR_BANDWIDTH, nics, G_N_ELEMENTS(nics));
    const ExpNearRow *first = near->rows->pdata[0];
    const ExpNearRow *second = near->rows->pdata[1];
    const ExpNearRow *third = near->rows->pdata[2];

    assert_order(near, order, G_N_ELEMENTS(order));
    ck_assert_uint_eq(near->n_flows, 1);
    assert_near(first->write_alone, link_rate(16), 0.03);
    assert_near(second->write_alone, link_rate(16), 0.03);
    assert_near(third->write_alone, link_rate(4), 0.03);
    /* The GPU's link is shared with the flow of dev0; the narrow link takes
     * less than its share, so it loses nothing. */
    assert_near(first->write_shared, first->write_alone / 2.0, 0.02);
    assert_near(third->write_shared, third->write_alone, 0.01);
    ck_assert_ptr_nonnull(strstr(first->limit, "a.gpu0"));
}
END_TEST

START_TEST(latency_ranks_the_root_last)
{
    static const char *const order[] = {"a.nic0", "a.nic2", "a.nic1"};
    g_autoptr(TopoDescription) description = near_description(NULL);
    g_autoptr(ExpNear) near =
        rank(description, EXP_NEAR_LATENCY, nics, G_N_ELEMENTS(nics));
    const ExpNearRow *first = near->rows->pdata[0];
    const ExpNearRow *third = near->rows->pdata[2];

    assert_order(near, order, G_N_ELEMENTS(order));
    ck_assert_uint_eq(first->hops, 1);
    ck_assert_uint_eq(first->roots, 0);
    ck_assert_str_eq(first->way, "device switch device");
    ck_assert_uint_eq(third->hops, 2);
    ck_assert_uint_eq(third->roots, 1);
    ck_assert_str_eq(third->way, "device root switch device");
    /* One transit of the root more, 100 ns, and one link: its wire time of 278
     * B is 8.8 ns if the root forwards whole TLPs. */
    assert_near(third->write_ps - first->write_ps, 100000 + 8800, 0.02);
}
END_TEST

START_TEST(without_flows_both_runs_are_equal)
{
    g_autoptr(GPtrArray) changes = make_changes("workload.flows=[]", NULL);
    g_autoptr(TopoDescription) description = near_description(changes);
    g_autoptr(ExpNear) near =
        rank(description, EXP_NEAR_BANDWIDTH, nics, G_N_ELEMENTS(nics));

    ck_assert_uint_eq(near->n_flows, 0);
    for (unsigned i = 0; i < near->rows->len; i++) {
        const ExpNearRow *row = near->rows->pdata[i];

        ck_assert_int_eq(row->write_alone, row->write_shared);
        ck_assert_int_eq(row->read_alone, row->read_shared);
    }
}
END_TEST

/* No cable leads from the other host to the GPU. */
START_TEST(a_device_without_a_way_is_last)
{
    static const char *const paths[] = {"b.nic0", "a.nic0"};
    static const char *const order[] = {"a.nic0", "b.nic0"};
    const char *text = "name: t\n"
                       "hosts:\n"
                       "  - {name: a, cpu: generic-host, devices: ["
                       "{name: nic0, part: generic-device, at: rp0}, "
                       "{name: gpu0, part: generic-device, at: rp1}]}\n"
                       "  - {name: b, cpu: generic-host, devices: ["
                       "{name: nic0, part: generic-device, at: rp0}]}\n";
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(TopoDescription) description =
        topo_load_buffer("test.yaml", text, strlen(text),
                         TEST_FILE("scenarios/parts"), NULL, errors);
    g_autoptr(ExpNear) near = NULL;
    const ExpNearRow *last;

    ck_assert_ptr_nonnull(description);
    near = rank(description, EXP_NEAR_LATENCY, paths, G_N_ELEMENTS(paths));
    assert_order(near, order, G_N_ELEMENTS(order));
    last = near->rows->pdata[1];
    ck_assert_str_eq(last->refusal, "no cable leads from b to a");
    ck_assert_ptr_null(((const ExpNearRow *)near->rows->pdata[0])->refusal);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("near");
    TCase *tcase = tcase_create("near");

    tcase_add_test(tcase, bandwidth_ranks_the_narrow_link_last);
    tcase_add_test(tcase, latency_ranks_the_root_last);
    tcase_add_test(tcase, without_flows_both_runs_are_equal);
    tcase_add_test(tcase, a_device_without_a_way_is_last);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
