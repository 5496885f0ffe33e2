/* SPDX-License-Identifier: MIT */
#ifndef NTT_RUN_H
#define NTT_RUN_H

#include "ntt_judge.h"
#include "ntt_kernel.h"
#include "topo_description.h"

/* Runs clients on clusters. */

/* Two hosts, from the first to the second one. */
typedef struct NttPair {
    char *from, *to; /* owned */
} NttPair;

void ntt_pair_free(NttPair *pair);

/* True if @pairs (of NttPair) has the way back of the one at @index before it.
 */
bool ntt_pair_is_way_back(const GPtrArray *pairs, unsigned index);

/* A chip that is to be tried. */
typedef struct NttSubject {
    const NttChip *chip;
    char *file;                   /* the description's */
    GPtrArray *sets;              /* of char *: its changes, ended by NULL */
    TopoDescription *description; /* with the changes */
    GPtrArray *pairs;             /* of NttPair */
} NttSubject;

/*
 * Loads the description of @chip for @kernel, with all its ordered pairs. NULL
 * and @error if it has an error.
 */
NttSubject *ntt_subject_new(const NttChip *chip, const NttKernel *kernel,
                            GError **error);
void ntt_subject_free(NttSubject *subject);

/* All runs have this; it is borrowed, and no thread changes it but
 * `is_stopped`. */
typedef struct NttBench {
    const char *program; /* farside itself */
    const char *clients; /* the folder of the clients' programs */
    const char *out;     /* the folder of what they print, and of consoles */
    NttKernel *kernel;
    unsigned slow;   /* all times are multiplied by this, and by the load */
    gint is_stopped; /* atomic: the user has asked to end */
    /* Told of each result, from any thread; it takes @result. */
    void (*got)(void *owner, NttResult *result);
    void *owner;
} NttBench;

/*
 * Boots a cluster called @name with @subject, and runs @clients (of NttClient)
 * for each of its pairs. After a fault the cluster boots again, so that what
 * follows does not suffer from it; one that has never booted is given up at
 * once. The cluster is gone at the end.
 */
void ntt_run(NttBench *bench, const NttSubject *subject,
             const GPtrArray *clients, const char *name);

#endif
