/* SPDX-License-Identifier: MIT */
#ifndef CLU_ARGV_H
#define CLU_ARGV_H

#include "clu_plan_types.h"
#include "clu_pace.h"

/* The files that a QEMU process uses. */
typedef struct CluPaths {
    const char *qemu;
    const char *plugin;
    const char *kernel;
    const char *initrd;
    const char *dir;      /* directory of the running cluster */
    char *const *regions; /* memory files of the plan's regions */
} CluPaths;

/* Returns the command line of the QEMU process of @host: an array that ends
 * with NULL, to be freed by g_strfreev(). @enabled and @traces have an entry
 * for each link of the plan: whether the link is plugged in, and the file
 * (nullable) that records its traffic. @pace is that of the
 * cluster. */
char **clu_argv_new(const CluPlan *plan, const CluPlanHost *host,
                    const CluPaths *paths, bool is_kvm, const bool *enabled,
                    char *const *traces, const CluPace *pace);

/* @complaint is an error message of QEMU about its command line. Finds the
 * entry of the description that caused it; false if there is no such entry. */
bool clu_argv_blame(const CluPlanHost *host, const char *complaint,
                    TopoPlace *ret_place);

#endif
