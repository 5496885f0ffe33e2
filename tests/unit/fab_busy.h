/* SPDX-License-Identifier: MIT */
#ifndef FAB_BUSY_H
#define FAB_BUSY_H

#include "fab_fixture.h"

/*
 * A fabric with everything in it and plenty to do: two hosts with IOMMUs on,
 * switches, and adapters joined by a cable; devices that write to and read
 * from the memory of both, their siblings and those beyond another root port.
 */
typedef struct Busy Busy;

/* @shuffle: 0 creates and connects in the natural order, else in a random one
 * that follows from it. */
Busy *busy_new(uint64_t shuffle);
void busy_free(Busy *busy);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Busy, busy_free)

Fixture *busy_fixture(Busy *busy);
/* Begins; goes on until busy_stop(). */
void busy_start(Busy *busy);
void busy_stop(Busy *busy);
/* Hash of everything that has been on any link, and how much it was. */
uint64_t busy_hash(const Busy *busy);
uint64_t busy_records(const Busy *busy);
/* Sum of page walks, forwarded pieces and translated requests. */
void busy_counters(const Busy *busy, uint64_t *ret_walks, uint64_t *ret_pieces,
                   uint64_t *ret_translated);

#endif
