/* SPDX-License-Identifier: MIT */
#ifndef FAB_CREDIT_SUM_PRIV_H
#define FAB_CREDIT_SUM_PRIV_H

#include "fab_link_params.h"

/*
 * Header and data credits of a class in one number, so that one addition counts
 * both: header credits from bit 2 on, data credits from bit 32 on. The two
 * lowest bits of a sum are 0. Those that are infinite are never counted.
 */
typedef uint64_t FabCreditSum;

#define FAB_CREDIT_SUM_HEADER (UINT64_C(1) << 2) /* one header credit */
#define FAB_CREDIT_SUM_CLASS  UINT64_C(3)        /* see FabCreditReturn */

static inline FabCreditSum fab_credit_sum(uint32_t header, uint32_t data)
{
    return (uint64_t)data << 32 | (uint32_t)(header << 2);
}

static inline uint32_t fab_credit_sum_header(FabCreditSum sum)
{
    return (uint32_t)sum >> 2;
}

static inline uint32_t fab_credit_sum_data(FabCreditSum sum)
{
    return sum >> 32;
}

/* Returns whether @sum has one header credit and @data data credits. */
static inline bool fab_credit_sum_suffices(FabCreditSum sum, uint32_t data)
{
    return (uint32_t)sum >= FAB_CREDIT_SUM_HEADER && sum >> 32 >= data;
}

/* The kinds of credits of a class that are infinite, as bits. */
#define FAB_INFINITE_HEADER 1u
#define FAB_INFINITE_DATA   2u
#define FAB_INFINITE_ALL    3u

/* The credits of one TLP with @data data credits that are counted where the
 * kinds @infinite are infinite. */
static inline FabCreditSum fab_credit_sum_of(unsigned infinite, uint32_t data)
{
    static const FabCreditSum counted[] = {
        [0] = UINT64_MAX,
        [FAB_INFINITE_HEADER] = UINT64_MAX << 32,
        [FAB_INFINITE_DATA] = UINT32_MAX,
        [FAB_INFINITE_ALL] = 0,
    };

    return ((uint64_t)data << 32 | FAB_CREDIT_SUM_HEADER) & counted[infinite];
}

/* Credits on their way back to the sender, with their class in the two lowest
 * bits. */
typedef struct FabCreditReturn {
    SimTime time;
    FabCreditSum credits;
} FabCreditReturn;

static inline FabClass fab_credit_return_class(const FabCreditReturn *ret)
{
    return (FabClass)(ret->credits & FAB_CREDIT_SUM_CLASS);
}

static inline FabCreditSum fab_credit_return_sum(const FabCreditReturn *ret)
{
    return ret->credits & ~FAB_CREDIT_SUM_CLASS;
}

#endif
