/* SPDX-License-Identifier: MIT */
#ifndef RANDOM_ORDER_H
#define RANDOM_ORDER_H

#include "sim_random.h"

/* Fills @ret_items with 0 to @count - 1 in random order. */
static inline void random_order(SimRandom *random, uint32_t *ret_items,
                                uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t j = (uint32_t)sim_random_below(random, (uint64_t)i + 1);

        ret_items[i] = ret_items[j];
        ret_items[j] = i;
    }
}

#endif
