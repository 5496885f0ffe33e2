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
    *pace = (FabPace){.is_order = pace->is_order,
                      .is_metered = pace->is_metered,
                      .streams = pace->streams};
}

void fab_pace_pause(FabPace *pace)
{
    const FabPaceMoment *last = &pace->moments[pace->count];

    if (pace->has_begun) {
        pace->is_paused = true;
        pace->done = last->units;
        pace->marks = last->marks;
        pace->sums[0] = pace->sums[1] = 0;
        pace->summed = 0;
    }
}

/* Moves all moments, so that the last one is at @moment. */
static void resume(FabPace *pace, const FabPaceMoment *moment)
{
    const FabPaceMoment last = pace->moments[pace->count];

    for (unsigned i = 0; i <= pace->count; i++) {
        FabPaceMoment *m = &pace->moments[i];

        m->at += moment->at - last.at;
        m->mid_at += (double)(moment->at - last.at);
        m->sent += moment->sent - last.sent;
        m->sent_not += moment->sent_not - last.sent_not;
        m->left_out += moment->left_out - last.left_out;
        m->left_out_half += moment->left_out_half - last.left_out_half;
        m->under_way += moment->under_way - last.under_way;
        m->ended += moment->ended - last.ended;
        m->waiting += moment->waiting - last.waiting;
        m->latency_sum += moment->latency_sum - last.latency_sum;
        m->latency_count += moment->latency_count - last.latency_count;
        m->held += moment->held - last.held;
        m->missed += moment->missed - last.missed;
    }
    pace->is_paused = false;
}

/* Joins neighbours. */
static void halve(FabPace *pace)
{
    pace->count /= 2;
    for (unsigned i = 1; i <= pace->count; i++) {
        FabPaceMoment *moment = &pace->moments[i];
        const FabPaceMoment *first = &pace->moments[2 * i - 1];
        const FabPaceMoment *second = first + 1;
        double at = (first->mid_at + second->mid_at) / 2;
        double units = (first->mid_units + second->mid_units) / 2;

        *moment = *second;
        if (pace->is_order) {
            moment->mid_at = at;
            moment->mid_units = units;
        }
    }
    pace->batch_units *= 2;
}

bool fab_pace_mark(FabPace *pace, SimTime at, uint64_t units, uint64_t least)
{
    if (!pace->has_begun) {
        /* The first mark begins the first batch. */
        pace->batch_units = MAX(units, least);
        return true;
    }
    if (pace->is_paused) {
        return true;
    }
    pace->done += units;
    pace->marks++;
    pace->sums[0] += (double)(at - pace->moments[pace->count].at);
    pace->sums[1] += (double)(pace->done - pace->moments[pace->count].units);
    pace->summed++;
    return pace->done >= (pace->count + 1) * pace->batch_units;
}

/* Sets the means of the batch that has ended at @moment, after @last. */
static void set_middle(FabPace *pace, const FabPaceMoment *last,
                       FabPaceMoment *moment)
{
    moment->mid_at = (double)moment->at;
    moment->mid_units = (double)moment->units;
    if (pace->is_order && pace->summed > 0) {
        moment->mid_at = (double)last->at + pace->sums[0] / pace->summed;
        moment->mid_units = (double)last->units + pace->sums[1] / pace->summed;
    }
    pace->sums[0] = pace->sums[1] = 0;
    pace->summed = 0;
}

bool fab_pace_note(FabPace *pace, const FabPaceMoment *moment)
{
    bool has_ended = pace->has_begun;
    const FabPaceMoment last = pace->moments[pace->count];

    if (pace->is_paused) {
        resume(pace, moment);
        return false;
    }
    pace->has_begun = true;
    pace->count += has_ended ? 1 : 0;
    pace->moments[pace->count] = *moment;
    pace->moments[pace->count].marks = pace->marks;
    pace->moments[pace->count].units = pace->done;
    set_middle(pace, &last, &pace->moments[pace->count]);
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

/* Returns whether the batches are long work. */
static bool is_large(const FabPace *pace)
{
    return pace->moments[pace->count].sent - pace->moments[0].sent >=
           pace->count * (uint64_t)LARGE_BYTES;
}

/*
 * Returns the number of batches at the begin that are cut off; @count: they are
 * not warm yet. The warm-up must end within the first quarter: the error of the
 * mean would not be less if more were cut off (MSER; White, Simulation 69(6),
 * 1997). The batches themselves do not choose which of them count, as they
 * would cut off the rare ones that take long. Those of an order may, for
 * nothing in it is random: its warm-up fills buffers. Long work that does not
 * differ from its begin on is warm.
 */
static unsigned warm_batches(const FabPace *pace, const double *values)
{
    unsigned count = pace->count, quarter = MAX(count / 4, 1), best = 0;
    Moments all = moments_of(values, count);
    double least = INFINITY;

    if (is_large(pace) && count >= BATCHES_LARGE &&
        all.deviation <= NOTHING * all.mean) {
        return 0;
    }
    for (unsigned cut = 0; cut <= count / 2; cut++) {
        Moments m = moments_of(values + cut, count - cut);
        double error = m.deviation * m.deviation / (count - cut);

        if (error < least) {
            least = error;
            best = cut;
        }
    }
    return best <= quarter                      ? quarter
           : pace->is_order && best < count / 2 ? best
                                                : count;
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

/* The next batches, as far as they are known. */
typedef struct Forecast {
    double half; /* of the interval of their mean */
    double most; /* so many batches; 0: nothing is known */
} Forecast;

/*
 * If batches are independent of each other, or their neighbours are correlated
 * a little (a first-order process), Student's interval. What repeats with a
 * period that is no multiple of a batch is not random: a mean of n batches has
 * at most the n-th part of their range of that. What is rare is skewed: one
 * event more than Student's interval says, as long as the range, is expected.
 * Repetition makes neighbours differ, and the mean of orders, in which
 * nothing is random, is known the better for that.
 *
 * If they are correlated more, as when two periods beat slowly, but all of them
 * lie within @narrow, that range is the interval.
 */
static Forecast forecast(const FabPace *pace, const double *values,
                         unsigned count, double ahead, double narrow)
{
    Moments m = moments_of(values, count);
    double range = m.most - m.least, near = correlation(values, count, m);
    double r = CLAMP(near + CORRELATION_ERROR, pace->is_order ? -0.5 : 0, 0.8);
    bool is_equal = m.deviation <= NOTHING * m.mean;
    Forecast result = {0};

    if (count < BATCHES_LEAST && !is_equal && !is_large(pace)) {
        return result;
    }
    if (is_equal ||
        (near <= CORRELATION_MOST && has_no_trend(values, count, m))) {
        result.most = (pace->is_order || is_large(pace) ? AHEAD_ORDERS
                                                        : AHEAD_OPERATIONS) *
                      count;
        result.half = sim_stats_student(CONFIDENCE, count - 1) * m.deviation *
                          sqrt((1 + r) / (1 - r)) *
                          sqrt(1.0 / count + 1.0 / MAX(ahead, 1)) +
                      range / count;
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

/*
 * Returns whether @piled, at the ends of @count batches and at their begin,
 * grows or falls by more than @most: its line is steeper than that, and than
 * its own error says. Single values differ, because work is whole.
 */
static bool drifts(const double *piled, unsigned count, double most)
{
    double sums[2] = {0}, squares = 0, middle = count / 2.0, slope, rest;
    double width = (double)count * (count + 1) * (count + 2) / 12;

    for (unsigned i = 0; i <= count; i++) {
        sums[0] += piled[i];
        sums[1] += (i - middle) * piled[i];
        squares += piled[i] * piled[i];
    }
    slope = sums[1] / width;
    rest = squares - sums[0] * sums[0] / (count + 1) - slope * slope * width;
    return fabs(slope) * count > most &&
           slope * slope * width * (count - 1) >
               CERTAINLY * CERTAINLY * MAX(rest, 0);
}

/*
 * Returns whether data pile up, or run out, in the fabric, or in a device: the
 * bytes that were sent and have not come out, or those that were sent for work
 * that has not ended, by more than @share allows in the batches from number
 * @cut on.
 */
static bool piles_up(const FabPace *pace, unsigned cut, double share)
{
    const FabPaceMoment *from = &pace->moments[cut];
    unsigned count = pace->count - cut;
    double fabric[FAB_PACE_BATCHES + 1], devices[FAB_PACE_BATCHES + 1];
    double most = share / 2 * (double)(from[count].sent - from->sent);

    for (unsigned i = 0; i <= count; i++) {
        fabric[i] = (double)(int64_t)(from[i].under_way - from->under_way);
        devices[i] = (double)(from[i].sent - from->sent) -
                     (double)(from[i].ended - from->ended) +
                     (double)(int64_t)(from[i].waiting - from->waiting);
    }
    return drifts(fabric, count, most) ||
           (from[count].ended != 0 && drifts(devices, count, most));
}

/* The time between two moments that was not left out. */
static SimTime time_seen(const FabPaceMoment *from, const FabPaceMoment *to)
{
    return to->at - from->at - (to->left_out - from->left_out);
}

/* The share of the time between two moments of which it is not known whether
 * it comes again: that of misses while caches fill. */
static double unsettled_share(const FabPace *pace, const FabPaceMoment *from,
                              const FabPaceMoment *to)
{
    return pace->streams || (int64_t)(to->held - from->held) <= 0
               ? 0
               : (double)(to->missed - from->missed) /
                     (double)time_seen(from, to);
}

/* The time of a unit between two moments. Batches are not quite of one size,
 * because an end of work may be that of several units. The bytes of orders come
 * in bursts, so the middle of a batch is known better than its end. */
static double unit_time(const FabPaceMoment *from, const FabPaceMoment *to)
{
    return (to->mid_at - from->mid_at) / (to->mid_units - from->mid_units);
}

bool fab_pace_judge(const FabPace *pace, double ahead, double share,
                    FabPaceResult *ret_result)
{
    const FabPaceMoment *from, *to = &pace->moments[pace->count];
    double times[FAB_PACE_BATCHES] = {0}, mean, units, events, share_more;
    unsigned count = pace->count, cut;
    unsigned least = is_large(pace) ? BATCHES_LARGE : BATCHES_EQUAL;
    FabPaceResult result;
    Forecast time;

    if (count < least) {
        return false;
    }
    for (unsigned i = 0; i < count; i++) {
        times[i] = unit_time(&pace->moments[i], &pace->moments[i + 1]);
    }
    cut = warm_batches(pace, times);
    if (count < cut + least) {
        return false;
    }
    count -= cut;
    from = &pace->moments[cut];
    time = forecast(pace, times + cut, count, ahead, share / 2);
    if (time.most == 0 || piles_up(pace, cut, share)) {
        return false;
    }
    mean = unit_time(from, to);
    units = (double)(to->units - from->units);
    events = (double)MAX(
        to->marks - from->marks,
        (to->sent - from->sent - (to->sent_not - from->sent_not)) / TLP_BYTES);
    /* The work that was left out has an interval of its own. */
    share_more = (MAX(FAB_PACE_UNSEEN * share, UNSEEN_EVENTS / events) +
                  unsettled_share(pace, from, to)) *
                 (double)time_seen(from, to) / (double)(to->at - from->at);
    result = (FabPaceResult){
        .batches = count,
        .most = time.most,
        .time = time_seen(from, to),
        .sent = to->sent - from->sent - (to->sent_not - from->sent_not),
        .missed = to->missed - from->missed,
        .unit_ps = mean,
        .half_ps = time.half + share_more * mean +
                   (double)(to->left_out_half - from->left_out_half) / units,
    };
    if (!judge_latency(pace, cut, ahead, share, &result)) {
        return false;
    }
    result.half_latency +=
        (share_more + (double)(to->left_out_half - from->left_out_half) /
                          (double)(to->at - from->at)) *
        result.latency;
    *ret_result = result;
    return true;
}
