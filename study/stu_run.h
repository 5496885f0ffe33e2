/* SPDX-License-Identifier: MIT */
#ifndef STU_RUN_H
#define STU_RUN_H

#include "exp_run.h"

/* The terminal of a run. */
typedef struct StuTerminal {
    void (*print)(const char *text); /* results; text with the ends of lines */
    ExpProgressFn progress;          /* nullable; its data is an ExpProgress */
    ExpNoteFn note;                  /* the same */
    void (*complain)(GError *error); /* frees @error */
    /* Nullable: called before and after the threads of @run work. */
    void *(*guard)(ExpRun *run);
    void (*unguard)(void *guard);
} StuTerminal;

typedef struct StuRun {
    ExpRunOptions options; /* without `progress`, `note` and `data` */
    gboolean is_quiet;     /* print only one line for each scenario */
    gboolean no_plot;
    gboolean bounds; /* fail if a published value is missed by more than its
                        bound */
} StuRun;

typedef enum StuResult {
    STU_DONE,
    STU_FAILED, /* a simulation failed, or a bound does not hold */
    STU_INPUT,  /* the input is wrong */
} StuResult;

/*
 * Runs each of @descriptions (of TopoDescription): simulates its points, writes
 * the results, draws them and prints them. The first that fails ends the run,
 * unless options.keep_going is set.
 */
StuResult stu_run(const GPtrArray *descriptions, const StuRun *run,
                  const StuTerminal *terminal);

#endif
