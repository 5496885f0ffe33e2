/* SPDX-License-Identifier: MIT */
/*
 * Invariant: events keep their order when the counter of scheduling calls
 * reaches its end. The counter is internal and would take a day to get there,
 * so this test includes the source of the engine and sets the counter close to
 * its end.
 */
#include <check.h>

#include "../../sim/sim_engine.c"
#include "../suite.h"

typedef struct Club {
    SimEngine *engine;
    SimTime last_time;
    uint32_t last_rank;
    uint64_t last_number;
    uint64_t calls; /* number of scheduling calls; never wraps */
    uint64_t random;
    uint64_t faults;
} Club;

typedef struct Member {
    SimEvent event;
    Club *club;
    uint32_t rank;
    uint64_t number; /* value of Club.calls when it was scheduled */
} Member;

static uint64_t next_random(Club *club)
{
    club->random = club->random * 6364136223846793005ULL + 1442695040888963407;
    return club->random >> 33;
}

static void schedule(Member *member, SimTime range)
{
    Club *club = member->club;
    SimTime delay = 1 + (SimTime)next_random(club) % range;

    member->number = club->calls++;
    sim_event_reschedule(&member->event, sim_engine_now(club->engine) + delay);
}

static void run_member(SimEvent *event)
{
    Member *member = SIM_CONTAINER_OF(event, Member, event);
    Club *club = member->club;
    SimTime now = sim_engine_now(club->engine);

    if (now < club->last_time) {
        club->faults++;
    } else if (now == club->last_time && member->rank < club->last_rank) {
        club->faults++;
    } else if (now == club->last_time && member->rank == club->last_rank &&
               member->number < club->last_number) {
        club->faults++;
    }
    club->last_time = now;
    club->last_rank = member->rank;
    club->last_number = member->number;
    schedule(member, 30);
}

static void run_over_the_end(uint32_t count)
{
    g_autofree Member *members = g_new0(Member, count);
    Club club = {.random = count};
    uint32_t i;
    int round;

    club.engine = sim_engine_new();
    for (i = 0; i < count; i++) {
        members[i].club = &club;
        members[i].rank = (uint32_t)next_random(&club) % 3;
        sim_event_init(&members[i].event, club.engine, run_member,
                       SIM_PRIORITY_NORMAL, members[i].rank);
        schedule(&members[i], 30);
    }
    for (round = 0; round < 20; round++) {
        /* The counter reaches its end at a random call, within an event or
         * outside. */
        club.engine->sequence = SEQUENCE_END - 1 - next_random(&club) % count;
        for (i = 0; i < 2 * count; i++) {
            sim_engine_step(club.engine);
            if (i % 8 == 0) {
                schedule(&members[next_random(&club) % count], 30);
            }
        }
        ck_assert_uint_lt(club.engine->sequence, 1000000);
        ck_assert_uint_eq(sim_engine_pending(club.engine), count);
    }
    ck_assert_uint_eq(club.faults, 0);
    sim_engine_free(club.engine);
}

START_TEST(test_end_of_sequence)
{
    run_over_the_end(1);
    run_over_the_end(20);
    run_over_the_end(40);
    run_over_the_end(5000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim_sequence");
    TCase *tcase = tcase_create("sequence");

    tcase_add_test(tcase, test_end_of_sequence);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
