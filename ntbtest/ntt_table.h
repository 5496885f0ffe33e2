/* SPDX-License-Identifier: MIT */
#ifndef NTT_TABLE_H
#define NTT_TABLE_H

#include <stdbool.h>

/*
 * The tables of `farside ntb-test`: chips, clients, and what is expected not to
 * work. A new chip is a row of the first one, and what its driver cannot do
 * are rows of the third one.
 */

typedef struct NttChip {
    const char *name;
    const char *scenario; /* a description whose hosts all have the chip */
    /* Its changes, as of --set, ended by NULL; one that begins with
     * NTT_ALL_HOSTS is for each host. */
    const char *sets[3];
} NttChip;

#define NTT_ALL_HOSTS "hosts.*."

typedef struct NttClient {
    const char *name; /* its program in clients/ */
    const char *summary;
    unsigned seconds; /* the most that it takes on an idle machine */
    bool is_long;     /* it has a cluster of its own, so that others run beside
                         it */
    bool has_both_ways; /* it goes from either host to the other one */
} NttClient;

typedef enum NttKind {
    NTT_CANNOT, /* by the nature of the driver or the hardware */
    NTT_DEFECT, /* of the kernel */
} NttKind;

/* A step that is expected not to work. */
typedef struct NttExpected {
    NttKind kind;
    const char *name;
    const char *chip, *client, *step; /* patterns with * and ? */
    const char *from; /* only if this host is the first one; NULL: any */
    /* A regular expression for what the step prints then; NULL: it is left out,
     * because it would not end. */
    const char *words;
    unsigned since, until; /* kernels, by ntt_series(); 0: no bound */
    bool is_rare;          /* it may as well not show */
    const char *reason;    /* a sentence without its end */
} NttExpected;

/* Each ends with an entry without a name. */
extern const NttChip ntt_chips[];
extern const NttClient ntt_clients[];
extern const NttExpected ntt_expected[];

/* NULL if there is none. */
const NttChip *ntt_chip_find(const char *name);
const NttClient *ntt_client_find(const char *name);

/* Two numbers of a version, such as 6.1, as one that can be compared. 0 if
 * @release does not begin with such. */
unsigned ntt_series(const char *release);

/*
 * True if @expected is about @step of @client on @chip, from the host @from, on
 * a kernel of @series.
 */
bool ntt_expected_applies(const NttExpected *expected, const char *chip,
                          const char *client, const char *from,
                          const char *step, unsigned series);

#endif
