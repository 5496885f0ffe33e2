/* SPDX-License-Identifier: MIT */
/*
 * Invariant: each piece of an arena is of zeros, begins with a cache line, and
 * shares no byte with another. With the address sanitizer, no byte before or
 * behind a piece can be touched, nor one of a TLP that is free.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "fab_arena_priv.h"
#include "fab_account_priv.h"
#include "../suite.h"

/* A sanitizer's run time has it. */
int __asan_address_is_poisoned(void const volatile *address)
    __attribute__((weak));

/* From a byte to more than a block of huge pages */
static const size_t sizes[] = {1,       8,        63,  64,        65,
                               1000,    4096,     7,   65536,     65537,
                               1 << 21, 9u << 20, 129, 12u << 20, 3};

#define ROUNDS 5

START_TEST(pieces_are_apart)
{
    char *pieces[ROUNDS][G_N_ELEMENTS(sizes)];
    FabArena arena;

    fab_arena_init(&arena);
    for (unsigned i = 0; i < ROUNDS; i++) {
        for (unsigned j = 0; j < G_N_ELEMENTS(sizes); j++) {
            char *piece = fab_arena_alloc(&arena, sizes[j]);

            ck_assert_uint_eq((uintptr_t)piece % FAB_CACHE_LINE, 0);
            ck_assert_int_eq(piece[0], 0);
            ck_assert_int_eq(memcmp(piece, piece + 1, sizes[j] - 1), 0);
            memset(piece, (int)(i + j + 1), sizes[j]);
            pieces[i][j] = piece;
        }
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        for (unsigned j = 0; j < G_N_ELEMENTS(sizes); j++) {
            const char *piece = pieces[i][j];

            ck_assert_int_eq(piece[0], (int)(i + j + 1));
            ck_assert_int_eq(memcmp(piece, piece + 1, sizes[j] - 1), 0);
            if (__asan_address_is_poisoned) {
                ck_assert(__asan_address_is_poisoned(piece - 1));
                ck_assert(!__asan_address_is_poisoned(piece));
                ck_assert(!__asan_address_is_poisoned(piece + sizes[j] - 1));
                ck_assert(__asan_address_is_poisoned(piece + sizes[j]));
            }
        }
    }
    fab_arena_clear(&arena);
}
END_TEST

START_TEST(free_tlps_are_out_of_reach)
{
    SimEngine *engine = sim_engine_new();
    FabFabric *fabric = fab_fabric_new(engine, 1);
    FabTlp *tlp = fab_tlp_new(fabric, FAB_TLP_MRD);

    ck_assert_int_eq(tlp->type, FAB_TLP_MRD);
    fab_tlp_free(fabric, tlp);
    if (__asan_address_is_poisoned) {
        ck_assert(__asan_address_is_poisoned(tlp));
        ck_assert(__asan_address_is_poisoned((char *)(tlp + 1) - 1));
    }
    ck_assert_ptr_eq(fab_tlp_new(fabric, FAB_TLP_MWR), tlp);
    ck_assert_int_eq(tlp->type, FAB_TLP_MWR);
    fab_tlp_free(fabric, tlp);
    fab_fabric_free(fabric);
    sim_engine_free(engine);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_arena");
    TCase *tcase = tcase_create("arena");

    tcase_add_test(tcase, pieces_are_apart);
    tcase_add_test(tcase, free_tlps_are_out_of_reach);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
