/* SPDX-License-Identifier: MIT */
#include "fab_pace_priv.h"

#include <math.h>
#include <string.h>

#define CONFIDENCE 0.95

/* Batches of the steady part, at least; the smaller numbers, if they do not
 * differ, and if each of them moves so many bytes. */
#define BATCHES_LEAST 16
#define BATCHES_EQUAL 8
#define BATCHES_LARGE 2
#define LARGE_BYTES   (256u << 10)

/* The steady part stands for at most so many times its work; for more if that
 * is the data of long orders, which depend on nothing random. Programs that
 * poll, say, go from one rhythm to another after hundreds of operations. */
#define AHEAD_OPERATIONS 9
#define AHEAD_ORDERS     120

/* The correlation of neighbours that 16 or more independent batches exceed
 * once in 20 times. */
#define CORRELATION_MOST 0.5

/* The error of a correlation of 32 batches. */
#define CORRELATION_ERROR 0.2

/* Differences of this part of the mean are none: TLPs and SKP ordered sets are
 * whole. */
#define NOTHING 1e-4

/* A slope of so many times its own error is one. */
#define CERTAINLY 4

/* An event that has not come in n comes at most so often in n, at 95 % (the
 * rule of three). It is taken to be as long as the mean of the others. */
#define UNSEEN_EVENTS 3

/* Bytes of a TLP, the least event in long work. */
#define TLP_BYTES 256

void fab_pace_reset(FabPace *pace)
{
    *pace = (FabPace){.streams = pace->streams};
}

/* Joins neighbours. */
static void halve(FabPace *pace)
{
    pace->count /= 2;
    for (unsigned i = 1; i <= pace->count; i++) {
        pace->moments[i] = pace->moments[2 * i];
    }
    pace->batch_units *= 2;
}

bool fab_pace_mark(FabPace *pace, uint64_t units, uint64_t least)
{
    if (!pace->has_begun) {
        /* The first mark begins the first batch. */
        pace->batch_units = MAX(units, least);
        return true;
    }
    pace->done += units;
    pace->marks++;
    return pace->done >= (pace->count + 1) * pace->batch_units;
}

bool fab_pace_note(FabPace *pace, const FabPaceMoment *moment)
{
    bool has_ended = pace->has_begun;

    pace->has_begun = true;
    pace->count += has_ended ? 1 : 0;
    pace->moments[pace->count] = *moment;
    pace->moments[pace->count].marks = pace->marks;
    if (pace->count == FAB_PACE_BATCHES) {
        halve(pace);
    }
    return has_ended;
}

/* ---- Judging ------------------------------------------------------------ */

typedef struct Moments {
    double mean, deviation, least, most;
} Moments;

static Moments moments_of(const double *values, unsigned count)
{
    Moments m = {.least = values[0], .most = values[0]};
    double squares = 0;

    for (unsigned i = 0; i < count; i++) {
        m.mean += values[i] / count;
        m.least = MIN(m.least, values[i]);
        m.most = MAX(m.most, values[i]);
    }
    for (unsigned i = 0; i < count; i++) {
        squares += (values[i] - m.mean) * (values[i] - m.mean);
    }
    m.deviation = sqrt(squares / (count - 1));
    return m;
}

/* The number of batches at the begin that are cut off as warm-up. */
static unsigned warm_batches(unsigned count)
{
    return MAX(count / 4, 1);
}

/*
 * Returns whether the warm-up ends within them: the error of the mean would not
 * be less if more were cut off (MSER; White, Simulation 69(6), 1997). The
 * batches themselves do not choose which of them count, as they would cut off
 * the rare ones that take long.
 */
static bool is_warm(const double *values, unsigned count)
{
    double least = INFINITY;
    unsigned best = 0;

    for (unsigned cut = 0; cut <= count / 2; cut++) {
        Moments m = moments_of(values + cut, count - cut);
        double error = m.deviation * m.deviation / (count - cut);

        if (error < least) {
            least = error;
            best = cut;
        }
    }
    return best <= warm_batches(count);
}

/* The correlation of neighbours. */
static double correlation(const double *values, unsigned count, Moments m)
{
    double sum = 0;

    for (unsigned i = 0; i + 1 < count; i++) {
        sum += (values[i] - m.mean) * (values[i + 1] - m.mean);
    }
    return m.deviation > 0 ? sum / ((count - 1) * m.deviation * m.deviation)
                           : 0;
}

/* Returns whether the halves of @values have the same mean. */
static bool has_no_trend(const double *values, unsigned count, Moments m)
{
    Moments first = moments_of(values, count / 2);
    Moments second = moments_of(values + count / 2, count - count / 2);
    double error = m.deviation * sqrt(4.0 / count);

    return fabs(first.mean - second.mean) <= MAX(2 * error, NOTHING * m.mean);
}

/* Returns whether the batches are long work. */
static bool is_large(const FabPace *pace)
{
    return pace->moments[pace->count].sent - pace->moments[0].sent >=
           pace->count * (uint64_t)LARGE_BYTES;
}

/* The next batches, as far as they are known. */
typedef struct Forecast {
    double half; /* of the interval of their mean */
    double most; /* so many batches; 0: nothing is known */
} Forecast;

/*
 * If batches are independent of each other, or their neighbours are correlated
 * a little (a first-order process), Student's interval. What repeats with a
 * period that is no multiple of a batch is not random: a mean of n batches has
 * at most the n-th part of their range of that. What is rare is skewed: of k
 * events that were seen, about 2 more than Student's interval says may be
 * expected (Poisson), each as long as the range.
 *
 * If they are correlated more, as when two periods beat slowly, but all of them
 * lie within @narrow, that range is the interval.
 */
static Forecast forecast(const FabPace *pace, const double *values,
                         unsigned count, double ahead, double narrow)
{
    Moments m = moments_of(values, count);
    double range = m.most - m.least, near = correlation(values, count, m);
    double r = CLAMP(near + CORRELATION_ERROR, 0, 0.8);
    bool is_equal = m.deviation <= NOTHING * m.mean;
    Forecast result = {0};

    if (count < BATCHES_LEAST && !is_equal && !is_large(pace)) {
        return result;
    }
    if (is_equal ||
        (near <= CORRELATION_MOST && has_no_trend(values, count, m))) {
        result.most = (pace->streams || is_large(pace) ? AHEAD_ORDERS
                                                       : AHEAD_OPERATIONS) *
                      count;
        result.half = sim_stats_student(CONFIDENCE, count - 1) * m.deviation *
                          sqrt((1 + r) / (1 - r)) *
                          sqrt(1.0 / count + 1.0 / MAX(ahead, 1)) +
                      2 * range / count;
    } else if (count >= BATCHES_LEAST && range <= narrow * m.mean) {
        result.most = AHEAD_OPERATIONS * count;
        result.half = range;
    }
    result.half += NOTHING * m.mean;
    return result;
}

/* The latencies of the batches from number @cut on. Returns false if they are
 * not known. */
static bool judge_latency(const FabPace *pace, unsigned cut, double ahead,
                          double share, FabPaceResult *result)
{
    unsigned count = pace->count - cut;
    double means[FAB_PACE_BATCHES] = {0};
    Forecast mean;

    for (unsigned i = 0; i < count; i++) {
        const FabPaceMoment *from = &pace->moments[cut + i], *to = from + 1;

        if (to->latency_count == from->latency_count) {
            return true; /* batches are parts of operations */
        }
        means[i] = (double)(to->latency_sum - from->latency_sum) /
                   (double)(to->latency_count - from->latency_count);
    }
    mean = forecast(pace, means, count, ahead, share / 2);
    result->most = MIN(result->most, mean.most);
    result->latency = moments_of(means, count).mean;
    result->half_latency = mean.half;
    return mean.most > 0;
}

/* Returns whether, between two moments, as much went into the fabric as came
 * out of it. */
static bool is_filled(const FabPaceMoment *from, const FabPaceMoment *to,
                      double share)
{
    double piled = fabs((double)to->under_way - (double)from->under_way);

    return piled <= share / 2 * (double)(to->sent - from->sent);
}

/*
 * Returns whether data pile up in a device, or run out there: the bytes that
 * were sent for work that has not ended grow or fall from batch to batch, by
 * more than @share allows. Their line through the batches from number @cut on
 * is steeper than its own error says; single batches differ, because work is
 * whole.
 */
static bool piles_up(const FabPace *pace, unsigned cut, double share)
{
    const FabPaceMoment *from = &pace->moments[cut];
    unsigned count = pace->count - cut;
    double sums[2] = {0}, squares = 0, middle = count / 2.0, slope, rest;
    double width = (double)count * (count + 1) * (count + 2) / 12;
    double sent = (double)(from[count].sent - from->sent);

    if (from[count].ended == 0) {
        return false;
    }
    for (unsigned i = 0; i <= count; i++) {
        double piled = (double)(from[i].sent - from->sent) -
                       (double)(from[i].ended - from->ended);

        sums[0] += piled;
        sums[1] += (i - middle) * piled;
        squares += piled * piled;
    }
    slope = sums[1] / width;
    rest = squares - sums[0] * sums[0] / (count + 1) - slope * slope * width;
    return fabs(slope) * count > share / 2 * sent &&
           slope * slope * width * (count - 1) >
               CERTAINLY * CERTAINLY * MAX(rest, 0);
}

/* The share of the time between two moments of which it is not known whether
 * it comes again: that of misses while caches fill. */
static double unsettled_share(const FabPace *pace, const FabPaceMoment *from,
                              const FabPaceMoment *to)
{
    return pace->streams || to->held <= from->held
               ? 0
               : (double)(to->missed - from->missed) /
                     (double)(to->at - from->at);
}

bool fab_pace_judge(const FabPace *pace, double ahead, double share,
                    FabPaceResult *ret_result)
{
    const FabPaceMoment *from, *to = &pace->moments[pace->count];
    double times[FAB_PACE_BATCHES] = {0}, mean, events, share_more;
    unsigned count = pace->count, cut = warm_batches(count);
    unsigned least = is_large(pace) ? BATCHES_LARGE : BATCHES_EQUAL;
    FabPaceResult result;
    Forecast time;

    if (count < cut + least) {
        return false;
    }
    for (unsigned i = 0; i < count; i++) {
        times[i] = (double)(pace->moments[i + 1].at - pace->moments[i].at);
    }
    if (!is_warm(times, count)) {
        return false;
    }
    count -= cut;
    from = &pace->moments[cut];
    time = forecast(pace, times + cut, count, ahead, share / 2);
    if (time.most == 0 || !is_filled(from, to, share) ||
        piles_up(pace, cut, share)) {
        return false;
    }
    mean = (double)(to->at - from->at) / count;
    events = (double)MAX(to->marks - from->marks,
                         (to->sent - from->sent) / TLP_BYTES);
    share_more = MAX(FAB_PACE_UNSEEN * share, UNSEEN_EVENTS / events) +
                 unsettled_share(pace, from, to);
    result = (FabPaceResult){
        .batches = count,
        .most = time.most,
        .time = to->at - from->at,
        .sent = to->sent - from->sent,
        .unit_ps = mean / (double)pace->batch_units,
        .half_ps = (time.half + share_more * mean) / (double)pace->batch_units,
    };
    if (!judge_latency(pace, cut, ahead, share, &result)) {
        return false;
    }
    result.half_latency += share_more * result.latency;
    *ret_result = result;
    return true;
}
