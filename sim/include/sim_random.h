/* SPDX-License-Identifier: MIT */
#ifndef SIM_RANDOM_H
#define SIM_RANDOM_H

#include <stdint.h>

#include "sim_time.h"

/*
 * A stream of random numbers, xoshiro256** by Blackman and Vigna. A seed and
 * a name identify a stream. The name is, for example, the path of the component
 * that draws from it, so a new component does not change another's numbers. All
 * functions give the same numbers on every platform: they use integers and the
 * basic operations of IEEE doubles only. A value type; nothing to free.
 */
typedef struct SimRandom {
    uint64_t state[4];
} SimRandom;

/*
 * Starts the stream @name of @seed. The state is four outputs of splitmix64
 * started at splitmix64(@seed) XOR the 64-bit FNV-1a hash of @name.
 */
void sim_random_init(SimRandom *random, uint64_t seed, const char *name);

/* One step of splitmix64 (Steele, Lea, Flood; Vigna's constants). */
uint64_t sim_random_splitmix64(uint64_t *state);

/* Uniform over all 64-bit values. */
uint64_t sim_random_u64(SimRandom *random);

/* Uniform over 0 to @limit - 1, without bias; 0 when @limit is 0. */
uint64_t sim_random_below(SimRandom *random, uint64_t limit);

/* Uniform over the 2^53 multiples of 2^-53 in [0, 1). */
double sim_random_double(SimRandom *random);

/* Exponentially distributed with mean @mean >= 0 in ps, rounded to whole ps;
 * limited to one below SIM_TIME_NONE. */
SimTime sim_random_exponential(SimRandom *random, SimTime mean);

#endif
