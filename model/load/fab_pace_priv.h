/* SPDX-License-Identifier: MIT */
#ifndef FAB_PACE_PRIV_H
#define FAB_PACE_PRIV_H

#include "fab_flow_pace.h"

/*
 * The pace of a flow: how long a unit of its work takes, by batches of equal
 * work. A unit is what its kind counts, an operation or a byte. When the
 * batches are full, neighbours join, so a flow of any length has between
 * FAB_PACE_BATCHES / 2 and FAB_PACE_BATCHES of them.
 */
#define FAB_PACE_BATCHES 64

/* Part of the share that is asked for, which stands for what batches do not
 * show because it is rare. */
#define FAB_PACE_UNSEEN 0.25

/* The progress of a flow when a batch ended. */
typedef struct FabPaceMoment {
    SimTime at;
    uint64_t marks;           /* ends of work */
    uint64_t units;           /* that have ended */
    double mid_at, mid_units; /* means of `at` and `units` at the ends of work
                                 in the batch, of an order */
    uint64_t sent;            /* bytes of its data that went into the fabric, or
                                 were left out within its units */
    uint64_t sent_not;        /* of these, those that were left out */
    SimTime left_out;         /* of `at`, what was left out within its units */
    SimTime left_out_half;    /* half the width of the interval of that */
    uint64_t under_way;       /* of these, those that have not come out */
    uint64_t ended;           /* bytes of the units that have ended; 0: they
                                 are not known */
    uint64_t waiting;         /* bytes of units that are part of their way and
                                 wait, beside those */
    uint64_t latency_sum;     /* of operations, in ps */
    uint64_t latency_count;   /* of operations */
    uint64_t held;            /* entries that caches hold */
    SimTime missed;           /* time of their misses, as if each stood alone */
} FabPaceMoment;

typedef struct FabPace {
    uint64_t batch_units; /* of a batch */
    uint64_t done;        /* units since the first mark */
    uint64_t marks;       /* since the first one */
    double sums[2];       /* of the ends of work since the last batch ended, of
                             an order: of times and of units */
    unsigned summed;      /* number of these */
    unsigned count;       /* of batches that have ended */
    FabPaceMoment moments[FAB_PACE_BATCHES + 1]; /* when they ended; [0]: the
                                                    begin of the first */
    bool has_begun;
    bool is_paused;
    bool is_metered; /* the flow's meter has the bytes of the order */
    bool is_order; /* its units are the bytes of orders, which depend on nothing
                      random */
    bool streams;  /* no datum crosses the fabric twice, so a cache that still
                      fills has no hits in store */
} FabPace;

/* The findings of fab_pace_judge(). */
typedef struct FabPaceResult {
    unsigned batches; /* of the steady part */
    double most;      /* number of batches for which they may stand */
    SimTime time;     /* of the steady part */
    uint64_t sent;    /* bytes of it */
    SimTime missed;   /* time of misses in it */
    double unit_ps;   /* time of a unit */
    double half_ps;   /* half the width of its interval, at 95 % */
    double latency;   /* mean of operations in ps; 0: none has ended */
    double half_latency;
} FabPaceResult;

/* Forgets all batches. */
void fab_pace_reset(FabPace *pace);

/* The work is interrupted, and will go on at the same pace. What was done since
 * the last batch ended does not count. */
void fab_pace_pause(FabPace *pace);

/* @units of work have ended at @at; the first batches have @least of them, or
 * more. Returns true if a batch has ended, or if one begins first or after a
 * pause: the caller calls fab_pace_note() then, which returns true if a batch
 * has ended. */
bool fab_pace_mark(FabPace *pace, SimTime at, uint64_t units, uint64_t least);
bool fab_pace_note(FabPace *pace, const FabPaceMoment *moment);

/*
 * Returns whether the flow is steady: a part of the batches, up to the last
 * one, shows no trend and no memory of the batch before, or differs by very
 * little; as much came out of the fabric as went in, but for @share; and data
 * do not pile up in a device before their work ends. The first quarter is cut
 * off, and the warm-up must end within it.
 *
 * @ahead is the number of batches for which the mean will stand: how they will
 * differ from it is in the interval, too. So are misses while caches fill,
 * which may turn into hits.
 */
bool fab_pace_judge(const FabPace *pace, double ahead, double share,
                    FabPaceResult *ret_result);

#endif
