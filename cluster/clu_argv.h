/* SPDX-License-Identifier: MIT */
#ifndef CLU_ARGV_H
#define CLU_ARGV_H

#include "clu_plan_types.h"

/* Paths that a QEMU process is started with. */
typedef struct CluPaths {
    const char *qemu;
    const char *plugin;
    const char *kernel;
    const char *initrd;
    const char *dir;      /* of the running cluster */
    char *const *regions; /* files with the memory of the plan's regions */
} CluPaths;

/* The command line of the process of @host; @enabled tells of each link of the
 * plan whether it is plugged in, and @traces which file (nullable) records what
 * crosses it. An array of char * that ends with NULL, to be freed by
 * g_strfreev(). */
char **clu_argv_new(const CluPlan *plan, const CluPlanHost *host,
                    const CluPaths *paths, bool is_kvm, const bool *enabled,
                    char *const *traces);

/* Finds the entry of the description that @complaint, an error message of QEMU
 * about its command line, is about. False if that cannot be told. */
bool clu_argv_blame(const CluPlanHost *host, const char *complaint,
                    TopoPlace *ret_place);

#endif
