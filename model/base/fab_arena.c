/* SPDX-License-Identifier: MIT */
#include "fab_arena_priv.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <sys/mman.h>

/* AddressSanitizer knows blocks, and not the pieces in them: it is told, and
 * each piece is followed by bytes that no access may touch. */
#define RED_ZONE (FAB_ARENA_HIDES ? FAB_CACHE_LINE : 0)

/* The first blocks are small, because most fabrics are. */
#define SMALL_BLOCK  (UINT64_C(64) << 10)
#define SMALL_BLOCKS 16
#define HUGE_PAGE    (UINT64_C(2) << 20)
#define LARGE_BLOCK  (4 * HUGE_PAGE)

void fab_arena_init(FabArena *arena)
{
    *arena =
        (FabArena){.blocks = g_ptr_array_new_with_free_func(g_aligned_free)};
}

void fab_arena_clear(FabArena *arena)
{
    g_ptr_array_unref(arena->blocks);
}

static void block_add(FabArena *arena, size_t least)
{
    bool small = arena->blocks->len < SMALL_BLOCKS && least <= SMALL_BLOCK;
    size_t align = small ? FAB_CACHE_LINE : HUGE_PAGE;
    size_t bytes = small ? SMALL_BLOCK : MAX(LARGE_BLOCK, least);

    bytes = (bytes + align - 1) / align * align;
    arena->next = g_aligned_alloc(1, bytes, align);
    if (!small) {
        /* A hint: without huge pages the model is slower, nothing else. */
        (void)madvise(arena->next, bytes, MADV_HUGEPAGE);
    }
    fab_arena_hide(arena->next, bytes);
    arena->left = bytes;
    g_ptr_array_add(arena->blocks, arena->next);
}

void *fab_arena_alloc(FabArena *arena, size_t bytes)
{
    size_t taken = (bytes + RED_ZONE + FAB_CACHE_LINE - 1) / FAB_CACHE_LINE *
                   FAB_CACHE_LINE;
    void *memory;

    if (taken > arena->left) {
        block_add(arena, taken);
    }
    memory = arena->next;
    arena->next += taken;
    arena->left -= taken;
    fab_arena_show(memory, bytes);
    return memset(memory, 0, bytes);
}
