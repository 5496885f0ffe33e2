/* SPDX-License-Identifier: MIT */
#ifndef ALLOC_COUNT_H
#define ALLOC_COUNT_H

#include <stdint.h>

/*
 * Calls of malloc(), calloc() and realloc() by this program so far, all
 * threads; with or without the address sanitizer. Link alloc_count.c.
 */
uint64_t alloc_count(void);

#endif
