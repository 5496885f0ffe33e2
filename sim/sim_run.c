/* SPDX-License-Identifier: MIT */
#include "sim_run_priv.h"

#include <string.h>

#define CAPACITY_MIN   256u
#define INSERTION_SORT 8u

void sim_run_clear(SimRun *run)
{
    g_free(run->entries);
    g_free(run->scratch);
}

static inline bool entry_before(const SimRunEntry *a, const SimRunEntry *b)
{
    unsigned __int128 x = (unsigned __int128)a->time << 64 | a->key;
    unsigned __int128 y = (unsigned __int128)b->time << 64 | b->key;

    return x < y;
}

static void insertion_sort(SimRunEntry *entries, uint32_t count)
{
    uint32_t i;

    for (i = 1; i < count; i++) {
        SimRunEntry entry = entries[i];
        uint32_t at = i;

        for (; at && entry_before(&entry, &entries[at - 1]); at--) {
            entries[at] = entries[at - 1];
        }
        entries[at] = entry;
    }
}

static void merge_sort(SimRunEntry *entries, SimRunEntry *scratch,
                       uint32_t count)
{
    uint32_t half = count / 2;
    SimRunEntry *left = scratch;
    SimRunEntry *left_end = scratch + half;
    SimRunEntry *right = entries + half;
    SimRunEntry *right_end = entries + count;

    if (count <= INSERTION_SORT) {
        insertion_sort(entries, count);
        return;
    }
    merge_sort(entries, scratch, half);
    merge_sort(right, scratch, count - half);
    if (entry_before(right - 1, right)) {
        return;
    }
    memcpy(scratch, entries, half * sizeof(*entries));
    while (left < left_end && right < right_end) {
        bool from_right = entry_before(right, left);
        const SimRunEntry *from = from_right ? right : left;

        *entries++ = *from;
        right += from_right;
        left += !from_right;
    }
    memcpy(entries, left, (size_t)(left_end - left) * sizeof(*entries));
}

SimEvent **sim_run_prepare(SimRun *run, uint32_t count)
{
    if (!run->count) {
        run->head = run->end = 0;
    }
    if (run->end + count > run->capacity) {
        run->capacity = MAX(CAPACITY_MIN, run->capacity);
        while (run->capacity < run->end + count) {
            run->capacity *= 2;
        }
        run->entries = g_renew(SimRunEntry, run->entries, run->capacity);
        g_free(run->scratch);
        run->scratch = g_new(SimRunEntry, run->capacity);
    }
    return (SimEvent **)(void *)run->scratch;
}

/* The number of events ahead that are fetched into the cache. */
#define PREFETCH 8

void sim_run_append(SimRun *run, uint32_t count)
{
    SimEvent **events = (SimEvent **)(void *)run->scratch;
    SimRunEntry *entries = run->entries + run->end;
    uint32_t slot = SIM_RUN_SLOT | run->end;
    bool sorted = true;
    uint32_t i;

    for (i = 0; i < count; i++) {
        SimEvent *event = events[i];

        if (i + PREFETCH < count) {
            __builtin_prefetch(events[i + PREFETCH], 1);
        }
        entries[i] = (SimRunEntry){(uint64_t)event->time, event->key, event};
        event->slot = slot + i;
        if (i && entry_before(&entries[i], &entries[i - 1])) {
            sorted = false;
        }
    }
    if (!sorted) {
        merge_sort(entries, run->scratch, count);
        for (i = 0; i < count; i++) {
            entries[i].event->slot = slot + i;
        }
    }
    run->end += count;
    run->count += count;
}
