/* SPDX-License-Identifier: MIT */
/*
 * Invariant: reads and writes take exactly the time that rational arithmetic
 * gives, at any load. Buffers never overlap and are in RAM. Each watcher is
 * called for every write to its range and for no other write, even if watchers
 * begin and end while they are called.
 */
#include <stdlib.h>

#include <check.h>

#include "alloc_count.h"
#include "fab_memory_priv.h"
#include "fab_size.h"
#include "../suite.h"

#define MIB  (1ULL << 20)
#define GIB  (1ULL << 30)
#define GIB4 (1ULL << 32)

#define assert_time_eq(a, b) ck_assert_int_eq((intmax_t)(a), (intmax_t)(b))

static const FabMemoryParams usual = {
    .size_bytes = 16 * GIB,
    .latency = 190 * SIM_NS,
    .bandwidth_bytes_s = 19200000000,
    .reads = 32,
};

/* ---- Time ------------------------------------------------------------ */

/* @free: when the channel is free, in units of 1 / bandwidth ps, which makes
 * the arithmetic exact. */
typedef struct Naive {
    unsigned __int128 free;
} Naive;

static SimTime naive_serve(Naive *naive, const FabMemoryParams *params,
                           SimTime now, uint32_t bytes, bool read)
{
    unsigned __int128 bandwidth = params->bandwidth_bytes_s;
    unsigned __int128 start =
        MAX(naive->free, (unsigned __int128)now * bandwidth);
    SimTime end;

    naive->free = start + (unsigned __int128)bytes * SIM_S;
    end = (SimTime)(naive->free / bandwidth);
    if (!read) {
        return end;
    }
    return MAX((SimTime)(start / bandwidth) + params->latency, end);
}

static const uint64_t bandwidths[] = {
    1000000,    1000000000,    19200000000,      12345678901,
    7,          999999999999,  1000000000000,    1000000000001,
    2718281828, 3141592653589, 9000000000000000, 68266666667,
};

START_TEST(service_matches_rational_arithmetic)
{
    FabMemoryParams params = usual;
    GRand *rand = g_rand_new_with_seed(3);
    FabMemory *mem;
    Naive naive = {0};
    SimTime now = 0, last_read = 0;
    double byte_ps;

    params.bandwidth_bytes_s = bandwidths[_i];
    byte_ps = (double)SIM_S / (double)params.bandwidth_bytes_s;
    mem = fab_memory_new(&params, 3 * GIB);
    for (uint32_t i = 0; i < 20000; i++) {
        uint32_t bytes = (uint32_t)g_rand_int_range(rand, 0, 600);
        bool read = g_rand_boolean(rand);
        SimTime expected, time;

        /* The load is alternately below and above the bandwidth. */
        now += (SimTime)(g_rand_double(rand) * byte_ps *
                         (i / 1000 % 2 ? 300 : 1200));
        expected = naive_serve(&naive, &params, now, bytes, read);
        if (read) {
            time = fab_memory_read(mem, now, bytes);
            ck_assert_int_ge(time, last_read);
            last_read = time;
        } else {
            time = fab_memory_write(mem, now, bytes);
        }
        assert_time_eq(time, expected);
    }
    g_rand_free(rand);
    fab_memory_free(mem);
}
END_TEST

START_TEST(busy_channel_moves_exactly_its_bandwidth)
{
    enum {
        COUNT = 100004
    };
    FabMemory *mem = fab_memory_new(&usual, 3 * GIB);
    SimTime time = 0;

    for (uint32_t i = 0; i < COUNT; i++) {
        time = i % 3 ? fab_memory_write(mem, 0, 256)
                     : fab_memory_read(mem, 0, 256) - usual.latency;
    }
    /* The last access is a write, so @time is the end of its transfer. */
    ck_assert_uint_eq((COUNT - 1) % 3, 1);
    assert_time_eq(time, (SimTime)((unsigned __int128)COUNT * 256 * SIM_S /
                                   usual.bandwidth_bytes_s));
    fab_memory_free(mem);
}
END_TEST

START_TEST(latencies_of_reads_overlap)
{
    FabMemoryParams params = usual;
    FabMemory *mem;

    params.bandwidth_bytes_s = 10000000000; /* 64 bytes take 6.4 ns */
    mem = fab_memory_new(&params, 3 * GIB);
    for (uint32_t i = 0; i < 100; i++) {
        assert_time_eq(fab_memory_read(mem, SIM_US, 64),
                       SIM_US + i * 6400 + params.latency);
    }
    /* A write waits for the channel, but has no latency. */
    assert_time_eq(fab_memory_write(mem, SIM_US, 64), SIM_US + 101 * 6400);
    /* A long read ends no sooner than the channel can move its data. */
    assert_time_eq(fab_memory_read(mem, 2 * SIM_US, 4096), 2 * SIM_US + 409600);
    fab_memory_free(mem);
}
END_TEST

START_TEST(large_sizes_and_no_limit)
{
    FabMemoryParams params = usual;
    FabMemory *mem = fab_memory_new(&params, 3 * GIB);

    assert_time_eq(fab_memory_write(mem, 5, UINT32_MAX),
                   5 + (SimTime)((unsigned __int128)UINT32_MAX * SIM_S /
                                 params.bandwidth_bytes_s));
    fab_memory_free(mem);

    params.bandwidth_bytes_s = 0;
    mem = fab_memory_new(&params, 3 * GIB);
    ck_assert(fab_memory_check(mem, NULL));
    for (uint32_t i = 0; i < 10; i++) {
        assert_time_eq(fab_memory_write(mem, 77, UINT32_MAX), 77);
        assert_time_eq(fab_memory_read(mem, 77, UINT32_MAX),
                       77 + params.latency);
    }
    fab_memory_free(mem);
}
END_TEST

typedef struct BadParams {
    FabMemoryParams params;
    const char *message;
} BadParams;

static const BadParams bad_params[] = {
    {{.size_bytes = 0, .reads = 1}, "a memory of 0B: must be 1B to 128TiB"},
    {{.size_bytes = UINT64_MAX, .reads = 1},
     "a memory of 18446744073709551615B: must be 1B to 128TiB"},
    {{.size_bytes = GIB, .latency = -1, .reads = 1},
     "a memory latency of -1ps: must be 0 to 1 s"},
    {{.size_bytes = GIB, .latency = SIM_TIME_NONE, .reads = 1},
     "a memory latency of 9223372036854775.807ns: must be 0 to 1 s"},
    {{.size_bytes = GIB, .bandwidth_bytes_s = 999999, .reads = 1},
     "a memory bandwidth of 999999 bytes/s: must be at least 1000000, or 0 for "
     "no limit"},
    {{.size_bytes = GIB, .reads = 0},
     "0 memory reads at a time: must be at least 1"},
};

START_TEST(bad_parameters_are_refused)
{
    g_autoptr(FabMemory) mem = fab_memory_new(&bad_params[_i].params, GIB);
    GError *error = NULL;

    ck_assert(!fab_memory_check(mem, &error));
    ck_assert(g_error_matches(error, FAB_ERROR, FAB_ERROR_CONFIG));
    ck_assert_str_eq(error->message, bad_params[_i].message);
    g_error_free(error);
}
END_TEST

/* ---- Place ----------------------------------------------------------- */

START_TEST(ram_lies_below_the_window_and_above_4g)
{
    FabMemoryParams params = usual;
    FabMemory *mem = fab_memory_new(&params, 3 * GIB);

    ck_assert(fab_memory_check(mem, NULL));
    ck_assert_uint_eq(fab_memory_end(mem), 17 * GIB);
    ck_assert(fab_memory_contains(mem, 0, 3 * GIB));
    ck_assert(!fab_memory_contains(mem, 0, 3 * GIB + 1));
    ck_assert(fab_memory_contains(mem, 3 * GIB - 1, 1));
    ck_assert(!fab_memory_contains(mem, 3 * GIB - 1, 2));
    ck_assert(!fab_memory_contains(mem, 3 * GIB, 1));
    ck_assert(!fab_memory_contains(mem, 3 * GIB, 0));
    ck_assert(fab_memory_contains(mem, GIB, 0));
    ck_assert(!fab_memory_contains(mem, GIB4 - 1, 1));
    ck_assert(!fab_memory_contains(mem, GIB4 - 1, 2));
    ck_assert(fab_memory_contains(mem, GIB4, 13 * GIB));
    ck_assert(!fab_memory_contains(mem, GIB4, 13 * GIB + 1));
    ck_assert(!fab_memory_contains(mem, 17 * GIB, 1));
    ck_assert(!fab_memory_contains(mem, GIB4, UINT64_MAX));
    ck_assert(!fab_memory_contains(mem, UINT64_MAX, UINT64_MAX));
    fab_memory_free(mem);

    params.size_bytes = GIB;
    mem = fab_memory_new(&params, 3 * GIB);
    ck_assert_uint_eq(fab_memory_end(mem), GIB);
    ck_assert(fab_memory_contains(mem, 0, GIB));
    ck_assert(!fab_memory_contains(mem, GIB, 1));
    ck_assert(!fab_memory_contains(mem, GIB4, 1));
    ck_assert(!fab_memory_contains(mem, GIB4, 0));
    fab_memory_free(mem);

    params.size_bytes = 6 * GIB;
    mem = fab_memory_new(&params, UINT64_MAX);
    ck_assert_uint_eq(fab_memory_end(mem), 6 * GIB);
    ck_assert(fab_memory_contains(mem, GIB4 - 1, 1));
    ck_assert(fab_memory_contains(mem, GIB4, 2 * GIB));
    ck_assert(!fab_memory_contains(mem, GIB4 - 1, 2));
    fab_memory_free(mem);
}
END_TEST

START_TEST(buffers_come_from_above_4g_then_from_below)
{
    FabMemoryParams params = usual;
    FabMemory *mem;
    FabBusAddr addr = 0x55;

    params.size_bytes = 4 * GIB;
    mem = fab_memory_new(&params, 3 * GIB);
    ck_assert(fab_memory_alloc(mem, 100, 64, &addr));
    ck_assert_uint_eq(addr, GIB4);
    ck_assert(fab_memory_alloc(mem, 100, 64, &addr));
    ck_assert_uint_eq(addr, GIB4 + 128);
    ck_assert(fab_memory_alloc(mem, GIB, 4096, &addr)); /* too big for above */
    ck_assert_uint_eq(addr, MIB);
    ck_assert(fab_memory_alloc(mem, GIB / 2, MIB, &addr));
    ck_assert_uint_eq(addr, GIB4 + MIB);
    ck_assert(fab_memory_alloc(mem, 2 * GIB - MIB, 1, &addr));
    ck_assert_uint_eq(addr, MIB + GIB);
    addr = 0x55;
    ck_assert(!fab_memory_alloc(mem, GIB / 2, 1, &addr));
    ck_assert(!fab_memory_alloc(mem, 0, 1, &addr));
    ck_assert(!fab_memory_alloc(mem, 1, 0, &addr));
    ck_assert(!fab_memory_alloc(mem, 1, 3, &addr));
    ck_assert(!fab_memory_alloc(mem, 1, 1ULL << 63, &addr));
    ck_assert(!fab_memory_alloc(mem, UINT64_MAX, 1, &addr));
    ck_assert_uint_eq(addr, 0x55);
    ck_assert(fab_memory_alloc(mem, GIB / 2 - MIB, 1, &addr));
    ck_assert_uint_eq(addr, GIB4 + GIB / 2 + MIB);
    ck_assert(!fab_memory_alloc(mem, 1, 1, &addr));
    fab_memory_free(mem);

    /* The first MiB of RAM is not for buffers. */
    params.size_bytes = MIB;
    mem = fab_memory_new(&params, 3 * GIB);
    ck_assert(!fab_memory_alloc(mem, 1, 1, &addr));
    fab_memory_free(mem);
    params.size_bytes = 4096;
    mem = fab_memory_new(&params, 3 * GIB);
    ck_assert(!fab_memory_alloc(mem, 1, 1, &addr));
    fab_memory_free(mem);
}
END_TEST

typedef struct Buffer {
    FabBusAddr addr;
    uint64_t size;
} Buffer;

START_TEST(buffers_never_overlap)
{
    enum {
        COUNT = 400
    };
    FabMemoryParams params = usual;
    GRand *rand = g_rand_new_with_seed(9);
    Buffer buffers[COUNT];
    FabMemory *mem;
    uint32_t count = 0, failed = 0;

    params.size_bytes = 300 * MIB;
    mem = fab_memory_new(&params, 200 * MIB);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint64_t size = 1ULL + (uint64_t)g_rand_int_range(rand, 0, 3 * MIB);
        uint64_t align = 1ULL << g_rand_int_range(rand, 0, 22);
        FabBusAddr addr;

        if (!fab_memory_alloc(mem, size, align, &addr)) {
            failed++;
            continue;
        }
        ck_assert_uint_eq(addr & (align - 1), 0);
        ck_assert_uint_ge(addr, MIB);
        ck_assert(fab_memory_contains(mem, addr, size));
        for (uint32_t j = 0; j < count; j++) {
            ck_assert(addr >= buffers[j].addr + buffers[j].size ||
                      addr + size <= buffers[j].addr);
        }
        buffers[count++] = (Buffer){addr, size};
    }
    ck_assert_uint_gt(count, 100);
    ck_assert_uint_gt(failed, 10);
    g_rand_free(rand);
    fab_memory_free(mem);
}
END_TEST

/* ---- Watching -------------------------------------------------------- */

typedef struct Watcher Watcher;

struct Watcher {
    FabMemory *mem;
    unsigned handle;
    FabBusAddr addr;
    uint64_t size;
    uint32_t calls;
    uint32_t expected;
    FabBusAddr last_addr;
    uint64_t last_data;
    Watcher *other; /* the watcher that `act` changes */
    void (*act)(Watcher *watcher);
    GString *log; /* nullable */
    char letter;
};

static void watcher_called(void *owner, FabBusAddr addr, uint64_t data)
{
    Watcher *watcher = owner;

    watcher->calls++;
    watcher->last_addr = addr;
    watcher->last_data = data;
    if (watcher->log) {
        g_string_append_c(watcher->log, watcher->letter);
    }
    if (watcher->act) {
        watcher->act(watcher);
    }
}

static void watcher_begin(Watcher *watcher)
{
    watcher->handle = fab_memory_watch(watcher->mem, watcher->addr,
                                       watcher->size, watcher_called, watcher);
}

START_TEST(watchers_hear_of_what_they_watch)
{
    enum {
        WATCHERS = 40,
        SPAN = 1000
    };
    FabMemory *mem = fab_memory_new(&usual, 3 * GIB);
    GRand *rand = g_rand_new_with_seed(17);
    Watcher watchers[WATCHERS] = {0};
    uint32_t heard = 0;

    for (uint32_t round = 0; round < 20000; round++) {
        Watcher *watcher = &watchers[g_rand_int_range(rand, 0, WATCHERS)];
        FabBusAddr addr = GIB + (uint64_t)g_rand_int_range(rand, 0, SPAN);
        uint64_t size = (uint64_t)g_rand_int_range(rand, 0, 20);
        bool any = false;

        if (round % 4 == 0) {
            if (watcher->handle) {
                fab_memory_unwatch(mem, watcher->handle);
                watcher->handle = 0;
            } else {
                watcher->mem = mem;
                watcher->addr = addr;
                watcher->size = MAX(size, 1);
                watcher_begin(watcher);
                ck_assert_uint_ne(watcher->handle, 0);
            }
            continue;
        }
        for (uint32_t i = 0; i < WATCHERS; i++) {
            watcher = &watchers[i];
            any |= watcher->handle != 0;
            if (watcher->handle && addr < watcher->addr + watcher->size &&
                addr + size > watcher->addr && size) {
                ck_assert(fab_memory_watched_at(mem, addr, size));
                watcher->expected++;
                heard++;
            }
        }
        ck_assert_int_eq(fab_memory_watched_at(mem, 0, UINT64_MAX), any);
        fab_memory_notify(mem, addr, size, round);
        for (uint32_t i = 0; i < WATCHERS; i++) {
            ck_assert_uint_eq(watchers[i].calls, watchers[i].expected);
        }
    }
    ck_assert_uint_gt(heard, 1000);
    g_rand_free(rand);
    fab_memory_free(mem);
}
END_TEST

START_TEST(watchers_get_address_and_data_of_the_write)
{
    FabMemory *mem = fab_memory_new(&usual, 3 * GIB);
    Watcher watcher = {.mem = mem, .addr = 0x1000, .size = 8};

    fab_memory_notify(mem, 0x1000, 8, 1);
    ck_assert(!fab_memory_watched_at(mem, 0x1000, 8));
    watcher_begin(&watcher);
    ck_assert(!fab_memory_watched_at(mem, 0xff8, 8));
    ck_assert(!fab_memory_watched_at(mem, 0x1008, 8));
    ck_assert(!fab_memory_watched_at(mem, 0x1000, 0));
    ck_assert(fab_memory_watched_at(mem, 0x1007, 1));
    fab_memory_notify(mem, 0xf80, 0x100, 0xdeadbeefcafef00d);
    ck_assert_uint_eq(watcher.calls, 1);
    ck_assert_uint_eq(watcher.last_addr, 0xf80);
    ck_assert_uint_eq(watcher.last_data, 0xdeadbeefcafef00d);
    fab_memory_unwatch(mem, watcher.handle);
    fab_memory_unwatch(mem, watcher.handle);
    fab_memory_unwatch(mem, 0);
    ck_assert(!fab_memory_watched_at(mem, 0, UINT64_MAX));
    fab_memory_notify(mem, 0x1000, 8, 2);
    ck_assert_uint_eq(watcher.calls, 1);

    /* The end of the address space. */
    watcher.addr = UINT64_MAX - 1;
    watcher.size = 100;
    watcher_begin(&watcher);
    fab_memory_notify(mem, UINT64_MAX, 1, 3);
    ck_assert_uint_eq(watcher.calls, 2);
    fab_memory_notify(mem, 0, 8, 4);
    ck_assert_uint_eq(watcher.calls, 2);
    fab_memory_free(mem);
}
END_TEST

static void end_other(Watcher *watcher)
{
    fab_memory_unwatch(watcher->mem, watcher->other->handle);
}

static void begin_other(Watcher *watcher)
{
    watcher->act = NULL;
    watcher_begin(watcher->other);
}

static void begin_many(Watcher *watcher)
{
    watcher->act = NULL;
    for (uint32_t i = 0; i < 100; i++) {
        watcher_begin(watcher->other);
    }
}

static void begin_again(Watcher *watcher)
{
    fab_memory_unwatch(watcher->mem, watcher->handle);
    watcher_begin(watcher);
}

/* Writes from within the callback. The watchers after this one are called for
 * that write before they are called for the first one. */
static void write_more(Watcher *watcher)
{
    if (watcher->calls < 3) {
        fab_memory_notify(watcher->mem, watcher->addr, 1, 0);
    }
}

/* As `end_other`, but in the callback of a write that was made from within a
 * callback. */
static void write_then_end(Watcher *watcher)
{
    if (watcher->calls == 1) {
        fab_memory_notify(watcher->mem, watcher->addr, 1, 0);
    } else {
        fab_memory_unwatch(watcher->mem, watcher->other->handle);
    }
}

typedef struct Meddling {
    void (*act)(Watcher *watcher);
    unsigned who, whom; /* indices of the acting and the other watcher */
    const char *first, *second; /* letters called for each of two writes */
} Meddling;

/* a, b and c watch from the start, d does not. */
static const Meddling meddlings[] = {
    {end_other, 0, 0, "abc", "bc"},
    {end_other, 1, 1, "abc", "ac"},
    {end_other, 2, 2, "abc", "ab"},
    {end_other, 0, 1, "ac", "ac"},
    {end_other, 1, 0, "abc", "bc"},
    {end_other, 0, 2, "ab", "ab"},
    {begin_other, 1, 3, "abc", "abcd"},
    {begin_again, 0, 0, "abc", "bca"},
    {begin_again, 2, 2, "abc", "abc"},
    {write_more, 0, 0, "aaabcbcbc", "abc"},
    {write_more, 1, 1, "abababccc", "abc"},
    {write_then_end, 1, 0, "ababcc", "bc"},
    {write_then_end, 0, 2, "aabb", "ab"},
    {write_then_end, 0, 0, "aabcbc", "bc"},
};

START_TEST(watchers_may_meddle_while_called)
{
    const Meddling *meddling = &meddlings[_i];
    FabMemory *mem = fab_memory_new(&usual, 3 * GIB);
    g_autoptr(GString) log = g_string_new(NULL);
    Watcher watchers[4];

    for (uint32_t i = 0; i < 4; i++) {
        watchers[i] = (Watcher){
            .mem = mem,
            .addr = GIB,
            .size = 1,
            .log = log,
            .letter = (char)('a' + i),
        };
        if (i < 3) {
            watcher_begin(&watchers[i]);
        }
    }
    watchers[meddling->who].act = meddling->act;
    watchers[meddling->who].other = &watchers[meddling->whom];
    fab_memory_notify(mem, GIB, 1, 0);
    ck_assert_str_eq(log->str, meddling->first);
    g_string_truncate(log, 0);
    fab_memory_notify(mem, GIB, 1, 0);
    ck_assert_str_eq(log->str, meddling->second);
    fab_memory_free(mem);
}
END_TEST

START_TEST(list_may_grow_while_it_is_walked)
{
    FabMemory *mem = fab_memory_new(&usual, 3 * GIB);
    Watcher watchers[3];

    for (uint32_t i = 0; i < 3; i++) {
        watchers[i] = (Watcher){.mem = mem, .addr = GIB, .size = 1};
    }
    watchers[0].act = begin_many;
    watchers[0].other = &watchers[2];
    watcher_begin(&watchers[0]);
    watcher_begin(&watchers[1]);
    fab_memory_notify(mem, GIB, 1, 0);
    ck_assert_uint_eq(watchers[1].calls, 1);
    ck_assert_uint_eq(watchers[2].calls, 0);
    fab_memory_notify(mem, GIB, 1, 0);
    ck_assert_uint_eq(watchers[1].calls, 2);
    ck_assert_uint_eq(watchers[2].calls, 100);
    fab_memory_free(mem);
}
END_TEST

/* The loop makes no assertions, because ck_assert() allocates memory. */
START_TEST(steady_state_allocates_nothing)
{
    FabMemory *mem = fab_memory_new(&usual, 3 * GIB);
    Watcher watcher = {.mem = mem, .addr = GIB, .size = 8};
    uint64_t allocations = 0;

    for (uint32_t i = 0; i < 2000; i++) {
        if (i == 10) {
            allocations = alloc_count();
        }
        watcher_begin(&watcher);
        fab_memory_write(mem, i, 64);
        fab_memory_read(mem, i, 64);
        fab_memory_notify(mem, GIB, 64, i);
        fab_memory_unwatch(mem, watcher.handle);
    }
    allocations = alloc_count() - allocations;
    ck_assert_uint_eq(allocations, 0);
    ck_assert_uint_eq(watcher.calls, 2000);
    fab_memory_free(mem);
    fab_memory_free(NULL);
}
END_TEST

static const struct {
    uint64_t bytes;
    const char *text;
} sizes[] = {
    {0, "0B"},
    {1023, "1023B"},
    {1024, "1KiB"},
    {1280, "1.25KiB"},
    {1281, "1281B"},
    {1536, "1.5KiB"},
    {UINT64_C(63232) << 20, "61.75GiB"},
    {UINT64_C(107374182400), "100GiB"},
    {(UINT64_C(100) << 30) + 4096, "104857604KiB"},
    {UINT64_MAX, "18446744073709551615B"},
    {UINT64_C(1) << 63, "8EiB"},
};

START_TEST(sizes_are_short_and_exact)
{
    g_autofree char *text = fab_size_text(sizes[_i].bytes);

    ck_assert_str_eq(text, sizes[_i].text);
}
END_TEST

static const struct {
    SimTime time;
    const char *text;
} times[] = {
    {0, "0ps"},
    {-1, "-1ps"},
    {999, "999ps"},
    {1000, "1ns"},
    {1500, "1.5ns"},
    {300000000, "300us"},
    {1000001, "1000.001ns"},
    {INT64_C(12345678), "12345.678ns"},
    {INT64_C(2000000000000), "2s"},
    {INT64_C(1010000000000), "1.01s"},
    {SIM_TIME_NONE, "9223372036854775.807ns"},
};

START_TEST(times_are_short_and_exact)
{
    g_autofree char *text = fab_time_text(times[_i].time);

    ck_assert_str_eq(text, times[_i].text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_memory");
    TCase *tcase = tcase_create("fab_memory");

    tcase_add_loop_test(tcase, service_matches_rational_arithmetic, 0,
                        G_N_ELEMENTS(bandwidths));
    tcase_add_test(tcase, busy_channel_moves_exactly_its_bandwidth);
    tcase_add_test(tcase, latencies_of_reads_overlap);
    tcase_add_test(tcase, large_sizes_and_no_limit);
    tcase_add_loop_test(tcase, sizes_are_short_and_exact, 0,
                        G_N_ELEMENTS(sizes));
    tcase_add_loop_test(tcase, times_are_short_and_exact, 0,
                        G_N_ELEMENTS(times));
    tcase_add_loop_test(tcase, bad_parameters_are_refused, 0,
                        G_N_ELEMENTS(bad_params));
    tcase_add_test(tcase, ram_lies_below_the_window_and_above_4g);
    tcase_add_test(tcase, buffers_come_from_above_4g_then_from_below);
    tcase_add_test(tcase, buffers_never_overlap);
    tcase_add_test(tcase, watchers_hear_of_what_they_watch);
    tcase_add_test(tcase, watchers_get_address_and_data_of_the_write);
    tcase_add_loop_test(tcase, watchers_may_meddle_while_called, 0,
                        G_N_ELEMENTS(meddlings));
    tcase_add_test(tcase, list_may_grow_while_it_is_walked);
    tcase_add_test(tcase, steady_state_allocates_nothing);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
