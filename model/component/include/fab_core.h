/* SPDX-License-Identifier: MIT */
#ifndef FAB_CORE_H
#define FAB_CORE_H

#include "fab_root.h"

/*
 * A core of a host's CPU that works through jobs, one after the other. A job
 * takes the core for a time, and longer if the memory is slower than the core.
 * The memory that it reads and writes is that of the root. MMIO is not a
 * matter of a core: see fab_root_write().
 */
typedef struct FabCore FabCore;

/* A job. The caller owns it, and keeps it until @done is called. */
typedef struct FabCoreJob FabCoreJob;
typedef void (*FabCoreFn)(FabCoreJob *job);
struct FabCoreJob {
    SimTime time; /* of the core */
    bool holds;   /* the core begins no other job until fab_core_go_on() */
    uint64_t read_bytes, written_bytes; /* of the memory */
    FabCoreFn done;
    void *owner;
    FabCoreJob *next; /* for the core alone */
};

/* Makes an idle core of @root. Its events have the rank @rank. */
FabCore *fab_core_new(FabRoot *root, uint32_t rank);

/* Frees @core (nullable). Its jobs are not called any more. */
void fab_core_free(FabCore *core);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FabCore, fab_core_free)

/* Gives @job to @core, which begins it when the jobs before it are done. */
void fab_core_run(FabCore *core, FabCoreJob *job);

/* Ends the hold of the last job that was done. */
void fab_core_go_on(FabCore *core);

/* The time for which the core has worked, up to now. */
SimTime fab_core_busy(const FabCore *core);

#endif
