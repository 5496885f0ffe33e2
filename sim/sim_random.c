/* SPDX-License-Identifier: MIT */
#include "sim_random.h"

#include <string.h>

#define FNV_OFFSET 0xcbf29ce484222325ULL
#define FNV_PRIME  0x100000001b3ULL

#define LN_2 0x1.62e42fefa39efp-1

static uint64_t fnv1a(const char *text)
{
    uint64_t hash = FNV_OFFSET;

    for (; *text; text++) {
        hash = (hash ^ (uint8_t)*text) * FNV_PRIME;
    }
    return hash;
}

static inline uint64_t rotate_left(uint64_t value, unsigned int bits)
{
    return value << bits | value >> (64 - bits);
}

uint64_t sim_random_splitmix64(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
}

void sim_random_init(SimRandom *random, uint64_t seed, const char *name)
{
    uint64_t state = seed;
    int i;

    state = sim_random_splitmix64(&state) ^ fnv1a(name);
    for (i = 0; i < 4; i++) {
        random->state[i] = sim_random_splitmix64(&state);
    }
}

uint64_t sim_random_u64(SimRandom *random)
{
    uint64_t *s = random->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

/* Lemire, "Fast random integer generation in an interval" (2019). */
uint64_t sim_random_below(SimRandom *random, uint64_t limit)
{
    unsigned __int128 product;

    product = (unsigned __int128)sim_random_u64(random) * limit;
    if ((uint64_t)product < limit) {
        uint64_t threshold = limit ? -limit % limit : 0;

        while ((uint64_t)product < threshold) {
            product = (unsigned __int128)sim_random_u64(random) * limit;
        }
    }
    return (uint64_t)(product >> 64);
}

double sim_random_double(SimRandom *random)
{
    return (double)(sim_random_u64(random) >> 11) * 0x1p-53;
}

/*
 * -ln(n / 2^53) for 1 <= n <= 2^53. The C library's log() may differ between
 * machines in the last bit; sums and products do not.
 */
static double minus_ln(uint64_t n)
{
    int exponent = 63 - __builtin_clzll(n);
    double mantissa = (double)n / (double)(1ULL << exponent);
    double s, square, series;
    int k;

    /* With the mantissa in [2/3, 4/3), |s| <= 1/5: the first power left out,
     * 25, is below the last bit. */
    if (mantissa >= 4.0 / 3.0) {
        mantissa /= 2;
        exponent++;
    }
    s = (mantissa - 1) / (mantissa + 1);
    square = s * s;
    series = 0;
    for (k = 23; k >= 1; k -= 2) {
        series = series * square + 1.0 / k;
    }
    return (double)(53 - exponent) * LN_2 - 2 * s * series;
}

SimTime sim_random_exponential(SimRandom *random, SimTime mean)
{
    double time;

    time = (double)mean * minus_ln((sim_random_u64(random) >> 11) + 1) + 0.5;
    if (time >= 0x1p63) {
        return SIM_TIME_NONE - 1;
    }
    return (SimTime)time;
}
