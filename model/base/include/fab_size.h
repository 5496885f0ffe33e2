/* SPDX-License-Identifier: MIT */
#ifndef FAB_SIZE_H
#define FAB_SIZE_H

#include <stdint.h>

#include "sim_engine.h"

/* Returns @bytes as people read sizes, and as a description has them: the
 * number is exact, has two decimals at most, and stands before the largest unit
 * with which that is so, such as "61.75GiB" or "1025B". To be freed. */
char *fab_size_text(uint64_t bytes);
/* The same for @time, with three decimals at most, such as "1.5us" or
 * "1000.001ns". To be freed. */
char *fab_time_text(SimTime time);

#endif
