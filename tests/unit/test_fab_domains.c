/* SPDX-License-Identifier: MIT */
/*
 * Invariants of the mappings of an IOMMU: a loan has a domain of its own, so no
 * other device reaches what it maps, and it ends with the loan. A mapping with
 * mixed pages has each part of it in the largest pages that fit there.
 */
#include <check.h>

#include "fab_lab.h"
#include "fab_lend.h"
#include "../suite.h"

#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)
#define GIB(n) ((uint64_t)(n) << 30)

static FabFabric *fabric;
static FabRoot *lender, *borrower;
static FabComponent *device[2];

/* A lender with two devices, and a borrower; both have IOMMUs. */
static void setup(void)
{
    FabRootParams params = lab_root_params(true);
    FabPortParams port = lab_port_params();
    FabComponent *ntb[2];

    fabric = lab_fabric_new(7);
    params.iommu.loan_domains = true;
    lender = fab_root_new(fabric, "a", &params);
    for (unsigned i = 0; i < 3; i++) {
        g_autofree char *name = g_strdup_printf("rp%u", i);

        fab_root_add_port(lender, name, &port);
    }
    borrower = lab_root(fabric, "b", 1, true);
    device[0] = lab_device(fabric, "a.d0");
    device[1] = lab_device(fabric, "a.d1");
    ntb[0] = lab_ntb(fabric, "a.ntb", 1);
    ntb[1] = lab_ntb(fabric, "b.ntb", 1);
    lab_connect(fab_root_component(lender), 0, device[0], 0);
    lab_connect(fab_root_component(lender), 1, device[1], 0);
    lab_connect(fab_root_component(lender), 2, ntb[0], 0);
    lab_connect(fab_root_component(borrower), 0, ntb[1], 0);
    lab_connect(ntb[0], 1, ntb[1], 1);
    lab_realize(fabric);
}

static void teardown(void)
{
    lab_fabric_free(fabric);
}

static FabLend *borrow(unsigned i)
{
    FabLendParams params = {.device = fab_component_as_endpoint(device[i]),
                            .borrower = borrower,
                            .window_bytes = MIB(32)};
    g_autoptr(GError) error = NULL;
    FabLend *lend = fab_lend_borrow(&params, &error);

    ck_assert_msg(lend, "%s", error ? error->message : "");
    return lend;
}

/* Each lent device reaches its own buffer, and neither the other's, though the
 * address is mapped. A device that is not lent reaches neither. */
START_TEST(a_loan_has_a_domain)
{
    FabBusAddr memory, addr[2];
    FabLend *lend[2];
    uint64_t faults = 0;

    for (unsigned i = 0; i < 2; i++) {
        lend[i] = borrow(i);
        ck_assert(fab_root_alloc(borrower, KIB(64), KIB(4), &memory));
        ck_assert(fab_lend_map(lend[i], memory, KIB(64), &addr[i], NULL));
    }
    ck_assert_uint_ne(addr[0], addr[1]);
    for (unsigned i = 0; i < 4; i++) {
        bool own = i / 2 == i % 2;

        ck_assert_int_eq(lab_dma(device[i / 2], FAB_TLP_MRD, addr[i % 2], 64),
                         own ? FAB_STATUS_SC : FAB_STATUS_UR);
        faults += !own;
        ck_assert_uint_eq(fab_root_iommu_counters(lender)->faults, faults);
    }
    /* After the loan it is an ordinary device again. */
    fab_lend_return(lend[0]);
    ck_assert_int_eq(lab_dma(device[0], FAB_TLP_MRD, addr[0], 64),
                     FAB_STATUS_UR);
    ck_assert_int_eq(lab_dma(device[0], FAB_TLP_MRD, addr[1], 64),
                     FAB_STATUS_UR);
    ck_assert_int_eq(lab_dma(device[1], FAB_TLP_MRD, addr[1], 64),
                     FAB_STATUS_SC);
    fab_lend_return(lend[1]);
    ck_assert_uint_eq(fab_root_iommu_mapped(lender), 0);
}
END_TEST

/* More loans, one after the other, than there are domains. */
START_TEST(domains_are_used_again)
{
    FabBusAddr memory, addr;

    ck_assert(fab_root_alloc(borrower, KIB(64), KIB(4), &memory));
    for (unsigned i = 0; i < 2 * FAB_DOMAINS; i++) {
        FabLend *lend = borrow(i % 2);

        ck_assert(fab_lend_map(lend, memory, KIB(64), &addr, NULL));
        if (i % 64 == 0) {
            ck_assert_int_eq(lab_dma(device[i % 2], FAB_TLP_MRD, addr, 64),
                             FAB_STATUS_SC);
        }
        fab_lend_return(lend);
    }
}
END_TEST

/* ---- Mixed pages ------------------------------------------------------- */

/* The number of pages of [@begin, +@bytes) if each is as large as its place
 * allows, up to @most, counted page by page. */
static unsigned naive_pages(FabBusAddr begin, uint64_t bytes, uint64_t most)
{
    static const uint64_t sizes[] = {GIB(1), MIB(2), KIB(4)};
    FabBusAddr at = begin, end = begin + bytes;
    unsigned pages = 0;

    while (at < end) {
        unsigned i = 0;

        while (sizes[i] > most || at % sizes[i] != 0 || end - at < sizes[i]) {
            i++;
        }
        at += sizes[i];
        pages++;
    }
    return pages;
}

/* Every page costs one walk when the device touches each 4 KiB of the mapping
 * in order. The memory and its device address have the same place within the
 * largest page. _i: the part of the sizes and places below. */
START_TEST(pages_are_as_large_as_their_places_allow)
{
    static const uint64_t cases[][3] = {
        /* begin within 1 GiB, bytes, largest page */
        {0, MIB(6), MIB(2)},
        {0, MIB(4) + KIB(12), MIB(2)},
        {MIB(2) - KIB(8), MIB(4) + KIB(12), MIB(2)},
        {KIB(4), KIB(64), MIB(2)},
        {0, MIB(4) + KIB(12), KIB(4)},
        {GIB(1) - MIB(2) - KIB(4), GIB(1) + MIB(4) + KIB(8), GIB(1)},
    };
    FabRootParams params = lab_root_params(true);
    FabPortParams port = lab_port_params();
    const uint64_t *test = cases[_i];
    FabFabric *own = lab_fabric_new(7);
    FabBusAddr memory = GIB(8) + test[0], iova;
    FabComponent *dev;
    FabRoot *root;

    params.iommu.page_bytes = test[2];
    params.iommu.mixed = true;
    root = fab_root_new(own, "h", &params);
    fab_root_add_port(root, "rp0", &port);
    dev = lab_device(own, "h.d");
    lab_connect(fab_root_component(root), 0, dev, 0);
    lab_realize(own);
    /* Two GiB from a place of two GiB make addresses congruent. */
    ck_assert(fab_root_take_iova(root, GIB(4), GIB(4), &iova, NULL));
    iova += test[0];
    ck_assert(fab_root_iommu_map(root, 0, iova, memory, test[1], NULL));
    ck_assert_uint_eq(fab_root_iommu_mapped(root), test[1]);
    for (uint64_t at = 0; at < test[1]; at += KIB(4)) {
        ck_assert_int_eq(lab_dma(dev, FAB_TLP_MRD, iova + at, 4),
                         FAB_STATUS_SC);
    }
    ck_assert_uint_eq(fab_root_iommu_counters(root)->walks,
                      naive_pages(iova, test[1], test[2]));
    fab_root_iommu_unmap(root, 0, iova, test[1]);
    ck_assert_uint_eq(fab_root_iommu_mapped(root), 0);
    lab_fabric_free(own);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("domains");
    TCase *tcase = tcase_create("domains");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_loan_has_a_domain);
    tcase_add_test(tcase, domains_are_used_again);
    tcase_add_loop_test(tcase, pages_are_as_large_as_their_places_allow, 0, 6);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
