/* SPDX-License-Identifier: MIT */
#include "fab_flit_priv.h"

#include "fab_port_priv.h"

/* The error correcting code has so many groups of bytes, one after another, and
 * corrects one byte in each (PCIe 6.0 s4.2.3). */
#define ECC_GROUPS 3u

static uint64_t flit_time(const FabFlits *flits)
{
    return FAB_FLIT_BYTES * flits->byte_time;
}

/* When flit @number begins. */
static uint64_t flit_begin(const FabFlits *flits, uint64_t number)
{
    return flits->origin + number * flit_time(flits) +
           number / flits->flits_between * flits->skp_time;
}

/* Returns the flit that is on the wire at @time, and sets *@ret_since to the
 * time since its beginning. During an SKP ordered set, that is the next one. */
static uint64_t flit_at(const FabFlits *flits, uint64_t time,
                        uint64_t *ret_since)
{
    uint64_t row = flits->flits_between * flit_time(flits);
    uint64_t rows, rest, number;

    if (time <= flits->origin) {
        *ret_since = 0;
        return 0;
    }
    rows = (time - flits->origin) / (row + flits->skp_time);
    rest = (time - flits->origin) % (row + flits->skp_time);
    if (rest >= row) {
        *ret_since = 0;
        return (rows + 1) * flits->flits_between;
    }
    number = rest / flit_time(flits);
    *ret_since = rest - number * flit_time(flits);
    return rows * flits->flits_between + number;
}

void fab_flits_restart(FabFlits *flits, SimTime now, uint64_t byte_time,
                       uint32_t flits_between, uint64_t skp_time)
{
    *flits = (FabFlits){
        .origin = (uint64_t)now * FAB_PS_FRACTION,
        .byte_time = byte_time,
        .flits_between = flits_between,
        .skp_time = skp_time,
    };
}

/* The first position at which a TLP can begin at @time or later: the begin of a
 * DW. */
static uint64_t position_at(const FabFlits *flits, uint64_t time)
{
    uint64_t since, number = flit_at(flits, time, &since);
    uint64_t dw_time = 4 * flits->byte_time;
    uint64_t at = (since + dw_time - 1) / dw_time * 4;

    return at < FAB_FLIT_TLP_BYTES ? number * FAB_FLIT_TLP_BYTES + at
                                   : (number + 1) * FAB_FLIT_TLP_BYTES;
}

/* When the byte at @position begins, in ps. */
static SimTime begin_of(const FabFlits *flits, uint64_t position)
{
    uint64_t number = position / FAB_FLIT_TLP_BYTES;
    uint64_t at = position % FAB_FLIT_TLP_BYTES;

    return (SimTime)((flit_begin(flits, number) + at * flits->byte_time) /
                     FAB_PS_FRACTION);
}

SimTime fab_flits_take(FabFlits *flits, SimTime now, uint32_t bytes,
                       SimTime *ret_end)
{
    uint64_t begin = position_at(flits, (uint64_t)now * FAB_PS_FRACTION);
    uint64_t number, at;

    begin = MAX(begin, flits->position);
    flits->position = begin + bytes;
    number = (flits->position - 1) / FAB_FLIT_TLP_BYTES;
    at = (flits->position - 1) % FAB_FLIT_TLP_BYTES + 1;
    *ret_end = (SimTime)((flit_begin(flits, number) + at * flits->byte_time) /
                         FAB_PS_FRACTION);
    return MAX(now, begin_of(flits, begin));
}

uint64_t fab_flits_number(const FabFlits *flits, SimTime time)
{
    uint64_t since;

    return flit_at(flits, (uint64_t)time * FAB_PS_FRACTION - 1, &since);
}

SimTime fab_flits_begin(const FabFlits *flits, uint64_t number)
{
    return (SimTime)(flit_begin(flits, number) / FAB_PS_FRACTION);
}

SimTime fab_flits_end(const FabFlits *flits, uint64_t number)
{
    return (SimTime)((flit_begin(flits, number) + flit_time(flits)) /
                     FAB_PS_FRACTION);
}

uint64_t fab_flits_next(const FabFlits *flits, SimTime time)
{
    uint64_t since, number;

    number = flit_at(flits, (uint64_t)time * FAB_PS_FRACTION, &since);
    return since ? number + 1 : number;
}

/* @value to the power of @n. Multiplications give the same bits everywhere. */
static double power(double value, unsigned n)
{
    double result = 1;

    for (unsigned i = 0; i < n; i++) {
        result *= value;
    }
    return result;
}

/* The probability that two or more of @n bytes are wrong, each with probability
 * @wrong: the sum of the binomial distribution, without the difference of two
 * numbers that are nearly 1. */
static double two_or_more(unsigned n, double wrong)
{
    double ways = n, sum = 0;

    for (unsigned k = 2; k <= n; k++) {
        ways = ways * (n - k + 1) / k;
        sum += ways * power(wrong, k) * power(1 - wrong, n - k);
    }
    return MIN(sum, 1);
}

double fab_flit_bad_rate(double rate)
{
    double wrong = 0, good = 1, bad = 0;

    for (unsigned bit = 0; bit < 8; bit++) { /* 1 - (1 - rate)^8 */
        wrong += rate * power(1 - rate, bit);
    }
    for (unsigned group = 0; group < ECC_GROUPS; group++) {
        unsigned bytes = (FAB_FLIT_BYTES + ECC_GROUPS - 1 - group) / ECC_GROUPS;
        double one = two_or_more(bytes, wrong);

        bad += good * one;
        good *= 1 - one;
    }
    return bad;
}
