/* SPDX-License-Identifier: MIT */
/*
 * Invariants of the last-level cache: it holds the lines that a naive list of
 * the least recently used ones per set holds. Lines of devices take no more
 * than their ways. A read of warm memory takes the latency of the cache.
 */
#include "fab_fixture.h"

#include "fab_cache_priv.h"
#include "sim_random.h"
#include "../suite.h"

#define LINE 64

/* 4 sets of 4 ways, two of them for devices. */
static FabCacheParams small(void)
{
    return (FabCacheParams){.size_bytes = 16 * LINE, .ways = 4, .io_ways = 2};
}

static FabBusAddr line_of(unsigned set, unsigned number)
{
    return (FabBusAddr)(4 * number + set) * LINE;
}

/* The oldest line goes. Reads by devices bring nothing in, and age nothing. */
START_TEST(the_oldest_line_goes)
{
    FabCacheParams params = small();
    FabCache *cache;

    params.io_ways = 0;
    cache = fab_cache_new(&params);
    ck_assert(!fab_cache_read(cache, line_of(1, 0), LINE));
    ck_assert(!fab_cache_read(cache, line_of(1, 0), LINE));
    for (unsigned i = 0; i < 4; i++) {
        fab_cache_touch(cache, line_of(1, i) + 5, 1);
    }
    fab_cache_touch(cache, line_of(1, 0), 1);
    ck_assert(fab_cache_read(cache, line_of(1, 1), LINE));
    fab_cache_touch(cache, line_of(1, 4), LINE);
    ck_assert(!fab_cache_read(cache, line_of(1, 1), LINE));
    for (unsigned i = 2; i < 5; i++) {
        ck_assert(fab_cache_read(cache, line_of(1, i), LINE));
    }
    ck_assert(fab_cache_read(cache, line_of(1, 0), LINE));
    /* Without ways for devices, their writes bring nothing in. */
    fab_cache_write(cache, line_of(1, 9), LINE);
    ck_assert(!fab_cache_read(cache, line_of(1, 9), LINE));
    /* One missing line makes the read miss. */
    ck_assert(!fab_cache_read(cache, line_of(1, 0), LINE + 1));
    fab_cache_free(cache);
}
END_TEST

/* Devices replace lines of their own ways only. */
START_TEST(devices_have_their_ways)
{
    FabCacheParams params = small();
    FabCache *cache = fab_cache_new(&params);
    unsigned kept = 0;

    for (unsigned i = 0; i < 4; i++) {
        fab_cache_touch(cache, line_of(2, i), LINE);
    }
    for (unsigned i = 10; i < 100; i++) {
        fab_cache_write(cache, line_of(2, i), LINE);
        ck_assert(fab_cache_read(cache, line_of(2, i), LINE));
    }
    for (unsigned i = 0; i < 4; i++) {
        kept += fab_cache_read(cache, line_of(2, i), LINE);
    }
    ck_assert_uint_eq(kept, 2);
    ck_assert(fab_cache_read(cache, line_of(2, 98), LINE));
    ck_assert(!fab_cache_read(cache, line_of(2, 97), LINE));
    fab_cache_free(cache);
}
END_TEST

/* A window of n times the cache, touched once, hits in one of n random lines.
 */
START_TEST(larger_windows_hit_in_part)
{
    FabCacheParams params = {.size_bytes = MIB(1), .ways = 16, .io_ways = 2};
    FabCache *cache = fab_cache_new(&params);
    unsigned hits = 0;
    SimRandom random;

    sim_random_init(&random, 1, "cache");
    fab_cache_touch(cache, GIB(5), MIB(4));
    for (unsigned i = 0; i < 100000; i++) {
        hits += fab_cache_read(
            cache, GIB(5) + LINE * sim_random_below(&random, MIB(4) / LINE),
            LINE);
    }
    fixture_assert_near(hits / 1e5, 0.25, 0.02);
    fab_cache_free(cache);
}
END_TEST

static SimTime read_time(bool warm, bool writes)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 16, 64, 512);
    FabRootParams params = fixture_root();
    FixtureHost host;

    params.memory.latency = 300 * SIM_NS;
    params.memory.cache = (FabCacheParams){.size_bytes = MIB(1),
                                           .latency = 120 * SIM_NS,
                                           .ways = 16,
                                           .io_ways = 2};
    fixture_host_init(&host, fixture, &params, &port);
    if (warm) {
        fab_root_warm(host.root, GIB(4), 256);
    }
    if (writes) {
        fixture_send(host.dev, fixture_tlp(host.dev, FAB_TLP_MWR, GIB(4), 256));
    }
    fixture_run_until(fixture, 10 * SIM_US);
    fixture_send_read(host.dev, GIB(4), 256, 3);
    fixture_run(fixture);
    return fixture_log(host.dev, 0)->time;
}

/* A read of what the CPU has used, or a device has written, is faster by the
 * difference of the latencies. */
START_TEST(reads_from_the_cache_are_faster)
{
    SimTime cold = read_time(false, false);

    fixture_assert_time_eq(cold - read_time(true, false), 180 * SIM_NS);
    fixture_assert_time_eq(cold - read_time(false, true), 180 * SIM_NS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cache");
    TCase *tcase = tcase_create("cache");

    tcase_add_test(tcase, the_oldest_line_goes);
    tcase_add_test(tcase, devices_have_their_ways);
    tcase_add_test(tcase, larger_windows_hit_in_part);
    tcase_add_test(tcase, reads_from_the_cache_are_faster);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
