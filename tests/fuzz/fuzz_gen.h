/* SPDX-License-Identifier: MIT */
/* Random descriptions: shared by the files that write one. */
#ifndef FUZZ_GEN_H
#define FUZZ_GEN_H

#include <stdbool.h>

#include <glib.h>

/* A description that is being written. */
typedef struct Gen {
    GRand *rand;
    GString *text;
    GPtrArray *devices; /* of char *: "host.name" of GPUs and endpoints */
    GHashTable *lent;   /* of these, to the number of the borrower plus 1 */
    GPtrArray *gpus;
    GPtrArray *drives;
    GPtrArray *movers; /* devices whose engine moves memory of others */
    GPtrArray *nics;   /* those that can be used by flows of TCP */
    bool has_tcp;      /* the CPU of the present host */
    unsigned n_hosts;
    bool has_box;            /* one chip joins the hosts */
    unsigned table_switches; /* bit mask: of the present host */
    unsigned node_hosts;     /* bit mask: hosts with two nodes */
} Gen;

/* Returns one element of the array @LIST. */
#define PICK(gen, LIST) LIST[gen_below(gen, G_N_ELEMENTS(LIST))]

/* Returns a number from 0 to @limit - 1. */
unsigned gen_below(Gen *gen, unsigned limit);

/* Returns true once in @n times. */
bool gen_one_in(Gen *gen, unsigned n);

/* Appends to the text. At most one argument may draw a number: C leaves open
 * in which order arguments are evaluated, and compilers differ. */
void gen_add(Gen *gen, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Each of these appends sections. Later ones refer to what earlier ones have
 * named, so they are called in this order. */
void gen_add_hosts(Gen *gen); /* hosts, networks, links, loans */
void gen_add_faults(Gen *gen);
void gen_add_workload(Gen *gen);

/* Returns the description with the number @seed. The caller frees it. */
char *gen_description(guint32 seed);

#endif
