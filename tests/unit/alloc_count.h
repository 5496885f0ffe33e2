/* SPDX-License-Identifier: MIT */
#ifndef ALLOC_COUNT_H
#define ALLOC_COUNT_H

#include <stdint.h>

/*
 * Returns how often this program has called malloc(), calloc() and realloc() so
 * far, in all threads. It works with and without the address sanitizer. A test
 * that uses it links alloc_count.c.
 */
uint64_t alloc_count(void);

#endif
