/* SPDX-License-Identifier: MIT */
#ifndef CLU_SUPERVISOR_H
#define CLU_SUPERVISOR_H

#include "clu_dir.h"
#include "clu_plan.h"

/*
 * The process that runs a cluster: it starts a QEMU for each host, joins them,
 * watches them, and does what the program asks for (clu_control.h).
 */
typedef struct CluSupervisorSetup {
    const CluPlan *plan;
    const CluDir *dir;
    const CluPaths *paths; /* by index of the host */
    const bool *is_kvm;    /* likewise */
    unsigned boot_ms;      /* that a host may take to come up */
    unsigned silence_ms;   /* that a guest may keep silent */
} CluSupervisorSetup;

/*
 * Starts the supervisor and the keeper of the directory. Returns a connection
 * to the supervisor; when it is closed before `release` was asked for, the
 * cluster ends. -1 and @error if that fails. To be called while there is only
 * one thread.
 */
int clu_supervisor_start(const CluSupervisorSetup *setup, GError **error);

#endif
