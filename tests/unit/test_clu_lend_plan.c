/* SPDX-License-Identifier: MIT */
/*
 * Invariant: the planned DMA windows of machines are those that the rule of the
 * SmartIO manual gives: a fair share of the adapter's free window for each
 * device that is not borrowed, four shares for an accelerator, at most the
 * borrower's RAM. Without the borrower's IOMMU, a window is all of its memory.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "clu_lend_plan.h"
#include "clu_plan.h"
#include "../suite.h"

#define PARTS TOPO_SOURCE_ROOT "/scenarios/parts"

#define MIB ((uint64_t)1 << 20)

/* A lender with two drives and an accelerator, and a borrower with @MEMORY.
 * BAR 4 of the adapters is 1 GiB. */
#define HOSTS(MEMORY, IOMMU)                                                   \
    "name: t\n"                                                                \
    "hosts:\n"                                                                 \
    "  - name: a\n"                                                            \
    "    cpu: generic-host\n"                                                  \
    "    vm: {memory: 256MiB}\n"                                               \
    "    devices:\n"                                                           \
    "      - {name: ntb0, part: generic-ntb, at: rp0, "                        \
    "vm: {options: {bar4-size: 1G}}}\n"                                        \
    "      - {name: d0, part: optane-900p, at: rp1, "                          \
    "vm: {device: nvme, image: 64MiB, virtual_functions: 2}}\n"                \
    "      - {name: d1, part: optane-900p, at: rp2, "                          \
    "vm: {device: nvme, image: 64MiB}}\n"                                      \
    "      - {name: g0, part: generic-device, at: rp3, "                       \
    "vm: {device: farside-gpu}}\n"                                             \
    "  - name: b\n"                                                            \
    "    cpu: generic-host\n"                                                  \
    "    iommu: " IOMMU "\n"                                                   \
    "    devices: [{name: ntb0, part: generic-ntb, at: rp0}]\n"                \
    "    vm: {memory: " MEMORY "}\n"                                           \
    "links: [{name: cable0, ends: [a.ntb0, b.ntb0]}]\n"

typedef struct Case {
    const char *text;
    uint64_t mib[3]; /* of each loan; 0: it does not fit */
} Case;

static const Case cases[] = {
    /* 1 of 6, 1 of the 5 that are left, 4 of 4: 170, 170, 684 MiB. */
    {HOSTS("1GiB", "on") "lend: [{device: a.d0, to: b}, {device: a.d1, to: b}, "
                         "{device: a.g0, to: b}]\n",
     {170, 170, 684}},
    /* Virtual functions count like devices. */
    {HOSTS("1GiB",
           "on") "lend: [{device: a.d0.vf0, to: b}, {device: a.d0.vf1, to: b}, "
                 "{device: a.g0, to: b}]\n",
     {170, 170, 684}},
    /* The accelerator first: 4 of 6 are 682, then 171 of 342, then the rest. */
    {HOSTS("1GiB", "on") "lend: [{device: a.g0, to: b}, {device: a.d0, to: b}, "
                         "{device: a.d1, to: b}]\n",
     {682, 171, 171}},
    /* No more than the borrower's RAM. */
    {HOSTS("200MiB", "on") "lend: [{device: a.d0, to: b}]\n", {200}},
    {HOSTS("201MiB", "on") "lend: [{device: a.d0, to: b}]\n", {204}},
    /* A given size is taken first. */
    {HOSTS("1GiB", "on") "lend: [{device: a.d0, to: b}, "
                         "{device: a.d1, to: b, window: 1000MiB}]\n",
     {24, 1000}},
    /* Without an IOMMU: addresses from 0 on, up to a power of two. */
    {HOSTS("300MiB", "off") "lend: [{device: a.d0, to: b}, "
                            "{device: a.d1, to: b}]\n",
     {512, 512}},
    /* 3 GiB of RAM end at 5 GiB of addresses, which BAR 4 does not hold. */
    {HOSTS("3GiB", "off") "lend: [{device: a.d0, to: b}]\n", {0}},
};

START_TEST(windows)
{
    const Case *c = &cases[_i];
    g_autoptr(TopoErrors) errors = topo_errors_new();
    TopoDescription *description = topo_load_buffer(
        "t.yaml", c->text, strlen(c->text), PARTS, NULL, errors);
    g_autofree char *text = topo_errors_to_string(errors);

    ck_assert_msg(description, "%s", text);
    {
        g_autoptr(CluPlan) plan = clu_plan_new(description, errors);
        g_autofree char *more = topo_errors_to_string(errors);

        ck_assert_msg(plan, "%s", more);
        g_autoptr(GArray) rows = clu_lend_plan_new(plan);

        ck_assert_uint_eq(rows->len, description->lends->len);
        for (unsigned i = 0; i < rows->len; i++) {
            const CluLendPlan *row = &g_array_index(rows, CluLendPlan, i);

            ck_assert_uint_eq(row->space_bytes, 1024 * MIB);
            ck_assert_uint_eq(row->window_bytes, c->mib[i] * MIB);
        }
    }
    topo_description_free(description);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clu_lend_plan");
    TCase *tc = tcase_create("plan");

    tcase_add_loop_test(tc, windows, 0, G_N_ELEMENTS(cases));
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
