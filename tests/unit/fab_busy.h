/* SPDX-License-Identifier: MIT */
#ifndef FAB_BUSY_H
#define FAB_BUSY_H

#include "fab_fixture.h"

/*
 * A busy fabric with every kind of component: two hosts with enabled IOMMUs,
 * switches, and two NTBs joined by a cable. The devices write to and read from
 * the memory of both hosts and other devices, below the same root port and
 * below another one.
 */
typedef struct Busy Busy;

/* If @shuffle is 0, components are created and connected in a fixed order.
 * Otherwise it is the seed of a random order. */
Busy *busy_new(uint64_t shuffle);
void busy_free(Busy *busy);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Busy, busy_free)

Fixture *busy_fixture(Busy *busy);
/* Starts all orders. Each is repeated until busy_stop(). */
void busy_start(Busy *busy);
void busy_stop(Busy *busy);
/* Hash over all TLPs sent on any link so far, and the number of these. */
uint64_t busy_hash(const Busy *busy);
uint64_t busy_records(const Busy *busy);
/* Page walks, forwarded pieces and translated requests so far, each summed
 * over both hosts. */
void busy_counters(const Busy *busy, uint64_t *ret_walks, uint64_t *ret_pieces,
                   uint64_t *ret_translated);

#endif
