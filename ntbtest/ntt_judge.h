/* SPDX-License-Identifier: MIT */
#ifndef NTT_JUDGE_H
#define NTT_JUDGE_H

#include <glib.h>

#include "ntt_table.h"

/* The results of clients: what they print, held against what is expected. */

typedef enum NttVerdict {
    NTT_OK,
    NTT_NOT_POSSIBLE, /* it does not work, as NTT_CANNOT expects */
    NTT_KNOWN,        /* it does not work, as NTT_DEFECT expects */
    NTT_CHANGED,      /* it works, and was expected not to */
    NTT_FAULT,
    NTT_N_VERDICTS,
} NttVerdict;

/* The word for @verdict in reports. */
const char *ntt_verdict_name(NttVerdict verdict);

/* The place of a result; all is borrowed, and lives as long as the results. */
typedef struct NttPlace {
    const NttChip *chip;
    const NttClient *client;
    const char *from, *to; /* hosts */
    unsigned series;       /* of the kernel, by ntt_series() */
} NttPlace;

/* One step of a client. */
typedef struct NttResult {
    NttPlace place;
    char *step; /* owned, as the next one */
    char *text; /* what the step has printed; lines */
    NttVerdict verdict;
    const NttExpected *expected; /* NULL: nothing was */
} NttResult;

void ntt_result_free(NttResult *result);

/*
 * Adds the results of a client with @output to @results. A client must say each
 * of its steps and "end"; it is a fault if it does not, or if it has left out a
 * step without being told to. @ended tells how it has ended otherwise, for
 * people.
 */
void ntt_judge(const NttPlace *place, const char *output, const char *ended,
               GPtrArray *results);

/* Adds one result of a step that has failed with @text. */
void ntt_judge_failed(const NttPlace *place, const char *step, const char *text,
                      GPtrArray *results);

/* The steps that @place must leave out, one in each line; to be freed. @steps
 * are patterns of expected steps. */
char *ntt_left_out(const NttPlace *place);

#endif
