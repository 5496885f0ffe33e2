/* SPDX-License-Identifier: MIT */
#ifndef FAB_SIZE_H
#define FAB_SIZE_H

#include <stdint.h>

/* Returns @bytes as people read sizes, and as a description has them: the
 * number is exact, has two decimals at most, and stands before the largest unit
 * with which that is so, such as "61.75GiB" or "1025B". To be freed. */
char *fab_size_text(uint64_t bytes);

#endif
