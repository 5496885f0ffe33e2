/* SPDX-License-Identifier: MIT */
#include "sim_stats.h"

#include <math.h>
#include <string.h>

/* A bucket is 2^-7 of the power of two below its values. */
#define SUB_BITS    7
#define SUB_BUCKETS (1u << SUB_BITS)
#define BUCKETS     ((64 - SUB_BITS + 1) * SUB_BUCKETS)
#define MILLION     1000000u

struct SimHistogram {
    uint64_t count;
    uint64_t min;
    uint64_t max;
    unsigned __int128 sum;
    uint64_t buckets[BUCKETS];
};

/* Values below 2 * SUB_BUCKETS have buckets of their own, shift is 0. */
static inline unsigned int bucket_of(uint64_t value)
{
    unsigned int shift;

    shift = 63 - SUB_BITS - (unsigned int)__builtin_clzll(value | SUB_BUCKETS);
    return shift * SUB_BUCKETS + (unsigned int)(value >> shift);
}

static uint64_t bucket_middle(unsigned int bucket)
{
    unsigned int shift;
    uint64_t first;

    if (bucket < 2 * SUB_BUCKETS) {
        return bucket;
    }
    shift = bucket / SUB_BUCKETS - 1;
    first = (uint64_t)(bucket - shift * SUB_BUCKETS) << shift;
    return first + (((1ULL << shift) - 1) >> 1);
}

SimHistogram *sim_histogram_new(void)
{
    SimHistogram *histogram = g_new0(SimHistogram, 1);

    histogram->min = UINT64_MAX;
    return histogram;
}

void sim_histogram_free(SimHistogram *histogram)
{
    g_free(histogram);
}

void sim_histogram_add_many(SimHistogram *histogram, uint64_t value,
                            uint64_t times)
{
    if (!times) {
        return;
    }
    histogram->buckets[bucket_of(value)] += times;
    histogram->count += times;
    histogram->sum += (unsigned __int128)value * times;
    histogram->min = MIN(histogram->min, value);
    histogram->max = MAX(histogram->max, value);
}

void sim_histogram_add(SimHistogram *histogram, uint64_t value)
{
    sim_histogram_add_many(histogram, value, 1);
}

uint64_t sim_histogram_count(const SimHistogram *histogram)
{
    return histogram->count;
}

uint64_t sim_histogram_sum(const SimHistogram *histogram)
{
    if (histogram->sum > UINT64_MAX) {
        return UINT64_MAX;
    }
    return (uint64_t)histogram->sum;
}

uint64_t sim_histogram_min(const SimHistogram *histogram)
{
    return histogram->count ? histogram->min : 0;
}

uint64_t sim_histogram_max(const SimHistogram *histogram)
{
    return histogram->max;
}

double sim_histogram_mean(const SimHistogram *histogram)
{
    if (!histogram->count) {
        return 0;
    }
    return (double)histogram->sum / (double)histogram->count;
}

uint64_t sim_histogram_quantile(const SimHistogram *histogram,
                                uint32_t per_million)
{
    unsigned __int128 share;
    uint64_t rank, seen = 0;
    unsigned int i;

    share = (unsigned __int128)histogram->count * MIN(per_million, MILLION);
    rank = (uint64_t)((share + MILLION - 1) / MILLION);
    if (rank == histogram->count) {
        return histogram->max;
    }
    if (rank <= 1) {
        return histogram->min;
    }
    for (i = 0; i < BUCKETS; i++) {
        seen += histogram->buckets[i];
        if (seen >= rank) {
            break;
        }
    }
    return CLAMP(bucket_middle(i), histogram->min, histogram->max);
}

bool sim_histogram_next(const SimHistogram *histogram, unsigned int *bucket,
                        uint64_t *ret_value, uint64_t *ret_count)
{
    while (*bucket < BUCKETS) {
        unsigned int i = (*bucket)++;

        if (histogram->buckets[i]) {
            *ret_value =
                CLAMP(bucket_middle(i), histogram->min, histogram->max);
            *ret_count = histogram->buckets[i];
            return true;
        }
    }
    return false;
}

/* The part of the distribution within t = sqrt(freedom) * tan(theta) of 0. */
static double student_part(double theta, unsigned freedom)
{
    double squared = cos(theta) * cos(theta), term = 1, sum = 0;
    unsigned odd = freedom % 2;

    /* The terms with the powers of the cosine 0, 2, ... or 1, 3, ... */
    for (unsigned k = odd; k + 1 < freedom; k += 2) {
        sum += term;
        term *= squared * (k + 1) / (k + 2);
    }
    if (!odd) {
        return sin(theta) * sum;
    }
    return 2 / G_PI * (theta + sin(theta) * cos(theta) * sum);
}

double sim_stats_student(double confidence, unsigned freedom)
{
    double low = 0, high = G_PI / 2, middle = high / 2;

    g_assert(confidence > 0 && confidence < 1 && freedom > 0);
    while (low < middle && middle < high) {
        if (student_part(middle, freedom) < confidence) {
            low = middle;
        } else {
            high = middle;
        }
        middle = low + (high - low) / 2;
    }
    return sqrt(freedom) * tan(middle);
}
