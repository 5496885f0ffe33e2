/* SPDX-License-Identifier: MIT */
#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H

#include <glib.h>

/* Makes one random change to @bytes: a bit, a byte, a field, or a piece that is
 * removed or repeated. */
void fuzz_mutate(GRand *random, GByteArray *bytes);

#endif
