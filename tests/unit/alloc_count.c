/* SPDX-License-Identifier: MIT */
#include "alloc_count.h"

#include <stdatomic.h>
#include <stddef.h>

static atomic_uint_fast64_t calls;

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif

#ifdef HAS_ASAN

/* The sanitizer replaces malloc() itself and calls these hooks. */
int __sanitizer_install_malloc_and_free_hooks(
    void (*malloc_hook)(const volatile void *, size_t),
    void (*free_hook)(const volatile void *));

static void malloc_hook(const volatile void *ptr, size_t size)
{
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
}

static void free_hook(const volatile void *ptr)
{
}

__attribute__((constructor)) static void install_hooks(void)
{
    __sanitizer_install_malloc_and_free_hooks(malloc_hook, free_hook);
}

#else

/* The functions of glibc that the definitions below replace. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *ptr, size_t size);

void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *ptr, size_t size);

void *malloc(size_t size)
{
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    return __libc_calloc(count, size);
}

void *realloc(void *ptr, size_t size)
{
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    return __libc_realloc(ptr, size);
}

#endif

uint64_t alloc_count(void)
{
    return atomic_load_explicit(&calls, memory_order_relaxed);
}
