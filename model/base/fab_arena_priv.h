/* SPDX-License-Identifier: MIT */
#ifndef FAB_ARENA_PRIV_H
#define FAB_ARENA_PRIV_H

#include <glib.h>

#if defined(__SANITIZE_ADDRESS__)
#define FAB_ARENA_HIDES 1
#elif defined(__has_feature) /* clang */
#if __has_feature(address_sanitizer)
#define FAB_ARENA_HIDES 1
#endif
#endif
#ifdef FAB_ARENA_HIDES
#include <sanitizer/asan_interface.h>
#else
#define FAB_ARENA_HIDES 0
#endif

/* Bytes that the processor fetches from memory together. */
#define FAB_CACHE_LINE 64

/*
 * Memory that is allocated piece by piece and freed as a whole, with the
 * fabric. It keeps what every hop touches apart from names and set-up, and in
 * huge pages: in a fabric of thousands of hosts, half the time of an access is
 * the look-up of its page.
 */
typedef struct FabArena {
    GPtrArray *blocks;
    char *next;
    size_t left; /* bytes of the last block */
} FabArena;

void fab_arena_init(FabArena *arena);
void fab_arena_clear(FabArena *arena);

/* Returns @bytes of zeros that begin with a cache line. They live as long as
 * the arena. */
void *fab_arena_alloc(FabArena *arena, size_t bytes);

/* With AddressSanitizer, no access may touch what is hidden, such as a piece
 * that waits to be used again. Otherwise these do nothing. */
static inline void fab_arena_hide(void *memory, size_t bytes)
{
#if FAB_ARENA_HIDES
    ASAN_POISON_MEMORY_REGION(memory, bytes);
#endif
}

static inline void fab_arena_show(void *memory, size_t bytes)
{
#if FAB_ARENA_HIDES
    ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
#endif
}

/* Fetches the cache line at @address, any value, to be written. */
static inline void fab_prefetch(const void *address)
{
    __builtin_prefetch(address, 1);
}

/* An array of @count zeroed elements. */
#define FAB_ARENA_NEW(arena, type, count)                                      \
    ((type *)fab_arena_alloc(arena, sizeof(type) * (size_t)(count)))

#endif
